package testkit

import (
	"math"
	"testing"
)

// TestGain compares with schedules by hand.
func TestGain(t *testing.T) {
	for _, c := range []struct {
		pieces int
		speeds []float64
		want   float64
	}{
		{1, []float64{1, 0.5}, 1},
		{2, []float64{1, 0.5}, 1}, // the slow one ends its only piece after 2
		{3, []float64{1, 0.5}, 1.5},
		{4, []float64{1, 1}, 2},
		{5, []float64{1, 1}, 5. / 3},
		{300, []float64{1, 0.5}, 1.5},
	} {
		if got := Gain(c.pieces, c.speeds...); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%d pieces, speeds %v: %v, want %v", c.pieces, c.speeds, got, c.want)
		}
	}
}
