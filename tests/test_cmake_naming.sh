#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The naming rule of kernels/, on trees of empty files: configure names the file that breaks it.
set -eu
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/kernels/saxpy" "$tree/kernels/ptx" "$tree/cmake"
cp "$RIDGE_SOURCE/cmake/kernels.cmake" "$tree/cmake/"
cat >"$tree/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(naming LANGUAGES NONE)
include(cmake/kernels.cmake)
END
touch "$tree"/kernels/saxpy/{saxpy.c,saxpy_reference.cu,saxpy_01_naive.cu,saxpy_90_cublas.cu,saxpy_h01_loop.c} \
  "$tree"/kernels/saxpy/{tile.cuh,README.md} "$tree/kernels/ptx/mma.cuh"

configure() {
  rm -rf "$tree/build"
  cmake -S "$tree" -B "$tree/build" >"$tree/log" 2>&1
}

fault() {
  echo "FAIL: $1"
  cat "$tree/log"
  exit 1
}

configure || fault 'good names were refused'
table=$tree/build/generated/registry.c
grep -q '{"saxpy", "h01_loop", "kernels/saxpy/saxpy_h01_loop.c", &ridge_family_saxpy, &ridge_variant_saxpy_h01_loop, NULL},' \
  "$table" || fault 'the host variant is not in the table'
grep -q 'ridge_builtin_entry_count = 1;' "$table" || fault 'CUDA variants in a build without CUDA'

grep -q 'ridge_left_out_count = 2;' "$table" && grep -q '{"saxpy", "90_cublas", NULL,' "$table" ||
  fault 'the CUDA variants that are left out are not named'

for name in saxpy_1_naive.cu saxpy_01naive.cu saxpy_01_Naive.cu saxpy_h01_loop.cu saxpy_01_naive.c saxpy_h1_loop.c \
  daxpy_01_naive.cu saxpy_01_naive.cc notes.txt saxpy_01_a-b.cu helper.c saxpy_reference.c; do
  touch "$tree/kernels/saxpy/$name"
  if configure; then fault "$name was accepted"; fi
  tr -s ' \n' ' ' <"$tree/log" | grep -qF "kernels/saxpy/$name" || fault "the message does not name $name"
  rm "$tree/kernels/saxpy/$name"
done

mkdir "$tree/kernels/lonely"
touch "$tree/kernels/lonely/lonely_h01_x.c"
if configure; then fault 'a variant without its family was accepted'; fi
tr -s ' \n' ' ' <"$tree/log" | grep -qF 'its family has no lonely.c' || fault 'the message does not name the family'
rm -r "$tree/kernels/lonely"

# A new file is found by the next build alone: the glob has CONFIGURE_DEPENDS.
grep -q 'CONFIGURE_DEPENDS.*kernels/\*/\*' "$tree/cmake/kernels.cmake" || fault 'the glob lacks CONFIGURE_DEPENDS'
configure || fault 'good names were refused at the end'
touch "$tree/kernels/saxpy/saxpy_h02_new.c"
cmake --build "$tree/build" >"$tree/log" 2>&1 || fault 'the build failed'
grep -q 'ridge_builtin_entry_count = 2;' "$table" || fault 'a build did not find the new variant'
echo 'naming rule: ok'
