package contact_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"clearance/contact"
	"clearance/contact/lanes"
	"clearance/contact/scenes"
)

// looked is a context that ends with the look at it of a number.
type looked struct {
	context.Context
	left int
	done chan struct{}
}

func (c *looked) Err() error {
	if c.left--; c.left == 0 {
		close(c.done)
	}
	if c.left <= 0 {
		return context.Canceled
	}
	return nil
}

func (c *looked) Done() <-chan struct{} { return c.done }

// hardWorld is a world whose solve takes many steps of Newton's method.
func hardWorld(t *testing.T) (*contact.Problem, contact.Options, int32) {
	t.Helper()
	p := scenes.Pack(worldsOf(t, "stack8", 1, 5))
	p.Compliance = nil
	o := contact.Options{Tolerance: 1e-300, Workers: 1, SIMD: contact.Off} // which no world reaches
	var s contact.Solution
	if err := contact.Solve(t.Context(), p, o, &s); err != nil {
		t.Fatal(err)
	}
	return p, o, s.Steps[0]
}

// TestSolveEnds: the solve of a single world ends with the context, wherever it looks at it, and nothing of it stays:
// the next solve has the bits of a new one.
func TestSolveEnds(t *testing.T) {
	p, o, steps := hardWorld(t)
	if steps < 10 {
		t.Fatalf("%d steps", steps)
	}
	var solver contact.Solver
	var want, got contact.Solution
	if err := contact.Solve(t.Context(), p, o, &want); err != nil {
		t.Fatal(err)
	}
	for _, looks := range []int{1, 2, 3, 5, 8, 20} {
		ctx := &looked{t.Context(), looks, make(chan struct{})}
		if err := solver.Solve(ctx, p, o, &got); !errors.Is(err, context.Canceled) {
			t.Fatalf("%d looks: error %v", looks, err)
		}
		if got.Steps[0] >= steps {
			t.Errorf("%d looks: %d steps of %d", looks, got.Steps[0], steps)
		}
		if err := solver.Solve(t.Context(), p, o, &got); err != nil || !slices.Equal(got.Impulse, want.Impulse) {
			t.Errorf("after %d looks: other impulses, %v", looks, err)
		}
	}
}

// TestKernelsEnd: the kernels make no sweep and no step when they are stopped.
func TestKernelsEnd(t *testing.T) {
	p, o, _ := hardWorld(t)
	for _, variant := range lanes.Supported() {
		var s contact.Solution
		o.SIMD, o.Sweeps, o.Steps = variant, 20, 20
		if err := contact.Solve(t.Context(), p, o, &s); err != nil { // which makes the columns
			t.Fatal(err)
		}
		q := &lanes.Problem{Bodies: p.Bodies, Contacts: p.Contacts, Mass: p.Mass, Inertia: p.Inertia,
			Velocity: p.Velocity, Count: p.Count, BodyA: p.BodyA, BodyB: p.BodyB, ArmA: p.ArmA, ArmB: p.ArmB,
			Frame: p.Frame, Friction: p.Friction, Target: p.Target, Impulse: s.Impulse, Solved: s.Velocity,
			Residual: s.Residual, Scale: s.Scale, Primal: s.Primal, Dual: s.Dual, Complementarity: s.Complementarity,
			Sweeps: s.Sweeps}
		options := &lanes.Options{Tolerance: 1e-300, Sweeps: 20, Steps: 20, Relaxation: 1.3}
		for _, stopped := range []int32{0, 1} {
			var stop atomic.Int32
			stop.Store(stopped)
			clear(q.Impulse)
			var scratch lanes.Scratch
			lanes.Sweep(variant, q, []int32{0}, options, &scratch, &stop)
			swept := slices.ContainsFunc(q.Impulse, func(x float64) bool { return x != 0 })
			steps, ok := lanes.Newton(variant, q, 0, options, &scratch, &stop, func(float64) error { return nil })
			if !ok || (steps == 0) != (stopped != 0) || swept != (stopped == 0) {
				t.Errorf("%s, stopped %d: %d steps, impulses %t, %t", variant, stopped, steps, swept, ok)
			}
		}
	}
}
