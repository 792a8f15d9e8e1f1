#!/bin/sh
# Installs the peers by package name into one folder, build/, and builds a driver for
# each. Nothing outside that folder is touched, and nothing here needs root.
#
#   coal, MuJoCo   wheels by pip; they ship headers and shared libraries
#   FCL, libccd    packages of Debian or Ubuntu, unpacked, not installed
#   parry3d        a crate, by cargo
#   Jolt           the sources in the crate joltc-sys, by cargo and cmake
#
# A peer that cannot be had is noted with the reason in build/missing, and the others
# go on; batchbench prints the reason. Needs python3 with venv, g++ and, for the
# peers in question, apt, cargo and cmake.
set -u
cd "$(dirname "$0")" || exit 2
here=$(pwd)
build=$here/build
drivers=$here/drivers
flags="-O3 -march=native"
CXX=${CXX:-g++}
CARGO=${CARGO:-cargo}
PYTHON=${PYTHON:-python3}
mkdir -p "$build/bin" "$build/log"
rm -rf "$build/missing"
mkdir -p "$build/missing"

# peer NAME FUNCTION runs the function; if it fails, its last words are the reason.
peer() {
	log=$build/log/$1
	rm -f "$build/bin/peer-$1"
	if ("$2" "$1") >"$log" 2>&1; then
		echo "peers: $1 is ready"
		return
	fi
	rm -f "$build/bin/peer-$1"
	reason=$(grep -v '^[[:space:]]*$' "$log" | tail -n 1 | sed "s|$here/||g" | cut -c 1-300)
	echo "${reason:-cannot be built}" >"$build/missing/$1"
	echo "peers: $1 is missing: $reason"
}

need() {
	command -v "$1" >/dev/null 2>&1 || { echo "needs $1, which is not installed"; return 1; }
}

# compile NAME SOURCE ARGUMENTS... builds a driver with the headers given.
compile() {
	name=$1 source=$2
	shift 2
	"$CXX" -std=c++17 $flags -DNDEBUG -w "-DPEER_FLAGS=\"driver $flags, library as packaged\"" \
		"$drivers/$source" -o "$build/bin/peer-$name" "$@"
}

