#!/usr/bin/env bash
# gpu-check.sh: checks gpu-pack.sh and gpu-run.sh: packs, unpacks in a clean folder, and
# runs the archive there with small sizes, without Go in the PATH and with nothing of this
# tree. Needs a Vulkan driver; lavapipe will do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
scripts/gpu-pack.sh "$dir/pack.tar.gz"
mkdir "$dir/there"
tar -C "$dir/there" -xzf "$dir/pack.tar.gz"

# there VAR=VALUE... -- ARGUMENT...: runs gpu-run.sh in the clean folder.
there() {
	local vars=()
	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	shift
	(cd "$dir/there" && env -i HOME="$dir/there" PATH=/usr/bin:/bin "${vars[@]}" clearance-gpu/gpu-run.sh "$@")
}
if (PATH=/usr/bin:/bin command -v go >/dev/null); then
	echo "gpu-check.sh: there is a go in /usr/bin or /bin; this checks less than it could" >&2
fi

# Bad usage, and no driver: a code of its own, and words that help.
expect() { # CODE WORDS COMMAND...
	local code=$1 words=$2 rc=0
	shift 2
	"$@" >"$dir/said" 2>&1 || rc=$?
	if [ "$rc" != "$code" ] || ! grep -q -- "$words" "$dir/said"; then
		cat "$dir/said" >&2
		echo "gpu-check.sh: exit code $rc and the text above, want $code and '$words'" >&2
		exit 1
	fi
}
expect 2 'unknown argument --fast' there -- --fast
expect 2 'unknown step speed' there -- --only speed
expect 2 'wants a value' there -- --out
expect 3 'no usable Vulkan device' there VK_DRIVER_FILES=/nowhere VK_ICD_FILENAMES=/nowhere -- --quick --out none
expect 3 'no such card' there -- --quick --out none --device 'no such card'

there -- --quick --out report
for f in report.md devices.json run-single.json run-double.json run-collide.json throughput-distance.json \
	throughput-distance-separated.json throughput-collide-separated.json; do
	[ -s "$dir/there/report/$f" ] || {
		echo "gpu-check.sh: the run left no $f" >&2
		exit 1
	}
done
grep -q '^Every step passed' "$dir/there/report/report.md"
echo "gpu-check.sh: packed, unpacked and ran without Go"
