package ref

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/spatial/r3"
)

// leastInternal is the least internal force of impulses that move the bodies as λ does and obey the same law at the
// contacts that slide under λ: λ_T = −μλ_N·c_T/‖c_T‖. Contacts that stick or are open are free.
func leastInternal(t *testing.T, p *Contacts, lambda []float64) (least float64, sliding int) {
	t.Helper()
	var columns [][]float64 // of the impulses that the law allows
	unit := func(i int, v float64) []float64 {
		c := make([]float64, len(lambda))
		c[i] = v
		return c
	}
	for k := range p.Points() {
		l := lambda[3*k : 3*k+3]
		c := [3]float64{}
		for i := range c {
			c[i] = p.row(3*k+i, lambda)
		}
		slip := math.Hypot(c[0], c[1])
		if l[2] > 1e-9 && slip > 1e-6 {
			sliding++
			a := unit(3*k+2, 1)
			a[3*k], a[3*k+1] = -p.mu[k]*c[0]/slip, -p.mu[k]*c[1]/slip
			columns = append(columns, a)
			continue
		}
		for i := range 3 {
			columns = append(columns, unit(3*k+i, 1))
		}
	}
	n, m := len(lambda), len(columns)
	a := mat.NewDense(n, m, nil)
	for j, c := range columns {
		a.SetCol(j, c)
	}
	// Among A·x with Jᵀ·A·x = Jᵀλ, the least part outside of the range of J: ‖λ − U·Uᵀλ − A·Z·y‖ over y, Z the null
	// space of JᵀA, whose columns do not change what moves the bodies.
	var moved mat.Dense
	moved.Mul(p.j.T(), a)
	var svd mat.SVD
	if !svd.Factorize(&moved, mat.SVDFull) {
		t.Fatal("no singular values")
	}
	var v mat.Dense
	svd.VTo(&v)
	values := svd.Values(nil)
	rank := 0
	for rank < len(values) && values[rank] > 1e-10*values[0] {
		rank++
	}
	rest := mat.NewVecDense(n, p.internalPart(lambda))
	if m == rank {
		return mat.Norm(rest, 2), sliding
	}
	var null mat.Dense
	null.Mul(a, v.Slice(0, m, rank, m))
	var q mat.SVD
	if !q.Factorize(&null, mat.SVDThin) {
		t.Fatal("no singular values")
	}
	var u mat.Dense
	q.UTo(&u)
	for k, s := range q.Values(nil) {
		if s > 1e-10 {
			c := u.ColView(k)
			rest.AddScaledVec(rest, -mat.Dot(c, rest), c)
		}
	}
	return mat.Norm(rest, 2), sliding
}

// TestInternalForces: Newton's answers have no internal forces where all contacts stick, as λ starts without them and
// each step adds a vector of the range of J. Where contacts slide, Coulomb's law leaves no choice: friction is μλ_N
// against the slip at every contact, while the range of J holds rigid motions of the contact points alone. For a
// sliding box the answer has the least internal force that the law allows.
func TestInternalForces(t *testing.T) {
	o := ContactOptions{Tolerance: 1e-10, Limit: 400}
	box := contactsOf(t, []ContactBody{cuboid(1, r3.Vec{X: 0.1, Y: 0.09, Z: 0.08}, r3.Vec{X: 1, Y: 0.4})},
		corners4(-1, 0, r3.Vec{X: 0.1, Y: 0.09, Z: 0.08}, 0, 0.5, 0))
	for _, c := range []struct {
		name    string
		p       *Contacts
		sliding int
	}{{"tower at rest", tower(t, 4, 0), 0}, {"tower that sticks", tower(t, 4, 0.02), 0}, {"sliding box", box, 4}} {
		for _, s := range []struct {
			name  string
			solve func(ContactOptions) ContactResult
		}{{"ccp", c.p.CCPNewton}, {"ncp", c.p.NCPNewton}} {
			r := s.solve(o)
			least, sliding := leastInternal(t, c.p, r.Impulse)
			t.Logf("%s, %s: internal %.3g N·s, at least %.3g", c.name, s.name, r.Residual.Internal, least)
			if !r.Decided || sliding != c.sliding {
				t.Errorf("%s, %s: decided %t, %d contacts slide, want %d", c.name, s.name, r.Decided, sliding,
					c.sliding)
			}
			if r.Residual.Internal > 1.01*least+1e-12 {
				t.Errorf("%s, %s: internal force %g N·s, at least %g", c.name, s.name, r.Residual.Internal, least)
			}
			if (least > 1e-3) != (c.sliding > 0) {
				t.Errorf("%s, %s: the least internal force is %g N·s", c.name, s.name, least)
			}
		}
		pgs := c.p.NCPPGS(o)
		if c.sliding == 0 && !(pgs.Residual.Internal > 1e-3) {
			t.Errorf("%s: sweeps leave %g N·s: nothing to remove", c.name, pgs.Residual.Internal)
		}
	}
}
