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

// NCPExact solves the NCP by block Gauss-Seidel: every contact in turn is solved exactly, given the others.
func (p *Contacts) NCPExact(o ContactOptions) ContactResult {
	return p.blocks(ContactNCP, exactContact, o)
}

// RaiSim solves RaiSim's model by block Gauss-Seidel [AGIMUS2023, Contacts, Alg. 4, eq. 20]. It has no guarantee of
// convergence. A contact with μ‖G_NT‖ ≥ G_NN, where (20) is unbounded, takes the solution of the NCP.
func (p *Contacts) RaiSim(o ContactOptions) ContactResult {
	return p.blocks(ContactRaiSim, raisimContact, o)
}

// blocks sweeps over the contacts with a solver of one contact.
func (p *Contacts) blocks(model ContactModel, solve func(*[3][3]float64, [3]float64, float64) [3]float64,
	o ContactOptions) ContactResult {
	r := p.run(model, o)
	lambda := r.start()
	omega := r.o.Relaxation
	n := 0
	for ; n < r.o.Limit && !r.done(lambda); n++ {
		for k, mu := range p.mu {
			b := p.block(k)
			x := solve(&b, p.others(k, lambda), mu)
			if omega != 1 {
				for i := range x {
					x[i] = omega*x[i] + (1-omega)*lambda[3*k+i]
				}
				x = projectCone(x, mu)
			}
			copy(lambda[3*k:], x[:])
		}
	}
	r.done(lambda)
	return r.result(n)
}

// slipProblem is that of a contact that slides, after the normal impulse is eliminated by c_N = 0:
// λ_N = −(c_N + G_NT·λ_T)/G_NN and c_T = Aλ_T + b.
type slipProblem struct {
	nn   float64    // G_NN
	nt   [2]float64 // G_NT
	c    float64    // c_N without λ
	a    [2][2]float64
	b    [2]float64
	mu   float64
	norm float64 // λ_max(A)
}

func newSlip(g *[3][3]float64, c [3]float64, mu float64) slipProblem {
	s := slipProblem{nn: g[2][2], nt: [2]float64{g[0][2], g[1][2]}, c: c[2], mu: mu}
	for i := range 2 {
		s.b[i] = c[i] - s.nt[i]*c[2]/s.nn
		for j := range 2 {
			s.a[i][j] = g[i][j] - s.nt[i]*s.nt[j]/s.nn
		}
	}
	s.norm = (s.a[0][0]+s.a[1][1])/2 + math.Hypot((s.a[0][0]-s.a[1][1])/2, s.a[0][1])
	return s
}

// shifted is −(A + σI)⁻¹b.
func (s *slipProblem) shifted(sigma float64) [2]float64 {
	xx, yy, xy := s.a[0][0]+sigma, s.a[1][1]+sigma, s.a[0][1]
	det := xx*yy - xy*xy
	return [2]float64{-(yy*s.b[0] - xy*s.b[1]) / det, -(xx*s.b[1] - xy*s.b[0]) / det}
}

func (s *slipProblem) normal(t [2]float64) float64 { return -(s.c + dot2(s.nt, t)) / s.nn }

// sticking returns the impulse that stops the contact, and whether it lies in K.
func (s *slipProblem) sticking() ([3]float64, bool) {
	t := s.shifted(0)
	n := s.normal(t)
	return [3]float64{t[0], t[1], n}, math.Hypot(t[0], t[1]) <= s.mu*n
}

// exactContact solves the NCP of one contact with the velocity c without its impulse. It slides with
// c_T = −σλ_T, so λ_T = −(A + σI)⁻¹b, and σ is the root of ‖λ_T‖ = μλ_N, found by bisection. At σ = 0 the
// friction is too large; for large σ it vanishes.
func exactContact(g *[3][3]float64, c [3]float64, mu float64) [3]float64 {
	if c[2] >= 0 {
		return [3]float64{}
	}
	s := newSlip(g, c, mu)
	if mu == 0 {
		return [3]float64{0, 0, -c[2] / s.nn}
	}
	if l, ok := s.sticking(); ok {
		return l
	}
	tooLarge := func(sigma float64) bool {
		t := s.shifted(sigma)
		return math.Hypot(t[0], t[1]) > mu*s.normal(t)
	}
	lo, hi := 0.0, s.norm
	for tooLarge(hi) && hi < 1e30*s.norm {
		lo, hi = hi, 4*hi
	}
	for range 200 {
		mid := (lo + hi) / 2
		if mid <= lo || mid >= hi {
			break
		}
		if tooLarge(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	t := s.shifted(hi)
	return [3]float64{t[0], t[1], max(0, s.normal(t))}
}

// raisimContact solves [AGIMUS2023, Contacts, eq. 20] for one contact: it takes off, sticks, or minimizes
// ½λᵀGλ + cᵀλ on the ellipse of ‖λ_T‖ = μλ_N and c_N = 0, by a scan of its angle and bisection of the derivative.
func raisimContact(g *[3][3]float64, c [3]float64, mu float64) [3]float64 {
	if c[2] >= 0 || mu == 0 || mu*math.Hypot(g[0][2], g[1][2]) >= g[2][2] {
		return exactContact(g, c, mu)
	}
	s := newSlip(g, c, mu)
	if l, ok := s.sticking(); ok {
		return l
	}
	const scan = 144
	best, least := 0.0, math.Inf(1)
	for i := range scan {
		angle := 2 * math.Pi * float64(i) / scan
		t, _ := s.ellipse(angle)
		if v := s.cost(t); v < least {
			best, least = angle, v
		}
	}
	lo, hi := best-2*math.Pi/scan, best+2*math.Pi/scan
	for range 100 {
		mid := (lo + hi) / 2
		if mid <= lo || mid >= hi {
			break
		}
		if s.slope(mid) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	t, _ := s.ellipse((lo + hi) / 2)
	return [3]float64{t[0], t[1], math.Hypot(t[0], t[1]) / mu}
}

// ellipse is λ_T with ‖λ_T‖ = μλ_N and c_N = 0 in the direction of that angle, and its derivative.
func (s *slipProblem) ellipse(angle float64) (t, derivative [2]float64) {
	d := [2]float64{math.Cos(angle), math.Sin(angle)}
	e := [2]float64{-d[1], d[0]}
	den := s.nn/s.mu + dot2(s.nt, d)
	r := -s.c / den
	slope := s.c * dot2(s.nt, e) / (den * den)
	return [2]float64{r * d[0], r * d[1]}, [2]float64{slope*d[0] + r*e[0], slope*d[1] + r*e[1]}
}

func (s *slipProblem) velocity(t [2]float64) [2]float64 {
	return [2]float64{dot2(s.a[0], t) + s.b[0], dot2(s.a[1], t) + s.b[1]}
}

func (s *slipProblem) cost(t [2]float64) float64 { return (dot2(s.velocity(t), t) + dot2(s.b, t)) / 2 }

func (s *slipProblem) slope(angle float64) float64 {
	t, derivative := s.ellipse(angle)
	return dot2(s.velocity(t), derivative)
}
