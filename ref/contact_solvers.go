package ref

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// ContactModel is a law of contact and friction.
type ContactModel uint8

// Contact models, with K = {‖λ_T‖ ≤ μλ_N}, K* = {c_N ≥ μ‖c_T‖} and Γ = (0, 0, μ‖c_T‖).
const (
	ContactLCP    ContactModel = iota // |λ_T| ≤ μλ_N on each tangential axis, 0 ≤ λ_N ⊥ c_N ≥ 0
	ContactCCP                        // K ∋ λ ⊥ c ∈ K* [AGIMUS2023, Contacts, eq. 15]
	ContactRaiSim                     // eq. 20: of each contact, given the others
	ContactNCP                        // K ∋ λ ⊥ c + Γ ∈ K*, eq. 14
)

var contactModelNames = [...]string{"lcp", "ccp", "raisim", "ncp"}

func (m ContactModel) String() string {
	if int(m) < len(contactModelNames) {
		return contactModelNames[m]
	}
	return fmt.Sprintf("model(%d)", uint8(m))
}

// ContactStop is the rule by which a contact solver ends.
type ContactStop uint8

const (
	// StopRelative: the residual of every contact, in m/s, is at most the tolerance times its speed scale; see
	// [ContactResidual]. That is the rule of package contact.
	StopRelative ContactStop = iota
	// StopAbsolute is the rule of [AGIMUS2023, Contacts], for its experiments: the tolerance limits ε_d in m/s, and
	// ε_p in N·s and ε_c in J, both divided by max(1, |λ|), with |λ| the largest component of an impulse in N·s; for
	// RaiSim's model also the residual of every contact in m/s. It means something at one size alone: impulses of a
	// light body are as small as the tolerance.
	StopAbsolute
)

// ContactOptions configure a contact solver. The zero value is the documented default.
type ContactOptions struct {
	// Tolerance has no unit: see Stop. Zero: 1e-9.
	Tolerance float64
	// Stop is what the tolerance limits.
	Stop ContactStop
	// Limit is the largest number of iterations: sweeps, steps or rounds. Zero: 10,000.
	Limit int
	// Relaxation is the factor ω of sweeps: λ ← ω·new + (1 − ω)·old, then projected again; and α of ADMM.
	// Zero: 1.
	Relaxation float64
	// Warm are impulses to start from, [3n]. Nil: zero. By [StopRelative] those that are worse than none are dropped.
	Warm []float64
}

func (o ContactOptions) withDefaults() ContactOptions {
	if o.Tolerance == 0 {
		o.Tolerance = 1e-9
	}
	if o.Limit == 0 {
		o.Limit = 10000
	}
	if o.Relaxation == 0 {
		o.Relaxation = 1
	}
	return o
}

// ContactResult is the answer of a contact solver. It is that of the least residual met.
type ContactResult struct {
	Impulse    []float64 // [3n] λ, N·s: t1, t2, n by contact
	Residual   ContactResidual
	Iterations int
	// Decided: the residual is within the tolerance. Else the answer is undecided.
	Decided bool
}

// ContactSolver is a row of the table of solvers.
type ContactSolver struct {
	Name  string
	Model ContactModel
	Solve func(*Contacts, ContactOptions) ContactResult
}

// ContactSolvers lists the contact solvers.
func ContactSolvers() []ContactSolver {
	return []ContactSolver{
		{"lcp-pgs", ContactLCP, (*Contacts).LCPPGS},
		{"ccp-pgs", ContactCCP, (*Contacts).CCPPGS},
		{"ccp-admm", ContactCCP, (*Contacts).CCPADMM},
		{"ccp-newton", ContactCCP, (*Contacts).CCPNewton},
		{"raisim", ContactRaiSim, (*Contacts).RaiSim},
		{"ncp-pgs", ContactNCP, (*Contacts).NCPPGS},
		{"ncp-exact", ContactNCP, (*Contacts).NCPExact},
		{"ncp-admm", ContactNCP, (*Contacts).NCPADMM},
		{"ncp-newton", ContactNCP, (*Contacts).NCPNewton},
		{"ncp-staggered", ContactNCP, (*Contacts).NCPStaggered},
	}
}

// contactRun keeps the best impulses of a solver, in the units of its problem.
type contactRun struct {
	p            *Contacts
	model        ContactModel
	o            ContactOptions
	scales, free []float64 // see speedScales
	best         []float64
	error        float64
	last         float64
}

func (p *Contacts) run(model ContactModel, o ContactOptions) *contactRun {
	r := &contactRun{p: p, model: model, o: o.withDefaults(), error: math.Inf(1)}
	of := r.o.Tolerance
	if r.o.Stop == StopAbsolute { // its tolerance has nothing to do with the scales
		of = ContactOptions{}.withDefaults().Tolerance
	}
	r.scales, r.free = p.speedScales(model, of)
	return r
}

// start returns the impulses to start from. Those of islands whose free motion solves the problem are dropped, and all
// if none has a smaller residual.
func (r *contactRun) start() []float64 {
	lambda := make([]float64, 3*r.p.Points())
	copy(lambda, scaledSlice(1/r.p.units.impulse(), r.o.Warm))
	if r.o.Stop == StopAbsolute {
		return lambda
	}
	for k, e := range r.free {
		if e == 0 {
			clear(lambda[3*k : 3*k+3])
		}
	}
	none := make([]float64, len(lambda))
	if r.measure(lambda) > r.measure(none) {
		return none
	}
	return lambda
}

// measure is the number that the tolerance limits; +Inf in place of NaN.
func (r *contactRun) measure(lambda []float64) float64 {
	if r.o.Stop == StopRelative {
		_, _, ratio := r.p.relative(r.model, lambda, r.scales)
		return ratio
	}
	e := r.p.units.residual(r.p.paperResidual(r.model, lambda))
	f := max(1, largestOf(lambda)*r.p.units.impulse())
	most := max(e.Dual, e.Primal/f, e.Complementarity/f)
	if r.model == ContactRaiSim {
		for k := range r.p.mu {
			most = max(most, r.p.natural(r.model, k, lambda)*r.p.units.speed)
		}
	}
	if math.IsNaN(most) {
		return math.Inf(1)
	}
	return most
}

// done measures λ, keeps it if it is the best so far, and reports whether it is within the tolerance.
func (r *contactRun) done(lambda []float64) bool {
	r.last = r.measure(lambda)
	if r.last < r.error || r.best == nil {
		r.error = r.last
		r.best = append(r.best[:0], lambda...)
	}
	return r.last <= r.o.Tolerance
}

func (r *contactRun) result(iterations int) ContactResult {
	u := r.p.units
	return ContactResult{scaledSlice(u.impulse(), r.best), u.residual(r.p.residual(r.model, r.best, r.scales)),
		iterations, r.error <= r.o.Tolerance}
}

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
