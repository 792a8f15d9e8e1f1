//go:build cgo

package contact

/*
#cgo CFLAGS: -std=c11 -Wall
#include "include/api.h"

// Columns come by value, since what lies in memory of Go has no pointers into it.
static uint32_t call_sweep(const contact_kernels *k, const contact_options *o, contact_columns c, const int32_t *world,
                           const int32_t *stop, void *scratch) {
    return k->sweep(o, &c, world, stop, scratch);
}
static int64_t call_sweep_scratch(const contact_kernels *k, int32_t bodies, int64_t contacts) {
    return k->sweep_scratch(bodies, contacts);
}
static int32_t call_newton(const contact_kernels *k, const contact_options *o, contact_columns c, int32_t world,
                           int64_t blocks, const int32_t *stop, void *scratch) {
    return k->newton(o, &c, world, blocks, stop, scratch);
}
static int64_t call_newton_scratch(const contact_kernels *k, int32_t bodies, int32_t contacts, int64_t blocks) {
    return k->newton_scratch(bodies, contacts, blocks);
}
static int64_t call_newton_blocks(const contact_kernels *k, int32_t bodies, int32_t contacts) {
    return k->newton_blocks(bodies, contacts);
}
static int32_t call_manifold(const contact_kernels *k, contact_shapes shapes, contact_rows rows, int32_t *list,
                             int32_t n, contact_points out, int64_t candidates, void *scratch) {
    return k->manifold(&shapes, &rows, list, n, &out, candidates, scratch);
}
static int64_t call_manifold_scratch(const contact_kernels *k, int64_t corners, int64_t candidates) {
    return k->manifold_scratch(corners, candidates);
}
static int32_t call_prepare(const contact_kernels *k, const contact_scene *scene, contact_state state,
                            contact_columns c, int32_t *list, int32_t n) {
    return k->prepare(scene, &state, &c, list, n);
}
static void call_move(const contact_kernels *k, const contact_scene *scene, contact_state state, contact_columns c,
                      const int32_t *list, int32_t n) {
    k->move(scene, &state, &c, list, n);
}
static void call_assemble(const contact_kernels *k, const contact_rules *rules, contact_state state,
                          contact_assembly from, contact_columns out, const int32_t *list, int32_t n) {
    k->assemble(rules, &state, &from, &out, list, n);
}
*/
import "C"

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"clearance/kernels"
)

// Supported returns the variants that this machine can run, best first.
func Supported() (names []string) {
	for _, name := range kernels.Supported() {
		if kernels.EntryOf(kernels.Contacts, name) != nil {
			names = append(names, name)
		}
	}
	return names
}

// within is the kernels of a variant for n things in lanes of float32, or of float64: those of AVX2 in place of AVX-512
// where these have lanes enough. They have the same bits, and lanes without a world take time too.
func within(name string, n int, float64s bool) *C.contact_kernels {
	if name == "avx512" && kernels.EntryOf(kernels.Contacts, "avx2") != nil {
		if lanes := Width("avx2"); n <= lanes && !float64s || n <= lanes/2 {
			name = "avx2"
		}
	}
	return enter(name)
}

// enter is find for a call.
func enter(name string) *C.contact_kernels {
	kernels.Enter(kernels.Contacts, name)
	return find(name)
}

func find(name string) *C.contact_kernels {
	k := kernels.EntryOf(kernels.Contacts, name)
	if k == nil {
		panic("contact: no variant " + name)
	}
	return (*C.contact_kernels)(k)
}

// Width is the number of worlds of a group of a variant: its lanes of float32.
func Width(variant string) int { return int(find(variant).worlds) }

// Scratch is the memory of a call. The zero value is ready.
type Scratch struct {
	memory     []byte
	aligned    unsafe.Pointer
	options    C.contact_options
	candidates int // of a row of [Manifold]
}

// alignment is that of vectors, in bytes.
const alignment = 64

// frequent is the size up to which memory grows by powers of two, so that groups of more and more contacts seldom ask
// for more.
const frequent = 1 << 24

// reserved is the memory for n bytes.
func reserved(n int) int {
	if n += alignment; n > frequent {
		return n
	}
	return 1 << bits.Len(uint(n-1))
}

// reserve makes room for n bytes.
func (s *Scratch) reserve(n int) {
	if len(s.memory) >= n+alignment {
		return
	}
	s.memory = make([]byte, reserved(n))
	p := unsafe.Pointer(&s.memory[0])
	s.aligned = unsafe.Add(p, -uintptr(p)&(alignment-1))
}

// SweepBytes is the memory of a call of [Sweep] for so many bodies, and contacts of all of its worlds.
func SweepBytes(variant string, bodies, contacts int) float64 {
	return float64(reserved(int(C.call_sweep_scratch(find(variant), C.int32_t(bodies), C.int64_t(contacts)))))
}

