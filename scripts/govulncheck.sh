#!/usr/bin/env bash
# Looks for known vulnerabilities in the code that this module calls: its own, that of its dependencies and the Go
# library.
# It needs two servers: the module proxy, for the tool, and the vulnerability database (GOVULNDB, or vuln.go.dev). Where
# one of them is out of reach nothing was checked; that is a failure of its own, with another exit code.
#
#   0  no vulnerability is called
#   1  some are; they are listed
#   2  not checked
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=${GO:-go}
tool=golang.org/x/vuln/cmd/govulncheck@v1.9.0
db=${GOVULNDB:-https://vuln.go.dev}

not_checked() {
	echo "vulncheck: NOT CHECKED: $1." >&2
	echo "vulncheck: nothing is known of vulnerabilities; run 'make vulncheck' where the network allows it." >&2
	exit 2
}

bin=$(mktemp -d) || not_checked "there is no folder for the tool"
trap 'rm -rf "$bin"' EXIT
log=$(GOBIN="$bin" "$go" install "$tool" 2>&1) || not_checked "$tool cannot be built: $(tail -n 1 <<<"$log")"
out=$("$bin/govulncheck" -db "$db" ./... ./lab/... 2>&1)
code=$?
echo "$out"
case $code in
0) ;;
3) exit 1 ;; # govulncheck: vulnerabilities found
*) not_checked "govulncheck ended with code $code, as without the database at $db: $(tail -n 1 <<<"$out")" ;;
esac
