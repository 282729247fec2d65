#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The hash of device code: comments and line numbers leave it alone, code and constants do not. Host code stands in for
# device code: its sections have the same names.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
command -v objcopy >/dev/null || { echo 'skipped: no objcopy'; exit 77; }

little_endian() { # VALUE BYTES
  local value=$1 i
  for ((i = 0; i < $2; i++)); do
    # shellcheck disable=SC2059
    printf "\\x$(printf %02x $((value >> 8 * i & 255)))"
  done
}
# entry KIND FILE: a fat binary's entry, padded to 8 bytes
entry() {
  local bytes padding
  bytes=$(stat -c %s "$2")
  padding=$((-bytes & 7))
  little_endian "$1" 2; little_endian 257 2; little_endian 64 4; little_endian $((bytes + padding)) 8
  head -c 48 /dev/zero
  cat "$2"
  head -c $padding /dev/zero
}
# hash NAME KIND FILE...: of an object that holds these entries
hash() {
  local name=$1
  shift
  : >entries
  while [ $# -gt 1 ]; do
    entry "$1" "$2" >>entries
    shift 2
  done
  { little_endian $((0xba55ed50)) 4; little_endian 1 2; little_endian 16 2; little_endian "$(stat -c %s entries)" 8; cat entries; } >fatbin
  mkdir -p target.dir
  echo >empty.c
  cc -c empty.c -o "target.dir/$name.cu.o"
  objcopy --add-section .nv_fatbin=fatbin --set-section-alignment .nv_fatbin=8 "target.dir/$name.cu.o"
  "$RIDGE_BINARY/hash_cubins" table.c "target.dir/$name.cu.o" || failed=1
  sed -n "s/.*{\"$name.cu\", \"\([0-9a-f]*\)\"}.*/\1/p" table.c
}
# compile NAME <SOURCE
compile() {
  cat >source.c
  cc -c -g -O1 -ffunction-sections source.c -o "$1"
}
same() { [ -n "$2" ] && [ "$2" = "$3" ] || { echo "FAIL: $1 altered the hash: $2, $3"; failed=1; }; }
other() { [ -n "$3" ] && [ "$2" != "$3" ] || { echo "FAIL: $1 left the hash alone: $2"; failed=1; }; }

compile code.o <<<'int f(int x) { return x * 3; }'
printf '/* A comment\n * of two lines. */\nint f(int x)\n{ return x * 3; }\n' | compile commented.o
compile changed.o <<<'int f(int x) { return x * 5; }'
printf 'ptx' >ptx1
printf 'PTX' >ptx2

cmp -s code.o commented.o && { echo 'FAIL: the comment is in no section: nothing was tested'; failed=1; }
code=$(hash k 2 code.o)
same 'a comment' "$code" "$(hash k 2 commented.o)"
other 'a multiplication by 5' "$code" "$(hash k 2 changed.o)"
other 'a second kernel' "$code" "$(hash k 2 code.o 2 changed.o)"
same 'PTX beside machine code' "$code" "$(hash k 1 ptx1 2 code.o)"
other 'PTX alone' "$(hash k 1 ptx1)" "$(hash k 1 ptx2)"
other 'compressed code' "$(hash k 2 ptx1)" "$(hash k 2 ptx2)"

cc -c empty.c -o target.dir/none.cu.o
"$RIDGE_BINARY/hash_cubins" table.c target.dir/none.cu.o
grep -q '"none.cu", "0000000000000000"' table.c || { echo 'FAIL: a file without kernels has a hash'; failed=1; }
"$RIDGE_BINARY/hash_cubins" table.c target.dir/./none.cu.o
grep -q '{"none.cu", ' table.c || { echo 'FAIL: a path of Ninja keeps its dot'; failed=1; }
echo text >text.o
"$RIDGE_BINARY/hash_cubins" table.c text.o 2>err && { echo 'FAIL: text was taken for an object'; failed=1; }
grep -q 'text.o: not an ELF object' err || { echo 'FAIL: no message for text'; failed=1; }

exit $failed
