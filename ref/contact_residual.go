package ref

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/spatial/r3"
)

// ContactResidual says by how much impulses miss their model. All is recomputed from the impulses, never taken
// from a solver. Residuals of the NCP bound no error of the velocity: the NCP may have several solutions. For the
// CCP, [Contacts.ErrorBounds] does.
//
// Natural and Scale are those of the contact at which their ratio is largest, both in m/s, as package contact has them:
// the residual of the natural map h·‖λ − Π_K(λ − (c + Γ)/h)‖, h = tr(G_ii), and the largest one of the contacts of its
// island without impulses, or what float64 resolves of the speeds under the tolerance if that is more. For the LCP and
// RaiSim's model projections of their own stand in place of Π_K. The others have units, and only [StopAbsolute] reads
// them.
type ContactResidual struct {
	Natural, Scale float64

	Primal          float64 // ε_p: largest distance of an impulse from its cone (LCP: its pyramid), N·s
	Dual            float64 // ε_d: largest distance of c + Γ from K*; LCP and RaiSim: of c_N from c_N ≥ 0, m/s
	Complementarity float64 // ε_c: largest |⟨λ, c + Γ⟩|; LCP and RaiSim: see paperResidual, J
	Signorini       float64 // largest |λ_N·c_N|, J
	Coulomb         float64 // largest ‖λ_T‖ − μλ_N, at least 0, N·s
	Dissipation     float64 // largest ‖ ‖c_T‖λ_T + μλ_N·c_T ‖: zero if friction dissipates the most, J
	Internal        float64 // norm of the part of λ that moves no body: λ less its projection on the range of J, N·s
}

// Relative is the largest residual of a contact relative to its speed scale, which a tolerance limits.
func (r *ContactResidual) Relative() float64 { return ratioOf(r.Natural, r.Scale) }

// Absolute is ε_abs of [AGIMUS2023, Contacts]: the largest of three numbers of different units.
func (r *ContactResidual) Absolute() float64 { return max(r.Primal, r.Dual, r.Complementarity) }

// Residual measures impulses against a model. The tolerance, 1e-9 if it is 0, is that of the least speed scale.
func (p *Contacts) Residual(model ContactModel, lambda []float64, tolerance float64) ContactResidual {
	scales, _ := p.speedScales(model, ContactOptions{Tolerance: tolerance}.withDefaults().Tolerance)
	return p.units.residual(p.residual(model, scaledSlice(1/p.units.impulse(), lambda), scales))
}

// residual is [Contacts.Residual] in the units of p.
func (p *Contacts) residual(model ContactModel, lambda, scales []float64) ContactResidual {
	e := p.paperResidual(model, lambda)
	e.Natural, e.Scale, _ = p.relative(model, lambda, scales)
	c := p.contactVelocity(lambda)
	for k, mu := range p.mu {
		l, u := lambda[3*k:3*k+3], c[3*k:3*k+3]
		t, s := math.Hypot(l[0], l[1]), math.Hypot(u[0], u[1])
		e.Signorini = max(e.Signorini, math.Abs(l[2]*u[2]))
		e.Coulomb = max(e.Coulomb, t-mu*l[2])
		e.Dissipation = max(e.Dissipation, math.Hypot(s*l[0]+mu*l[2]*u[0], s*l[1]+mu*l[2]*u[1]))
	}
	e.Internal = p.internal(lambda)
	return e
}

// paperResidual is ε_p, ε_d and ε_c.
//
// LCP: ε_c is the largest of |λ_N·c_N| and, by axis, μλ_N|c_a| + λ_a·c_a. RaiSim: ε_c is the largest |λ_N·c_N|; the
// rest of its law is in the natural residual alone.
func (p *Contacts) paperResidual(model ContactModel, lambda []float64) (e ContactResidual) {
	c := p.contactVelocity(lambda)
	for k, mu := range p.mu {
		l, u := [3]float64(lambda[3*k:]), [3]float64(c[3*k:])
		switch model {
		case ContactLCP:
			e.lcp(l, u, mu)
		case ContactRaiSim:
			e.Primal = max(e.Primal, coneDistance(l, mu))
			e.Dual = max(e.Dual, -u[2])
			e.Complementarity = max(e.Complementarity, math.Abs(l[2]*u[2]))
		default:
			if model == ContactNCP {
				u[2] += mu * math.Hypot(u[0], u[1])
			}
			e.Primal = max(e.Primal, coneDistance(l, mu))
			e.Dual = max(e.Dual, dualConeDistance(u, mu))
			e.Complementarity = max(e.Complementarity, math.Abs(l[0]*u[0]+l[1]*u[1]+l[2]*u[2]))
		}
	}
	return e
}

func (e *ContactResidual) lcp(l, u [3]float64, mu float64) {
	out := max(0, -l[2])
	for a := range 2 {
		out = max(out, math.Abs(l[a])-mu*max(0, l[2]))
		e.Complementarity = max(e.Complementarity, mu*l[2]*math.Abs(u[a])+l[a]*u[a])
	}
	e.Primal = max(e.Primal, out)
	e.Dual = max(e.Dual, -u[2])
	e.Complementarity = max(e.Complementarity, math.Abs(l[2]*u[2]))
}

