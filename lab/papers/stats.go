package papers

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Summary describes iteration counts.
type Summary struct {
	N      int     `json:"n"`
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"` // sample standard deviation
	Median float64 `json:"median"`
	Capped int     `json:"capped,omitempty"` // runs that were stopped at the cap
}

func summarize(counts []int, limit int) (s Summary) {
	s.N = len(counts)
	for _, c := range counts {
		s.Mean += float64(c) / float64(s.N)
		if c >= limit {
			s.Capped++
		}
	}
	for _, c := range counts {
		d := float64(c) - s.Mean
		s.SD += d * d / float64(s.N-1)
	}
	s.SD = math.Sqrt(s.SD)
	sorted := slices.Sorted(slices.Values(counts))
	s.Median = float64(sorted[(s.N-1)/2]+sorted[s.N/2]) / 2
	return s
}

// band is four standard errors of the difference between the mean of s and that of
// an independent sample of n: two samples of the same thing differ by more in
// one case of 16,000.
func (s Summary) band(n int) float64 {
	return 4 * s.SD * math.Sqrt(1/float64(s.N)+1/float64(n))
}

func (s Summary) String() string {
	at := ""
	if s.Capped > 0 {
		at = "≥ "
	}
	return at + plain(s.Mean) + " ± " + plain(s.SD)
}

// plain prints three significant digits at most, thousands as k.
func plain(v float64) string {
	switch {
	case v >= 1e5:
		return fmt.Sprintf("%.0fk", v/1e3)
	case v >= 1e3:
		return fmt.Sprintf("%.1fk", v/1e3)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// meanSD returns the mean and the sample standard deviation.
func meanSD(v []float64) (mean, sd float64) { return stat.MeanStdDev(v, nil) }

// quartiles sorts v.
func quartiles(v []float64) (q [3]float64) {
	slices.Sort(v)
	for k, p := range []float64{0.25, 0.5, 0.75} {
		q[k] = stat.Quantile(p, stat.Empirical, v, nil)
	}
	return q
}
