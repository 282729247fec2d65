#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bad input from the command line: a message naming what is wrong, the exit code, and nothing run or written.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
gemm='--device host --family gemm_f32 --variant h01_naive'

# expect CODE PATTERN ARGUMENT...
expect() {
  local code=$1 pattern=$2 output
  shift 2
  output=$("$RIDGE" "$@" 2>&1 </dev/null)
  local got=$?
  if [ $got -ne "$code" ] || ! grep -qE -- "$pattern" <<<"$output"; then
    printf 'FAIL: ridge %s\n  exit %s, expected %s and /%s/; output:\n%s\n' "$*" $got "$code" "$pattern" "$output"
    failed=1
  fi
}

expect 2 'Usage: ridge COMMAND'
expect 2 "unknown command 'benhc'" benhc
expect 2 "option '--load' before a command" --load x.so bench
expect 0 'Exit codes' --help
expect 0 'interrupted' --help
for command in list doctor bench check tune profile trace ceilings roofline report emulation compare kv-cache; do
  expect 0 'Usage: ridge' $command --help
  expect 2 'unrecognized option' $command --no-such-option
  lines=$("$RIDGE" $command --help | wc -l)
  [ "$lines" -le 40 ] || { echo "FAIL: ridge $command --help has $lines lines, more than a screen"; failed=1; }
done

# shellcheck disable=SC2086
for case in 'm=0|m.*0' 'm=-1|m.*-1' 'm=abc|m.*abc' 'm=99999999999999999999|m.*99999999999999999999' 'q=5|gemm_f32: .*q.*m n k' \
  'm=1,m=2|m' 'm=|m'; do
  expect 2 "${case#*|}" bench $gemm --shape "${case%%|*}" --json "$folder/bad.jsonl"
done
# Every axis of every family that the CPU has.
while read -r family axis; do
  for command in "bench --json $folder/bad.jsonl" check; do
    # shellcheck disable=SC2086
    expect 2 "shape $axis=-1: $axis must be in [0-9]+ to [0-9]+" $command --device host --family "$family" --shape "$axis=-1"
  done
