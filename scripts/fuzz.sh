#!/usr/bin/env bash
# fuzz.sh SECONDS: runs every fuzz target of the module, sharing SECONDS among
# them (at least 2 s each), and fails if any of them fails or if there is none.
# Targets are found by `go test -list`, so a new one needs no entry here. A package whose targets
# build without cgo is fuzzed without it: instrumented, the C kernels would be compiled once more.
# Reports that lab reads are the user's own: with CLEARANCE_TESTS=all alone, as in make test-all, their readers are
# fuzzed too, since their packages take longer to compile than make test has time for them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=${GO:-go}
seconds=${1:-60}
# make test fuzzes beside other checks, which need the other processors. It starts from the committed inputs: those
# that earlier runs left in Go's cache are tried first, and after an hour of fuzzing they alone take minutes.
workers=1
corpus=()
if [[ ${CLEARANCE_TESTS:-} == all ]]; then
	workers=$(getconf _NPROCESSORS_ONLN)
else
	inputs=$(mktemp -d)
	trap 'rm -rf "$inputs"' EXIT
	corpus=(-args "-test.fuzzcachedir=$inputs")
fi

targets=()
for dir in $(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n 1 dirname | sort -u); do
	if [[ $dir == ./lab/* && ${CLEARANCE_TESTS:-} != all ]]; then
		echo "left to make test-all: the fuzz targets of $dir"
		continue
	fi
	declared=$(cat "$dir"/*_test.go | grep -c '^func Fuzz')
	cgo=0
	listed=$(CGO_ENABLED=0 $go test -list '^Fuzz' "$dir" | grep '^Fuzz' || true)
	if [ "$(grep -c . <<<"$listed")" != "$declared" ]; then
		cgo=1
		listed=$($go test -list '^Fuzz' "$dir" | grep '^Fuzz')
	fi
	for name in $listed; do
		targets+=("$dir $name $cgo")
	done
done
if ((${#targets[@]} == 0)); then
	echo "fuzz.sh: no fuzz target found" >&2
	exit 1
fi

each=$((seconds / ${#targets[@]}))
((each >= 2)) || each=2
failed=()
for target in "${targets[@]}"; do
	read -r dir name cgo <<<"$target"
	echo "fuzz $dir $name ${each}s"
	# Inputs of interest are made smaller by a few tries only: by default that takes up to a
	# minute each, and so the whole time of targets whose inputs are files.
	# Now and then the end of the time catches go test in the middle of an input and it calls
	# that a failure, of no input; and on a machine with other work the inputs known so far may take
	# all of the time. Then the target has another two tries, each of twice the time.
	for try in 1 2 3; do
		rc=0 time=$((each << (try - 1)))
		out=$(CGO_ENABLED=$cgo $go test -run '^$' -fuzz "^$name\$" -fuzztime "${time}s" \
			-fuzzminimizetime 20x -parallel "$workers" "$dir" "${corpus[@]}" 2>&1) || rc=$?
		if ((!rc)); then
			[[ $out != *'execs: '* ]] || break
			echo "no new input in ${time}s, try $try"
		elif [[ $out == *'context deadline exceeded'* && $out != *'Failing input'* && $out != *panic:* ]]; then
			echo "ended in the middle of an input, try $try"
		else
			break
		fi
	done
	[[ $out == *'execs: '* ]] || rc=1
	if ((rc)); then
		echo "$out"
		failed+=("$target")
		continue
	fi
	grep 'execs: ' <<<"$out" | tail -n 1
done
if ((${#failed[@]})); then
	printf 'fuzz.sh: FAILED %s\n' "${failed[@]}" >&2
	exit 1
fi
echo "fuzzed ${#targets[@]} targets, ${each}s each: no failure"
