package system_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/contact/system"
)

// delassusOf is a problem of one world by its Delassus matrix.
func delassusOf(t *testing.T, p *system.Problem) *system.Delassus {
	t.Helper()
	n, m := p.Velocities, 3*p.Contacts
	var x, g mat.Dense
	var free mat.VecDense
	j := mat.NewDense(m, n, p.Jacobian)
	if err := x.Solve(mat.NewDense(n, n, p.Mass), j.T()); err != nil {
		t.Fatal(err)
	}
	g.Mul(j, &x)
	free.MulVec(j, mat.NewVecDense(n, p.Velocity))
	d := &system.Delassus{Worlds: 1, Contacts: p.Contacts, Free: free.RawVector().Data, Count: p.Count,
		Friction: p.Friction, Target: p.Target, Compliance: p.Compliance, Matrix: make([]float64, m*m)}
	for i := range m {
		for k := range m {
			d.Matrix[i*m+k] = (g.At(i, k) + g.At(k, i)) / 2
		}
		if len(p.Offset) > 0 {
			d.Free[i] += p.Offset[i]
		}
	}
	return d
}

// Problems by their Delassus matrices, also singular ones, have the velocities at the contacts of those by M and J,
// and their gradients by friction, targets and compliances. The gradient by the matrix is that by M: with G = JM⁻¹Jᵀ,
// dG = −JM⁻¹dM·M⁻¹Jᵀ, to which a change of g = Jv_f does not belong.
func TestDelassus(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 6))
	compared, singular := 0, 0
	for trial := range 200 {
		n, c := 2+rng.IntN(8), 1+rng.IntN(3)
		p := random(rng, n, c)
		d := delassusOf(t, p)
		o := system.Options{Model: contact.Model(trial % 2), Tolerance: 1e-12}
		s := solved(t, p, o)
		var own system.Solution
		if err := system.SolveDelassus(t.Context(), d, o, &own); err != nil {
			t.Fatal(err)
		}
		if s.Status[0] != contact.Solved || own.Status[0] != contact.Solved {
			if len(p.Compliance) > 0 {
				t.Errorf("trial %d: %v and %v", trial, s.Status[0], own.Status[0])
			}
			continue
		}
		if 3*c > n {
			singular++
		}
		if o.Model == contact.NCP && len(p.Compliance) == 0 { // solutions may differ
			continue
		}
		near := func(what string, got, want float64) {
			if d := math.Abs(got - want); !(d <= 1e-6*max(1, math.Abs(want))) {
				t.Errorf("trial %d, %v: %s %g, want %g", trial, o.Model, what, got, want)
			}
		}
		vBar, lBar, back := make([]float64, 3*c), make([]float64, 3*c), make([]float64, n)
		for i := range vBar {
			vBar[i] = rng.NormFloat64()
			if 3*c <= n || len(p.Compliance) > 0 {
				lBar[i] = rng.NormFloat64()
			}
			v := 0.0
			for j := range n {
				x := p.Jacobian[i*n+j]
				v += x * s.Velocity[j]
				back[j] += x * vBar[i]
			}
			if len(p.Offset) > 0 {
				v += p.Offset[i]
			}
			near("velocity", own.Velocity[i], v)
		}
		var g system.Gradient
		var of system.DelassusGradient
		if err := system.VJP(t.Context(), p, s, o, back, lBar, &g); err != nil {
			t.Fatal(err)
		}
		if err := system.VJPDelassus(t.Context(), d, &own, o, vBar, lBar, &of); err != nil {
			t.Fatal(err)
		}
		if g.Smoothness[0] != adjoint.Smooth || g.Margin[0] < 1e-3 {
			continue
		}
		compared++
		near("margin", of.Margin[0], g.Margin[0])
		for i := range c {
			near("friction", of.Friction[i], g.Friction[i])
			near("target", of.Target[i], g.Target[i])
			if of.Mode[i] != g.Mode[i] {
				t.Errorf("trial %d: mode %v, want %v", trial, of.Mode[i], g.Mode[i])
			}
		}
		for i := range p.Compliance {
			near("compliance", of.Compliance[i], g.Compliance[i])
		}
		for i := range p.Offset { // velocities of the contacts include the offset here
			near("free", of.Free[i], g.Offset[i]+vBar[i])
		}
		var y, m mat.Dense // M̄ = −M⁻¹Jᵀ·Ḡ·JM⁻¹
		if err := y.Solve(mat.NewDense(n, n, p.Mass), mat.NewDense(3*c, n, p.Jacobian).T()); err != nil {
			t.Fatal(err)
		}
		m.Product(&y, mat.NewDense(3*c, 3*c, of.Matrix), y.T())
		for i := range n {
			for j := range n {
				near("mass", -m.At(i, j), g.Mass[i*n+j])
			}
		}
	}
	t.Logf("%d compared, %d singular", compared, singular)
	if compared < 80 || singular < 40 {
		t.Errorf("%d compared, %d singular", compared, singular)
	}
}

// Matrices that are not symmetric, not finite or not positive semidefinite have names, and other worlds are solved.
func TestDelassusInvalid(t *testing.T) {
	d := &system.Delassus{Worlds: 5, Contacts: 1, Count: []int32{1, 1, 1, 1, 1}, Friction: make([]float64, 5)}
	for range 5 {
		d.Matrix = append(d.Matrix, 2, 0, 0, 0, 2, 0, 0, 0, 2)
		d.Free = append(d.Free, 0, 0, -1)
	}
	d.Matrix[1], d.Matrix[9], d.Matrix[18+8], d.Free[9] = 1, math.NaN(), -1, math.Inf(1)
	var s system.Solution
	if err := system.SolveDelassus(t.Context(), d, system.Options{Bound: true}, &s); err != nil {
		t.Fatal(err)
	}
	for w, want := range []string{"the number in the other half", "finite", "positive semidefinite", "free: number 0"} {
		err := d.CheckWorld(w)
		if s.Status[w] != contact.Invalid || !errors.As(err, new(*contact.WorldError)) ||
			!strings.Contains(err.Error(), want) || !math.IsNaN(s.Velocity[3*w]) {
			t.Errorf("world %d: %v, %v, velocity %g", w, s.Status[w], err, s.Velocity[3*w])
		}
	}
	if s.Status[4] != contact.Solved || math.Abs(s.Impulse[14]-0.5) > 1e-6 || math.Abs(s.Velocity[14]) > 1e-6 {
		t.Errorf("%v, impulse %g, velocity %g", s.Status[4], s.Impulse[14], s.Velocity[14])
	}
	short := &system.Delassus{Worlds: 1, Contacts: 1}
	if err := system.SolveDelassus(t.Context(), short, system.Options{}, &s); err == nil {
		t.Error("no matrix, no error")
	}
}