done < <("$RIDGE" list --device host | awk '/^[a-z].*: / { sub(":.*", ""); family = $0 } /^  axis / { print family, $2 }')
# shellcheck disable=SC2086
{
  expect 2 'too large.*[0-9]{12,} bytes' bench $gemm --shape m=1000000,n=1000000,k=8 --json "$folder/bad.jsonl"
  expect 2 'allowed are quick, standard, full' bench $gemm --preset slow
  expect 2 'allowed are auto, cuda, host' bench --device tpu
  expect 2 'nothing to run' bench --device host --family 'no_such*'
  expect 2 '--shape=no_such_preset: no preset matches .see' bench $gemm --shape 'no_such_preset'
  expect 2 '--shape=4x4x4: no preset matches; .* spelt m=4,n=4,k=4 ' bench $gemm --shape 4x4x4
  expect 2 '--shape=no_such: no preset matches .see' bench $gemm --shape m=4,n=4,k=4 --shape no_such
  expect 2 '--variant=no_such: nothing matches' bench $gemm --shape m=4,n=4,k=4 --variant 'h*' --variant no_such
  expect 2 '--family=no_such: nothing matches' bench $gemm --shape m=4,n=4,k=4 --family no_such
  expect 2 '--shape=4x5: no preset matches; .* spelt m=4,n=5,k=N ' bench $gemm --shape 4x5
  expect 2 '--min-samples=0' bench $gemm --min-samples 0
  expect 2 '--min-samples=5: more than --max-samples=3' bench $gemm --min-samples 5 --max-samples 3
  expect 2 '--min-samples=5: more than --max-samples=3' bench $gemm --max-samples 3 --min-samples 5
  expect 0 'note: rope is left out: --shape=m=8,n=8,k=8 names axes that it has not' bench --device host \
    --family gemm_f32 --family rope --shape m=8,n=8,k=8 --max-samples 1
  expect 0 'note: rope is left out' check --device host --family gemm_f32 --family rope --shape m=8,n=8,k=8
  "$RIDGE" bench --device host --family gemm_f32 --family rope --shape m=8,n=8,k=8 --shape tokens=4 --max-samples 1 2>&1 |
    grep 'left out: --shape' && { echo 'FAIL: a family that has a shape is left out'; failed=1; }
  expect 0 ' ok .*s +one sample ' bench $gemm --shape m=8,n=8,k=8 --max-samples 1 --json "$folder/one.jsonl"
  grep -q '"ci95_ns":null.*"stop":"max"' "$folder/one.jsonl" || { echo 'FAIL: an interval of one sample'; failed=1; }
  expect 0 'h01_naive' report "$folder/one.jsonl"
  expect 2 '--timeout=-1' bench $gemm --timeout -1
  for rounds in 0 -1 x 2x '' 101 99999999999999999999; do
    expect 2 "--rounds=$rounds: not an integer of 1 .. 100" bench $gemm --rounds "$rounds"
  done
  expect 2 '--seed=x' bench $gemm --seed x
  expect 2 '--seed= -1' bench $gemm --seed ' -1'
  expect 2 'cache' bench $gemm --cache lukewarm
  expect 2 'launch' bench $gemm --launch teleport
  expect 2 '--launch=graph: only CUDA launches .* host' bench $gemm --launch graph --json "$folder/bad.jsonl"
  expect 2 '--emulate h100: expected none, h20' bench $gemm --emulate h100
  expect 4 '--emulate=h20: needs a GPU of compute capability 9.0' bench $gemm --emulate h20 --json "$folder/bad.jsonl"
  expect 4 '--emulate=h20: needs a GPU of compute capability 9.0' check $gemm --emulate h20
  expect 2 '--plan=128x128: no selected variant has plans' bench $gemm --plan 128x128 --json "$folder/bad.jsonl"
  expect 2 'unknown metric group "nosuch"; there are .*roofline' bench $gemm --group nosuch --json "$folder/bad.jsonl"
  expect 2 'nosuch.json: cannot be read: No such file' profile gemm_f32_h01_naive --device host --group nosuch.json
  expect 2 'power' bench $gemm --power nuclear
  expect 2 'fill' bench $gemm --fill tens
  expect 2 'z' bench $gemm --shape m=8,n=8,k=8 --cache z=hot
  expect 2 'which VARIANT' trace
  expect 2 "'gemm_f32_h01_naive' is not compiled with stamps; these are: " trace gemm_f32_h01_naive
  if "$RIDGE" trace nosuch 2>&1 | grep -qE ', [a-z0-9]+_'; then # several are compiled with stamps
    expect 2 "one VARIANT at a time, '\*' means " trace '*'
  fi
}
[ -e "$folder/bad.jsonl" ] && ! [ -s "$folder/bad.jsonl" ] && rm "$folder/bad.jsonl"
[ -e "$folder/bad.jsonl" ] && { echo 'FAIL: a refused run wrote a record'; failed=1; }

# Places that cannot be written: /proc takes no files, /dev/full no bytes.
# shellcheck disable=SC2086
{
  expect 4 '/proc/nowhere' bench $gemm --shape m=8,n=8,k=8 --json /proc/nowhere/run.jsonl
  expect 4 '/dev/full.*[Nn]o space' bench $gemm --shape m=8,n=8,k=8 --json /dev/full
  expect 4 'cannot write' bench $gemm --shape m=8,n=8,k=8 --json ''
  expect 4 'cannot write' bench $gemm --shape m=8,n=8,k=8 --json "$folder"
  expect 4 'name too long' bench $gemm --shape m=8,n=8,k=8 --json "$folder/$(printf 'x%.0s' $(seq 300))"
  expect 2 'not a file of records' bench $gemm --shape m=8,n=8,k=8 --json "$RIDGE_SOURCE/LICENSE"
}

# 1152 B x 131072 x 62 = 8.72 GiB, as published for MLA in BF16; 656 B in FP8.
expect 0 '^MLA BF16 +1152 +56\.89x +8\.719 ' kv-cache --tokens 131072 --layers 62
expect 0 '^MLA FP8, V3\.2 +656 +99\.9x +4\.885 ' kv-cache
expect 0 '^GQA, 8 groups +4096 +16x +0\.000 ' kv-cache --tokens 1 --layers 1
for number in 0 -1 abc '' 1.5 ' 5' 1e6 99999999999999999999 1000000001; do
  expect 2 "--tokens=$number: a whole number from 1 to 1000000000" kv-cache "--tokens=$number"
