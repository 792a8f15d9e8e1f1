//go:build cgo

package derive

/*
#cgo CFLAGS: -g1 -O2 -std=c11 -Wall
#include <string.h>

#include "include/api.h"

// copy_worlds copies rows [lo, hi) of the answers from the worlds of a call, which share one list of pairs of bodies,
// to its first rows.
static void copy_worlds(const derive_call *c, int64_t lo, int64_t hi) {
    const derive_worlds *w = &c->worlds;
    int64_t row = c->first_of_worlds + lo, world = row / w->pairs, pair = row % w->pairs;
    for (int64_t i = 0; i < hi - lo; i++) {
        int32_t a = w->template_a[pair], b = w->template_b[pair];
        const double *pose_a = w->poses + 7 * (world * w->bodies + a), *pose_b = w->poses + 7 * (world * w->bodies + b);
        c->shape_a[i] = w->shapes[a], c->shape_b[i] = w->shapes[b];
        memcpy(c->position_a + 3 * i, pose_a, 3 * sizeof *pose_a);
        memcpy(c->position_b + 3 * i, pose_b, 3 * sizeof *pose_b);
        memcpy(c->rotation_a + 4 * i, pose_a + 3, 4 * sizeof *pose_a);
        memcpy(c->rotation_b + 4 * i, pose_b + 3, 4 * sizeof *pose_b);
        if (++pair == w->pairs) pair = 0, world++;
    }
}

static int32_t call_kernel(const void *unit, int values, const derive_call *c, int64_t lo, int64_t hi, int32_t *left) {
    const derive_unit *u = unit;
    if (c->worlds.poses) copy_worlds(c, lo, hi);
    return values ? u->values(c, lo, hi, left) : u->all(c, lo, hi, left);
}

static void call_displace(const void *unit, const derive_samples *e, int64_t lo, int64_t hi) {
    ((const derive_unit *)unit)->displace(e, lo, hi);
}
static void call_add(const void *unit, const derive_samples *e, int64_t lo, int64_t hi) {
    ((const derive_unit *)unit)->add(e, lo, hi);
}
*/
import "C"

import (
	"math"
	"runtime"
	"sync"
	"unsafe"

	"clearance/batch"
	"clearance/kernels"
)

// variant is one way in which the kernels are compiled.
type variant struct {
	name string
	unit unsafe.Pointer // a derive_unit
}

// variants are those of this machine, best first.
var variants = sync.OnceValue(func() (v []variant) {
	for _, name := range kernels.Supported() {
		if unit := kernels.EntryOf(kernels.Derivatives, name); unit != nil {
			v = append(v, variant{name, unit})
		}
	}
	return v
})

// Variants returns the names of the variants that this machine can run, best first.
func Variants() (names []string) {
	for _, v := range variants() {
		names = append(names, v.name)
	}
	return names
}

// variantOf returns the variant of a name that [Choose] returned, nil for [kernels.Off].
func variantOf(name string) *variant {
	for i := range variants() {
		if v := &variants()[i]; v.name == name {
			return v
		}
	}
	return nil
}

// Solver runs the kernel on blocks of a call. The memory of the call is pinned until Close.
type Solver struct {
	c      *C.derive_call
	of     *variant
	values C.int // not 0: the derivatives of values as reported
	pinner runtime.Pinner
	left   [Block]int32

	input batch.Input  // rows that are copied block by block, nil if C reads them
	pairs *batch.Pairs // of a block, nil if the kernel reads the columns of pairs
	first int

	ofBlock bool
}

// NewSolver returns a solver of a call, which [Call.Serves] must have accepted.
func NewSolver(shapes *kernels.Shapes, call *Call) *Solver {
	if C.DERIVE_BLOCK != Block || C.DERIVE_ALIGN != align {
		panic("derive: blocks of other lengths")
	}
	s := &Solver{c: new(C.derive_call), of: variantOf(call.Variant), first: call.First, ofBlock: call.OfBlock}
	if call.Reported {
		s.values = 1
	}
	c, answers := s.c, call.Answers
	records, count := shapes.Records()
	if count > 0 {
		s.pinner.Pin(records)
		c.shapes, c.shape_count = (*C.clr_shape)(records), C.int64_t(count)
	}
	x, y, z := shapes.Vertices()
	c.vertices = [3]*C.double{pin[C.double](s, x), pin[C.double](s, y), pin[C.double](s, z)}
	c.centers = pin[C.double](s, shapes.Centers())
	if call.Derivative.Mode == batch.GumbelDerivative && call.Derivative.Rings > 0 {
		starts, at := shapes.Neighbors()
		c.neighbor_starts, c.neighbors = pin[C.int32_t](s, starts), pin[C.int32_t](s, at)
	}
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
		panic("derive: more rows than a block")
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
	kernels.Enter(kernels.Derivatives, s.of.name)
	n := C.call_kernel(s.of.unit, s.values, s.c, C.int64_t(lo), C.int64_t(hi), (*C.int32_t)(&s.left[0]))
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

// Displace makes the noise of rows [lo, hi) and the poses of B of their pairs. It returns false if there is no kernel.
// variant is one that [Choose] returned.
func (s *Samples) Displace(variant string, lo, hi int) bool {
	v := variantOf(variant)
	if v == nil {
		return false
	}
	kernels.Enter(kernels.Derivatives, v.name)
	s.call(func(c *C.derive_samples) { C.call_displace(v.unit, c, C.int64_t(lo), C.int64_t(hi)) })
	return true
}

// Add adds the differences of the answers of rows [lo, hi) from those of the rows to the sums, times the numbers in
// Noise. It returns false if there is no kernel.
func (s *Samples) Add(variant string, lo, hi int) bool {
	v := variantOf(variant)
	if v == nil {
		return false
	}
	kernels.Enter(kernels.Derivatives, v.name)
	s.call(func(c *C.derive_samples) { C.call_add(v.unit, c, C.int64_t(lo), C.int64_t(hi)) })
	return true
}

func (s *Samples) call(f func(*C.derive_samples)) {
	var p runtime.Pinner
	defer p.Unpin()
	pinned := func(v []float64) *C.double {
		data := unsafe.SliceData(v)
		p.Pin(data)
		return (*C.double)(unsafe.Pointer(data))
	}
	number := unsafe.SliceData(s.Number)
	p.Pin(number)
	c := C.derive_samples{
		first_sample: C.int64_t(s.First), samples: C.int64_t(s.Count),
		seed: C.uint64_t(s.Seed), epsilon: C.double(s.Epsilon),
		number: (*C.uint64_t)(unsafe.Pointer(number)), size: pinned(s.Size),
		position: pinned(s.Position), rotation: pinned(s.Rotation), noise: pinned(s.Noise),
		to_position: pinned(s.Pairs.PositionB), to_rotation: pinned(s.Pairs.RotationB),
		value: pinned(s.Answers.Distance().F64), normal: pinned(s.Answers.Normal().F64),
		witness_a: pinned(s.Answers.WitnessA().F64), witness_b: pinned(s.Answers.WitnessB().F64),
		at: pinned(s.At), sums: pinned(s.Sums),
	}
	f(&c)
}
