package ref

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

const (
	staggeredDiscs = 2000 // sweeps of the tangential problem
	normalOuter    = 60   // proximal steps of the normal problem
	normalSets     = 200  // active sets of one of them
	// normalProximal is relative to the mean diagonal of G_NN, 1/kg. It makes a singular matrix definite; the proximal
	// steps take it out again, at any mass.
	normalProximal = 1e-9
	// settled is the change of impulses, relative to the largest one, at which an inner problem ends. It ends no solve:
	// the residual does, and of a light body beside a heavy one the next round goes on.
	settled = 1e-15
	// activeRounding is the gradient, relative to the largest velocity of the problem, that counts as rounding.
	activeRounding = 1e-13
)

// NCPStaggered solves the NCP by staggered projections [AGIMUS2023, Contacts, Alg. 6]: normal impulses by a
// quadratic program given the tangential ones, then these given the normal ones. Line 2 of the paper's
// algorithm takes g_N, not g_T. Fixed points solve the NCP; there is no guarantee of convergence.
func (p *Contacts) NCPStaggered(o ContactOptions) ContactResult {
	if o.Limit == 0 {
		o.Limit = 500
	}
	r := p.run(ContactNCP, o)
	lambda := r.start()
	n := 0
	for ; n < r.o.Limit && !r.done(lambda); n++ {
		p.staggeredNormal(lambda)
		p.staggeredTangential(lambda)
	}
	r.done(lambda)
	return r.result(n)
}

// staggeredNormal sets λ_N ≥ 0 to the minimum of ½λ_NᵀG_NN·λ_N + (g_N + G_NT·λ_T)ᵀλ_N, by proximal steps, each
// by changes of the active set. G_NN may be singular.
func (p *Contacts) staggeredNormal(lambda []float64) {
	n := p.Points()
	a := mat.NewSymDense(n, nil)
	b, x := make([]float64, n), make([]float64, n)
	trace := 0.0
	for i := range n {
		for j := range i + 1 {
			a.SetSym(i, j, p.g.At(3*i+2, 3*j+2))
		}
		trace += a.At(i, i)
		x[i] = max(0, lambda[3*i+2])
		lambda[3*i+2] = 0
	}
	for i := range n {
		b[i] = p.row(3*i+2, lambda)
	}
	prox := normalProximal * trace / float64(n)
	for i := range n {
		a.SetSym(i, i, a.At(i, i)+prox)
	}
	for range normalOuter {
		f := make([]float64, n)
		for i := range f {
			f[i] = b[i] - prox*x[i]
		}
		y := activeSet(a, f, x)
		change := 0.0
		for i := range x {
			change = max(change, math.Abs(y[i]-x[i]))
		}
		x = y
		if change <= 10*settled*largestOf(x) {
			break
		}
	}
	for i := range n {
		lambda[3*i+2] = x[i]
	}
}

// activeSet minimizes ½xᵀAx + bᵀx over x ≥ 0 for a positive definite A. All violations are exchanged at once; after
// half of the sets only the last one, which ends (Murty's rule).
func activeSet(a *mat.SymDense, b, start []float64) []float64 {
	n := len(b)
	free := make([]bool, n)
	for i := range free {
		free[i] = start[i] > 0
	}
	x := make([]float64, n)
	small := activeRounding * largestOf(b)
	for round := range normalSets {
		solveFree(a, b, free, x)
		var wrong []int
		for i := range n {
			gradient := b[i]
			for j := range n {
				gradient += a.At(i, j) * x[j]
			}
			if free[i] && x[i] < 0 || !free[i] && gradient < -small {
				wrong = append(wrong, i)
			}
		}
		if len(wrong) == 0 {
			break
		}
		if round >= normalSets/2 {
			wrong = wrong[len(wrong)-1:]
		}
		for _, i := range wrong {
			free[i] = !free[i]
		}
	}
	for i := range x {
		x[i] = max(0, x[i])
	}
	return x
}

// solveFree solves for the free components; the others are zero.
func solveFree(a *mat.SymDense, b []float64, free []bool, x []float64) {
	var list []int
	for i, f := range free {
		x[i] = 0
		if f {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return
	}
	sub, right := mat.NewSymDense(len(list), nil), mat.NewVecDense(len(list), nil)
	for i, k := range list {
		right.SetVec(i, -b[k])
		for j := range i + 1 {
			sub.SetSym(i, j, a.At(k, list[j]))
		}
	}
	var factor mat.Cholesky
	var y mat.VecDense
	if !factor.Factorize(sub) || factor.SolveVecTo(&y, right) != nil {
		return // λ = 0: the residual says so
	}
	for i, k := range list {
		x[k] = y.AtVec(i)
	}
}

// staggeredTangential minimizes over λ_T with ‖λ_T‖ ≤ μλ_N, by block Gauss-Seidel with exact discs.
func (p *Contacts) staggeredTangential(lambda []float64) {
	for k, mu := range p.mu {
		x := projectDisc([2]float64(lambda[3*k:]), mu*lambda[3*k+2])
		copy(lambda[3*k:], x[:])
	}
	for range staggeredDiscs {
		change := 0.0
		for k, mu := range p.mu {
			var a [2][2]float64
			var b [2]float64
			for i := range 2 {
				b[i] = p.row(3*k+i, lambda)
				for j := range 2 {
					a[i][j] = p.g.At(3*k+i, 3*k+j)
					b[i] -= a[i][j] * lambda[3*k+j]
				}
			}
			x := onDisc(a, b, mu*lambda[3*k+2])
			for i := range 2 {
				change = max(change, math.Abs(x[i]-lambda[3*k+i]))
				lambda[3*k+i] = x[i]
			}
		}
		if change <= settled*largestOf(lambda) {
			return
		}
	}
}

// onDisc minimizes ½xᵀAx + bᵀx over ‖x‖ ≤ radius: x = −(A + σI)⁻¹b with σ ≥ 0, by bisection.
func onDisc(a [2][2]float64, b [2]float64, radius float64) [2]float64 {
	s := slipProblem{a: a, b: b}
	x := s.shifted(0)
	if !(radius > 0) {
		return [2]float64{}
	}
	if math.Hypot(x[0], x[1]) <= radius {
		return x
	}
	lo, hi := 0.0, math.Hypot(b[0], b[1])/radius
	for range 200 {
		mid := (lo + hi) / 2
		if mid <= lo || mid >= hi {
			break
		}
		if y := s.shifted(mid); math.Hypot(y[0], y[1]) > radius {
			lo = mid
		} else {
			hi = mid
		}
	}
	return s.shifted(hi)
}
