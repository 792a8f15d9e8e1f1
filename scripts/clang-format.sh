#!/usr/bin/env bash
# Checks that C and GLSL are formatted as .clang-format says, or formats them with --fix. The formatter is
# installed from PyPI in one pinned version, in build/tools, which git ignores. Without pip or a network the
# check is left out, which is said; with CI=true or REQUIRE_COMPILER=1 that is a failure.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=23.1.5
files=(
	kernels/*/*.h kernels/*/*.c kernels/*/*/*.c kernels/testdata/*.h kernels/testdata/*.c
	kernels/*/include/*.h
	engine/internal/vk/*.h engine/internal/vk/*.c
	cmd/libclearance/*.h cmd/libclearance/testdata/*.h cmd/libclearance/testdata/*.c
	shaders/[!l]*.glsl shaders/loop_limit.glsl shaders/*.comp shaders/testdata/*.comp # not the generated layout.glsl
)

tool=build/tools/clang-format-$version
format=$tool/bin/clang-format
if ! "$format" --version 2>/dev/null | grep -qF "version $version"; then
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	if ! { python3 -m venv "$tool" &&
		"$tool/bin/pip" install -q --disable-pip-version-check "clang-format==$version"; } >"$log" 2>&1; then
		tail -n 3 "$log" >&2
		echo "clang-format.sh: SKIPPED: clang-format $version could not be installed with python3 -m venv and pip" >&2
		[ "${CI:-}" != true ] && [ "${REQUIRE_COMPILER:-}" != 1 ]
		exit
	fi
fi

if [ "${1:-}" = --fix ]; then
	"$format" -i "${files[@]}"
	exit
fi
"$format" --dry-run -Werror --ferror-limit=3 "${files[@]}" || {
	echo "clang-format.sh: not formatted, run 'make fmt'" >&2
	exit 1
}
