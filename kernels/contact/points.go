//go:build cgo

package contact

/*
#include "api.h"

static int32_t call_manifold(lanes_manifold_function manifold, const lanes_shape *shape, const double *reals,
                             const int32_t *ints, const double *rim, const int32_t *shape_a, const int32_t *shape_b,
                             const double *position_a, const double *position_b, const double *rotation_a,
                             const double *rotation_b, const double *normal, const double *distance, const float *gap,
                             const double *witness_a, const double *witness_b, const double *max_gap, int32_t *list,
                             int32_t n, int32_t *count, double *lower, double *position, double *out_gap,
                             uint64_t *id) {
    lanes_shapes shapes = {shape, reals, ints, rim};
    lanes_rows rows = {shape_a, shape_b,  position_a, position_b, rotation_a, rotation_b,
                       normal,  distance, gap,        witness_a,  witness_b,  max_gap};
    lanes_points out = {count, lower, position, out_gap, id};
    return manifold(&shapes, &rows, list, n, &out);
}
*/
import "C"

import "unsafe"

// Manifold finds the contact points of the rows in list, and returns those that it declines, in the same memory. It
// allocates nothing.
func Manifold(variant string, t *Shapes, r *Rows, list []int32, out *Points) (declined []int32) {
	if len(list) == 0 {
		return nil
	}
	left := C.call_manifold(find(variant).manifold, (*C.lanes_shape)(unsafe.Pointer(&t.shape[0])), reals(t.reals),
		ints(t.ints), reals(t.rim), ints(r.ShapeA), ints(r.ShapeB), reals(r.PositionA), reals(r.PositionB),
		reals(r.RotationA), reals(r.RotationB), reals(r.Normal), reals(r.Distance), (*C.float)(&r.Gap[0]),
		reals(r.WitnessA), reals(r.WitnessB), reals(r.MaxGap), ints(list), C.int32_t(len(list)), ints(out.Count),
		reals(out.Lower), reals(out.Position), reals(out.Gap), (*C.uint64_t)(&out.ID[0]))
	return list[:left]
}
