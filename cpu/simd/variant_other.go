//go:build cgo && (race || (!amd64 && !arm64))

package simd

// variants are those of this processor architecture.
var variants = []variant{portable}