func (s *Scratch) set(p *Problem, worlds int, o *Options) {
	s.options = C.contact_options{bodies: C.int32_t(p.Bodies), contacts: C.int32_t(p.Contacts),
		worlds: C.int32_t(worlds), sweeps: C.int32_t(o.Sweeps), steps: C.int32_t(o.Steps),
		tolerance: C.double(o.Tolerance), relaxation: C.double(o.Relaxation),
		resolved: C.double(o.Resolved)}
	if o.Convex {
		s.options.convex = 1
	}
	if o.Refine {
		s.options.refine = 1
	}
}

func (p *Problem) columns() C.contact_columns {
	return C.contact_columns{mass: reals(p.Mass), inertia: reals(p.Inertia), velocity: reals(p.Velocity),
		count: ints(p.Count), body_a: ints(p.BodyA), body_b: ints(p.BodyB), arm_a: reals(p.ArmA), arm_b: reals(p.ArmB),
		frame: reals(p.Frame), friction: reals(p.Friction), target: reals(p.Target),
		compliance: reals(p.Compliance), warm: reals(p.Warm), impulse: reals(p.Impulse), solved: reals(p.Solved),
		residual: reals(p.Residual), scale: reals(p.Scale), primal: reals(p.Primal), dual: reals(p.Dual),
		complementarity: reals(p.Complementarity), sweeps: ints(p.Sweeps)}
}

// Sweep solves a group of worlds, 1 to [Width] indices, by sweeps from the warm start. It writes the impulses of the
// least residual of each, which lie in their cones, the velocities and residuals of these impulses, and the number of
// sweeps: a world takes no more when its residual is within the tolerance. The bit of such a world, by its place in
// worlds, is set in solved. The variant is one of [Supported]. Where stop, which may be nil, is set meanwhile, it ends
// soon, with the sweeps that it has made.
func Sweep(variant string, p *Problem, worlds []int32, o *Options, s *Scratch, stop *atomic.Int32) (solved uint32) {
	total, k := 0, within(variant, len(worlds), false)
	for _, w := range worlds {
		total += int(p.Count[w])
	}
	s.reserve(int(C.call_sweep_scratch(k, C.int32_t(p.Bodies), C.int64_t(total))))
	s.set(p, len(worlds), o)
	return uint32(C.call_sweep(k, &s.options, p.columns(), ints(worlds), flag(stop), s.aligned))
}

// Newton solves a world that has contacts by Newton's method from the impulses of p, and writes those of the least
// residual. It returns the number of steps, and false if there is no memory for the matrix, of which check is asked:
// then it has made none. It ends by stop as [Sweep] does.
func Newton(variant string, p *Problem, world int, o *Options, s *Scratch, stop *atomic.Int32,
	check func(bytes float64) error) (steps int, ok bool) {
	bodies, contacts, k := C.int32_t(p.Bodies), C.int32_t(p.Count[world]), enter(variant)
	s.set(p, 1, o)
	// What the elimination fills is known after the bodies are numbered: the second call, if there is one, has room.
	blocks := C.call_newton_blocks(k, bodies, contacts)
	for {
		bytes := C.call_newton_scratch(k, bodies, contacts, blocks)
		if bytes < 0 || int(bytes)+alignment > len(s.memory) && check(float64(reserved(int(bytes)))) != nil {
			return 0, false
		}
		s.reserve(int(bytes))
		made := C.call_newton(k, &s.options, p.columns(), C.int32_t(world), blocks, flag(stop), s.aligned)
		if made >= 0 {
			return int(made), true
		}
		blocks = C.int64_t(-made)
	}
}

// Serves reports whether the kernel finds contact points of a shape: all but smooth ones of more points than the table
// of all kernels has room for, whose pairs package ref answers.
func (t *Shapes) Serves(shape int) bool {
	records, n := t.records.Records()
	r := unsafe.Slice((*C.clr_shape)(records), n)[shape]
	return r.class != C.CLR_NO_CLASS || r.form == C.CLR_HALF
}

// fewCandidates is how many candidates of a row there is room for at first: as many as of two boxes, twice.
const fewCandidates = 32

