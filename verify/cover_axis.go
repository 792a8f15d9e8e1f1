package verify

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// Where both shapes are solids of revolution on one axis, so is D. Its minima form circles, over which triangles would
// be as small as the root of the gap. One meridian of directions stands for all.

// meridian returns two orthogonal directions that span a plane with the axis of D, of which the first is the axis, and
// how much the support value may change under rotations about it, because the axes of the shapes and the line between
// their centers agree up to rounding only. ok is false if D is no solid of revolution.
func (p *placed) meridian() (axis, across r3.Vec, change float64, ok bool) {
	var known [2]bool
	var u [2]r3.Vec
	for i, s := range p.shape {
		var local r3.Vec
		if local, known[i], ok = symmetryAxis(s); !ok {
			return axis, across, 0, false
		}
		u[i] = p.rot[i].MulVec(local)
	}
	switch {
	case known[0]:
		axis = unit(u[0])
	case known[1]:
		axis = unit(u[1])
	case p.center == r3.Vec{}:
		axis = r3.Vec{Z: 1}
	default: // two points
		axis = unit(p.center)
	}
	// Half the difference of the support values of a body tilted by an angle either way is at most the angle times its
	// reach, and that of a body moved sideways at most the length.
	for i := range 2 {
		if known[i] {
			change += 2 * norm(r3.Cross(axis, u[i])) * p.reach[i]
		}
	}
	change += 2 * norm(r3.Cross(axis, p.center))
	if !(change <= p.rounding/4) {
		return axis, across, 0, false
	}
	across = r3.Vec{X: 1}
	if math.Abs(axis.X) > 0.6 {
		across = r3.Vec{Y: 1}
	}
	across = unit(r3.Sub(across, r3.Scale(r3.Dot(across, axis), axis)))
	return axis, across, change, true
}

// symmetryAxis returns the axis of a solid of revolution through its center. known is false where every
// axis is one. ok is false for other shapes.
func symmetryAxis(s geom.Shape) (axis r3.Vec, known, ok bool) {
	s, _ = geom.WithoutMargin(s)
	switch t := s.Kind().Traits(); {
	case s.Kind().Family() == geom.FamilyPoint:
		return axis, false, true
	case t.Revolution:
		return r3.Vec{Z: 1}, true, true
	}
	if c, ok := s.(*geom.Convex); ok && len(c.Hull().Vertices) == 1 {
		return axis, false, true
	}
	e, ok := s.(geom.Ellipsoid)
	switch a := e.SemiAxes; {
	case !ok:
		return axis, false, false
	case a.X == a.Y && a.Y == a.Z:
		return axis, false, true
	case a.X == a.Y:
		return r3.Vec{Z: 1}, true, true
	case a.Y == a.Z:
		return r3.Vec{X: 1}, true, true
	case a.X == a.Z:
		return r3.Vec{Y: 1}, true, true
	}
	return axis, false, false
}

// arcs sets the stack to a meridian of directions, from one end of the axis to the other, in three arcs.
func (v *cover) arcs(axis, across r3.Vec) {
	ends := [4]corner{v.at(axis), {}, {}, v.at(r3.Scale(-1, axis))}
	for k := 1; k < 3; k++ {
		sin, cos := math.Sincos(math.Pi / 3 * float64(k))
		ends[k] = v.at(unit(r3.Add(r3.Scale(cos, axis), r3.Scale(sin, across))))
	}
	v.stack = v.stack[:0]
	for k := range 3 {
		v.stack = append(v.stack, [3]corner{ends[k], ends[k+1], ends[k+1]})
	}
}

// halve puts both halves of an arc on the stack. It reports false if they cannot be told apart.
func (v *cover) halve(t *[3]corner) bool {
	if !(longestEdge2(t) > 16*eps*eps) {
		return false
	}
	mid := v.at(unit(r3.Add(t[0].n, t[1].n)))
	v.stack = append(v.stack, [3]corner{t[0], mid, mid}, [3]corner{mid, t[1], t[1]})
	return true
}
