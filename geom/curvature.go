package geom

// MinCurvatureRadius returns a radius ρ ≥ 0 such that a ball of radius ρ rolls
// freely inside the core of s, touching every point of its boundary. Then the core
// is X ⊕ B(ρ) for a convex X (Blaschke's rolling theorem), so that polytopes
// inscribed in the core may be rounded by ρ.
//
// For an ellipsoid it is the smallest radius of curvature, c²/a with a the longest
// and c the shortest semi-axis, rounded down. It is 0 for all cores with edges or
// corners, for points and segments, and for superquadrics.
func MinCurvatureRadius(s Shape) float64 {
	switch s := s.(type) {
	case Ellipsoid:
		c, a := s.Inradius(), s.BoundingRadius()
		return c / a * c * (1 - 0x1p-51) // two roundings, each below 2⁻⁵³
	case Rounded:
		return MinCurvatureRadius(s.Shape)
	default:
		return 0
	}
}
