package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset/generate"
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

// smoothLibrary is shapes of one of the smooth kinds: "ellipsoids", "superquadrics" of exponents
// 0.4 to 1.9, "sharp" ones of the whole range from 0.05 to 1.95, or "smooth" hulls and revolutions
// of sharpness up to 200.
func smoothLibrary(t testing.TB, g *rand.Rand, name string) *batch.Library {
	t.Helper()
	var all []geom.Shape
	length := func() float64 { return math.Pow(10, -g.Float64()) }
	between := func(lo, hi float64) float64 { return lo + (hi-lo)*g.Float64() }
	for range 32 {
		axes := r3.Vec{X: length(), Y: length(), Z: length()}
		switch name {
		case "ellipsoids":
			all = append(all, geom.Ellipsoid{SemiAxes: axes})
		case "superquadrics":
			all = append(all, geom.Superquadric{SemiAxes: axes, Alpha1: between(0.4, 1.9), Alpha2: between(0.4, 1.9)})
		case "sharp":
			all = append(all, geom.Superquadric{SemiAxes: axes, Alpha1: between(0.05, 1.95),
				Alpha2: between(0.05, 1.95)})
		}
	}
	if name == "smooth" {
		for i, s := range smoothShapes(t, g, 4) {
			if k := i % len(sharpnesses); k < len(sharpnesses)-1 { // that of 1000 is no gain
				all = append(all, s)
			}
		}
	}
	lib, err := batch.NewLibrary(all, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// nested is rows of random shapes of a library, the center of B moved from that of A along some direction
// by a part of what would part them along it: from 0, where the centers coincide, to most.
func nested(g *rand.Rand, lib *batch.Library, rows int, most float64) *batch.Pairs {
	pairs := batch.NewPairs(rows)
	normal := func() r3.Vec { return testkit.Normal(g) }
	turned := func() geom.Pose {
		q := testkit.Quaternion(g)
		return geom.Pose{Position: normal(), Rotation: quat.Scale(1/quat.Abs(q), q)}
	}
	for i := range rows {
		r := batch.Row{ShapeA: int32(g.IntN(lib.Len())), ShapeB: int32(g.IntN(lib.Len())), PoseA: turned(),
			PoseB: turned()}
		a, b, u := lib.Shape(r.ShapeA), lib.Shape(r.ShapeB), r3.Unit(normal())
		world := func(p geom.Pose, v r3.Vec) r3.Vec { m := p.Matrix(); return m.MulVec(v) }
		local := func(p geom.Pose, v r3.Vec) r3.Vec { m := p.Matrix(); return m.MulVecT(v) }
		ca, cb := world(r.PoseA, a.Center()), world(r.PoseB, b.Center())
		apart := a.Radius() + b.Radius() + r3.Dot(u, r3.Sub(world(r.PoseA, a.CoreSupport(local(r.PoseA, u))), ca)) -
			r3.Dot(u, r3.Sub(world(r.PoseB, b.CoreSupport(local(r.PoseB, r3.Scale(-1, u)))), cb))
		part := most * g.Float64()
		if i%16 == 0 {
			part = 0
		}
		r.PoseB.Position = r3.Add(r.PoseA.Position, r3.Add(r3.Sub(ca, cb), r3.Scale(part*apart, u)))
		pairs.SetRow(i, &r)
	}
	return pairs
}

// TestDepthCertificate: depths of smooth pairs by the method rtr, from those whose centers coincide to shallow ones,
// are those of the CPU by GJK and EPA, whose proof rests on no curvature, and the audit refutes none. RTR ends
// most of them, and of those that are not sharp in fewer steps than GJK and EPA take on the device.
func TestDepthCertificate(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	rows := size(300, 300, 3000)
	// least part that RTR ends, most steps beside GJK's
	for name, want := range map[string]struct{ ended, steps float64 }{
		"ellipsoids": {0.97, 0.4}, "superquadrics": {0.88, 0.95}, "sharp": {0.58, 1.3}, "smooth": {0.9, 1.1},
	} {
		for _, o := range []batch.Options{{}, {Precision: batch.Double}, {Query: batch.Penetration, Tolerance: 1e-3},
			{Tolerance: 1e-9}} {
			t.Run(fmt.Sprintf("%s/%v/%g", name, o.Precision, o.Tolerance), func(t *testing.T) {
				g := rand.New(rand.NewPCG(7, 32))
				lib := smoothLibrary(t, g, name)
				pairs := nested(g, lib, rows, 0.95)
				o.Columns, o.Method = batch.FileColumns, batch.RTR
				job := &batch.Job{Library: lib, Input: pairs, Options: o}
				run(t, job, dispatch.Options{}, b, c)
				rowcheck.Audit(t, job)
				o.Method = batch.GJK
				truth := &batch.Job{Library: lib, Input: pairs, Options: o}
				run(t, truth, dispatch.Options{}, c)
				compare(t, job, job.Results, truth.Results)

				other := direct(t, b, lib, pairs, o)
				overlap, rtr, steps, others := 0, 0, 0, 0
				for i, s := range job.Results.Status() {
					if s != uint8(batch.Penetrating) {
						continue
					}
					if overlap++; batch.Solver(job.Results.Method()[i]) == batch.SolverRTR {
						rtr++
					}
					if other.Status()[i] == s {
						steps, others = steps+int(job.Results.Iterations()[i]), others+int(other.Iterations()[i])
					}
				}
				t.Logf("%d of %d rows ended by RTR, in %.1f steps, GJK %.1f", rtr, overlap,
					float64(steps)/float64(overlap), float64(others)/float64(overlap))
				if overlap < rows/2 {
					t.Fatalf("%d rows of %d overlap", overlap, rows)
				}
				if o.Tolerance == 0 && (float64(rtr) < want.ended*float64(overlap) ||
					float64(steps) > want.steps*float64(others)) {
					t.Errorf("of %d rows RTR ended %d; %d steps, by GJK %d", overlap, rtr, steps, others)
				}
			})
		}
	}
}

// TestDepthCertificateLimit: a cap on steps holds for depths as well.
func TestDepthCertificateLimit(t *testing.T) {
	b := open(t, Options{})
	g := rand.New(rand.NewPCG(7, 33))
	lib := smoothLibrary(t, g, "superquadrics")
	pairs := nested(g, lib, 500, 0.95)
	holdsCaps(t, b, lib, pairs, 5, 12, 20, 40)
}

// overlapping returns n pairs of a generated set that overlap: every third row.
func overlapping(b *testing.B, name string, n int) (*batch.Library, *batch.Pairs) {
	b.Helper()
	gen, err := generate.New(name, 1, generate.Options{Shapes: 64})
	if err != nil {
		b.Fatal(err)
	}
	all := batch.NewPairs(3 * n)
	gen.Fill(all, 0)
	pairs := batch.NewPairs(n)
	var r batch.Row
	for i := range n {
		all.Row(3*i, &r)
		pairs.SetRow(i, &r)
	}
	return gen.Library(), pairs
}

// BenchmarkDepths times the depths of the overlapping third of the generated sets: the
// kernels one by one, and end to end.
func BenchmarkDepths(b *testing.B) {
	e := benchBackend(b, Options{})
	const rows = 16384
	for _, name := range []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128",
		"hull512", "mixed"} {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			b.Run(fmt.Sprintf("%s/%v", name, precision), func(b *testing.B) {
				lib, pairs := overlapping(b, name, rows)
				job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Penetration,
					Precision: precision}}
				benchKernels(b, e, job)
				perRow(b, rows)
			})
		}
	}
}

// BenchmarkSmoothDepths times the depths of penetrating smooth pairs by each method.
func BenchmarkSmoothDepths(b *testing.B) {
	e := benchBackend(b, Options{})
	const rows = 4096
	for _, name := range []string{"superquadrics", "smooth", "ellipsoids"} {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			for _, m := range []batch.Method{batch.GJK, batch.Auto, batch.RTR} {
				b.Run(fmt.Sprintf("%s/%v/%v", name, precision, m), func(b *testing.B) {
					lib, pairs := smoothOverlaps(b, name, rows)
					benchKernels(b, e, &batch.Job{Library: lib, Input: pairs,
						Options: batch.Options{Query: batch.Penetration, Precision: precision, Method: m,
							Columns: batch.FileColumns}})
				})
			}
		}
	}
}

// smoothOverlaps returns rows of penetrating smooth pairs, from coinciding centers to shallow.
func smoothOverlaps(b *testing.B, name string, rows int) (*batch.Library, *batch.Pairs) {
	b.Helper()
	g := rand.New(rand.NewPCG(7, 31))
	lib := smoothLibrary(b, g, name)
	return lib, nested(g, lib, rows, 0.95)
}
