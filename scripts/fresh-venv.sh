#!/usr/bin/env bash
# fresh-venv.sh WHEEL BATCHBENCH: what a user of the wheel has who has neither Go nor a C compiler. In a new virtual
# environment, with its programs alone in PATH and the variables of pip alone in the environment, the wheel is installed
# from its file and its dependencies as wheels from the registry. Then the doctor, every example, and the tests that
# compare answers and files with those of `batchbench`, bit for bit, run there.
set -euo pipefail
wheel=$(realpath -e "$1")
batchbench=$(realpath -e "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
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
alone "$bin/python" "$root/examples/arm_env.py" --worlds 256 --steps 10
alone "$bin/python" "$root/examples/grasps.py" --grasps 2000
alone "$bin/python" "$root/examples/trajectory.py" --out trajectory.png
alone "$bin/python" -m pytest --config-file "$root/python/pyproject.toml" --rootdir "$root/python" -rs \
	"$root"/python/tests/test_{answers,score,allpairs,examples}.py
