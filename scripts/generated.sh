#!/usr/bin/env bash
# Runs every go:generate directive in a copy of the tree and compares the copy
# with the tree, which is left as it is. Works without git, and does not mistake
# an uncommitted edit for a stale file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

directives=$(grep -rl --include='*.go' '^//go:generate ' . | sort)
if [ -z "$directives" ]; then
	echo "generated.sh: no go:generate directive found; the check would check nothing" >&2
	exit 1
fi

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar --exclude=./.git --exclude=./bin --exclude=./build -cf - . | tar -xf - -C "$copy"
(cd "$copy" && ${GO:-go} generate ./...)

if ! diff -r --exclude=.git --exclude=bin --exclude=build . "$copy"; then
	echo "generated.sh: the files above are stale; run 'make generate' and commit them" >&2
	exit 1
fi
echo "generated files are up to date; directives in:"
echo "$directives" | sed 's/^/  /'
