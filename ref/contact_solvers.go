package ref

import (
	"fmt"
	"math"
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

// ContactOptions configure a contact solver. The zero value is the documented default.
type ContactOptions struct {
	// Tolerance limits ε_d in m/s, and ε_p and ε_c divided by max(1, |λ|) with |λ| the largest component of an
	// impulse. Zero: 1e-9.
	Tolerance float64
	// Limit is the largest number of iterations: sweeps, steps or rounds. Zero: 10,000.
	Limit int
	// Relaxation is the factor ω of sweeps: λ ← ω·new + (1 − ω)·old, then projected again; and α of ADMM.
	// Zero: 1.
	Relaxation float64
	// Warm are impulses to start from, [3n]. Nil: zero.
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

// contactRun keeps the best impulses of a solver.
type contactRun struct {
	p     *Contacts
	model ContactModel
	o     ContactOptions
	best  []float64
	error float64
	last  float64
}

func (p *Contacts) run(model ContactModel, o ContactOptions) *contactRun {
	return &contactRun{p: p, model: model, o: o.withDefaults(), error: math.Inf(1)}
}

// start returns the impulses to start from.
func (r *contactRun) start() []float64 {
	lambda := make([]float64, 3*r.p.Points())
	copy(lambda, r.o.Warm)
	return lambda
}

// done measures λ, keeps it if it is the best so far, and reports whether it is within the tolerance.
func (r *contactRun) done(lambda []float64) bool {
	e := r.p.basicResidual(r.model, lambda)
	r.last = e.scaled(largestOf(lambda))
	if r.last < r.error || r.best == nil {
		r.error = r.last
		r.best = append(r.best[:0], lambda...)
	}
	return r.last <= r.o.Tolerance
}

func (r *contactRun) result(iterations int) ContactResult {
	return ContactResult{r.best, r.p.Residual(r.model, r.best), iterations, r.error <= r.o.Tolerance}
}
