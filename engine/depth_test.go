package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/internal/testkit/rowcheck"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// TestDepths: the device itself answers the depths of the generated sets, all but one in a
// thousand, and the audit refutes none. By the method gjk: auto has another for ellipsoids.
func TestDepths(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	rows := size(600, 1500, 6000)
	for _, name := range setNames {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			lib, pairs := set(t, name, 0, rows)
			job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Precision: precision,
				Query: batch.Penetration, Method: batch.GJK}}
			before := b.Stats()
			rep := run(t, job, dispatch.Options{}, b, c)
			after := b.Stats()
			rowcheck.Audit(t, job)
			overlapping := rep.Counts[batch.Penetrating] + rep.Counts[batch.Touching]
			most := overlapping / 1000
			if name == "adversarial" { // with round shapes on one axis, whose polytopes fill up
				most = overlapping / 20
			}
			// Curved cores are eroded, so fewer of them intersect.
			depths, least := after.Depths-before.Depths, int64(overlapping)/20
			if name == "boxes" || strings.HasPrefix(name, "hull") {
				least = int64(overlapping) * 9 / 10
			}
			if rep.Declined() > most || depths < least || depths > int64(rows) {
				t.Errorf("%s, %v: of %d penetrating rows the device answered %d depths and declined %d", name,
					precision, overlapping, depths, rep.Declined())
			}
		}
	}
	if s := b.Stats(); s.Times.Of("depth") <= 0 {
		t.Errorf("no time for depths: %+v", s)
	}
}

// deepShapes is one shape of every kind that has a shader, thin ones, and some with margins.
func deepShapes(t *testing.T) []geom.Shape {
	t.Helper()
	var corners []r3.Vec
	for i := range 40 {
		z := 1 - (2*float64(i)+1)/40
		s, c := math.Sincos(2.4 * float64(i))
		r := math.Sqrt(1 - z*z)
		corners = append(corners, r3.Vec{X: 0.5 * r * c, Y: 0.4 * r * s, Z: 0.6 * z})
	}
	hull, err := geom.NewConvex(corners)
	if err != nil {
		t.Fatal(err)
	}
	flat, err := geom.NewConvex([]r3.Vec{{X: 1, Y: 1}, {X: -1, Y: 1}, {X: -1, Y: -1}, {X: 1, Y: -1}})
	if err != nil {
		t.Fatal(err)
	}
	box := geom.Box{HalfExtents: r3.Vec{X: 0.5, Y: 0.3, Z: 0.2}}
	smooth, err := geom.NewSmoothHull(corners, 20, r3.Vec{})
	if err != nil {
		t.Fatal(err)
	}
	turned, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.3}, {Y: 0.4}, {Y: -0.4}}, 8, 0.09)
	if err != nil {
		t.Fatal(err)
	}
	return []geom.Shape{
		box, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1e-3}}, geom.Box{HalfExtents: r3.Vec{X: 1e-3, Y: 1e-3, Z: 1}},
		geom.Sphere{R: 0.4}, geom.Capsule{R: 0.2, HalfLength: 0.5}, geom.Cylinder{R: 0.3, HalfLength: 0.5},
		geom.Cone{R: 0.4, HalfLength: 0.5}, geom.Frustum{RBottom: 0.4, RTop: 0.2, HalfLength: 0.3},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.3, Z: 0.2}},
		geom.Superquadric{SemiAxes: r3.Vec{X: 0.4, Y: 0.3, Z: 0.5}, Alpha1: 0.5, Alpha2: 1.2},
		smooth, turned, hull, flat, geom.WithMargin(hull, 0.1), geom.WithMargin(box, 0.05),
	}
}

// deepPoses returns poses of B relative to A: coinciding centers, rotated or not, deep inside, with parallel
// faces, and nearly separated.
func deepPoses(g *rand.Rand) []geom.Pose {
	turned := func() geom.Pose {
		p := geom.Pose{Rotation: testkit.Quaternion(g)}
		p.Rotation = quat.Scale(1/quat.Abs(p.Rotation), p.Rotation)
		return p
	}
	poses := []geom.Pose{geom.IdentityPose(), turned()}
	for _, p := range []r3.Vec{{X: 1e-3}, {X: 0.1, Y: 0.1, Z: 0.1}, {Z: 0.2}, {Y: 0.3}, {X: 1e-14, Y: 1e-14},
		{Z: 1e-9}} {
		straight, other := geom.IdentityPose(), turned()
		straight.Position, other.Position = p, p
		poses = append(poses, straight, other)
	}
	return poses
}

