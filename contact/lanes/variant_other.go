//go:build cgo && !amd64

package lanes

// variants are those of this processor architecture.
var variants = []variant{portable}
