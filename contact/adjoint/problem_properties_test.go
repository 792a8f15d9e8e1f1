package adjoint_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/contact/scenes"
	"clearance/internal/memory"
)

// gradients is VJP by one worker.
func gradients(t testing.TB, p *contact.Problem, s *contact.Solution, model contact.Model,
	bar []float64) *adjoint.Gradient {
	t.Helper()
	var m adjoint.Problems
	var g adjoint.Gradient
	if err := m.VJP(t.Context(), p, s, model, bar, nil, 1, &g); err != nil {
		t.Fatal(err)
	}
	return &g
}

// TestProblemMargin moves problems along lines until a mode changes, which bisection finds: there the margin is zero,
// on both sides, and the nearest contact is the one that changes.
func TestProblemMargin(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 48))
	worst, changes, jumps := 0.0, 0, 0
	for trial := range 200 {
		model := contact.Model(trial % 2)
		p, q := randomProblems(rng, 1), randomProblems(rng, 1)
		p.Compliance = nil
		for k, mu := range p.Friction {
			if mu == 0 {
				p.Friction[k] = 0.4
			}
		}
		end := normals(rng, len(p.Velocity))
		var last *contact.Solution
		at := func(x float64) (*adjoint.Gradient, bool) {
			*q = *p
			q.Velocity = make([]float64, len(p.Velocity))
			for i, v := range p.Velocity {
				q.Velocity[i] = v + x*end[i]
			}
			s := solved(t, q, model)
			last = s
			return gradients(t, q, s, model, q.Velocity), s.Status[0] == contact.Solved
		}
		a, solvedA := at(0)
		b, solvedB := at(1)
		if !solvedA || !solvedB || slices.Equal(a.Mode, b.Mode) {
			continue
		}
		lo, hi := 0.0, 1.0
		for range 50 {
			mid := (lo + hi) / 2
			g, ok := at(mid)
			if !ok {
				hi = math.NaN()
				break
			}
			if slices.Equal(g.Mode, a.Mode) {
				lo = mid
			} else {
				hi, b = mid, g
			}
		}
		if math.IsNaN(hi) {
			continue
		}
		at(hi)
		after := last.Velocity
		before, _ := at(lo)
		if relativeError(after, last.Velocity) > 1e-6 {
			jumps++ // of the NCP, from one solution to another
			continue
		}
		changes++
		worst = max(worst, before.Margin[0], b.Margin[0])
		if before.Smoothness[0] != adjoint.Boundary || b.Smoothness[0] != adjoint.Boundary {
			t.Errorf("trial %d: %s, margins %g and %g where the modes change:%s to%s", trial, before.Smoothness[0],
				before.Margin[0], b.Margin[0], modesOf(&before.Report, p, 0), modesOf(&b.Report, p, 0))
		}
		if i := before.Nearest[0]; before.Mode[i] == b.Mode[i] {
			t.Errorf("trial %d: contact %d is nearest, but does not change: %v, %v", trial, i, before.Mode, b.Mode)
		}
	}
	t.Logf("%d changes of modes, largest margin %.1e; %d jumps", changes, worst, jumps)
	if changes < 50 || jumps > changes/20 || !(worst <= 1e-6) {
		t.Errorf("%d changes, largest margin %g", changes, worst)
	}
}

// TestProblemScaling: powers of two of masses, lengths and times scale gradients bit for bit.
func TestProblemScaling(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 48))
	p := randomProblems(rng, 60)
	bar := normals(rng, len(p.Velocity))
	for _, model := range []contact.Model{contact.NCP, contact.CCP} {
		s := solved(t, p, model)
		want := gradients(t, p, s, model, bar)
		for _, e := range [][3]int{{7, 0, 0}, {0, -9, 0}, {0, 0, 12}, {-20, 10, -5}} {
			mass, length, time := math.Ldexp(1, e[0]), math.Ldexp(1, e[1]), math.Ldexp(1, e[2])
			speed := length / time
			scaled := func(x []float64, factors ...float64) []float64 {
				out := make([]float64, len(x))
				for i, v := range x {
					out[i] = v * factors[i%len(factors)]
				}
				return out
			}
			of := func(x float64) []float64 { return []float64{x, x, x, 1 / time, 1 / time, 1 / time} }
			q := *p
			q.Mass, q.Inertia = scaled(p.Mass, mass), scaled(p.Inertia, mass*length*length)
			q.Velocity, q.Target = scaled(p.Velocity, of(speed)...), scaled(p.Target, speed)
			q.ArmA, q.ArmB = scaled(p.ArmA, length), scaled(p.ArmB, length)
			q.Compliance = scaled(p.Compliance, 1/mass)
			barred := []float64{1 / speed, 1 / speed, 1 / speed, time, time, time}
			got := gradients(t, &q, solved(t, &q, model), model, scaled(bar, barred...))
			for i, factors := range [][]float64{barred, {1 / mass}, {1 / (mass * length * length)}, {1 / length},
				{1 / length}, {1}, {1 / speed}, {1}, {mass}} {
				x := scaled(*columnsOf(&want.Parameters)[i], factors...)
				if !slices.Equal(x, *columnsOf(&got.Parameters)[i]) {
					t.Errorf("%s: 2^%v: column %d does not scale bit for bit", model, e, i)
				}
			}
			if !slices.Equal(got.Margin, want.Margin) || !slices.Equal(got.Residual, want.Residual) {
				t.Errorf("%s: 2^%v: margins or residuals differ", model, e)
			}
		}
	}
}

