#!/usr/bin/env bash
# libclearance.sh FILE: builds the shared library of cmd/libclearance, with the exported functions alone as symbols.
# CLEARANCE_TAGS are build tags.
set -euo pipefail
out=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v "${GO:-go}" >/dev/null || PATH="$PATH:/usr/local/go/bin"
version=$(git describe --tags --always --dirty 2>/dev/null || echo devel)
stubs=$PWD/build/glibc # one folder, since Go links anew where a flag has changed
./scripts/oldglibc.sh "$stubs"
link="-Wl,--version-script=$PWD/cmd/libclearance/exports.map $stubs/libpthread.so.0 $stubs/libdl.so.2"
# netgo: the resolver of the system, which package net would link, asks for glibc 2.34; no call resolves names.
# A version script hides the kernels' and Go's own symbols, so that two such libraries in a process cannot meet.
CGO_ENABLED=1 "${GO:-go}" build -trimpath -buildvcs=false -tags "netgo ${CLEARANCE_TAGS:-}" -buildmode=c-shared \
	-ldflags "-s -w -X main.version=$version -extldflags '$link'" -o "$out" ./cmd/libclearance
rm -f "${out%.so}.h" # clearance.h is the header
