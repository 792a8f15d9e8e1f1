package ref

import (
	"testing"
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
