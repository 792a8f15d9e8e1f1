package system_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/contact/scenes"
	"clearance/contact/system"
)

// random is a problem of one world with n velocities and c contacts, of which one world in two has compliances.
func random(rng *rand.Rand, n, c int) *system.Problem {
	p := &system.Problem{Worlds: 1, Velocities: n, Contacts: c, Count: []int32{int32(c)}}
	fill := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	root := fill(n * n)
	p.Mass = make([]float64, n*n)
	for i := range n {
		for j := range n {
			for k := range n {
				p.Mass[i*n+j] += root[i*n+k] * root[j*n+k]
			}
		}
		p.Mass[i*n+i] += 0.3
	}
	p.Velocity, p.Jacobian, p.Target = fill(n), fill(3*c*n), fill(c)
	for range c {
		p.Friction = append(p.Friction, 0.2+rng.Float64())
	}
	if rng.IntN(2) == 0 {
		for range 2 * c {
			p.Compliance = append(p.Compliance, 0.1*rng.Float64())
		}
		p.Offset = fill(3 * c)
	}
	return p
}

func solved(t *testing.T, p *system.Problem, o system.Options) *system.Solution {
	t.Helper()
	var s system.Solution
	if err := system.Solve(context.Background(), p, o, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// Random problems of both models are solved, and their gradients agree with central differences wherever no mode is
// near its change. Differences with a step h have an error of h² and of the tolerance of the solve over h, 1e-13/1e-5.
func TestGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	modes, compared := [3]int{}, 0
	worst := 0.0
	for trial := range 300 {
		n, c := 2+rng.IntN(8), 1+rng.IntN(3)
		p := random(rng, n, c)
		o := system.Options{Model: contact.Model(trial % 2), Tolerance: 1e-12, Workers: 1}
		s := solved(t, p, o)
		if s.Status[0] != contact.Solved {
			if 3*c <= n || len(p.Compliance) > 0 {
				t.Errorf("trial %d: %v, residual %g of %g", trial, s.Status[0], s.Residual[0], s.Scale[0])
			}
			continue
		}
		velocityBar, impulseBar := make([]float64, n), make([]float64, 3*c)
		for i := range velocityBar {
			velocityBar[i] = rng.NormFloat64()
		}
		if 3*c <= n {
			for i := range impulseBar {
				impulseBar[i] = rng.NormFloat64()
			}
		}
		var g system.Gradient
		if err := system.VJP(context.Background(), p, s, o, velocityBar, impulseBar, &g); err != nil {
			t.Fatal(err)
		}
		if g.Smoothness[0] != adjoint.Smooth || g.Margin[0] < 1e-3 {
			continue
		}
		value := func() (sum float64) {
			s := solved(t, p, o)
			for i, b := range velocityBar {
				sum += b * s.Velocity[i]
			}
			for i, b := range impulseBar {
				sum += b * s.Impulse[i]
			}
			return sum
		}
		const h = 1e-5
		difference := func(x []float64, at ...int) float64 {
			for _, i := range at {
				x[i] += h
			}
			up := value()
			for _, i := range at {
				x[i] -= 2 * h
			}
			down := value()
			for _, i := range at {
				x[i] += h
			}
			return (up - down) / (2 * h)
		}
		for _, m := range g.Mode {
			modes[m]++
		}
		check := func(what string, i int, got, want float64) {
			if d := math.Abs(got-want) / max(1, math.Abs(want)); !(d < 1e-6) {
				t.Errorf("trial %d, %v: %s[%d] = %g, want %g (modes %v, margin %g)", trial, o.Model, what, i, got, want,
					g.Mode, g.Margin[0])
			} else {
				worst = max(worst, d)
			}
			compared++
		}
		for i := range p.Velocity {
			check("velocity", i, g.Velocity[i], difference(p.Velocity, i))
		}
		for i := range p.Jacobian {
			check("jacobian", i, g.Jacobian[i], difference(p.Jacobian, i))
		}
		for i := range c {
			check("target", i, g.Target[i], difference(p.Target, i))
			check("friction", i, g.Friction[i], difference(p.Friction, i))
		}
		for i := range n {
			for j := range i {
				check("mass", i*n+j, g.Mass[i*n+j]+g.Mass[j*n+i], difference(p.Mass, i*n+j, j*n+i))
			}
			check("mass", i*n+i, g.Mass[i*n+i], difference(p.Mass, i*n+i))
		}
		for i := range p.Offset {
			check("offset", i, g.Offset[i], difference(p.Offset, i))
		}
		for i := range p.Compliance {
			check("compliance", i, g.Compliance[i], difference(p.Compliance, i))
		}
	}
	t.Logf("%d numbers compared, worst %.1e; contacts open, stick, slide: %v", compared, worst, modes)
	if compared < 5000 || modes[adjoint.Open] < 20 || modes[adjoint.Stick] < 20 || modes[adjoint.Slide] < 20 {
		t.Errorf("%d numbers compared, modes %v", compared, modes)
	}
}

// dense is a problem of free bodies as one of a system.
func dense(p *contact.Problem) *system.Problem {
	n, c := 6*p.Bodies, p.Contacts
	d := &system.Problem{Worlds: p.Worlds, Velocities: n, Contacts: c, Count: p.Count, Velocity: p.Velocity,
		Friction: p.Friction, Target: p.Target, Compliance: p.Compliance, Mass: make([]float64, p.Worlds*n*n),
		Jacobian: make([]float64, 3*p.Worlds*c*n)}
	for w := range p.Worlds {
		m := d.Mass[w*n*n:]
		for b := range p.Bodies {
			i := p.Inertia[6*(w*p.Bodies+b):]
			for k := range 3 {
				m[(6*b+k)*n+6*b+k] = p.Mass[w*p.Bodies+b]
				for j := range 3 {
					m[(6*b+3+k)*n+6*b+3+j] = i[[3][3]int{{0, 3, 4}, {3, 1, 5}, {4, 5, 2}}[k][j]]
				}
			}
		}
		for i := range int(p.Count[w]) {
			k := w*c + i
			for side, b := range [2]int32{p.BodyA[k], p.BodyB[k]} {
				if b < 0 {
					continue
				}
				arm, sign := p.ArmA[3*k:], -1.0
				if side == 1 {
					arm, sign = p.ArmB[3*k:], 1
				}
				for a := range 3 {
					axis, line := p.Frame[9*k+3*a:], d.Jacobian[(3*k+a)*n+6*int(b):]
					for j := range 3 {
						u, v := (j+1)%3, (j+2)%3
						line[j] += sign * axis[j]
						line[3+j] += sign * (arm[u]*axis[v] - arm[v]*axis[u])
					}
				}
			}
		}
	}
	return d
}

// Problems of free bodies have the velocities that package contact finds, and the same derivatives where both are
// smooth.
func TestFreeBodies(t *testing.T) {
	for _, model := range []contact.Model{contact.NCP, contact.CCP} {
		p, err := scenes.Generate("graph", 60, 7)
		if err != nil {
			t.Fatal(err)
		}
		for b, m := range p.Mass { // bodies that do not move: so heavy that it makes no difference
			if math.IsInf(m, 1) {
				p.Mass[b] = 1e12
				copy(p.Inertia[6*b:6*b+6], []float64{1e12, 1e12, 1e12, 0, 0, 0})
			}
		}
		p.Compliance = nil
		for range p.Worlds * p.Contacts {
			p.Compliance = append(p.Compliance, 0, 1e-2)
		}
		var want contact.Solution
		exact := contact.Options{Model: model, Tolerance: 1e-11}
		if err := contact.Solve(context.Background(), p, exact, &want); err != nil {
			t.Fatal(err)
		}
		d := dense(p)
		o := system.Options{Model: model, Tolerance: 1e-11}
		got := solved(t, d, o)
		bar := make([]float64, len(p.Velocity))
		rng := rand.New(rand.NewPCG(3, 4))
		for i := range bar {
			bar[i] = rng.NormFloat64()
		}
		var products adjoint.Problems
		var g adjoint.Gradient
		if err := products.VJP(context.Background(), p, &want, model, bar, nil, 1, &g); err != nil {
			t.Fatal(err)
		}
		var own system.Gradient
		if err := system.VJP(context.Background(), d, got, o, bar, nil, &own); err != nil {
			t.Fatal(err)
		}
		same := 0
		n := d.Velocities
		for w := range p.Worlds {
			if want.Status[w] != contact.Solved || got.Status[w] != contact.Solved {
				t.Errorf("%v, world %d: %v and %v", model, w, want.Status[w], got.Status[w])
				continue
			}
			for i := w * n; i < (w+1)*n; i++ {
				if model == contact.CCP && math.Abs(got.Velocity[i]-want.Velocity[i]) > 1e-6 {
					t.Errorf("world %d: velocity[%d] = %g, want %g", w, i, got.Velocity[i], want.Velocity[i])
				}
				if g.Smoothness[w] != adjoint.Smooth || own.Smoothness[w] != adjoint.Smooth ||
					math.Abs(got.Velocity[i]-want.Velocity[i]) > 1e-7 || g.Margin[w] < 1e-3 {
					continue
				}
				same++
				if math.Abs(own.Velocity[i]-g.Velocity[i]) > 1e-5*max(1, math.Abs(g.Velocity[i])) {
					t.Errorf("%v, world %d: gradient by velocity[%d] = %g, want %g", model, w, i, own.Velocity[i],
						g.Velocity[i])
				}
			}
		}
		if same < 10*n {
			t.Errorf("%v: %d numbers compared", model, same)
		}
	}
}

// Masses and impulses that are scaled by a power of two scale all answers bit for bit.
func TestScaling(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		p := random(rng, 6, 2)
		o := system.Options{Tolerance: 1e-10}
		a := solved(t, p, o)
		for i := range p.Mass {
			p.Mass[i] *= 0x1p-7
		}
		for i := range p.Compliance {
			p.Compliance[i] *= 0x1p7
		}
		b := solved(t, p, o)
		for i := range a.Velocity {
			if a.Velocity[i] != b.Velocity[i] {
				t.Fatalf("velocity[%d] = %g, want %g", i, b.Velocity[i], a.Velocity[i])
			}
		}
		for i := range a.Impulse {
			if a.Impulse[i]*0x1p-7 != b.Impulse[i] {
				t.Fatalf("impulse[%d] = %g, want %g", i, b.Impulse[i], a.Impulse[i]*0x1p-7)
			}
		}
	}
}

