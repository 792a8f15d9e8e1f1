package rollout

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestOneOfDistanceAndGap: the gap without the distance, and the distance without the gap, are those of both.
func TestOneOfDistanceAndGap(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 6))
	bodies, d := table(t, rng), dispatcher(t)
	w := scene(rng, bodies, 40, 8, 20, true)
	for _, query := range []batch.Query{batch.Distance, batch.Collide, batch.Penetration} {
		for _, reduce := range []Reduce{ReduceNone, ReduceWorld} {
			o := Options{Reduce: reduce, Options: batch.Options{Query: query}}
			o.Columns = batch.ColDistance | batch.ColGap | batch.ColStatus
			both, _ := mustRun(t, d, bodies, w, o, "cpu")
			for _, columns := range []batch.Columns{batch.ColGap, batch.ColDistance, batch.ColGap | batch.ColStatus} {
				o.Columns = columns
				got, _ := mustRun(t, d, bodies, w, o, "cpu")
				if columns&batch.ColGap != 0 && !sameBits(got.Gap(), both.Gap()) ||
					columns&batch.ColDistance != 0 && !sameBits(got.Distance().F32, both.Distance().F32) ||
					columns&batch.ColStatus != 0 && !slices.Equal(got.Status(), both.Status()) {
					t.Errorf("%v, reduce %v: columns %v are not those of distance, gap and status", query, reduce,
						columns)
				}
			}
		}
	}
}

// TestSolverOfACulledPair: the nearest pair of parts of a row is one that bounds answer, and the solver of the row is
// not that of a pair farther away.
//
// A ball near the corner of the box of an octahedron, |x|+|y|+|z| ≤ 1, cannot be ruled out at 0.1 m, though its
// distance is (1.1 − 1/√3 − 0.01) m. Two balls 0.2 m from one another are, exactly.
func TestSolverOfACulledPair(t *testing.T) {
	octahedron, err := geom.NewConvex([]r3.Vec{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}})
	if err != nil {
		t.Fatal(err)
	}
	lib, err := batch.NewLibrary([]geom.Shape{octahedron, geom.Sphere{R: 0.01}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	part := func(shape int32, x, y, z float64) batch.Part {
		return batch.Part{Shape: shape, Pose: geom.Translate(x, y, z)}
	}
	corner := 1.1 / math.Sqrt(3)
	bodies, err := batch.NewBodies(lib, []batch.Body{
		{Parts: []batch.Part{part(0, 0, 0, 0), part(1, 9, 0, 0)}},
		{Parts: []batch.Part{part(1, corner, corner, corner), part(1, 9.22, 0, 0)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := geom.IdentityPose()
	w := &batch.Worlds{Bodies: []int32{0, 1}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	w.Poses = appendPose(appendPose(nil, &at), &at)
	for _, reduce := range []Reduce{ReduceNone, ReduceWorld} {
		o := Options{MaxDistance: 0.1, HasMaxDistance: true, Reduce: reduce}
		o.Precision = batch.Double
		o.Columns = batch.ColDistance | batch.ColGap | batch.ColStatus | batch.ColMethod
		r, rep := mustRun(t, dispatcher(t), bodies, w, o, "cpu")
		if rep.Solved != 1 || math.Abs(r.Distance().F64[0]-0.2) > 1e-6 || r.PartA[0] != -1 ||
			batch.Solver(r.Method()[0]) != batch.SolverBounds {
			t.Errorf("reduce %v: %d solved, distance %g of part %d by the solver %v, want 0.2 by bounds", reduce,
				rep.Solved, r.Distance().F64[0], r.PartA[0], batch.Solver(r.Method()[0]))
		}
	}
}
