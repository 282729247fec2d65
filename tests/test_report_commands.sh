#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ridge compare and ridge report on the command line: exit codes, messages, JUnit, Markdown.
set -u
fixtures=$(cd "${RIDGE_SOURCE:-.}/tests/fixtures" && pwd)
ridge=${RIDGE:?path of the binary}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$fixtures/.." || exit 1 # the fixture names its device file relative to here
base=fixtures/report_ladder.jsonl
failures=0

# expect CODE TEXT COMMAND...: exit code, and TEXT somewhere in the output
expect() {
    local code=$1 text=$2 got
    shift 2
    "$@" >"$dir/out" 2>&1
    got=$?
    if [ "$got" -ne "$code" ] || ! grep -qF -- "$text" "$dir/out"; then
        echo "FAILED: $* gave $got, expected $code and '$text'"
        tail -20 "$dir/out"
        failures=$((failures + 1))
    fi
}

unchanged() { cmp "$1" "$2" || failures=$((failures + 1)); }
only_gpu() { grep '"kind": "cuda"' "$base" | grep -v time_u$; }

# A ceiling counted in tokens, which no resource of the model is.
grep '"ceiling_fma_f32_01_ilp8"' "$base" |
    sed 's/ceiling_fma_f32/ceiling_dequant/g; s/"iters": 100000/"tokens": 4000000/' >"$dir/tokens.jsonl"
expect 0 "4.00 Gtoken/s" "$ridge" report "$dir/tokens.jsonl"

# Without a roof of DRAM the bound is the only resource: it is not the next one as well.
grep '"kind": "host"' "$base" | grep -v ceiling_host_read >"$dir/no_dram.jsonl"
expect 0 "no ceiling is known for DRAM" "$ridge" report "$dir/no_dram.jsonl"
grep -q 'fp32.* 1\.00x' "$dir/out" && { echo 'FAILED: next is the bound itself'; failures=$((failures + 1)); }

expect 0 "27 pairs: 27 same" "$ridge" compare "$base" "$base" --threshold 5
only_gpu | sed 's/"cubin_xxh64": "[0-9a-f]*"/"cubin_xxh64": "feedfeedfeedfeed"/' |
    awk '/"02_smem_tile"/ { # a slower 02: every figure of its time in a larger unit
            while (match($0, /"samples_ns": \[[^]]*\]/)) {
                list = substr($0, RSTART + 15, RLENGTH - 16); head = substr($0, 1, RSTART - 1)
                tail = substr($0, RSTART + RLENGTH); n = split(list, s, ", "); out = ""
                for (i = 1; i <= n; i++) out = out (i > 1 ? ", " : "") s[i] * 1.05
                $0 = head "\"samples\": [" out "]" tail
            }
            gsub(/"samples":/, "\"samples_ns\":")
         } { print }' >"$dir/slower.jsonl"
expect 1 "SLOWER" "$ridge" compare "$base" "$dir/slower.jsonl" --junit "$dir/junit.xml" --markdown "$dir/summary.md"
expect 0 'failures="2"' cat "$dir/junit.xml"
expect 0 "regression: 2 slower" cat "$dir/summary.md"
expect 0 "only in BASE: gemm_f32_h01_naive" "$ridge" compare "$base" "$dir/slower.jsonl" --threshold 10
if command -v xmllint >/dev/null; then
    xmllint --noout "$dir/junit.xml" || failures=$((failures + 1))
elif command -v python3 >/dev/null; then
    python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$dir/junit.xml" || failures=$((failures + 1))
fi

