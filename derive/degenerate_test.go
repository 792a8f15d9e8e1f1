package derive

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
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
