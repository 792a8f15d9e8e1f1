package geom

import "gonum.org/v1/gonum/spatial/r3"

// Revolution is the axis about which a core is a body of revolution, in the local frame: the line
// through At along Axis.
type Revolution struct {
	At   r3.Vec // metres
	Axis r3.Vec // unit
	Ball bool   // a point or a ball around At: so is every other line through it
}

// RevolutionOf returns the axis of a core that is a body of revolution by its parameters as they
// are: ellipsoids with two equal semi-axes, superquadrics with round cross-sections, points and
// segments among them. Bodies that are nearly so, and half-spaces, have none.
func RevolutionOf(s Shape) (Revolution, bool) {
	z := Revolution{Axis: r3.Vec{Z: 1}}
	if f := s.Kind().Family(); f.Traits().Revolution {
		z.Ball = f == FamilyPoint
		return z, true
	}
	s, _ = WithoutMargin(s)
	switch c := s.(type) {
	case Ellipsoid:
		return spheroid(c.SemiAxes)
	case Superquadric:
		if c.Alpha1 == 1 && c.Alpha2 == 1 {
			return spheroid(c.SemiAxes)
		}
		return z, c.Alpha2 == 1 && c.SemiAxes.X == c.SemiAxes.Y
	case *Convex:
		switch v := c.hull.Vertices; len(v) {
		case 1:
			return Revolution{At: v[0], Axis: r3.Vec{Z: 1}, Ball: true}, true
		case 2:
			return Revolution{At: c.center, Axis: r3.Unit(r3.Sub(v[1], v[0]))}, true
		}
	}
	return Revolution{}, false
}

// spheroid is the axis of an ellipsoid with two equal semi-axes.
func spheroid(semi r3.Vec) (Revolution, bool) {
	switch {
	case semi.X == semi.Y:
		return Revolution{Axis: r3.Vec{Z: 1}, Ball: semi.Y == semi.Z}, true
	case semi.Y == semi.Z:
		return Revolution{Axis: r3.Vec{X: 1}}, true
	case semi.Z == semi.X:
		return Revolution{Axis: r3.Vec{Y: 1}}, true
	}
	return Revolution{}, false
}
