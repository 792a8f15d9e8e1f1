#!/usr/bin/env bash
# python.sh [ARGUMENT...]: the checks of the Python package. The wheel is built and installed in a virtual environment,
# the C interface is tested, the site of the documentation is built, then ruff, mypy, pyright and pytest (with the
# arguments) run, and at the end the wheel is tried in a new environment without compilers. It needs Python 3.11 and the
# registries of pip and npm.
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
./scripts/site.sh
pushd python >/dev/null
"$bin/ruff" format --config pyproject.toml --check . ../examples ../lab/python ../docs/notebooks ../scripts/site*.py
"$bin/ruff" check --config pyproject.toml . ../examples ../lab/python ../docs/notebooks ../scripts/site*.py
"$bin/mypy" src tests ../lab/python ../examples ../scripts/site.py ../scripts/site_hooks.py
"$bin/basedpyright" --pythonpath "$bin/python" --level error
CLEARANCE_BATCHBENCH=$PWD/../build/python/batchbench CLEARANCE_NO_TORCH=$(tr '\n' ' ' <"$out/no-torch") \
	CUDA_VISIBLE_DEVICES='' "$bin/python" -m pytest -rs "$@"
popd >/dev/null

# What a user of the wheel has who has neither Go nor a C compiler. In a new virtual environment, with its programs
# alone in PATH and the variables of pip alone in the environment, the wheel is installed from its file and its
# dependencies as wheels from the registry. Then the doctor, every example, and the tests that compare answers and files
# with those of batchbench, bit for bit, run there.
wheel=$(realpath -e "$out"/dist/*.whl) batchbench=$PWD/build/python/batchbench root=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
bin=$folder/venv/bin
mapfile -t kept < <(env | grep -E '^(PIP_[A-Z_]+|[a-z]+_proxy|[A-Z]+_PROXY|SSL_CERT_FILE)=' || true)
alone() { env -i PATH="$bin" HOME="$folder" TMPDIR="$folder" CLEARANCE_BATCHBENCH="$batchbench" "${kept[@]}" "$@"; }
install() {
	alone "$bin/python" -m pip install --quiet --disable-pip-version-check --no-input --only-binary :all: \
		--constraint "$root/python/requirements-dev.txt" "$@"
}

alone "$bin/python" - <<-'END'
	import shutil, sys
	found = [t for t in ("go", "gcc", "g++", "cc", "c++", "clang", "ld", "make") if shutil.which(t)]
	sys.exit(f"in PATH, which has to be without compilers: {found}" if found else 0)
END
cd "$folder" # where nothing of the repository can be imported
install "$wheel"
alone "$bin/clearance" doctor
install gymnasium pyarrow matplotlib pytest # of the examples and of the tests
alone "$bin/python" "$root/lab/python/arm_worlds.py" --worlds 256 --steps 10
for example in clear_path close_fingers find_pose grasps identify throw trajectory; do
	alone "$bin/python" "$root/examples/$example.py"
done
alone "$bin/python" -m pytest --config-file "$root/python/pyproject.toml" --rootdir "$root/python" -rs \
	"$root"/python/tests/test_{answers,score,allpairs,examples}.py
