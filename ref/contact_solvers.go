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
