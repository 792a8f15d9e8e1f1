#!/usr/bin/env bash
# Compiles the shaders into shaders/spirv, or into the folder given. The version of
# the compiler is written beside them: the same version gives the same bytes.
# Drivers optimise: after -O, Mesa needs more registers (lab/notebook/gpu-cost.md).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../shaders"
out=${1:-spirv}

if ! command -v glslc >/dev/null; then
	echo "shaders.sh: glslc not found; install it (Debian and Ubuntu: apt-get install glslc)" >&2
	exit 1
fi
mkdir -p "$out"
printf '%s\n' *.comp | sed 's/\.comp$//' |
	xargs -P "$(getconf _NPROCESSORS_ONLN)" -I '{}' glslc --target-env=vulkan1.1 -O0 -o "$out/{}.spv" '{}.comp'
glslc --version | sed -n '1,3p' >"$out/glslc.txt"
