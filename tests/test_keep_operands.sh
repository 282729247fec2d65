#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# keep_operands on object files that hold a few instructions made by hand: which hints change, and that nothing else does.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
for tool in objcopy objdump cc; do command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }; done
fail() { echo "FAIL: $*"; failed=1; }

little_endian() { # VALUE BYTES
  local value=$1 i
  for ((i = 0; i < $2; i++)); do
    # shellcheck disable=SC2059
    printf "\\x$(printf %02x $((value >> 8 * i & 255)))"
  done
}
# object NAME <LINES: "LOW HIGH", an instruction each, in hexadecimal
object() {
  { echo '.section .text.kernel,"ax"'; sed 's/\(.*\) \(.*\)/.quad 0x\1, 0x\2/'; } >"$1.s"
  cc -c "$1.s" -o code.o || exit 1
  local bytes padding
  bytes=$(stat -c %s code.o)
  padding=$((-bytes & 7))
  { little_endian 2 2; little_endian 257 2; little_endian 64 4; little_endian $((bytes + padding)) 8; head -c 48 /dev/zero
    cat code.o; head -c $padding /dev/zero; } >entry
  { little_endian $((0xba55ed50)) 4; little_endian 1 2; little_endian 16 2; little_endian "$(stat -c %s entry)" 8; cat entry; } >fatbin
  echo | cc -c -x c - -o "$1.o"
  objcopy --add-section .nv_fatbin=fatbin --set-section-alignment .nv_fatbin=8 "$1.o"
}
# high NAME: the upper words of its instructions
high() {
  objcopy -O binary --only-section=.nv_fatbin --set-section-flags .nv_fatbin=alloc "$1.o" fatbin
  tail -c +81 fatbin >code.o
  objcopy -O binary --only-section=.text.kernel code.o words
  od -An -v -t x8 -w16 words | awk '{print $2}'
}
# ffma DESTINATION SUM FACTOR: total += factor * sum, yielding, as ptxas writes it
ffma() { printf '%04x%02x%02x%02x%02x7223 000fc200000000%02x\n' 0 "$3" "$2" "$1" 0 "$1" | sed 's/007223/7223/'; }

yields=000fc2 kept=080fe2
{ for i in 0 1 2 3 4 5 6 7 8 9; do ffma $((100 + i)) $((24 + i)) 90; done; ffma 120 40 91; } >instructions
object run <instructions
"$RIDGE_BINARY/keep_operands" run.o || fail "run of ten: status $?"
expected="$kept $kept $kept $kept $kept $kept $kept $yields $kept $yields $yields"
got=$(high run | cut -c1-6 | tr '\n' ' ')
[ "$got" = "$expected " ] || fail "run of ten: $got"
got=$(high run | cut -c7- | tr '\n' ' ')
[ "$got" = "$(cut -d' ' -f2 instructions | cut -c7- | tr '\n' ' ')" ] || fail "more than hints changed: $got"
cp run.o before.o
"$RIDGE_BINARY/keep_operands" run.o || fail "the second time: status $?"
cmp -s run.o before.o || fail "the second time changes something"

# A factor that is overwritten is not kept; neither is one beside another instruction or under a predicate.
{ ffma 90 24 90; ffma 101 25 90; ffma 102 26 90; echo '0000000000007918 000fe20000000000'
  ffma 103 27 90; ffma 104 28 90 | sed s/7223/0223/; ffma 105 29 90; } >instructions
object others <instructions
"$RIDGE_BINARY/keep_operands" others.o || fail "others: status $?"
got=$(high others | cut -c1-6 | tr '\n' ' ')
[ "$got" = "$yields $kept $yields 000fe2 $yields $yields $yields " ] || fail "others: $got"

echo '0000000000007918 000fe20000000000' | object none
"$RIDGE_BINARY/keep_operands" none.o 2>message && fail "an object without FFMA is taken"
grep -q 'none.o: no FFMA can keep an operand' message || fail "no message for an object without FFMA"
echo text >text.o
"$RIDGE_BINARY/keep_operands" text.o 2>message && fail "text is taken for an object"
grep -q 'text.o: not an ELF object' message || fail "no message for text"
exit $failed
