# SPDX-License-Identifier: Apache-2.0
# ridge roofline and ridge ceilings: what they write, and what they refuse without writing anything.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
h200=$RIDGE_SOURCE/tests/fixtures/roofline_h200.jsonl
host=$RIDGE_SOURCE/tests/fixtures/roofline_host.jsonl
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

# expect CODE TEXT COMMAND...: exit code, and a text in what it prints
expect() {
    local code=$1 text=$2 got
    shift 2
    "$@" >"$work/out" 2>&1
    got=$?
    [ "$got" = "$code" ] || fail "exit $got instead of $code: $*"
    grep -qF -- "$text" "$work/out" || { fail "no '$text' from: $*"; head -5 "$work/out"; }
}

# Refused: nothing is written.
expect 2 "unknown device 'h21'; known are a100-sxm" "$RIDGE" roofline "$h200" --device h20,h21 --out "$work/none"
expect 2 "nosuch.jsonl" "$RIDGE" roofline "$work/nosuch.jsonl" --out "$work/none"
: >"$work/empty.jsonl"
expect 2 "no records" "$RIDGE" roofline "$work/empty.jsonl" --out "$work/none"
expect 2 "no records" "$RIDGE" ceilings "$work/empty.jsonl"
echo '{"schema": "ridgeline.record/2"}' >"$work/other.jsonl"
expect 2 "other.jsonl" "$RIDGE" roofline "$work/other.jsonl" --out "$work/none"
expect 2 "RECORDS" "$RIDGE" roofline --out "$work/none"
expect 2 "" "$RIDGE" roofline "$h200" --nonsense --out "$work/none"
expect 2 "unknown device" "$RIDGE" ceilings "$h200" --device h21
sed 's/"value": 148e12/"value": -148e12/' "$RIDGE_SOURCE/roofline/devices/h20.json" >"$work/bad.json"
expect 2 "bad.json: figures.tensor_bf16_flop_per_s: not positive" \
    "$RIDGE" roofline "$h200" --device "$work/bad.json" --out "$work/none"
[ -e "$work/none" ] && fail "a refused command made its folder"
: >"$work/file"
expect 4 "not a folder" "$RIDGE" roofline "$h200" --out "$work/file"

# Without gnuplot: scripts with their data, and a note.
mkdir "$work/bin"
expect 0 "gnuplot is not on PATH" env PATH="$work/bin" "$RIDGE" roofline "$h200" --device h20 --out "$work/later"
[ -s "$work/later/roofline_h200-sxm_hbm.gp" ] || fail "no script without gnuplot"
[ -s "$work/later/roofline_h20_placed_hbm.gp" ] || fail "no script of the other device without gnuplot"

# A line a shape first: the step whose interval ends first, of how many.
PATH="$work/bin" "$RIDGE" roofline "$h200" --device h20 --out "$work/later" 2>&1 | sed -n '/least upper end/,/^$/p' >"$work/choices"
[ "$(wc -l <"$work/choices")" -eq 14 ] && grep -qE '^rope +2048x32x64x8192 +02_lut_float2 +4 +10\.32 us +8\.597 us +10\.32 us +hbm +8\.597 us' "$work/choices" &&
    grep -qE '^ +8192x8192x8192 +90_cublaslt +2 ' "$work/choices" || { cat "$work/choices"; fail "one step a shape"; }

# An emulated kernel: on the roofs of the device that it emulates only, with a mark and a note of its own; in the report
# held against those roofs too.
sed 's/"emulate": *{"requested": *"none"}/"emulate":{"requested":"h20"}/' "$h200" >"$work/emulated.jsonl"
expect 0 "emulated: the measured time is the throttled one" \
    env PATH="$work/bin" "$RIDGE" roofline "$work/emulated.jsonl" --device h20 --out "$work/emulated"
grep -q "emulated: ran throttled" "$work/emulated/roofline_h20_placed_hbm.gp" || fail "no mark of an emulated point"
grep -q "emulated: ran throttled" "$work/emulated/roofline_h200-sxm_hbm.gp" 2>/dev/null && fail "an emulated point on the roofs of its own device"
expect 0 "does not count: no emulated kernel uses it" "$RIDGE" emulation "$work/emulated.jsonl"
expect 0 "mla_decode_04_seesaw" "$RIDGE" emulation "$work/emulated.jsonl"
expect 2 "no record is emulated" "$RIDGE" emulation "$h200"
expect 0 "emulate=h20" "$RIDGE" report "$work/emulated.jsonl"
grep -v '"ceiling_' "$work/emulated.jsonl" >"$work/kernels.jsonl"
expect 2 "no throttled ceiling to calibrate by: ridge bench --emulate h20" "$RIDGE" emulation "$work/kernels.jsonl"

# What a record says is emulated is neither a path nor short.
sed 's|"emulate":{"requested":"h20"}|"emulate":{"requested":"/etc/passwd"}|' "$work/emulated.jsonl" >"$work/path.jsonl"
expect 2 "unknown device '/etc/passwd'" "$RIDGE" emulation "$work/path.jsonl"
long=$(printf '%05000d' 0)
sed "s|\"emulate\":{\"requested\":\"h20\"}|\"emulate\":{\"requested\":\"$long\"},\"plan\":{\"requested\":\"a\"}|" \
    "$work/emulated.jsonl" >"$work/long.jsonl"
