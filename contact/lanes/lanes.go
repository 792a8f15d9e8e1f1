//go:build cgo

package lanes

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wno-psabi
#cgo LDFLAGS: -lm
#include "api.h"

static uint32_t call_sweep(lanes_sweep_function sweep, const lanes_options *o, const int32_t *world,
                           const double *mass, const double *inertia, const double *velocity, const int32_t *count,
                           const int32_t *body_a, const int32_t *body_b, const double *arm_a, const double *arm_b,
                           const double *frame, const double *friction, const double *target, const double *warm,
                           double *impulse, double *solved_velocity, double *primal, double *dual,
                           double *complementarity, int32_t *sweeps, void *scratch) {
    return sweep(o, world, mass, inertia, velocity, count, body_a, body_b, arm_a, arm_b, frame, friction, target, warm,
                 impulse, solved_velocity, primal, dual, complementarity, sweeps, scratch);
}

static int32_t call_newton(lanes_newton_function newton, const lanes_options *o, int32_t count, const double *mass,
                           const double *inertia, const double *velocity, const int32_t *body_a,
                           const int32_t *body_b, const double *arm_a, const double *arm_b, const double *frame,
                           const double *friction, const double *target, double *impulse, void *scratch) {
    return newton(o, count, mass, inertia, velocity, body_a, body_b, arm_a, arm_b, frame, friction, target, impulse,
                  scratch);
}

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

static int32_t call_prepare(lanes_prepare_function prepare, const lanes_scene *scene, const lanes_fixed *fixed, int32_t *list,
                            int32_t n, const double *pose, const double *velocities, const double *momenta,
                            const double *force, lanes_body *bodies, double *inertias, double *free_velocities) {
    return prepare(scene, fixed, list, n, pose, velocities, momenta, force, bodies, inertias, free_velocities);
}

