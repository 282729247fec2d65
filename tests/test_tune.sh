#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ridge tune and --plan, with variants whose plans are how long to sleep.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
sleeper="--device host --load $RIDGE_PLUGIN_DIR/plugin_plans.so"
few='--min-samples 6 --max-samples 6'

# expect CODE PATTERN ARGUMENT...: the pattern is held against the output as one line.
expect() {
  local code=$1 pattern=$2
  shift 2
  "$RIDGE" "$@" >"$folder/out" 2>&1 </dev/null
  local got=$?
  if [ $got -ne "$code" ] || ! tr '\n' ' ' <"$folder/out" | grep -qE -- "$pattern"; then
    printf 'FAIL: ridge %s\n  exit %s, expected %s and /%s/; output:\n' "$*" $got "$code" "$pattern"
    cat "$folder/out"
    failed=1
  fi
}

# shellcheck disable=SC2086
{
  # 30 ms against 10 ms; other work on the machine makes either longer.
  expect 0 'sleeper_h01_bad 64: 3 plans.* 10ms +[0-9.]+ ms +0\.0 %.* 20ms .* 30ms +[0-9.]+ ms .*its own choice' \
    tune sleeper $sleeper $few --variant h01_bad --json "$folder/run.jsonl"
  expect 0 'regret ([5-9][0-9]|[1-3][0-9]{2})\.[0-9] %.*its own choice takes [3-5][.0-9]* ms, 10ms takes [12][.0-9]* ms' \
    tune sleeper $sleeper $few --variant h01_bad
  expect 0 'regret 0\.0 %: no plan is faster.*regret of sleeper_h02_good over 1 shape: geometric mean 0\.0 %' \
    tune sleeper $sleeper $few --variant h02_good
  # Two shapes of one variant, one of the other.
  expect 0 'regret of sleeper_h01_bad over 2 shapes: geometric mean [0-9.]+ %, worst [0-9.]+ % \((64|128)\) regret of sleeper_h02_good over 2' \
    tune sleeper $sleeper $few --variant 'h0[12]*' --shape n=128 --shape n=64
  # The mean of both shapes is that of the two regrets printed.
  sed -n 's/^regret \([0-9.]*\) % (95.*/\1/p; s/^regret of sleeper_h01.*geometric mean \([0-9.]*\) %.*/\1/p' "$folder/out" |
    awk '{ r[NR] = 1 + $1 / 100 } END { d = r[1] * r[2] - r[3] * r[3]; exit !(NR == 3 && d * d < 1e-3) }' ||
    { echo 'FAIL: the mean of two regrets'; cat "$folder/out"; failed=1; }
  expect 1 'FAIL sleeper_h03_wrong 20ms: out\[0\] is off.* 20ms +failed .*1 runs failed their check' \
    tune sleeper $sleeper $few --variant h03_wrong
  expect 2 "no selected variant of 'sleeper' has plans" tune sleeper $sleeper --variant h04_none
  expect 2 '--plan=10ms: tune times all plans' tune sleeper $sleeper --plan 10ms
  expect 2 'which FAMILY' tune
  expect 2 'one FAMILY at a time' tune sleeper sleeper

  # Records name the plan, their issued work is the plan's, and each is a point of its own for the readers.
  grep -q '"plan":{"requested":"10ms"}' "$folder/run.jsonl" || { echo 'FAIL: no record names plan 10ms'; failed=1; }
  grep '"requested":"20ms"' "$folder/run.jsonl" | grep -q '"flop_fp32":20' ||
    { echo 'FAIL: the issued work is not that of the plan'; failed=1; }
  [ "$(grep -vc '"plan":' "$folder/run.jsonl")" -eq 2 ] || # the choice, timed twice
    { echo 'FAIL: the choice of the variant is not recorded as its own'; failed=1; }
  expect 0 'sleeper, plans .*over own choice.* 10ms +1 of 2 .* 20ms +2 of 2 ' report "$folder/run.jsonl"

  # --plan
  expect 0 'h01_bad +64 +ok .*1 measured' bench --family sleeper $sleeper $few --plan 10ms --variant h01_bad \
    --json "$folder/planned.jsonl"
  grep -q '"plan":{"requested":"10ms"}' "$folder/planned.jsonl" || { echo 'FAIL: --plan is not in the record'; failed=1; }
  expect 0 'h04_none +64 +skip has no plans to choose from' bench --family sleeper $sleeper $few --plan 10ms \
    --variant 'h0[14]_*'
  expect 2 '--plan=10ms: no selected variant has plans' bench --family sleeper $sleeper $few --plan 10ms \
    --variant h04_none
  expect 2 'sleeper_h01_bad: plan soon: not a number of milliseconds, such as 10ms' bench --family sleeper $sleeper \
    --plan soon
  expect 2 '--plan=: a plan has 1 to 63 characters' bench --family sleeper $sleeper --plan ''
  expect 2 "--plan=$(printf 'x%.0s' $(seq 64)): a plan has 1 to 63" bench --family sleeper $sleeper \
    --plan "$(printf 'x%.0s' $(seq 64))"
  "$RIDGE" compare "$folder/run.jsonl" "$folder/planned.jsonl" >"$folder/out" 2>&1 # inconclusive or not
  grep -q '^1 pairs' "$folder/out" && grep -q 'only in BASE: sleeper_h01_bad .*plan=20ms' "$folder/out" ||
    { echo 'FAIL: compare pairs other plans'; cat "$folder/out"; failed=1; }
}

if [ "$("$RIDGE" doctor --profile)" = host ] && "$RIDGE" list --device cuda >/dev/null 2>&1; then
  expect 4 'need another device: no ' tune gemm_bf16 --shape m=64,n=64,k=64
fi

exit $failed