done
expect 2 '--layers=10001: a whole number from 1 to 10000' kv-cache --layers 10001
for command in list doctor bench check kv-cache; do
  expect 2 "Too many arguments: '5'" $command 5
done

expect 0 'cube-256 +host' list --device host --family gemm_f32
expect 0 'axis topk .* a multiple of 64' list --family mla_decode_sparse_fp8
expect 0 'hard inputs: varied lengths, rising' list --family mla_decode
expect 0 'shape 512x512x512 ' list --device host --family gemm_f32 --shape '512*'
expect 2 "--shape=zzz: no preset matches" list --shape zzz
expect 2 "--shape=m=8: no preset matches" list --shape m=8
"$RIDGE" list --device host --family gemm_f32 --shape '512*' | grep -qE 'shape (256|1024)' && { echo 'FAIL: list --shape lists others'; failed=1; }
"$RIDGE" list --preset quick | grep -qE ', (standard|full)$' && { echo 'FAIL: list --preset quick lists others'; failed=1; }
"$RIDGE" list --device host | grep -qE ' cuda, |^  0[0-9]_' && { echo 'FAIL: list --device host lists GPU variants'; failed=1; }

# Plugins: another ABI, a label twice, not a library.
expect 2 'ABI' list --load "$RIDGE_PLUGIN_DIR/plugin_wrong_abi.so"
expect 2 'already|twice|label' list --load "$RIDGE_PLUGIN_DIR/plugin_example.so" --load "$RIDGE_PLUGIN_DIR/plugin_duplicate.so"
expect 2 'LICENSE' list --load "$RIDGE_SOURCE/LICENSE"
expect 0 'example' list --load "$RIDGE_PLUGIN_DIR/plugin_example.so"
# As the README makes one.
if command -v cc >/dev/null; then
  cc -shared -fPIC -I"$RIDGE_SOURCE" "$RIDGE_SOURCE/tests/plugin_example.c" -o "$folder/libmine.so" &&
    expect 0 '1 measured' bench --device host --load "$folder/libmine.so" --family example_saxpy --variant 'h01*' \
      --shape n=1000 --max-samples 2
fi

# Variants that go wrong while they run: each has its record, and the one after it is right.
hostile="--device host --load $RIDGE_PLUGIN_DIR/plugin_hostile.so --family hostile"
# shellcheck disable=SC2086
{
  expect 1 '7 measured, 0 skipped, 7 failed' bench $hostile --variant 'h[01]*' --shape n=100 --max-samples 2 \
    --json "$folder/hostile.jsonl"
  expect 1 '7 measured, 0 skipped, 7 failed' bench $hostile --variant 'h[01]*' --shape n=100 --max-samples 2 --rounds 2
  for number in 02 04 06 08 10 12 14; do
    grep -q "\"label\":\"h${number}_right\".*\"status\":\"ok\"" "$folder/hostile.jsonl" ||
      { echo "FAIL: hostile h${number}_right was blamed for the variant before it"; failed=1; }
  done
  expect 0 'launch failed: n=100 is not to my taste' report "$folder/hostile.jsonl"
  expect 1 'h07_on_input 100 random: wrote into its inputs' check $hostile --variant 'h[01]*'
  expect 2 'no preset' bench $hostile
  expect 2 'x would have 0 elements' bench $hostile --variant h02_right --shape n=0
  expect 134 'crashed in hostile_h81_crash 9' bench $hostile --variant 'h8*' --shape n=9 --max-samples 1 \
    --json "$folder/crash.jsonl"
  expect 0 'h80_slow' report "$folder/crash.jsonl"
}

