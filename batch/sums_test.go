package batch

import (
	"strings"
	"testing"
)

// TestSums: sums of two worlds of three bodies, and each way in which they are not those of the rows.
func TestSums(t *testing.T) {
	for _, c := range []struct {
		change func(p *Product)
		words  string // of the error, "" for none
	}{
		{func(*Product) {}, ""},
		{func(p *Product) { p.Sums.Sets[3] = 4 }, "sets"},
		{func(p *Product) { p.Sums.Sets[1] = 4 }, "sets"},
		{func(p *Product) { p.Sums.Groups[2] = 2 }, "groups"},
		{func(p *Product) { p.Sums.Worlds = p.Sums.Worlds[:2] }, "worlds"},
		{func(p *Product) { p.Sums.Others = p.Sums.Others[1:] }, "arrays"},
		{func(p *Product) { p.Sums.Positions = p.Sums.Positions[3:] }, "arrays"},
		{func(p *Product) { p.Sums.Bodies[4] = 3 }, "body 3 of set 2"},
		{func(p *Product) { p.Operands = p.Operands[1:] }, "numbers"},
		{func(p *Product) { p.Results = p.Results[6:] }, "numbers"},
		{func(p *Product) { p.Kind = JVP }, "tangent"},
		{func(p *Product) { p.Bodies = true }, "sums by body of all rows"},
	} {
		s := &Sums{Sets: []int32{0, 2, 3, 5}, Groups: []int32{0, 2, 3}, Worlds: []int32{0, 1, 2}, PerWorld: 3,
			Others: make([]float64, 4), Bodies: []int32{0, 1, 1, 2, 2, 0}, Positions: make([]float64, 18)}
		p := &Product{Kind: ValueVJP, Sums: s, Operands: make([]float64, 2), Results: make([]float64, 36)}
		if n := s.RowsTo(1); n != 3 {
			t.Errorf("%d rows in the first world, want 3", n)
		}
		c.change(p)
		switch err := p.Check(NewPairs(5)); {
		case c.words == "" && err != nil:
			t.Error(err)
		case c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)):
			t.Errorf("error %v, want %s", err, c.words)
		}
	}
}
