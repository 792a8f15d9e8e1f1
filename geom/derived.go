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

// Scaled returns s made k times as large about the origin of its own frame: support points are
// those of s times k, up to one rounding of every parameter. A half-space stays what it is. The
// result is invalid, which batch.NewLibrary or Validate tells, where a parameter leaves the
// range of its kind.
func Scaled(s Shape, k float64) (Shape, error) {
	if !(k > 0) {
		return nil, fmt.Errorf("geom: a shape cannot be scaled by %g, want a factor above 0", k)
	}
	if r, ok := s.(Rounded); ok {
		inner, err := Scaled(r.Shape, k)
		if err != nil {
			return nil, err
		}
		return Rounded{Shape: inner, Margin: k * r.Margin}, nil
	}
	v, ok := Values(s)
	if !ok {
		return nil, fmt.Errorf("geom: no rule to scale a %v (%T)", s.Kind(), s)
	}
	for i, p := range s.Kind().Params() {
		if !p.Length {
			continue
		}
		for j := range v[i] {
			v[i][j] *= k
		}
	}
	return s.of(v)
}

// shape keeps a pointer that comes with an error from becoming a Shape that is not nil.
func shape[S Shape](s S, err error) (Shape, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Difference is the Minkowski difference A - pose·B of two whole shapes (cores,
// balls and margins), as a support function in the frame of A.
type Difference struct {
	A, B  Shape
	rot   Mat3   // of B in the frame of A
	trans r3.Vec // origin of B in the frame of A
}

// MinkowskiDifference returns A - pose·B, with pose that of B in the frame of A and
// its quaternion unit (see [Pose.Normalized]).
func MinkowskiDifference(a, b Shape, pose Pose) Difference {
	return Difference{A: a, B: b, rot: pose.Matrix(), trans: pose.Position}
}

// dirB maps a direction of the difference to the direction in the frame of B in
// which B is to be supported: that of -B is opposite.
func (m *Difference) dirB(d r3.Vec) r3.Vec {
	return m.rot.MulVecT(r3.Vec{X: -d.X, Y: -d.Y, Z: -d.Z})
}

// Witnesses returns the points of A and of B, in the frame of A, whose
// difference is the support point in direction d.
func (m *Difference) Witnesses(d r3.Vec) (a, b r3.Vec) {
	return Support(m.A, d), r3.Add(m.rot.MulVec(Support(m.B, m.dirB(d))), m.trans)
}

// Support returns a point of the difference that maximises <d, x>.
func (m *Difference) Support(d r3.Vec) r3.Vec {
	a, b := m.Witnesses(d)
	return r3.Sub(a, b)
}

// Value returns the support function max <d, x>.
func (m *Difference) Value(d r3.Vec) float64 { return r3.Dot(d, m.Support(d)) }

// SupportHessian returns the Hessian of the support function at d: that of A at d plus
// that of B at -d, rotated. ok is false if one of the shapes is not Smooth or not C² there.
func (m *Difference) SupportHessian(d r3.Vec) (h Mat3, ok bool) {
	a, okA := m.A.(Smooth)
	b, okB := m.B.(Smooth)
	if !okA || !okB {
		return h, false
	}
	if h, ok = a.SupportHessian(d); !ok {
		return h, false
	}
	hb, ok := b.SupportHessian(m.dirB(d))
	if !ok {
		return h, false
	}
	t := Mul(&m.rot, &hb) // R·H
	for i := range 3 {
		for j := range 3 { // (R·H)·Rᵀ
			h[3*i+j] += t[3*i]*m.rot[3*j] + t[3*i+1]*m.rot[3*j+1] + t[3*i+2]*m.rot[3*j+2]
		}
	}
	return h, true
}
