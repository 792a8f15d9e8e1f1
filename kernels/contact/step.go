//go:build cgo

package contact

/*
#include "api.h"

static int32_t call_prepare(lanes_prepare_function prepare, const lanes_scene *scene, const lanes_fixed *fixed,
                            int32_t *list, int32_t n, const double *pose, const double *velocities,
                            const double *momenta, const double *force, lanes_body *bodies, double *inertias,
                            double *free_velocities) {
    return prepare(scene, fixed, list, n, pose, velocities, momenta, force, bodies, inertias, free_velocities);
}

static void call_move(lanes_move_function move, const lanes_scene *scene, const lanes_fixed *fixed,
                      const int32_t *list, int32_t n, const double *pose, const double *inertias,
                      const double *free_velocities, const double *solved, const int32_t *count, const int32_t *body_a,
                      const int32_t *body_b, const double *arm_a, const double *arm_b, const double *frame,
                      const double *friction, const double *target, const double *impulse,
                      const double *complementarity, lanes_body *bodies, const uint8_t *sides, double *world_impulse,
                      double *energy, double *allowed, double *change) {
    lanes_contacts contacts = {count, body_a, body_b, arm_a, arm_b, frame, friction, target, impulse};
    move(scene, fixed, list, n, pose, inertias, free_velocities, solved, &contacts, complementarity, bodies,
         sides, world_impulse, energy, allowed, change);
}

static void call_assemble(lanes_assemble_function assemble, const lanes_rules *rules, const lanes_pair *pairs,
                          const int32_t *list, int32_t n, const int32_t *first, const lanes_row *rows,
                          double *position, double *gap, uint64_t *id, const double *normal,
                          const lanes_body *bodies, const uint8_t *sides, const int32_t *old_n, lanes_id *ids,
                          double *positions, const double *impulses, int32_t *count, int32_t *body_a, int32_t *body_b,
                          double *arm_a, double *arm_b, double *frame, double *friction, double *target,
                          double *warm) {
    lanes_points points = {0, 0, position, gap, id};
    lanes_assembled out = {count, body_a, body_b, arm_a, arm_b, frame, friction, target, warm};
    assemble(rules, pairs, list, n, first, rows, &points, normal, bodies, sides, old_n, ids, positions, impulses, &out);
}
*/
import "C"

import "unsafe"

// Prepare finds the state of the bodies of the worlds in list before the solve, and returns the worlds that it leaves,
// in the same memory: those with a state that is invalid or has a quaternion that is not of unit length. It allocates
// nothing.
func Prepare(variant string, s *Scene, c *Columns, list []int32) (left []int32) {
	if len(list) == 0 {
		return nil
	}
	n := C.call_prepare(find(variant).prepare, (*C.lanes_scene)(unsafe.Pointer(s)),
		(*C.lanes_fixed)(unsafe.Pointer(&c.Fixed[0])), ints(list), C.int32_t(len(list)), reals(c.Pose),
		reals(c.Velocity), reals(c.Momentum), reals(c.Force), (*C.lanes_body)(c.State), reals(c.Inertia), reals(c.Free))
	return list[:n]
}

// Move audits the solves of the worlds in list and finds the state of their bodies after the step. It allocates
// nothing.
func Move(variant string, s *Scene, c *Columns, list []int32) {
	if len(list) == 0 {
		return
	}
	C.call_move(find(variant).move, (*C.lanes_scene)(unsafe.Pointer(s)),
		(*C.lanes_fixed)(unsafe.Pointer(&c.Fixed[0])), ints(list), C.int32_t(len(list)), reals(c.Pose),
		reals(c.Inertia), reals(c.Free), reals(c.Solved), ints(c.Count), ints(c.BodyA),
		ints(c.BodyB), reals(c.ArmA), reals(c.ArmB), reals(c.Frame), reals(c.Friction), reals(c.Target),
		reals(c.Impulse), reals(c.Complementarity), (*C.lanes_body)(c.State), (*C.uint8_t)(&c.Sides[0]),
		reals(c.WorldImpulse), reals(c.Energy), reals(c.Allowed), reals(c.Change))
}

// Assemble makes the contacts of the worlds in list from the points of their rows. It allocates nothing.
func Assemble(variant string, r *Rules, c *Columns, a *Assembly, list []int32) {
	if len(list) == 0 || len(a.Points.Count) == 0 {
		return
	}
	C.call_assemble(find(variant).assemble, (*C.lanes_rules)(unsafe.Pointer(r)),
		(*C.lanes_pair)(unsafe.Pointer(&a.Pairs[0])), ints(list), C.int32_t(len(list)), ints(a.First),
		(*C.lanes_row)(a.Rows), reals(a.Points.Position), reals(a.Points.Gap), (*C.uint64_t)(&a.Points.ID[0]),
		reals(a.Normal), (*C.lanes_body)(c.State), (*C.uint8_t)(&c.Sides[0]), ints(a.Old), (*C.lanes_id)(a.IDs),
		reals(a.Position), reals(c.WorldImpulse), ints(c.Count), ints(c.BodyA), ints(c.BodyB), reals(c.ArmA),
		reals(c.ArmB), reals(c.Frame), reals(c.Friction), reals(c.Target), reals(a.Warm))
}
