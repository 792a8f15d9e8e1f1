//go:build cgo && !amd64

package lanes

// variants are those of this machine.
var variants = []variant{portable}
