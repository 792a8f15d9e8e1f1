// Package stats says what timings of repeated rounds show: medians and quartiles of
// one sample, and whether two samples differ.
//
// It imports no other package of the module; all functions are safe for use by
// several goroutines and leave their arguments as they are.
package stats

import (
	"math"
	"slices"
)

// Summary is what a table shows of a sample.
type Summary struct {
	Median, Lower, Upper float64 // Lower and Upper are the quartiles
}

// Summarize returns the median and the quartiles of a sample, NaN for an empty one.
func Summarize(sample []float64) Summary {
	s := slices.Sorted(slices.Values(sample))
	return Summary{quantile(s, 0.5), quantile(s, 0.25), quantile(s, 0.75)}
}

// Median returns the middle of a sample, NaN for an empty one.
func Median(sample []float64) float64 { return Summarize(sample).Median }

// quantile interpolates between the order statistics of a sorted sample, with the
// smallest as quantile 0 and the largest as quantile 1 (Hyndman and Fan, "Sample
// Quantiles in Statistical Packages", 1996, definition 7).
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
