#!/usr/bin/env bash
# setup.sh: writes lab/results/gpu-cost.md, what the compilers of AMD's GPUs say of the shaders. With NVIDIA=1 it
# installs NVIDIA's compilers of CUDA and Slang in build/cuda, 360 MB, and has them compile the same pipelines, which
# takes some minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
go=${GO:-go}
"$go" run ./lab/cmd/lab gpu-cost
[ -n "${NVIDIA:-}" ] || exit 0

packages=(nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-nvcc-cu12==12.9.86
	slangtorch==1.3.22)
root=$PWD/build/cuda
if [[ "$(cat "$root/made-of" 2>/dev/null)" != "${packages[*]}" ]]; then
	rm -rf "$root"
	bin=$(./scripts/venv.sh)
	"$bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps --target "$root" \
		"${packages[@]}"
	chmod +x "$root"/slangtorch/bin/slangc "$root"/nvidia/cuda_nvcc/bin/ptxas
	printf '%s\n' "${packages[*]}" >"$root/made-of"
fi
"$go" run ./lab/cmd/lab gpu-cost --nvidia "$root"
