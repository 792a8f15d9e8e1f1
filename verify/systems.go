package verify

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/system"
	"clearance/internal/memory"
)

// AuditSystems is [AuditContacts] for solutions of package contact/system: velocities, residuals, scales and the
// identity of energy are computed anew from M, J and the impulses, by the dense matrices of Gonum. It shares no code
// with that package. A bound of the error is refuted where a rigid contact violates Jv − c* ∈ K* by more, which the
// solution of the CCP does not; other bounds count as unaudited. Option Bounds has no effect.
func AuditSystems(p *system.Problem, s *system.Solution, o ContactAudit) (*ContactReport, error) {
	if err := p.CheckShape(); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	w, n, c := p.Worlds, p.Velocities, p.Contacts
	for _, column := range [...][]float64{s.Residual, s.Scale, s.Primal, s.Dual, s.Complementarity, s.Bound} {
		if len(column) != w {
			return nil, fmt.Errorf("verify: the solution is not that of %d worlds", w)
		}
	}
	if len(s.Status) != w || len(s.Steps) != w || len(s.Impulse) != 3*w*c || len(s.Velocity) != w*n {
		return nil, fmt.Errorf("verify: the solution is not that of %d worlds of %d velocities, %d contacts", w, n, c)
	}
	if !(o.Tolerance > 0) {
		return nil, fmt.Errorf("verify: tolerance %g; it is positive", o.Tolerance)
	}
	what := fmt.Sprintf("the audit of mechanisms of %d velocities and %d contacts", n, c)
	if err := memory.Check(what, 8*(4*float64(n)*float64(n)+8*float64(c)*float64(n))); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	r := &ContactReport{Worlds: make([]ContactWorld, w)}
	for w := range p.Worlds {
		r.Worlds[w].Error = math.NaN()
		fault := p.CheckWorld(w)
		switch {
		case s.Status[w] == contact.Invalid:
			r.Invalid++
			if fault == nil {
				r.fail(w, "status", "the world is valid")
			}
			for _, x := range [...][]float64{s.Impulse[3*w*c : 3*(w+1)*c], s.Velocity[w*n : (w+1)*n],
				s.Residual[w : w+1], s.Scale[w : w+1], s.Primal[w : w+1], s.Dual[w : w+1],
				s.Complementarity[w : w+1], s.Bound[w : w+1]} {
				for _, v := range x {
					if !math.IsNaN(v) {
						r.fail(w, "invalid", "the number %g in an invalid world", v)
						break
					}
				}
			}
			continue
		case fault != nil:
			r.fail(w, "status", "the world is invalid: %v", fault)
			continue
		case s.Status[w] == contact.Solved:
			r.Solved++
		default:
			r.Undecided++
			if math.IsInf(s.Residual[w], 1) { // numbers that leave the range of float64, of which nothing is claimed
				continue
			}
		}
		newSystemAudit(p, s, w).run(r, s, &o)
	}
	return r, nil
}

// systemAudit has a world of a mechanism in matrices.
type systemAudit struct {
	p         *system.Problem
	w, count  int
	mass      *mat.SymDense
	change    []float64  // M⁻¹Jᵀλ
	response  *mat.Dense // M⁻¹Jᵀ
	condition float64    // of M with a diagonal of ones
	impulses  []float64
	after     []float64
	trace     []float64 // of the blocks of JM⁻¹Jᵀ
	terms     []float64 // bound the absolute values that v is the sum of
}

