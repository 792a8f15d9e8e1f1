#!/usr/bin/env bash
# unit.sh [ARGUMENT...]: runs the tests of both modules (or `go test -v` with the arguments) and
# lists at the end the tests that did not run, with the reason: those left to `make test-all`, and
# those that lack something. It prints one line per package that passes, and the whole output of
# packages that fail. The packages that take longest begin first; `make lint` vets all of them. The limit of 8 hours is
# for a test that hangs: a package takes some minutes, and thirty times as long on a busy machine.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
(($#)) || set -- -timeout 8h -vet=off \
	./engine ./tests/conformance ./cmd/batchbench ./kernels/... ./cpu/... ./... ./lab/...

log=$(mktemp)
trap 'rm -f "$log"' EXIT
${GO:-go} test -v "$@" 2>&1 | tee "$log" | grep --line-buffered -E '^(ok|FAIL|panic:|--- FAIL|\?)[[:space:]]'
rc=${PIPESTATUS[0]}

# A package's lines come together and end with its verdict. What a test logs stands below its
# name; the last of it is why it was skipped.
awk -v rc="$rc" '
	{ lines = lines $0 "\n" }
	/^=== (RUN|CONT|NAME) / { test = $3 }
	/^ +[^ ]+\.go:[0-9]+: / { why[test] = $0; sub(/^ +[^ ]+\.go:[0-9]+: /, ": ", why[test]) }
	/^ *--- SKIP: / {
		if (why[$3] ~ /^: LEFT TO make test-all/) { deferred = deferred "  " $3 why[$3] "\n"; m++ }
		else { skipped = skipped "  " $3 why[$3] "\n"; n++ }
	}
	/^FAIL[ \t]/ { printf "%s", lines }
	/^(ok|FAIL|\?)[ \t]/ {
		if (skipped != "") all = all $2 "\n" skipped
		if (deferred != "") later = later $2 "\n" deferred
		skipped = deferred = lines = ""
		delete why
	}
	END {
		if (rc != 0) printf "%s", lines # what no package answers for
		printf "tests left to make test-all: %d\n%s", m, later
		printf "skipped tests: %d\n%s", n, all
	}
' "$log"
exit "$rc"
