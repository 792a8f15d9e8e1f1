package contact

import "gonum.org/v1/gonum/spatial/r3"

// The laws of a single contact, for package contact/system, whose problems are not those of bodies.

// ConeForce minimizes ½λᵀRλ + sᵀλ over the cone of friction mu, R = diag(rT, rT, rN), and sets h = −dλ/ds.
func ConeForce(s r3.Vec, mu, rT, rN float64, h *[3][3]float64) r3.Vec {
	return coneForce(s, mu, rT, rN, h)
}

// DiscForce is the normal law λ_N = max(0, −s_N/rN), then −s_T/rT projected on the disc of radius μλ_N. It sets
// h = −dλ/ds, which is not symmetric where the contact slides.
func DiscForce(s r3.Vec, mu, rT, rN float64, h *[3][3]float64) r3.Vec {
	return discForce(s, mu, rT, rN, h)
}

// ProjectCone is the point of the cone of friction mu that is nearest to x.
func ProjectCone(x r3.Vec, mu float64) r3.Vec { return projectCone(x, mu) }

// ConeDistance is the distance of x from the cone of friction mu.
func ConeDistance(x r3.Vec, mu float64) float64 { return coneDistance(x, mu) }

// DualDistance is the distance of c from the dual of the cone of friction mu.
func DualDistance(c r3.Vec, mu float64) float64 { return dualDistance(c, mu) }

// WithSlip is c + Γ: the velocity on which the law of the model acts.
func WithSlip(model Model, c r3.Vec, mu float64) r3.Vec { return withSlip(model, c, mu) }

// NaturalMap is h·‖λ − Π_K(λ − c/h)‖ in m/s, of an impulse l and of c from [WithSlip]. It is 0 at solutions alone.
func NaturalMap(l, c r3.Vec, mu, h float64) float64 {
	r := row{mu: mu, trace: h}
	return r.residual(l, c)
}
