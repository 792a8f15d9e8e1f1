package geom

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/spatial/r3"
)

// Rounded is the Minkowski sum of a shape and a ball of radius Margin. Its kind
// and core are those of Shape. Build it with [WithMargin].
//
// It has the method of [Smooth] for every Shape, and ok is false in every
// direction if Shape is not Smooth.
type Rounded struct {
	Shape  Shape
	Margin float64 // metres, ≥ 0
}

// WithMargin returns s with a margin around it: s itself for margin 0, else a
// [Rounded]. Margins add up, so WithMargin(WithMargin(s, a), b) equals
// WithMargin(s, a+b). A negative or NaN margin is kept for Validate to report.
// It allocates.
func WithMargin(s Shape, margin float64) Shape {
	if margin == 0 {
		return s
	}
	if r, ok := s.(Rounded); ok && r.Margin >= 0 && margin > 0 {
		return Rounded{Shape: r.Shape, Margin: r.Margin + margin}
	}
	return Rounded{Shape: s, Margin: margin}
}

// Kind returns the kind of the inner shape.
func (r Rounded) Kind() Kind { return r.Shape.Kind() }

func (r Rounded) values() values { return r.Shape.values() }

func (r Rounded) of(v values) (Shape, error) { return r.Shape.of(v) }

// Validate checks the inner shape, then the margin.
func (r Rounded) Validate() error {
	if r.Shape == nil {
		return errors.New("margin: no shape to wrap")
	}
	if err := r.Shape.Validate(); err != nil {
		return err
	}
	if !(r.Margin >= 0 && r.Margin <= MaxSize) {
		return fmt.Errorf("%s: margin = %g, want 0 to %g", r.Kind(), r.Margin, float64(MaxSize))
	}
	return nil
}

// CoreSupport returns that of the inner shape.
func (r Rounded) CoreSupport(d r3.Vec) r3.Vec { return r.Shape.CoreSupport(d) }

// Radius returns that of the inner shape plus the margin.
func (r Rounded) Radius() float64 { return r.Shape.Radius() + r.Margin }

// Residual returns that of the inner shape minus the margin. The signed distance
// of a convex set is the maximum of ⟨n,p⟩ - h(n) over unit n, and a margin adds
// a constant to h; so this is as exact, inside and outside, as the inner one.
func (r Rounded) Residual(p r3.Vec) float64 { return r.Shape.Residual(p) - r.Margin }

// Center returns that of the inner shape.
func (r Rounded) Center() r3.Vec { return r.Shape.Center() }

// BoundingRadius returns that of the inner shape plus the margin.
func (r Rounded) BoundingRadius() float64 { return r.Shape.BoundingRadius() + r.Margin }

// Inradius returns that of the inner shape plus the margin.
func (r Rounded) Inradius() float64 { return r.Shape.Inradius() + r.Margin }

// AABB returns that of the inner shape, grown by the margin.
func (r Rounded) AABB() (lo, hi r3.Vec) {
	lo, hi = r.Shape.AABB()
	m := r3.Vec{X: r.Margin, Y: r.Margin, Z: r.Margin}
	return r3.Sub(lo, m), r3.Add(hi, m)
}

// SupportHessian returns that of the inner shape plus that of the ball. ok is
// false if the inner shape is not Smooth or not C² at d.
func (r Rounded) SupportHessian(d r3.Vec) (h Mat3, ok bool) {
	s, ok := r.Shape.(Smooth)
	if !ok {
		return h, false
	}
	if h, ok = s.SupportHessian(d); !ok {
		return h, false
	}
	b, ok := ballHessian(r.Margin, d)
	for i := range h {
		h[i] += b[i]
	}
	return h, ok
}
