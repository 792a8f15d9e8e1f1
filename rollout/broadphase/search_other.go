//go:build cgo && !amd64

package broadphase

// #include "rows_api.h"
import "C"

func rowsOf(_ string, c *C.clr_rows, blocks *C.double, ids, last, near, next, lanes, rows *C.int32_t,
	length *C.int64_t) {
	C.clr_rows_portable(c, blocks, ids, last, near, next, lanes, rows, length)
}
