#!/usr/bin/env bash
# regression.sh [PAGE]: shows on this machine what 'batchbench compare' flags and what it
# does not. The same plan is measured three times: twice as it is, and once with slower
# kernels forced. PAGE (default docs/results/regression.md) gets the commands and what they
# printed. Exit codes: 0 the check did its work, 1 it did not, 2 something failed.
#
# On a machine that others use too, run it when they do not: BATCHBENCH names the program
# (default bin/batchbench).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2

page=${1:-docs/results/regression.md}
program=${BATCHBENCH:-bin/batchbench}
[ -x "$program" ] || { echo "regression.sh: $program is not there; run make build" >&2; exit 2; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# The slowed kernels: the same source compiled for vectors of half the width, or for none.
kernels=$("$program" devices | sed -n 's/^cpu .*[ ;]\([a-z0-9]*\) kernels.*/\1/p')
case $kernels in
avx512) slow=avx2 ;;
avx2 | portable) slow=off ;;
*) echo "regression.sh: this build has no SIMD kernels ('$program devices'), so there are none to slow down" >&2; exit 2 ;;
esac

plan=(--tables questions --sets ellipsoids,boxes,hull32 --separations close,distant --queries distance,collide --precisions single --rounds 9 --time 50ms)
for name in before again slowed; do
	extra=()
	[ $name = slowed ] && extra=(--simd "$slow")
	"$program" matrix "${plan[@]}" "${extra[@]}" --out "$work/$name" >/dev/null || exit 2
done

verdicts=()
for name in again slowed; do
	"$program" compare "$work/before/throughput.json" "$work/$name/throughput.json" >"$work/$name.txt" 2>&1
	verdicts+=($?)
done

field() { sed -n "s/^ \"$1\": \"\\(.*\\)\",\$/\\1/p" "$work/before/throughput.json"; }
{
	echo '# Is a regression seen, and is noise not?'
	echo
	echo "Written by \`scripts/regression.sh\`: $(field processor), $(field platform), version $(field version), $(field date). Each report is of"
	echo
	echo '```'
	echo "batchbench matrix ${plan[*]} --out DIR"
	echo '```'
	echo
	echo "measured three times: twice as it is ($kernels kernels) and once with \`--simd $slow\`. A measurement is slower if its median grew by more than 5 % and the Mann-Whitney U test finds the rounds to differ at the level 0.01."
	echo
	echo '## The same again'
	echo
	echo '`batchbench compare before/throughput.json again/throughput.json` ends with code '"${verdicts[0]}:"
	echo
	echo '```'
	cat "$work/again.txt"
	echo '```'
	echo
	echo "## Slowed: \`--simd $slow\` in place of $kernels"
	echo
	echo '`batchbench compare before/throughput.json slowed/throughput.json` ends with code '"${verdicts[1]}:"
	echo
	echo '```'
	cat "$work/slowed.txt"
	echo '```'
} >"$page" || exit 2
if [ "${verdicts[0]}" != 0 ] || [ "${verdicts[1]}" != 1 ]; then
	echo "regression.sh: the same again ended with code ${verdicts[0]} (want 0), slowed with ${verdicts[1]} (want 1); see $page" >&2
	exit 1
fi
