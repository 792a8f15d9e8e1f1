package ref

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

// BenchmarkDistance times one signed-distance query of separated pairs (half of
// them closer than 0.1, half 0.1 to 2 apart) at a certified gap of 1e-6 × size,
// witnesses and normal included.
func BenchmarkDistance(b *testing.B) {
	for _, name := range []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128",
		"hull512"} {
		b.Run(name, func(b *testing.B) { benchmarkSet(b, name, func(i int) bool { return i%3 != 0 }) })
	}
}

// BenchmarkPenetration times the signed distance of the overlapping third.
func BenchmarkPenetration(b *testing.B) {
	for _, name := range []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128",
		"hull512"} {
		b.Run(name, func(b *testing.B) { benchmarkSet(b, name, func(i int) bool { return i%3 == 0 }) })
	}
}

// BenchmarkGrowth times the growth distance of all pairs at a relative gap of 1e-6.
func BenchmarkGrowth(b *testing.B) {
	for _, name := range []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128",
		"hull512"} {
		b.Run(name, func(b *testing.B) {
			set := drawSet(name, 1, 3000)
			centers := make([]GrowthCenters, len(set))
			for i, q := range set {
				centers[i] = centersOf(q.a, q.b)
			}
			benchmarkPairs(b, set, func(i int, ws *Workspace) int {
				p := set[i].pair()
				r := Growth(&p, centers[i], GrowthOptions{Tolerance: 1e-6}, ws)
				return r.Iterations
			})
		})
	}
}

func benchmarkSet(b *testing.B, name string, keep func(int) bool) {
	var set []placed
	for i, q := range drawSet(name, 1, 3000) {
		if keep(i) {
			set = append(set, q)
		}
	}
	benchmarkPairs(b, set, func(i int, ws *Workspace) int {
		p := set[i].pair()
		r := Solve(&p, Options{Tolerance: 1e-6 * p.Size()}, ws)
		return r.Iterations
	})
}

// benchmarkPairs times solve on pair after pair of a set; it returns its evaluations of the support function.
func benchmarkPairs(b *testing.B, set []placed, solve func(i int, ws *Workspace) int) {
	var ws Workspace
	b.ReportAllocs()
	b.ResetTimer()
	iterations := 0
	for i := 0; b.Loop(); i++ {
		iterations += solve(i%len(set), &ws)
	}
	b.ReportMetric(float64(iterations)/float64(b.N), "iterations/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpairs/s")
}

// smoothSets draw shapes for overlapping smooth pairs.
var smoothSets = map[string]func(*rand.Rand) geom.Shape{
	"superquadrics": func(g *rand.Rand) geom.Shape {
		return geom.Superquadric{SemiAxes: logVec(g), Alpha1: 0.2 + 1.6*g.Float64(), Alpha2: 0.2 + 1.6*g.Float64()}
	},
	"smooth hulls 8":        randomSmoothHull(8),
	"smooth hulls 20":       randomSmoothHull(20),
	"smooth revolutions 8":  randomSmoothRevolution(8),
	"smooth revolutions 20": randomSmoothRevolution(20),
	"ellipsoids":            func(g *rand.Rand) geom.Shape { return geom.Ellipsoid{SemiAxes: logVec(g)} },
}

func init() {
	smoothSets["mixed"] = func(g *rand.Rand) geom.Shape {
		return smoothSets[[]string{"superquadrics", "smooth hulls 8", "smooth revolutions 8",
			"ellipsoids"}[g.IntN(4)]](g)
	}
}

var smoothSetNames = []string{"superquadrics", "smooth hulls 8", "smooth hulls 20", "smooth revolutions 8",
	"smooth revolutions 20", "ellipsoids", "mixed"}

// randomSmoothHull draws smooth hulls of 20 points.
func randomSmoothHull(beta float64) func(*rand.Rand) geom.Shape {
	return func(g *rand.Rand) geom.Shape {
		for {
			if s, err := geom.NewSmoothHull(testkit.OnEllipsoid(g, logVec(g), 20), beta, r3.Vec{}); err == nil {
				return s
			}
		}
	}
}

func randomSmoothRevolution(beta float64) func(*rand.Rand) geom.Shape {
	return func(g *rand.Rand) geom.Shape {
		r, z := logSize(g), logSize(g)
		v := []r2.Vec{{X: r, Y: z * g.Float64()}, {X: r * g.Float64(), Y: z}, {X: r * g.Float64(), Y: -z},
			{X: r, Y: -z * g.Float64()}}
		s, err := geom.NewSmoothRevolution(v, beta, 0.01)
		if err != nil {
			panic(err)
		}
		return s
	}
}

// overlappingSmooth draws pairs of a set that overlap, from shallow to center in center.
func overlappingSmooth(name string, seed uint64, n int) []Pair {
	g := rand.New(rand.NewPCG(seed, 301))
	var shapes []geom.Shape
	for range 60 {
		shapes = append(shapes, smoothSets[name](g))
	}
	var ws Workspace
	var out []Pair
	for len(out) < n {
		p := placedPair(g, shapes[g.IntN(len(shapes))], shapes[g.IntN(len(shapes))], 0.8*g.Float64())
		if r := Solve(&p, Options{Boolean: true}, &ws); r.Status == Penetrating {
			out = append(out, p)
		}
	}
	return out
}

// BenchmarkSmoothOverlap times the signed distance of smooth penetrating pairs, at certified gaps of
// 1e-6 and 1e-8 × size, by both families of methods.
func BenchmarkSmoothOverlap(b *testing.B) {
	for _, name := range smoothSetNames {
		pairs := overlappingSmooth(name, 1, 300)
		for _, tol := range []float64{1e-6, 1e-8} {
			for _, method := range []Method{MethodGJK, MethodRTR, MethodAuto} {
				b.Run(fmt.Sprintf("%s/%g/%v", name, tol, method), func(b *testing.B) {
					var ws Workspace
					b.ReportAllocs()
					iterations, undecided := 0, 0
					for i := 0; b.Loop(); i++ {
						p := &pairs[i%len(pairs)]
						r := Solve(p, Options{Tolerance: tol * p.Size(), Method: method}, &ws)
						iterations += r.Iterations
						if r.Status == Undecided {
							undecided++
						}
					}
					b.ReportMetric(float64(iterations)/float64(b.N), "iterations/op")
					b.ReportMetric(float64(undecided)/float64(b.N), "undecided/op")
				})
			}
		}
	}
}
