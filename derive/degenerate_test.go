package derive

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
)

// TestDegenerateRows has pairs whose smoothness follows from their geometry. With those of TestDegenerateKinds and of
// TestDegenerateGrowth they are more than 200.
func TestDegenerateRows(t *testing.T) {
	box := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1.5, Z: 2}}
	cube := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	ball := geom.Sphere{R: 0.5}
	capsule := geom.Capsule{R: 0.3, HalfLength: 1}
	cylinder := geom.Cylinder{R: 1, HalfLength: 1}
	cone := geom.Cone{R: 1, HalfLength: 1}
	ellipsoid := geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 3}}
	plane := geom.Halfspace{}
	hull := mustConvex(t, []r3.Vec{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}})
	point := mustConvex(t, []r3.Vec{{}})
	segment := mustConvex(t, []r3.Vec{{X: -1}, {X: 1}})
	plate := mustConvex(t, []r3.Vec{{X: -1, Y: -1}, {X: 1, Y: -1}, {X: 1, Y: 1}, {X: -1, Y: 1}})

	at := geom.Translate
	rotated := func(x, y, z float64, axis r3.Vec, angle float64) geom.Pose {
		return at(x, y, z).Compose(geom.Rotate(axis, angle))
	}
	xAxis, yAxis, zAxis := r3.Vec{X: 1}, r3.Vec{Y: 1}, r3.Vec{Z: 1}
	corner := math.Acos(1 / math.Sqrt(3)) // from z to a corner of a cube
	cases := []stateCase{
		{"spheres", ball, ball, at(2, 0, 0), Smooth},
		{"spheres that intersect", ball, ball, at(0.7, 0, 0), Smooth},
		{"spheres with one center", ball, ball, at(0, 0, 0), NearSingular},
		{"sphere and ellipsoid", ball, ellipsoid, at(4, 1, 1), Smooth},
		{"ellipsoids", ellipsoid, ellipsoid, rotated(8, 1, 2, xAxis, 0.4), Smooth},
		{"sphere beside a corner", box, ball, at(3, 4, 5), UniqueFeatures},
		{"ellipsoids with one center", ellipsoid, ellipsoid, at(0, 0, 0), NotUnique},
		{"sphere at the center of an ellipsoid", ellipsoid, ball, at(0, 0, 0), NotUnique},
		{"parallel faces", box, cube, at(3, 0, 0), NotUnique},
		{"parallel faces, rotated", box, cube, rotated(3, 0, 0, xAxis, 0.3), NotUnique},
		{"faces in contact", box, cube, at(2, 0, 0), NotUnique},
		{"faces that intersect", box, cube, at(1.7, 0.2, 0.1), NotUnique},
		{"parallel edges", box, cube, at(4, 4, 0), NotUnique},
		{"parallel edge and face", box, cube, rotated(5, 0, 0, zAxis, math.Pi/4), NotUnique},
		{"edges that cross", cube, cube, geom.Rotate(yAxis, math.Pi/4).Compose(at(0, 0, 4)).
			Compose(geom.Rotate(xAxis, math.Pi/4)), UniqueFeatures},
		{"vertex above a face", box, cube, at(4, 0.1, 0.2).Compose(geom.Rotate(r3.Vec{Y: 1, Z: -1}, corner)).
			Compose(geom.Rotate(xAxis, math.Pi/4)), NotUnique}, // an edge of the cube is parallel to the face, or not
		{"vertices", cube, cube, at(4, 4.5, 5), UniqueFeatures},
		{"point above a face", box, point, at(2, 0.3, -0.4), UniqueFeatures},
		{"point above an edge of a face", box, point, at(2, 1.5, 0.3), NotUnique},
		{"point above a corner of a face", box, point, at(2, 1.5, 2), NotUnique},
		{"point beside an edge", box, point, at(2, 2, 0.3), UniqueFeatures},
		{"point beside the end of an edge", box, point, at(2, 2, 2), NotUnique},
		{"point beside a corner", box, point, at(2, 2, 3), UniqueFeatures},
		{"point at the center of a cube", cube, point, at(0, 0, 0), NotUnique},
		{"point at the center of a box", box, point, at(0, 0, 0), NotUnique},
		{"point near one face", box, point, at(0.9, 0.1, 0.2), UniqueFeatures},
		{"point as near to two faces", cube, point, at(0.9, 0.9, 0.2), NotUnique},
		{"sphere at the center of an octahedron", hull, ball, at(0, 0, 0), NotUnique},
		{"sphere as near to two faces of an octahedron", hull, ball, at(0.3, 0.3, 0), NotUnique},
		{"sphere near one face of an octahedron", hull, ball, at(0.3, 0.25, 0.2), UniqueFeatures},
		{"cubes with one center", cube, cube, at(0, 0, 0), NotUnique},
		{"sphere above a face", box, ball, at(3, 0.3, 0.4), UniqueFeatures},
		{"sphere above an edge of a face", box, ball, at(3, 1.5, 0.4), NotUnique},
		{"capsules in parallel", capsule, capsule, at(2, 0, 0.5), NotUnique},
		{"capsules in line", capsule, capsule, at(0, 0, 4), UniqueFeatures},
		{"capsules that cross", capsule, capsule, rotated(2, 0.1, 0.2, xAxis, 1), UniqueFeatures},
		{"capsules whose axes meet", capsule, capsule, rotated(0, 0, 0, xAxis, 1), NotUnique},
		{"sphere beside a capsule", capsule, ball, at(2, 0, 0.3), UniqueFeatures},
		{"sphere beside the end of a segment", capsule, ball, at(2, 0, 1), NotUnique},
		{"sphere on the axis of a capsule", capsule, ball, at(0, 0, 0.3), NearSingular},
		{"sphere on the axis of a cylinder, near the side", geom.Cylinder{R: 1, HalfLength: 3}, ball, at(0, 0, 0.1),
			NotUnique},
		{"sphere above a disc", cylinder, ball, at(0.2, 0.3, 2), UniqueFeatures},
		{"sphere above a rim", cylinder, ball, at(1, 0, 2), NotUnique},
		{"sphere beside a rim", cylinder, ball, at(2, 0, 2), UniqueFeatures},
		{"sphere beside the side", cylinder, ball, at(2, 0, 0.2), UniqueFeatures},
		{"sphere above an apex", cone, ball, at(0.1, 0, 3), UniqueFeatures},
		{"cylinders in parallel", cylinder, cylinder, at(3, 0, 0), NotUnique},
		{"cylinders in line", cylinder, cylinder, at(0, 0, 3), NotUnique},
		{"cylinders that cross", cylinder, cylinder, rotated(3, 0, 0, xAxis, 1.2), UniqueFeatures},
		{"cylinder standing", plane, cylinder, at(0, 0, 2), NotUnique},
		{"cylinder lying", plane, cylinder, rotated(0, 0, 2, xAxis, math.Pi/2), NotUnique},
		{"cylinder tilted", plane, cylinder, rotated(0, 0, 2, xAxis, 0.5), UniqueFeatures},
		{"cone on its base", plane, cone, at(0, 0, 2), NotUnique},
		{"cone on its apex", plane, cone, rotated(0, 0, 2, xAxis, math.Pi), UniqueFeatures},
		{"cone on its side", plane, cone, rotated(0, 0, 2, yAxis, math.Pi/2+math.Atan(0.5)), NotUnique},
		{"box on a face", plane, box, at(0, 0, 3), NotUnique},
		{"box in the plane", plane, box, at(0, 0, 1), NotUnique},
		{"box on an edge", plane, box, rotated(0, 0, 3, xAxis, 0.5), NotUnique},
		{"box on a corner", plane, box, geom.Translate(0, 0, 4).Compose(geom.Rotate(xAxis, 0.5)).
			Compose(geom.Rotate(yAxis, 0.4)), UniqueFeatures},
		{"ellipsoid on the plane", plane, ellipsoid, at(0, 0, 4), UniqueFeatures},
		{"sphere in the plane", plane, ball, at(0, 0, -0.1), UniqueFeatures},
		{"capsule lying", plane, capsule, rotated(0, 0, 2, xAxis, math.Pi/2), NotUnique},
		{"capsule standing", plane, capsule, at(0, 0, 2), UniqueFeatures},
		{"segment above a plate", plate, segment, at(0, 0, 1), NotUnique},
		{"segment towards a plate", plate, segment, rotated(0.1, 0.2, 2, yAxis, 1), UniqueFeatures},
		{"plates in one plane", plate, plate, at(3, 0, 0), NotUnique},
		{"plates, corner to corner", plate, plate, at(3, 3, 0), UniqueFeatures},
		{"point in a plate", plate, point, at(0.1, 0.2, 0), NotUnique},
		{"points", point, point, at(1, 2, 3), UniqueFeatures},
		{"points, close", point, point, at(0.01, 0, 0), UniqueFeatures},
		{"margin around a box, and a sphere", geom.WithMargin(box, 0.1), ball, at(3, 0.3, 0.4), UniqueFeatures},
		{"margins, parallel faces", geom.WithMargin(box, 0.1), geom.WithMargin(cube, 0.1), at(3, 0, 0), NotUnique},
	}
	if rows, pairs := checkStates(t, cases); rows < 1000 || pairs < 200 {
		t.Errorf("%d rows of %d pairs", rows, pairs)
	}
}