expect 0 "emulate=0000" "$RIDGE" report "$work/long.jsonl"
expect 2 "unknown device '0000" "$RIDGE" emulation "$work/long.jsonl"

# A gnuplot that fails is said to fail.
printf '#!/bin/sh\nexit 3\n' >"$work/bin/gnuplot"
chmod +x "$work/bin/gnuplot"
expect 4 "gnuplot failed" env PATH="$work/bin:$PATH" "$RIDGE" roofline "$h200" --out "$work/later"

# So is one that says nothing on a full disk.
printf '#!/bin/sh\nexit 0\n' >"$work/bin/gnuplot"
expect 4 "gnuplot did not finish it" env PATH="$work/bin:$PATH" "$RIDGE" roofline "$h200" --out "$work/later"
printf '#!/bin/sh\nkill -9 $$\n' >"$work/bin/gnuplot"
expect 4 "gnuplot failed" env PATH="$work/bin:$PATH" "$RIDGE" roofline "$h200" --out "$work/later"

expect 0 "tensor cores BF16" "$RIDGE" ceilings "$h200"
expect 0 "4058" "$RIDGE" ceilings "$h200" # FLOP per clock and SM of n = 256
for command in roofline ceilings; do
    "$RIDGE" "$command" --help >"$work/help" || fail "$command --help"
    [ "$(wc -l <"$work/help")" -le 24 ] || fail "$command --help is longer than a screen"
done

"$RIDGE" roofline "$h200" --quiet --out "$work/quiet" >"$work/out" || fail "roofline --quiet"
grep -q 'roofline_h200-sxm_hbm' "$work/out" && ! grep -q ': measured' "$work/out" || fail "roofline --quiet prints tables"
expect 0 "only records of a GPU are placed" "$RIDGE" roofline "$host" --device h20 --out "$work/quiet"
head -1 "$work/out" | grep -q 'only records of a GPU' || fail "the note on --device does not come first"

if command -v gnuplot >/dev/null; then
    expect 0 "not measured. placed" "$RIDGE" roofline "$h200" "$host" --device h20 --out "$work/it's here"
    for name in h200-sxm_hbm h200-sxm_l2 h200-sxm_smem h20_placed_hbm host_hbm; do
        for kind in svg png; do
            [ -s "$work/it's here/roofline_$name.$kind" ] || fail "no roofline_$name.$kind"
        done
    done
    grep -q 'Nothing here was measured on NVIDIA H20' "$work/it's here/roofline_h20_placed_hbm.svg" ||
        fail "the plot of another device does not say so"
    head -c 8 "$work/it's here/roofline_host_hbm.png" | grep -q PNG || fail "the PNG is none"
    # Names in records are text, whatever is in them: no commands, no other folders.
    evil="x\\\\nEOD\\\\nsystem 'touch pwned'\\\\n\`touch pwned\`{}^_@~%s'"
    grep '"gemm_f32"' "$h200" | sed "s|\"label\":\"|&$evil|; s|\"family\":\"|&../../$evil|; s|\"name\":\"|&$evil|g;
        s|\"profile\":\"|&../|" >"$work/evil.jsonl"
    mkdir "$work/in" "$work/in/side"
    (cd "$work/in/side" && expect 0 "roofline_" "$RIDGE" roofline "$work/evil.jsonl" --device h20 &&
        expect 0 "report.md" "$RIDGE" report "$work/evil.jsonl" --out . && exit $failed) || failed=1
    [ -z "$(find "$work/in" -name pwned)" ] || fail "a name in a record was run as a command"
    [ "$(ls "$work/in")" = side ] || fail "a name in a record chose the folder"
    # Work and times that no machine has: such points are left out, and nothing runs forever.
    for value in 1e-300 1e300; do
        for key in flop_fp32 bytes_hbm_read median_ns; do
            grep '"gemm_f32"' "$h200" | sed "s|\"$key\":[0-9.e+]*|\"$key\":$value|g" >"$work/absurd.jsonl"
            expect 0 "H200: measured" timeout 60 "$RIDGE" roofline "$work/absurd.jsonl" --device h20 --out "$work/absurd"
        done
    done
    # More points than a picture has room for.
    grep -m1 '"gemm_f32"' "$h200" >"$work/one.jsonl"
    for number in $(seq 900); do
        sed "s/\"label\":\"[^\"]*\"/\"label\":\"01_v$number\"/; s/\"name\":\"gemm_f32_[^\"]*\"/\"name\":\"gemm_f32_01_v$number\"/" \
            "$work/one.jsonl"
    done >"$work/many.jsonl"
    mkdir "$work/none"
    expect 0 "gnuplot is not on PATH" env PATH="$work/none" "$RIDGE" roofline "$work/many.jsonl" --out "$work/many"
    grep -q "and [0-9]* more" "$work/many/roofline_h200-sxm_hbm.gp" || fail "the key does not say what it left out"
    # A script drawn later gives the same picture.
    (cd "$work/later" && gnuplot roofline_h200-sxm_hbm.gp) || fail "a script does not draw by itself"
    cmp -s "$work/later/roofline_h200-sxm_hbm.svg" "$work/it's here/roofline_h200-sxm_hbm.svg" ||
        fail "drawn later, the picture differs"
fi
exit $failed
