#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Scripts and the Makefile where something is missing: one line that names it, the exit code, and nothing changed.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
cp -r "$RIDGE_SOURCE/scripts" "$RIDGE_SOURCE/Makefile" "$folder"
baselines=$folder/reports/baselines/h200-sxm report=$folder/reports/h200-sxm
mkdir -p "$baselines" "$report"
echo before >"$report/report.md"
cd "$folder" || exit 1

# expect CODE PATTERN COMMAND...
expect() {
  local code=$1 pattern=$2 output
  shift 2
  output=$("$@" 2>&1 </dev/null)
  local got=$?
  if [ $got -ne "$code" ] || ! grep -qE -- "$pattern" <<<"$output" || grep -qE 'Traceback|line [0-9]+: ' <<<"$output"; then
    printf 'FAIL: %s\n  exit %s, expected %s and /%s/; output:\n%s\n' "$*" $got "$code" "$pattern" "$output"
    failed=1
  fi
}

for script in baseline_report ci_gpu.sh regress; do
  expect 4 "^${script%.sh}: /nowhere/ridge is not there: make build" env RIDGE=/nowhere/ridge scripts/$script
done
COMPUTE_SANITIZER=true expect 4 '^sanitize_gpu: /nowhere/ridge is not there' env RIDGE=/nowhere/ridge scripts/sanitize_gpu

# Records for baselines: a name nobody knows, a run that ends early, one that is whole, one that is there.
expect 2 "^baseline_records: no records are called 'no' " scripts/baseline_records mla no
expect 4 '^baseline_records: /nowhere/ridge is not there' env RIDGE=/nowhere/ridge scripts/baseline_records mla
expect 0 '^mla: .*--rounds 3 .*--variant gemm_bf16_90_cublaslt' scripts/baseline_records --list mla
set -f # globs are for ridge
while IFS=: read -r _ arguments; do # without a GPU, which is looked for when arguments are right
  # shellcheck disable=SC2086
  expect 4 '^ridge bench: .*(driver|GPU|without CUDA|CUDA)' env CUDA_VISIBLE_DEVICES= "$RIDGE" bench --device cuda $arguments
done < <(scripts/baseline_records --list)
while read -r option glob; do # which would be refused only where there is a GPU
  "$RIDGE" list --device cuda "$option" "$glob" >/dev/null || [ $? -eq 4 ] || { echo "FAIL: baseline_records: nothing is $option $glob"; failed=1; }
done < <(scripts/baseline_records --list | grep -oE -- '--(family|variant|shape) [^ =]+( |$)' | sort -u)
set +f
cat >records <<'EOF'
#!/bin/sh
for file; do :; done
echo '{}' >>"$file"
exit "$STATUS"
EOF
chmod +x records
STATUS=4 expect 4 '^baseline_records: mla did not end' env RIDGE=./records OUT=out scripts/baseline_records mla gemm
[ ! -e out/mla.jsonl ] || { echo 'FAIL: records of a run that did not end are taken for whole'; failed=1; }
STATUS=1 expect 1 '^out/mla.jsonl.part: 0 s' env RIDGE=./records OUT=out scripts/baseline_records mla
[ ! -e out/mla.jsonl ] || { echo 'FAIL: records with a failed check are taken for good ones'; failed=1; }
STATUS=0 expect 0 '^out/mla.jsonl: 0 s' env RIDGE=./records OUT=out scripts/baseline_records mla
[ "$(wc -l <out/mla.jsonl)" = 1 ] || { echo 'FAIL: what an earlier run left is among the records'; failed=1; }
expect 0 '^out/mla.jsonl: there' env RIDGE=./records OUT=out scripts/baseline_records mla

