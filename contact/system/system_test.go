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

// Random problems of both models are solved, and their gradients agree with differences of fourth order wherever no
// mode is near its change. Differences with a step h have an error of h⁴ times a fifth derivative, and that of the
// solves over h: 1e-12/8e-5 times the condition of the problem. Where one step is off, another has to agree.
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
		if g.Smoothness[0] != adjoint.Smooth || g.Margin[0] < 2e-2 {
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
		h := 8e-5
		difference := func(x []float64, at ...int) (sum float64) {
			for _, step := range [4][2]float64{{1, 8}, {-1, -8}, {2, -1}, {-2, 1}} {
				var before [2]float64
				for k, i := range at {
					before[k] = x[i]
					x[i] += step[0] * h
				}
				sum += step[1] * value() / (12 * h)
				for k, i := range at {
					x[i] = before[k]
				}
			}
			return sum
		}
		for _, m := range g.Mode {
			modes[m]++
		}
		check := func(what string, i int, got float64, x []float64, at ...int) {
			h = 8e-5
			want := difference(x, at...)
			off := func() float64 { return math.Abs(got-want) / max(1, math.Abs(want)) }
			for ; !(off() < 1e-6) && h < 5e-3; want = difference(x, at...) {
				h *= 10
			}
			if d := off(); !(d < 1e-6) {
				t.Errorf("trial %d, %v: %s[%d] = %g, want %g (modes %v, margin %g)", trial, o.Model, what, i, got, want,
					g.Mode, g.Margin[0])
			} else {
				worst = max(worst, d)
			}
			compared++
		}
		for i := range p.Velocity {
			check("velocity", i, g.Velocity[i], p.Velocity, i)
		}
		for i := range p.Jacobian {
			check("jacobian", i, g.Jacobian[i], p.Jacobian, i)
		}
		for i := range c {
			check("target", i, g.Target[i], p.Target, i)
			check("friction", i, g.Friction[i], p.Friction, i)
		}
		for i := range n {
			for j := range i {
				check("mass", i*n+j, g.Mass[i*n+j]+g.Mass[j*n+i], p.Mass, i*n+j, j*n+i)
			}
			check("mass", i*n+i, g.Mass[i*n+i], p.Mass, i*n+i)
		}
		for i := range p.Offset {
			check("offset", i, g.Offset[i], p.Offset, i)
		}
		for i, r := range p.Compliance {
			if r < 2e-3 { // which differences would make negative
				continue
			}
			check("compliance", i, g.Compliance[i], p.Compliance, i)
		}
	}
	t.Logf("%d numbers compared, worst %.1e; contacts open, stick, slide: %v", compared, worst, modes)
	if compared < 5000 || modes[adjoint.Open] < 20 || modes[adjoint.Stick] < 20 || modes[adjoint.Slide] < 20 {
		t.Errorf("%d numbers compared, modes %v", compared, modes)
	}
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
		d := system.OfBodies(p)
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

// scaledBy returns the problem in other units: of mass, length and time. Velocities from spin on are angular ones.
func scaledBy(p *system.Problem, spin int, mass, length, time float64) *system.Problem {
	q := *p
	n := p.Velocities
	times := func(x []float64, f func(i int) float64) []float64 {
		y := make([]float64, len(x))
		for i := range x {
			y[i] = x[i] * f(i)
		}
		return y
	}
	arm := func(i int) float64 { // the length in coordinate i of a Jacobian
		if i < spin {
			return 1
		}
		return length
	}
	speed := func(int) float64 { return length / time }
	q.Mass = times(p.Mass, func(i int) float64 { return mass * arm(i/n) * arm(i%n) })
	q.Jacobian = times(p.Jacobian, func(i int) float64 { return arm(i % n) })
	q.Velocity = times(p.Velocity, func(i int) float64 { return speed(i) / arm(i) })
	q.Target, q.Offset = times(p.Target, speed), times(p.Offset, speed)
	q.Compliance = times(p.Compliance, func(int) float64 { return 1 / mass })
	return &q
}

