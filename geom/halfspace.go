package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

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
