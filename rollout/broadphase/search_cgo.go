//go:build cgo

package broadphase

// #include "rows_api.h"
import "C"

import "clearance/kernels"

var _ = [1]struct{}{}[sorted-C.CLR_SORTED] // which are equal
var _ = [1]struct{}{}[spare-C.CLR_SPARE]
var _ = [1]struct{}{}[maxLevels-len(C.clr_rows{}.first)]

// call is the part of a call of a kernel that C reads and writes.
type call struct{ c C.clr_rows }

// run finds rows by the kernel of an instruction set, or in Go, until the search ends or has found so many that more
// memory is needed.
func (s *search) run(simd string, t *tree, offset []int64) {
	if simd == "" {
		s.scan(t, offset)
		return
	}
	c := &s.call.c
	s.grow(int(c.need), int(c.need_leaves))
	for level, first := range t.first {
		c.first[level] = C.int64_t(first)
	}
	c.levels, c.leaf, c.end = C.int64_t(len(t.first)), C.int64_t(s.leaf), C.int64_t(s.hi)
	c.used, c.room, c.leaves = C.int64_t(s.used), C.int64_t(len(s.rows)-spare), C.int64_t(len(s.near)-spare)
	kernels.Enter(kernels.BroadPhase, simd)
	rowsOf(simd, c, (*C.double)(&t.blocks[0].lo[0][0]), (*C.int32_t)(&t.ids[0]), (*C.int32_t)(&t.last[0]),
		(*C.int32_t)(&s.near[0]), (*C.int32_t)(&s.next[0]), (*C.int32_t)(&s.lanes[0]), (*C.int32_t)(&s.rows[0]),
		(*C.int64_t)(&offset[1]))
	s.leaf, s.used = int(c.leaf), int(c.used)
}