// What is wrong with a world is its status and has a name; the others are solved.
func TestInvalid(t *testing.T) {
	for what, spoil := range map[string]func(p *system.Problem){
		"count":    func(p *system.Problem) { p.Count[0] = 3 },
		"mass":     func(p *system.Problem) { p.Mass[0] = -1 },
		"velocity": func(p *system.Problem) { p.Velocity[1] = math.NaN() },
		"jacobian": func(p *system.Problem) { p.Jacobian[2] = math.Inf(1) },
		"friction": func(p *system.Problem) { p.Friction[0] = -0.1 },
		"target":   func(p *system.Problem) { p.Target[0] = math.NaN() },
	} {
		p := random(rand.New(rand.NewPCG(7, 8)), 4, 1)
		spoil(p)
		s := solved(t, p, system.Options{})
		err := p.CheckWorld(0)
		worldError, ok := err.(*contact.WorldError)
		if s.Status[0] != contact.Invalid || !ok || worldError.Column != what {
			t.Errorf("%s: %v, %v", what, s.Status[0], err)
		}
		var g system.Gradient
		if err := system.VJP(context.Background(), p, s, system.Options{}, make([]float64, 4), nil, &g); err != nil {
			t.Fatal(err)
		}
		if g.Smoothness[0] != adjoint.None {
			t.Errorf("%s: smoothness %v", what, g.Smoothness[0])
		}
	}
}
