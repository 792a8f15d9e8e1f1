package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/internal/testkit/rowcheck"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

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
