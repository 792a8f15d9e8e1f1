package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Capsule is a ball swept along the segment from -HalfLength to +HalfLength on
// the local z axis. Its core is that segment. Its support function
// R|d| + HalfLength·|d.Z| is C² where d.Z ≠ 0, and everywhere if HalfLength is 0.
type Capsule struct {
	R          float64 // radius, metres
	HalfLength float64 // half the length of the segment, caps not included, metres; may be 0
}

// Kind returns KindCapsule.
func (Capsule) Kind() Kind { return KindCapsule }

func (c Capsule) values() values { return values{{c.R}, {c.HalfLength}} }

func (Capsule) of(v values) (Shape, error) {
	return Capsule{R: v.number(0), HalfLength: v.number(1)}, nil
}

// Validate reports the first size out of range.
func (c Capsule) Validate() error { return KindCapsule.check(c.values()) }

// CoreSupport returns an end of the segment.
func (c Capsule) CoreSupport(d r3.Vec) r3.Vec { return r3.Vec{Z: math.Copysign(c.HalfLength, d.Z)} }

// Radius returns R.
func (c Capsule) Radius() float64 { return c.R }

// Residual is the exact signed distance.
func (c Capsule) Residual(p r3.Vec) float64 {
	z := max(math.Abs(p.Z)-c.HalfLength, 0)
	return math.Sqrt(p.X*p.X+p.Y*p.Y+z*z) - c.R
}

// Center returns the origin.
func (Capsule) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns R + HalfLength.
func (c Capsule) BoundingRadius() float64 { return c.R + c.HalfLength }

// Inradius returns R.
func (c Capsule) Inradius() float64 { return c.R }

// AABB returns the corners of the bounding box.
func (c Capsule) AABB() (lo, hi r3.Vec) { return symmetricAABB(c.R, c.R, c.R+c.HalfLength) }

// SupportHessian returns the Hessian of R|d|; ok is false for d in the local xy
// plane, where the support point jumps from one end to the other.
func (c Capsule) SupportHessian(d r3.Vec) (h Mat3, ok bool) {
	if d.Z == 0 && c.HalfLength != 0 {
		return h, false
	}
	return ballHessian(c.R, d)
}
