package adjoint_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/contact/scenes"
	"clearance/contact/system"
)

// Problems of rigid bodies are problems of a mechanism as well, with dense matrices, which package contact/system
// solves and differentiates by code of its own.

// ofBodies are the gradients by what a problem of bodies is made from, by those by M, J, the velocities and the offsets
// of [system.OfBodies].
func ofBodies(p *contact.Problem, g *system.Gradient) *adjoint.Parameters {
	var out adjoint.Gradient
	out.Resize(p)
	for _, c := range columnsOf(&out.Parameters) {
		clear(*c)
	}
	copy(out.Velocity, g.Velocity)
	copy(out.Target, g.Target)
	copy(out.Friction, g.Friction)
	copy(out.Compliance, g.Compliance)
	n := 6 * p.Bodies
	for w := range p.Worlds {
		for b := range p.Bodies {
			if k := w*p.Bodies + b; !math.IsInf(p.Mass[k], 1) {
				m := func(i, j int) float64 { return g.Mass[(w*n+6*b+i)*n+6*b+j] }
				out.Mass[k] = m(0, 0) + m(1, 1) + m(2, 2)
				copy(out.Inertia[6*k:], []float64{m(3, 3), m(4, 4), m(5, 5), m(3, 4) + m(4, 3), m(3, 5) + m(5, 3),
					m(4, 5) + m(5, 4)})
			}
		}
		for i := range int(p.Count[w]) {
			k := w*p.Contacts + i
			for side, b := range [2]int{int(p.BodyA[k]), int(p.BodyB[k])} {
				if b < 0 {
					continue
				}
				arms, sign := p.ArmA, -1.0
				to := out.ArmA
				if side == 1 {
					arms, sign, to = p.ArmB, 1, out.ArmB
				}
				arm, at := vec(arms[3*k:]), 6*(w*p.Bodies+b)
				for a := range 3 {
					q, offset := vec(p.Frame[9*k+3*a:]), sign*g.Offset[3*k+a]
					bar := g.Jacobian[(3*k+a)*n+6*b:]
					linear, angular := scaled(sign, vec(bar)), scaled(sign, vec(bar[3:])) // of q and of r×q
					if math.IsInf(p.Mass[w*p.Bodies+b], 1) {
						linear = scaled(offset, vec(p.Velocity[at:]))
						angular = scaled(offset, vec(p.Velocity[at+3:]))
						add(out.Velocity[at:], scaled(offset, q))
						add(out.Velocity[at+3:], scaled(offset, crossed(arm, q)))
					}
					add(to[3*k:], crossed(q, angular))
					add(out.Frame[9*k+3*a:], linear)
					add(out.Frame[9*k+3*a:], crossed(angular, arm))
				}
			}
		}
	}
	return &out.Parameters
}

func vec(x []float64) [3]float64 { return [3]float64(x[:3]) }

func scaled(f float64, x [3]float64) [3]float64 { return [3]float64{f * x[0], f * x[1], f * x[2]} }

func add(to []float64, x [3]float64) {
	for i, v := range x {
		to[i] += v
	}
}

