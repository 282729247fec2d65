#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a build says about its source tree: the commit, and whether files in the build differ from it.
set -u
command -v git >/dev/null && command -v cmake >/dev/null || exit 77
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

expect() { # STATE WHAT
  cmake -DSOURCE="$tree" -DVERSION=1 -DNOTE= -DOUT="$tree/version.out" -P "$RIDGE_SOURCE/cmake/version.cmake"
  grep -q "ridge_git_dirty = $1;" "$tree/version.out" || { echo "FAIL: dirty is not $1 with $2"; failed=1; }
}

mkdir -p "$tree/kernels/rope" "$tree/docs"
echo '/build*/
*.out' >"$tree/.gitignore"
echo a >"$tree/kernels/rope/rope.c"
git -C "$tree" init -q && git -C "$tree" add . && git -C "$tree" commit -qm first || exit 1
expect false 'nothing changed'
mkdir "$tree/build" "$tree/results"
touch "$tree/build/x.c" "$tree/results/run.jsonl" "$tree/kernels/rope/a.out" "$tree/docs/draft.md"
expect false 'untracked files outside the build, and ignored ones'
touch "$tree/kernels/rope/rope_05_mine.cu"
expect true 'an untracked kernel'
rm "$tree/kernels/rope/rope_05_mine.cu"
echo b >>"$tree/kernels/rope/rope.c"
expect true 'a changed file'
rm -rf "$tree/.git"
expect false 'no repository'
grep -q 'ridge_git_hash = "unknown"' "$tree/version.out" || { echo 'FAIL: a commit without a repository'; failed=1; }
exit $failed
