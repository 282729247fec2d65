#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For a GPU runner: what the machine can do, then measure and compare. Needs build/ridge (or $RIDGE) and nothing else;
# exit codes as scripts/regress.
cd "$(dirname "$0")/.." || exit 4
"${RIDGE:-build/ridge}" doctor || exit $?
exec scripts/regress
