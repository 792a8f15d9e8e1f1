#!/usr/bin/env bash
# python.sh [ARGUMENT...]: the checks of the Python package. The wheel is built and installed in a virtual environment,
# the C interface is tested, then ruff, mypy, pyright and pytest (with the arguments) run, and at the end the wheel is
# tried in a new environment without compilers (fresh-venv.sh). It needs Python 3.11 and the registries of pip and npm.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v "${GO:-go}" >/dev/null || PATH="$PATH:/usr/local/go/bin"
bin=$(./scripts/venv.sh)
# The kernels would be compiled once more for a shared library, for minutes. make test does so with less optimization;
# the answers have the same bits, which the tests compare with those of the command line. make test-all and make wheel
# optimize.
out=$PWD/build/python/test
[[ ${CLEARANCE_TESTS:-} == all ]] || export CLEARANCE_TAGS=quickkernels
mkdir -p "$out"
# PyTorch is installed meanwhile, the first time.
./scripts/torch.sh "$bin/python" >"$out/torch" 2>"$out/no-torch" &
torch=$!
CLEARANCE_LIBRARY=$out/libclearance.so CLEARANCE_WHEELS=$out/dist ./scripts/wheel.sh
"$bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps --force-reinstall \
	"$out"/dist/*.whl
"${GO:-go}" build -o build/python/batchbench ./cmd/batchbench
CLEARANCE_LIBRARY=$out/libclearance.so "${GO:-go}" test -vet=off ./cmd/libclearance
# PyTorch, if there is one, comes after the packages of the environment; its tests say the reason if there is none.
paths=$("$bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
wait "$torch" || { cat "$out/no-torch" >&2 && exit 1; }
cp "$out/torch" "$paths/clearance-torch.pth"
pushd python >/dev/null
"$bin/ruff" format --config pyproject.toml --check . ../examples ../lab/python
"$bin/ruff" check --config pyproject.toml . ../examples ../lab/python
"$bin/mypy" src tests ../lab/python ../examples
"$bin/basedpyright" --pythonpath "$bin/python" --level error
CLEARANCE_BATCHBENCH=$PWD/../build/python/batchbench CLEARANCE_NO_TORCH=$(tr '\n' ' ' <"$out/no-torch") \
	CUDA_VISIBLE_DEVICES='' "$bin/python" -m pytest -rs "$@"
popd >/dev/null
./scripts/fresh-venv.sh "$out"/dist/*.whl build/python/batchbench
