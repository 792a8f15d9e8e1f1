//go:build cgo && linux

package main

import (
	"math"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/internal/memory"
)

// TestMemory: what would take more than there is, is refused with both amounts.
func TestMemory(t *testing.T) {
	if err := checkMemory("nothing much", 64<<20); err != nil {
		t.Error(err)
	}
	for _, bytes := range []float64{1 << 60, 0x1p63 * 0x1p63, math.Inf(1)} {
		err := checkMemory("7 worlds", bytes)
		if codeOf(err) != codeArgument || !strings.Contains(err.Error(), "7 worlds would take "+memory.Text(bytes)) {
			t.Errorf("%g bytes: %v", bytes, err)
		}
	}
}

// TestWorlds: no number of worlds, bodies and pairs passes whose products are beyond memory.
func TestWorlds(t *testing.T) {
	const most = math.MaxInt64
	for _, c := range []struct {
		w, m, p int
		results float64
		good    bool
	}{
		{0, 0, 0, 0, true}, {1000, 10, 45, 100, true}, {0, 3, 3, 1000, true},
		{1 << 40, 2, 1, 0, false}, {most, 2, 1, 0, false}, {most, 0, 0, 8, false}, {most, 0, 0, 0, false},
		{1, most, 0, 0, false}, {1, 2, most, 0, false}, {1 << 32, 1 << 30, 1 << 30, 1e9, false},
		{1, 1, 1, 1e18, false},
	} {
		if err := checkWorlds(c.w, c.m, c.p, c.results); (err == nil) != c.good || !c.good &&
			codeOf(err) != codeArgument {
			t.Errorf("%d worlds of %d bodies, %d pairs: %v", c.w, c.m, c.p, err)
		}
	}
	for _, c := range []struct {
		sizes []int
		want  int
	}{{nil, 1}, {[]int{3, 4}, 12}, {[]int{3, -1}, -1}, {[]int{1 << 32, 1 << 32}, -1}, {[]int{1 << 62, 2}, -1},
		{[]int{most, 1}, most}, {[]int{0, most}, 0}, {[]int{most, 0}, 0}} {
		if got := product(c.sizes...); got != c.want {
			t.Errorf("product of %v: %d, want %d", c.sizes, got, c.want)
		}
	}
}

// TestOverlap: outputs that share memory with an input or with each other are refused; inputs may share theirs.
func TestOverlap(t *testing.T) {
	numbers := make([]float64, 100)
	for _, c := range []struct {
		a, b       []float64
		in, others bool // whether each is written
		good       bool
	}{
		{numbers[:10], numbers[5:20], false, false, true},
		{numbers[:10], numbers[10:20], true, true, true},
		{numbers[:10], numbers[9:20], true, false, false},
		{numbers[9:20], numbers[:10], false, true, false},
		{numbers[:10], numbers[:10], true, true, false},
		{numbers[:10], numbers[5:5], true, true, true},
		{numbers[5:5], numbers[:10], true, true, true},
	} {
		err := checkOverlap([]span{spanOf("one", c.a, c.in), spanOf("two", c.b, c.others)})
		if (err == nil) != c.good || !c.good && codeOf(err) != codeArgument {
			t.Errorf("%d and %d numbers: %v", len(c.a), len(c.b), err)
		}
	}
	o := batch.Options{Precision: batch.Double, Columns: batch.FileColumns | batch.ExtraColumns | batch.ColBits}
	r := batch.NewResults(batch.BitsPerWord, &o)
	if n := len(spansOf(nil, r)); n != 10 {
		t.Errorf("%d columns of results, want 10", n)
	}
	if got := rowBytes(&o); got != 8*13+4+1+2+1+1./8 {
		t.Errorf("a row of all columns takes %g bytes", got)
	}
}
