package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Sphere is a ball around the local origin. Its core is the origin. Its support
// function is C² in every direction.
type Sphere struct {
	R float64 // radius, metres
}

// Kind returns KindSphere.
func (Sphere) Kind() Kind { return KindSphere }

func (s Sphere) values() values { return values{{s.R}} }

func (Sphere) of(v values) (Shape, error) {
	return Sphere{R: v.number(0)}, nil
}

// Validate reports a radius out of range.
func (s Sphere) Validate() error { return KindSphere.check(s.values()) }

// CoreSupport returns the origin.
func (Sphere) CoreSupport(r3.Vec) r3.Vec { return r3.Vec{} }

// Radius returns R.
func (s Sphere) Radius() float64 { return s.R }

// Residual is the exact signed distance.
func (s Sphere) Residual(p r3.Vec) float64 { return math.Sqrt(r3.Norm2(p)) - s.R }

// Center returns the origin.
func (Sphere) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns R.
func (s Sphere) BoundingRadius() float64 { return s.R }

// Inradius returns R.
func (s Sphere) Inradius() float64 { return s.R }

// AABB returns the corners of the bounding cube.
func (s Sphere) AABB() (lo, hi r3.Vec) { return symmetricAABB(s.R, s.R, s.R) }

// SupportHessian returns the Hessian of R|d|.
func (s Sphere) SupportHessian(d r3.Vec) (h Mat3, ok bool) { return ballHessian(s.R, d) }

// symmetricAABB returns the corners of a box around the origin.
func symmetricAABB(x, y, z float64) (lo, hi r3.Vec) {
	return r3.Vec{X: -x, Y: -y, Z: -z}, r3.Vec{X: x, Y: y, Z: z}
}
