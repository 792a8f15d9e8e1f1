package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Cone is a solid cone around the local z axis with its apex at +HalfLength and
// its base, a disc of radius R, at -HalfLength. Its core is the cone itself. It
// does not implement [Smooth].
type Cone struct {
	R          float64 // radius of the base, metres
	HalfLength float64 // half the length along z, metres
}

// Kind returns KindCone.
func (Cone) Kind() Kind { return KindCone }

func (c Cone) values() values { return values{{c.R}, {c.HalfLength}} }

func (Cone) of(v values) (Shape, error) {
	return Cone{R: v.number(0), HalfLength: v.number(1)}, nil
}

// Validate reports the first size out of range.
func (c Cone) Validate() error { return KindCone.check(c.values()) }

// CoreSupport returns the apex, a point of the rim, or the middle of the base if
// d is along -z.
func (c Cone) CoreSupport(d r3.Vec) r3.Vec {
	l2 := d.X*d.X + d.Y*d.Y
	if l2 > minSquare && l2 < maxSquare {
		l := math.Sqrt(l2)
		if c.R*l > 2*c.HalfLength*d.Z {
			k := c.R / l
			return r3.Vec{X: k * d.X, Y: k * d.Y, Z: -c.HalfLength}
		}
		return r3.Vec{Z: c.HalfLength}
	}
	return coneSupport(c.R, 0, c.HalfLength, d)
}

// coneSupport is the support point of a frustum for any d: zero, along the axis,
// with components that under- or overflow when squared, or not finite.
//
//go:noinline
func coneSupport(bottom, top, half float64, d r3.Vec) r3.Vec {
	d, _, ok := rescale(d)
	if !ok {
		return r3.Vec{Z: half}
	}
	x, y := lateralUnit(d.X, d.Y)
	r, z := bottom, -half
	if (top-bottom)*math.Hypot(d.X, d.Y)+2*half*d.Z >= 0 {
		r, z = top, half
	}
	return r3.Vec{X: r * x, Y: r * y, Z: z}
}

// Radius returns 0.
func (Cone) Radius() float64 { return 0 }

// Residual is the exact signed distance.
func (c Cone) Residual(p r3.Vec) float64 { return coneResidual(c.R, 0, c.HalfLength, p) }

// Center returns the origin, half-way between base and apex.
func (Cone) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns the distance from the center to the rim.
func (c Cone) BoundingRadius() float64 { return math.Sqrt(c.R*c.R + c.HalfLength*c.HalfLength) }

// Inradius returns the distance from the center to the slanted side.
func (c Cone) Inradius() float64 { return coneInradius(c.R, 0, c.HalfLength) }

// AABB returns the corners of the bounding box.
func (c Cone) AABB() (lo, hi r3.Vec) { return symmetricAABB(c.R, c.R, c.HalfLength) }