// others is the velocity of contact k that the free motion and the other contacts give it.
func (p *Contacts) others(k int, lambda []float64) (c [3]float64) {
	for i := range c {
		c[i] = p.row(3*k+i, lambda)
		for l := range 3 {
			c[i] -= p.g.At(3*k+i, 3*k+l) * lambda[3*k+l]
		}
	}
	return c
}

// internal is the norm of λ less its projection on the range of J, by a singular value decomposition.
func (p *Contacts) internal(lambda []float64) float64 {
	rest := p.internalPart(lambda)
	if rest == nil {
		return math.NaN()
	}
	return math.Sqrt(dotSlices(rest, rest))
}

// internalPart is λ less its projection on the range of J, which moves no body; nil if it is not found.
func (p *Contacts) internalPart(lambda []float64) []float64 {
	var svd mat.SVD
	if !svd.Factorize(p.j, mat.SVDThin) {
		return nil
	}
	values := svd.Values(nil) // lengths are in units near those of the bodies, so that their ratios mean something
	var u mat.Dense
	svd.UTo(&u)
	rest := append([]float64(nil), lambda...)
	for k, s := range values {
		if !(s > 1e-10*values[0]) {
			break
		}
		column := mat.Col(nil, k, &u)
		f := dotSlices(column, lambda)
		for i := range rest {
			rest[i] -= f * column[i]
		}
	}
	return rest
}

func norm3(x [3]float64) float64 { return math.Hypot(math.Hypot(x[0], x[1]), x[2]) }

// coneDistance is the distance of x from K.
func coneDistance(x [3]float64, mu float64) float64 {
	y := projectCone(x, mu)
	return norm3([3]float64{x[0] - y[0], x[1] - y[1], x[2] - y[2]})
}

// dualConeDistance is the distance of c from K*: by Moreau's decomposition, the norm of the projection of −c on K.
func dualConeDistance(c [3]float64, mu float64) float64 {
	return norm3(projectCone([3]float64{-c[0], -c[1], -c[2]}, mu))
}

// projectCone is the closest point of K.
func projectCone(x [3]float64, mu float64) [3]float64 {
	t := math.Hypot(x[0], x[1])
	switch { // in this order for μ = 0
	case mu*t <= -x[2]:
		return [3]float64{}
	case t <= mu*x[2]:
		return x
	}
	n := (mu*t + x[2]) / (1 + mu*mu)
	return [3]float64{mu * n * x[0] / t, mu * n * x[1] / t, n}
}

// projectDisc is the closest point of the disc of that radius.
func projectDisc(x [2]float64, radius float64) [2]float64 {
	if t := math.Hypot(x[0], x[1]); t > radius {
		return [2]float64{x[0] * radius / t, x[1] * radius / t}
	}
	return x
}

// speedResolved is the part of the speeds at a contact that float64 resolves after the sums of a solve, 256 times its
// rounding unit 2⁻⁵². Residuals below it are rounding.
const speedResolved = 0x1p-44

// natural is the residual of contact k in m/s: h·‖λ − λ'‖ with h = tr(G_kk). With c + Γ, which is c but for the NCP,
//
//	CCP, NCP: λ' = Π_K(λ − (c + Γ)/h);
//	LCP:      λ'_N = max(0, λ_N − c_N/h), and λ'_a is λ_a − c_a/h clamped to ±μ·max(0, λ_N), by axis;
//	RaiSim:   λ' solves the problem of the contact given the others.
//
// It is 0 at solutions of the model alone, and does not change when masses, inertias and impulses are scaled. Where the
// projection changes nothing, h·(λ − λ') is c + Γ, which is taken without the rounding error of the difference.
func (p *Contacts) natural(model ContactModel, k int, lambda []float64) float64 {
	mu, h, b := p.mu[k], 0.0, p.block(k)
	var l, c [3]float64
	for i := range 3 {
		l[i], c[i] = lambda[3*k+i], p.row(3*k+i, lambda)
		h += b[i][i]
	}
	switch model {
	case ContactLCP:
		d := [3]float64{boxed(l[0], c[0], h, mu*max(0, l[2])), boxed(l[1], c[1], h, mu*max(0, l[2])), h * l[2]}
		if l[2]-c[2]/h > 0 {
			d[2] = c[2]
		}
		return norm3(d)
	case ContactRaiSim:
		own := raisimContact(&b, p.others(k, lambda), mu)
		return h * norm3([3]float64{l[0] - own[0], l[1] - own[1], l[2] - own[2]})
	case ContactNCP:
		c[2] += mu * math.Hypot(c[0], c[1])
	}
	x := [3]float64{l[0] - c[0]/h, l[1] - c[1]/h, l[2] - c[2]/h}
	y := projectCone(x, mu)
	if y == x {
		return norm3(c)
	}
	return h * norm3([3]float64{l[0] - y[0], l[1] - y[1], l[2] - y[2]})
}

// boxed is h·(l − l') for l' = l − c/h clamped to ±radius.
func boxed(l, c, h, radius float64) float64 {
	if x := l - c/h; math.Abs(x) > radius {
		return h * (l - math.Copysign(radius, x))
	}
	return c
}

