// Libclearance is the C interface of package clearance, for other languages: a shared library whose functions, structs
// and rules of ownership clearance.h states. The Python package calls it.
//
//	go build -buildmode=c-shared -ldflags "-extldflags -Wl,--version-script=cmd/libclearance/exports.map" \
//		-o libclearance.so ./cmd/libclearance
//
// Every exported function checks its arguments, and a panic inside is an error of the call. Handles are numbers, so
// that one that was given back is an error and not a crash.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "libclearance is a library: build it with -buildmode=c-shared")
	os.Exit(2)
}
