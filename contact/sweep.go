package contact

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// sweep is one sweep of projected Gauss-Seidel in velocity space: λ of every contact is updated from the current
// v, and v at once by M⁻¹Jᵀdλ. G is never formed.
//
// NCP [AGIMUS2023, Contacts, Alg. 5], with the step 1/λ_max(G_TT) in place of 1/min(G_xx, G_yy), which can
// exceed 2/λ_max and then never converges. CCP [Alg. 2], with the step 1/h in place of 3/tr(G_ii), which can
// exceed 2/λ_max for some inertias.
func (s *worldSolver) sweep(model Model, omega float64) {
	for i := range s.rows {
		r := &s.rows[i]
		old := s.lambda[i]
		c := r.slip(s.v, old)
		var l r3.Vec
		if model == CCP {
			l = projectCone(addScaled(old, -omega/r.height, c), r.mu)
		} else {
			l = r.horizontal(old, c, omega)
		}
		s.lambda[i] = l
		if d := r3.Sub(l, old); d != (r3.Vec{}) {
			s.apply(s.v, r, d)
		}
	}
}

// horizontal updates the normal impulse and then, from the velocity that follows, the tangential one, which is
// projected on the disc of radius μλ_N.
func (r *row) horizontal(old, c r3.Vec, omega float64) r3.Vec {
	n := max(0, old.Z-omega*c.Z*r.stepN)
	d := n - old.Z
	x := old.X - omega*(c.X+r.g[0][2]*d)*r.stepT
	y := old.Y - omega*(c.Y+r.g[1][2]*d)*r.stepT
	if t, radius := x*x+y*y, r.mu*n; t > radius*radius {
		f := radius / math.Sqrt(t)
		x, y = x*f, y*f
	}
	return r3.Vec{X: x, Y: y, Z: n}
}
