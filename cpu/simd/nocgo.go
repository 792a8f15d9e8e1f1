//go:build !cgo

package simd

// Supported returns no variants: without cgo there are no kernels.
func Supported() []string { return nil }
