package adjoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/internal/modes"
	"clearance/internal/fault"
)

// Mode is what a contact does at a solution.
type Mode = modes.Mode

// Modes of a contact. Without friction a contact that is not open slides, whatever its velocity.
const (
	Open  = modes.Open  // without impulse
	Stick = modes.Stick // c = 0, inside of the cone
	Slide = modes.Slide // on the boundary of the cone, against the slip
)

// Modes are the names of the modes.
var Modes = modes.Names

// Smoothness says what the derivative of a world is worth.
type Smoothness uint8

const (
	// Smooth: the modes last in a neighborhood of the problem, and the derivative is that of the solution.
	Smooth Smoothness = iota
	// Boundary: a contact is about to change its mode. The derivative is that of the present modes, which the solution
	// has on one side.
	Boundary
	// OneOfMany: contacts that slide share their load in more than one way, and the derivative depends on the way. It
	// is given for the impulses of the solution as if the contacts had a normal compliance of 1e-3 of the trace of
	// their block of G. A compliance R_N > 0 of the problem makes the solution unique.
	OneOfMany
	// None: the world is undecided or invalid, or its equations have no solution in float64. Gradients are zero.
	None
)

// Smoothnesses are the names of the smoothnesses.
var Smoothnesses = batch.Names[Smoothness]{What: "smoothness", List: []string{Smooth: "smooth", Boundary: "boundary",
	OneOfMany: "one_of_many", None: "none"}}

func (s Smoothness) String() string { return Smoothnesses.Name(s) }

// Parameters are numbers by all that a problem is made from: gradients, or tangents. The columns are those of
// [contact.Problem].
type Parameters struct {
	Velocity   []float64 // [W,B,6] by v_f
	Mass       []float64 // [W,B]; zero for bodies that impulses do not move
	Inertia    []float64 // [W,B,6] by xx, yy, zz, xy, xz, yz; a product of inertia stands in both halves of the matrix
	ArmA, ArmB []float64 // [W,C,3]
	Frame      []float64 // [W,C,3,3] by each number of the frame, as if they were independent
	Target     []float64 // [W,C]
	Friction   []float64 // [W,C]; of a contact without friction from above
	Compliance []float64 // [W,C,2]
}

// columns are the columns with their lengths for a problem.
func (x *Parameters) columns(p *contact.Problem) [9]struct {
	name   string
	column *[]float64
	n      int
} {
	wb, wc := p.Worlds*p.Bodies, p.Worlds*p.Contacts
	return [9]struct {
		name   string
		column *[]float64
		n      int
	}{{"velocity", &x.Velocity, 6 * wb}, {"mass", &x.Mass, wb}, {"inertia", &x.Inertia, 6 * wb},
		{"arm_a", &x.ArmA, 3 * wc}, {"arm_b", &x.ArmB, 3 * wc}, {"frame", &x.Frame, 9 * wc}, {"target", &x.Target, wc},
		{"friction", &x.Friction, wc}, {"compliance", &x.Compliance, 2 * wc}}
}

// Report says of each world what its derivative is worth.
type Report struct {
	Smoothness []Smoothness // [W]
	// Margin [W] is how far the solution is from the nearest change of mode, relative; +Inf without contacts, zero
	// for None. It is the least, over the contacts, of
	//
	//	open   c_N − μ‖c_T‖ for the CCP, c_N for the NCP
	//	stick  h·λ_N and h·(μλ_N − ‖λ_T‖)
	//	slide  h·λ_N and, with friction, ‖c_T‖
	//
	// divided by the largest ‖Jv_f − c*‖ of a contact of the island. h is the trace of the block of G of the contact.
	Margin []float64
	// Nearest [W] is the contact with this margin, -1 without contacts.
	Nearest []int32
	// Residual [W] is the relative residual of the linear system, in the norm of M⁻¹. It is about the rounding unit
	// where the system is regular.
	Residual []float64
	Mode     []Mode // [W,C]; Open from Count on
}

func (r *Report) resize(p *contact.Problem) {
	resize(&r.Smoothness, p.Worlds)
	resize(&r.Margin, p.Worlds)
	resize(&r.Nearest, p.Worlds)
	resize(&r.Residual, p.Worlds)
	resize(&r.Mode, p.Worlds*p.Contacts)
}

// Gradient is the product of a cotangent with the derivative of the solution.
type Gradient struct {
	Parameters
	// Normal [W,C,3] is the gradient by n, where the whole frame rotates with n by the least angle. It is orthogonal to
	// n. It follows from Frame, and is to be added to nothing.
	Normal []float64
	Report
}

// Resize makes every column large enough for a problem, keeping memory that suffices. The contents are unspecified
// afterwards. VJP calls it.
func (g *Gradient) Resize(p *contact.Problem) {
	for _, c := range g.columns(p) {
		resize(c.column, c.n)
	}
	resize(&g.Normal, 3*p.Worlds*p.Contacts)
	g.resize(p)
}

// Tangent is the product of the derivative of the solution with a tangent of the parameters.
type Tangent struct {
	Velocity []float64 // [W,B,6]
	Impulse  []float64 // [W,C,3]
	Report
}

