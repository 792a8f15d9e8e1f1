package cpu

import (
	"math"
	"testing"

	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/ref"
)

// EPA's polytopes between needles have faces so thin that the rounding error of their closest point to the
// origin is large: the distance of such a face must not be computed from that point. In one row
// of this set a bound was off by 5e-10 m for this reason.
func TestDepthsOfThinFaces(t *testing.T) {
	g, err := generate.New("adversarial", 1, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const row = 392 // a cone and a hull, 1 mm thin and 2 m long, side by side
	all := batch.NewPairs(row + 1)
	g.Fill(all, 0)
	var r batch.Row
	all.Row(row, &r)
	var ws ref.Workspace
	p := ref.NewPair(g.Library().Shape(r.ShapeA), g.Library().Shape(r.ShapeB), r.PoseA, r.PoseB)
	want := ref.Solve(&p, ref.Options{Tolerance: 1e-13 * p.Size()}, &ws)
	if want.Status != ref.Penetrating || want.Upper-want.Lower > 1e-12 {
		t.Fatalf("reference: %+v", want)
	}
	pairs := batch.NewPairs(1)
	pairs.SetRow(0, &r)
	for _, variant := range variants(t) {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			got := solve(t, newVariant(t, variant, 1), g.Library(), pairs, batch.Options{Precision: precision}, 0)
			if off := math.Abs(got.Distance().At(0) - want.Distance); off > float64(got.Gap()[0])+1e-12 {
				t.Errorf("%s, %v: %.12g ± %g, want %.12g", variant, precision, got.Distance().At(0), got.Gap()[0],
					want.Distance)
			}
		}
	}
}