// Units of mass, length and time that change by powers of two scale all answers and gradients bit for bit.
func TestScaling(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for trial := range 60 {
		const n, c, spin = 6, 2, 3
		p := random(rng, n, c)
		unit := func() float64 { return math.Ldexp(1, rng.IntN(40)-20) }
		mass, length, time := unit(), unit(), unit()
		q := scaledBy(p, spin, mass, length, time)
		o := system.Options{Model: contact.Model(trial % 2), Tolerance: 1e-10}
		a, b := solved(t, p, o), solved(t, q, o)
		bar, barOf := make([]float64, n), make([]float64, n)
		for i := range bar {
			bar[i] = rng.NormFloat64()
			if barOf[i] = bar[i]; i >= spin {
				barOf[i] *= length // as a function of the velocities that has the unit length/time
			}
		}
		var g, h system.Gradient
		for _, x := range []struct {
			p   *system.Problem
			s   *system.Solution
			bar []float64
			g   *system.Gradient
		}{{p, a, bar, &g}, {q, b, barOf, &h}} {
			if err := system.VJP(context.Background(), x.p, x.s, o, x.bar, nil, x.g); err != nil {
				t.Fatal(err)
			}
		}
		same := func(what string, x, y []float64, factor func(i int) float64) {
			for i := range x {
				if x[i]*factor(i) != y[i] {
					t.Fatalf("trial %d: %s[%d] = %g, want %g", trial, what, i, y[i], x[i]*factor(i))
				}
			}
		}
		arm := func(i int) float64 {
			if i%n < spin {
				return 1
			}
			return length
		}
		same("velocity", a.Velocity, b.Velocity, func(i int) float64 { return length / time / arm(i) })
		same("impulse", a.Impulse, b.Impulse, func(int) float64 { return mass * length / time })
		same("gradient by velocity", g.Velocity, h.Velocity, arm)
		same("gradient by friction", g.Friction, h.Friction, func(int) float64 { return length / time })
		same("gradient by jacobian", g.Jacobian, h.Jacobian, func(i int) float64 { return length / time / arm(i) })
		same("gradient by mass", g.Mass, h.Mass, func(i int) float64 {
			return length / time / mass / arm(i/n) / arm(i)
		})
		same("margin", g.Margin, h.Margin, func(int) float64 { return 1 })
	}
}

