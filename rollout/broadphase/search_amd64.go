//go:build cgo

package broadphase

// #include "rows_api.h"
import "C"

func rowsOf(simd string, c *C.clr_rows, blocks *C.double, ids, last, near, next, lanes, rows *C.int32_t,
	length *C.int64_t) {
	switch simd {
	case "avx512":
		C.clr_rows_avx512(c, blocks, ids, last, near, next, lanes, rows, length)
	case "avx2":
		C.clr_rows_avx2(c, blocks, ids, last, near, next, lanes, rows, length)
	default:
		C.clr_rows_portable(c, blocks, ids, last, near, next, lanes, rows, length)
	}
}