// stateCase is a pair whose smoothness is known.
type stateCase struct {
	name string
	a, b geom.Shape
	pose geom.Pose // of B in the frame of A
	want Smoothness
}

// inFrames solves the pair in so many frames, with the shapes exchanged as well, and calls f with the rows.
func (c *stateCase) inFrames(t *testing.T, rng *rand.Rand, frames int,
	solve func(a, b geom.Shape, poseA, poseB geom.Pose) Row, f func(frame int, r *Row)) {
	t.Helper()
	for frame := range frames {
		poseA := testkit.Pose(rng, 3)
		if frame == 0 {
			poseA = geom.IdentityPose()
		}
		poseB, err := poseA.Compose(c.pose).Normalized()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []Row{solve(c.a, c.b, poseA, poseB), solve(c.b, c.a, poseB, poseA)} {
			f(frame, &r)
		}
	}
}

// checkStates takes the pairs in several frames, with the shapes exchanged, and with a margin around A or around B,
// which changes no feature. It returns the numbers of rows, and of pairs with those that have a margin.
func checkStates(t *testing.T, cases []stateCase) (rows, pairs int) {
	t.Helper()
	var w Workspace
	rng := rand.New(rand.NewPCG(5, 6))
	var all []Row
	const variants = 3
	for k := range variants * len(cases) {
		c, margin := cases[k/variants], k%variants
		frames := 5
		if margin > 0 {
			frames = 2
			side := []*geom.Shape{&c.a, &c.b}[margin-1]
			if (*side).Kind() == geom.KindHalfspace {
				continue
			}
			*side = geom.WithMargin(*side, 0.07)
			c.name += []string{", margin around A", ", margin around B"}[margin-1]
		}
		pairs++
		c.inFrames(t, rng, frames, solve, func(frame int, r *Row) {
			rows++
			if !r.Answered {
				t.Errorf("%s: the reference does not decide the row", c.name)
				return
			}
			all = append(all, *r)
			d := w.Exact(r)
			if d.Smoothness() != c.want {
				t.Errorf("%s, frame %d: %v, want %v (value %g, normal %v)", c.name, frame, d.Smoothness(), c.want,
					r.Value, r.Normal)
			}
			checkFinite(t, c.name, &d)
		})
	}
	var growth []Row
	for i := range all {
		r := &all[i]
		if g := solveGrowth(r.A, r.B, r.PoseA, r.PoseB); g.Answered {
			growth = append(growth, g)
		}
	}
	for _, precision := range []batch.Precision{batch.Double, batch.Single} {
		compareKernel(t, jobOf(t, all, precision), Options{})
		compareKernel(t, jobOf(t, growth, precision), Options{})
	}
	return rows, pairs
}

