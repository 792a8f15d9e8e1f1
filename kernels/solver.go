//go:build cgo

package kernels

/*
#cgo CFLAGS: -std=c11
#include "shape/api.h"

static int clr_call_kernel(clr_kernel kernel, const clr_call *c, clr_scratch *s, int64_t lo, int64_t hi) {
    return kernel(c, s, lo, hi);
}
*/
import "C"

import (
	"runtime"
	"unsafe"

	"clearance/batch"
	_ "clearance/kernels/shape" // api.h
)

// Solver runs the kernels of one variant. It owns scratch memory of two megabytes, most of which few calls use.
type Solver struct {
	variant string
	kernels [kernelCount]unsafe.Pointer
	scratch *[C.CLR_SCRATCHES]C.clr_scratch // in Go memory; it holds no pointers
}

// NewSolver returns a solver of a variant that [Choose] returned.
func NewSolver(variant string) *Solver {
	return &Solver{variant: variant, kernels: compiled[variant].kernels, scratch: new([C.CLR_SCRATCHES]C.clr_scratch)}
}

// Stats returns what the solver did so far.
func (s *Solver) Stats() Stats {
	c := &s.scratch[0]
	return Stats{int64(c.rows32), int64(c.steps32), int64(c.lanes32), int64(c.rows64), int64(c.steps64),
		int64(c.lanes64), int64(c.rows_shared), int64(c.rows_rtr), int64(c.done_rtr), int64(c.steps_rtr)}
}

// Call is one call of a back end: the columns of a job and of its results, pinned. It may be used again after Close.
type Call struct {
	c      *C.clr_call // an object of its own: cgo checks all that it is part of
	kernel Kernel
	pins   [pinners]runtime.Pinner
	pinned int
}

// A runtime.Pinner has room for five pointers before it allocates.
const (
	pinsEach = 5
	pinners  = 8 // for the columns below, 36 at most
)

// NewCall prepares rows of a job from first on. Their answers go to out from row 0
// on. ok is false if the kernels do not support the job. The memory of the job,
// of the table and of out stays pinned until Close.
func NewCall(t *Table, job *batch.Job, first int, out *batch.Results) (call *Call, ok bool) {
	call = new(Call)
	if !call.Prepare(For(&job.Options), t, job, first, out) {
		return nil, false
	}
	return call, true
}

// Prepare is NewCall by an entry of the table, nil for none, in the memory of a call that is new or closed.
func (call *Call) Prepare(k *Entry, t *Table, job *batch.Job, first int, out *batch.Results) (ok bool) {
	if len(t.records) == 0 || k == nil {
		return false
	}
	call.kernel = k.name
	if call.c == nil {
		call.c = new(C.clr_call)
	}
	*call.c = C.clr_call{}
	c, p := call.c, call
	switch in := job.Input.(type) {
	case *batch.Pairs:
		c.shape_a, c.shape_b = pin[C.int32_t](p, in.ShapeA), pin[C.int32_t](p, in.ShapeB)
		c.position_a, c.position_b = pin[C.double](p, in.PositionA), pin[C.double](p, in.PositionB)
		c.rotation_a, c.rotation_b = pin[C.double](p, in.RotationA), pin[C.double](p, in.RotationB)
	case *batch.Worlds:
		c.poses, c.body_shape = pin[C.double](p, in.Poses), pin[C.int32_t](p, in.Shapes)
		c.template_a, c.template_b = pin[C.int32_t](p, in.TemplateA), pin[C.int32_t](p, in.TemplateB)
		c.bodies, c.templates = C.int64_t(len(in.Shapes)), C.int64_t(len(in.TemplateA))
	default:
		return false
	}
	c.shapes, c.shape_count = pin[C.clr_shape](p, t.records), C.int64_t(len(t.records))
	c.shapes32 = pin[C.clr_shape32](p, t.shapes32)
	c.alike = flag(t.alike)
	c.scanned = C.int32_t(t.scanned)
	c.vx, c.vy, c.vz = pin[C.double](p, t.vx), pin[C.double](p, t.vy), pin[C.double](p, t.vz)
	c.fx, c.fy, c.fz = pin[C.float](p, t.fx), pin[C.float](p, t.fy), pin[C.float](p, t.fz)
	c.corners, c.cell_values = pin[C.double](p, t.corners), pin[C.float](p, t.cellValues)
	c.lists, c.starts = pin[C.float](p, t.lists), pin[C.int32_t](p, t.starts)
	c.points, c.candidates = pin[C.float](p, t.points), pin[C.int32_t](p, t.candidates)
	c.warm = pin[C.double](p, job.Options.WarmStart)
	c.centers = pin[C.double](p, t.centers)
	call.options(&job.Options)

	c.first = C.int64_t(first)
	for m := out.Columns &^ batch.ColBits; m != 0; m &= m - 1 {
		v := out.Column(m & -m)
		if data := v.Data(); data != nil {
			call.pin(data)
			c.columns[(m & -m).Index()] = data
		}
	}
	// Deciding a row in float32 changes no status, so it may depend on the columns.
	others := out.Columns&^(batch.ColStatus|batch.ColMethod|batch.ColBits) != 0
	boolean := job.Options.Query.Info().Boolean() && job.Options.Method != batch.RTR
	if c.growth != 0 {
		c.boolean = flag(job.Options.StatusAlone())
		return true
	}
	c.boolean = flag(boolean && out.Status() != nil && c.warm == nil && !others && c.max_steps == 0)
	return true
}

