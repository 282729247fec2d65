#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For a GPU runner: what the machine can do, then measure and compare. Needs build/ridge (or $RIDGE) and nothing else;
# exit codes as scripts/regress.
cd "$(dirname "$0")/.." || exit 4
export RIDGE=${RIDGE:-build/ridge}
command -v "$RIDGE" >/dev/null || { echo "ci_gpu: $RIDGE is not there: make build, or name another with RIDGE" >&2; exit 4; }
"$RIDGE" doctor || exit $?
exec scripts/regress