// checkFinite: no derivative is NaN or infinite, and those that do not exist are zero.
func checkFinite(t *testing.T, name string, d *Derivative) {
	t.Helper()
	n, a, b := d.Jacobian()
	for _, j := range [][3]Twists{n, a, b, {d.Value()}} {
		for _, row := range j {
			for _, v := range row {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("%s (%v): derivative %g", name, d.Smoothness(), v)
				}
			}
		}
	}
	if !d.Smoothness().Full() && (n != [3]Twists{} || a != n || b != n) {
		t.Errorf("%s (%v): derivatives of normal or witnesses", name, d.Smoothness())
	}
}

func mustConvex(t *testing.T, points []r3.Vec) *geom.Convex {
	t.Helper()
	c, err := geom.NewConvex(points)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

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

// TestDegenerateMinima has depths with two equal minima that are not along normals of faces, each beside the same pair
// a little off, whose minimum is unique: a shift of 1e-6 is a thousand times the tolerance.
func TestDegenerateMinima(t *testing.T) {
	cube := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	ball := geom.Sphere{R: 0.2}
	pole := geom.Cylinder{R: 0.5, HalfLength: 4}
	rod := geom.Capsule{R: 0.2, HalfLength: 3}
	cone := geom.Cone{R: 1, HalfLength: 4}
	frustum := geom.Frustum{RBottom: 0.6, RTop: 0.5, HalfLength: 4}
	ellipsoid := geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 3}}
	superquadric := geom.Superquadric{SemiAxes: r3.Vec{X: 1, Y: 1.6, Z: 2.5}, Alpha1: 0.8, Alpha2: 1.2}
	revolution, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.5, Y: 1.6}, {X: 0.5, Y: -1.6}}, 6, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	tetrahedron := mustConvex(t, []r3.Vec{{X: 1, Y: 1, Z: 1}, {X: 1, Y: -1, Z: -1}, {X: -1, Y: 1, Z: -1},
		{X: -1, Y: -1, Z: 1}})
	octahedron := mustConvex(t, []r3.Vec{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}})
	// A roof: a prism along y, whose ridge is an edge.
	roof := mustConvex(t, []r3.Vec{{X: -1, Y: -4, Z: -1}, {X: 1, Y: -4, Z: -1}, {Y: -4, Z: 0.3}, {X: -1, Y: 4, Z: -1},
		{X: 1, Y: 4, Z: -1}, {Y: 4, Z: 0.3}})
	point := mustConvex(t, []r3.Vec{{}})

	at := geom.Translate
	xAxis, zAxis := r3.Vec{X: 1}, r3.Vec{Z: 1}
	const right = math.Pi / 2
	twins := []struct {
		name string
		a, b geom.Shape
		pose geom.Pose // of two minima
		off  r3.Vec    // towards one of them
		want Smoothness
	}{
		{"cylinders, axes that meet", pole, pole, geom.Rotate(xAxis, 1.2), xAxis, UniqueFeatures},
		{"cylinders, axes that meet at right angles", pole, pole, geom.Rotate(xAxis, right), xAxis, UniqueFeatures},
		{"frustum and cylinder", frustum, pole, geom.Rotate(xAxis, 1.2), xAxis, UniqueFeatures},
		{"capsule across a cylinder", pole, rod, geom.Rotate(xAxis, 1), xAxis, UniqueFeatures},
		{"capsule across a frustum", frustum, rod, geom.Rotate(xAxis, 1.3), xAxis, UniqueFeatures},
		{"cone across a cylinder", cone, pole, geom.Rotate(xAxis, 1.3), xAxis, UniqueFeatures},
		{"cube, cone through two faces", cube, geom.Cone{R: 0.5, HalfLength: 4}, geom.Rotate(xAxis, 0.7), xAxis,
			UniqueFeatures},
		{"cylinder and ellipsoid", pole, ellipsoid, at(0, 0, 0.3).Compose(geom.Rotate(xAxis, 0.5)), xAxis,
			UniqueFeatures},
		{"ellipsoids shifted along y", ellipsoid, ellipsoid, at(0, 0.3, 0), xAxis, Smooth},
		{"ellipsoids shifted along z", ellipsoid, ellipsoid, at(0, 0, 0.4), xAxis, Smooth},
		{"ellipsoids rotated about x", ellipsoid, ellipsoid, at(0, 0.1, 0.4).Compose(geom.Rotate(xAxis, 0.6)), xAxis,
			Smooth},
		{"sphere within an ellipsoid", ellipsoid, ball, at(0, 0.5, 0.2), xAxis, Smooth},
		{"point within an ellipsoid", ellipsoid, point, at(0, 0.5, 0.2), xAxis, UniqueFeatures},
		{"superquadric and ellipsoid", superquadric, ellipsoid, at(0, 0.2, 0.1).Compose(geom.Rotate(xAxis, 0.3)), xAxis,
			Smooth},
		{"revolutions that cross", revolution, revolution, geom.Rotate(xAxis, 1.3), xAxis, Smooth},
		{"tetrahedra, edges that cross on both sides", tetrahedron, tetrahedron, at(0, 0, 0), xAxis, UniqueFeatures},
		{"octahedra, rotated", octahedron, octahedron, geom.Rotate(zAxis, math.Pi/6).Compose(at(0, 0, 0.4)), xAxis,
			UniqueFeatures},
		{"roof and cylinder", roof, pole, at(0, 0, 0.2).Compose(geom.Rotate(xAxis, 0.2)), xAxis, UniqueFeatures},
		{"cube and ellipsoid", cube, ellipsoid, at(0, 0.1, 0.2).Compose(geom.Rotate(xAxis, 0.4)), xAxis,
			UniqueFeatures},
		{"point on the axis of a square", cube, point, at(0.5, 0.5, 0.1), r3.Vec{X: 1, Y: -1}, UniqueFeatures},
	}
	var cases []stateCase
	for _, c := range twins {
		cases = append(cases, stateCase{c.name, c.a, c.b, c.pose, NotUnique})
		for _, by := range []float64{1e-6, -1e-6, 1e-3} {
			moved := c.pose
			moved.Position = r3.Add(moved.Position, r3.Scale(by, c.off))
			cases = append(cases, stateCase{c.name + ", off", c.a, c.b, moved, c.want})
		}
	}
	checkStates(t, cases)
}

