package hull

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

func TestSupportOddDirections(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	nan, inf := math.NaN(), math.Inf(1)
	for _, n := range []int{1, 2, 3, 20, 500} {
		h := mustBuild(t, spherePoints(rng, n))
		for _, d := range []r3.Vec{{}, {X: nan}, {Z: nan}, {Y: inf}, {X: -inf, Y: nan, Z: 1},
			{X: math.Copysign(0, -1)}} {
			if i := h.Support(d); i < 0 || i >= len(h.Vertices) {
				t.Errorf("%d points: support in %v is vertex %d", n, d, i)
			}
		}
		// The length of a direction does not matter, up to the ends of float64.
		for range 100 {
			u := r3.Unit(randomPoint(rng))
			want := h.Support(u)
			for _, scale := range []float64{0x1p-900, 0x1p-400, 0x1p-200, 0x1p200, 0x1p1000} {
				if got := h.Support(r3.Scale(scale, u)); got != want {
					t.Errorf("%d points: support in %v times %g is vertex %d, want %d", n, u, scale, got, want)
				}
			}
		}
		for _, d := range []r3.Vec{{X: 5e-324}, {X: math.MaxFloat64, Y: math.MaxFloat64}, {Y: -5e-324, Z: 1e300}} {
			got, want := h.Vertices[h.Support(d)], h.Vertices[h.SupportClimb(d, 0)]
			if u := scaleToUnitBox(d); n > 20 && math.Abs(r3.Dot(u, got)-r3.Dot(u, want)) > 1e-15 {
				t.Errorf("support in %v is %v, want %v", d, got, want)
			}
		}
	}
}

// benchDirections are what a solver asks: a walk of directions that converges to a
// facet normal, so that ties at the end are part of the measurement.
func benchDirections(h *Hull, rng *rand.Rand) []r3.Vec {
	ds := make([]r3.Vec, 1<<16) // more than a branch predictor learns by heart
	for i := 0; i < len(ds); i += 8 {
		n := h.Normals[rng.IntN(len(h.Normals))]
		for k := range 8 {
			ds[i+k] = r3.Add(n, r3.Scale(math.Pow(0.1, float64(2*k)), r3.Unit(randomPoint(rng))))
		}
	}
	return ds
}

var sink int

func BenchmarkSupport(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{8, 32, 48, 64, 96, 128, 512, 8000} {
		h, err := Build(spherePoints(rng, n))
		if err != nil {
			b.Fatal(err)
		}
		if h.seeds == nil {
			h.buildSeeds()
		}
		ds := benchDirections(h, rng)
		b.Run(fmt.Sprintf("linear/%d", n), func(b *testing.B) {
			for i := range b.N {
				sink += h.SupportLinear(ds[i%len(ds)])
			}
		})
		b.Run(fmt.Sprintf("climb/%d", n), func(b *testing.B) {
			for i := range b.N {
				d := ds[i%len(ds)]
				sink += h.SupportClimb(d, h.seed(d))
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{8, 128, 8000, MaxPoints} {
		for name, pts := range map[string][]r3.Vec{"sphere": spherePoints(rng, n), "cube": cubeSurface(rng, n)} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for range b.N {
					if _, err := Build(pts); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