// Manifold finds the contact points of the rows in list, whose order it changes. It allocates nothing but memory of the
// scratch, which grows with the largest polytope and the most candidates of a row.
func Manifold(variant string, t *Shapes, r *Rows, list []int32, out *Points, s *Scratch) {
	if len(list) == 0 {
		return
	}
	records, _ := t.records.Records()
	x, y, z := t.records.Vertices()
	shapes := C.contact_shapes{shape: (*C.clr_shape)(records), vertices: [3]*C.double{reals(x), reals(y), reals(z)},
		features: (*C.contact_features)(unsafe.Pointer(&t.features[0])), reals: reals(t.reals), ints: ints(t.ints),
		rim: reals(t.rim), corners: C.int64_t(t.corners)}
	rows := C.contact_rows{shape_a: ints(r.ShapeA), shape_b: ints(r.ShapeB), position_a: reals(r.PositionA),
		position_b: reals(r.PositionB), rotation_a: reals(r.RotationA), rotation_b: reals(r.RotationB),
		normal: reals(r.Normal), distance: reals(r.Distance), gap: (*C.float)(&r.Gap[0]),
		witness_a: reals(r.WitnessA), witness_b: reals(r.WitnessB), max_gap: reals(r.MaxGap)}
	k := within(variant, 1, true) // corners are few
	for s.candidates = max(s.candidates, fewCandidates); ; s.candidates *= 2 {
		candidates := C.int64_t(s.candidates)
		s.reserve(int(C.call_manifold_scratch(k, C.int64_t(t.corners), candidates)))
		left := C.call_manifold(k, shapes, rows, ints(list), C.int32_t(len(list)), out.columns(), candidates, s.aligned)
		if left == 0 {
			return
		}
		list = list[:left]
	}
}

func (p *Points) columns() C.contact_points {
	return C.contact_points{count: ints(p.Count), lower: reals(p.Lower), position: reals(p.Position), gap: reals(p.Gap),
		id: (*C.uint64_t)(unsafe.SliceData(p.ID))}
}

func (c *Columns) state() C.contact_state {
	return C.contact_state{fixed: (*C.contact_fixed)(unsafe.Pointer(&c.Fixed[0])), pose: reals(c.Pose),
		velocities: reals(c.Velocity), momenta: reals(c.Momentum), force: reals(c.Force),
		bodies: (*C.contact_body)(c.State), sides: (*C.uint8_t)(unsafe.SliceData(c.Sides)),
		world_impulse: reals(c.WorldImpulse), energy: reals(c.Energy), allowed: reals(c.Allowed),
		change: reals(c.Change)}
}

// problem is the columns of the problem of a step and its solution. warm is where the impulses to start from are put.
func (c *Columns) problem(warm []float64) C.contact_columns {
	return C.contact_columns{inertia: reals(c.Inertia), velocity: reals(c.Free), count: ints(c.Count),
		body_a: ints(c.BodyA), body_b: ints(c.BodyB), arm_a: reals(c.ArmA), arm_b: reals(c.ArmB), frame: reals(c.Frame),
		friction: reals(c.Friction), target: reals(c.Target), compliance: reals(c.Compliance), warm: reals(warm),
		impulse: reals(c.Impulse), solved: reals(c.Solved), complementarity: reals(c.Complementarity)}
}

// Prepare finds the state of the bodies of the worlds in list before the solve, and returns the worlds that it leaves,
// in the same memory: those with a state that is invalid or has a quaternion that is not of unit length. It allocates
// nothing.
func Prepare(variant string, s *Scene, c *Columns, list []int32) (left []int32) {
	if len(list) == 0 {
		return nil
	}
	n := C.call_prepare(within(variant, len(list), true), (*C.contact_scene)(unsafe.Pointer(s)), c.state(),
		c.problem(nil), ints(list), C.int32_t(len(list)))
	return list[:n]
}

// Move audits the solves of the worlds in list and finds the state of their bodies after the step. It allocates
// nothing.
func Move(variant string, s *Scene, c *Columns, list []int32) {
	if len(list) == 0 {
		return
	}
	C.call_move(within(variant, len(list), true), (*C.contact_scene)(unsafe.Pointer(s)), c.state(), c.problem(nil),
		ints(list), C.int32_t(len(list)))
}

// Assemble makes the contacts of the worlds in list from the points of their rows. It allocates nothing.
func Assemble(variant string, r *Rules, c *Columns, a *Assembly, list []int32) {
	if len(list) == 0 || len(a.Points.Count) == 0 {
		return
	}
	from := C.contact_assembly{pairs: (*C.contact_pair)(unsafe.Pointer(&a.Pairs[0])), first: ints(a.First),
		rows: (*C.contact_row)(a.Rows), points: a.Points.columns(), normal: reals(a.Normal), old_n: ints(a.Old),
		ids: (*C.contact_id)(a.IDs), positions: reals(a.Position)}
	C.call_assemble(enter(variant), (*C.contact_rules)(unsafe.Pointer(r)), c.state(), from, c.problem(a.Warm),
		ints(list), C.int32_t(len(list)))
}

// flag is where the kernels look. An atomic int32 is one in memory.
func flag(stop *atomic.Int32) *C.int32_t { return (*C.int32_t)(unsafe.Pointer(stop)) }

func ints(x []int32) *C.int32_t { return (*C.int32_t)(unsafe.SliceData(x)) }

// reals is NULL for a column that is absent. The data of a slice without elements need not be nil.
func reals(x []float64) *C.double {
	if len(x) == 0 {
		return nil
	}
	return (*C.double)(unsafe.SliceData(x))
}
