#!/usr/bin/env bash
# oldglibc.sh FOLDER: writes stubs of libpthread and libdl, for the linker alone. glibc 2.32 to 2.34 moved their
# functions into libc under new versions, so that whatever is linked there asks for glibc 2.34. The stubs have those
# functions under the versions of before, which every glibc has; at run time the libraries of the system answer.
set -euo pipefail
folder=$1
mkdir -p "$folder"
case $(uname -m) in
x86_64) base=GLIBC_2.2.5 ;;
*) base=GLIBC_2.17 ;; # aarch64
esac
stub() { # SONAME FUNCTION...
	local name=$1 f
	shift
	for f in "$@"; do printf 'void %s(void) {}\n' "$f"; done >"$folder/stub.c"
	printf '%s { global: *; };\n' "$base" >"$folder/stub.map"
	"${CC:-cc}" -shared -fPIC -nostdlib -fno-builtin -w -Wl,-soname,"$name" -Wl,--version-script="$folder/stub.map" \
		-o "$folder/$name" "$folder/stub.c"
}
stub libdl.so.2 dlopen dlsym dlerror
stub libpthread.so.0 pthread_create pthread_key_create pthread_setspecific pthread_attr_getstack \
	pthread_attr_getstacksize pthread_getattr_np pthread_sigmask
