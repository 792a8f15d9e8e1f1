package derive

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestDegenerateGrowth has pairs whose growth distances have a smoothness that follows from their geometry, in
// several frames, and with the shapes exchanged. The ray from center to center leaves A - B through a face, an edge
// or a corner; at a corner of two vertices the system is singular, and with one center there is no ray, and the
// answer has no normal.
func TestDegenerateGrowth(t *testing.T) {
	box := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1.5, Z: 2}}
	cube := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	ball := geom.Sphere{R: 0.5}
	capsule := geom.Capsule{R: 0.3, HalfLength: 1}
	cylinder := geom.Cylinder{R: 1, HalfLength: 1}
	cone := geom.Cone{R: 1, HalfLength: 1}
	ellipsoid := geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 3}}
	superquadric := geom.Superquadric{SemiAxes: r3.Vec{X: 1, Y: 1.2, Z: 0.8}, Alpha1: 0.8, Alpha2: 1.2}
	plane := geom.Halfspace{}
	octahedron := mustConvex(t, []r3.Vec{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}})
	point := mustConvex(t, []r3.Vec{{}})
	plate := mustConvex(t, []r3.Vec{{X: -1, Y: -1}, {X: 1, Y: -1}, {X: 1, Y: 1}, {X: -1, Y: 1}})
	at := geom.Translate
	rotated := func(x, y, z float64, axis r3.Vec, angle float64) geom.Pose {
		return at(x, y, z).Compose(geom.Rotate(axis, angle))
	}
	xAxis, yAxis, zAxis := r3.Vec{X: 1}, r3.Vec{Y: 1}, r3.Vec{Z: 1}
	cases := []stateCase{
		{"spheres", ball, ball, at(2, 0, 0), Smooth},
		{"spheres that intersect", ball, ball, at(0.3, 0.1, 0), Smooth},
		{"spheres with one center", ball, ball, at(0, 0, 0), None},
		{"ellipsoids", ellipsoid, ellipsoid, rotated(8, 1, 2, xAxis, 0.4), Smooth},
		{"ellipsoids, deep", ellipsoid, ellipsoid, rotated(0.3, 0.1, 0.2, xAxis, 0.4), Smooth},
		{"ellipsoids with one center", ellipsoid, ellipsoid, rotated(0, 0, 0, xAxis, 0.4), None},
		{"superquadric and sphere", superquadric, ball, at(2, 1, 1.5), Smooth},
		{"parallel faces", box, cube, at(3, 0, 0), NotUnique},
		{"parallel faces, deep", box, cube, at(0.5, 0, 0), NotUnique},
		{"parallel faces, rotated", box, cube, rotated(3, 0, 0, xAxis, 0.3), NotUnique},
		{"aligned boxes, towards an edge", cube, cube, at(3, 3, 0), NotUnique},
		{"aligned boxes, towards a corner", cube, cube, at(3, 3, 3), NotUnique},
		{"boxes with one center", box, cube, at(0, 0, 0), None},
		{"point towards a face", cube, point, at(3, 0.4, 0.2), UniqueFeatures},
		{"point within, towards a face", cube, point, at(0.6, 0.1, 0.2), UniqueFeatures},
		{"point towards an edge", cube, point, at(3, 3, 0.5), NotUnique},
		{"point towards a corner", cube, point, at(3, 3, 3), NotUnique},
		{"point at the center", cube, point, at(0, 0, 0), None},
		{"sphere towards a face", box, ball, at(3, 0.3, 0.4), UniqueFeatures},
		{"sphere towards an edge", cube, ball, at(3, 3, 0.5), UniqueFeatures},
		{"sphere towards a corner", cube, ball, at(3, 3, 3), UniqueFeatures},
		{"sphere towards the end of an edge", cube, ball, at(3.5, 2, 2), UniqueFeatures},
		{"sphere towards a face of an octahedron", octahedron, ball, at(2, 1.9, 1.8), UniqueFeatures},
		{"point towards an edge of an octahedron", octahedron, point, at(2, 1, 0), NotUnique},
		{"capsules in parallel", capsule, capsule, at(2, 0, 0.5), NotUnique},
		{"capsules in line", capsule, capsule, at(0, 0, 4), UniqueFeatures},
		{"capsules that cross", capsule, capsule, rotated(2, 0.1, 0.2, xAxis, 1), UniqueFeatures},
		{"sphere beside a capsule", capsule, ball, at(2, 0, 0.3), UniqueFeatures},
		{"cylinders in parallel", cylinder, cylinder, at(3, 0, 0), NotUnique},
		{"cylinders in line", cylinder, cylinder, at(0, 0, 3), NotUnique},
		{"cylinders that cross", cylinder, cylinder, rotated(3, 0, 0, xAxis, 1.2), UniqueFeatures},
		{"sphere towards a disc", cylinder, ball, at(0.2, 0.3, 2), UniqueFeatures},
		{"point towards a rim", cylinder, point, at(2, 0, 2), NotUnique},
		{"point towards an apex", cone, point, at(0, 0, 3), NotUnique},
		{"sphere towards an apex", cone, ball, at(0.1, 0, 3), UniqueFeatures},
		{"cylinder standing", plane, cylinder, at(0, 0, 2), NotUnique},
		{"cylinder tilted", plane, cylinder, rotated(0, 0, 2, xAxis, 0.5), UniqueFeatures},
		{"box on a face", plane, box, at(0, 0, 3), NotUnique},
		{"box on an edge", plane, box, rotated(0, 0, 3, xAxis, 0.5), NotUnique},
		{"box on a corner", plane, box, at(0, 0, 4).Compose(geom.Rotate(xAxis, 0.5)).Compose(geom.Rotate(yAxis, 0.4)),
			UniqueFeatures},
		{"sphere on the plane", plane, ball, at(0, 0, 2), UniqueFeatures},
		{"point on the plane", plane, point, at(0, 0, 2), None},
		{"plates in one plane", plate, plate, at(3, 0, 0), None},
		{"box towards a plate", plate, box, rotated(0.1, 0.2, 4, yAxis, 0.7), NotUnique}, // an edge
		{"octahedron towards a plate", plate, octahedron, rotated(0.05, 0.1, 4, yAxis, 0.2), UniqueFeatures},
		{"margin around a box, and a sphere", geom.WithMargin(box, 0.1), ball, at(3, 0.3, 0.4), UniqueFeatures},
		{"margins, parallel faces", geom.WithMargin(box, 0.1), geom.WithMargin(cube, 0.1), at(3, 0, 0), NotUnique},
		{"edges that cross", cube, cube, geom.Rotate(yAxis, math.Pi/4).Compose(at(0, 0, 4)).
			Compose(geom.Rotate(xAxis, math.Pi/4)), UniqueFeatures},
		{"rotated cubes, edge to face", cube, cube, rotated(4, 0, 0, zAxis, math.Pi/4), NotUnique},
	}
	var w Workspace
	rng := rand.New(rand.NewPCG(5, 7))
	for _, c := range cases {
		c.inFrames(t, rng, 5, solveGrowth, func(frame int, r *Row) {
			d := w.Exact(r)
			if d.Smoothness() != c.want {
				t.Errorf("%s, frame %d: %v, want %v (answered %v, value %g, normal %v, gap %g)", c.name, frame,
					d.Smoothness(), c.want, r.Answered, r.Value, r.Normal, r.Gap)
			}
			checkFinite(t, c.name, &d)
		})
	}
}
