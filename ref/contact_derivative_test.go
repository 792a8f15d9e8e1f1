package ref

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/internal/testkit"
)

// cascade is the derivative of the fixed point of staggered projections as [AGIMUS2023] has it, after [LeLidec2021]:
// of two programs that take the solution of each other as data. It has no use of modes but the active sets.
//
//	QP    λ_N ≥ 0 minimizes ½λ_NᵀG_NN·λ_N + (g_N + G_NT·λ_T)ᵀλ_N
//	QCQP  ‖λ_T‖ ≤ μλ_N minimizes ½λ_TᵀG_TT·λ_T + (g_T + G_TN·λ_N)ᵀλ_T
type cascade struct {
	p      *Contacts
	lambda []float64
	q      []float64 // dG·λ + dg at fixed λ
	dmu    []float64
	normal []int // contacts with λ_N > 0
	active []int // of them those on the boundary of their disc
	gamma  []float64
}

func newCascade(p *Contacts, lambda, q, dmu []float64) *cascade {
	s := &cascade{p: p, lambda: lambda, q: q, dmu: dmu, gamma: make([]float64, p.Points())}
	c := p.contactVelocity(lambda)
	for i := range p.Points() {
		l := lambda[3*i : 3*i+3]
		if !(l[2] > 1e-7) {
			continue
		}
		s.normal = append(s.normal, i)
		t := math.Hypot(l[0], l[1])
		if p.mu[i] > 0 && t > (1-1e-6)*p.mu[i]*l[2] {
			s.active = append(s.active, i)
			s.gamma[i] = math.Hypot(c[3*i], c[3*i+1]) / t // the multiplier: c_T + γλ_T = 0
		}
	}
	return s
}

// stepNormal differentiates the QP: its active constraints keep λ_N = 0, the rest has c_N = 0.
func (s *cascade) stepNormal(d []float64) {
	n := len(s.normal)
	if n == 0 {
		return
	}
	a, b := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	for r, i := range s.normal {
		sum := s.q[3*i+2]
		for k, j := range s.normal {
			a.Set(r, k, s.p.g.At(3*i+2, 3*j+2))
			sum += s.p.g.At(3*i+2, 3*j)*d[3*j] + s.p.g.At(3*i+2, 3*j+1)*d[3*j+1]
		}
		b.SetVec(r, -sum)
	}
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil {
		return
	}
	for r, i := range s.normal {
		d[3*i+2] = x.AtVec(r)
	}
}

// stepTangential differentiates the conditions of Karush, Kuhn and Tucker of the QCQP: of the unknowns λ_T and the
// multipliers of active discs.
func (s *cascade) stepTangential(d []float64) {
	n, m := 2*len(s.normal), len(s.active)
	if n == 0 {
		return
	}
	a, b := mat.NewDense(n+m, n+m, nil), mat.NewVecDense(n+m, nil)
	for r, i := range s.normal {
		for e := range 2 {
			sum := s.q[3*i+e]
			for k, j := range s.normal {
				for f := range 2 {
					a.Set(2*r+e, 2*k+f, s.p.g.At(3*i+e, 3*j+f))
				}
				sum += s.p.g.At(3*i+e, 3*j+2) * d[3*j+2]
			}
			a.Set(2*r+e, 2*r+e, a.At(2*r+e, 2*r+e)+s.gamma[i])
			b.SetVec(2*r+e, -sum)
		}
		if s.p.mu[i] == 0 {
			for e := range 2 { // a disc without extent
				for k := range n + m {
					a.Set(2*r+e, k, 0)
				}
				a.Set(2*r+e, 2*r+e, 1)
				b.SetVec(2*r+e, 0)
			}
		}
		for k, j := range s.active {
			if j != i {
				continue
			}
			l, mu := s.lambda[3*i:3*i+3], s.p.mu[i]
			for e := range 2 {
				a.Set(2*r+e, n+k, l[e])
				a.Set(n+k, 2*r+e, l[e])
			}
			b.SetVec(n+k, mu*mu*l[2]*d[3*i+2]+mu*l[2]*l[2]*s.dmu[i])
		}
	}
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil {
		return
	}
	for r, i := range s.normal {
		d[3*i], d[3*i+1] = x.AtVec(2*r), x.AtVec(2*r+1)
	}
}

// solve iterates the derivative of the fixed point, and reports whether it converges.
func (s *cascade) solve() (d []float64, ok bool) {
	d = make([]float64, len(s.lambda))
	for range 5000 {
		before := append([]float64{}, d...)
		s.stepNormal(d)
		s.stepTangential(d)
		change := 0.0
		for i := range d {
			change = max(change, math.Abs(d[i]-before[i]))
		}
		if change <= 1e-13*max(1, largestOf(d)) {
			return d, true
		}
	}
	return d, false
}

