#!/usr/bin/env bash
# Tests the SIMD kernels where this machine does not run them by itself: NEON under
# qemu-aarch64, AVX2 under qemu-x86_64, and all variants as Clang compiles them. As root
# on Debian and Ubuntu it installs what is missing; elsewhere it says what it skipped, and
# fails for it if REQUIRE_CROSS=1.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
GO=${GO:-go}
packages="./cpu ./kernels/... ./rollout/broadphase"
derivatives='TestLanes|TestGaussianMeanOfKernel|TestPassProducts'
contacts='TestSweepsInLanes|TestNewtonInC|TestVariantsHaveTheSameBits|TestBodiesInLanes|TestManifoldKernel$'
sysroot=/usr/aarch64-linux-gnu

host=$($GO env GOHOSTARCH)
arm=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
[ "$host" = arm64 ] && arm=() # its own compiler and processor do, and make test has run them

missing() { # prints the packages of a Debian system that are not there
	[ "$host" = arm64 ] || command -v aarch64-linux-gnu-gcc >/dev/null && [ -e $sysroot/lib/ld-linux-aarch64.so.1 ] ||
		echo "${arm[@]}"
	command -v qemu-aarch64 >/dev/null && command -v qemu-x86_64 >/dev/null || echo qemu-user
	command -v clang >/dev/null || echo clang
}
need=$(missing | tr '\n' ' ')
if [ -n "${need// /}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "simd-cross.sh: installing $need"
	export DEBIAN_FRONTEND=noninteractive
	log=$(mktemp)
	# shellcheck disable=SC2086 # a list
	install() { apt-get install -y -q --no-install-recommends $need >"$log" 2>&1; }
	install || { apt-get update -q >"$log" 2>&1 && install; } || tail -n 5 "$log" >&2
	rm -f "$log"
fi

skipped=0 failed=0
skip() {
	echo "simd-cross.sh: SKIPPED $1: $2" >&2
	skipped=1
}
check() { # a title, then a command
	echo "simd-cross.sh: $1"
	"${@:2}" || { echo "simd-cross.sh: FAILED $1" >&2; failed=1; }
}

if [ "$host" = arm64 ]; then
	skip "NEON under qemu" "this is an arm64 machine, which runs NEON in the ordinary tests"
elif ! command -v aarch64-linux-gnu-gcc >/dev/null || ! [ -e $sysroot/lib/ld-linux-aarch64.so.1 ]; then
	skip NEON "no cross compiler; Debian and Ubuntu: apt-get install ${arm[*]}"
elif ! command -v qemu-aarch64 >/dev/null; then
	skip NEON "no qemu-aarch64; Debian and Ubuntu: apt-get install qemu-user"
else
	cross=(env GOOS=linux GOARCH=arm64 CGO_ENABLED=1 CC=aarch64-linux-gnu-gcc)
	# shellcheck disable=SC2086
	check "NEON and portable kernels, arm64 under qemu" "${cross[@]}" \
		$GO test -short -timeout 8h -exec "qemu-aarch64 -L $sysroot" $packages
	check "culling of rollouts by the NEON kernels, arm64 under qemu" "${cross[@]}" \
		$GO test -short -timeout 8h -exec "qemu-aarch64 -L $sysroot" ./rollout -run TestLanes
	# Go fuses x*y + z on arm64, where the kernels do not, and these tests then allow for it. Without that they ask for
	# the bits of Go.
	unfused=()
	for package in math clearance/{contact,geom/...,ref,internal/testkit} gonum.org/v1/gonum/...; do
		unfused+=("-gcflags=$package=-d=fmahash=qn")
	done
	check "contacts by the NEON kernels, arm64 under qemu" "${cross[@]}" \
		$GO test "${unfused[@]}" -short -timeout 8h -exec "qemu-aarch64 -L $sysroot" ./contact -run "$contacts"
	check "contacts by the NEON kernels, where Go fuses, arm64 under qemu" "${cross[@]}" \
		$GO test -short -timeout 8h -exec "qemu-aarch64 -L $sysroot" ./contact \
		-run 'TestBodiesInLanes|TestManifoldKernel$'
	check "derivatives by the NEON kernels, arm64 under qemu" "${cross[@]}" \
		$GO test -short -timeout 8h -exec "qemu-aarch64 -L $sysroot" ./derive -run "$derivatives"
	check "conformance of the NEON kernels, arm64 under qemu" "${cross[@]}" \
		$GO test -short -timeout 8h -exec "qemu-aarch64 -L $sysroot" ./tests/conformance \
		-run 'TestSupportMatrix/cpu,_kernels_neon'
fi

if [ "$host" != amd64 ]; then
	skip "AVX2 under qemu" "this is not an amd64 machine"
elif ! command -v qemu-x86_64 >/dev/null; then
	skip "AVX2 under qemu" "no qemu-x86_64; Debian and Ubuntu: apt-get install qemu-user"
else
	# qemu's vmaskmov reads the words that are masked off, too, and so beyond the end of a column:
	# the test with fences around columns is for processors, which do not.
	# shellcheck disable=SC2086
	check "AVX2 and portable kernels, amd64 under qemu" $GO test -short -timeout 8h \
		-skip TestKernelsStayWithinColumns -exec "qemu-x86_64 -cpu max" $packages
	check "culling of rollouts, amd64 under qemu" $GO test -short -timeout 8h -exec "qemu-x86_64 -cpu max" \
		./rollout -run TestLanes
	check "contacts, amd64 under qemu" $GO test -short -timeout 8h -exec "qemu-x86_64 -cpu max" \
		./contact -run "$contacts"
	check "derivatives, amd64 under qemu" $GO test -short -timeout 8h -exec "qemu-x86_64 -cpu max" \
		./derive -run "$derivatives"
fi

if ! command -v clang >/dev/null; then
	skip Clang "no clang; Debian and Ubuntu: apt-get install clang"
else
	# shellcheck disable=SC2086
	check "all kernels, compiled by Clang" env CC=clang $GO test -short -timeout 8h $packages
	check "derivatives, compiled by Clang" env CC=clang $GO test -short -timeout 8h ./derive -run "$derivatives"
	check "contacts, compiled by Clang" env CC=clang $GO test -short -timeout 8h ./contact -run "$contacts"
	check "culling of rollouts, compiled by Clang" env CC=clang $GO test -short -timeout 8h ./rollout -run TestLanes
fi

# In make test-all the unit tests have done so.
[ "${CLEARANCE_TESTS:-}" = all ] || check "programs of the kernels, by every compiler" \
	env CLEARANCE_TESTS=all $GO test -timeout 8h ./kernels -run TestCrossCompiled

[ "$failed" = 0 ] && { [ "$skipped" = 0 ] || [ "${REQUIRE_CROSS:-0}" != 1 ] || [ "$host" != amd64 ]; }