// TestOtherMinimum holds the search to the least support value over many directions: it finds another minimum that is
// lower, of answers that are a local one, and none where all others are higher.
func TestOtherMinimum(t *testing.T) {
	shapes := shapesOfTest(t)
	rng := rand.New(rand.NewPCG(33, 9))
	var w Workspace
	lower, proved := 0, 0
	for _, a := range kindNames {
		for _, b := range kindNames {
			if a == "halfspace" || b == "halfspace" {
				continue
			}
			r := placedAtGap(rng, shapes[a], shapes[b], -0.03)
			d := w.Exact(&r)
			if !d.Smoothness().Full() {
				continue
			}
			p := &d.p
			proved++
			for range 2000 {
				u := r3.Unit(r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()})
				h := r3.Dot(u, r3.Sub(p.a.coreSupport(u), p.b.coreSupport(r3.Scale(-1, u)))) + p.a.radius + p.b.radius
				if h < -d.s.value-equalTolerance*p.size {
					t.Errorf("%s and %s: support value %g, depth %g", a, b, h, -d.s.value)
				}
			}
			// The answer moved deeper, along its normal, is no minimum any more once another direction is lower.
			s := d.s
			s.value -= 3 * p.size
			if found, _ := w.otherMinimum(p, &s); !found {
				t.Errorf("%s and %s: no direction is found with a support value below %g", a, b, -s.value)
			}
			lower++
		}
	}
	if lower < 150 || proved < 150 {
		t.Errorf("%d and %d pairs", lower, proved)
	}
}