// Numbers of any size never make a NaN or an infinite answer, and bits do not depend on what other worlds a worker has
// solved before.
func TestExtremes(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	sizes := []float64{0, 1e-320, 1e-200, 1e-30, 1, 1e30, 1e155, 1e200, 1e308, math.NaN(), math.Inf(1)}
	ends, smooths := [3]int{}, map[adjoint.Smoothness]int{}
	for trial := range 2000 {
		const worlds = 4
		n, c := 1+rng.IntN(5), 1+rng.IntN(3)
		p := &system.Problem{Worlds: worlds, Velocities: n, Contacts: c}
		for range worlds {
			one := random(rng, n, c)
			if len(one.Compliance) == 0 {
				one.Compliance, one.Offset = make([]float64, 2*c), make([]float64, 3*c)
			}
			p.Mass, p.Velocity = append(p.Mass, one.Mass...), append(p.Velocity, one.Velocity...)
			p.Jacobian, p.Friction = append(p.Jacobian, one.Jacobian...), append(p.Friction, one.Friction...)
			p.Target, p.Compliance = append(p.Target, one.Target...), append(p.Compliance, one.Compliance...)
			p.Offset, p.Count = append(p.Offset, one.Offset...), append(p.Count, one.Count...)
		}
		for range rng.IntN(6) {
			columns := [][]float64{p.Mass, p.Velocity, p.Jacobian, p.Friction, p.Target, p.Compliance, p.Offset}
			x, size := columns[rng.IntN(len(columns))], sizes[rng.IntN(len(sizes))]
			if rng.IntN(2) == 0 {
				for i := range x {
					x[i] *= size
				}
			} else {
				x[rng.IntN(len(x))] = size
			}
		}
		o := system.Options{Model: contact.Model(trial % 2), Workers: 1, Steps: 60}
		s := solved(t, p, o)
		o.Workers = 3
		again := solved(t, p, o)
		bar, impulseBar := make([]float64, worlds*n), make([]float64, 3*worlds*c)
		for _, x := range [][]float64{bar, impulseBar} {
			for i := range x {
				x[i] = rng.NormFloat64()
			}
		}
		var g system.Gradient
		if err := system.VJP(context.Background(), p, s, o, bar, impulseBar, &g); err != nil {
			t.Fatal(err)
		}
		for i := range s.Impulse {
			if math.Float64bits(s.Impulse[i]) != math.Float64bits(again.Impulse[i]) {
				t.Fatalf("trial %d: impulse[%d] is %g with one worker, %g with three", trial, i, s.Impulse[i],
					again.Impulse[i])
			}
		}
		for w := range worlds {
			ends[s.Status[w]]++
			smooths[g.Smoothness[w]]++
			answers := []float64{s.Residual[w], s.Scale[w]}
			answers = append(append(answers, s.Impulse[3*w*c:3*(w+1)*c]...), s.Velocity[w*n:(w+1)*n]...)
			for i, x := range answers {
				switch {
				case s.Status[w] == contact.Invalid:
					if !math.IsNaN(x) {
						t.Fatalf("trial %d, world %d is invalid: number %d is %g", trial, w, i, x)
					}
				case math.IsNaN(x) || math.IsInf(x, 0) && !(i == 0 && s.Status[w] == contact.Undecided):
					t.Fatalf("trial %d, world %d, %v: number %d is %g", trial, w, s.Status[w], i, x)
				}
			}
		}
		for _, x := range [][]float64{g.Velocity, g.Mass, g.Jacobian, g.Target, g.Friction, g.Compliance, g.Offset,
			g.Residual} {
			for i, v := range x {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("trial %d: gradient %d is %g; %v", trial, i, v, g.Smoothness)
				}
			}
		}
	}
	t.Logf("solved, undecided, invalid: %v; %v", ends, smooths)
	if ends[contact.Solved] < 1000 || ends[contact.Undecided] < 100 || ends[contact.Invalid] < 100 ||
		smooths[adjoint.Smooth] < 1000 {
		t.Errorf("%v, %v: the sizes do not reach every case", ends, smooths)
	}
}

// Mechanisms of forty velocities with 24 contacts, which share directions, are solved, as are those with more rows
// than velocities; contacts in another order have the same velocities where these are unique.
func TestManyContacts(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 9))
	for trial := range 40 {
		n, c := 40, 24
		if trial%4 > 1 {
			n, c = 12, 8
		}
		p := random(rng, n, c)
		p.Target, p.Compliance, p.Offset = nil, nil, nil
		o := system.Options{Model: contact.Model(trial % 2), Tolerance: 1e-10}
		a := solved(t, p, o)
		q := *p
		q.Jacobian, q.Friction = nil, nil
		for _, i := range rng.Perm(c) {
			q.Jacobian = append(q.Jacobian, p.Jacobian[3*i*n:3*(i+1)*n]...)
			q.Friction = append(q.Friction, p.Friction[i])
		}
		b := solved(t, &q, o)
		if a.Status[0] != contact.Solved || b.Status[0] != contact.Solved {
			t.Errorf("trial %d: %v, %v; residual %g of %g", trial, a.Status[0], b.Status[0], a.Residual[0], a.Scale[0])
		}
		if o.Model == contact.NCP {
			continue
		}
		for i := range a.Velocity { // the error is of the order of the root of the tolerance
			if d := math.Abs(a.Velocity[i] - b.Velocity[i]); d > 1e-4 {
				t.Errorf("trial %d: velocity[%d] differs by %g", trial, i, d)
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
