//go:build cgo

package simd

import "C"

// clr_built has no caller. go build -buildmode=c-shared takes a package with C from its cache only if the package
// exports a function to C (cmd/go: loadCachedCgoHdr). Without one, each build of the shared library would compile all
// kernels.
//
//export clr_built
func clr_built() {}