wheels() {
	need "$PYTHON" || return 1
	[ -x "$build/venv/bin/pip" ] || "$PYTHON" -m venv "$build/venv" || return 1
	"$build/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" || return 1
	site=$("$build/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
	prefix=$site/cmeel.prefix
}

# Eigen aligns to the widest vector of the target, so -march=native would change the
# layout of structures that the packaged libraries were built with: 16 bytes, those of
# SSE2, is what x86-64 packages have.
eigen=-DEIGEN_MAX_ALIGN_BYTES=16

coal() {
	wheels && compile "$1" coal.cpp $eigen -isystem "$prefix/include" -isystem "$prefix/include/eigen3" \
		-L"$prefix/lib" -lcoal "-Wl,-rpath,$prefix/lib"
}

mujoco() {
	wheels || return 1
	compile "$1" mujoco.cpp -isystem "$prefix/include" -isystem "$site/mujoco/include" \
		"$site"/mujoco/libmujoco.so.* "-Wl,-rpath,$site/mujoco"
}

# unpacked fetches the packages of FCL into build/deb.
unpacked() {
	need apt-get && need dpkg-deb || return 1
	[ -e "$build/deb/done" ] && return
	rm -rf "$build/deb"
	mkdir -p "$build/deb/archives"
	packages="libfcl-dev libccd-dev libccd2 liboctomap-dev libeigen3-dev"
	runtime=$(apt-cache depends libfcl-dev liboctomap-dev |
		sed -n 's/.*Depends: \(libfcl[0-9.]*[0-9a-z]*\|liboctomap[0-9.]*[0-9a-z]*\)$/\1/p' | sort -u)
	(cd "$build/deb/archives" && apt-get download $packages $runtime) || return 1
	for archive in "$build"/deb/archives/*.deb; do
		dpkg-deb -x "$archive" "$build/deb" || return 1
	done
	touch "$build/deb/done"
}

fcl() {
	unpacked && wheels || return 1
	lib=$(dirname "$(find "$build/deb" -name 'libfcl.so' | head -n 1)")
	define=
	[ "$1" = fcl-own ] && define=-DINDEP
	# The tag of old holds for the libraries that libfcl needs as well.
	compile "$1" fcl.cpp $eigen $define -isystem "$build/deb/usr/include" -isystem "$build/deb/usr/include/eigen3" \
		-isystem "$prefix/include" -L"$lib" -lfcl -lccd -Wl,--disable-new-dtags "-Wl,-rpath,$lib" "-Wl,-rpath-link,$lib"
}

parry3d() {
	need "$CARGO" || return 1
	cd "$drivers/parry" || return 1
	PEER_FLAGS="-C opt-level=3 -C target-cpu=native, fat LTO" RUSTFLAGS="-C target-cpu=native" \
		CARGO_TARGET_DIR="$build/cargo" \
		"$CARGO" build --quiet --release --locked || return 1
	cp "$build/cargo/release/peer-parry3d" "$build/bin/peer-$1"
}

# The crate joltc-sys carries the sources of Jolt; its Rust side is not used.
jolt() {
	need "$CARGO" && need cmake && wheels || return 1
	"$CARGO" vendor --quiet --locked --manifest-path "$drivers/jolt/Cargo.toml" "$build/vendor" >/dev/null || return 1
	source=$(find "$build/vendor" -type d -path '*joltc-sys*/JoltPhysics' | head -n 1)
	[ -n "$source" ] || { echo "the crate joltc-sys no longer carries JoltPhysics"; return 1; }
	cmake -S "$source/Build" -B "$build/jolt" -DCMAKE_BUILD_TYPE=Distribution -DINTERPROCEDURAL_OPTIMIZATION=OFF \
		-DTARGET_UNIT_TESTS=OFF -DTARGET_HELLO_WORLD=OFF -DTARGET_PERFORMANCE_TEST=OFF \
		-DTARGET_SAMPLES=OFF -DTARGET_VIEWER=OFF \
		-DENABLE_ALL_WARNINGS=OFF -DCMAKE_CXX_FLAGS=-march=native &&
		cmake --build "$build/jolt" --target Jolt || return 1
	# The driver must be compiled as the library was: these switch vector types.
	defines=$(sed -n 's/^CXX_DEFINES = //p' "$build/jolt/CMakeFiles/Jolt.dir/flags.make")
	options=$(sed -n 's/^CXX_FLAGS = //p' "$build/jolt/CMakeFiles/Jolt.dir/flags.make")
	"$CXX" $options $defines -w "-DPEER_FLAGS=\"library and driver $flags\"" "$drivers/jolt.cpp" \
		-o "$build/bin/peer-$1" \
		-isystem "$source" -isystem "$prefix/include" "$build/jolt/libJolt.a" -lpthread
}

# The broad phases of coal and FCL; 'lab peers' does not run them, see lab/notebook/broadphase.md.
broad_coal() {
	wheels && compile "$1" broadphase.cpp $eigen -isystem "$prefix/include" -isystem "$prefix/include/eigen3" \
		-L"$prefix/lib" -lcoal "-Wl,-rpath,$prefix/lib" && mv "$build/bin/peer-$1" "$build/bin/$1"
}

broad_fcl() {
	unpacked || return 1
	lib=$(dirname "$(find "$build/deb" -name 'libfcl.so' | head -n 1)")
	compile "$1" broadphase.cpp $eigen -DFCL -isystem "$build/deb/usr/include" \
		-isystem "$build/deb/usr/include/eigen3" -L"$lib" -lfcl -lccd -Wl,--disable-new-dtags \
		"-Wl,-rpath,$lib" "-Wl,-rpath-link,$lib" && mv "$build/bin/peer-$1" "$build/bin/$1"
}

opengjk() {
	echo "neither PyPI, crates.io nor Debian has a package of openGJK, and peers are installed by package name only"
	return 1
}

peer coal coal
peer mujoco mujoco
peer fcl-libccd fcl
peer fcl-own fcl
peer parry3d parry3d
peer jolt jolt
peer opengjk opengjk
peer broadphase-coal broad_coal
peer broadphase-fcl broad_fcl

ls "$build"/bin/peer-* >/dev/null 2>&1 || { echo "peers: none could be built; $build/log says why" >&2; exit 1; }