// near reports whether numbers agree to what the condition of the random problems leaves of float64, relative to the
// largest of them or to one.
func near(t *testing.T, name string, got, want []float64) {
	t.Helper()
	if e := relativeError(got, want); !(e <= 1e-9) {
		t.Errorf("%s: the gradients differ by %.1e", name, e)
	}
}

// TestProblemSymmetries: gradients follow a rotation of the world, an exchange of both bodies of all contacts, and
// another order of contacts.
func TestProblemSymmetries(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 48))
	p := randomProblems(rng, 40)
	bar := normals(rng, len(p.Velocity))
	turn := r3.NewRotation(1.1, r3.Unit(r3.Vec{X: 1, Y: -2, Z: 0.5}))
	turned := func(x []float64) []float64 {
		out := make([]float64, len(x))
		for i := range len(x) / 3 {
			v := turn.Rotate(vecAt(x, i))
			out[3*i], out[3*i+1], out[3*i+2] = v.X, v.Y, v.Z
		}
		return out
	}
	for _, model := range []contact.Model{contact.NCP, contact.CCP} {
		s := solved(t, p, model)
		want := gradients(t, p, s, model, bar)
		t.Run("rotation", func(t *testing.T) {
			q := *p
			q.Velocity, q.ArmA, q.ArmB, q.Frame = turned(p.Velocity), turned(p.ArmA), turned(p.ArmB), turned(p.Frame)
			q.Inertia = nil
			for b := range p.Mass {
				q.Inertia = append(q.Inertia, rotatedInertia(p.Inertia[6*b:6*b+6], turn)...)
			}
			got := gradients(t, &q, s, model, turned(bar))
			near(t, "velocity", got.Velocity, turned(want.Velocity))
			near(t, "arm_a", got.ArmA, turned(want.ArmA))
			near(t, "arm_b", got.ArmB, turned(want.ArmB))
			near(t, "frame", got.Frame, turned(want.Frame))
			near(t, "normal", got.Normal, turned(want.Normal))
			near(t, "mass", got.Mass, want.Mass)
			near(t, "friction", got.Friction, want.Friction)
			near(t, "compliance", got.Compliance, want.Compliance)
		})
		t.Run("exchange", func(t *testing.T) {
			q, l := *p, *s
			q.BodyA, q.BodyB, q.ArmA, q.ArmB = p.BodyB, p.BodyA, p.ArmB, p.ArmA
			q.Frame, l.Impulse = slices.Clone(p.Frame), slices.Clone(s.Impulse)
			minus := func(x []float64) {
				for i := range x {
					x[i] = -x[i]
				}
			}
			for k := range len(p.Frame) / 9 { // t2, t1, −n: both signs of the impulse along t1 and t2
				f := q.Frame[9*k : 9*k+9]
				copy(f, p.Frame[9*k+3:9*k+6])
				copy(f[3:], p.Frame[9*k:9*k+3])
				minus(f[6:])
				i := l.Impulse[3*k : 3*k+3]
				i[0], i[1] = -s.Impulse[3*k+1], -s.Impulse[3*k]
			}
			got := gradients(t, &q, &l, model, bar)
			near(t, "velocity", got.Velocity, want.Velocity)
			near(t, "arm_a", got.ArmA, want.ArmB)
			near(t, "arm_b", got.ArmB, want.ArmA)
			near(t, "inertia", got.Inertia, want.Inertia)
			near(t, "target", got.Target, want.Target)
			minus(got.Normal)
			near(t, "normal", got.Normal, want.Normal)
		})
		t.Run("order", func(t *testing.T) {
			q, l := *p, *s
			q.Frame, q.ArmA, q.ArmB = slices.Clone(p.Frame), slices.Clone(p.ArmA), slices.Clone(p.ArmB)
			q.BodyA, q.BodyB, q.Target = slices.Clone(p.BodyA), slices.Clone(p.BodyB), slices.Clone(p.Target)
			q.Friction, q.Compliance = slices.Clone(p.Friction), slices.Clone(p.Compliance)
			l.Impulse = slices.Clone(s.Impulse)
			back := func(w int, x []float64, per int) { reverse(x[w*p.Contacts*per:], int(p.Count[w]), per) }
			for w := range p.Worlds {
				for _, c := range []struct {
					column []float64
					per    int
				}{{q.Frame, 9}, {q.ArmA, 3}, {q.ArmB, 3}, {q.Target, 1}, {q.Friction, 1}, {q.Compliance, 2},
					{l.Impulse, 3}} {
					back(w, c.column, c.per)
				}
				n := int(p.Count[w])
				slices.Reverse(q.BodyA[w*p.Contacts : w*p.Contacts+n])
				slices.Reverse(q.BodyB[w*p.Contacts : w*p.Contacts+n])
			}
			got := gradients(t, &q, &l, model, bar)
			for w := range p.Worlds {
				back(w, got.ArmB, 3)
				back(w, got.Friction, 1)
				back(w, got.Target, 1)
			}
			near(t, "velocity", got.Velocity, want.Velocity)
			near(t, "mass", got.Mass, want.Mass)
			near(t, "arm_b", got.ArmB, want.ArmB)
			near(t, "friction", got.Friction, want.Friction)
			near(t, "target", got.Target, want.Target)
			if !slices.Equal(got.Smoothness, want.Smoothness) {
				t.Error("the smoothness depends on the order of the contacts")
			}
		})
	}
}

