package main

import (
	"math"
	"slices"
)

// median returns the middle of the values, the mean of the two in the middle for
// an even number of them, and NaN for none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Clone(values)
	slices.Sort(s)
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return (s[mid-1] + s[mid]) / 2
}

// spread returns half the range of the values relative to their median.
func spread(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return (slices.Max(values) - slices.Min(values)) / 2 / median(values)
}

// quartileSpread returns half the distance of the quartiles relative to the median: the
// spread of many values, which one outlier does not change.
func quartileSpread(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Clone(values)
	slices.Sort(s)
	return (s[3*(len(s)-1)/4] - s[(len(s)-1)/4]) / 2 / median(s)
}

// mean returns sum / n, and 0 for no values.
func mean(sum int64, n int) float64 {
	if n <= 0 {
		return 0
	}
	return float64(sum) / float64(n)
}