# A compiler that reports REPORT of a kernel for ARCH and makes an object.
cat >compiler <<'EOF'
#!/bin/sh
printf "ptxas info    : Compiling entry function 'f' for '%s'\n    %s\n" "$ARCH" "$REPORT" >&2
: >kernel.o
EOF
chmod +x compiler
report() {
  rm -f kernel.o
  ARCH=$1 REPORT=$2 scripts/ptxas_scan ./compiler -o kernel.o
}
taken() { report "$@" && [ -e kernel.o ] && [ -s kernel.o.ptxas ] && echo taken; }
refused() { ! report "$@" && [ ! -e kernel.o ]; }
clean='0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads'
expect 0 '^taken$' taken sm_90a "$clean"
expect 0 '^taken$' taken sm_90 "128${clean#0}"
expect 0 '^ +128 bytes stack frame' refused sm_90a "128${clean#0}"
expect 0 'kernel.o: refused' refused sm_90a '16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads'
for arch in sm_90 sm_90a; do
  expect 0 'kernel.o: refused' refused $arch '0 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads'
  expect 0 'kernel.o: refused' refused $arch "(C7508) Potential Performance Loss: 'setmaxnreg' ignored"
  expect 0 'kernel.o: refused' refused $arch '(C7517) wgmma.mma_async instructions are serialized'
done

# A device without a baseline.
printf '#!/bin/sh\necho some-gpu\n' >ridge
chmod +x ridge
expect 4 '^regress: no baseline for this device: reports/baselines/some-gpu/standard.jsonl' env RIDGE=./ridge scripts/regress

# Baselines that are not there, empty, cut, of something else, of another device.
if command -v jq gnuplot >/dev/null && /usr/bin/python3 -c 'import matplotlib, PIL' 2>/dev/null; then
  export RIDGE_PYTHON=/usr/bin/python3
  expect 2 '^baseline_report: reports/baselines/nosuch/standard.jsonl: no records' scripts/baseline_report nosuch
  expect 2 "^baseline_report: host: reports are of GPUs" scripts/baseline_report host
  expect 2 '^baseline_report: reports/baselines/h200-sxm/standard.jsonl: no records' scripts/baseline_report
  : >"$baselines/standard.jsonl"
  expect 2 '^baseline_report: reports/baselines/h200-sxm/standard.jsonl: no records' scripts/baseline_report
  head -c 300 "$RIDGE_SOURCE/tests/fixtures/roofline_h200.jsonl" >"$baselines/standard.jsonl"
  expect 2 '^baseline_report: reports/baselines/h200-sxm/standard.jsonl: not whole records' scripts/baseline_report
  cp "$RIDGE_SOURCE/LICENSE" "$baselines/standard.jsonl"
  expect 2 '^baseline_report: reports/baselines/h200-sxm/standard.jsonl: not whole records' scripts/baseline_report
  sed 's/"argv": *\["[^"]*"/"argv":["another"/' "$RIDGE_SOURCE/tests/fixtures/roofline_h200.jsonl" >"$baselines/standard.jsonl"
  expect 2 '^baseline_report: reports/baselines/h200-sxm: no record of ridge bench' scripts/baseline_report
  sed 's/"argv": *\["[^"]*"/"argv":["ridge bench"/' "$RIDGE_SOURCE/tests/fixtures/roofline_h200.jsonl" >"$baselines/standard.jsonl"
  mkdir -p reports/baselines/other
  cp "$baselines/standard.jsonl" reports/baselines/other
  expect 2 '^baseline_report: reports/baselines/other/standard.jsonl: not records of other' scripts/baseline_report other
  [ -e reports/other ] && { echo 'FAIL: a report of records of another device'; failed=1; }
  RIDGE_PYTHON='' PATH=$folder:$PATH
  if [ "$(cat "$report/report.md")" != before ] || [ "$(ls "$report")" != report.md ]; then
    echo 'FAIL: a refused baseline_report changed the report'
    failed=1
  fi
fi

# Paths that make cannot take.
if command -v make >/dev/null; then
  expect 2 "RESULTS='a b': paths have no spaces here" make -n "RESULTS=a b" report
  expect 2 "FILE='a b.jsonl': paths have no spaces here" make -n "FILE=a b.jsonl" report
fi

exit $failed
