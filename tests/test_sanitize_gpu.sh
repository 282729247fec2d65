#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/sanitize_gpu, with a ridge and a compute-sanitizer that only say what they were asked.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

cat >"$folder/ridge" <<'EOF'
#!/usr/bin/env bash
case "$*" in
  'doctor --profile') echo "${PROFILE:-h200-sxm}" ;;
  'list --device cuda') printf '\nalpha: a problem\n  axes: n\n  01_first  idea\n\ngemm_bf16: D = A B\n  07_x  idea\n' ;;
  'list --device cuda --family alpha' | 'list --device cuda --family gemm_bf16') ;;
  list*) exit 2 ;;
esac
EOF
cat >"$folder/sanitizer" <<'EOF'
#!/usr/bin/env bash
echo "$*" >>"$CALLS"
case "$*" in
  *racecheck*alpha*) echo '========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)'; exit 9 ;;
  *synccheck*gemm*) sleep 5 ;;
esac
echo 'NVIDIA H200: 12 checks passed, 0 skipped, 0 failed'
echo '========= ERROR SUMMARY: 0 errors'
EOF
chmod +x "$folder/ridge" "$folder/sanitizer"
export RIDGE="$folder/ridge" COMPUTE_SANITIZER="$folder/sanitizer" CALLS="$folder/calls" LIMIT=2

# expect CODE LINES PATTERN ARGUMENT...
expect() {
  local code=$1 lines=$2 pattern=$3
  shift 3
  : >"$CALLS"
  "$RIDGE_SOURCE/scripts/sanitize_gpu" "$@" >"$folder/out" 2>&1
  local got=$?
  if [ $got -ne "$code" ] || [ "$(grep -c SUMMARY: "$folder/out")" -lt "$lines" ] || ! grep -qE -- "$pattern" "$folder/out"; then
    printf 'FAIL: sanitize_gpu %s\n  exit %s, expected %s and /%s/\n' "$*" $got "$code" "$pattern"
    cat "$folder/out"
    failed=1
  fi
}
called() {
  grep -qF -- "$1" "$CALLS" || { echo "FAIL: not called: $1"; cat "$CALLS"; failed=1; }
}

expect 1 5 '^racecheck +alpha +FAIL +[0-9]+ s  RACECHECK SUMMARY: 2 hazards'
called '--tool memcheck --error-exitcode 9 '"$folder"'/ridge check --device cuda --family alpha --variant [!9]*'
called 'check --device cuda --family gemm_bf16 --variant [0-8]* --case random --shape m=132,n=264,k=392 --shape m=8,n=35872,k=200'
[ "$(wc -l <"$CALLS")" -eq 6 ] || { echo 'FAIL: not a call for each of two families and three tools'; failed=1; }
grep -q '^synccheck  gemm_bf16  *time limit' "$folder/out" || { echo 'FAIL: no time limit'; failed=1; }
TOOLS=synccheck expect 3 0 'gemm_bf16 +time limit' gemm_bf16
TOOLS=memcheck expect 0 1 '^memcheck +gemm_bf16_07\* +ok +0 s  ERROR SUMMARY: 0 errors; NVIDIA H200: 12 checks' 'gemm_bf16_07*'
called 'check --device cuda --variant gemm_bf16_07*'
PROFILE=host expect 4 0 'no GPU'
COMPUTE_SANITIZER=/no/such expect 4 0 '/no/such is not there'

exit $failed
