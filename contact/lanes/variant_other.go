//go:build cgo && !amd64

package lanes

// #include "api.h"
import "C"

// variants are those of this processor architecture, best first.
var variants = []variant{{"portable", true, C.lanes_sweep_function(C.lanes_sweep_portable),
	C.lanes_newton_function(C.lanes_newton_portable)}}
