#!/usr/bin/env bash
# Makes sure that the Vulkan tests can run: a loader, a driver (lavapipe, which needs no
# GPU), the validation layer, the shader compiler and the headers that the ABI test
# compares with; and those of the viewer: a display in memory, Mesa's OpenGL, the headers of
# X11. As root on Debian and Ubuntu it installs what is missing; elsewhere it prints what is
# missing and what that costs. It never fails.
set -uo pipefail

missing=()
need() { # package, and a file or command that it brings
	local package=$1
	shift
	for sign in "$@"; do
		if command -v "$sign" >/dev/null || compgen -G "$sign" >/dev/null; then
			return
		fi
	done
	missing+=("$package")
}

need libvulkan1 '/usr/lib/*/libvulkan.so.1' '/usr/lib*/libvulkan.so.1'
need mesa-vulkan-drivers '/usr/share/vulkan/icd.d/*.json' '/etc/vulkan/icd.d/*.json'
layer=vulkan/explicit_layer.d/VkLayer_khronos_validation.json
need vulkan-validationlayers "/usr/share/$layer" "/etc/$layer"
need glslc glslc
need libvulkan-dev '/usr/include/vulkan/vulkan_core.h'
need xvfb Xvfb
need libgl1-mesa-dri '/usr/lib/*/dri/swrast_dri.so' '/usr/lib*/dri/swrast_dri.so'
need libgl-dev '/usr/include/GL/gl.h'
for header in xrandr:extensions/Xrandr xcursor:Xcursor/Xcursor xinerama:extensions/Xinerama xi:extensions/XInput2 \
	xxf86vm:extensions/xf86vmode; do
	need "lib${header%%:*}-dev" "/usr/include/X11/${header#*:}.h"
done
need chromium chromium chromium-browser google-chrome # the page of rows is tested in it
if ((${#missing[@]} == 0)); then
	exit 0
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "vulkan-packages.sh: installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	log=$(mktemp)
	install() { apt-get install -y -q --no-install-recommends "${missing[@]}" >"$log" 2>&1; }
	if install || { apt-get update -q >"$log" 2>&1 && install; }; then
		rm -f "$log"
		exit 0
	fi
	tail -n 5 "$log" >&2
	rm -f "$log"
fi
echo "vulkan-packages.sh: missing: ${missing[*]}. Their tests will be skipped, and say so." >&2
echo "  Debian and Ubuntu: apt-get install ${missing[*]}" >&2
exit 0
