//go:build cgo && !amd64

package contact

// variants are those of this processor architecture.
var variants = []variant{portable}
