package ref

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

const (
	// admmProximal is η relative to λ_max(G). It keeps singular matrices invertible, and is small beside the first ρ,
	// which is at least 3e-4·λ_max.
	admmProximal = 1e-9
	admmPeriod   = 10 // iterations between two changes of ρ
	admmBalance  = 10 // ratio of ρ times the primal residual to the dual one, both in m/s, beyond which ρ changes by 2
)

// CCPADMM solves the CCP by the alternating direction method of multipliers [AGIMUS2023, Contacts, Alg. 3], with
// a proximal term η and a penalty ρ that balances both residuals. It starts at √(λ_max·max(λ_min, 1e-7·λ_max)).
func (p *Contacts) CCPADMM(o ContactOptions) ContactResult { return p.admm(ContactCCP, o) }

// NCPADMM is [Contacts.CCPADMM] with Γ of the multiplier of the last iteration added to g. It need not converge.
func (p *Contacts) NCPADMM(o ContactOptions) ContactResult { return p.admm(ContactNCP, o) }

func (p *Contacts) admm(model ContactModel, o ContactOptions) ContactResult {
	r := p.run(model, o)
	z := r.start()
	n := len(z)
	x, gamma := append([]float64(nil), z...), make([]float64, n)
	symmetric := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			symmetric.SetSym(i, j, p.g.At(i, j))
		}
	}
	values := eigenvalues(symmetric)
	top := values[n-1]
	rho, eta := math.Sqrt(top*max(values[0], 1e-7*top)), admmProximal*top
	var factor mat.Cholesky
	factorize := func() bool {
		shifted := mat.NewSymDense(n, nil)
		shifted.CopySym(symmetric)
		for i := range n {
			shifted.SetSym(i, i, shifted.At(i, i)+rho+eta)
		}
		return factor.Factorize(shifted)
	}
	ok := factorize()
	right, solution := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	k := 0
	for ; ok && k < r.o.Limit && !r.done(z); k++ {
		for i := range n {
			right.SetVec(i, -(p.offset[i] + gamma[i] - rho*z[i] - eta*x[i]))
		}
		if model == ContactNCP {
			for c, mu := range p.mu {
				right.SetVec(3*c+2, right.AtVec(3*c+2)-mu*math.Hypot(gamma[3*c], gamma[3*c+1]))
			}
		}
		if factor.SolveVecTo(solution, right) != nil {
			break
		}
		copy(x, solution.RawVector().Data)
		primal, dual := p.admmProject(x, z, gamma, rho, r.o.Relaxation)
		if k%admmPeriod == admmPeriod-1 {
			switch {
			case rho*primal > admmBalance*dual:
				rho *= 2
				ok = factorize()
			case dual > admmBalance*rho*primal:
				rho /= 2
				ok = factorize()
			}
		}
	}
	r.done(z)
	return r.result(k)
}

// admmProject updates z and the multiplier. It returns the largest |x − z|, and ρ times the largest change of z.
func (p *Contacts) admmProject(x, z, gamma []float64, rho, alpha float64) (primal, dual float64) {
	for k, mu := range p.mu {
		var mixed, y [3]float64
		for i := range 3 {
			l := 3*k + i
			mixed[i] = alpha*x[l] + (1-alpha)*z[l]
			y[i] = mixed[i] + gamma[l]/rho
		}
		y = projectCone(y, mu)
		for i := range 3 {
			l := 3*k + i
			gamma[l] += rho * (mixed[i] - y[i])
			primal = max(primal, math.Abs(x[l]-y[i]))
			dual = max(dual, rho*math.Abs(y[i]-z[l]))
			z[l] = y[i]
		}
	}
	return primal, dual
}
