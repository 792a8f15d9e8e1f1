package contact

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// resolved is the part of the speeds at a contact that float64 resolves after the sums of a solve: 256 times its
// rounding unit. Residuals below it mean nothing.
const resolved = 0x1p-44

// setScales sets the trace of the block of G and the speed scale of every contact.
//
// The bodies that move and are joined by contacts are an island; bodies that do not move join none. The scale of an
// island is the largest residual that its contacts have without impulses, that is of Γ and the velocities c of v_f: the
// distance of c + Γ from K*. So a tolerance is relative to what the impulses have to change, and neither masses, nor a
// speed that all bodies have, nor a fast body that touches none of an island loosens it. It is at least what float64
// resolves of the speeds, divided by the tolerance.
func (s *worldSolver) setScales(model Model, tol float64) {
	n := len(s.mass)
	resize(&s.island, n)
	resize(&s.violation, n)
	resize(&s.speed, n)
	for b := range s.island {
		s.island[b], s.violation[b], s.speed[b] = b, 0, 0
	}
	for i := range s.rows {
		r := &s.rows[i]
		r.rigid = s.traceOf(r)
		r.trace = r.rigid + 2*r.rT + r.rN
		if s.invMass[r.a] > 0 && s.invMass[r.b] > 0 {
			a, b := s.root(r.a), s.root(r.b)
			s.island[max(a, b)] = min(a, b)
		}
	}
	for i := range s.rows {
		r := &s.rows[i]
		c := withSlip(model, r.velocity(s.free), r.mu)
		speed := math.Abs(r.bias) + speedAt(&s.free[r.a], r.ra) + speedAt(&s.free[r.b], r.rb)
		r.island = s.islandOf(r)
		s.violation[r.island] = max(s.violation[r.island], dualDistance(c, r.mu))
		s.speed[r.island] = max(s.speed[r.island], speed)
	}
	for i := range s.rows {
		r := &s.rows[i]
		r.scale = max(s.violation[r.island], resolved/tol*s.speed[r.island])
	}
}

// startFromRest drops impulses to start from that are no better than none: of islands whose free motion solves the
// problem, and of all if the residual exceeds the scale, which that of no impulses never does.
func (s *worldSolver) startFromRest(model Model) {
	for i := range s.rows {
		if s.violation[s.rows[i].island] == 0 {
			s.lambda[i] = r3.Vec{}
		}
	}
	s.intoCones()
	if e := s.measure(model, s.v, s.lambda); !(e.ratio <= 1) {
		clear(s.lambda)
	}
}

// root is the first body of the island of a body.
func (s *worldSolver) root(b int) int {
	for s.island[b] != b {
		s.island[b] = s.island[s.island[b]]
		b = s.island[b]
	}
	return b
}

// islandOf is the island of a contact, one of whose bodies moves at least.
func (s *worldSolver) islandOf(r *row) int {
	if s.invMass[r.b] > 0 {
		return s.root(r.b)
	}
	return s.root(r.a)
}

// speedAt bounds the speed of the point of a body at an arm by the terms that are added up to it.
func speedAt(t *twist, arm r3.Vec) float64 { return length(t.lin) + length(t.ang)*length(arm) }

// traceOf is the trace of the block JM⁻¹Jᵀ of a contact with orthonormal axes, which is at least its largest
// eigenvalue: a body of mass m and inertia I adds 3/m + ‖r‖²·tr I⁻¹ − rᵀI⁻¹r.
func (s *worldSolver) traceOf(r *row) (h float64) {
	for side, b := range [2]int{r.a, r.b} {
		arm := r.ra
		if side == 1 {
			arm = r.rb
		}
		i := &s.invInertia[b]
		h += 3*s.invMass[b] + dotVec(arm, arm)*(i[0]+i[1]+i[2]) - dotVec(arm, i.Mul(arm))
	}
	return h
}

// withSlip is c + Γ.
func withSlip(model Model, c r3.Vec, mu float64) r3.Vec {
	if model == NCP {
		c.Z += mu * math.Sqrt(c.X*c.X+c.Y*c.Y)
	}
	return c
}

