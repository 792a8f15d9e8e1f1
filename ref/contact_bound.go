package ref

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// ErrorBound returns a bound of ‖v − v*‖_M, where v* is the velocity of the CCP and v = v_f + M⁻¹Jᵀλ that of
// impulses λ in K. It is √(2γ) with a duality gap γ. Velocities v + σv_0 are feasible with an escape velocity v_0,
// m_i = (Jv_0)_N − μ‖(Jv_0)_T‖ > 0 for every i: with w_i = max(0, μ‖c_T‖ − c_N) and σ = max w_i/m_i,
//
//	γ = λᵀc + σλᵀJv_0 + ½σ²‖v_0‖²_M.
//
// With a normal compliance at every contact γ = λᵀc + Σ λ_N·w + ½w²/R_N. If no v_0 is found, as in a jam, it is +Inf.
// Rounding is not bounded here: γ is resolved to about 1e-16 of its terms, the error to the root of that.
func (p *Contacts) ErrorBound(lambda []float64) float64 {
	for k, mu := range p.mu {
		l := [3]float64(lambda[3*k:])
		if coneDistance(l, mu) > 1e-14*norm3(l) {
			return math.Inf(1)
		}
	}
	c := p.contactVelocity(lambda)
	gap := dotSlices(lambda, c)
	w := make([]float64, p.Points())
	compliant := true
	for k, mu := range p.mu {
		w[k] = max(0, mu*math.Hypot(c[3*k], c[3*k+1])-c[3*k+2])
		compliant = compliant && p.r[3*k+2] > 0
	}
	if compliant {
		for k, x := range w {
			gap += lambda[3*k+2]*x + x*x/(2*p.r[3*k+2])
		}
		return math.Sqrt(2 * max(0, gap))
	}
	v0, m := p.escape()
	sigma := 0.0
	for k, x := range w {
		if x > 0 {
			if !(m[k] > 0) {
				return math.Inf(1)
			}
			sigma = max(sigma, x/m[k])
		}
	}
	var d mat.VecDense
	d.MulVec(p.j, v0)
	gap += sigma*dotSlices(lambda, d.RawVector().Data) + sigma*sigma*mat.Inner(v0, p.m, v0)/2
	return math.Sqrt(2 * max(0, gap))
}

// escape returns the velocity of the CCP with v_f = 0, c*_N = 1 and R = 0, and its margins m.
func (p *Contacts) escape() (v *mat.VecDense, margins []float64) {
	q := *p
	n := len(p.bias)
	q.free = mat.NewVecDense(p.free.Len(), nil)
	q.bias, q.r = make([]float64, n), make([]float64, n)
	q.g = mat.DenseCopyOf(p.g)
	for i := range n {
		q.g.Set(i, i, q.g.At(i, i)-p.r[i])
		if i%3 == 2 {
			q.bias[i] = -1
		}
	}
	q.offset = q.relative(q.free)
	v = q.moved(q.CCPNewton(ContactOptions{Tolerance: 1e-4, Limit: 500}).Impulse)
	c := q.relative(v)
	for k, mu := range p.mu {
		margins = append(margins, c[3*k+2]+1-mu*math.Hypot(c[3*k], c[3*k+1]))
	}
	return v, margins
}
