package ref

import (
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestTinyOnHuge has tiny shapes touch huge polytopes, or nearly: the face of D there is 1e8 times as large
// as the part of it where witnesses may be, and every witness has to lie there.
func TestTinyOnHuge(t *testing.T) {
	n := 60_000
	if testing.Short() {
		n = 20_000
	}
	g := rand.New(rand.NewPCG(5, 6))
	tiny := []geom.Shape{geom.Cylinder{R: 1e-4, HalfLength: 5e-5}, ellipsoid(vec(1e-4, 5e-5, 7e-5)),
		geom.Box{HalfExtents: vec(1e-4, 5e-5, 7e-5)}, mustConvex(vec(0, 0, 0), vec(1e-4, 0, 0), vec(0, 1e-4, 0),
			vec(0, 0, 1e-4)), geom.Box{HalfExtents: vec(0.1, 0.1, 0.1)}}
	huge := []geom.Shape{geom.Box{HalfExtents: vec(1e4, 5e3, 7e3)}, mustConvex(vec(0, 0, 0), vec(1e4, 0, 0),
		vec(0, 1e4, 0), vec(0, 0, 1e4))}
	var ws Workspace
	bad := 0
	for i := range n {
		q := placed{a: tiny[g.IntN(len(tiny))], b: huge[g.IntN(len(huge))], pa: poseAt(g, 3), pb: poseAt(g, 3)}
		if g.IntN(2) == 0 {
			q.a, q.b = q.b, q.a
		}
		q.pb.Position = r3.Add(q.pa.Position, r3.Scale(4e4, testkit.Unit(g)))
		off := []float64{0, 0, 1e-9, -1e-9, 1e-6, -1e-6}[g.IntN(6)]
		for range 3 { // to contact
			p := q.pair()
			r := Solve(&p, Options{}, &ws)
			q.pb.Position = r3.Sub(q.pb.Position, r3.Scale(r.Distance-off, p.DirToWorld(r.Normal)))
		}
		p := q.pair()
		o := Options{}
		r := Solve(&p, o, &ws)
		verdict := Solve(&p, Options{Boolean: true}, &ws)
		if err := q.aligned(&o, &r); err != nil || r.Status == Undecided || verdict.Status == Undecided {
			if bad++; bad < 6 {
				t.Errorf("row %d, %v, %v: %v\n%+v\n%s", i, r.Status, verdict.Status, err, r, q.describe())
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d", bad, n)
	}
}