// options translates the options, which all rows share.
func (c *Call) options(o *batch.Options) {
	tolerance, curved := o.SolverTolerances()
	c.c.curved_depth = C.double(curved)
	query := o.Query.Info()
	cutOff, has := o.EffectiveCutOff()
	c.c.tolerance, c.c.cut_off = C.double(tolerance), C.double(cutOff)
	c.c.growth = flag(o.Query == batch.Growth)
	c.c.collide, c.c.has_cut_off = flag(query.Boolean()), flag(has)
	c.c.penetration = flag(query.CutOff == batch.CutOffAtTouch)
	c.c.single = flag(o.Precision == batch.Single)
	if o.MaxIterations <= freeSteps {
		c.c.max_steps = C.int32_t(o.MaxIterations)
	}
	c.c.rtr = flag(o.Method == batch.RTR || o.Method == batch.Auto && !query.Boolean())
	// A call that names a method gets it. Formulas of distances are none of growth.
	c.c.automatic = flag(o.Method == batch.Auto && query.SignedDistance)
}

func flag(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

// pin returns a pointer to a column, pinned, or nil if there is none. E is the C
// type of a T.
func pin[E, T any](c *Call, column []T) *E {
	if len(column) == 0 {
		return nil
	}
	data := unsafe.Pointer(unsafe.SliceData(column))
	c.pin(data)
	return (*E)(data)
}

func (c *Call) pin(data unsafe.Pointer) {
	c.pins[c.pinned/pinsEach].Pin(data)
	c.pinned++
}

// Close unpins the memory.
func (c *Call) Close() {
	for i := range c.pins {
		c.pins[i].Unpin()
	}
	c.pinned = 0
	*c.c = C.clr_call{} // which would keep the memory
}

// Run answers rows [lo, hi) of the input, at most [BlockRows], and returns the rows,
// relative to lo, that it declined. The slice is valid until the next Run.
func (s *Solver) Run(c *Call, lo, hi int) []int32 {
	if hi-lo > BlockRows {
		panic("kernels: more rows than a block")
	}
	Enter(c.kernel, s.variant)
	n := C.clr_call_kernel(C.clr_kernel(s.kernels[c.kernel]), c.c, &s.scratch[0], C.int64_t(lo), C.int64_t(hi))
	return unsafe.Slice((*int32)(unsafe.Pointer(&s.scratch[0].left[0])), n)
}
