//go:build cgo

package lanes

/*
#cgo CFLAGS: -g1 -O3 -std=gnu11 -Wall -Wno-psabi
#cgo !amd64 LDFLAGS: -lm
#include "lanes.h"

static int32_t ln_call_kernel(ln_kernel kernel, const ln_call *c, int64_t lo, int64_t hi, int32_t *left) {
    if (c->worlds.poses) ln_copy_worlds(c, lo, hi);
    return kernel(c, lo, hi, left);
}
*/
import "C"

import (
	"math"
	"runtime"
	"slices"
	"unsafe"

	"clearance/batch"
	"clearance/kernels"
)

// variant is one way in which the kernels are compiled.
type variant struct {
	name           string
	kernel, values C.ln_kernel // of all derivatives, of reported ones of values
	displace, add  C.ln_sampler
}

// portable is the variant of every processor.
var portable = variant{"portable", C.ln_kernel(C.ln_run_portable), C.ln_kernel(C.ln_values_portable),
	C.ln_sampler(C.ln_displace_portable), C.ln_sampler(C.ln_add_portable)}

// chosen is the variant that calls use which name none, nil for no kernel.
var chosen = func() *variant {
	have := make([]string, len(variants))
	for i := range variants {
		have[i] = variants[i].name
	}
	if i := slices.Index(have, kernels.Best(environment, have)); i >= 0 {
		return &variants[i]
	}
	return nil
}()

// Variants returns the names of the variants that this machine can run, best first; none if the kernel is turned off.
func Variants() (names []string) {
	if chosen == nil {
		return nil
	}
	for i := range variants {
		names = append(names, variants[i].name)
	}
	return names
}

// variantOf returns the variant of a name, the chosen one for "", nil for another one or none.
func variantOf(name string) *variant {
	if name == "" || chosen == nil {
		return chosen
	}
	i := slices.Index(Variants(), name)
	if i < 0 {
		return nil
	}
	return &variants[i]
}

// Solver runs the kernel on blocks of a call. The memory of the call is pinned until Close.
type Solver struct {
	c      *C.ln_call
	kernel C.ln_kernel
	pinner runtime.Pinner
	left   [Block]int32

	input batch.Input  // rows that are copied block by block, nil if C reads them
	pairs *batch.Pairs // of a block, nil if the kernel reads the columns of pairs
	first int

	ofBlock bool
}

// NewSolver returns a solver of a call, which [Call.Serves] must have accepted.
func NewSolver(t *Table, call *Call) *Solver {
	if C.LN_BLOCK != Block {
		panic("lanes: blocks of other lengths")
	}
	v := variantOf(call.Variant)
	s := &Solver{c: new(C.ln_call), kernel: v.kernel, first: call.First, ofBlock: call.OfBlock}
	if call.Reported {
		s.kernel = v.values
	}
	c, answers := s.c, call.Answers
	c.shapes, c.shape_count = pin[C.ln_shape](s, t.shapes), C.int64_t(len(t.shapes))
	for k, v := range t.vertices {
		c.vertices[k] = pin[C.double](s, v)
	}
	c.neighbor_starts, c.neighbors = pin[C.int32_t](s, t.neighborStarts), pin[C.int32_t](s, t.neighbors)
	s.rows(call)
	c.valid, c.growth = flag(call.Valid), flag(call.Job.Options.Query == batch.Growth)

	c.value, c.normal = s.column(answers.Distance()), s.column(answers.Normal())
	c.witness_a, c.witness_b = s.column(answers.WitnessA()), s.column(answers.WitnessB())
	c.gap = pin[C.float](s, answers.Gap())
	c.status, c.marks = pin[C.uint8_t](s, answers.Status()), pin[C.uint8_t](s, answers.Marks)
	c.single = flag(answers.Distance().F32 != nil)
	c.cut_off = C.double(math.Inf(1))
	if cutOff, has := call.Job.Options.EffectiveCutOff(); has {
		c.cut_off = C.double(cutOff)
	}
	epsilon, samples := call.Derivative.Noise()
	c.mode, c.epsilon, c.samples = C.int32_t(call.Derivative.Mode), C.double(epsilon), C.int32_t(samples)
	c.rings = C.int32_t(min(call.Derivative.Rings, math.MaxInt32))
	if call.stop != nil {
		s.pinner.Pin(call.stop)
		c.stop = (*C.int32_t)(unsafe.Pointer(call.stop))
	}
	c.seed, c.first_number = C.uint64_t(call.Derivative.Seed), C.uint64_t(call.FirstNumber)
	s.outputs(call)
	return s
}