// Resize is like that of [Gradient].
func (t *Tangent) Resize(p *contact.Problem) {
	resize(&t.Velocity, 6*p.Worlds*p.Bodies)
	resize(&t.Impulse, 3*p.Worlds*p.Contacts)
	t.resize(p)
}

func resize[T any](s *[]T, n int) {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	*s = (*s)[:n]
}

// Problems is the memory of derivatives of contact problems. It is used by one call at a time.
type Problems struct {
	workers []*problemWorld
}

// VJP sets out to the products of cotangents with the derivative of the solution s of the problem p under a model:
// velocityBar [W,B,6] is the gradient of a function by the velocities, impulseBar [W,C,3] by the impulses in the frames
// of the contacts, nil for zero; out is then its gradient by all parameters. Only the impulses, the statuses and the
// residuals of s are read. workers bounds the goroutines; 0 is GOMAXPROCS. Bits do not depend on it. The call does not
// allocate where the memory of earlier calls suffices and there is one worker.
//
// Where contacts that stick are redundant, the derivative of the velocity exists by velocities, masses, inertias and
// friction, and by the other parameters along changes for which all contacts can still stick. Their impulses change by
// the least norm; the derivative by one contact's numbers alone is that of this choice.
func (m *Problems) VJP(ctx context.Context, p *contact.Problem, s *contact.Solution, model contact.Model,
	velocityBar, impulseBar []float64, workers int, out *Gradient) error {
	if err := checkSolution(p, s, model); err != nil {
		return err
	}
	if err := checkColumn("cotangents of velocities", velocityBar, 6*p.Worlds*p.Bodies, false); err != nil {
		return err
	}
	if err := checkColumn("cotangents of impulses", impulseBar, 3*p.Worlds*p.Contacts, true); err != nil {
		return err
	}
	out.Resize(p)
	if workers = m.take(p, workers); workers == 1 {
		for w := 0; w < p.Worlds && ctx.Err() == nil; w++ {
			m.workers[0].vjp(p, w, s, model, velocityBar, impulseBar, out)
		}
		return m.ended(ctx.Err())
	}
	err := m.inParallel(ctx, p.Worlds, workers, func(x *problemWorld, w int) {
		x.vjp(p, w, s, model, velocityBar, impulseBar, out)
	})
	return m.ended(err)
}

// JVP sets out to the products of the derivative with tangents of the parameters, of which nil columns are zero. It is
// the transpose of VJP.
func (m *Problems) JVP(ctx context.Context, p *contact.Problem, s *contact.Solution, model contact.Model, d *Parameters,
	workers int, out *Tangent) error {
	if err := checkSolution(p, s, model); err != nil {
		return err
	}
	for _, c := range d.columns(p) {
		if err := checkColumn("tangents of "+c.name, *c.column, c.n, true); err != nil {
			return err
		}
	}
	out.Resize(p)
	if workers = m.take(p, workers); workers == 1 {
		for w := 0; w < p.Worlds && ctx.Err() == nil; w++ {
			m.workers[0].jvp(p, w, s, model, d, out)
		}
		return m.ended(ctx.Err())
	}
	err := m.inParallel(ctx, p.Worlds, workers, func(x *problemWorld, w int) {
		x.jvp(p, w, s, model, d, out)
	})
	return m.ended(err)
}

// take has memory for the workers of a call, and returns their number.
func (m *Problems) take(p *contact.Problem, workers int) int {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = max(1, min(workers, (p.Worlds+problemChunk-1)/problemChunk))
	for len(m.workers) < workers {
		m.workers = append(m.workers, new(problemWorld))
	}
	for _, x := range m.workers {
		x.failed = nil
	}
	return workers
}

// ended is the error of a call: the one given, or that of a worker without memory.
func (m *Problems) ended(err error) error {
	for _, x := range m.workers {
		if err == nil && x.failed != nil {
			err = fmt.Errorf("adjoint: %w", x.failed)
		}
	}
	return err
}

// problemChunk is the number of worlds that a worker takes at a time.
const problemChunk = 16

func (m *Problems) inParallel(ctx context.Context, n, workers int, do func(x *problemWorld, w int)) error {
	return fault.Blocks(ctx, workers, n, problemChunk, func(worker int, chunks iter.Seq2[int, int]) {
		for lo, hi := range chunks {
			for w := lo; w < hi; w++ {
				do(m.workers[worker], w)
			}
		}
	})
}

func checkSolution(p *contact.Problem, s *contact.Solution, model contact.Model) error {
	if err := p.CheckShape(); err != nil {
		return err
	}
	if model != contact.NCP && model != contact.CCP {
		return fmt.Errorf("adjoint: unknown model %d", model)
	}
	if len(s.Impulse) != 3*p.Worlds*p.Contacts || len(s.Status) != p.Worlds || len(s.Residual) != p.Worlds {
		return errors.New("adjoint: the solution is not that of the problem: its columns have other lengths")
	}
	return nil
}

func checkColumn(name string, column []float64, n int, optional bool) error {
	if len(column) == n || optional && len(column) == 0 {
		return nil
	}
	return fmt.Errorf("adjoint: %s: %d values in place of %d", name, len(column), n)
}
