package system_test

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/contact/system"
	"clearance/tests/need"
)

// Derivatives are compared with differences of fourth order in numbers of 160 bits. While the modes last the solution
// is that of a smooth system, which Newton's method solves to 36 digits, so that the differences are right to 20.

func exactly(x float64) *big.Float { return new(big.Float).SetPrec(160).SetFloat64(x) }

func plus(a, b *big.Float) *big.Float  { return exactly(0).Add(a, b) }
func minus(a, b *big.Float) *big.Float { return exactly(0).Sub(a, b) }
func times(a, b *big.Float) *big.Float { return exactly(0).Mul(a, b) }

// line is the problem of one world on p + t·d, at fixed modes. Its unknowns are v and λ.
type line struct {
	p     *system.Problem
	d     *system.Parameters
	model contact.Model
	modes []adjoint.Mode
}

// value is entry i of a column at t. Columns that are absent are zero.
func value(column, tangent []float64, i int, t *big.Float) *big.Float {
	x := exactly(0)
	if len(column) > 0 {
		x.SetFloat64(column[i])
	}
	if len(tangent) > 0 {
		x.Add(x, times(exactly(tangent[i]), t))
	}
	return x
}

// residuals are those of M(v − v_f) = Jᵀλ and of the modes.
func (f *line) residuals(x []*big.Float, t *big.Float) (out []*big.Float) {
	p, d, n := f.p, f.d, f.p.Velocities
	v, lambda := x[:n], x[n:]
	change := make([]*big.Float, n)
	for i := range change {
		change[i] = minus(v[i], value(p.Velocity, d.Velocity, i, t))
	}
	for i := range n {
		sum := exactly(0)
		for j := range n {
			sum.Add(sum, times(value(p.Mass, d.Mass, max(i, j)*n+min(i, j), t), change[j]))
		}
		out = append(out, sum)
	}
	for i, mode := range f.modes {
		var c [3]*big.Float
		for a := range 3 {
			c[a] = value(p.Offset, d.Offset, 3*i+a, t)
			for j := range n {
				x := value(p.Jacobian, d.Jacobian, (3*i+a)*n+j, t)
				c[a].Add(c[a], times(x, v[j]))
				out[j].Sub(out[j], times(x, lambda[3*i+a]))
			}
			c[a].Add(c[a], times(value(p.Compliance, d.Compliance, 2*i+a/2, t), lambda[3*i+a]))
		}
		c[2].Sub(c[2], value(p.Target, d.Target, i, t))
		l := lambda[3*i : 3*i+3]
		switch mode {
		case adjoint.Open:
			out = append(out, l...)
		case adjoint.Stick:
			out = append(out, c[:]...)
		case adjoint.Slide:
			mu := value(p.Friction, d.Friction, i, t)
			slip := exactly(0).Sqrt(plus(times(c[0], c[0]), times(c[1], c[1])))
			for a := range 2 { // λ_T·‖c_T‖ = −μλ_N·c_T
				out = append(out, plus(times(l[a], slip), times(times(mu, l[2]), c[a])))
			}
			if f.model == contact.CCP {
				c[2].Sub(c[2], times(mu, slip))
			}
			out = append(out, c[2])
		}
	}
	return out
}

// newton returns the inverse of the derivative of the residuals by v and λ, by differences; nil if it is singular.
func (f *line) newton(x []*big.Float) *mat.Dense {
	j := mat.NewDense(len(x), len(x), nil)
	h := 0x1p-70
	for k := range x {
		at := x[k]
		x[k] = plus(at, exactly(h))
		after := f.residuals(x, exactly(0))
		x[k] = minus(at, exactly(h))
		before := f.residuals(x, exactly(0))
		x[k] = at
		for i := range x {
			d, _ := minus(after[i], before[i]).Float64()
			j.Set(i, k, d/(2*h))
		}
	}
	var inverse mat.Dense
	if inverse.Inverse(j) != nil { // also where it is ill-conditioned
		return nil
	}
	return &inverse
}

// solve moves x to the solution at t.
func (f *line) solve(inverse *mat.Dense, x []*big.Float, t *big.Float) bool {
	for range 40 {
		right, most := mat.NewVecDense(len(x), nil), 0.0
		for i, r := range f.residuals(x, t) {
			e, _ := r.Float64()
			most = max(most, math.Abs(e))
			right.SetVec(i, e)
		}
		if most < 1e-36 {
			return true
		}
		right.MulVec(inverse, right)
		for i := range x {
			x[i] = minus(x[i], exactly(right.AtVec(i)))
		}
	}
	return false
}

// exactTangents are the tangents of velocities and impulses of a solved world, by differences. It sets the impulses of
// the solution to those that the modes have exactly, if polish is set. It is nil without a regular system.
func exactTangents(p *system.Problem, s *system.Solution, model contact.Model, d *system.Parameters,
	r *adjoint.Report, polish bool) (out [2][]float64) {
	f := &line{p, d, model, r.Mode}
	var x []*big.Float
	for _, v := range append(append([]float64{}, s.Velocity...), s.Impulse...) {
		x = append(x, exactly(v))
	}
	inverse := f.newton(x)
	if inverse == nil || !f.solve(inverse, x, exactly(0)) {
		return out
	}
	n := p.Velocities
	if polish {
		for i := range s.Impulse {
			s.Impulse[i], _ = x[n+i].Float64()
		}
	}
	h := 0x1p-24 * max(1e-4, min(1, r.Margin[0]))
	sums := make([]*big.Float, len(x))
	for i := range sums {
		sums[i] = exactly(0)
	}
	for _, step := range [4][2]float64{{-2, 1}, {-1, -8}, {1, 8}, {2, -1}} {
		at := append([]*big.Float{}, x...)
		if !f.solve(inverse, at, exactly(step[0]*h)) {
			return out
		}
		for i := range sums {
			sums[i].Add(sums[i], times(exactly(step[1]), at[i]))
		}
	}
	for i, sum := range sums {
		e, _ := sum.Float64()
		part := 0
		if i >= n {
			part = 1
		}
		out[part] = append(out[part], e/(12*h))
	}
	return out
}

