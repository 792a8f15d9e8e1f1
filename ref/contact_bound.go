package ref

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// islandGap are the terms of the duality gap of an island.
type islandGap struct {
	outside   bool    // an impulse lies outside of its cone
	rigid     bool    // a contact has no normal compliance
	gap       float64 // λᵀc
	compliant float64 // Σ λ_N·w + ½w²/R_N
	sigma     float64 // max w_i/m_i
	push      float64 // λᵀJv_0
	norm      float64 // ‖v_0‖²_M
}

// ErrorBounds returns, by contact, a bound of ‖J_i(v − v*)‖ in m/s, where v* is the velocity of the CCP and
// v = v_f + M⁻¹Jᵀλ that of impulses λ in K. Islands are problems of their own. With a duality gap γ of the island
// ½‖v − v*‖²_M ≤ γ, and the bound is √(2γ·tr(J_i·M⁻¹·J_iᵀ)). Velocities v + σv_0 are feasible with an escape velocity
// v_0, m_i = (Jv_0)_N − μ‖(Jv_0)_T‖ > 0 for every i: with w_i = max(0, μ‖c_T‖ − c_N) and σ = max w_i/m_i,
//
//	γ = λᵀc + σλᵀJv_0 + ½σ²‖v_0‖²_M.
//
// With a normal compliance at every contact γ = λᵀc + Σ λ_N·w + ½w²/R_N. If no v_0 is found, as in a jam, it is +Inf.
// Rounding is not bounded here: γ is resolved to about 1e-16 of its terms, the error to the root of that.
func (p *Contacts) ErrorBounds(lambda []float64) []float64 {
	lambda = scaledSlice(1/p.units.impulse(), lambda)
	islands := make([]islandGap, len(p.bodies))
	c := p.contactVelocity(lambda)
	w := make([]float64, p.Points())
	rigid := false
	for k, mu := range p.mu {
		l, of := [3]float64(lambda[3*k:]), &islands[p.island[k]]
		w[k] = max(0, mu*math.Hypot(c[3*k], c[3*k+1])-c[3*k+2])
		of.outside = of.outside || !(coneDistance(l, mu) <= 1e-14*norm3(l)) // what rounding leaves
		of.gap += dotSlices(l[:], c[3*k:3*k+3])
		if rN := p.r[3*k+2]; rN > 0 {
			of.compliant += l[2]*w[k] + w[k]*w[k]/(2*rN)
		} else {
			of.rigid, rigid = true, true
		}
	}
	if rigid {
		p.addEscape(lambda, w, islands)
	}
	out := make([]float64, p.Points())
	for k := range out {
		of := &islands[p.island[k]]
		gap := of.gap + of.compliant
		if of.rigid {
			gap = of.gap + of.sigma*of.push + of.sigma*of.sigma*of.norm/2
		}
		out[k] = math.Sqrt(2*max(0, gap)*p.rigid[k]) * p.units.speed
		if of.outside || math.IsInf(of.sigma, 1) {
			out[k] = math.Inf(1)
		}
	}
	return out
}

// addEscape sets σ, which is +Inf where the escape velocity enters a contact, and the terms of v_0.
func (p *Contacts) addEscape(lambda, w []float64, islands []islandGap) {
	v0, margins := p.escape()
	var d, momentum mat.VecDense
	d.MulVec(p.j, v0)
	for k, x := range w {
		of := &islands[p.island[k]]
		if !of.rigid {
			continue
		}
		of.push += dotSlices(lambda[3*k:3*k+3], d.RawVector().Data[3*k:3*k+3])
		if m := margins[k]; x > 0 && m > 0 {
			of.sigma = max(of.sigma, x/m)
		} else if x > 0 || math.IsNaN(x) {
			of.sigma = math.Inf(1)
		}
	}
	momentum.MulVec(p.m, v0)
	for b, at := range p.columns {
		if at >= 0 {
			islands[p.islandOf[b]].norm += dotSlices(v0.RawVector().Data[at:at+6], momentum.RawVector().Data[at:at+6])
		}
	}
}

// escape returns the velocity of the CCP with v_f = 0, c*_N = 1 and R = 0, and its margins m. Its speed scales are 1,
// so that a tolerance of 1e-4 leaves margins near 1 wherever there is an escape velocity.
func (p *Contacts) escape() (v *mat.VecDense, margins []float64) {
	q := *p
	q.units = siUnits // the numbers of q are those of p
	n := len(p.bias)
	q.free = mat.NewVecDense(p.free.Len(), nil)
	q.bias, q.r, q.speed = make([]float64, n), make([]float64, n), make([]float64, p.Points())
	q.g = mat.DenseCopyOf(p.g)
	for i := range n {
		q.g.Set(i, i, q.g.At(i, i)-p.r[i])
		if i%3 == 2 {
			q.bias[i], q.speed[i/3] = -1, 1
		}
	}
	q.offset = q.relativeVelocity(q.free)
	v = q.moved(q.CCPNewton(ContactOptions{Tolerance: 1e-4, Limit: 500}).Impulse)
	c := q.relativeVelocity(v)
	for k, mu := range p.mu {
		margins = append(margins, c[3*k+2]+1-mu*math.Hypot(c[3*k], c[3*k+1]))
	}
	return v, margins
}
