package contact

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
