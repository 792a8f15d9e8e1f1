#!/usr/bin/env bash
# venv.sh: makes the virtual environment build/python/venv of the pinned packages of python/requirements-dev.txt, if it
# is not there, and prints its folder of programs. PYTHON selects the interpreter.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=$PWD/build/python/venv
want=$(cat python/requirements-dev.txt; "${PYTHON:-python3}" --version)
if [[ "$(cat "$venv/made-of" 2>/dev/null)" != "$want" ]]; then
	rm -rf "$venv"
	"${PYTHON:-python3}" -m venv "$venv" >&2
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input -r python/requirements-dev.txt >&2
	printf '%s\n' "$want" >"$venv/made-of"
fi
printf '%s\n' "$venv/bin"
