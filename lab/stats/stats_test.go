package stats

import (
	"math"
	"slices"
	"testing"
)

func TestSummarize(t *testing.T) {
	for _, tt := range []struct {
		sample []float64
		want   Summary
	}{
		{[]float64{3}, Summary{3, 3, 3}},
		{[]float64{2, 1}, Summary{1.5, 1.25, 1.75}},
		{[]float64{5, 1, 3}, Summary{3, 2, 4}},
		{[]float64{4, 1, 3, 2}, Summary{2.5, 1.75, 3.25}},
		{[]float64{50, 10, 20, 40, 30}, Summary{30, 20, 40}},
	} {
		before := slices.Clone(tt.sample)
		if got := Summarize(tt.sample); got != tt.want {
			t.Errorf("Summarize(%v) = %v, want %v", tt.sample, got, tt.want)
		}
		if !slices.Equal(before, tt.sample) {
			t.Errorf("Summarize changed its argument %v to %v", before, tt.sample)
		}
	}
	if m := Median(nil); !math.IsNaN(m) {
		t.Errorf("Median of nothing is %v, want NaN", m)
	}
}
