package ref

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestGrowthThin: plates and needles, of which the bound by the inradius proves no gap of 1e-12, have one by the
// triangle that the ray meets, and it contains the factor of exact arithmetic. For a quarter of them the rounding is
// more than that beside the thickness along the ray.
func TestGrowthThin(t *testing.T) {
	g := rand.New(rand.NewPCG(343, 1))
	var ws Workspace
	n, narrow, wide := 400, 0, 0
	for range n {
		thin := func() geom.Box {
			h := r3.Vec{X: 1e-3 * (1 + g.Float64()), Y: 1e-3 * (1 + g.Float64()), Z: 0.5 + g.Float64()}
			if g.IntN(2) == 0 {
				h.Y = 0.5 + g.Float64()
			}
			return geom.Box{HalfExtents: h}
		}
		a, b := thin(), thin()
		c := centersOf(a, b)
		pa := geom.Pose{Position: testkit.Unit(g), Rotation: testkit.Rotation(g)}
		pb := geom.Pose{Position: r3.Scale(1+g.Float64(), testkit.Unit(g)), Rotation: testkit.Rotation(g)}
		p := NewPair(a, b, pa, pb)
		for _, m := range []GrowthMethod{GrowthAuto, GrowthSimplex} {
			r := Growth(&p, c, GrowthOptions{Method: m}, &ws)
			exact := exactBoxes(a, b, &c, pa.Position, pb.Position, pa.Rotation, pb.Rotation)
			if bigOp((*big.Float).Sub, exact, newBig(r.Lower)).Sign() < 0 ||
				bigOp((*big.Float).Sub, newBig(r.Upper), exact).Sign() < 0 {
				t.Fatalf("%v: the factor %v lies outside [%.17g, %.17g]", m, exact, r.Lower, r.Upper)
			}
			scale := max(1, r.Distance)
			if r.Upper-r.Lower <= 1e-12*scale {
				narrow++
			}
			if p.GrowthRoundoff(c, r.Distance) > 2e-12*scale {
				wide++
			}
		}
	}
	t.Logf("of %d bounds %d are within 1e-12; by the inradius %d are not", 2*n, narrow, wide)
	if narrow < 2*n*7/10 || wide < 2*n*9/10 {
		t.Errorf("of %d bounds %d are within 1e-12; by the inradius %d are not", 2*n, narrow, wide)
	}
}
