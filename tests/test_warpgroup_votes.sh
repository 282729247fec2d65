#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wgmma.fence, commit_group, wait_group and mma_async are for whole warpgroups. Behind a vote of one warp, on which the
# four warps of a warpgroup can differ, they are undefined and yet give right results for years: named_any() votes for
# all of them. Blocks only: what a function called there does is not looked at.
set -u

# Lines of the FILEs with a wgmma call in a block or statement behind `if (` and a warp's vote or choice of a lane.
suspects() {
  awk '
    function braces(text) { return gsub(/[{]/, "", text) - gsub(/[}]/, "", text) }
    FNR == 1 { depth = pending = 0 }
    depth > 0 || pending {
      if ($0 ~ /wgmma_(fence|commit|wait|bf16|f16|e4m3)/) print FILENAME ":" FNR ": " $0
      depth += braces($0)
      pending = 0
      next
    }
    /if \(.*(__any_sync|__all_sync|__ballot_sync|elect_one|threadIdx\.x % 32)/ {
      depth = braces($0)
      pending = depth == 0
    }' "$@"
}

# The fault as it was, and what is right.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/wrong.cuh" <<'END'
    if (__any_sync(~0u, factor[0] != 1)) {
        scale(factor);
        wgmma_wait<0>();
    }
    if (elect_one())
        wgmma_commit();
END
cat >"$folder/right.cuh" <<'END'
    if (named_any(7, 128, factor[0] != 1)) {
        wgmma_wait<0>();
    }
    if (__any_sync(~0u, factor[0] != 1)) {
        scale(factor);
    }
    wgmma_wait<0>();
END
failed=0
[ "$(suspects "$folder/wrong.cuh" | wc -l)" -eq 2 ] || { echo 'FAIL: a wait behind a vote of one warp is not seen'; failed=1; }
[ -z "$(suspects "$folder/right.cuh")" ] || { echo 'FAIL: a wait behind no vote, or one of all warps, is blamed'; failed=1; }

mapfile -t files < <(find "$RIDGE_SOURCE/kernels" -name '*.cu' -o -name '*.cuh')
found=$(suspects "${files[@]}") || failed=1
[ -z "$found" ] || { printf 'FAIL: a warpgroup instruction behind a vote of one warp:\n%s\n' "$found"; failed=1; }
exit $failed
