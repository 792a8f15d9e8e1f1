#!/usr/bin/env bash
# wheel.sh: builds the Python wheel into build/python/dist (or CLEARANCE_WHEELS), py3-none-manylinux_2_28_ARCH, a tag
# that auditwheel refuses if the library asks for a newer glibc. Tools are those of the virtual environment of venv.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The tools are fetched while the compilers are busy.
mkdir -p build/python
./scripts/venv.sh >build/python/tools &
tools=$!
export CLEARANCE_LIBRARY=${CLEARANCE_LIBRARY:-$PWD/build/python/libclearance.so}
wheels=${CLEARANCE_WHEELS:-build/python/dist}
./scripts/libclearance.sh "$CLEARANCE_LIBRARY"
wait "$tools"
bin=$(<build/python/tools)
./scripts/viewer.sh || case $? in
3 | 4) echo "wheel.sh: the wheel has no clearance.show" >&2 ;; # no npm, or no way to its registry
*) exit 1 ;;
esac
rm -rf "$wheels" build/python/raw
(cd python && "$bin/python" -m hatchling build -t wheel -d ../build/python/raw >/dev/null)
log=build/python/auditwheel.txt
tag=manylinux_2_28_$HOSTTYPE # by bash: x86_64, aarch64
PATH="$bin:$PATH" "$bin/auditwheel" repair --plat "$tag" --only-plat --wheel-dir "$wheels" build/python/raw/*.whl \
	>"$log" 2>&1 ||
	{ cat "$log" >&2; exit 1; }
ls -l "$wheels"/*.whl
