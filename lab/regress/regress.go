// Package regress compares two reports of timings: is the newer one slower, beyond a
// threshold and beyond what the spread of the rounds explains?
//
// A measurement counts as slower only if its median grew by more than the threshold
// and the Mann-Whitney U test rejects that both samples of rounds come from the same
// distribution. The test is that of benchstat (golang.org/x/perf/benchmath), exact for
// the few rounds there are; it assumes nothing about the distribution but that rounds
// are independent. What no test over rounds can see is a machine that was slower for
// the whole of one report: peers in the report, which did not change, show it, and are
// compared as controls.
//
// regress imports lab/stats alone. All functions are safe for use by several
// goroutines.
package regress

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"clearance/lab/stats"

	"golang.org/x/perf/benchmath"
)

// Sample is one measurement of a report: its rounds in ns a pair.
type Sample struct {
	Name    string
	Rounds  []float64
	Control bool // of a library that is not ours
}

// Options of a comparison. The zero value is the documented default.
type Options struct {
	Threshold float64 // relative growth of the median that is tolerated; 0 tolerates none
	Alpha     float64 // significance level; 0 is DefaultAlpha
}

// DefaultAlpha is low since a report holds tens of measurements. It can be reached
// with five rounds on either side: the least p there is 2/252.
const DefaultAlpha = 0.01

// Verdict says what a comparison found.
type Verdict uint8

// Verdicts.
const (
	Same   Verdict = iota // no difference that is significant and beyond the threshold
	Slower                // significant, and slower by more than the threshold
	Faster                // significant, and faster by more than the threshold
	TooFew                // so few rounds that no difference could be significant
)

func (v Verdict) String() string {
	return [...]string{"same", "slower", "faster", "too few rounds"}[v]
}

// Row is one measurement, before and after.
type Row struct {
	Name     string
	Control  bool
	Old, New stats.Summary
	Change   float64 // of the median, relative
	P        float64
	Verdict  Verdict
}

// Comparison is the outcome, in the order of the older report.
type Comparison struct {
	Rows             []Row
	OnlyOld, OnlyNew []string // measurements that only one report has
}

// Errors of a comparison that could not find anything.
var (
	ErrNothing = errors.New("the reports have no measurement in common")
	ErrTooFew  = errors.New("no measurement has enough rounds to show a difference; five on either side are enough " +
		"at the default significance level")
)

// Compare compares the measurements that both reports have. It fails if there is
// none, or none that could show a difference.
func Compare(before, after []Sample, o Options) (*Comparison, error) {
	if !(o.Threshold >= 0) || math.IsInf(o.Threshold, 1) {
		return nil, fmt.Errorf("threshold %g, want a number of at least 0", o.Threshold)
	}
	if o.Alpha == 0 {
		o.Alpha = DefaultAlpha
	}
	if !(o.Alpha > 0 && o.Alpha < 1) {
		return nil, fmt.Errorf("significance level %g, want a number between 0 and 1", o.Alpha)
	}
	c := &Comparison{}
	able := false
	for i := range before {
		k := slices.IndexFunc(after, func(s Sample) bool { return s.Name == before[i].Name })
		if k < 0 {
			c.OnlyOld = append(c.OnlyOld, before[i].Name)
			continue
		}
		row := compare(&before[i], &after[k], &o)
		able = able || row.Verdict != TooFew
		c.Rows = append(c.Rows, row)
	}
	for i := range after {
		if !slices.ContainsFunc(before, func(s Sample) bool { return s.Name == after[i].Name }) {
			c.OnlyNew = append(c.OnlyNew, after[i].Name)
		}
	}
	switch {
	case len(c.Rows) == 0:
		return c, ErrNothing
	case !able:
		return c, ErrTooFew
	}
	return c, nil
}

func compare(before, after *Sample, o *Options) Row {
	r := Row{
		Name: before.Name, Control: before.Control || after.Control,
		Old: stats.Summarize(before.Rounds), New: stats.Summarize(after.Rounds),
	}
	r.Change = r.New.Median/r.Old.Median - 1
	thresholds := benchmath.DefaultThresholds
	thresholds.CompareAlpha = o.Alpha
	// NewSample sorts what it is given.
	test := benchmath.AssumeNothing.Compare(
		benchmath.NewSample(slices.Clone(before.Rounds), &thresholds), benchmath.NewSample(slices.Clone(after.Rounds),
			&thresholds))
	r.P = test.P
	switch {
	case !(leastP(len(before.Rounds), len(after.Rounds)) <= o.Alpha):
		r.Verdict = TooFew
	case test.P > o.Alpha || math.IsNaN(test.P):
		r.Verdict = Same
	case r.Change > o.Threshold:
		r.Verdict = Slower
	case r.Change < -o.Threshold:
		r.Verdict = Faster
	}
	return r
}

// leastP is the least p that two samples of m and n values can have: both orders in
// which no value of one lies among those of the other, of all C(m+n, n).
func leastP(m, n int) float64 {
	if m == 0 || n == 0 {
		return 1
	}
	orders := 1.0
	for i := 1; i <= n; i++ {
		orders *= float64(m+i) / float64(i)
	}
	return min(1, 2/orders)
}

// Slower lists the measurements of ours that are slower.
func (c *Comparison) Slower() []Row {
	return slices.DeleteFunc(slices.Clone(c.Rows), func(r Row) bool { return r.Control || r.Verdict != Slower })
}
