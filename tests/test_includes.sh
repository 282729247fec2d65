#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Includes follow the direction of flow: kernels, profiles -> bench -> records -> roofline -> reports.
set -eu
cd "${1:-$RIDGE_SOURCE}"

# Lines "file:line:path", the path from the root where the include is written from beside the file.
includes() {
  {
    find base kernels profiles bench roofline reports cli -type f 2>/dev/null
    grep -rnE --include='*.c' --include='*.cpp' --include='*.h' --include='*.cu' --include='*.cuh' \
      '^[[:space:]]*#[[:space:]]*include' base kernels profiles bench roofline reports cli 2>/dev/null
  } | awk -F: '
    NF < 3 { there[$0]; next }
    {
      match($3, /["<][^">]+/)
      path = substr($3, RSTART + 1, RLENGTH - 1)
      beside = $1
      sub(/[^\/]*$/, path, beside)
      while (sub(/[^\/]+\/\.\.\//, "", beside)) {}
      print $1 ":" $2 ":" ($3 ~ /"/ && beside in there ? beside : path)
    }'
}

# What a file of a folder may include of the others.
allowed() {
  case $1:$2 in
  base:base/* | kernels:base/* | kernels:kernels/* | profiles:base/* | profiles:profiles/*) ;;
  bench:base/* | bench:kernels/* | bench:profiles/* | bench:bench/*) ;;
  roofline:base/* | roofline:roofline/* | roofline:bench/record.h) ;;
  reports:base/* | reports:roofline/* | reports:reports/* | reports:bench/record.h) ;;
  cli:*) ;;
  *) return 1 ;;
  esac
}

faults=0
checked=0
while IFS=: read -r file line path; do
  [[ $path =~ ^(base|kernels|profiles|bench|roofline|reports|cli|tests)/ ]] || continue
  checked=$((checked + 1))
  if ! allowed "${file%%/*}" "$path"; then
    echo "$file:$line: ${file%%/*}/ may not include $path"
    faults=1
  fi
done < <(includes)

if [ "$checked" -lt 1 ]; then
  echo 'FAIL: no includes found'
  exit 1
fi
[ $faults = 0 ] || exit 1

# The test itself, on a tree with arrows that point backwards.
if [ $# = 0 ]; then
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  mkdir -p "$tree"/{base,kernels/saxpy,profiles,bench,roofline,reports,cli}
  touch "$tree"/bench/{record.h,stats.h} "$tree/kernels/saxpy/saxpy.h"
  echo '#include "bench/record.h"' >"$tree/roofline/good.c"
  echo '#include "saxpy.h"' >"$tree/kernels/saxpy/good.cu"
  bash "$0" "$tree" >/dev/null || { echo 'FAIL: good arrows were refused'; exit 1; }
  for bad in 'roofline/x.c bench/stats.h' 'roofline/x.h reports/r.h' 'kernels/saxpy/x.cu bench/stats.h' \
    'kernels/saxpy/x.cuh ../../bench/stats.h' 'bench/x.c roofline/r.h' 'base/x.h kernels/kernel.h' \
    'profiles/x.cpp kernels/kernel.h' 'reports/x.c bench/stats.h' 'reports/x.c profiles/p.h'; do
    read -r file path <<<"$bad"
    echo "#  include \"$path\"" >"$tree/$file"
    if bash "$0" "$tree" >/dev/null; then echo "FAIL: $file may include $path"; exit 1; fi
    rm "$tree/$file"
  done
fi
echo "include direction: $checked includes, ok"