only_gpu | sed 's/"name": "NVIDIA H200"/"name": "NVIDIA H20"/' >"$dir/h20.jsonl"
expect 4 "device.name" "$ridge" compare "$base" "$dir/h20.jsonl"
only_gpu | sed 's/"driver": "580[^"]*"/"driver": "570.86"/' >"$dir/branch.jsonl"
expect 4 "driver branch 580 against 570" "$ridge" compare "$base" "$dir/branch.jsonl"
only_gpu | sed 's/GPU-0[^"]*/GPU-1/' >"$dir/unit.jsonl"
expect 0 "another unit of NVIDIA H200" "$ridge" compare "$base" "$dir/unit.jsonl"
# A variant in both power modes: 2956.8 us at 1755 MHz and 3.4 ms at 1500.
{
    grep -v time_u$ "$base"
    grep '"04_async_copy"' "$base" | head -1 | sed 's/"power": {"requested": "burst"/"power": {"requested": "steady"/
        s/"median_ns": [0-9.]*/"median_ns": 3400000/; s/kernel_median_ns": [0-9.]*/kernel_median_ns": 3401000/; s/"sm_mhz": {"median": [0-9.]*/"sm_mhz": {"median": 1500/
        s/"power_w": [0-9.]*/"power_w": 699.5/'
} >"$dir/both.jsonl"
expect 0 "steady (power-limited) beside burst on NVIDIA H200" "$ridge" report "$dir/both.jsonl" --out "$dir"
grep -qE '^gemm_f32_04_async_copy +4096x4096x4096 +2\.957 ms +3\.400 ms +1\.15x +46\.5 +40\.4 +17[0-9]{2} +1500 +1\.1[0-9]x +[0-9]+ +700 ' \
    "$dir/out" || { echo 'FAILED: burst and steady side by side'; grep -A4 'beside burst' "$dir/out"; failures=$((failures + 1)); }
grep -q '^### Steady beside burst' "$dir/report.md" || { echo 'FAILED: not in report.md'; failures=$((failures + 1)); }
"$ridge" report "$base" | grep -q 'beside burst' && { echo 'FAILED: a table of nothing'; failures=$((failures + 1)); }

only_gpu | sed 's/"idea":/"note": "algorithm 7", "idea":/' >"$dir/noted.jsonl"
expect 0 'setup chose ""' "$ridge" compare "$dir/noted.jsonl" "$base"
: >"$dir/empty.jsonl"
expect 4 "nothing to compare" "$ridge" compare "$base" "$dir/empty.jsonl"

# Bad input. 2 comes before 4.
sed 's|ridgeline.record/1|ridgeline.record/9|' "$dir/h20.jsonl" >"$dir/schema.jsonl"
expect 2 "schema" "$ridge" compare "$base" "$dir/schema.jsonl"
printf 'not a record\nat all\n' >"$dir/text"
for command in "compare $base" report; do
    # shellcheck disable=SC2086
    expect 2 "$dir/text" "$ridge" $command "$dir/text"
    # shellcheck disable=SC2086
    expect 2 "$dir/missing" "$ridge" $command "$dir/missing"
done
sed '2s/"median_ns": [0-9.]*/"median_ns": -1/' "$base" >"$dir/negative.jsonl"
expect 2 "$dir/negative.jsonl:2: key \"time.median_ns\" is -1, expected more than 0" "$ridge" report "$dir/negative.jsonl"
expect 2 "BASE and NEW cannot both be standard input" "$ridge" compare - - </dev/null
expect 2 "no-such-option" "$ridge" compare --no-such-option "$base" "$base"
expect 2 "no-such-option" "$ridge" report --no-such-option "$base"
expect 2 "two record files" "$ridge" compare "$base"
expect 2 "one file too many" "$ridge" compare "$base" "$base" "$base"
expect 2 "RECORDS is missing" "$ridge" report
for value in x -1 100 nan ""; do
    expect 2 "--threshold" "$ridge" compare "--threshold=$value" "$base" "$base"
done
expect 2 "h2000" "$ridge" report --device h2000 "$base"
"$ridge" compare "$base" "$base" --threshold 5 -m - 2>/dev/null >"$dir/markdown"
expect 0 "## Performance comparison: no regression" head -1 "$dir/markdown"
"$ridge" compare "$base" "$base" --threshold 5 -j - 2>/dev/null >"$dir/junit"
expect 0 "<?xml" head -1 "$dir/junit"
[ -e ./- ] && { echo 'FAILED: a file - was made'; failures=$((failures + 1)); }
expect 4 "$dir/no/junit.xml" "$ridge" compare "$base" "$base" --threshold 5 --junit "$dir/no/junit.xml"
expect 4 "not a folder" "$ridge" report "$base" --out "$dir/text"

# The report stands without a plot: data, script and a note are left. $RIDGE_PYTHON is asked first.
expect 0 "report.md" "$ridge" report "$base" --out "$dir/report"
expect 0 "## NVIDIA H200" cat "$dir/report/report.md"
printf '#!/bin/sh\necho "$@" >>%s/python.log\n[ "$1" = -c ]\n' "$dir" >"$dir/python"
chmod +x "$dir/python"
expect 0 "no bound charts" env RIDGE_PYTHON="$dir/python" "$ridge" report "$base" --out "$dir/report2"
expect 0 "report2/bound_chart.py $dir/report2/bound_chart.json" cat "$dir/python.log"
expect 0 '"charts"' cat "$dir/report2/bound_chart.json"

# A chart that cannot be drawn does not cost those after it.
for python in "${RIDGE_PYTHON:-}" python3 /usr/bin/python3 ''; do
    [ -n "$python" ] && "$python" -c 'import matplotlib' 2>/dev/null && break
done
if [ -n "$python" ]; then
    mkdir "$dir/draw"
    "$python" - "$dir" <<'END'
import json, sys
data = json.load(open(sys.argv[1] + "/report2/bound_chart.json"))
good = data["charts"][0]
bad = dict(good, file="bound_bad", groups=[])
json.dump({"charts": [bad, dict(good, file="bound_good")]}, open(sys.argv[1] + "/draw/bound_chart.json", "w"))
END
    touch "$dir/draw/bound_bad.png"
    expect 1 "1 of 2: bound_bad (" "$python" "$fixtures/../../reports/bound_chart.py" "$dir/draw/bound_chart.json"
    expect 0 "bound_good.png bound_good.svg" \
        sh -c 'cd "$1" && echo $(ls *.png *.svg)' sh "$dir/draw"
fi

# Plans and an emulated device are no steps of the ladder: tables of their own, no chart.
{
    grep '}$' "$base"
    for plan in fast slow; do
        grep '"04_async_copy"' "$base" | head -1 | sed "s/\"mode\": {/&\"plan\": {\"requested\": \"$plan\"}, /"
    done | sed '1s/"kernel_median_ns": [0-9.]*/"kernel_median_ns": 1000000/'
    grep '"04_async_copy"' "$base" | head -1 | sed 's/"emulate": {"requested": "none"/"emulate": {"requested": "h20"/'
} >"$dir/plans.jsonl"
expect 0 "plans/report.md" env RIDGE_PYTHON="$dir/python" "$ridge" report "$dir/plans.jsonl" --out "$dir/plans"
expect 0 "gemm_f32, plans (m x n x k) on NVIDIA H200" "$ridge" report "$dir/plans.jsonl"
grep -qE '^04_async_copy .* fast +1 of 2 ' "$dir/out" && grep -qE '^04_async_copy .* slow +2 of 2 .* 1\.00x' "$dir/out" &&
    grep -A3 '^gemm_f32, emulated' "$dir/out" | grep -q '^04_async_copy' ||
    { echo 'FAILED: plans or an emulated row'; cat "$dir/out"; failures=$((failures + 1)); }
sed -n '/^gemm_f32 (/,/^$/p' "$dir/out" >"$dir/ladder.txt"
"$ridge" report "$base" | sed -n '/^gemm_f32 (/,/^$/p' >"$dir/before.txt"
unchanged "$dir/before.txt" "$dir/ladder.txt"
unchanged "$dir/report2/bound_chart.json" "$dir/plans/bound_chart.json"

# Folders above --out are made, and who may not make one is told.
expect 0 "a/b/c/report.md" "$ridge" report "$base" --out "$dir/a/b/c"
expect 4 "not a folder, or below a file" "$ridge" report "$base" --out "$dir/text/b"
mkdir "$dir/readonly"
chmod 555 "$dir/readonly"
chmod 711 "$dir"
nobody=
[ "$(id -u)" = 0 ] && nobody='setpriv --reuid 65534 --clear-groups'
# shellcheck disable=SC2086
if $nobody test -r "$base" -a -x "$ridge" 2>/dev/null; then
    expect 4 "--out $dir/readonly/b/c: Permission denied" $nobody "$ridge" report "$base" --out "$dir/readonly/b/c"
    expect 4 "readonly/bound_chart.json: Permission denied" $nobody "$ridge" report "$base" --out "$dir/readonly"
fi

# A python that fails is one line.
printf '#!/bin/sh\n[ "$1" = -c ] || { echo Traceback; echo "  File x"; echo "OSError: no"; exit 1; } >&2\n' >"$dir/python"
expect 0 "bound_chart.json failed: OSError: no" env RIDGE_PYTHON="$dir/python" "$ridge" report "$base" --out "$dir/report2"
grep -qE 'Traceback|File x' "$dir/out" && { echo 'FAILED: a traceback'; failures=$((failures + 1)); }

# No whole record: refused, and the report that is there stays.
head -c 300 "$base" >"$dir/cut.jsonl"
cp "$dir/report/report.md" "$dir/before.md"
expect 2 "empty.jsonl: no records" "$ridge" report "$dir/empty.jsonl" --out "$dir/report"
expect 2 "cut.jsonl: no records, only a partial line" "$ridge" report "$dir/cut.jsonl" --out "$dir/report"
unchanged "$dir/before.md" "$dir/report/report.md"

# Files that do not become whole, here by a limit of 1 KiB: the old ones stay, new ones are not there, and no drafts.
limited() {
    (ulimit -f 1 && exec "$@") 2>&1 | cat
    return "${PIPESTATUS[0]}"
}
cp "$dir/junit.xml" "$dir/before.xml"
expect 4 "File too large" limited "$ridge" report "$base" --out "$dir/report3"
[ -z "$(ls "$dir/report3")" ] || { echo 'FAILED: parts of a report'; ls -l "$dir/report3"; failures=$((failures + 1)); }
expect 4 "File too large" limited "$ridge" report "$base" --out "$dir/report"
unchanged "$dir/before.md" "$dir/report/report.md"
expect 4 "junit.xml: File too large" limited "$ridge" compare "$base" "$base" --threshold 5 --junit "$dir/junit.xml"
unchanged "$dir/before.xml" "$dir/junit.xml"
expect 4 "new.xml: File too large" limited "$ridge" compare "$base" "$base" --threshold 5 --junit "$dir/new.xml"
[ -e "$dir/new.xml" ] && { echo 'FAILED: a part of a file'; failures=$((failures + 1)); }
expect 4 ".gp: File too large" limited "$ridge" roofline fixtures/roofline_h200.jsonl --out "$dir/report3"
[ -z "$(find "$dir" -name '*.draft' -o -name '*.gp')" ] || { echo 'FAILED: drafts'; failures=$((failures + 1)); }
ln -s report/report.md "$dir/link.md" # a link stays one
expect 0 "" "$ridge" compare "$base" "$base" --threshold 5 --markdown "$dir/link.md"
[ -L "$dir/link.md" ] && expect 0 "## Performance" cat "$dir/report/report.md"

[ "$failures" -eq 0 ] || exit 1
