#!/usr/bin/env bash
# regression.sh [PAGE]: shows on this machine what 'lab compare' flags and what it
# does not. The same plan is measured as it is, as it is again, and with slower kernels
# forced, in turn, three times each. PAGE (default lab/results/regression.md) gets the commands and what they
# printed. Exit codes: 0 the check did its work, 1 it did not, 2 something failed.
#
# On a machine that others use too, run it when they do not. It needs bin/lab and bin/batchbench ('make build lab').
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2

page=${1:-lab/results/regression.md}
program=$PWD/bin/lab batchbench=$PWD/bin/batchbench
[ -x "$program" ] && [ -x "$batchbench" ] || { echo "regression.sh: bin/ lacks one; run make build lab" >&2; exit 2; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# The slowed kernels: the same source compiled for vectors of half the width, or for none.
kernels=$("$batchbench" devices | sed -n 's/^cpu .*[ ;]\([a-z0-9]*\) kernels.*/\1/p')
case $kernels in
avx512) slow=avx2 ;;
avx2 | portable) slow=off ;;
*)
	echo "regression.sh: this build has no SIMD kernels ('$batchbench devices'), so there are none to slow down" >&2
	exit 2
	;;
esac

plan=(--tables questions --sets ellipsoids,boxes,hull32 --separations close,distant --queries distance,collide
	--precisions single --sample 20 --rounds 5 --time 20ms)
rounds=(1 2 3)
for round in "${rounds[@]}"; do
	for name in before again slowed; do
		extra=()
		[ $name = slowed ] && extra=(--simd "$slow")
		"$program" matrix "${plan[@]}" "${extra[@]}" --out "$work/$name$round" >/dev/null || exit 2
	done
done
# reports FOLDER: the three of one kind, as 'lab compare' takes them.
reports() { printf '%s1/throughput.json,%s2/throughput.json,%s3/throughput.json' "$1" "$1" "$1"; }

verdicts=()
for name in again slowed; do
	(cd "$work" && "$program" compare "$(reports before)" "$(reports "$name")") >"$work/$name.txt" 2>&1
	verdicts+=($?)
done

field() { sed -n "s/^ \"$1\": \"\\(.*\\)\",\$/\\1/p" "$work/before1/throughput.json"; }
{
	echo '# Is a regression seen, and is noise not?'
	echo
	echo "Written by \`lab/scripts/regression.sh\`: $(field processor), $(field platform), version $(field version)," \
		"$(field date). Each report is of"
	echo
	echo '```'
	echo "lab matrix ${plan[*]} --out DIR"
	echo '```'
	echo
	echo "measured in turn, three times each: as it is ($kernels kernels) for \`before\` and for \`again\`, and with" \
		"\`--simd $slow\` for \`slowed\`. The rounds of the three count as one sample. A measurement is slower if its" \
		"median grew by more than 5 % and the Mann-Whitney U test finds the rounds to differ at the level 0.01."
	echo
	echo '## The same again'
	echo
	echo '`lab compare '"$(reports before) $(reports again)"'` ends with code '"${verdicts[0]}:"
	echo
	echo '```'
	cat "$work/again.txt"
	echo '```'
	echo
	echo "## Slowed: \`--simd $slow\` in place of $kernels"
	echo
	echo '`lab compare '"$(reports before) $(reports slowed)"'` ends with code '"${verdicts[1]}:"
	echo
	echo '```'
	cat "$work/slowed.txt"
	echo '```'
} >"$page" || exit 2
if [ "${verdicts[0]}" != 0 ] || [ "${verdicts[1]}" != 1 ]; then
	echo "regression.sh: the same again ended with code ${verdicts[0]} (want 0), slowed with ${verdicts[1]} (want 1);" \
		"see $page" >&2
	exit 1
fi