// speedScales are those of the contacts under a tolerance, in m/s: the largest residual of the contacts of the same
// island without impulses, which is by how much the free motion breaks the law. RaiSim's model has the scale of the
// LCP, max(0, −c_N): its own residual without impulses is that speed times up to the condition of G_kk. A scale is at
// least speedResolved/tolerance of the largest |c*_N| + Σ(‖v_f‖ + ‖ω_f‖‖r‖) of these contacts, so that no residual has
// to be less than float64 resolves. free are the former alone.
func (p *Contacts) speedScales(model ContactModel, tolerance float64) (scales, free []float64) {
	n := p.Points()
	least, speed := make([]float64, len(p.bodies)), make([]float64, len(p.bodies)) // by island
	none := make([]float64, 3*n)
	if model == ContactRaiSim {
		model = ContactLCP
	}
	for k, i := range p.island {
		least[i] = max(least[i], p.natural(model, k, none))
		speed[i] = max(speed[i], p.speed[k])
	}
	for _, i := range p.island {
		scales = append(scales, max(least[i], speedResolved/tolerance*speed[i]))
		free = append(free, least[i])
	}
	return scales, free
}

// relative is the residual and the scale of the contact with the largest ratio of both, and this ratio.
func (p *Contacts) relative(model ContactModel, lambda, scales []float64) (residual, scale, ratio float64) {
	ratio = -1
	for k, s := range scales {
		e := p.natural(model, k, lambda)
		if r := ratioOf(e, s); r > ratio {
			residual, scale, ratio = e, s, r
		}
	}
	return residual, scale, max(ratio, 0)
}

// ratioOf is residual/scale, +Inf in place of NaN. A residual of 0 is a solution whatever the scale.
func ratioOf(residual, scale float64) float64 {
	if residual == 0 {
		return 0
	}
	if ratio := residual / scale; !math.IsNaN(ratio) {
		return ratio
	}
	return math.Inf(1)
}

// setIslands finds the islands: the bodies that move and are joined by contacts. They are named by their first body.
func (p *Contacts) setIslands(points []ContactPoint) {
	moves := func(b int) bool { return b >= 0 && p.columns[b] >= 0 }
	beside := make([][]int, len(p.bodies))
	for _, c := range points {
		if moves(c.A) && moves(c.B) {
			beside[c.A], beside[c.B] = append(beside[c.A], c.B), append(beside[c.B], c.A)
		}
	}
	p.islandOf = make([]int, len(p.bodies))
	for b := range p.islandOf {
		p.islandOf[b] = -1
	}
	for first := range p.bodies {
		if !moves(first) || p.islandOf[first] >= 0 {
			continue
		}
		p.islandOf[first] = first
		for reached := []int{first}; len(reached) > 0; {
			b := reached[len(reached)-1]
			reached = reached[:len(reached)-1]
			for _, other := range beside[b] {
				if p.islandOf[other] < 0 {
					p.islandOf[other] = first
					reached = append(reached, other)
				}
			}
		}
	}
	p.island, p.speed = make([]int, len(points)), make([]float64, len(points))
	for k, c := range points {
		p.speed[k] = math.Abs(c.Target)
		for _, side := range [...]struct {
			body int
			arm  r3.Vec
		}{{c.A, c.ArmA}, {c.B, c.ArmB}} {
			if side.body < 0 {
				continue
			}
			if moves(side.body) {
				p.island[k] = p.islandOf[side.body]
			}
			v := p.bodies[side.body].Velocity
			p.speed[k] += norm3([3]float64(v[:3])) + norm3([3]float64(v[3:]))*r3.Norm(side.arm)
		}
	}
}

// islandDuality are the terms of the duality gap of an island.
type islandDuality struct {
	outside   bool    // an impulse lies outside of its cone
	rigid     bool    // a contact has no normal compliance
	product   float64 // λᵀc
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
	islands := make([]islandDuality, len(p.bodies))
	c := p.contactVelocity(lambda)
	w := make([]float64, p.Points())
	rigid := false
	for k, mu := range p.mu {
		l, of := [3]float64(lambda[3*k:]), &islands[p.island[k]]
		w[k] = max(0, mu*math.Hypot(c[3*k], c[3*k+1])-c[3*k+2])
		of.outside = of.outside || !(coneDistance(l, mu) <= 1e-14*norm3(l)) // what rounding leaves
		of.product += dotSlices(l[:], c[3*k:3*k+3])
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
		duality := of.product + of.compliant
		if of.rigid {
			duality = of.product + of.sigma*of.push + of.sigma*of.sigma*of.norm/2
		}
		out[k] = math.Sqrt(2*max(0, duality)*p.rigid[k]) * p.units.speed
		if of.outside || math.IsInf(of.sigma, 1) {
			out[k] = math.Inf(1)
		}
	}
	return out
}

// addEscape sets σ, which is +Inf where the escape velocity enters a contact, and the terms of v_0.
func (p *Contacts) addEscape(lambda, w []float64, islands []islandDuality) {
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
