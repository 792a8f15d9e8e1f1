package geom

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// A shape grows about its center, a point c of it: by the factor a it becomes c + a·(S − c), margin
// included [Growth, eq. 9]. The growth distance of a pair depends on the choice of both centers.

// minGrowthInradius is the distance of the local origin from the boundary, relative to the bounding radius,
// from which on the origin is the default center.
const minGrowthInradius = 1e-3

// GrowthCenter returns the default center of growth: the parameter center where the kind has one, else the
// local origin if it lies inside by 1e-3 of the bounding radius at least, else Center(). A half-space has no
// center of growth; the result is a point of its plane.
func GrowthCenter(s Shape) r3.Vec {
	for _, p := range s.Kind().Params() {
		if p.Center {
			return s.Center()
		}
	}
	if -s.Residual(r3.Vec{}) >= minGrowthInradius*s.BoundingRadius() {
		return r3.Vec{}
	}
	return s.Center()
}

// InradiusAt returns the radius of a ball about c that is proved to lie in the shape: 0 where the shape is
// flat, where c does not lie inside, and for a half-space, which does not grow.
//
// Inside, the magnitude of [Shape.Residual] is at most the distance from the boundary, up to rounding. The
// residual and the lengths that it is computed from are chains of operations on magnitudes of at most
// reach; 32 units of it cover them, and 2⁻³⁰ of the radius covers the powers of superquadrics and smooth
// shapes, whose errors grow with the exponents.
func InradiusAt(s Shape, c r3.Vec) float64 {
	if s.Kind().Traits().Unbounded {
		return 0
	}
	reach := math.Sqrt(r3.Norm2(c)) + math.Sqrt(r3.Norm2(s.Center())) + s.BoundingRadius()
	if r := -s.Residual(c)*(1-0x1p-30) - 32*0x1p-53*reach; r > 0 {
		return r
	}
	return 0
}

// CheckGrowthCenter reports a point that is no center of growth of the shape: one that is not an interior
// point, or of a flat shape not a point of it. A half-space has none.
func CheckGrowthCenter(s Shape, c r3.Vec) error {
	k := s.Kind()
	if k.Traits().Unbounded {
		return fmt.Errorf("%s: center: a half-space does not grow", k)
	}
	if InradiusAt(s, c) > 0 {
		return nil
	}
	out := s.Residual(c)
	if InradiusAt(s, s.Center()) > 0 {
		return fmt.Errorf("%s: center = (%g, %g, %g), want an interior point; this one lies %.3g m outside", k,
			c.X, c.Y, c.Z, math.Max(out, 0))
	}
	// A point of a flat shape, rounded, lies off it by some units of the magnitudes.
	reach := math.Sqrt(r3.Norm2(c)) + math.Sqrt(r3.Norm2(s.Center())) + s.BoundingRadius()
	if !(out <= 64*0x1p-53*reach) {
		return fmt.Errorf("%s: center = (%g, %g, %g), want a point of the flat shape; this one lies %.3g m away", k,
			c.X, c.Y, c.Z, out)
	}
	return nil
}
