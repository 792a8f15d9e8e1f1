//go:build cgo && !amd64

package lanes

// #include "lanes.h"
import "C"

// variants are those of this machine.
var variants = []variant{{"portable", C.ln_kernel(C.ln_run_portable)}}