// reverse reverses n rows of so many numbers.
func reverse(x []float64, n, per int) {
	for i := range n / 2 {
		for k := range per {
			a, b := i*per+k, (n-1-i)*per+k
			x[a], x[b] = x[b], x[a]
		}
	}
}

func rotatedInertia(i []float64, turn r3.Rotation) []float64 {
	m := r3.NewMat([]float64{i[0], i[3], i[4], i[3], i[1], i[5], i[4], i[5], i[2]})
	r := turn.Mat()
	var a, b r3.Mat
	a.Mul(r, m)
	b.Mul(&a, r.T())
	return []float64{b.At(0, 0), b.At(1, 1), b.At(2, 2), b.At(0, 1), b.At(0, 2), b.At(1, 2)}
}

// TestProblemNeverNaN differentiates impulses that solve nothing, of problems with numbers of any size.
func TestProblemNeverNaN(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 48))
	wild := func(x []float64) {
		for i := range x {
			switch rng.IntN(12) {
			case 0:
				x[i] *= math.Pow(10, 40*rng.NormFloat64())
			case 1:
				x[i] = 0
			case 2:
				x[i] *= 1e-8
			}
		}
	}
	var m adjoint.Problems
	var g adjoint.Gradient
	var dot adjoint.Tangent
	count := map[adjoint.Smoothness]int{}
	for trial := range 200 {
		p := randomProblems(rng, 16)
		s := &contact.Solution{Impulse: normals(rng, 3*p.Worlds*p.Contacts), Status: make([]contact.Status, p.Worlds),
			Residual: make([]float64, p.Worlds)}
		bar, d := normals(rng, 6*p.Worlds*p.Bodies), randomTangent(rng, p)
		if trial%2 == 1 {
			for _, x := range [][]float64{p.Mass, p.Velocity, p.ArmA, p.ArmB, p.Target, p.Friction, p.Compliance,
				s.Impulse, bar} {
				wild(x)
			}
		}
		if trial%10 == 9 {
			s.Impulse[rng.IntN(len(s.Impulse))] = math.NaN()
			bar[rng.IntN(len(bar))] = math.Inf(1)
		}
		for _, model := range []contact.Model{contact.NCP, contact.CCP} {
			if err := m.VJP(t.Context(), p, s, model, bar, nil, 1, &g); err != nil {
				t.Fatal(err)
			}
			if err := m.JVP(t.Context(), p, s, model, d, 1, &dot); err != nil {
				t.Fatal(err)
			}
			all := [][]float64{g.Normal, g.Residual, dot.Velocity, dot.Impulse, dot.Residual}
			for _, c := range columnsOf(&g.Parameters) {
				all = append(all, *c)
			}
			for i, column := range all {
				for _, x := range column {
					if math.IsNaN(x) || math.IsInf(x, 0) {
						t.Fatalf("trial %d, %s: column %d has %g", trial, model, i, x)
					}
				}
			}
			for w := range p.Worlds {
				count[g.Smoothness[w]]++
				if math.IsNaN(g.Margin[w]) || math.IsNaN(dot.Margin[w]) {
					t.Fatalf("trial %d, %s: margin NaN", trial, model)
				}
			}
		}
	}
	t.Logf("%v", count)
}