// rows sets where the kernel finds the rows of a call: in the columns of pairs, those of the input if it is a list,
// else those of a block.
func (s *Solver) rows(call *Call) {
	c := s.c
	pairs, ok := call.Job.Input.(*batch.Pairs)
	c.first = C.int64_t(call.First)
	if !ok {
		pairs = batch.NewPairs(Block)
		s.pairs = pairs
		if w, ok := call.Job.Input.(*batch.Worlds); ok && w.Len() > 0 && w.CheckShape() == nil {
			c.worlds.shapes, c.worlds.poses = pin[C.int32_t](s, w.Shapes), pin[C.double](s, w.Poses)
			c.worlds.template_a = pin[C.int32_t](s, w.TemplateA)
			c.worlds.template_b = pin[C.int32_t](s, w.TemplateB)
			c.worlds.bodies, c.worlds.pairs = C.int64_t(w.BodiesPerWorld()), C.int64_t(len(w.TemplateA))
			c.first_of_worlds = C.int64_t(call.First)
		} else {
			s.input = call.Job.Input
		}
	}
	c.shape_a, c.shape_b = pin[C.int32_t](s, pairs.ShapeA), pin[C.int32_t](s, pairs.ShapeB)
	c.position_a, c.position_b = pin[C.double](s, pairs.PositionA), pin[C.double](s, pairs.PositionB)
	c.rotation_a, c.rotation_b = pin[C.double](s, pairs.RotationA), pin[C.double](s, pairs.RotationB)
}

// outputs sets the columns and products of a call.
func (s *Solver) outputs(call *Call) {
	c := s.c
	if out := call.Out; out != nil {
		for column, to := range map[batch.Columns]*unsafe.Pointer{batch.ColDDistance: &c.d_value,
			batch.ColDNormal: &c.d_normal, batch.ColDWitnessA: &c.d_witness_a, batch.ColDWitnessB: &c.d_witness_b,
			batch.ColCurvature: &c.curvature} {
			if out.Columns&column != 0 {
				*to = s.column(out.Column(column))
				c.single_out = flag(out.Column(column).F32 != nil)
			}
		}
		c.smoothness = pin[C.uint8_t](s, out.Column(batch.ColSmoothness).U8)
	}
	c.cotangents, c.gradients = pin[C.double](s, call.Cotangents), pin[C.double](s, call.Gradients)
	c.twists, c.tangents = pin[C.double](s, call.Twists), pin[C.double](s, call.Tangents)
}

// Run answers rows [lo, hi) of the answers, at most [Block], and returns those that it declines, whose
// derivatives hold anything. The slice is valid until the next Run.
func (s *Solver) Run(lo, hi int) []int32 {
	if hi-lo > Block {
		panic("lanes: more rows than a block")
	}
	if s.input != nil {
		var row batch.Row
		for i := lo; i < hi; i++ {
			s.input.Row(s.first+i, &row)
			s.pairs.SetRow(i-lo, &row)
		}
	}
	if s.pairs != nil {
		s.c.first = C.int64_t(-lo)
	}
	if s.ofBlock {
		s.c.gradient_first = C.int64_t(lo)
	}
	n := C.ln_call_kernel(s.kernel, s.c, C.int64_t(lo), C.int64_t(hi), (*C.int32_t)(&s.left[0]))
	return s.left[:n]
}

// Close unpins the memory.
func (s *Solver) Close() { s.pinner.Unpin() }

// pin returns a pointer to a column, pinned, or nil if there is none. E is the C type of a T.
func pin[E, T any](s *Solver, column []T) *E {
	if len(column) == 0 {
		return nil
	}
	data := unsafe.SliceData(column)
	s.pinner.Pin(data)
	return (*E)(unsafe.Pointer(data))
}

func (s *Solver) column(v *batch.Values) unsafe.Pointer {
	data := v.Data()
	if data != nil {
		s.pinner.Pin(data)
	}
	return data
}

func flag(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}