// residual is h·‖λ − Π_K(λ − (c + Γ)/h)‖, given c + Γ: the natural map of the model, in m/s. It is 0 at solutions
// alone, does not fall as h grows, and does not change when masses, inertias and impulses are scaled together.
func (r *row) residual(l, c r3.Vec) float64 {
	h := r.trace
	x := r3.Vec{X: l.X - c.X/h, Y: l.Y - c.Y/h, Z: l.Z - c.Z/h}
	t := math.Sqrt(x.X*x.X + x.Y*x.Y)
	switch {
	case r.mu*t <= -x.Z: // Π_K(x) = 0, also for μ = 0
		return h * length(l)
	case t <= r.mu*x.Z: // Π_K(x) = x
		return length(c)
	}
	n := (r.mu*t + x.Z) / (1 + r.mu*r.mu)
	k := r.mu * n / t
	return h * length(r3.Vec{X: l.X - x.X*k, Y: l.Y - x.Y*k, Z: l.Z - n})
}

// residuals are those of a world. ε_p, ε_d and ε_c are the largest ones; residual and scale are those of the contact
// with the largest ratio of both, which a tolerance limits.
type residuals struct{ primal, dual, complementarity, residual, scale, ratio float64 }

// measure returns the residuals of λ, with v = v_f + M⁻¹Jᵀλ formed anew.
func (s *worldSolver) measure(model Model, v []twist, lambda []r3.Vec) (e residuals) {
	s.form(v, lambda)
	for i := range s.rows {
		r, l := &s.rows[i], lambda[i]
		c := withSlip(model, r.slip(v, l), r.mu)
		e.primal = max(e.primal, coneDistance(l, r.mu))
		e.dual = max(e.dual, dualDistance(c, r.mu))
		e.complementarity = max(e.complementarity, math.Abs(dotVec(l, c)))
		residual := r.residual(l, c)
		ratio := 0.0
		if residual != 0 {
			ratio = residual / r.scale
		}
		if i == 0 || !(ratio <= e.ratio || math.IsNaN(e.ratio)) {
			e.residual, e.scale, e.ratio = residual, r.scale, ratio
		}
	}
	return e
}

// keep measures λ and keeps it if its residual is the least so far, relative to the scale. It reports whether it is
// within tol.
func (s *worldSolver) keep(model Model, v []twist, lambda []r3.Vec, tol float64) (e float64, done bool) {
	e = ptr(s.measure(model, v, lambda)).ratio
	if e < s.bestError {
		s.bestError = e
		copy(s.best, lambda)
	}
	return e, e <= tol
}

// escapeState is the memory of bound.
type escapeState struct {
	v          []twist
	lambda     []r3.Vec
	free       []twist
	bias       []float64
	compliance [][2]float64
	size       []twistSize
	islands    []islandBound // by the first body of each
}

// twistSize bounds the absolute values that were added up to a velocity.
type twistSize struct{ lin, ang float64 }

// islandBound is what the bound of an island is made from.
type islandBound struct {
	gap       float64 // λᵀc
	compliant float64 // γ if all contacts have a normal compliance
	rigid     bool    // one has none
	jammed    bool    // the escape velocity enters a contact, so that it makes no velocity feasible
	sigma     float64
	push      float64 // λᵀJv_0
	norm      float64 // ‖v_0‖²_M
}

