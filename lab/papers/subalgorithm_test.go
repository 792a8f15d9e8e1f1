package papers

import (
	"math"
	"testing"
)

// roundoff is the unit of roundoff of float64.

// TestSubAlgorithms holds the sub-algorithms to what explains their figures: det A
// falls with the square of the altitude, det M with the altitude, so that Johnson loses
// its last digit at a altitude of √ε and Signed Volumes, on flat simplices, none at
// all.
func TestSubAlgorithms(t *testing.T) {
	needle := map[string]bool{}
	for _, k := range thinKinds {
		needle[k.name] = k.needle
	}
	worstJohnson := map[string]float64{}
	for _, r := range quick(t, "sub-algorithm").SubAlgorithm {
		h, needle := r.Height, needle[r.Kind]
		worstJohnson[r.Kind] = max(worstJohnson[r.Kind], r.Worst[1])
		// A sum of at most four products with weights that are good to two units of
		// roundoff each is good to eight.
		if got := r.Median[0]; !(got <= 8*roundoff) {
			t.Errorf("%s, altitude %g: median error of Signed Volumes %g, want at most 8 units of roundoff", r.Kind, h,
				got)
		}
		switch {
		case !needle && h >= 0.9e-13:
			// Every face of a flat simplex is fat, and so is one of its shadows; only
			// the choice of the face hangs on the volume, and where that is wrong
			// two faces are as near as rounding tells. (Below 1e-13 the rounding of the
			// vertices is a part of the altitude and may flip the sign of the volume.)
			if got := r.Worst[0]; !(got <= 8*roundoff) {
				t.Errorf("%s, altitude %g: worst error of Signed Volumes %g, want at most 8 units of roundoff", r.Kind,
					h, got)
			}
		case needle && h >= 0.9e-15:
			// The rounding of the vertices rotates the plane of a needle by ε/h, and the
			// projection of the origin with it; four units each for the normal and the weights.
			if got := r.Worst[0]; !(got <= 8*roundoff/h) {
				t.Errorf("%s, altitude %g: worst error of Signed Volumes %g, want at most 8ε/h = %g", r.Kind, h, got,
					8*roundoff/h)
			}
		}
		// det A ∝ h² and det M ∝ h: within a factor of a hundred for the shapes at
		// hand (two vanishing extents square that), as long as rounding allows.
		if !needle && h >= 0.9e-6 {
			if a, m := r.DetA, r.DetM; !(a < 100*h*h && a > h*h/100 && m < 100*h && m > h/100) {
				t.Errorf("%s, altitude %g: det A %g, det M %g", r.Kind, h, a, m)
			}
		}
	}
	// h² reaches ε at h = √ε: there Johnson cannot tell the face, and the distance is
	// off by the altitude. A tenth of that shows it; on needles it is worse.
	for kind, worst := range worstJohnson {
		if !(worst >= math.Sqrt(roundoff)/10) {
			t.Errorf("%s: worst error of Johnson with Backup %g, want about √ε = %g", kind, worst, math.Sqrt(roundoff))
		}
		if !needle[kind] && !(worst <= 10*math.Sqrt(roundoff)) {
			t.Errorf("%s: worst error of Johnson with Backup %g, want about √ε = %g", kind, worst, math.Sqrt(roundoff))
		}
	}
}
