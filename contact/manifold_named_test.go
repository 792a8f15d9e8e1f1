package contact

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/ref"
	"clearance/tests/need"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// TestNamed: of pairs of all kinds every point is where its ID says, with its gap, and is not where the IDs of the
// other points of its manifold say.
func TestNamed(t *testing.T) {
	n := 20_000
	if need.All() {
		n = 1_000_000
	}
	rng := rand.New(rand.NewPCG(45, 2))
	var features []*Features
	for _, s := range manifoldShapes(t) {
		features = append(features, NewFeatures(s))
	}
	var ws ref.Workspace
	var w Workspace
	var m Manifold
	points, witnesses, others, passing := 0, 0, 0, 0
	for range n {
		a, b := features[rng.IntN(len(features))], features[rng.IntN(len(features))]
		poseA, poseB := testkit.Pose(rng, 0.3), testkit.Pose(rng, 0.3)
		if rng.IntN(2) == 0 { // faces that are parallel, but for little, and edges too
			poseB.Rotation = quat.Mul(geom.Rotate(testkit.Unit(rng), 1e-9*rng.Float64()).Rotation, poseA.Rotation)
		}
		p, ok := solvePair(t, a, b, poseA, poseB, 0.02, &ws)
		if !ok || p.Distance > 0.02 || p.Distance < -0.1 {
			continue
		}
		size := p.A.size + p.B.size
		w.Build(&p, &m)
		for i, c := range m.Points[:m.N] {
			points++
			got := w.Named(&p, &c)
			if Witness(c.ID) {
				if witnesses++; got.Known {
					t.Errorf("%v, %v: the witnesses are the features of %x", a.shape.Kind(), b.shape.Kind(), c.ID)
				}
				continue
			}
			// A point that was made one with the witnesses has their gap.
			off := min(math.Abs(got.Gap-c.Gap), math.Abs(p.Distance+p.Gap-c.Gap))
			if !got.Known || got.Across > 4*ties*size || !(off <= 2*got.Round) {
				t.Errorf("%v, %v: point %x with the gap %g: %+v", a.shape.Kind(), b.shape.Kind(), c.ID, c.Gap, got)
			}
			for j, d := range m.Points[:m.N] {
				if j == i || Witness(d.ID) {
					continue
				}
				if got := w.Named(&p, &Point{c.Position, c.Gap, d.ID}); got.Known && got.Across < 4*ties*size &&
					r3.Norm(r3.Sub(c.Position, d.Position)) > 10*ties*size {
					passing++
				}
				others++
			}
		}
	}
	// Edges that lie over one another along their length cross anywhere.
	t.Logf("%d points, %d of them witnesses; %d other IDs, %d of them pass", points, witnesses, others, passing)
	if points < n/10 || witnesses < n/100 || others < n/10 || passing > others/200 {
		t.Error("too few points, or too many that pass for another")
	}
	for k, id := range []uint64{pointID(idVertexA, 3, 0), pointID(idWitness, 1, 0), pointID(idWitness, 2, 0)} {
		if got := Entered(id); got != k {
			t.Errorf("ID %x is that of the point %d that entered, want %d", id, got, k)
		}
	}
}
