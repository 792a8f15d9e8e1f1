package ref

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

const (
	newtonCCP, newtonNCP = 1e-3, 1e-2 // ρ at the start
	newtonMost           = 0.1        // the largest ρ
	newtonPasses         = 20         // sweeps of PGS before the NCP
	newtonInner          = 30         // steps of an inner problem of the NCP
)

// CCPNewton solves the CCP by proximal steps on λ, each by Newton's method in v on the convex
// ½‖v − v_f‖²_M + ½λ(v)ᵀRtλ(v), with Rt = P + R, P = ρ·λ_max(G_ii), s = Jv − c* − Pλᵏ, and λ(v) the minimum of
// ½λᵀRtλ + sᵀλ over K. As λᵏ converges P cancels, so that R = 0 is solved exactly. It is the Newton method of
// compliant solvers [AGIMUS2023, Contacts, sec. II-D] with a multiplier.
func (p *Contacts) CCPNewton(o ContactOptions) ContactResult { return p.newton(ContactCCP, o) }

// NCPNewton solves the NCP by the same proximal steps. λ_N = max(0, −s_N/Rt_N), and λ_T is −s_T/Rt_T projected on
// the disc of radius μλ_N; Newton's method is that of M(v − v_f) = Jᵀλ(v), whose merit is the norm of its residual in
// M⁻¹. Where the line search fails, two steps of the CCP with Γ frozen and a larger ρ follow. Sweeps of PGS come
// first.
func (p *Contacts) NCPNewton(o ContactOptions) ContactResult { return p.newton(ContactNCP, o) }

// contactNewton is the state of a proximal Newton method.
type contactNewton struct {
	*contactRun
	h      []float64 // λ_max(G_ii), by contact
	prox   []float64 // P, by contact
	outer  []float64 // λᵏ
	shift  []float64 // Γ_N, frozen
	convex bool
}

// contactEvaluation is all that is known at a v.
type contactEvaluation struct {
	v         *mat.VecDense
	lambda    []float64
	curvature []*mat.Dense // −dλ/ds, by contact
	gradient  *mat.VecDense
	cost      float64
	norm      float64 // of the gradient, in M⁻¹
}

func (p *Contacts) newton(model ContactModel, o ContactOptions) ContactResult {
	r := &contactNewton{contactRun: p.run(model, o)}
	r.outer = r.start()
	rho := newtonCCP
	if model == ContactNCP {
		rho = newtonNCP
		sweeps := ContactOptions{Tolerance: r.o.Tolerance, Stop: r.o.Stop, Limit: newtonPasses, Warm: r.o.Warm}
		first := p.pgs(model, safeStep, sweeps)
		r.outer = scaledSlice(1/p.units.impulse(), first.Impulse)
		for i, x := range p.internalPart(r.outer) { // which sweeps leave, and Newton's method would keep
			r.outer[i] -= x
		}
	}
	r.h, r.prox, r.shift = make([]float64, p.Points()), make([]float64, p.Points()), make([]float64, p.Points())
	for k := range r.h {
		b := p.block(k)
		r.h[k] = largestEigenvalue(&b)
	}
	v := p.moved(r.outer)
	steps, frozen, before := 0, 0, math.Inf(1)
	for done := r.done(r.outer); !done && steps < r.o.Limit; {
		r.convex = model == ContactCCP || frozen > 0
		c := p.contactVelocity(r.outer)
		for k, mu := range p.mu {
			r.prox[k], r.shift[k] = rho*r.h[k], 0
			if r.convex && model == ContactNCP {
				r.shift[k] = mu * math.Hypot(c[3*k], c[3*k+1])
			}
		}
		at, used, ok := r.inner(v)
		steps += max(used, 1)
		if !ok && !r.convex {
			frozen, rho = 2, min(10*rho, newtonMost)
			continue
		}
		v = at.v
		r.outer = at.lambda
		done = r.done(r.outer)
		switch {
		case used > 8:
			rho = min(3*rho, newtonMost)
		case r.last > before/5 && frozen == 0:
			rho = max(0.3*rho, p.leastProximal())
		}
		before = r.last
		frozen = max(0, frozen-1)
	}
	return r.result(steps)
}

// leastProximal keeps the matrix of Newton's method solvable in float64. It has no unit, as ρ has none.
func (p *Contacts) leastProximal() float64 {
	lo, hi := math.Inf(1), 0.0
	for i, b := range p.bodies {
		if p.columns[i] >= 0 {
			lo, hi = min(lo, b.Mass), max(hi, b.Mass)
		}
	}
	return max(1e-10, min(1e-6, 1e-3*lo/hi))
}

// inner solves M(v − v_f) = Jᵀλ(v) from v. ok is false if the line search of the NCP fails.
func (r *contactNewton) inner(v *mat.VecDense) (at *contactEvaluation, steps int, ok bool) {
	p := r.p
	at = r.at(v)
	for ; steps < r.o.Limit; steps++ {
		// Both limits are roots of energies, as the norm is: 1e-15 of that of the free motion is what rounding of
		// v − v_f leaves of the gradient.
		if at.norm <= max(0.05*r.moved(at.lambda), 1e-15*math.Sqrt(mat.Inner(p.free, p.m, p.free)+at.cost)) {
			return at, steps, true
		}
		if !r.convex && steps >= newtonInner {
			return at, steps, false
		}
		step, ok := r.direction(at)
		if !ok {
			return at, steps, r.convex
		}
		next, ok := r.search(at, step)
		if !ok {
			return at, steps + 1, r.convex
		}
		at = next
	}
	return at, steps, r.convex
}

