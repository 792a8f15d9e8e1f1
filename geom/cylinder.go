package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Cylinder is a solid cylinder around the local z axis, from -HalfLength to
// +HalfLength. Its core is the cylinder itself. It does not implement [Smooth]:
// its support function has kinks at the caps and in the plane of the circle.
type Cylinder struct {
	R          float64 // radius, metres
	HalfLength float64 // half the length along z, metres
}

// Kind returns KindCylinder.
func (Cylinder) Kind() Kind { return KindCylinder }

func (c Cylinder) values() values { return values{{c.R}, {c.HalfLength}} }

func (Cylinder) of(v values) (Shape, error) {
	return Cylinder{R: v.number(0), HalfLength: v.number(1)}, nil
}

// Validate reports the first size out of range.
func (c Cylinder) Validate() error { return KindCylinder.check(c.values()) }

// CoreSupport returns a point of a rim, or the middle of a cap if d is along z.
func (c Cylinder) CoreSupport(d r3.Vec) r3.Vec {
	z := math.Copysign(c.HalfLength, d.Z)
	l2 := d.X*d.X + d.Y*d.Y
	if l2 > minSquare && l2 < maxSquare {
		k := c.R / math.Sqrt(l2)
		return r3.Vec{X: k * d.X, Y: k * d.Y, Z: z}
	}
	x, y := lateralUnit(d.X, d.Y)
	return r3.Vec{X: c.R * x, Y: c.R * y, Z: z}
}

// Radius returns 0.
func (Cylinder) Radius() float64 { return 0 }

// Residual is the exact signed distance.
func (c Cylinder) Residual(p r3.Vec) float64 {
	l := math.Sqrt(p.X*p.X+p.Y*p.Y) - c.R
	z := math.Abs(p.Z) - c.HalfLength
	lo, zo := max(l, 0), max(z, 0)
	return math.Sqrt(lo*lo+zo*zo) + min(max(l, z), 0)
}

// Center returns the origin.
func (Cylinder) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns the distance from the center to a rim.
func (c Cylinder) BoundingRadius() float64 { return math.Sqrt(c.R*c.R + c.HalfLength*c.HalfLength) }

// Inradius returns the smaller of R and HalfLength.
func (c Cylinder) Inradius() float64 { return min(c.R, c.HalfLength) }

// AABB returns the corners of the bounding box.
func (c Cylinder) AABB() (lo, hi r3.Vec) { return symmetricAABB(c.R, c.R, c.HalfLength) }
