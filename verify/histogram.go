package verify

import (
	"fmt"
	"math"
	"strings"
)

// Decades of a histogram: bin k counts values in [10^(firstDecade+k), 10^(firstDecade+k+1)).
// The first bin includes all smaller values, the last all larger ones.
const (
	firstDecade = -18
	decades     = 19
)

// A Histogram counts magnitudes by decade.
type Histogram struct {
	Zero      int          `json:"zero"`
	First     decade       `json:"first_decade"` // always -18: bin k starts at 10^(-18+k)
	Counts    [decades]int `json:"counts"`
	NotFinite int          `json:"not_finite"`
}

// decade is the constant firstDecade, written out so that readers of the JSON form
// need not know it.
type decade struct{}

// MarshalJSON implements [json.Marshaler].
func (decade) MarshalJSON() ([]byte, error) { return fmt.Append(nil, firstDecade), nil }

// UnmarshalJSON implements [json.Unmarshaler].
func (decade) UnmarshalJSON(b []byte) error {
	if string(b) != fmt.Sprint(firstDecade) {
		return fmt.Errorf("verify: histogram starts at decade %s, want %d", b, firstDecade)
	}
	return nil
}

func (h *Histogram) add(v float64) {
	v = math.Abs(v)
	switch {
	case v == 0:
		h.Zero++
	case math.IsInf(v, 1) || math.IsNaN(v):
		h.NotFinite++
	default:
		k := int(math.Floor(math.Log10(v))) - firstDecade
		h.Counts[min(max(k, 0), decades-1)]++
	}
}

func (h *Histogram) merge(o *Histogram) {
	h.Zero += o.Zero
	h.NotFinite += o.NotFinite
	for i := range h.Counts {
		h.Counts[i] += o.Counts[i]
	}
}

// String lists the bins that are not empty, smallest first.
func (h *Histogram) String() string {
	var b strings.Builder
	if h.Zero > 0 {
		fmt.Fprintf(&b, "0: %d  ", h.Zero)
	}
	for i, n := range h.Counts {
		if n > 0 {
			fmt.Fprintf(&b, "1e%d: %d  ", firstDecade+i, n)
		}
	}
	if h.NotFinite > 0 {
		fmt.Fprintf(&b, "not finite: %d", h.NotFinite)
	}
	if b.Len() == 0 {
		return "none"
	}
	return strings.TrimSpace(b.String())
}
