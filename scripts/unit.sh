#!/usr/bin/env bash
# unit.sh [ARGUMENT...]: runs the tests of the module (or `go test -v` with the arguments) and
# says at the end which were skipped, and why: what has not run does not look passed. Of tests
# that pass it prints a line a package, of packages that fail all they said.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
(($#)) || set -- -timeout 20m ./...

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
	/^ *--- SKIP: / { skipped = skipped "  " $3 why[$3] "\n"; n++ }
	/^FAIL[ \t]/ { printf "%s", lines }
	/^(ok|FAIL|\?)[ \t]/ {
		if (skipped != "") all = all $2 "\n" skipped
		skipped = lines = ""
		delete why
	}
	END {
		if (rc != 0) printf "%s", lines # what no package answers for
		printf "skipped tests: %d\n%s", n, all
	}
' "$log"
exit "$rc"
