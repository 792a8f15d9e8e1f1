package main

// #include "clearance.h"
import "C"

import (
	"encoding/json"

	"clearance/batch"
	"clearance/geom/hull"
	"clearance/internal/rowtrace"

	"gonum.org/v1/gonum/spatial/r3"
)

//export clearance_trace
func clearance_trace(query *C.clearance_query, pairs *C.clearance_pairs, row C.int64_t, out *C.char, size C.int64_t,
	needed *C.int64_t, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		lib, o, err := optionsOf(query)
		if err != nil {
			return err
		}
		in, warm, err := pairsOf(pairs)
		if err != nil {
			return err
		}
		if needed == nil {
			return argument("no place for the size of the trace")
		}
		o.WarmStart = warm
		job := &batch.Job{Library: lib, Input: in, Options: o}
		if err := job.CheckInput(); err != nil {
			return failure{codeArgument, err}
		}
		trace, err := rowtrace.Of(job, int(row))
		if err != nil {
			return failure{codeArgument, err}
		}
		data, err := json.Marshal(trace)
		if err != nil {
			return err
		}
		*needed = write(data, out, size)
		return nil
	}())
}

//export clearance_library_center
func clearance_library_center(library C.clearance_library, index C.int64_t, center *C.double,
	e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		l, err := libraries.get(uint64(library))
		if err != nil {
			return err
		}
		to := array[float64](center, 3)
		if index < 0 || int64(index) >= int64(l.Len()) || to == nil {
			return argument("shape %d of %d, or no place for its center", index, l.Len())
		}
		c := l.GrowthCenter(int32(index))
		to[0], to[1], to[2] = c.X, c.Y, c.Z
		return nil
	}())
}

//export clearance_hull
func clearance_hull(points *C.clearance_reals, count C.int64_t, triangles *C.int32_t, capacity C.int64_t,
	needed *C.int64_t, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		if count < 0 || count > hull.MaxPoints || needed == nil {
			return argument("a hull of %d points, want at most %d, and a place for the number of triangles",
				int64(count), hull.MaxPoints)
		}
		x := array[float64](points, 3*int(count))
		list := make([]r3.Vec, len(x)/3)
		for i := range list {
			list[i] = r3.Vec{X: x[3*i], Y: x[3*i+1], Z: x[3*i+2]}
		}
		h, err := hull.Build(list)
		if err != nil {
			return failure{codeArgument, err}
		}
		*needed = C.int64_t(len(h.Facets))
		if to := array[int32](triangles, 3*len(h.Facets)); to != nil && int(capacity) >= len(h.Facets) {
			for i, f := range h.Facets {
				to[3*i], to[3*i+1], to[3*i+2] = h.Index[f[0]], h.Index[f[1]], h.Index[f[2]]
			}
		}
		return nil
	}())
}
