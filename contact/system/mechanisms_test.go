package system_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/contact/system"
)

// A double pendulum of point masses whose tip meets the ground. With Jv = (ẋ, 0, ż) of the tip it sticks with v = 0,
// or slides along s = sign ẋ with w = M⁻¹(J_n − μsJ_x)ᵀ, λ_N = −J_n·v_f/(J_n·w) and v = v_f + λ_N·w, of which the
// derivative by μ follows with w' = −sM⁻¹J_xᵀ.
func TestDoublePendulum(t *testing.T) {
	const m1, m2, l1, l2 = 1.3, 0.7, 0.8, 1.1
	sticks, slides := 0, 0
	rng := rand.New(rand.NewPCG(48, 7))
	for trial := range 300 {
		a, b := 2*math.Pi*rng.Float64(), 2*math.Pi*rng.Float64() // angles from the vertical
		across := m2 * l1 * l2 * math.Cos(a-b)
		m := []float64{(m1 + m2) * l1 * l1, across, across, m2 * l2 * l2}
		jx := []float64{l1 * math.Cos(a), l2 * math.Cos(b)}
		jz := []float64{l1 * math.Sin(a), l2 * math.Sin(b)}
		free := []float64{rng.NormFloat64(), rng.NormFloat64()}
		if jz[0]*free[0]+jz[1]*free[1] > 0 {
			free[0], free[1] = -free[0], -free[1]
		}
		if math.Abs(jx[0]*jz[1]-jx[1]*jz[0]) < 0.05 { // stretched, where the tip moves along an arc alone
			continue
		}
		mu := rng.Float64()
		p := &system.Problem{Worlds: 1, Velocities: 2, Contacts: 1, Mass: m, Velocity: free, Count: []int32{1},
			Jacobian: []float64{jx[0], jx[1], 0, 0, jz[0], jz[1]}, Friction: []float64{mu}}
		o := system.Options{Tolerance: 1e-13}
		s := solved(t, p, o)
		if s.Status[0] != contact.Solved {
			t.Fatalf("trial %d: %v", trial, s.Status[0])
		}
		det := m[0]*m[3] - m[1]*m[2]
		inverse := func(x []float64) []float64 {
			return []float64{(m[3]*x[0] - m[1]*x[1]) / det, (m[0]*x[1] - m[2]*x[0]) / det}
		}
		dot := func(x, y []float64) float64 { return x[0]*y[0] + x[1]*y[1] }
		v, derivative := []float64{0, 0}, []float64{0, 0}
		var g system.Gradient
		gradient := func(i int) float64 {
			bar := []float64{0, 0}
			bar[i] = 1
			if err := system.VJP(t.Context(), p, s, o, bar, nil, &g); err != nil {
				t.Fatal(err)
			}
			return g.Friction[0]
		}
		if gradient(0); g.Smoothness[0] != adjoint.Smooth || g.Margin[0] < 1e-3 {
			continue
		}
		// The impulse that stops the tip lies in the cone, or it slides.
		x, z := inverse(jx), inverse(jz)
		xx, xz, zz := dot(jx, x), dot(jx, z), dot(jz, z)
		cx, cz := dot(jx, free), dot(jz, free)
		lx, lz := -(zz*cx-xz*cz)/(xx*zz-xz*xz), -(xx*cz-xz*cx)/(xx*zz-xz*xz)
		want := adjoint.Stick
		if math.Abs(lx) > mu*lz {
			want = adjoint.Slide
			slip := dot(jx, s.Velocity)
			sign := math.Copysign(1, slip)
			w := inverse([]float64{jz[0] - mu*sign*jx[0], jz[1] - mu*sign*jx[1]})
			dw := []float64{-sign * x[0], -sign * x[1]}
			l := -cz / dot(jz, w)
			dl := cz * dot(jz, dw) / (dot(jz, w) * dot(jz, w))
			for i := range 2 {
				v[i], derivative[i] = free[i]+l*w[i], dl*w[i]+l*dw[i]
			}
			slides++
		} else {
			sticks++
		}
		if g.Mode[0] != want {
			t.Errorf("trial %d: %v, want %v", trial, g.Mode[0], want)
			continue
		}
		for i := range 2 {
			if d := math.Abs(s.Velocity[i] - v[i]); !(d <= 1e-10*max(1, math.Abs(v[i]))) {
				t.Errorf("trial %d, %v: velocity[%d] = %g, want %g", trial, want, i, s.Velocity[i], v[i])
			}
			if got := gradient(i); !(math.Abs(got-derivative[i]) <= 1e-9*max(1, math.Abs(derivative[i]))) {
				t.Errorf("trial %d, %v: dv[%d]/dμ = %g, want %g", trial, want, i, got, derivative[i])
			}
		}
	}
	if sticks < 40 || slides < 40 {
		t.Errorf("%d stick, %d slide", sticks, slides)
	}
}

// Mass matrices of a condition of 1e4 to 1e10 lose that part of the precision: velocities are solved to a tolerance of
// 1e-9, bounds hold or are infinite, and tangents at exact solutions are right to 1e-15 times the condition.
func TestIllConditioned(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 8))
	compared, solvedWorlds := 0, 0
	for trial := range 60 {
		n, c := 3+rng.IntN(5), 1+rng.IntN(2)
		p := random(rng, n, c)
		var svd mat.SVD
		square := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				square.Set(i, j, rng.NormFloat64())
			}
		}
		svd.Factorize(square, mat.SVDFull)
		var q, m mat.Dense
		svd.UTo(&q)
		condition := math.Pow(10, 4+6*rng.Float64())
		values := mat.NewDiagDense(n, nil)
		for i := range n {
			values.SetDiag(i, math.Pow(condition, -float64(i)/float64(n-1)))
		}
		m.Product(&q, values, q.T())
		for i := range n {
			for j := range i + 1 {
				p.Mass[i*n+j], p.Mass[j*n+i] = m.At(i, j), m.At(i, j)
			}
		}
		o := system.Options{Model: contact.Model(trial % 2), Tolerance: 1e-9, Bound: true}
		s := solved(t, p, o)
		if s.Status[0] != contact.Solved {
			continue
		}
		solvedWorlds++
		d := tangentOf(rng, p)
		for i := range d.Mass {
			d.Mass[i] /= condition
		}
		var dot system.Tangent
		jvp := func() {
			if err := system.JVP(t.Context(), p, s, o, d, &dot); err != nil {
				t.Fatal(err)
			}
		}
		if jvp(); dot.Smoothness[0] != adjoint.Smooth || dot.Margin[0] < 1e-4 {
			continue
		}
		want := exactTangents(p, s, o.Model, d, &dot.Report, true)
		if want[0] == nil {
			continue
		}
		jvp()
		compared++
		if e := errorOf(dot.Velocity, want[0]); !(e <= 1e-15*condition) {
			t.Errorf("trial %d: condition %.1e: tangents are off by %g", trial, condition, e)
		}
	}
	t.Logf("%d solved, %d compared", solvedWorlds, compared)
	if solvedWorlds < 50 || compared < 30 {
		t.Errorf("%d solved, %d compared", solvedWorlds, compared)
	}
}
