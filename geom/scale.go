package geom

import (
	"fmt"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// Scaled returns s made k times as large about the origin of its own frame: support points are
// those of s times k, up to one rounding of every parameter. A half-space stays what it is. The
// result is invalid, which batch.NewLibrary or Validate tells, where a parameter leaves the
// range of its kind.
func Scaled(s Shape, k float64) (Shape, error) {
	if !(k > 0) {
		return nil, fmt.Errorf("geom: a shape cannot be scaled by %g, want a factor above 0", k)
	}
	switch v := s.(type) {
	case Sphere:
		return Sphere{R: k * v.R}, nil
	case Capsule:
		return Capsule{R: k * v.R, HalfLength: k * v.HalfLength}, nil
	case Cylinder:
		return Cylinder{R: k * v.R, HalfLength: k * v.HalfLength}, nil
	case Cone:
		return Cone{R: k * v.R, HalfLength: k * v.HalfLength}, nil
	case Frustum:
		return Frustum{RBottom: k * v.RBottom, RTop: k * v.RTop, HalfLength: k * v.HalfLength}, nil
	case Box:
		return Box{HalfExtents: r3.Scale(k, v.HalfExtents)}, nil
	case Ellipsoid:
		return Ellipsoid{SemiAxes: r3.Scale(k, v.SemiAxes)}, nil
	case Superquadric:
		return Superquadric{SemiAxes: r3.Scale(k, v.SemiAxes), Alpha1: v.Alpha1, Alpha2: v.Alpha2}, nil
	case *SmoothHull:
		return shape(NewSmoothHull(scaledPoints(v.Vertices(), k), v.Sharpness(), r3.Scale(k, v.Center())))
	case *SmoothRevolution:
		profile := make([]r2.Vec, len(v.Profile()))
		for i, p := range v.Profile() {
			profile[i] = r2.Scale(k, p)
		}
		return shape(NewSmoothRevolution(profile, v.Sharpness(), v.Flatness()))
	case *Convex:
		return shape(NewConvex(scaledPoints(v.Points(), k)))
	case Halfspace:
		return v, nil
	case Rounded:
		inner, err := Scaled(v.Shape, k)
		if err != nil {
			return nil, err
		}
		return Rounded{Shape: inner, Margin: k * v.Margin}, nil
	}
	return nil, fmt.Errorf("geom: no rule to scale a %v (%T)", s.Kind(), s)
}

func scaledPoints(points []r3.Vec, k float64) []r3.Vec {
	out := make([]r3.Vec, len(points))
	for i, p := range points {
		out[i] = r3.Scale(k, p)
	}
	return out
}

// shape keeps a pointer that comes with an error from becoming a Shape that is not nil.
func shape[S Shape](s S, err error) (Shape, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
