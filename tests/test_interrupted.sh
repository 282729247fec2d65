#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ctrl-C, other signals and crashes: whole records of what was measured, an exit code, and an end within seconds.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
gemm='--device host --family gemm_f32 --variant h01_naive'
hostile="--device host --load $RIDGE_PLUGIN_DIR/plugin_hostile.so --family hostile"

# Ctrl-C: the records so far are whole and the exit code says that the run is not.
"$RIDGE" bench --device host --family 'gemm_*' --json "$folder/stopped.jsonl" >"$folder/out" 2>&1 &
process=$!
for _ in $(seq 100); do
  [ -s "$folder/stopped.jsonl" ] && break
  sleep 0.1
done
kill -INT $process
wait $process
code=$?
if [ $code -ne 4 ] || ! grep -q "interrupted: the records so far are complete, in $folder/stopped.jsonl" "$folder/out"; then
  echo "FAIL: after Ctrl-C the exit code was $code"
  cat "$folder/out"
  failed=1
fi
"$RIDGE" report "$folder/stopped.jsonl" | grep -q gemm || { echo 'FAIL: the records so far are no report'; failed=1; }

# In an early round too: the records are of the rounds so far.
"$RIDGE" bench $gemm --shape m=32,n=32,k=32 --rounds 100 --min-samples 2 --max-samples 2 --json "$folder/early.jsonl" \
  >"$folder/out" 2>&1 &
process=$!
for _ in $(seq 100); do
  grep -q 'round 3 of' "$folder/out" && break
  sleep 0.1
done
kill -INT $process
wait $process
code=$?
if [ $code -ne 4 ] || [ "$(wc -l <"$folder/early.jsonl")" -ne 1 ] || ! grep -q '"status":"ok"' "$folder/early.jsonl"; then
  echo "FAIL: after Ctrl-C between rounds the exit code was $code"
  cat "$folder/out" "$folder/early.jsonl"
  failed=1
fi

# What ends the program between rounds does not take the records of earlier ones along.
rounds_end() # WHAT EXIT_CODE COMMAND...: a step before the one that is hit, and that one with what it had
{
  local what=$1 wanted=$2
  shift 2
  rm -f "$folder/ended.jsonl"
  "$@"
  [ $code -eq "$wanted" ] || { echo "FAIL: $what between rounds gave exit code $code"; cat "$folder/out"; failed=1; }
  [ "$(grep -c '"status":"ok"' "$folder/ended.jsonl")" -eq 2 ] && [ "$(wc -l <"$folder/ended.jsonl")" -eq 2 ] &&
    [ "$("$RIDGE" report "$folder/ended.jsonl" | grep -cE '^h(02_right|8[23]_)')" -ge 2 ] ||
    { echo "FAIL: $what between rounds left no two records"; cat "$folder/out" "$folder/ended.jsonl"; failed=1; }
}
rounds_of() # VARIANT: of few launches a round, so that the 12 that go well take it beyond the first
{
  # shellcheck disable=SC2086
  exec "$RIDGE" bench $hostile -v h02_right -v "$1" --shape n=100 --rounds 9 --timeout 0.001 --min-samples 1 \
    --max-samples 1 --json "$folder/ended.jsonl" >"$folder/out" 2>&1
}
crash_later()
{
  (rounds_of h82_crash_later) 2>/dev/null
  code=$?
}
signal_later() # SIGNAL [AGAIN]
{
  (rounds_of h83_slow_later) &
  process=$!
  sleep 2
  for name; do
    kill "-$name" $process
    sleep 0.3
  done
  wait $process
  code=$?
} 2>/dev/null
rounds_end 'a crash' 134 crash_later
rounds_end 'SIGTERM in a long step' 4 signal_later TERM
rounds_end 'a second SIGINT' 130 signal_later INT INT
rounds_end 'a second SIGTERM' 143 signal_later TERM TERM
rounds_end 'SIGHUP' 129 signal_later HUP
# shellcheck disable=SC2086
"$RIDGE" bench $gemm --shape m=32,n=32,k=32 --rounds 100 --max-samples 2 --min-samples 2 --json "$folder/head.jsonl" \
  2>/dev/null | grep -m 1 'round 2' >/dev/null
[ "$(wc -l <"$folder/head.jsonl")" -eq 1 ] || { echo 'FAIL: | head between rounds took the record along'; failed=1; }

# A second one does not wait.
"$RIDGE" bench --device host --family gemm_f32 --variant h01_naive --shape m=4096,n=4096,k=4096 >"$folder/out" 2>&1 &
process=$!
for _ in $(seq 300); do
  grep -q 'double precision' "$folder/out" && break
  sleep 0.1
done
kill -TERM $process
sleep 0.3
kill -TERM $process
wait $process
code=$?
[ $code -eq 143 ] || { echo "FAIL: after a second SIGTERM the exit code was $code"; failed=1; }

# A signal in a step of minutes is heeded within seconds, and a log says what the step is.
"$RIDGE" bench --device host --family gemm_f32 --variant h01_naive --shape m=4096,n=4096,k=4096 \
  --json "$folder/long.jsonl" >"$folder/out" 2>&1 &
process=$!
for _ in $(seq 300); do
  grep -q 'double precision' "$folder/out" && break
  sleep 0.1
done
began=$SECONDS
kill -TERM $process
wait $process
code=$?
if [ $code -ne 4 ] || [ $((SECONDS - began)) -gt 10 ] || ! grep -q 'interrupted in gemm_f32_h01_naive' "$folder/out"; then
  echo "FAIL: in a long step SIGTERM took $((SECONDS - began)) s and gave exit code $code"
  cat "$folder/out"
  failed=1
fi
"$RIDGE" check --device host --family attention_bf16 --shape b=1,s_q=4096,s_k=65536,h=16 >"$folder/out" 2>&1 &
process=$!
sleep 1
kill -TERM $process
wait $process
grep -q 'interrupted in attention_bf16_reference 1x4096x65536x16' "$folder/out" || {
  echo 'FAIL: check interrupted in a reference does not name it'
  cat "$folder/out"
  failed=1
}

exit $failed
