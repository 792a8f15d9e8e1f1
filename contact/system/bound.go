package system

import (
	"context"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
)

// The bound of the error of the CCP. With s = R^½λ as further velocities, of mass 1, the CCP is the dual of the
// projection of (v_f, 0) on {Jv − c* + R^½s ∈ K*} in the metric of M. So for impulses λ ∈ K and feasible (v', s') the
// duality gap is
//
//	γ = ½‖v' − v_λ‖²_M + ½‖s' − R^½λ‖² + λᵀ(Jv' − c* + R^½s'),  v_λ = v_f + M⁻¹Jᵀλ,
//
// and ½‖v_λ − v*‖²_M ≤ γ. The velocities v of the answer differ from v_λ by rounding: with r = M(v − v_f) − Jᵀλ and
// δ = ‖r‖_M⁻¹ that is ‖v − v_λ‖_M = δ. Let w = max(0, μ‖c_T‖ − c_N) be the violations of c = Jv − c* + Rλ ∈ K*.
//
//   - If every contact has a normal compliance, s'_N = R_N^½λ_N + R_N^-½w is feasible with v' = v, and
//     γ = λᵀc + ½δ² + Σ λ_N·w + ½w²/R_N.
//   - With an escape velocity v_0, which has m = (Jv_0)_N − μ‖(Jv_0)_T‖ > 0 at every contact, v' = v + σv_0 is feasible
//     for σ = max w/m, and γ ≤ λᵀc + σλᵀJv_0 + ½(σ‖v_0‖_M + δ)².
//
// Then ‖J_i(v − v*)‖ ≤ √h_i·(√(2γ) + δ) with the trace h_i of J_iM⁻¹J_iᵀ. Without escape velocity the mechanism is
// jammed, and the bound is +Inf.
//
// All sums have bounds of their rounding errors, with the unit u = 2⁻⁵³ times the number and the size of their terms.
// What is solved with L has relative errors instead: of L⁻¹x at most nuκ with κ = ‖|L⁻¹||L|‖_F, since each row of a
// triangular solve is that of a matrix perturbed by at most nu|L|; and M ≥ (1 − (n+2)uκ²)LLᵀ, since |LLᵀ − M| ≤
// (n+1)u|L||Lᵀ| [Higham 2002, Theorems 8.5 and 10.3].

// bounds is the memory of bound.
type bounds struct {
	lambda     []r3.Vec
	change     []float64 // v − v_f
	escape     []float64 // v_0
	size       []float64
	residual   []float64
	inverse    []float64 // |L⁻¹|
	compliance [][2]float64
}

const unitRoundoff = 0x1p-53

// bound returns the bound of ‖J_i(v − v*)‖ over the contacts of the island, for the velocities after and the impulses
// best. It is the last call of an island, and leaves another problem in it.
func (s *solver) bound(ctx context.Context) (most float64) {
	b, n := &s.bounds, s.n
	resize(&b.lambda, len(s.rows))
	for i, l := range s.best {
		b.lambda[i] = intoCone(l, s.rows[i].Mu)
	}
	growth, ok := s.growth()
	if !ok {
		return math.Inf(1)
	}
	delta := s.imbalance() * growth
	u := float64(n+8) * unitRoundoff
	rigid := false
	for i := range s.rows {
		rigid = rigid || !(s.rows[i].RN > 0)
	}
	if rigid {
		s.findEscape(ctx)
	}
	gap, push, sigma, compliant := 0.0, 0.0, 0.0, 0.0
	for i := range s.rows {
		r, l := &s.rows[i], b.lambda[i]
		c, round := s.slipOf(i, l, u)
		w := max(0, r.Mu*(hypot(c)+2*round)*(1+4*unitRoundoff)-c.Z+round)
		size := math.Abs(l.X) + math.Abs(l.Y) + math.Abs(l.Z)
		gap += r3.Dot(l, c) + (round+4*unitRoundoff*length(c))*size
		if !rigid {
			compliant += l.Z*w + w*w/(2*r.RN)
			continue
		}
		d := s.times(s.given, i, b.escape)
		round = u * s.terms(i, b.escape)
		push += r3.Dot(l, d) + (round+4*unitRoundoff*length(d))*size
		if m := d.Z - r.Mu*(hypot(d)+2*round)*(1+4*unitRoundoff) - round; m > 0 {
			sigma = max(sigma, w/m)
		} else if w > 0 {
			return math.Inf(1)
		}
	}
	gamma := gap + compliant + delta*delta/2
	if rigid {
		reach := sigma*s.lengthOf(b.escape) + delta
		gamma = gap + sigma*max(push, 0) + reach*reach/2
	}
	distance := math.Sqrt(2*max(gamma, 0)) + delta
	for i := range s.rows {
		most = max(most, math.Sqrt(s.rows[i].rigid)*growth*distance*(1+1e-12))
	}
	if math.IsNaN(most) {
		return math.Inf(1)
	}
	return most
}

// intoCone shortens the tangential part of an impulse to the cone; a negative normal impulse becomes zero.
func intoCone(l r3.Vec, mu float64) r3.Vec {
	if !(l.Z > 0) {
		return r3.Vec{}
	}
	if t := hypot(l); t > mu*l.Z*(1-8*unitRoundoff) {
		f := mu * l.Z / t * (1 - 16*unitRoundoff)
		l.X, l.Y = l.X*f, l.Y*f
	}
	return l
}