func crossed(a, b [3]float64) [3]float64 {
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// A thousand problems have the same statuses, the same velocities where the bound of the CCP says so, and for the same
// impulses the same modes, margins and gradients by all numbers, to 1e-16 times the condition of their systems.
func TestProblemDense(t *testing.T) {
	for _, model := range []contact.Model{contact.NCP, contact.CCP} {
		rng := rand.New(rand.NewPCG(48, 1000+uint64(model)))
		p := randomProblems(rng, 500)
		d := system.OfBodies(p)
		s := solved(t, p, model)
		o := system.Options{Model: model, Tolerance: 1e-12, Bound: true}
		var own, same system.Solution
		if err := system.Solve(t.Context(), d, o, &own); err != nil {
			t.Fatal(err)
		}
		same.Impulse, same.Residual, same.Status = s.Impulse, s.Residual, s.Status
		vBar, lBar := normals(rng, 6*p.Worlds*p.Bodies), normals(rng, 3*p.Worlds*p.Contacts)
		var m adjoint.Problems
		var g adjoint.Gradient
		var of system.Gradient
		if err := m.VJP(t.Context(), p, s, model, vBar, lBar, 0, &g); err != nil {
			t.Fatal(err)
		}
		if err := system.VJP(t.Context(), d, &same, o, vBar, lBar, &of); err != nil {
			t.Fatal(err)
		}
		got := ofBodies(p, &of)
		count := map[string]int{}
		worst, velocity := 0.0, 0.0
		for w := range p.Worlds {
			if own.Status[w] != s.Status[w] {
				count["status"]++
				continue
			}
			lo, hi := 6*w*p.Bodies, 6*(w+1)*p.Bodies
			if s.Status[w] == contact.Solved {
				e := relativeError(own.Velocity[lo:hi], s.Velocity[lo:hi])
				if model == contact.CCP { // an error of the order of the tolerance times the condition
					velocity = max(velocity, e)
					if !(e <= 1e-6) {
						t.Errorf("%s, world %d: velocities differ by %g", model, w, e)
					}
				} else if e <= 1e-9 {
					count["same solution"]++
				}
			}
			if g.Smoothness[w] != of.Smoothness[w] || !(math.Abs(g.Margin[w]-of.Margin[w]) <= 1e-9) {
				t.Errorf("%s, world %d: %s at %g and %s at %g", model, w, g.Smoothness[w], g.Margin[w],
					of.Smoothness[w], of.Margin[w])
			}
			count[g.Smoothness[w].String()]++
			if g.Smoothness[w] != adjoint.Smooth {
				continue
			}
			for i := w * p.Contacts; i < w*p.Contacts+int(p.Count[w]); i++ {
				if g.Mode[i] != of.Mode[i] {
					t.Errorf("%s, world %d: contact %d: %s and %s", model, w, i, g.Mode[i], of.Mode[i])
				}
			}
			var a, b []float64
			for k, c := range columnsOf(&g.Parameters) {
				n := len(*c) / p.Worlds
				a, b = append(a, (*c)[w*n:(w+1)*n]...), append(b, (*columnsOf(got)[k])[w*n:(w+1)*n]...)
			}
			e := relativeError(b, a)
			worst = max(worst, e)
			if !(e <= 1e-10) {
				t.Errorf("%s, world %d: gradients differ by %g (margin %g)", model, w, e, g.Margin[w])
			}
		}
		t.Logf("%s: %v; gradients within %.1e, velocities %.1e", model, count, worst, velocity)
		if count["smooth"] < 400 || count["status"] > 10 || model == contact.NCP && count["same solution"] < 400 {
			t.Errorf("%s: %v", model, count)
		}
	}
}

// The list of cases has the same names, modes and margins as mechanisms.
func TestDenseCases(t *testing.T) {
	compared, margins := 0, 0
	for _, c := range madeCases() {
		p := scenes.Pack([]scenes.World{c.world})
		if p.CheckWorld(0) != nil { // frames and masses that a mechanism does not have
			continue
		}
		d := system.OfBodies(p)
		o := system.Options{Model: c.model, Tolerance: 1e-12}
		var s system.Solution
		if err := system.Solve(t.Context(), d, o, &s); err != nil {
			t.Fatal(err)
		}
		bar := make([]float64, d.Velocities)
		for i := range bar {
			bar[i] = 1 + 0.1*float64(i)
		}
		var g system.Gradient
		if err := system.VJP(t.Context(), d, &s, o, bar, nil, &g); err != nil {
			t.Fatal(err)
		}
		compared++
		if g.Smoothness[0] != c.want {
			t.Errorf("%s: %s, want %s (margin %g,%s, %s)", c.name, g.Smoothness[0], c.want, g.Margin[0],
				modesOf(&g.Report, p, 0), s.Status[0])
		}
		if name := modesOf(&g.Report, p, 0); g.Smoothness[0] != adjoint.None && c.modes != "?" && name != c.modes {
			t.Errorf("%s: modes%s, want%s", c.name, name, c.modes)
		}
		if c.margin >= 0 && g.Smoothness[0] != adjoint.None {
			margins++
			if g.Margin[0] != c.margin && !(math.Abs(g.Margin[0]-c.margin) <= 1e-9*max(1, c.margin)) {
				t.Errorf("%s: margin %.12g, want %.12g", c.name, g.Margin[0], c.margin)
			}
		}
	}
	t.Logf("%d cases, %d of them with margins", compared, margins)
	if compared < 95 {
		t.Errorf("%d cases", compared)
	}
}
