#!/usr/bin/env bash
# libclearance.sh FILE: builds the shared library of cmd/libclearance, with the exported functions alone as symbols.
# CLEARANCE_TAGS are build tags.
set -euo pipefail
out=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v "${GO:-go}" >/dev/null || PATH="$PATH:/usr/local/go/bin"
version=$(git describe --tags --always --dirty 2>/dev/null || echo devel)
stubs=$PWD/build/glibc # one folder, since Go links anew where a flag has changed
mkdir -p "$stubs"

# Stubs of libpthread and libdl, for the linker alone. glibc 2.32 to 2.34 moved their functions into libc under new
# versions, so that whatever is linked there asks for glibc 2.34. The stubs have those functions under the versions of
# before, which every glibc has; at run time the libraries of the system answer.
case $(uname -m) in
x86_64) base=GLIBC_2.2.5 ;;
*) base=GLIBC_2.17 ;; # aarch64
esac
stub() { # SONAME FUNCTION...
	local name=$1 f
	shift
	for f in "$@"; do printf 'void %s(void) {}\n' "$f"; done >"$stubs/stub.c"
	printf '%s { global: *; };\n' "$base" >"$stubs/stub.map"
	"${CC:-cc}" -shared -fPIC -nostdlib -fno-builtin -w -Wl,-soname,"$name" -Wl,--version-script="$stubs/stub.map" \
		-o "$stubs/$name" "$stubs/stub.c"
}
stub libdl.so.2 dlopen dlsym dlerror
stub libpthread.so.0 pthread_create pthread_key_create pthread_setspecific pthread_attr_getstack \
	pthread_attr_getstacksize pthread_getattr_np pthread_sigmask

link="-Wl,--version-script=$PWD/cmd/libclearance/exports.map $stubs/libpthread.so.0 $stubs/libdl.so.2"
# netgo: the resolver of the system, which package net would link, asks for glibc 2.34; no call resolves names.
# A version script hides the kernels' and Go's own symbols, so that two such libraries in a process cannot meet.
CGO_ENABLED=1 "${GO:-go}" build -trimpath -buildvcs=false -tags "netgo ${CLEARANCE_TAGS:-}" -buildmode=c-shared \
	-ldflags "-s -w -X main.version=$version -extldflags '$link'" -o "$out" ./cmd/libclearance
rm -f "${out%.so}.h" # clearance.h is the header
