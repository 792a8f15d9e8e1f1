#!/usr/bin/env bash
# torch.sh PYTHON: prints the folder of PyTorch for the tests of clearance.torch, and nothing if there is none, for a
# reason that it says. The wheel of the registry brings CUDA libraries: 5 GB, 93 s of CPU time to install. It is kept in
# the user's cache, which outlives a clone, and only CLEARANCE_TESTS=all (make test-all) installs it.
set -euo pipefail
python=$1
packages=(torch==2.15.0)
tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
folder=${XDG_CACHE_HOME:-$HOME/.cache}/clearance/torch-${packages[0]#*==}-$tag
want="${packages[*]} $("$python" --version)"
if [[ "$(cat "$folder/made-of" 2>/dev/null)" != "$want" ]]; then
	if "$python" -c 'import torch' 2>/dev/null; then
		exit # of the environment itself
	fi
	if [[ ${CLEARANCE_TESTS:-} != all ]]; then
		echo "torch.sh: SKIPPED: the tests of clearance.torch; CLEARANCE_TESTS=all installs ${packages[*]} for them" >&2
		exit
	fi
	rm -rf "$folder"
	if ! "$python" -m pip install --quiet --disable-pip-version-check --no-input --no-cache-dir --target "$folder" \
		"${packages[@]}" >&2; then
		rm -rf "$folder"
		echo "torch.sh: SKIPPED: the tests of clearance.torch; ${packages[*]} cannot be installed" >&2
		exit
	fi
	printf '%s\n' "$want" >"$folder/made-of"
fi
printf '%s\n' "$folder"
