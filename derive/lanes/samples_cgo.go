//go:build cgo

package lanes

/*
#include "lanes.h"

static void ln_call_sampler(ln_sampler f, const ln_samples *e, int64_t lo, int64_t hi) { f(e, lo, hi); }
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Displace makes the noise of rows [lo, hi) and the poses of B of their pairs. It returns false if there is no kernel:
// variant is one of [Variants], "" for the one that the environment or the processor chooses.
func (s *Samples) Displace(variant string, lo, hi int) bool {
	v := variantOf(variant)
	if v == nil {
		return false
	}
	s.call(v.displace, lo, hi)
	return true
}

// Add adds the differences of the answers of rows [lo, hi) from those of the rows to the sums, times the numbers in
// Noise. It returns false if there is no kernel.
func (s *Samples) Add(variant string, lo, hi int) bool {
	v := variantOf(variant)
	if v == nil {
		return false
	}
	s.call(v.add, lo, hi)
	return true
}

func (s *Samples) call(f C.ln_sampler, lo, hi int) {
	var p runtime.Pinner
	defer p.Unpin()
	pinned := func(v []float64) *C.double {
		data := unsafe.SliceData(v)
		p.Pin(data)
		return (*C.double)(unsafe.Pointer(data))
	}
	number := unsafe.SliceData(s.Number)
	p.Pin(number)
	c := C.ln_samples{
		first_sample: C.int64_t(s.First), samples: C.int64_t(s.Count),
		seed: C.uint64_t(s.Seed), epsilon: C.double(s.Epsilon),
		number: (*C.uint64_t)(unsafe.Pointer(number)), size: pinned(s.Size),
		position: pinned(s.Position), rotation: pinned(s.Rotation), noise: pinned(s.Noise),
		to_position: pinned(s.Pairs.PositionB), to_rotation: pinned(s.Pairs.RotationB),
		value: pinned(s.Answers.Distance().F64), normal: pinned(s.Answers.Normal().F64),
		witness_a: pinned(s.Answers.WitnessA().F64), witness_b: pinned(s.Answers.WitnessB().F64),
		at: pinned(s.At), sums: pinned(s.Sums),
	}
	C.ln_call_sampler(f, &c, C.int64_t(lo), C.int64_t(hi))
}
