package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// NormalBound returns a proved bound of the distance of a normal from that of the true answer, from the answer of a
// separated row whose true signed distance lies in value ± gap; +Inf if the answer proves none. Rounding bounds, in
// metres, how far the difference of both witnesses lies from the difference of the shapes. With it the derivatives of
// the value by the velocities of both positions, which are n and -n, are certified.
//
// With x = b - a, a point of the difference of the shapes, and x* the one of least norm, the angle at x* is obtuse:
// |x - x*|² ≤ |x|² - |x*|² ≤ |x|² - lower² [AGIMUS2023, Randomized Smoothing, eq. 18]. The sine of the angle between
// both is at most that over |x|.
func NormalBound(value, gap, rounding float64, n, witnessA, witnessB r3.Vec) float64 {
	x := r3.Sub(witnessB, witnessA)
	length := r3.Norm(x)
	lower := value - gap
	if !(lower > 0) || !(length > 0) || math.IsInf(length, 1) {
		return math.Inf(1)
	}
	longest := length + rounding
	sine := (math.Sqrt(max(longest*longest-lower*lower, 0)) + rounding) / length
	if !(sine < 1) {
		return math.Inf(1)
	}
	chord := 2 * math.Sin(math.Asin(sine)/2)
	return (chord + r3.Norm(r3.Sub(n, r3.Scale(1/length, x)))) * (1 + 1e-14)
}
