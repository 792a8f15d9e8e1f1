package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Box is a rectangular block around the local origin with its edges along the
// axes. Its core is the box itself. It does not implement [Smooth].
type Box struct {
	HalfExtents r3.Vec // half the edge lengths, metres
}

// Kind returns KindBox.
func (Box) Kind() Kind { return KindBox }

func (b Box) values() values { return values{numbers(b.HalfExtents)} }

func (Box) of(v values) (Shape, error) {
	return Box{HalfExtents: v.vector(0)}, nil
}

// Validate reports the first size out of range.
func (b Box) Validate() error { return KindBox.check(b.values()) }

// CoreSupport returns a corner.
func (b Box) CoreSupport(d r3.Vec) r3.Vec {
	return r3.Vec{
		X: math.Copysign(b.HalfExtents.X, d.X),
		Y: math.Copysign(b.HalfExtents.Y, d.Y),
		Z: math.Copysign(b.HalfExtents.Z, d.Z),
	}
}

// Radius returns 0.
func (Box) Radius() float64 { return 0 }

// Residual is the exact signed distance.
func (b Box) Residual(p r3.Vec) float64 {
	x := math.Abs(p.X) - b.HalfExtents.X
	y := math.Abs(p.Y) - b.HalfExtents.Y
	z := math.Abs(p.Z) - b.HalfExtents.Z
	xo, yo, zo := max(x, 0), max(y, 0), max(z, 0)
	return math.Sqrt(xo*xo+yo*yo+zo*zo) + min(max(x, y, z), 0)
}

// Center returns the origin.
func (Box) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns half the diagonal.
func (b Box) BoundingRadius() float64 { return math.Sqrt(r3.Norm2(b.HalfExtents)) }

// Inradius returns the smallest half extent.
func (b Box) Inradius() float64 { return min(b.HalfExtents.X, b.HalfExtents.Y, b.HalfExtents.Z) }

// AABB returns the box itself.
func (b Box) AABB() (lo, hi r3.Vec) {
	return symmetricAABB(b.HalfExtents.X, b.HalfExtents.Y, b.HalfExtents.Z)
}

// Halfspace is everything with local z ≤ 0. It is unbounded: its support function
// is finite for d along +z alone, and support-based solvers must treat it by
// itself. Its core is the half-space itself.
type Halfspace struct{}

// Kind returns KindHalfspace.
func (Halfspace) Kind() Kind { return KindHalfspace }

func (Halfspace) values() values { return nil }

func (Halfspace) of(values) (Shape, error) { return Halfspace{}, nil }

// Validate returns nil: there are no parameters.
func (Halfspace) Validate() error { return nil }

// CoreSupport returns the local origin, which is a support point for d along +z.
func (Halfspace) CoreSupport(r3.Vec) r3.Vec { return r3.Vec{} }

// Radius returns 0.
func (Halfspace) Radius() float64 { return 0 }

// Residual is the exact signed distance from the plane.
func (Halfspace) Residual(p r3.Vec) float64 { return p.Z }

// Center returns the origin, a point of the boundary.
func (Halfspace) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns +Inf.
func (Halfspace) BoundingRadius() float64 { return math.Inf(1) }

// Inradius returns 0: the center lies on the boundary.
func (Halfspace) Inradius() float64 { return 0 }

// AABB returns infinite corners but for the top, z = 0.
func (Halfspace) AABB() (lo, hi r3.Vec) {
	inf := math.Inf(1)
	return r3.Vec{X: -inf, Y: -inf, Z: -inf}, r3.Vec{X: inf, Y: inf}
}
