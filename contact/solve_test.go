package contact_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	native "clearance/kernels/contact"
	"clearance/ref"
)

// TestScenes solves every kind of scene under both models to 1e-6, and the CCP proves a bound.
func TestScenes(t *testing.T) {
	for _, kind := range scenes.Kinds() {
		p, err := scenes.Generate(kind, 200, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		for _, m := range []contact.Model{contact.NCP, contact.CCP} {
			t.Run(fmt.Sprint(kind, "/", m), func(t *testing.T) {
				var s contact.Solution
				o := contact.Options{Model: m, Bound: m == contact.CCP}
				if err := contact.Solve(t.Context(), p, o, &s); err != nil {
					t.Fatal(err)
				}
				undecided, sweeps, steps := 0, 0, 0
				for w, status := range s.Status {
					if status != contact.Solved {
						undecided++
					}
					sweeps, steps = sweeps+int(s.Sweeps[w]), steps+int(s.Steps[w])
				}
				t.Logf("%d undecided, %.1f sweeps, %.1f steps", undecided, float64(sweeps)/200, float64(steps)/200)
				if undecided > 0 {
					t.Errorf("%d worlds are undecided", undecided)
				}
			})
		}
	}
}

// dense is the problem of one world for package ref.
func dense(t testing.TB, w scenes.World) *ref.Contacts {
	t.Helper()
	var bodies []ref.ContactBody
	for _, b := range w.Bodies {
		v, o := b.Velocity, b.Omega
		bodies = append(bodies, ref.ContactBody{Mass: b.Mass, Inertia: b.Inertia,
			Velocity: [6]float64{v.X, v.Y, v.Z, o.X, o.Y, o.Z}})
	}
	var points []ref.ContactPoint
	for _, c := range w.Contacts {
		points = append(points, ref.ContactPoint(c))
	}
	p, err := ref.NewContacts(bodies, points)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func worldsOf(t testing.TB, kind string, n int, seed uint64) []scenes.World {
	t.Helper()
	list, err := scenes.Worlds(kind, n, seed)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// difference is the largest difference of two velocities.
func difference(a [][6]float64, b []float64) (most float64) {
	for i := range a {
		for k, x := range a[i] {
			most = max(most, math.Abs(x-b[6*i+k]))
		}
	}
	return most
}

// TestCCPSolversAgree solves the CCP by PGS, ADMM and Newton of ref and by Solve: the velocity is unique. Its error
// goes with the root of the residual, so that all go on to what float64 resolves of the speeds, or as far as they get.
// PGS is left out of stacks and of unequal masses, which it does not end in 20,000 sweeps.
func TestCCPSolversAgree(t *testing.T) {
	for _, kind := range []string{"random", "stick", "slide", "spin", "tip", "stack4", "heavy"} {
		t.Run(kind, func(t *testing.T) {
			worlds := worldsOf(t, kind, 4, 11)
			var s contact.Solution
			o := contact.Options{Model: contact.CCP, Tolerance: 1e-16, Bound: true}
			p := scenes.Pack(worlds)
			if err := contact.Solve(t.Context(), p, o, &s); err != nil {
				t.Fatal(err)
			}
			for w := range worlds {
				d := dense(t, worlds[w])
				for _, solver := range ref.ContactSolvers() {
					slow := kind == "heavy" || kind == "stack4"
					if solver.Model != ref.ContactCCP || slow && solver.Name == "ccp-pgs" {
						continue
					}
					most := 10000
					if solver.Name == "ccp-newton" {
						most = 300
					}
					r := solver.Solve(d, ref.ContactOptions{Tolerance: 1e-15, Limit: most})
					e := difference(d.Velocities(r.Impulse), s.Velocity[6*w*p.Bodies:])
					t.Logf("world %d %s: difference %.1e, residual %.1e, %d iterations, bound %.1e", w, solver.Name, e,
						r.Residual.Relative(), r.Iterations, s.Bound[w])
					limit := 1e-9
					if kind == "stack4" { // float64 resolves a velocity of hyperstatic stacks to the root of 1e-16
						limit = 1e-6
					}
					if !(e <= limit) {
						t.Errorf("world %d: %s differs by %g m/s", w, solver.Name, e)
					}
				}
			}
		})
	}
}

// TestNCPSolversAgree compares the solvers of the NCP where its velocity is unique.
func TestNCPSolversAgree(t *testing.T) {
	for _, kind := range []string{"stick", "slide", "random"} {
		t.Run(kind, func(t *testing.T) {
			worlds := worldsOf(t, kind, 4, 5)
			var s contact.Solution
			p := scenes.Pack(worlds)
			if err := contact.Solve(t.Context(), p, contact.Options{Tolerance: 1e-14}, &s); err != nil {
				t.Fatal(err)
			}
			for w := range worlds {
				d := dense(t, worlds[w])
				for _, solver := range ref.ContactSolvers() {
					if solver.Model != ref.ContactNCP {
						continue
					}
					r := solver.Solve(d, ref.ContactOptions{Tolerance: 1e-13})
					e := difference(d.Velocities(r.Impulse), s.Velocity[6*w*p.Bodies:])
					t.Logf("world %d %s: difference %.1e, residual %.1e, %d iterations", w, solver.Name, e,
						r.Residual.Relative(), r.Iterations)
					if !r.Decided {
						t.Errorf("world %d: %s is undecided", w, solver.Name)
					}
					if !(e <= 1e-9) {
						t.Errorf("world %d: %s differs by %g m/s", w, solver.Name, e)
					}
				}
			}
		})
	}
}

// TestResidualOfRef: package ref has the residual and the speed scale of a solution, at solutions and at impulses that
// are none, under both models and several tolerances.
func TestResidualOfRef(t *testing.T) {
	law := map[contact.Model]ref.ContactModel{contact.NCP: ref.ContactNCP, contact.CCP: ref.ContactCCP}
	for _, kind := range scenes.Kinds() {
		worlds := worldsOf(t, kind, 3, 9)
		p := scenes.Pack(worlds)
		for model, of := range law {
			for _, o := range []contact.Options{{}, {Tolerance: 1e-12}, {Sweeps: 1, Steps: -1},
				{Sweeps: -1, Steps: -1}} {
				o.Model = model
				var s contact.Solution
				if err := contact.Solve(t.Context(), p, o, &s); err != nil {
					t.Fatal(err)
				}
				for w := range worlds {
					tolerance := o.Tolerance
					if tolerance == 0 {
						tolerance = 1e-6
					}
					e := dense(t, worlds[w]).Residual(of, s.Impulse[3*w*p.Contacts:][:3*p.Count[w]], tolerance)
					speed := 0.0
					for _, v := range p.Velocity[6*w*p.Bodies:][:6*p.Bodies] {
						speed = max(speed, math.Abs(v))
					}
					name := fmt.Sprintf("%s %v, world %d, tolerance %g", kind, model, w, tolerance)
					if !(math.Abs(e.Relative()-s.Relative(w))*s.Scale[w] <= 1e-12*speed+1e-9*s.Residual[w]) {
						t.Errorf("%s: residual %g m/s, ref has %g", name, s.Residual[w], e.Natural)
					}
					// Which contact has the largest ratio is rounding where all residuals are.
					if s.Residual[w] > 1e-9*speed && !(math.Abs(e.Scale-s.Scale[w]) <= 1e-9*s.Scale[w]) {
						t.Errorf("%s: scale %g m/s, ref has %g", name, s.Scale[w], e.Scale)
					}
					if solved := s.Status[w] == contact.Solved; solved != (s.Relative(w) <= tolerance) {
						t.Errorf("%s: %v at %g", name, s.Status[w], s.Relative(w))
					}
				}
			}
		}
	}
}

// TestSolversOfRef runs every solver on scenes that it is known to solve.
func TestSolversOfRef(t *testing.T) {
	unsolved := map[string]int{}
	for _, solver := range ref.ContactSolvers() {
		counts := ""
		for _, kind := range scenes.Kinds() {
			if kind == "stack8" {
				continue
			}
			decided := 0
			worlds := worldsOf(t, kind, 1, 2)
			for w := range worlds {
				r := solver.Solve(dense(t, worlds[w]), ref.ContactOptions{Tolerance: 1e-6, Limit: 200})
				if r.Decided {
					decided++
				}
			}
			counts += fmt.Sprintf(" %s %d", kind, decided)
			if decided < len(worlds) {
				unsolved[solver.Name]++
			}
		}
		t.Log(solver.Name, counts)
	}
	for _, name := range []string{"ccp-newton", "ncp-newton"} {
		if unsolved[name] > 0 {
			t.Errorf("%s: worlds of %d kinds are undecided", name, unsolved[name])
		}
	}
}

// chain is a world of n bodies on top of each other, each of which rests on the one below.
func chain(n int) *contact.Problem {
	p := &contact.Problem{Worlds: 1}
	p.Resize(1, n, n)
	p.Count[0] = int32(n)
	for b := range n {
		p.Mass[b] = 1
		copy(p.Inertia[6*b:], []float64{1, 1, 1, 0, 0, 0})
		p.Velocity[6*b+2] = -0.01
		p.BodyA[b], p.BodyB[b], p.Friction[b] = int32(b-1), int32(b), 0.5
		p.ArmA[3*b+2], p.ArmB[3*b+2] = 0.5, -0.5
		copy(p.Frame[9*b:], []float64{1, 0, 0, 0, 1, 0, 0, 0, 1})
	}
	return p
}

// TestChainMemory: a chain of 5,000 contacts takes memory for the blocks of its matrix that are not zero: some 25,000
// of the 25 million, besides six bytes for each place of the pattern in either solver.
func TestChainMemory(t *testing.T) {
	const n = 5000
	for _, variant := range append(native.Supported(), contact.Off) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var got contact.Solution
		if err := contact.Solve(t.Context(), chain(n), contact.Options{Sweeps: -1, Steps: 2, SIMD: variant},
			&got); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if got.Steps[0] == 0 {
			t.Errorf("%s: no step of Newton's method", variant)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 500<<20 {
			t.Errorf("%s: %d MB for a chain of %d contacts", variant, used>>20, n)
		} else {
			t.Logf("%s: %d MB", variant, used>>20)
		}
	}
}

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
	for _, variant := range native.Supported() {
		var s contact.Solution
		o.SIMD, o.Sweeps, o.Steps = variant, 20, 20
		if err := contact.Solve(t.Context(), p, o, &s); err != nil { // which makes the columns
			t.Fatal(err)
		}
		q := &native.Problem{Bodies: p.Bodies, Contacts: p.Contacts, Mass: p.Mass, Inertia: p.Inertia,
			Velocity: p.Velocity, Count: p.Count, BodyA: p.BodyA, BodyB: p.BodyB, ArmA: p.ArmA, ArmB: p.ArmB,
			Frame: p.Frame, Friction: p.Friction, Target: p.Target, Impulse: s.Impulse, Solved: s.Velocity,
			Residual: s.Residual, Scale: s.Scale, Primal: s.Primal, Dual: s.Dual, Complementarity: s.Complementarity,
			Sweeps: s.Sweeps}
		options := &native.Options{Tolerance: 1e-300, Sweeps: 20, Steps: 20, Relaxation: 1.3}
		for _, stopped := range []int32{0, 1} {
			var stop atomic.Int32
			stop.Store(stopped)
			clear(q.Impulse)
			var scratch native.Scratch
			native.Sweep(variant, q, []int32{0}, options, &scratch, &stop)
			swept := slices.ContainsFunc(q.Impulse, func(x float64) bool { return x != 0 })
			steps, ok := native.Newton(variant, q, 0, options, &scratch, &stop, func(float64) error { return nil })
			if !ok || (steps == 0) != (stopped != 0) || swept != (stopped == 0) {
				t.Errorf("%s, stopped %d: %d steps, impulses %t, %t", variant, stopped, steps, swept, ok)
			}
		}
	}
}

// TestSpeedsBeyondFormat: problems whose speeds at contacts are beyond the numbers of the format end, undecided or
// invalid, with every kernel. The passes over the islands of bodies went on for ever where one of them is NaN.
func TestSpeedsBeyondFormat(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	wild := []float64{1e308, -1e308, 1e200, -1e200, 1e154, 5e-324, 1, -1, 0}
	for range 300 {
		p := chain(4)
		for _, column := range [][]float64{p.Velocity, p.ArmA, p.ArmB, p.Mass, p.Friction} {
			for i := range column {
				if rng.IntN(3) == 0 {
					column[i] = wild[rng.IntN(len(wild))]
				}
			}
		}
		for _, variant := range append(native.Supported(), contact.Off) {
			for _, sweeps := range []int{-1, 20} {
				var got contact.Solution
				o := contact.Options{Sweeps: sweeps, Steps: 10, SIMD: variant}
				if err := contact.Solve(t.Context(), p, o, &got); err != nil {
					t.Fatal(err)
				}
				if got.Status[0] == contact.Solved && !(got.Residual[0] <= math.MaxFloat64) {
					t.Errorf("%s: solved with a residual of %g", variant, got.Residual[0])
				}
			}
		}
	}
}
