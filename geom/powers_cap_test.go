package geom

import (
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

// The terms of a cap are rounded outwards: the upper sum exceeds the exact one, the lower sums stay below it, by the
// rounding of z.
func TestPowersCapRounds(t *testing.T) {
	const e = 8 * unitRoundoff * 2 // of a point of length 1
	p := powersCap{beta: 3}
	p.add(1, r3.Vec{}, 0, 1) // ⟨z, direction⟩ = 1, so that every sum is 1 but for rounding
	if !(p.sum >= (1+e)*(1+e)*(1-4*unitRoundoff)) {
		t.Errorf("the upper sum is 1%+.2g, want 1%+.2g or more", p.sum-1, 2*e)
	}
	if !(p.w0 <= 1-e*(1-4*unitRoundoff)) {
		t.Errorf("the lower sum is 1%+.2g, want 1%+.2g or less", p.w0-1, -e)
	}
	// Beside the plane of z = 0 a point counts above, never below.
	p = powersCap{beta: 3}
	if p.add(0, r3.Vec{}, 0, 1); !(p.sum > 0) || p.w0 != 0 {
		t.Errorf("a point at 0 adds %g above and %g below", p.sum, p.w0)
	}
	if p.add(-2*e, r3.Vec{}, 0, 1); p.w0 != 0 || p.terms != 2 {
		t.Errorf("a point below 0 adds %g to the lower sum of %d terms", p.w0, p.terms)
	}
}