static void call_move(lanes_move_function move, const lanes_scene *scene, const lanes_fixed *fixed, const int32_t *list, int32_t n,
                      const double *pose, const double *momenta, const double *inertias,
                      const double *free_velocities, const double *solved, const int32_t *count,
                      const int32_t *body_a, const int32_t *body_b, const double *arm_a, const double *arm_b,
                      const double *frame, const double *friction, const double *target, const double *impulse,
                      lanes_body *bodies, const uint8_t *sides, double *world_impulse, double *energy, double *allowed,
                      double *change) {
    lanes_contacts contacts = {count, body_a, body_b, arm_a, arm_b, frame, friction, target, impulse};
    move(scene, fixed, list, n, pose, momenta, inertias, free_velocities, solved, &contacts, bodies, sides,
         world_impulse, energy, allowed, change);
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

// variant is one way in which the kernels are compiled.
type variant struct {
	name      string
	supported bool // by this machine
	sweep     C.lanes_sweep_function
	newton    C.lanes_newton_function
	manifold  C.lanes_manifold_function
	prepare   C.lanes_prepare_function
	move      C.lanes_move_function
	assemble  C.lanes_assemble_function
}

// portable is the variant of every processor.
var portable = variant{"portable", true, C.lanes_sweep_function(C.lanes_sweep_portable),
	C.lanes_newton_function(C.lanes_newton_portable), C.lanes_manifold_function(C.lanes_manifold_portable),
	C.lanes_prepare_function(C.lanes_prepare_portable), C.lanes_move_function(C.lanes_move_portable),
	C.lanes_assemble_function(C.lanes_assemble_portable)}

// Supported returns the variants that this machine can run, best first.
func Supported() (names []string) {
	for i := range variants {
		if variants[i].supported {
			names = append(names, variants[i].name)
		}
	}
	return names
}

// Scratch is the memory of a call. The zero value is ready.
type Scratch struct {
	memory  []byte
	aligned unsafe.Pointer
	options C.lanes_options
}

// alignment is that of vectors.
const alignment = 32

// reserve makes room for n bytes.
func (s *Scratch) reserve(n int) {
	if n += alignment; len(s.memory) >= n {
		return
	}
	s.memory = make([]byte, n)
	p := unsafe.Pointer(&s.memory[0])
	s.aligned = unsafe.Add(p, -uintptr(p)&(alignment-1))
}

func (s *Scratch) set(p *Problem, worlds int, o *Options) {
	s.options = C.lanes_options{bodies: C.int32_t(p.Bodies), contacts: C.int32_t(p.Contacts),
		worlds: C.int32_t(worlds), sweeps: C.int32_t(o.Sweeps), steps: C.int32_t(o.Steps),
		tolerance: C.double(o.Tolerance), relaxation: C.double(o.Relaxation)}
	if o.Convex {
		s.options.convex = 1
	}
}

func find(name string) *variant {
	for i := range variants {
		if variants[i].name == name {
			return &variants[i]
		}
	}
	panic("lanes: no variant " + name)
}

// Sweep solves a group of worlds, 1 to [Width] indices, by sweeps from the warm start. It writes the impulses of the
// least residual of each, which lie in their cones, the velocities and residuals of these impulses, and the number of
// sweeps: a world takes no more when its residual is within the tolerance. The bit of such a world, by its place in
// worlds, is set in solved. The variant is one of [Supported].
func Sweep(variant string, p *Problem, worlds []int32, o *Options, s *Scratch) (solved uint32) {
	s.reserve(int(C.lanes_sweep_scratch(C.int32_t(p.Bodies), C.int32_t(p.Contacts))))
	s.set(p, len(worlds), o)
	return uint32(C.call_sweep(find(variant).sweep, &s.options, (*C.int32_t)(&worlds[0]), reals(p.Mass),
		reals(p.Inertia), reals(p.Velocity), (*C.int32_t)(&p.Count[0]), (*C.int32_t)(&p.BodyA[0]),
		(*C.int32_t)(&p.BodyB[0]), reals(p.ArmA), reals(p.ArmB), reals(p.Frame), reals(p.Friction), reals(p.Target),
		reals(p.Warm), reals(p.Impulse), reals(p.Solved), reals(p.Primal), reals(p.Dual), reals(p.Complementarity),
		(*C.int32_t)(&p.Sweeps[0]), s.aligned))
}

// Newton solves a world that has contacts by Newton's method from the impulses of p, and writes those of the least
// residual. It returns the number of steps.
func Newton(variant string, p *Problem, world int, o *Options, s *Scratch) (steps int) {
	n, b, c := int(p.Count[world]), world*p.Bodies, world*p.Contacts
	s.reserve(int(C.lanes_newton_scratch(C.int32_t(p.Bodies), C.int32_t(n))))
	s.set(p, 1, o)
	target := p.Target
	if len(target) > 0 {
		target = target[c:]
	}
	return int(C.call_newton(find(variant).newton, &s.options, C.int32_t(n), reals(p.Mass[b:]), reals(p.Inertia[6*b:]),
		reals(p.Velocity[6*b:]), (*C.int32_t)(&p.BodyA[c]), (*C.int32_t)(&p.BodyB[c]), reals(p.ArmA[3*c:]),
		reals(p.ArmB[3*c:]), reals(p.Frame[9*c:]), reals(p.Friction[c:]), reals(target), reals(p.Impulse[3*c:]),
		s.aligned))
}

// Manifold finds the contact points of the rows in list, and returns those that it declines, in the same memory. It
// allocates nothing.
func Manifold(variant string, t *Shapes, r *Rows, list []int32, out *Points) (declined []int32) {
	if len(list) == 0 {
		return nil
	}
	left := C.call_manifold(find(variant).manifold, (*C.lanes_shape)(unsafe.Pointer(&t.shape[0])), reals(t.reals), ints(t.ints),
		reals(t.rim), ints(r.ShapeA), ints(r.ShapeB), reals(r.PositionA), reals(r.PositionB), reals(r.RotationA),
		reals(r.RotationB), reals(r.Normal), reals(r.Distance), (*C.float)(&r.Gap[0]), reals(r.WitnessA),
		reals(r.WitnessB), reals(r.MaxGap), ints(list), C.int32_t(len(list)), ints(out.Count), reals(out.Lower),
		reals(out.Position), reals(out.Gap), (*C.uint64_t)(&out.ID[0]))
	return list[:left]
}

// Prepare finds the state of the bodies of the worlds in list before the solve, and returns the worlds that it leaves, in
// the same memory: those with a state that is invalid or has a quaternion that is not of unit length. It allocates
// nothing.
func Prepare(variant string, s *Scene, c *Columns, list []int32) (left []int32) {
	if len(list) == 0 {
		return nil
	}
	n := C.call_prepare(find(variant).prepare, (*C.lanes_scene)(unsafe.Pointer(s)), (*C.lanes_fixed)(unsafe.Pointer(&c.Fixed[0])), ints(list),
		C.int32_t(len(list)), reals(c.Pose), reals(c.Velocity), reals(c.Momentum), reals(c.Force), (*C.lanes_body)(c.State),
		reals(c.Inertia), reals(c.Free))
	return list[:n]
}

// Move audits the solves of the worlds in list and finds the state of their bodies after the step. It allocates nothing.
func Move(variant string, s *Scene, c *Columns, list []int32) {
	if len(list) == 0 {
		return
	}
	C.call_move(find(variant).move, (*C.lanes_scene)(unsafe.Pointer(s)), (*C.lanes_fixed)(unsafe.Pointer(&c.Fixed[0])), ints(list), C.int32_t(len(list)),
		reals(c.Pose), reals(c.Momentum), reals(c.Inertia), reals(c.Free), reals(c.Solved), ints(c.Count), ints(c.BodyA),
		ints(c.BodyB), reals(c.ArmA), reals(c.ArmB), reals(c.Frame), reals(c.Friction), reals(c.Target),
		reals(c.Impulse), (*C.lanes_body)(c.State), (*C.uint8_t)(&c.Sides[0]), reals(c.WorldImpulse), reals(c.Energy), reals(c.Allowed),
		reals(c.Change))
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

func ints(x []int32) *C.int32_t { return (*C.int32_t)(unsafe.SliceData(x)) }

// reals is NULL for a column that is absent.
func reals(x []float64) *C.double { return (*C.double)(unsafe.SliceData(x)) }
