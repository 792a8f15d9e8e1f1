package ref

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// pgsStep says which step sizes a projected Gauss-Seidel method takes.
type pgsStep uint8

const (
	safeStep    pgsStep = iota // below 2/λ_max of the block
	printedStep                // of the paper; tests show where it fails
)

// LCPPGS solves the LCP by projected Gauss-Seidel [AGIMUS2023, Contacts, Alg. 1]. Each of the three components is
// solved exactly in turn, with the step 1/G_aa. The paper updates both tangential components at once with
// 1/min(G_xx, G_yy), which exceeds 2/λ_max(G_TT) where both differ enough or are coupled, and then oscillates.
func (p *Contacts) LCPPGS(o ContactOptions) ContactResult { return p.pgs(ContactLCP, safeStep, o) }

// CCPPGS solves the CCP by projected Gauss-Seidel [AGIMUS2023, Contacts, Alg. 2] with the step 1/λ_max(G_ii). The
// paper's 3/tr(G_ii) exceeds 2/λ_max for some inertias.
func (p *Contacts) CCPPGS(o ContactOptions) ContactResult { return p.pgs(ContactCCP, safeStep, o) }

// NCPPGS solves the NCP by projected Gauss-Seidel [AGIMUS2023, Contacts, Alg. 5] with the tangential step
// 1/λ_max(G_TT) in place of 1/min(G_xx, G_yy).
func (p *Contacts) NCPPGS(o ContactOptions) ContactResult { return p.pgs(ContactNCP, safeStep, o) }

// pgs sweeps until the residual after a sweep is within the tolerance.
func (p *Contacts) pgs(model ContactModel, steps pgsStep, o ContactOptions) ContactResult {
	r := p.run(model, o)
	lambda := r.start()
	n := 0
	for ; n < r.o.Limit && !r.done(lambda); n++ {
		for k := range p.mu {
			switch model {
			case ContactCCP:
				p.sweepCone(k, lambda, steps, r.o.Relaxation)
			case ContactLCP:
				p.sweepBox(k, lambda, steps, r.o.Relaxation)
			default:
				p.sweepDisc(k, lambda, steps, r.o.Relaxation)
			}
		}
	}
	r.done(lambda)
	return r.result(n)
}

func (p *Contacts) sweepCone(k int, lambda []float64, steps pgsStep, omega float64) {
	b := p.block(k)
	h := 1 / largestEigenvalue(&b)
	if steps == printedStep {
		h = 3 / (b[0][0] + b[1][1] + b[2][2])
	}
	var x [3]float64
	for i := range x {
		x[i] = lambda[3*k+i] - omega*h*p.row(3*k+i, lambda)
	}
	x = projectCone(x, p.mu[k])
	copy(lambda[3*k:], x[:])
}

// sweepNormal updates the normal impulse and returns the radius of friction.
func (p *Contacts) sweepNormal(k int, lambda []float64, omega float64) (radius float64) {
	n := 3*k + 2
	lambda[n] = max(0, lambda[n]-omega*p.row(n, lambda)/p.g.At(n, n))
	return p.mu[k] * lambda[n]
}

func (p *Contacts) sweepBox(k int, lambda []float64, steps pgsStep, omega float64) {
	radius := p.sweepNormal(k, lambda, omega)
	clamp := func(x float64) float64 { return max(-radius, min(radius, x)) }
	if steps == printedStep {
		x := p.tangentialStep(k, lambda, steps, omega)
		lambda[3*k], lambda[3*k+1] = clamp(x[0]), clamp(x[1])
		return
	}
	for i := 3 * k; i < 3*k+2; i++ {
		lambda[i] = clamp(lambda[i] - omega*p.row(i, lambda)/p.g.At(i, i))
	}
}

func (p *Contacts) sweepDisc(k int, lambda []float64, steps pgsStep, omega float64) {
	radius := p.sweepNormal(k, lambda, omega)
	x := projectDisc(p.tangentialStep(k, lambda, steps, omega), radius)
	copy(lambda[3*k:], x[:])
}

// tangentialStep is λ_T less its step, before projection.
func (p *Contacts) tangentialStep(k int, lambda []float64, steps pgsStep, omega float64) [2]float64 {
	xx, yy, xy := p.g.At(3*k, 3*k), p.g.At(3*k+1, 3*k+1), p.g.At(3*k, 3*k+1)
	h := 1 / ((xx+yy)/2 + math.Hypot((xx-yy)/2, xy))
	if steps == printedStep {
		h = 1 / min(xx, yy)
	}
	return [2]float64{
		lambda[3*k] - omega*h*p.row(3*k, lambda),
		lambda[3*k+1] - omega*h*p.row(3*k+1, lambda),
	}
}

// largestEigenvalue is that of a symmetric block.
func largestEigenvalue(b *[3][3]float64) float64 {
	values := eigenvalues(mat.NewSymDense(3, []float64{
		b[0][0], b[0][1], b[0][2], b[1][0], b[1][1], b[1][2], b[2][0], b[2][1], b[2][2]}))
	return values[2]
}

// eigenvalues of a symmetric matrix, in ascending order; NaN if the method fails.
func eigenvalues(m *mat.SymDense) []float64 {
	var e mat.EigenSym
	if !e.Factorize(m, false) {
		values := make([]float64, m.SymmetricDim())
		for i := range values {
			values[i] = math.NaN()
		}
		return values
	}
	return e.Values(nil)
}