# Globs add up.
expect 0 '^gemm_f32_h01_naive' bench --device host --list -v 'gemm_f32_h01*' -v 'rope_h02*'
expect 0 '^rope_h02' bench --device host --list -v 'gemm_f32_h01*' -v 'rope_h02*'
expect 0 '^rope_h02.* 8x2x4x8$' bench --device host --list -v 'gemm_f32_h01*' -v 'rope_h02*' -s m=1,n=2,k=3 -s tokens=8,heads=2,dim=4,positions=8
expect 0 '^gemm_f32_h01.* 1x2x3$' bench --device host --list -v 'gemm_f32_h01*' -v 'rope_h02*' -s m=1,n=2,k=3 -s tokens=8,heads=2,dim=4,positions=8
expect 2 'gemm_f32: .*no axis .p.; the axes are m n k' bench --device host --list -v 'gemm_f32_h01*' -v 'rope_h02*' -s p=3
expect 0 '2 checks passed' check --device host -v 'gemm_f32_h01*' -v 'rope_h02*' -s m=1,n=2,k=3 -s tokens=8,heads=2,dim=4,positions=8 --case random
expect 2 'given too often' bench --device host -v "$(printf 'x%.0s' $(seq 300))" -v "$(printf 'x%.0s' $(seq 300))"

# Checks of some shapes and some inputs.
check='check --device host --family gemm_f32 --variant h01_naive'
# shellcheck disable=SC2086
{
  expect 0 ' 6 checks passed' $check --shape 65x33x17 --shape m=9,n=9,k=9
  expect 0 ' 1 checks passed' $check --shape m=9,n=9,k=9 --case random
  expect 0 ' 2 checks passed' $check --shape 65x33x17 --case '[co]*'
  expect 0 ' 1 checks passed' $check --shape 'cube-25*' --case random
  expect 2 '--shape=7x7x7: no shape .* spelt m=7,n=7,k=7' $check --shape 7x7x7
  expect 2 '--case=worst: no inputs' $check --case worst
  expect 2 'm=0: m must be in 1' $check --shape m=0
  expect 2 'q' $check --shape q=5
  expect 2 '--plan=: a plan' $check --plan ''
  for plan in ' 64x64' '64x64 ' $'64x64\n' '64 x64' $'\x1b[2J'; do
    expect 2 ': a plan is one word' $check --plan "$plan"
  done
  expect 2 '--plan=64x64: no selected variant has plans' $check --shape 65x33x17 --case random --plan 64x64
}

# Standard output: full, closed, a pipe to a reader of records.
# shellcheck disable=SC2086
{
  for arguments in --version --help 'bench --help' list; do
    "$RIDGE" $arguments >/dev/full 2>"$folder/out"
    code=$?
    [ $code -eq 4 ] && grep -q 'standard output' "$folder/out" ||
      { echo "FAIL: ridge $arguments to a full disk: exit $code"; failed=1; }
  done
  small="bench $gemm --cache hot --shape m=8,n=8,k=8 --max-samples 1"
  "$RIDGE" $small --json "$folder/closed.jsonl" >&- 2>/dev/null
  [ "$(wc -l <"$folder/closed.jsonl")" -eq 1 ] ||
    { echo 'FAIL: with standard output closed, text went into the records'; failed=1; }
  for target in - /dev/stdout; do
    "$RIDGE" $small --json $target 2>"$folder/out" | "$RIDGE" report - >"$folder/piped" ||
      { echo "FAIL: records to $target cannot be read from a pipe"; failed=1; }
    grep -q h01_naive "$folder/piped" && grep -q '1 measured' "$folder/out" ||
      { echo "FAIL: --json $target: no records, or no text on standard error"; failed=1; }
  done
}
[ -e ./- ] && { echo 'FAIL: a file - was made'; failed=1; }

# A line for which there is no memory is not the end of the file. (The sanitizers need more than any limit.)
if ! grep -q __asan_init "$RIDGE"; then
  (ulimit -v 400000 && head -c 600000000 /dev/zero | "$RIDGE" report - >"$folder/out" 2>&1)
  code=$?
  [ $code -eq 2 ] && grep -q memory "$folder/out" || { echo "FAIL: a line larger than memory: exit $code"; failed=1; }
fi

# Two runs and one file, with a line that an earlier run cut short.
printf '{"schema":"ridge' >"$folder/shared.jsonl"
for run in 1 2; do
  # shellcheck disable=SC2086
  "$RIDGE" $small --seed $run --family 'gemm_*' --variant 'h*' --max-samples 2 --json "$folder/shared.jsonl" \
    >"$folder/shared$run" 2>&1 &