func hypot(v r3.Vec) float64 { return math.Hypot(v.X, v.Y) }

// growth sets |L⁻¹| and returns what rounding in L leaves of norms: those of M⁻¹ are at most so many times those that L
// gives. It is false if M is too close to a singular matrix.
func (s *solver) growth() (growth float64, ok bool) {
	b, n := &s.bounds, s.n
	resize(&b.inverse, n*n)
	clear(b.inverse)
	for j := range n { // column j of L⁻¹
		for i := j; i < n; i++ {
			sum := 0.0
			if i == j {
				sum = 1
			}
			for k := j; k < i; k++ {
				sum -= s.lower[i*n+k] * b.inverse[k*n+j]
			}
			b.inverse[i*n+j] = sum / s.lower[i*n+i]
		}
	}
	for i, x := range b.inverse {
		b.inverse[i] = math.Abs(x)
	}
	kappa := 0.0 // ‖|L⁻¹||L|‖²_F
	for i := range n {
		for j := range i + 1 {
			sum := 0.0
			for k := j; k <= i; k++ {
				sum += b.inverse[i*n+k] * math.Abs(s.lower[k*n+j])
			}
			kappa += sum * sum
		}
	}
	lost := 2 * float64(n+2) * unitRoundoff * kappa // twice, since |L⁻¹| is rounded itself
	return (1 + 2*float64(n)*unitRoundoff*math.Sqrt(kappa)) / math.Sqrt(1-lost), lost < 0.5
}

// imbalance returns the norm of r in that of LLᵀ.
func (s *solver) imbalance() float64 {
	b, n := &s.bounds, s.n
	for _, x := range [...]*[]float64{&b.change, &b.residual, &b.size} {
		resize(x, n)
	}
	for i, v := range s.after {
		b.change[i] = v - s.free[i]
	}
	for i := range n {
		b.residual[i], b.size[i] = 0, 0
		for j, m := range s.mass[i*n : (i+1)*n] {
			x := m * b.change[j]
			b.residual[i] += x
			b.size[i] += math.Abs(x)
		}
	}
	for i, l := range b.lambda {
		x, y, z := s.lineOf(s.given, i, 0), s.lineOf(s.given, i, 1), s.lineOf(s.given, i, 2)
		for k := range n {
			b.residual[k] -= l.X*x[k] + l.Y*y[k] + l.Z*z[k]
			b.size[k] += math.Abs(l.X*x[k]) + math.Abs(l.Y*y[k]) + math.Abs(l.Z*z[k])
		}
	}
	units, sum := float64(n+3*len(b.lambda)+8)*unitRoundoff, 0.0
	for i := range n {
		x := 0.0
		for k, f := range b.inverse[i*n : i*n+i+1] {
			x += f * (math.Abs(b.residual[k]) + units*b.size[k])
		}
		sum += x * x
	}
	return math.Sqrt(sum)
}

// slipOf returns c of contact i at the velocities after, from J, and a bound of the rounding error of its components.
func (s *solver) slipOf(i int, l r3.Vec, u float64) (c r3.Vec, round float64) {
	r := &s.rows[i]
	c = s.times(s.given, i, s.after)
	shift := r.shift
	c = r3.Vec{X: c.X + shift.X + r.RT*l.X, Y: c.Y + shift.Y + r.RT*l.Y, Z: c.Z + shift.Z + r.RN*l.Z}
	return c, u * (s.terms(i, s.after) + r.shifted + max(r.RT, r.RN)*(math.Abs(l.X)+math.Abs(l.Y)+l.Z))
}

// terms is the largest sum of the absolute values of the terms of a component of Jv of contact i.
func (s *solver) terms(i int, v []float64) (most float64) {
	for a := range 3 {
		sum := 0.0
		for k, j := range s.lineOf(s.given, i, a) {
			sum += math.Abs(j * v[k])
		}
		most = max(most, sum)
	}
	return most
}

// lengthOf is a bound of ‖v‖_M.
func (s *solver) lengthOf(v []float64) float64 {
	sum, size, n := 0.0, 0.0, s.n
	for i := range n {
		for j, m := range s.mass[i*n : (i+1)*n] {
			x := v[i] * m * v[j]
			sum += x
			size += math.Abs(x)
		}
	}
	return math.Sqrt(max(0, sum) + float64(n*n+4)*unitRoundoff*size)
}

// findEscape sets escape to the velocity of the CCP with v_f = 0, c*_N = 1 and R = 0, which is an escape velocity
// wherever there is one.
func (s *solver) findEscape(ctx context.Context) {
	b := &s.bounds
	resize(&b.compliance, len(s.rows))
	for i := range s.rows {
		r := &s.rows[i]
		b.compliance[i] = [2]float64{r.RT, r.RN}
		r.free, r.speed = r3.Vec{Z: -1}, 1
		r.comply(0, 0)
	}
	clear(s.lambda)
	s.energy = 0
	s.solve(ctx, &Options{Model: contact.CCP, Tolerance: 1e-3, Steps: 400})
	resize(&b.escape, s.n)
	s.form(b.escape, s.best)
	fromFactor(s.lower, s.n, b.escape)
	for i := range s.rows {
		s.rows[i].comply(b.compliance[i][0], b.compliance[i][1])
	}
}
