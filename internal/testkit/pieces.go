package testkit

import "slices"

// Gain returns how many times as fast as a worker of speed 1 alone workers of some speeds end a call of n equal pieces,
// of which each takes the next one when it has ended its last. A worker that shares its core with a busy process has
// half of the speed.
func Gain(n int, speeds ...float64) float64 {
	ends := make([]float64, len(speeds))
	last := 0.0
	for range n {
		w := slices.Index(ends, slices.Min(ends))
		ends[w] += 1 / speeds[w]
		last = max(last, ends[w])
	}
	return float64(n) / last
}
