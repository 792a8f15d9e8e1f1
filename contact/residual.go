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
		h += 3*s.invMass[b] + dotVec(arm, arm)*(i[0]+i[1]+i[2]) - dotVec(arm, i.mul(arm))
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