// TestDeepPairs: every kind in every other, as deep and as flat as can be: what the device
// and the CPU say agrees, the audit refutes nothing, and no contact is dropped.
func TestDeepPairs(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	shapes := deepShapes(t)
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	poses := deepPoses(rand.New(rand.NewPCG(5, 6)))
	n := len(shapes)
	pairs := batch.NewPairs(n * n * len(poses))
	for i := range pairs.Len() {
		pairs.SetRow(i, &batch.Row{ShapeA: int32(i % n), ShapeB: int32(i / n % n), PoseA: geom.IdentityPose(),
			PoseB: poses[i/n/n]})
	}
	for _, o := range []batch.Options{{}, {Precision: batch.Double}, {Query: batch.Penetration},
		{Query: batch.Collide, Columns: batch.AllColumns}} {
		t.Run(fmt.Sprintf("%v, %v", o.Query, o.Precision), func(t *testing.T) {
			job := &batch.Job{Library: lib, Input: pairs, Options: o}
			rep := run(t, job, dispatch.Options{}, b, c)
			rowcheck.Audit(t, job)
			want := &batch.Job{Library: lib, Input: pairs, Options: o}
			wantRep := run(t, want, dispatch.Options{}, c)
			if o.Query != batch.Collide {
				compare(t, job, job.Results, want.Results)
			}
			if rep.Counts[batch.Undecided] > wantRep.Counts[batch.Undecided] {
				t.Errorf("statuses %v, on the CPU %v", rep.Counts, wantRep.Counts)
			}
			// Round shapes on one axis and flat ones in one another fill polytopes.
			if rep.Declined() > pairs.Len()/8 {
				t.Errorf("%d of %d rows declined: %+v", rep.Declined(), pairs.Len(), b.Stats().Declined)
			}
			t.Logf("%v; declined %d of %d", rep.Counts, rep.Declined(), pairs.Len())
		})
	}
}

// TestNestedBoxes: the depth of boxes with parallel faces is known in closed form.
func TestNestedBoxes(t *testing.T) {
	b := open(t, Options{})
	big, small := r3.Vec{X: 3, Y: 2, Z: 1}, r3.Vec{X: 0.5, Y: 0.25, Z: 0.125}
	lib, err := batch.NewLibrary([]geom.Shape{geom.Box{HalfExtents: big}, geom.Box{HalfExtents: small}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const rows = 200
	g := rand.New(rand.NewPCG(1, 2))
	pairs := batch.NewPairs(rows)
	want := make([]float64, rows)
	for i := range rows {
		p := r3.Vec{X: 6 * (g.Float64() - 0.5), Y: 4 * (g.Float64() - 0.5), Z: 2 * (g.Float64() - 0.5)}
		pose := geom.IdentityPose()
		pose.Position = p
		pairs.SetRow(i, &batch.Row{ShapeB: 1, PoseA: geom.IdentityPose(), PoseB: pose})
		want[i] = -min(big.X+small.X-math.Abs(p.X), big.Y+small.Y-math.Abs(p.Y), big.Z+small.Z-math.Abs(p.Z))
	}
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Precision: batch.Double}}
	run(t, job, dispatch.Options{}, b)
	for i, w := range want {
		if d := job.Results.Distance().At(i); math.Abs(d-w) > 1e-13 ||
			job.Results.Status()[i] != uint8(batch.Penetrating) {
			t.Errorf("row %d: %v, %g, want %g", i, batch.Status(job.Results.Status()[i]), d, w)
		}
	}
	if s := b.Stats(); s.Depths != rows || s.Declined.Sum() != 0 {
		t.Errorf("%d of %d depths, declined %+v", s.Depths, rows, s.Declined)
	}
}