func newSystemAudit(p *system.Problem, s *system.Solution, w int) *systemAudit {
	n, count := p.Velocities, int(p.Count[w])
	a := &systemAudit{p: p, w: w, count: count, impulses: s.Impulse[3*w*p.Contacts:],
		change: make([]float64, n), after: make([]float64, n), trace: make([]float64, count), terms: make([]float64, n)}
	for i := range n {
		a.after[i] = p.Velocity[w*n+i]
		a.terms[i] = math.Abs(a.after[i])
	}
	if n == 0 || count == 0 {
		return a
	}
	// The unknowns are √M_ii·v_i, so that scales of the velocities do not count as a bad condition.
	size := make([]float64, n)
	for i := range size {
		size[i] = math.Sqrt(p.Mass[(w*n+i)*n+i])
	}
	a.mass = mat.NewSymDense(n, nil)
	rows := mat.NewDense(n, 3*count, nil)
	for i := range n {
		for j := range i + 1 {
			a.mass.SetSym(i, j, p.Mass[(w*n+i)*n+j]/size[i]/size[j])
		}
		for k := range 3 * count {
			rows.Set(i, k, p.Jacobian[(3*w*p.Contacts+k)*n+i]/size[i])
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(a.mass) {
		a.condition = math.Inf(1)
		return a
	}
	a.condition = factor.Cond()
	a.response = mat.NewDense(n, 3*count, nil)
	if factor.SolveTo(a.response, rows) != nil && math.IsInf(a.condition, 1) {
		return a
	}
	for k := range 3 * count {
		g := 0.0
		for i := range n {
			g += rows.At(i, k) * a.response.At(i, k)
			x := a.response.At(i, k) / size[i] * a.impulses[k]
			a.change[i] += x
			a.terms[i] += math.Abs(x)
		}
		a.trace[k/3] += g
	}
	for i := range n {
		a.after[i] += a.change[i]
	}
	return a
}

// islands returns the number of the least contact of the island of every contact: velocities that a number of M or a
// contact joins have the same.
func (a *systemAudit) islands() []int {
	p, n := a.p, a.p.Velocities
	least, of := make([]int, n), make([]int, a.count)
	for i := range least {
		least[i] = i
	}
	lower := func(i, j int) bool {
		m := min(least[i], least[j])
		changed := least[i] != m || least[j] != m
		least[i], least[j] = m, m
		return changed
	}
	for again := true; again; {
		again = false
		for i := range n {
			for j := range i {
				if p.Mass[(a.w*n+i)*n+j] != 0 && lower(i, j) {
					again = true
				}
			}
		}
		for k := range a.count {
			first := -1
			for x, v := range a.rows(k) {
				if j := x % n; v != 0 && first < 0 {
					first = j
				} else if v != 0 && lower(first, j) {
					again = true
				}
			}
		}
	}
	for k := range of {
		of[k] = n + k // of a contact that joins nothing
		for x, v := range a.rows(k) {
			if v != 0 {
				of[k] = least[x%n]
				break
			}
		}
	}
	return of
}

// rows are the three rows of J of a contact.
func (a *systemAudit) rows(k int) []float64 {
	n, at := a.p.Velocities, 3*(a.w*a.p.Contacts+k)
	return a.p.Jacobian[at*n : (at+3)*n]
}

// slip returns Jv − c* of a contact, with its offset, and the largest sum of the absolute values of its terms, given
// those of v.
func (a *systemAudit) slip(k int, v, sizes []float64) (c r3.Vec, terms float64) {
	p, n, at := a.p, a.p.Velocities, a.w*a.p.Contacts+k
	var out [3]float64
	for i := range out {
		sum := 0.0
		for j, x := range a.rows(k)[i*n : (i+1)*n] {
			out[i] += x * v[j]
			sum += math.Abs(x) * sizes[j]
		}
		terms = max(terms, sum)
	}
	if len(p.Offset) > 0 {
		offset := triple(p.Offset[3*at:])
		out[0], out[1], out[2] = out[0]+offset.X, out[1]+offset.Y, out[2]+offset.Z
		terms += r3.Norm(offset)
	}
	if len(p.Target) > 0 {
		out[2] -= p.Target[at]
		terms += math.Abs(p.Target[at])
	}
	return triple(out[:]), terms
}

// withLaw is c + Γ.
func withLaw(model contact.Model, c r3.Vec, mu float64) r3.Vec {
	if model == contact.NCP {
		c.Z += mu * math.Hypot(c.X, c.Y)
	}
	return c
}

// run audits the world.
func (a *systemAudit) run(r *ContactReport, s *system.Solution, o *ContactAudit) {
	p, w, n := a.p, a.w, a.p.Velocities
	for k := 3 * a.count; k < 3*p.Contacts; k++ {
		if a.impulses[k] != 0 {
			r.fail(w, "impulse", "an impulse of %g N·s at contact %d of %d", a.impulses[k], k/3, a.count)
			break
		}
	}
	if s.Steps[w] < 0 {
		r.fail(w, "steps", "%d steps", s.Steps[w])
	}
	a.judgeVelocity(r, s)
	of := a.islands()
	violation, speed := map[int]float64{}, map[int]float64{}
	free, sizes := p.Velocity[w*n:(w+1)*n], make([]float64, n)
	for i, v := range free {
		sizes[i] = math.Abs(v)
	}
	for k := range a.count {
		mu := p.Friction[w*p.Contacts+k]
		c, terms := a.slip(k, free, sizes)
		c = withLaw(o.Model, c, mu)
		violation[of[k]] = max(violation[of[k]], r3.Norm(nearestInCone(r3.Scale(-1, c), mu)))
		speed[of[k]] = max(speed[of[k]], terms)
	}
	scales := make([]islandScale, a.count)
	for k := range scales {
		scales[k] = islandScale{max(violation[of[k]], contactResolved/o.Tolerance*speed[of[k]]), speed[of[k]]}
	}
	a.judgeLaws(r, s, o, scales)
}

// judgeLaws compares the residuals, the energy and the bound.
func (a *systemAudit) judgeLaws(r *ContactReport, s *system.Solution, o *ContactAudit, scales []islandScale) {
	p, w := a.p, a.w
	out := &r.Worlds[w]
	var natural natural
	speed, largest, law, entered := 0.0, 0.0, 0.0, 0.0
	work, sum := a.work(s)
	for k := range a.count {
		at := w*p.Contacts + k
		l, mu, h := triple(a.impulses[3*k:]), p.Friction[at], a.trace[k]
		c, terms := a.slip(k, a.after, a.terms)
		law += r3.Dot(l, r3.Sub(a.moving(k), c)) // of the targets and offsets
		if len(p.Compliance) > 0 {
			rT, rN := p.Compliance[2*at], p.Compliance[2*at+1]
			give := r3.Vec{X: rT * l.X, Y: rT * l.Y, Z: rN * l.Z}
			law -= r3.Dot(l, give)
			c = r3.Add(c, give)
			h += 2*rT + rN
			terms += max(rT, rN) * r3.Norm(l)
		}
		if len(p.Compliance) == 0 || p.Compliance[2*at] == 0 && p.Compliance[2*at+1] == 0 {
			entered = max(entered, r3.Norm(nearestInCone(r3.Scale(-1, c), mu))-contactRound*a.condition*(1+mu)*terms)
		}
		if o.Model == contact.NCP {
			law -= mu * math.Hypot(c.X, c.Y) * l.Z
		}
		u := withLaw(o.Model, c, mu)
		out.measure(l, u, mu)
		sum += r3.Norm(l) * r3.Norm(c)
		largest, speed = max(largest, math.Abs(l.X), math.Abs(l.Y), math.Abs(l.Z)), max(speed, terms)
		if h > 0 {
			natural.add(l, u, mu, h, scales[k], a.condition*terms, k == 0)
		} else {
			natural.add(l, u, mu, 1, scales[k], terms, k == 0)
		}
	}
	out.Residual, out.Scale, out.Energy = natural.residual, natural.scale, math.Abs(work-law)
	view := &contact.Solution{Residual: s.Residual, Scale: s.Scale, Primal: s.Primal, Dual: s.Dual,
		Complementarity: s.Complementarity, Bound: s.Bound, Status: s.Status}
	r.judgeScale(view, o, w, &natural, scales)
	factor := max(1, a.condition*contactRound/contactRounding) // rounding of M⁻¹
	r.judge(&contact.Problem{Count: p.Count}, view, w, factor*speed, largest, factor*sum)
	switch bound := s.Bound[w]; {
	case math.IsNaN(bound), math.IsInf(bound, 1) && o.Model == contact.CCP: // it is not claimed, or the proof failed
	case o.Model != contact.CCP:
		r.fail(w, "bound", "a bound of the error of %g, which the %v does not have", bound, o.Model)
	case !(bound >= 0), !(entered <= bound*(1+1e-9)):
		r.fail(w, "bound", "a bound of the error of %g m/s; a contact violates c ∈ K* by %g m/s", bound, entered)
	case a.count > 0:
		r.Unaudited++
	}
}

// work is vᵀM(v − v_f) of the stored velocities, which is vᵀJᵀλ, and the sum of its absolute values.
func (a *systemAudit) work(s *system.Solution) (work, sum float64) {
	p, w, n := a.p, a.w, a.p.Velocities
	for i := range n {
		for j := range n {
			x := s.Velocity[w*n+i] * p.Mass[(w*n+max(i, j))*n+min(i, j)]
			work += x * (s.Velocity[w*n+j] - p.Velocity[w*n+j])
			sum += math.Abs(x) * (math.Abs(s.Velocity[w*n+j]) + math.Abs(p.Velocity[w*n+j]))
		}
	}
	return work, sum
}

// moving is Jv of a contact, at the velocities computed anew.
func (a *systemAudit) moving(k int) r3.Vec {
	n := a.p.Velocities
	var c [3]float64
	for at, x := range a.rows(k) {
		c[at/n] += x * a.after[at%n]
	}
	return triple(c[:])
}

// judgeVelocity compares the stored velocities by the momenta that they miss, M(v − v_f) − Jᵀλ. A backward error of so
// many units in factors L of M = LLᵀ has momenta of √M_ii·Σ√M_jj·|v_j|, and √M_ii·√G_kk·|λ_k| by the impulses, since
// √M_ii is the norm of row i of L and √G_kk that of row k of JL⁻ᵀ.
func (a *systemAudit) judgeVelocity(r *ContactReport, s *system.Solution) {
	p, w, n := a.p, a.w, a.p.Velocities
	size := 0.0
	for i := range n {
		size += math.Sqrt(p.Mass[(w*n+i)*n+i]) * (math.Abs(s.Velocity[w*n+i]) + math.Abs(p.Velocity[w*n+i]))
	}
	for k := range 3 * a.count {
		size += math.Sqrt(a.trace[k/3]) * math.Abs(a.impulses[k])
	}
	out := &r.Worlds[w]
	for i := range n {
		out.Velocity = max(out.Velocity, math.Abs(a.after[i]-s.Velocity[w*n+i]))
		missing := 0.0
		for j := range n {
			missing += p.Mass[(w*n+max(i, j))*n+min(i, j)] * (s.Velocity[w*n+j] - p.Velocity[w*n+j])
		}
		for k := range 3 * a.count {
			missing -= p.Jacobian[(3*w*p.Contacts+k)*n+i] * a.impulses[k]
		}
		units := float64(8*(n+3*a.count)+100) * 0x1p-53
		if !(math.Abs(missing) <= units*math.Sqrt(p.Mass[(w*n+i)*n+i])*size) {
			r.fail(w, "velocity", "momentum %d of the stored velocity differs from that of the impulses by %g", i,
				missing)
			return
		}
	}
}
