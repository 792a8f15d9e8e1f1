#!/usr/bin/env bash
# torch.sh PYTHON: prints the folder of PyTorch for the tests of clearance.torch, or on the error stream why there is
# none. It is kept in the user's cache, which outlives a clone: 1.2 GB, for which 560 MB are downloaded once.
#
# The wheel of the registry is that for CUDA. Without its dependencies it lacks 2 GB of libraries, which the loader
# wants but nothing calls on a CPU: small libraries take their place whose functions all end the process with a message.
# The CUDA runtime and its tracing library are real, since they are called while PyTorch is loaded.
set -euo pipefail
packages=(torch==2.15.0 typing-extensions==4.16.0 sympy==1.14.0 mpmath==1.3.0
	nvidia-cuda-runtime==13.2.86 nvidia-cuda-cupti==13.2.86)
# The name of each library that is replaced, the version of its symbols, and which ones they are.
replaced=('libcublas.so.13 libcublas.so.13 @libcublas.so.13$' 'libcublasLt.so.13 libcublasLt.so.13 @libcublasLt.so.13$'
	'libcudnn.so.9 libcudnn.so.9 @libcudnn.so.9$' 'libcufft.so.12 libcufft.so.12 @libcufft.so.12$'
	'libcusparse.so.12 libcusparse.so.12 @libcusparse.so.12$' 'libnvrtc.so.13 libnvrtc.so.13 @libnvrtc.so.13$'
	'libnvshmem_host.so.3 NVSHMEM @NVSHMEM$' 'libcufile.so.0 libcufile.so.0 ^cuFile'
	'libcusparseLt.so.0 libcusparseLt.so.0 ^cusparseLt' 'libnccl.so.2 libnccl.so.2 ^nccl')

python=$1
skip() {
	echo "no PyTorch: $*" >&2
	exit 0
}
cache=${XDG_CACHE_HOME:-${HOME:-}/.cache}/clearance
tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
folder=$cache/torch-${packages[0]#*==}-cpu-$tag
part=$folder.part # becomes the folder when it is complete
if [[ ! -d $folder ]]; then
	if "$python" -c 'import sys, importlib.util; sys.exit(importlib.util.find_spec("torch") is None)'; then
		exit # of the environment itself
	fi
	mkdir -p "$cache" 2>/dev/null || skip "$cache cannot be made"
	exec 9>"$cache/torch.lock"
	flock 9 # of several runs the first installs, the others wait
fi
if [[ ! -d $folder ]]; then
	cc=$(command -v cc || command -v gcc) || skip "no C compiler"
	command -v nm >/dev/null || skip "no nm (binutils)"
	rm -rf "$part"
	trap 'rm -rf "$part"' EXIT
	mkdir -p "$part/tmp"
	log=$(TMPDIR=$part/tmp "$python" -m pip install --quiet --disable-pip-version-check --no-input --no-cache-dir \
		--no-deps --no-compile --only-binary :all: --retries 1 --timeout 20 --target "$part" "${packages[@]}" 2>&1) ||
		skip "${packages[0]} cannot be installed: ${log:-pip failed}"
	nm -D --undefined-only --with-symbol-versions "$part"/torch/lib/*.so | awk '$1 == "U" { print $2 }' |
		sort -u >"$part/tmp/symbols"
	for row in "${replaced[@]}"; do
		read -r name version which <<<"$row"
		{
			printf '#include <stdio.h>\n#include <stdlib.h>\nstatic void absent(void) {\n'
			printf '\tfputs("%s: called, but it has no code (scripts/torch.sh)\\n", stderr);\n\tabort();\n}\n' "$name"
			awk -v which="$which" '$0 ~ which {
				sub(/@.*/, ""); print "void " $0 "(void) __attribute__((alias(\"absent\")));"
			}' "$part/tmp/symbols"
		} >"$part/tmp/absent.c"
		echo "$version { *; };" >"$part/tmp/absent.map"
		log=$("$cc" -w -shared -fPIC -Wl,--version-script="$part/tmp/absent.map" -Wl,-soname,"$name" \
			"$part/tmp/absent.c" -o "$part/torch/lib/$name" 2>&1) || skip "$name cannot be built: $log"
	done
	log=$(PYTHONPATH=$part "$python" -B -c 'import torch; torch.ones(1, requires_grad=True).exp().backward()' 2>&1) ||
		skip "${packages[0]} is installed, but cannot be imported: $log"
	rm -rf "$part/tmp"
	sync -f "$part"
	mv -T "$part" "$folder"
fi
printf '%s\n' "$folder"