done
wait
expect 0 'measured again later' report "$folder/shared.jsonl"
expected=$(cat "$folder"/shared[12] | grep -cE ' (ok|skip) ')
[ "$(wc -l <"$folder/shared.jsonl")" -eq "$expected" ] ||
  { echo "FAIL: two runs wrote $expected records, the file has others"; failed=1; }

OMP_NUM_THREADS=100000 expect 2 'OMP_NUM_THREADS asks for 100000 threads' bench --device host
for threads in 0 -3 abc 3 2,2; do
  # shellcheck disable=SC2086
  OMP_NUM_THREADS=$threads expect 0 '1 measured' $small
done

# A machine without a GPU says so; with one, this part has nothing to test.
if [ "$("$RIDGE" doctor --profile)" = host ]; then
  expect 4 'no NVIDIA driver|no CUDA|no usable GPU|no GPU' bench --device cuda
  expect 4 'no NVIDIA driver|no CUDA|no usable GPU|no GPU' check --device cuda
  expect 4 'no counters' profile gemm_f32_h01_naive
  expect 2 "no variant matches 'no_such_variant'" profile no_such_variant
  # A build without CUDA knows the names that it leaves out.
  if [ "$("$RIDGE" list --device cuda 2>&1 | grep -c 'no CUDA variants')" = 1 ]; then
    expect 4 'nothing to run: .*needs a GPU .this build has no CUDA variants' bench --family gemm_fp8_block
    expect 4 'this build has no CUDA variants' profile gemm_f32_04_async_copy
    expect 4 'nothing to tune: .*this build has no CUDA variants' tune gemm_bf16
    expect 4 'this build has no CUDA variants' check --family gemm_fp8_block
    expect 4 'this build has no CUDA variants' list --family gemm_fp8_block
    expect 2 'matches only GPU variants' bench --device host --family gemm_fp8_block
    expect 2 'no variant matches' bench --family gemm_fp9_block
  fi
  if "$RIDGE" list --device cuda >/dev/null 2>&1; then
    expect 4 'needs a GPU' profile gemm_f32_01_naive
    expect 4 'needs a GPU' trace mla_decode_05_seesaw --out "$folder/traces"
    [ -e "$folder/traces" ] && { echo 'FAIL: a refused trace made a folder'; failed=1; }
    expect 2 'matches only GPU variants' bench --device host --variant gemm_f32_01_naive
  fi
  expect 0 'gpu +no ' doctor
  expect 0 'python +(ok|no) ' doctor
fi

# The whole path on the CPU: a run, its records, and the readers.
# shellcheck disable=SC2086
expect 0 '1 measured, 0 skipped, 0 failed' bench $gemm --shape m=32,n=32,k=32 --min-samples 3 --json "$folder/run.jsonl"
expect 0 'h01_naive' report "$folder/run.jsonl"

# Rounds: each family and shape in turn, and one record of all samples at the end.
expect 0 '2 measured, 0 skipped, 0 failed' bench --device host -f gemm_f32 -f gemm_bf16 -v '*_h01*' \
  --shape m=32,n=32,k=32 --rounds 3 --min-samples 2 --max-samples 2 --json "$folder/rounds.jsonl"
[ "$(grep -c '"rounds":3' "$folder/rounds.jsonl")" -eq 2 ] && [ "$(wc -l <"$folder/rounds.jsonl")" -eq 2 ] ||
  { echo 'FAIL: three rounds of two steps are not two records'; cat "$folder/rounds.jsonl"; failed=1; }
grep -qE '"samples_ns":\[([0-9.]+,){5}[0-9.]+\]' "$folder/rounds.jsonl" ||
  { echo 'FAIL: three rounds of two samples are not six'; failed=1; }
expect 0 ' 1 measured|^1 measured' bench --device host --family attention_f32 --variant h01_naive --shape 1x1x512x8x64 \
  --max-samples 2 --json "$folder/run.jsonl"
expect 0 'exponentials, it is left out of the bound: no family measures it on the CPU' report "$folder/run.jsonl"
printf '{"schema":"ridgeline.rec' >>"$folder/run.jsonl"
expect 0 'partial' report "$folder/run.jsonl"
expect 2 'LICENSE:1: not a record' report "$RIDGE_SOURCE/LICENSE"
expect 2 'no_such_file' report "$folder/no_such_file.jsonl"

exit $failed
