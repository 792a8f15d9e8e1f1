//go:build cgo && !amd64 && !arm64

package contact

import "clearance/kernels/contact/portable"

// variants are those of this processor architecture.
var variants = []variant{{Portable, true, portable.Kernels}}