// TestProblemAllocations: with memory of earlier calls and one worker nothing is allocated.
func TestProblemAllocations(t *testing.T) {
	p, err := scenes.Generate("stack4", 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := solved(t, p, contact.NCP)
	bar := normals(rand.New(rand.NewPCG(1, 1)), len(p.Velocity))
	var m adjoint.Problems
	var g adjoint.Gradient
	ctx := context.Background()
	n := testing.AllocsPerRun(10, func() {
		if err := m.VJP(ctx, p, s, contact.NCP, bar, nil, 1, &g); err != nil {
			t.Fatal(err)
		}
	})
	if n > 0 {
		t.Errorf("%g allocations", n)
	}
}

// TestProblemWorkers: bits depend on no number of workers.
func TestProblemWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 48))
	p := randomProblems(rng, 200)
	s := solved(t, p, contact.NCP)
	bar := normals(rng, len(p.Velocity))
	want := gradients(t, p, s, contact.NCP, bar)
	var m adjoint.Problems
	var g adjoint.Gradient
	if err := m.VJP(t.Context(), p, s, contact.NCP, bar, nil, 4, &g); err != nil {
		t.Fatal(err)
	}
	for i, c := range columnsOf(&g.Parameters) {
		if !slices.Equal(*c, *columnsOf(&want.Parameters)[i]) {
			t.Errorf("column %d depends on the number of workers", i)
		}
	}
}

// TestProblemTolerance: at the impulses of a solve with the standard tolerance of 1e-6, the modes are those of the
// solution, and the derivative is off by the order of the tolerance times the condition.
func TestProblemTolerance(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 48))
	p := randomProblems(rng, 300)
	bar := normals(rng, len(p.Velocity))
	for _, model := range []contact.Model{contact.NCP, contact.CCP} {
		exact := gradients(t, p, solved(t, p, model), model, bar)
		var s contact.Solution
		if err := contact.Solve(t.Context(), p, contact.Options{Model: model}, &s); err != nil {
			t.Fatal(err)
		}
		g := gradients(t, p, &s, model, bar)
		var errors []float64
		for w := range p.Worlds {
			if g.Smoothness[w] != adjoint.Smooth || exact.Smoothness[w] != adjoint.Smooth {
				continue
			}
			if a, b := modesOf(&g.Report, p, w), modesOf(&exact.Report, p, w); a != b {
				t.Errorf("%s, world %d: modes%s in place of%s", model, w, a, b)
			}
			n := 6 * p.Bodies
			errors = append(errors, relativeError(g.Velocity[n*w:n*w+n], exact.Velocity[n*w:n*w+n]))
		}
		slices.Sort(errors)
		median, most := errors[len(errors)/2], errors[len(errors)*99/100]
		t.Logf("%s: median error %.1e, 99 %% within %.1e, of %d worlds", model, median, most, len(errors))
		if len(errors) < 280 || !(median <= 1e-6) || !(most <= 1e-4) {
			t.Errorf("%s: %d worlds, errors %g and %g", model, len(errors), median, most)
		}
	}
}

// TestProblemMemory: a chain of so many bodies that the pattern of its matrix has no place in memory is an error.
func TestProblemMemory(t *testing.T) {
	const n = 200_000
	if memory.Available() > 5*n*n { // bytes
		t.Skip("more memory than the pattern takes")
	}
	p := &contact.Problem{}
	p.Resize(1, n, n)
	p.Count[0] = n
	s := &contact.Solution{Impulse: make([]float64, 3*n), Status: make([]contact.Status, 1),
		Residual: make([]float64, 1)}
	frame := scenes.Frame(r3.Vec{Z: 1})
	for i := range n {
		p.Mass[i] = 1
		copy(p.Inertia[6*i:], []float64{1, 1, 1, 0, 0, 0})
		copy(p.Velocity[6*i:], []float64{0, 0, float64(-i), 0, 0, 0})
		p.BodyA[i], p.BodyB[i], p.Friction[i] = int32(i-1), int32(i), 0.5
		copy(p.ArmA[3*i:], []float64{0, 0, 0})
		copy(p.ArmB[3*i:], []float64{0, 0, 0})
		for k, v := range frame {
			copy(p.Frame[9*i+3*k:], []float64{v.X, v.Y, v.Z})
		}
		s.Impulse[3*i+2] = 1
	}
	var m adjoint.Problems
	var g adjoint.Gradient
	err := m.VJP(t.Context(), p, s, contact.NCP, make([]float64, 6*n), nil, 1, &g)
	if !errors.As(err, new(*memory.Error)) {
		t.Errorf("error %v, want one of memory", err)
	}
	if g.Smoothness[0] != adjoint.None {
		t.Errorf("%s, want none", g.Smoothness[0])
	}
}