// bound returns a bound of ‖J_i(v − v*)‖ over all contacts i, where v* is the velocity of the CCP and v that of
// s.lambda, which must lie in K. Islands are problems of their own. The CCP is the dual of the projection of v_f on
// {Jv − c* ∈ K*}, so that ½‖v − v*‖²_M is at most the duality gap γ, and ‖J_i(v − v*)‖² ≤ 2γ·h_i with the trace h_i of
// J_i·M⁻¹·J_iᵀ. A feasible velocity follows from an escape velocity v_0, which has m = (Jv_0)_N − μ‖(Jv_0)_T‖ > 0 at
// every contact: with the violations w = max(0, μ‖c_T‖ − c_N) and σ = max w/m, the velocity v + σv_0 is feasible, and
//
//	γ = λᵀc + σλᵀJv_0 + ½σ²‖v_0‖²_M.
//
// If every contact has a normal compliance, λ_N + w/R_N is feasible and γ = λᵀc + Σ λ_N·w + ½w²/R_N. Without
// escape velocity the bodies are jammed, and the bound is +Inf. Rounding errors are added to w, m and γ.
func (s *worldSolver) bound() (most float64) {
	if len(s.rows) == 0 {
		return 0
	}
	e := &s.escape
	resize(&e.islands, len(s.mass))
	clear(e.islands)
	s.sizes(s.lambda)
	rigid := false
	for i := range s.rows {
		of := &e.islands[s.rows[i].island]
		of.rigid = of.rigid || !(s.rows[i].rN > 0)
		rigid = rigid || of.rigid
	}
	if rigid {
		s.findEscape()
		s.escapeNorms()
	}
	for i := range s.rows {
		s.addToBound(&s.rows[i], s.lambda[i])
	}
	for i := range s.rows {
		r := &s.rows[i]
		of := &e.islands[r.island]
		gap := of.compliant
		switch {
		case of.jammed && of.sigma > 0:
			return math.Inf(1)
		case of.rigid:
			gap = of.gap + of.sigma*of.push + of.sigma*of.sigma*of.norm/2
		}
		most = max(most, root(gap*r.rigid))
	}
	return most
}

// addToBound adds a contact to the terms of its island.
func (s *worldSolver) addToBound(r *row, l r3.Vec) {
	e, of := &s.escape, &s.escape.islands[r.island]
	c, w, round := s.violationOf(r, l)
	gap := dotVec(l, c) + round*r3.Norm(l)
	of.gap += gap
	if !of.rigid {
		of.compliant += gap + l.Z*w + w*w/(2*r.rN)
		return
	}
	d := r.moving(e.v)
	m := d.Z - r.mu*math.Hypot(d.X, d.Y) - s.rounding(r, twistSizeOf(e.v[r.a]), twistSizeOf(e.v[r.b]), 16)
	of.push += dotVec(l, d)
	of.jammed = of.jammed || !(m > 0)
	if w > 0 {
		of.sigma = max(of.sigma, w/math.Abs(m))
	}
}

// escapeNorms sets ‖v_0‖²_M of every island.
func (s *worldSolver) escapeNorms() {
	e := &s.escape
	for b := range s.mass {
		if v := &e.v[b]; s.invMass[b] > 0 {
			e.islands[s.root(b)].norm += s.mass[b]*dotVec(v.lin, v.lin) + dotVec(v.ang, s.inertia[b].Mul(v.ang))
		}
	}
}

// root is √(2γh); the last factor covers the rounding of γ itself.
func root(gap float64) float64 { return math.Sqrt(2*max(gap, 0)) * (1 + 1e-12) }

// violationOf returns c, the violation of c ∈ K* with the rounding error of c added, and that error.
func (s *worldSolver) violationOf(r *row, l r3.Vec) (c r3.Vec, w, round float64) {
	c = r.slip(s.v, l)
	size := s.escape.size
	round = s.rounding(r, size[r.a], size[r.b], len(s.rows)+16)
	round += 4 * 0x1p-53 * (math.Abs(r.bias) + max(r.rT, r.rN)*r3.Norm(l))
	return c, max(0, r.mu*math.Hypot(c.X, c.Y)-c.Z+(1+r.mu)*round), round
}

func twistSizeOf(v twist) twistSize { return twistSize{r3.Norm(v.lin), r3.Norm(v.ang)} }

// rounding bounds the rounding error of a component of Jv by terms·u times what was added up.
func (s *worldSolver) rounding(r *row, a, b twistSize, terms int) float64 {
	return float64(terms) * 0x1p-53 * (a.lin + b.lin + a.ang*r3.Norm(r.ra) + b.ang*r3.Norm(r.rb))
}

// sizes adds up the absolute values of the terms of v_f + M⁻¹Jᵀλ. Those of rotations are weighted with the
// condition of the inertia, of which the rounding error of its inverse is a multiple.
func (s *worldSolver) sizes(lambda []r3.Vec) {
	e := &s.escape
	for b := range s.condition {
		if i := &s.inertia[b]; s.invMass[b] > 0 {
			s.condition[b] = (i[0] + i[1] + i[2]) / i.MinEigenvalue()
		}
	}
	resize(&e.size, len(s.free))
	for b := range e.size {
		e.size[b] = twistSizeOf(s.free[b])
	}
	for i := range s.rows {
		r := &s.rows[i]
		l := r3.Norm(lambda[i])
		for _, side := range [2]struct {
			b   int
			arm r3.Vec
		}{{r.a, r.ra}, {r.b, r.rb}} {
			if s.invMass[side.b] > 0 {
				inverse := &s.invInertia[side.b]
				e.size[side.b].lin += s.invMass[side.b] * l
				e.size[side.b].ang += (inverse[0] + inverse[1] + inverse[2]) * r3.Norm(side.arm) * l *
					s.condition[side.b]
			}
		}
	}
}