// search is Armijo's rule, on the cost of the convex problem or else on the norm of the gradient.
func (r *contactNewton) search(at *contactEvaluation, step *mat.VecDense) (*contactEvaluation, bool) {
	decrease := -mat.Dot(at.gradient, step)
	for alpha := 1.0; alpha > 1e-12; alpha /= 2 {
		v := mat.NewVecDense(step.Len(), nil)
		v.AddScaledVec(at.v, alpha, step)
		next := r.at(v)
		switch {
		case r.convex && decrease <= 1e-13*at.cost: // below the rounding of the cost
			return next, next.norm <= at.norm/2
		case r.convex && next.cost <= at.cost-1e-4*alpha*decrease:
			return next, true
		case !r.convex && next.norm <= (1-1e-4*alpha)*at.norm:
			return next, true
		case !r.convex && alpha < 2e-3:
			return next, false
		}
	}
	return at, false
}

// moved is the largest ‖P(λ − λᵏ)‖/√h, a norm like that of the gradient.
func (r *contactNewton) moved(lambda []float64) (most float64) {
	for k, h := range r.h {
		d := norm3([3]float64{
			lambda[3*k] - r.outer[3*k], lambda[3*k+1] - r.outer[3*k+1], lambda[3*k+2] - r.outer[3*k+2]})
		most = max(most, r.prox[k]*d/math.Sqrt(h))
	}
	return most
}

// at evaluates λ(v), its derivative, and gradient and cost.
func (r *contactNewton) at(v *mat.VecDense) *contactEvaluation {
	p := r.p
	e := &contactEvaluation{v: v, lambda: make([]float64, len(p.bias)), gradient: mat.NewVecDense(v.Len(), nil)}
	var d, force mat.VecDense
	d.SubVec(v, p.free)
	e.gradient.MulVec(p.m, &d)
	e.cost = mat.Dot(&d, e.gradient) / 2
	c := p.relativeVelocity(v)
	for k, mu := range p.mu {
		rT, rN := r.prox[k]+p.r[3*k], r.prox[k]+p.r[3*k+2]
		s := [3]float64{c[3*k], c[3*k+1], c[3*k+2] + r.shift[k]}
		for i := range s {
			s[i] -= r.prox[k] * r.outer[3*k+i]
		}
		h := mat.NewDense(3, 3, nil)
		l := slipForce(s, mu, rT, rN, r.convex, h)
		copy(e.lambda[3*k:], l[:])
		e.curvature = append(e.curvature, h)
		e.cost += (rT*(l[0]*l[0]+l[1]*l[1]) + rN*l[2]*l[2]) / 2
	}
	force.MulVec(p.j.T(), mat.NewVecDense(len(e.lambda), e.lambda))
	e.gradient.SubVec(e.gradient, &force)
	var x mat.VecDense
	if p.mass.SolveVecTo(&x, e.gradient) != nil {
		e.norm = math.Inf(1)
		return e
	}
	e.norm = math.Sqrt(mat.Dot(&x, e.gradient))
	return e
}

// slipForce is λ(s), and h = −dλ/ds. Convex: the minimum of ½λᵀRλ + sᵀλ over K. Else the horizontal projection.
func slipForce(s [3]float64, mu, rT, rN float64, convex bool, h *mat.Dense) (l [3]float64) {
	t := math.Hypot(s[0], s[1])
	var n, along, row float64 // λ_N; derivatives of λ_N by −s_N and by ‖s_T‖
	switch {
	case convex && s[2] >= mu*t, !convex && s[2] >= 0: // open
		return l
	case t/rT <= -mu*s[2]/rN: // sticks
		h.Set(0, 0, 1/rT)
		h.Set(1, 1, 1/rT)
		h.Set(2, 2, 1/rN)
		return [3]float64{-s[0] / rT, -s[1] / rT, -s[2] / rN}
	case convex:
		q := rN + mu*mu*rT
		n, along, row = (mu*t-s[2])/q, 1/q, mu/q
	default:
		n, along, row = -s[2]/rN, 1/rN, 0
	}
	d := [2]float64{}
	if t > 0 {
		d = [2]float64{-s[0] / t, -s[1] / t}
	}
	l = [3]float64{mu * n * d[0], mu * n * d[1], n}
	h.Set(2, 2, along)
	for i := range 2 {
		h.Set(i, 2, mu*d[i]*along)
		h.Set(2, i, row*d[i])
		for j := range 2 {
			across := -d[i] * d[j]
			if i == j {
				across++
			}
			x := mu * row * d[i] * d[j]
			if t > 0 {
				x += mu * n / t * across
			}
			h.Set(i, j, x)
		}
	}
	return l
}

// direction solves (M + JᵀHJ)·step = −gradient.
func (r *contactNewton) direction(e *contactEvaluation) (*mat.VecDense, bool) {
	p := r.p
	rows, columns := p.j.Dims()
	hj := mat.NewDense(rows, columns, nil)
	for k, h := range e.curvature {
		hj.Slice(3*k, 3*k+3, 0, columns).(*mat.Dense).Mul(h, p.j.Slice(3*k, 3*k+3, 0, columns))
	}
	var a mat.Dense
	a.Mul(p.j.T(), hj)
	a.Add(&a, p.m)
	var lu mat.LU
	lu.Factorize(&a)
	var step mat.VecDense
	if err := lu.SolveVecTo(&step, false, e.gradient); err != nil {
		if _, badly := err.(mat.Condition); !badly {
			return nil, false
		}
	}
	step.ScaleVec(-1, &step)
	return &step, !math.IsNaN(mat.Norm(&step, 2)) && !math.IsInf(mat.Norm(&step, 2), 0)
}
