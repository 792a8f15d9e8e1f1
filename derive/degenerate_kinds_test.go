package derive

import (
	"math"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// TestDegenerateKinds continues TestDegenerateRows: tetrahedra, octahedra, frustums, cones, plates and segments,
// and the smooth kinds.
func TestDegenerateKinds(t *testing.T) {
	box := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1.5, Z: 2}}
	cube := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	ball := geom.Sphere{R: 0.5}
	capsule := geom.Capsule{R: 0.3, HalfLength: 1}
	cylinder := geom.Cylinder{R: 1, HalfLength: 1}
	disc := geom.Cylinder{R: 3, HalfLength: 1}
	cone := geom.Cone{R: 1, HalfLength: 1}
	frustum := geom.Frustum{RBottom: 1, RTop: 0.5, HalfLength: 1}
	pole := geom.Frustum{RBottom: 1, RTop: 0.5, HalfLength: 4}
	ellipsoid := geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 3}}
	superquadric := geom.Superquadric{SemiAxes: r3.Vec{X: 1, Y: 1.2, Z: 0.8}, Alpha1: 0.8, Alpha2: 1.2}
	plane := geom.Halfspace{}
	tetrahedron := mustConvex(t, []r3.Vec{{X: 1, Y: 1, Z: 1}, {X: 1, Y: -1, Z: -1}, {X: -1, Y: 1, Z: -1},
		{X: -1, Y: -1, Z: 1}})
	octahedron := mustConvex(t, []r3.Vec{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}})
	point := mustConvex(t, []r3.Vec{{}})
	segment := mustConvex(t, []r3.Vec{{X: -1}, {X: 1}})
	plate := mustConvex(t, []r3.Vec{{X: -1, Y: -1}, {X: 1, Y: -1}, {X: 1, Y: 1}, {X: -1, Y: 1}})
	smooth, err := geom.NewSmoothHull(tetrahedron.Hull().Vertices, 4, r3.Vec{})
	if err != nil {
		t.Fatal(err)
	}
	revolution, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.5, Y: 0.6}, {X: 0.4, Y: -0.7}}, 6, 0.1)
	if err != nil {
		t.Fatal(err)
	}

	at := geom.Translate
	rotated := func(x, y, z float64, axis r3.Vec, angle float64) geom.Pose {
		return at(x, y, z).Compose(geom.Rotate(axis, angle))
	}
	// beyond is where a direction from a point leads in two metres.
	beyond := func(x, z, outX, outZ float64) geom.Pose {
		k := 2 / math.Hypot(outX, outZ)
		return at(x+k*outX, 0, z+k*outZ)
	}
	xAxis, yAxis, zAxis := r3.Vec{X: 1}, r3.Vec{Y: 1}, r3.Vec{Z: 1}
	diagonal := r3.Vec{X: 1, Y: -1} // a rotation by corner about it takes (1, 1, 1) to z
	corner := math.Acos(1 / math.Sqrt(3))
	const right = math.Pi / 2
	checkStates(t, []stateCase{
		{"frustum, sphere above the top", frustum, ball, at(0.1, 0.2, 3), UniqueFeatures},
		{"frustum, sphere above the rim of the top", frustum, ball, at(0.5, 0, 3), NotUnique},
		{"frustum, sphere beside the rim of the top", frustum, ball, beyond(0.5, 1, 0.8, 0.6), UniqueFeatures},
		{"frustum, sphere beside the side", frustum, ball, beyond(0.75, 0, 2, 0.5), UniqueFeatures},
		{"frustum, sphere beside the upper end of the side", frustum, ball, beyond(0.5, 1, 2, 0.5), NotUnique},
		{"frustum, sphere beside the lower end of the side", frustum, ball, beyond(1, -1, 2, 0.5), NotUnique},
		{"frustum, sphere below the base", frustum, ball, at(0.3, 0.4, -3), UniqueFeatures},
		{"frustum, sphere below the rim of the base", frustum, ball, at(1, 0, -3), NotUnique},
		{"frustum, sphere beside the rim of the base", frustum, ball, at(2, 0, -2.5), UniqueFeatures},
		{"frustum, sphere inside near the top", frustum, ball, at(0, 0, 0.9), UniqueFeatures},
		{"frustum, sphere on the axis, near the side", pole, ball, at(0, 0, 0), NotUnique},
		{"frustum, standing", plane, frustum, at(0, 0, 2), NotUnique},
		{"frustum, upside down", plane, frustum, rotated(0, 0, 2, xAxis, math.Pi), NotUnique},
		{"frustum, lying", plane, frustum, rotated(0, 0, 2, yAxis, right+math.Atan(0.25)), NotUnique},
		{"frustum, tilted", plane, frustum, rotated(0, 0, 2, yAxis, 0.7), UniqueFeatures},
		{"frustum below a cube", frustum, cube, at(0, 0, 3), NotUnique},
		{"frustum below a corner", frustum, cube, at(0.1, 0.1, 4).Compose(geom.Rotate(diagonal, corner)),
			UniqueFeatures},

		{"tetrahedron, point above a face", tetrahedron, point, at(-1.2, -1.2, -1.2), UniqueFeatures},
		{"tetrahedron, point beside a corner", tetrahedron, point, at(2, 2, 2), UniqueFeatures},
		{"tetrahedron, point beside an edge", tetrahedron, point, at(2, 0, 0), UniqueFeatures},
		{"tetrahedron, point above a corner of a face", tetrahedron, point, at(2, 2, 0), NotUnique},
		{"tetrahedron, point above an edge of a face", tetrahedron, point, at(2, 1, -1), NotUnique},
		{"tetrahedron, point at the center", tetrahedron, point, at(0, 0, 0), NotUnique},
		{"tetrahedron, point as near to three faces", tetrahedron, point, at(0.1, 0.1, 0.1), NotUnique},
		{"tetrahedron, point as near to two faces", tetrahedron, point, at(0.1, 0, 0), NotUnique},
		{"tetrahedron, point near one face", tetrahedron, point, at(0.1, 0.05, 0.02), UniqueFeatures},
		{"tetrahedron, sphere at the center", tetrahedron, ball, at(0, 0, 0), NotUnique},
		{"tetrahedron, sphere near one face", tetrahedron, ball, at(0.1, 0.05, 0.02), UniqueFeatures},
		{"tetrahedra, corner above a face", tetrahedron, tetrahedron, at(-3, -3, -3), UniqueFeatures},
		{"tetrahedra, edges that cross", tetrahedron, tetrahedron, at(4, 0, 0), UniqueFeatures},
		{"tetrahedra, parallel edges", tetrahedron, tetrahedron, rotated(4, 0, 0, xAxis, right), NotUnique},
		{"tetrahedron on a face", plane, tetrahedron, rotated(0, 0, 3, diagonal, corner), NotUnique},
		{"tetrahedron on an edge", plane, tetrahedron, at(0, 0, 3), NotUnique},
		{"tetrahedron on a corner", plane, tetrahedron, rotated(0, 0, 3, diagonal, corner+math.Pi), UniqueFeatures},

		{"octahedron on a corner", plane, octahedron, at(0, 0, 3), UniqueFeatures},
		{"octahedron on a face", plane, octahedron, rotated(0, 0, 3, diagonal, corner), NotUnique},
		{"octahedron on an edge", plane, octahedron, rotated(0, 0, 3, xAxis, math.Pi/4), NotUnique},
		{"octahedra, corner to corner", octahedron, octahedron, at(4, 0, 0), UniqueFeatures},
		{"octahedra, parallel edges", octahedron, octahedron, at(3, 3, 0), NotUnique},
		{"octahedra, parallel faces", octahedron, octahedron, at(3, 3, 3), NotUnique},
		{"octahedron, corner above a face", cube, octahedron, at(3, 0.1, 0.2), UniqueFeatures},
		{"octahedron, corner above an edge", cube, octahedron, at(3, 1, 0.2), NotUnique},
		{"octahedron, corner above a corner", cube, octahedron, at(3, 1, 1), NotUnique},
		{"octahedron, edge across an edge", cube, octahedron, at(3, 3, 0.2), UniqueFeatures},
		{"octahedron, face in front of a corner", cube, octahedron, at(3, 3, 3), UniqueFeatures},

		{"capsule standing on a box", box, capsule, at(0.2, 0.3, 5), UniqueFeatures},
		{"capsule lying on a box", box, capsule, rotated(0.2, 0.3, 3, xAxis, right), NotUnique},
		{"capsule tilted above a box", box, capsule, rotated(0.2, 0.3, 5, xAxis, 1), UniqueFeatures},
		{"capsule along an edge", box, capsule, at(3, 3.5, 0), NotUnique},
		{"capsule across an edge", box, capsule, rotated(3, 3.5, 0, r3.Vec{X: 1, Y: 1}, 1), UniqueFeatures},
		{"capsule above a sphere", capsule, ball, at(0, 0, 3), UniqueFeatures},
		{"capsules, one across", capsule, capsule, rotated(2, 0, 0, xAxis, right), UniqueFeatures},
		{"capsules, one across the end", capsule, capsule, rotated(2, 0, 1, xAxis, right), NotUnique},
		{"capsules, one towards the other", capsule, capsule, rotated(2.5, 0, 0.3, yAxis, right), UniqueFeatures},

		{"cone, sphere beside the side", cone, ball, beyond(0.5, 0, 2, 1), UniqueFeatures},
		{"cone, sphere beside the lower end of the side", cone, ball, beyond(1, -1, 2, 1), NotUnique},
		{"cone, sphere beside the apex of the side", cone, ball, beyond(0, 1, 2, 1), NotUnique},
		{"cone, sphere above the apex, aside", cone, ball, at(0.3, 0, 3), UniqueFeatures},
		{"cone, sphere on the axis above the apex", cone, ball, at(0, 0, 3), UniqueFeatures},
		{"cone, sphere below the base", cone, ball, at(0.2, 0.1, -3), UniqueFeatures},
		{"cone, sphere below the rim", cone, ball, at(1, 0, -3), NotUnique},
		{"cone, sphere beside the rim", cone, ball, at(2, 0, -2.5), UniqueFeatures},
		{"cone, sphere inside near the base", cone, ball, at(0, 0, -0.9), UniqueFeatures},
		{"cones, apex to apex", cone, cone, rotated(0, 0, 4, xAxis, math.Pi), UniqueFeatures},
		{"cones, base to base", cone, cone, rotated(0, 0, -4, xAxis, math.Pi), NotUnique},
		{"cone, apex above a cube", cube, cone, rotated(0.1, 0.2, 4, xAxis, math.Pi), UniqueFeatures},
		{"cone, apex above an edge", cube, cone, rotated(1, 0.2, 4, xAxis, math.Pi), NotUnique},

		{"cylinder below a cube", cylinder, cube, at(0, 0, 3), NotUnique},
		{"cylinder along a face", box, cylinder, at(3, 0, 0), NotUnique},
		{"cylinder tilted beside a face", box, cylinder, rotated(3, 0, 0, yAxis, 0.3), UniqueFeatures},
		{"cylinders, rim to side", cylinder, cylinder, rotated(3, 0, 0, yAxis, 0.3), UniqueFeatures},
		{"cylinders, rim to rim", cylinder, cylinder, at(2.5, 0, 2.5), UniqueFeatures},
		{"cylinders, discs that face in part", cylinder, cylinder, at(1, 0, 3), NotUnique},
		{"cylinders, discs that face in a point", cylinder, cylinder, at(2, 0, 3), NotUnique},
		{"cylinder, point midway between the discs", disc, point, at(0.2, 0.1, 0), NotUnique},
		{"cylinder, sphere midway between the discs", disc, ball, at(0.2, 0.1, 0), NotUnique},
		{"cylinder, point nearer to one disc", disc, point, at(0.2, 0.1, 0.1), UniqueFeatures},

		{"ellipsoid above a face", box, ellipsoid, at(5, 0.2, 0.1), UniqueFeatures},
		{"ellipsoid beside an edge", box, ellipsoid, at(4, 5, 0.2), UniqueFeatures},
		{"ellipsoid beside a corner", box, ellipsoid, at(4, 5, 6), UniqueFeatures},
		{"ellipsoid beside a capsule", capsule, ellipsoid, at(3, 0.1, 0), UniqueFeatures},
		{"ellipsoid above a point", point, ellipsoid, at(3, 0.1, 0), UniqueFeatures},

		{"plate, sphere above", plate, ball, at(0.2, 0.3, 2), UniqueFeatures},
		{"plate, sphere above an edge", plate, ball, at(1, 0.3, 2), NotUnique},
		{"plate, sphere beside an edge", plate, ball, at(3, 0.2, 0), UniqueFeatures},
		{"plate, sphere beside a corner", plate, ball, at(3, 3, 0), UniqueFeatures},
		{"plate, sphere in its middle", plate, ball, at(0.1, 0.2, 0), NotUnique},
		{"plate, sphere across it", plate, ball, at(0.1, 0.2, 0.1), UniqueFeatures},
		{"plates, parallel", plate, plate, at(0.5, 0.5, 1), NotUnique},
		{"plates, edge above a plate", plate, plate, rotated(0, 0, 3, yAxis, right), NotUnique},
		{"plates, corner above a plate", plate, plate,
			at(0.1, 0.1, 3).Compose(geom.Rotate(yAxis, right)).Compose(geom.Rotate(zAxis, math.Pi/4)), UniqueFeatures},
		{"segment, sphere beside", segment, ball, at(0.2, 2, 0), UniqueFeatures},
		{"segment, sphere beside the end", segment, ball, at(1, 2, 0), NotUnique},
		{"segment, sphere beyond the end", segment, ball, at(3, 0, 0), UniqueFeatures},
		{"segment, sphere on it", segment, ball, at(0.2, 0, 0), NearSingular},
		{"segment, point beside", segment, point, at(0.2, 1, 0), UniqueFeatures},
		{"segment, point beside the end", segment, point, at(1, 1, 0), NotUnique},
		{"segments that cross", segment, segment, rotated(0, 0, 1, zAxis, 1), UniqueFeatures},
		{"segments that meet", segment, segment, rotated(0, 0, 0, zAxis, 1), NotUnique},
		{"segments in parallel", segment, segment, at(0.3, 1, 0), NotUnique},
		{"segments in line", segment, segment, at(3, 0, 0), UniqueFeatures},
		{"point and sphere", point, ball, at(2, 0, 0), UniqueFeatures},
		{"point at the center of a sphere", point, ball, at(0, 0, 0), NearSingular},

		{"superquadric and sphere", superquadric, ball, at(2, 1.5, 1.2), Smooth},
		{"superquadric tilted on a plane", plane, superquadric, rotated(0, 0, 3, r3.Vec{X: 1, Y: 2}, 0.7),
			UniqueFeatures},
		{"smooth hull and sphere", smooth, ball, at(3, 0.5, 0.2), Smooth},
		{"smooth hull and ellipsoid", smooth, ellipsoid, at(4, 2, 0.2), Smooth},
		{"smooth hulls", smooth, smooth, rotated(5, 1, 0.2, yAxis, 1), Smooth},
		{"revolution, sphere along the axis", revolution, ball, at(0, 0, 4), Smooth},
		{"revolution, sphere across the axis", revolution, ball, at(4, 0, 0.3), Smooth},
		{"revolution and superquadric", revolution, superquadric, at(2, 1.5, 2.2), Smooth},

		{"cubes as deep along x as along y", cube, cube, at(1.5, 1.5, 0.2), NotUnique},
		{"sphere as near to two faces of a cube", cube, ball, at(0.7, 0.7, 0.1), NotUnique},
		{"sphere as near to three faces of a cube", cube, ball, at(0.7, -0.7, 0.7), NotUnique},
		{"sphere near one face of a cube", cube, ball, at(0.7, 0.6, 0.1), UniqueFeatures},
	})
}
