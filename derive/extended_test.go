package derive

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

var (
	smoothNames = []string{"sphere", "ellipsoid", "superquadric", "smooth_hull", "smooth_rev", "ellipsoid margin"}
	flatNames   = []string{"sphere", "capsule", "box", "hull", "plate", "segment", "point", "box margin"}
)

// wideDifference is the derivative of the answer along twists by a central difference in 106 bits. The step leaves an
// error of the third derivative times 1e-18, and rounding errors of 1e-21.
func wideDifference(r *Row, t *Twists) (d Cotangent, ok bool) {
	const h = 1e-9
	var x [2]ddAnswer
	for side := range x {
		step := h * float64(1-2*side)
		a := ddPlace(r.A, doubledPose(r.PoseA, t, 0, step), r.CenterA)
		b := ddPlace(r.B, doubledPose(r.PoseB, t, 6, step), r.CenterB)
		if a.corners != nil && b.corners != nil {
			if x[side], ok = flatAnswer(&a, &b, r.Growth, r.Normal); !ok {
				return d, false
			}
		} else {
			x[side] = smoothAnswer(&a, &b, r.Growth, r.Value, r.Normal)
		}
	}
	var sum [10]float64
	ahead, behind := x[0].components(), x[1].components()
	for i := range sum {
		sum[i] = ahead[i].minus(behind[i]).float() / (2 * h)
	}
	return cotangentOf(&sum), true
}

// placedExactly moves B along the normal until the signed distance is gap, to rounding.
func placedExactly(rng *rand.Rand, a, b geom.Shape, gap float64) Row {
	r := placedAtGap(rng, a, b, gap)
	for range 12 {
		if math.Abs(r.Value-gap) < 1e-14 {
			break
		}
		r.PoseB.Position = r3.Add(r.PoseB.Position, r3.Scale(gap-r.Value, r.Normal))
		r = solve(a, b, r.PoseA, r.PoseB)
	}
	return r
}

// TestExtendedPrecision compares derivatives with differences of answers in 106 bits: smooth shapes and polytopes
// apart, near, touching and in shallow and less shallow penetration, signed distances and growth distances.
func TestExtendedPrecision(t *testing.T) {
	shapes := shapesOfTest(t)
	var w Workspace
	for _, c := range []struct {
		name      string
		kinds     []string
		state     Smoothness
		tolerance float64
		least     [2]int // rows compared: signed distances, growth distances
	}{
		{"smooth", smoothNames, Smooth, 1e-10, [2]int{340, 340}},
		{"polytopes", flatNames, UniqueFeatures, 1e-9, [2]int{550, 180}},
	} {
		compared, worst := [2]int{}, [2]float64{}
		for i, nameA := range c.kinds {
			for j, nameB := range c.kinds {
				rng := rand.New(rand.NewPCG(uint64(i), uint64(j)+300))
				for _, gap := range []float64{0.5, 0.5, 1e-3, 1e-3, 0, 0, -1e-3, -1e-3, -0.02, -0.02} {
					r := placedExactly(rng, shapes[nameA], shapes[nameB], gap)
					for k, row := range []Row{r, solveGrowth(r.A, r.B, r.PoseA, r.PoseB)} {
						d := w.Exact(&row)
						if d.Smoothness() != c.state {
							continue
						}
						twists := randomTwists(rng)
						want, ok := wideDifference(&row, &twists)
						if !ok {
							continue
						}
						compared[k]++
						got := d.JVP(&twists)
						dev := deviation(got, want)
						worst[k] = max(worst[k], dev)
						if !(dev <= c.tolerance) {
							t.Errorf("%s × %s at %g, growth %v: deviation %.1e\n got %v\nwant %v", nameA, nameB, gap,
								row.Growth, dev, got, want)
						}
					}
				}
			}
		}
		t.Logf("%s: %d distances, deviation at most %.1e; %d growth distances, %.1e", c.name, compared[0], worst[0],
			compared[1], worst[1])
		if compared[0] < c.least[0] || compared[1] < c.least[1] {
			t.Errorf("%s: only %v rows compared", c.name, compared)
		}
	}
}
