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