// derivativeProblem is a problem of up to three bodies with contacts in any direction.
func derivativeProblem(rng *rand.Rand) ([]ContactBody, []ContactPoint) {
	n := 1 + rng.IntN(3)
	var bodies []ContactBody
	for range n {
		b := cuboid(math.Exp(rng.NormFloat64()/2), r3.Vec{X: 0.3 + rng.Float64(), Y: 0.3 + rng.Float64(),
			Z: 0.3 + rng.Float64()}, r3.Vec{})
		for i := range b.Velocity {
			b.Velocity[i] = rng.NormFloat64()
		}
		bodies = append(bodies, b)
	}
	var points []ContactPoint
	for range 1 + rng.IntN(2*n) {
		a, b := rng.IntN(n+1)-1, rng.IntN(n)
		if a == b {
			a = -1
		}
		any := func() r3.Vec { return r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()} }
		normal := testkit.Unit(rng)
		t1 := r3.Unit(r3.Cross(normal, any()))
		points = append(points, ContactPoint{A: a, B: b, ArmA: any(), ArmB: any(),
			Frame: [3]r3.Vec{t1, r3.Cross(normal, t1), normal}, Friction: rng.Float64(),
			Target: 0.3 * rng.NormFloat64(), Compliance: [2]float64{0.05 * rng.Float64(), 0.05 * rng.Float64()}})
	}
	return bodies, points
}

// TestDerivativeOfStaggeredProjections: the derivative of the fixed point of the cascade of programs is that of the
// modes, on 100 problems, by free velocities, targets, friction and compliances.
func TestDerivativeOfStaggeredProjections(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 48))
	compared, undecided, diverged, worst, sliding := 0, 0, 0, 0.0, 0
	for compared < 100 {
		bodies, points := derivativeProblem(rng)
		p, err := contactsIn(siUnits, bodies, points)
		if err != nil {
			t.Fatal(err)
		}
		r := p.NCPStaggered(ContactOptions{Tolerance: 1e-12, Limit: 1000})
		if r.Residual.Relative() > 1e-10 {
			undecided++
			continue
		}
		d, err := p.Derivative(ContactNCP, r.Impulse)
		if err != nil {
			t.Fatal(err)
		}
		size := p.free.Len()
		free, bar := mat.NewVecDense(size, nil), make([]float64, size)
		for i := range size {
			free.SetVec(i, rng.NormFloat64())
			bar[i] = rng.NormFloat64()
		}
		var q mat.VecDense
		q.MulVec(p.j, free)
		n := p.Points()
		target, dmu, compliance := make([]float64, n), make([]float64, n), make([]float64, 3*n)
		for i := range target {
			target[i], dmu[i] = rng.NormFloat64(), rng.NormFloat64()
			q.SetVec(3*i+2, q.AtVec(3*i+2)-target[i])
			for e := range 3 {
				compliance[3*i+e] = rng.NormFloat64()
				q.SetVec(3*i+e, q.AtVec(3*i+e)+compliance[3*i+e]*r.Impulse[3*i+e])
			}
		}
		s := newCascade(p, r.Impulse, q.RawVector().Data, dmu)
		dl, ok := s.solve()
		if !ok {
			diverged++
			continue
		}
		var force, dv mat.VecDense
		force.MulVec(p.j.T(), mat.NewVecDense(len(dl), dl))
		if err := p.mass.SolveVecTo(&dv, &force); err != nil {
			t.Fatal(err)
		}
		dv.AddVec(&dv, free)
		g := d.VJP(bar)
		want := dotSlices(g.Velocity, free.RawVector().Data) + dotSlices(g.Target, target) +
			dotSlices(g.Friction, dmu) + dotSlices(g.Compliance, compliance)
		got := dotSlices(bar, dv.RawVector().Data)
		e := math.Abs(got-want) / max(1, math.Abs(want))
		compared++
		if len(s.active) > 0 {
			sliding++
		}
		worst = max(worst, e)
		if !(e <= 1e-7) { // the solution of a residual of 1e-10 has a derivative that far off
			t.Errorf("problem %d: product %.12g, of the modes %.12g (%d contacts, %d slide)", compared, got, want,
				p.Points(), len(s.active))
		}
	}
	t.Logf("%d problems, %d with contacts that slide, worst difference %.1e; %d undecided, in %d the derivative "+
		"of the iteration diverges", compared, sliding, worst, undecided, diverged)
	if sliding < 30 || diverged > 10 {
		t.Errorf("%d problems slide, %d diverge", sliding, diverged)
	}
}
