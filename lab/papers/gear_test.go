package papers

import (
	"math"
	"testing"
)

// TestGear holds the methods to the claim of the paper: the distance is told down to
// about √ε with Johnson, and to the last digits with Signed Volumes.
func TestGear(t *testing.T) {
	last := make([][]float64, len(gearMethods))
	for _, r := range quick(t, "gear").Gear {
		// Down to a crown that differs from a plane by 10⁻⁶ m, nothing but rounding
		// stands between Alg. 1 with Signed Volumes and the truth.
		if r.Crown >= 1e-5 && r.Wrong[0] > 0 {
			t.Errorf("crown %g: Alg. 1 with Signed Volumes misses %d distances", r.Crown, r.Wrong[0])
		}
		for i, d := range r.Last {
			last[i] = append(last[i], d)
		}
	}
	if got := median(last[0]); !(got <= 16*roundoff) {
		t.Errorf("Alg. 1 with Signed Volumes tells distances down to %g, want about ε = %g", got, roundoff)
	}
	for i := 1; i <= 2; i++ {
		if got := median(last[i]); !(got >= math.Sqrt(roundoff)) {
			t.Errorf("%s tells distances down to %g, want no less than √ε = %g", gearMethods[i], got,
				math.Sqrt(roundoff))
		}
	}
}
