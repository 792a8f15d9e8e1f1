#!/usr/bin/env bash
# first-minutes.sh [FOLDER]: the first minutes of a user of the Python package, timed: a new virtual environment,
# `pip install ./python` with empty caches of Go, then the first block of README.md as pasted, with the packages of
# models that it names. FOLDER is that of the environment, by default a temporary one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v go >/dev/null || PATH="$PATH:/usr/local/go/bin"
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
export GOCACHE=$folder/go-cache GOMODCACHE=$folder/go-modules GOFLAGS=-modcacherw
since=$EPOCHREALTIME
lap() { # lap WHAT: prints the seconds since the last one
	local now=$EPOCHREALTIME
	awk -v a="$since" -v b="$now" -v what="$1" 'BEGIN { printf "%7.1f s  %s\n", b - a, what }'
	since=$EPOCHREALTIME
}
"${PYTHON:-python3}" -m venv "$folder/venv"
bin=$folder/venv/bin
lap "a virtual environment"
"$bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir ./python
lap "pip install ./python, with empty caches"
models=$(sed -n 's/^    pip install \(example-robot-data[^#]*\).*/\1/p' README.md)
# shellcheck disable=SC2086
"$bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir $models
lap "pip install $models"
awk '/^```python$/ { on = 1; next } /^```$/ && on { exit } on' README.md >"$folder/first.py"
cd "$folder"
"$bin/python" first.py
lap "the first block of README.md"