// tangentOf is a random tangent of all parameters of a problem, with a symmetric one of M.
func tangentOf(rng *rand.Rand, p *system.Problem) *system.Parameters {
	fill := func(like []float64) (x []float64) {
		for range like {
			x = append(x, rng.NormFloat64())
		}
		return x
	}
	d := &system.Parameters{Velocity: fill(p.Velocity), Mass: fill(p.Mass), Jacobian: fill(p.Jacobian),
		Target: fill(p.Target), Friction: fill(p.Friction), Compliance: fill(p.Compliance), Offset: fill(p.Offset)}
	n := p.Velocities
	for i := range n {
		for j := range i {
			d.Mass[j*n+i] = d.Mass[i*n+j]
		}
	}
	return d
}

func product(a, b []float64) (sum, size float64) {
	for i, x := range b {
		sum, size = sum+a[i]*x, size+math.Abs(a[i]*x)
	}
	return sum, size
}

// JVP agrees with differences to 1e-10 at exact solutions and to 1e-9 at those of a tolerance of 1e-13, and VJP with
// JVP to 1e-11: all are the precision times the condition of the system.
func TestExact(t *testing.T) {
	trials := 80
	if need.All() {
		trials = 4000
	}
	rng := rand.New(rand.NewPCG(48, 2))
	var m system.Solver
	compared, left := [2]map[string]int{{}, {}}, map[string]int{}
	worst, transposed := map[string][2]float64{}, 0.0
	for trial := range trials {
		n, c := 2+rng.IntN(8), 1+rng.IntN(3)
		p := random(rng, n, c)
		o := system.Options{Model: contact.Model(trial % 2), Tolerance: 1e-13, Workers: 1}
		s := solved(t, p, o)
		d := tangentOf(rng, p)
		var dot system.Tangent
		var g system.Gradient
		jvp := func() {
			if err := m.JVP(t.Context(), p, s, o, d, &dot); err != nil {
				t.Fatal(err)
			}
		}
		jvp()
		if dot.Smoothness[0] != adjoint.Smooth {
			left[dot.Smoothness[0].String()]++
			continue
		}
		for polished := range 2 {
			want := exactTangents(p, s, o.Model, d, &dot.Report, polished == 1)
			if want[0] == nil {
				left["singular"]++
				break
			}
			if polished == 1 {
				jvp()
			}
			name := o.Model.String() + namesOf(dot.Mode)
			e := worst[name]
			for part, got := range [2][]float64{dot.Velocity, dot.Impulse} {
				e[polished] = max(e[polished], errorOf(got, want[part]))
				if limit := [2]float64{1e-9, 1e-10}[polished]; !(errorOf(got, want[part]) <= limit) {
					t.Errorf("trial %d: %s: part %d is off by %g (margin %g, exact impulses: %d)", trial, name, part,
						errorOf(got, want[part]), dot.Margin[0], polished)
				}
			}
			worst[name] = e
			compared[polished][name]++
		}
		vBar, lBar := make([]float64, n), make([]float64, 3*c)
		for _, x := range [][]float64{vBar, lBar} {
			for i := range x {
				x[i] = rng.NormFloat64()
			}
		}
		if err := m.VJP(context.Background(), p, s, o, vBar, lBar, &g); err != nil {
			t.Fatal(err)
		}
		sum, size := 0.0, 0.0
		for _, x := range [][2][]float64{{g.Velocity, d.Velocity}, {g.Mass, d.Mass}, {g.Jacobian, d.Jacobian},
			{g.Target, d.Target}, {g.Friction, d.Friction}, {g.Compliance, d.Compliance}, {g.Offset, d.Offset}} {
			a, b := product(x[0], x[1])
			sum, size = sum+a, size+b
		}
		for _, x := range [][2][]float64{{vBar, dot.Velocity}, {lBar, dot.Impulse}} {
			a, b := product(x[0], x[1])
			sum, size = sum-a, size+b
		}
		transposed = max(transposed, math.Abs(sum)/size)
		if !(math.Abs(sum) <= 1e-11*size) {
			t.Errorf("trial %d: products of both sides differ by %g", trial, math.Abs(sum)/size)
		}
	}
	for name, e := range worst {
		t.Logf("%s: %d problems, worst %.1e of solutions, %.1e of exact ones", name, compared[1][name], e[0], e[1])
	}
	t.Logf("left out: %v; products of both sides within %.1e", left, transposed)
	if len(worst) < 8 {
		t.Errorf("%d combinations of modes", len(worst))
	}
}

// errorOf is the largest error, relative to the largest of the numbers wanted and to the parameters, of order one.
func errorOf(got, want []float64) (e float64) {
	most := 1.0
	for _, x := range want {
		most = max(most, math.Abs(x))
	}
	for i, x := range want {
		e = max(e, math.Abs(x-got[i])/most)
	}
	return e
}

// namesOf names the modes that contacts have.
func namesOf(modes []adjoint.Mode) (name string) {
	for mode := adjoint.Open; mode <= adjoint.Slide; mode++ {
		for _, m := range modes {
			if m == mode {
				name += " " + mode.String()
				break
			}
		}
	}
	return name
}
