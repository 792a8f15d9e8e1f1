package ref

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// ContactResidual says by how much impulses miss their model. All is recomputed from the impulses, never taken
// from a solver. Residuals of the NCP bound no error of the velocity: the NCP may have several solutions. For the
// CCP, [Contacts.ErrorBound] does.
type ContactResidual struct {
	Primal          float64 // ε_p: largest distance of an impulse from its cone (LCP: its pyramid), N·s
	Dual            float64 // ε_d: largest distance of c + Γ from K*; LCP and RaiSim: of c_N from c_N ≥ 0, m/s
	Complementarity float64 // ε_c: largest |⟨λ, c + Γ⟩|; LCP and RaiSim: see basicResidual, J
	Signorini       float64 // largest |λ_N·c_N|, J
	Coulomb         float64 // largest ‖λ_T‖ − μλ_N, at least 0, N·s
	Dissipation     float64 // largest ‖ ‖c_T‖λ_T + μλ_N·c_T ‖: zero if friction dissipates the most, J
	Internal        float64 // norm of the part of λ that moves no body: λ less its projection on the range of J, N·s
}

// Absolute is ε_abs.
func (r *ContactResidual) Absolute() float64 { return max(r.Primal, r.Dual, r.Complementarity) }

func (r *ContactResidual) scaled(largest float64) float64 {
	f := max(1, largest)
	e := max(r.Dual, r.Primal/f, r.Complementarity/f)
	if math.IsNaN(e) {
		return math.Inf(1)
	}
	return e
}

// Residual measures impulses against a model.
func (p *Contacts) Residual(model ContactModel, lambda []float64) ContactResidual {
	e := p.basicResidual(model, lambda)
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

// basicResidual is ε_p, ε_d and ε_c.
//
// LCP: ε_c is the largest of |λ_N·c_N| and, by axis, μλ_N|c_a| + λ_a·c_a. RaiSim: ε_c is the largest of
// |λ_N·c_N| and h·‖λ − λ'‖·max(1, |λ|), where λ' solves the problem of the contact given the others and h = tr(G_ii).
func (p *Contacts) basicResidual(model ContactModel, lambda []float64) (e ContactResidual) {
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
			b := p.block(k)
			own := raisimContact(&b, p.others(k, lambda), mu)
			d := norm3([3]float64{l[0] - own[0], l[1] - own[1], l[2] - own[2]})
			f := max(1, largestOf(lambda))
			e.Complementarity = max(e.Complementarity, (b[0][0]+b[1][1]+b[2][2])*d*f)
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
	values := svd.Values(nil)
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
