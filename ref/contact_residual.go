package ref

import (
	"math"

	"gonum.org/v1/gonum/mat"
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