// findEscape sets escape.v to the velocity of the CCP with v_f = 0, c*_N = 1 and R = 0, which is an escape
// velocity wherever there is one. The state of the solver is kept.
func (s *worldSolver) findEscape() {
	e := &s.escape
	resize(&e.v, len(s.v))
	resize(&e.lambda, len(s.lambda))
	resize(&e.free, len(s.free))
	resize(&e.bias, len(s.rows))
	resize(&e.compliance, len(s.rows))
	copy(e.lambda, s.lambda)
	copy(e.free, s.free)
	clear(s.free)
	for i := range s.rows {
		r := &s.rows[i]
		e.bias[i], e.compliance[i] = r.bias, [2]float64{r.rT, r.rN}
		r.bias, r.rT, r.rN = -1, 0, 0
		s.lambda[i] = r3.Vec{}
	}
	const tolerance = 1e-3
	s.setScales(CCP, tolerance)
	sweeps, steps := s.sweeps, s.steps
	s.sweeps, s.steps = 0, 0
	s.solve(&Options{Model: CCP, Tolerance: tolerance, Relaxation: 1, Sweeps: 20, Steps: 400}, false, false, nil, 0)
	s.form(e.v, s.lambda)
	s.sweeps, s.steps = sweeps, steps
	for i := range s.rows {
		r := &s.rows[i]
		r.bias, r.rT, r.rN = e.bias[i], e.compliance[i][0], e.compliance[i][1]
	}
	copy(s.free, e.free)
	copy(s.lambda, e.lambda)
	s.form(s.v, s.lambda)
}

const (
	// internalWeight is κ times the largest block of G. The part of λ in the range of J that a projection misses is
	// 1/(1 + κσ) of it, for an eigenvalue σ of G.
	internalWeight = 1e6
	// internalRounds is the number of projections, each of what the last one missed.
	internalRounds = 3
)

// dropInternal replaces impulses by their projection on the range of J, which moves the bodies as they do and has no
// internal force, if it solves the problem as well: where all contacts stick. With H = κ·1 the projection is
// HJ(M + JᵀHJ)⁻¹Jᵀλ for κ → ∞. e are the residuals of the impulses. It reports whether impulses were replaced; those
// of s.lambda and the velocities s.v belong to each other either way.
func (s *worldSolver) dropInternal(model Model, tol float64, e *residuals) bool {
	n := &s.newton
	s.prepare()
	s.setHeights()
	if !s.newtonMemory() {
		return false
	}
	most := 0.0
	for i := range s.rows {
		most = max(most, s.rows[i].height)
	}
	weight := internalWeight / most
	for i := range n.curvature {
		n.curvature[i] = [3][3]float64{{weight, 0, 0}, {0, weight, 0}, {0, 0, weight}}
	}
	copy(n.outer, s.lambda) // what is left
	clear(n.lambda)
	for range internalRounds {
		clear(n.gradient)
		clear(n.step)
		for i := range s.rows {
			s.subtractForce(&s.rows[i], n.outer[i])
		}
		s.assemble()
		if !s.factor() {
			return false
		}
		for i := range s.rows {
			r := &s.rows[i]
			c := r.velocity(n.step)
			c.Z -= r.bias
			n.lambda[i], n.outer[i] = addScaled(n.lambda[i], weight, c), addScaled(n.outer[i], -weight, c)
		}
	}
	for i := range s.rows {
		if coneDistance(n.lambda[i], s.rows[i].mu) > 0 {
			return false
		}
	}
	if got := s.measure(model, n.measured, n.lambda); got.ratio <= tol {
		*e = got
		copy(s.lambda, n.lambda)
		copy(s.v, n.measured)
		return true
	}
	return false
}
