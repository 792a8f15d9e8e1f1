#!/usr/bin/env bash
# gpu-pack.sh [ARCHIVE]: packs what a machine with a GPU needs to run the checks and the
# tables of the Vulkan back end, into ARCHIVE (default bin/clearance-gpu.tar.gz). That
# machine needs no Go and no compiler: unpack there and run ./gpu-run.sh.
#
# In the archive: batchbench, the test binaries of the engine (conformance, faults, soak),
# of its Vulkan layer (link bandwidth, soak) and of the facade, and, if they are installed
# here, the Vulkan loader and the validation layer, which are used there only where the
# system has none. The driver has to be there. The C library there has to be as new as the
# one here; the archive says which that is.
#
# gpu-pack.sh --check: packs, unpacks in a clean folder, and runs the archive there with small
# sizes, without Go in the PATH and with nothing of this tree. Needs a Vulkan driver; lavapipe
# will do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=${GO:-go}
archive=${1:-bin/clearance-gpu.tar.gz}
if [ "$archive" = --check ]; then
	dir=$(mktemp -d)
	archive=$dir/pack.tar.gz
fi
mkdir -p "$(dirname "$archive")"

stage=$(mktemp -d)
trap 'rm -rf "$stage" ${dir:+"$dir"}' EXIT
pack=$stage/clearance-gpu
mkdir -p "$pack/vulkan"

export CGO_ENABLED=1 GOFLAGS="${GOFLAGS:-} -buildvcs=false"
version=$(git describe --tags --always --dirty 2>/dev/null || echo devel)
strip='-s -w'
stamp="-X clearance/internal/console.version=$version"
$go build -trimpath -ldflags "$strip $stamp" -o "$pack/batchbench" ./cmd/batchbench
$go test -c -trimpath -ldflags "$strip" -o "$pack/engine.test" ./engine
$go test -c -trimpath -ldflags "$strip" -o "$pack/vk.test" ./engine/internal/vk
$go test -c -trimpath -ldflags "$strip" -o "$pack/clearance.test" .
cp scripts/gpu-run.sh "$pack/"
chmod +x "$pack/gpu-run.sh"

# The loader and the validation layer, as a fallback.
found() { # the first of some files that exists
	local f
	for f in "$@"; do
		[ -e "$f" ] && echo "$f" && return
	done
	return 1
}
if loader=$(found /usr/lib/*/libvulkan.so.1 /usr/lib64/libvulkan.so.1 /usr/lib/libvulkan.so.1); then
	cp -L "$loader" "$pack/vulkan/libvulkan.so.1"
else
	echo "gpu-pack.sh: no Vulkan loader here to pack; the other machine needs its own" >&2
fi
if layer=$(found /usr/lib/*/libVkLayer_khronos_validation.so /usr/lib64/libVkLayer_khronos_validation.so) &&
	manifest=$(found {/usr/share,/etc}/vulkan/explicit_layer.d/VkLayer_khronos_validation.json); then
	cp -L "$layer" "$pack/vulkan/"
	sed 's|"library_path": *"[^"]*"|"library_path": "./libVkLayer_khronos_validation.so"|' "$manifest" \
		>"$pack/vulkan/VkLayer_khronos_validation.json"
else
	echo "gpu-pack.sh: no validation layer here to pack; without one on the other machine the engine's tests" \
		"cannot run there" >&2
fi

{
	echo "version $version"
	echo "built $(date -u +%Y-%m-%dT%H:%M:%SZ) with $($go version | cut -d' ' -f3-)"
	echo "C library $(ldd --version 2>/dev/null | sed -n '1s/.* //p')"
} >"$pack/BUILD"
tar -C "$stage" -czf "$archive" clearance-gpu
echo "$archive: $(du -h "$archive" | cut -f1), $(tar -tzf "$archive" | wc -l) entries; there:" \
	"tar xzf, then clearance-gpu/gpu-run.sh --help"

[ -n "${dir:-}" ] || exit 0
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
	echo "gpu-pack.sh --check: there is a go in /usr/bin or /bin; this checks less than it could" >&2
fi

# Bad usage, and no driver: a code of its own, and words that help.
expect() { # CODE WORDS COMMAND...
	local code=$1 words=$2 rc=0
	shift 2
	"$@" >"$dir/said" 2>&1 || rc=$?
	if [ "$rc" != "$code" ] || ! grep -q -- "$words" "$dir/said"; then
		cat "$dir/said" >&2
		echo "gpu-pack.sh --check: exit code $rc and the text above, want $code and '$words'" >&2
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
		echo "gpu-pack.sh --check: the run left no $f" >&2
		exit 1
	}
done
grep -q '^Every step passed' "$dir/there/report/report.md"
echo "gpu-pack.sh --check: packed, unpacked and ran without Go"
