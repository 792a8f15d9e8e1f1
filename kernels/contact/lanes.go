//go:build cgo

package contact

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wno-psabi
#cgo LDFLAGS: -lm
#include "api.h"

static uint32_t call_sweep(lanes_sweep_function sweep, const lanes_options *o, const int32_t *world,
                           const double *mass, const double *inertia, const double *velocity, const int32_t *count,
                           const int32_t *body_a, const int32_t *body_b, const double *arm_a, const double *arm_b,
                           const double *frame, const double *friction, const double *target, const double *warm,
                           double *impulse, double *solved_velocity, double *residual, double *scale, double *primal,
                           double *dual, double *complementarity, int32_t *sweeps, const int32_t *stop, void *scratch) {
    return sweep(o, world, mass, inertia, velocity, count, body_a, body_b, arm_a, arm_b, frame, friction, target, warm,
                 impulse, solved_velocity, residual, scale, primal, dual, complementarity, sweeps, stop, scratch);
}

static int32_t call_newton(lanes_newton_function newton, const lanes_options *o, int32_t count, const double *mass,
                           const double *inertia, const double *velocity, const int32_t *body_a,
                           const int32_t *body_b, const double *arm_a, const double *arm_b, const double *frame,
                           const double *friction, const double *target, double *impulse, int64_t blocks,
                           const int32_t *stop, void *scratch) {
    return newton(o, count, mass, inertia, velocity, body_a, body_b, arm_a, arm_b, frame, friction, target, impulse,
                  blocks, stop, scratch);
}
*/
import "C"

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

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
var portable = variant{Portable, true, C.lanes_sweep_function(C.lanes_sweep_portable),
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
func SweepBytes(bodies, contacts int) float64 {
	return float64(reserved(int(C.lanes_sweep_scratch(C.int32_t(bodies), C.int64_t(contacts)))))
}

func (s *Scratch) set(p *Problem, worlds int, o *Options) {
	s.options = C.lanes_options{bodies: C.int32_t(p.Bodies), contacts: C.int32_t(p.Contacts),
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
// worlds, is set in solved. The variant is one of [Supported]. Where stop, which may be nil, is set meanwhile, it ends
// soon, with the sweeps that it has made.
func Sweep(variant string, p *Problem, worlds []int32, o *Options, s *Scratch, stop *atomic.Int32) (solved uint32) {
	total := 0
	for _, w := range worlds {
		total += int(p.Count[w])
	}
	s.reserve(int(C.lanes_sweep_scratch(C.int32_t(p.Bodies), C.int64_t(total))))
	s.set(p, len(worlds), o)
	return uint32(C.call_sweep(find(variant).sweep, &s.options, (*C.int32_t)(&worlds[0]), reals(p.Mass),
		reals(p.Inertia), reals(p.Velocity), (*C.int32_t)(&p.Count[0]), (*C.int32_t)(&p.BodyA[0]),
		(*C.int32_t)(&p.BodyB[0]), reals(p.ArmA), reals(p.ArmB), reals(p.Frame), reals(p.Friction), reals(p.Target),
		reals(p.Warm), reals(p.Impulse), reals(p.Solved), reals(p.Residual), reals(p.Scale), reals(p.Primal),
		reals(p.Dual), reals(p.Complementarity),
		(*C.int32_t)(&p.Sweeps[0]), flag(stop), s.aligned))
}

// Newton solves a world that has contacts by Newton's method from the impulses of p, and writes those of the least
// residual. It returns the number of steps, and false if there is no memory for the matrix, of which check is asked:
// then it has made none. It ends by stop as [Sweep] does.
func Newton(variant string, p *Problem, world int, o *Options, s *Scratch, stop *atomic.Int32,
	check func(bytes float64) error) (steps int, ok bool) {
	n, b, c := int(p.Count[world]), world*p.Bodies, world*p.Contacts
	s.set(p, 1, o)
	target := p.Target
	if len(target) > 0 {
		target = target[c:]
	}
	// What the elimination fills is known after the bodies are numbered: the second call, if there is one, has room.
	blocks := C.lanes_newton_blocks(C.int32_t(p.Bodies), C.int32_t(n))
	for {
		bytes := C.lanes_newton_scratch(C.int32_t(p.Bodies), C.int32_t(n), blocks)
		if bytes < 0 || int(bytes)+alignment > len(s.memory) && check(float64(reserved(int(bytes)))) != nil {
			return 0, false
		}
		s.reserve(int(bytes))
		made := C.call_newton(find(variant).newton, &s.options, C.int32_t(n), reals(p.Mass[b:]),
			reals(p.Inertia[6*b:]), reals(p.Velocity[6*b:]), (*C.int32_t)(&p.BodyA[c]), (*C.int32_t)(&p.BodyB[c]),
			reals(p.ArmA[3*c:]), reals(p.ArmB[3*c:]), reals(p.Frame[9*c:]), reals(p.Friction[c:]), reals(target),
			reals(p.Impulse[3*c:]), blocks, flag(stop), s.aligned)
		if made >= 0 {
			return int(made), true
		}
		blocks = C.int64_t(-made)
	}
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
