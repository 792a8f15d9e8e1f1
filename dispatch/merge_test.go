package dispatch

import (
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
)

// untimed returns a report without its times.
func untimed(r Report) Report {
	r.Wall, r.Kernel = 0, 0
	r.Spans, r.Shares, r.Handovers = slices.Clone(r.Spans), slices.Clone(r.Shares), slices.Clone(r.Handovers)
	for i := range r.Spans {
		r.Spans[i].Wall = 0
	}
	for i := range r.Shares {
		r.Shares[i].Wall = 0
	}
	for i := range r.Handovers {
		r.Handovers[i].Wall = 0
	}
	return r
}

// TestShards: 1 to 16 shards of a stream, of chunks of their own, have the answers of the whole, and their reports
// merged in order are its report: with invalid rows, declined rows and the worst gap in any of them.
func TestShards(t *testing.T) {
	const chunk, n = 64, 16*64 - 5
	lib, pairs := testPairs(t, n)
	for i := range n {
		pairs.SetRow(i, &batch.Row{PoseA: at(0), PoseB: at(3 + math.Mod(float64(i)*0.7391, 11))})
	}
	for _, i := range []int{3, 100, 101, 500, 900} {
		pairs.RotationB[4*i] = math.NaN()
	}
	d := New(&picky{fake: &fake{name: "gpu"}, declines: third, chunk: chunk}, &fake{name: "cpu"})
	whole := new(sink)
	o := Options{ChunkRows: chunk, EstimateRows: n, MaxRowErrors: 3}
	want, err := d.RunStream(t.Context(), lib, &sizedSource{slowSource{pairs: pairs}}, allColumns, whole, o)
	if err != nil {
		t.Fatal(err)
	}
	if want.Counts[batch.Invalid] != 5 || len(want.RowErrors) != 3 || want.Declined() == 0 ||
		want.WorstGapRow <= chunk {
		t.Fatalf("%+v lacks what is to be merged", want)
	}
	for shards := 1; shards <= 16; shards++ {
		all := new(sink)
		var got Report
		for k := range shards {
			lo, hi := 16*k/shards*chunk, min(16*(k+1)/shards*chunk, n)
			part, err := Shard(&sizedSource{slowSource{pairs: pairs}}, lo, hi)
			if err != nil {
				t.Fatal(err)
			}
			o.FirstRow = lo
			rep, err := d.RunStream(t.Context(), lib, part, allColumns, all, o)
			if err != nil || rep.Rows != hi-lo {
				t.Fatalf("rows %d to %d: %d rows, %v", lo, hi, rep.Rows, err)
			}
			if k == 0 {
				got = rep
			} else {
				got.Merge(&rep)
			}
		}
		if !slices.Equal(all.status, whole.status) || !slices.Equal(all.bits, whole.bits) ||
			!slices.EqualFunc(all.distance, whole.distance, func(a, b float64) bool {
				return math.Float64bits(a) == math.Float64bits(b)
			}) {
			t.Errorf("%d shards have other answers than the whole", shards)
		}
		if a, b := untimed(got), untimed(want); !reflect.DeepEqual(a, b) {
			t.Errorf("%d shards:\n%+v, want\n%+v", shards, a, b)
		}
	}
}

// TestMergeFailover: a shard whose back end fails keeps its failover, and the shares of both back ends.
func TestMergeFailover(t *testing.T) {
	lib, pairs := testPairs(t, 200)
	run := func(d *Dispatcher, lo, hi int) Report {
		part, err := Shard(&slowSource{pairs: pairs}, lo, hi)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := d.RunStream(t.Context(), lib, part, allColumns, new(sink), Options{FirstRow: lo})
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	got := run(New(&fake{name: "a"}, &fake{name: "b"}), 0, 128)
	next := run(New(&fake{name: "a", at: failAt(0)}, &fake{name: "b"}), 128, 200)
	got.Merge(&next)
	if len(got.Failovers) != 1 || got.Failovers[0].Lo != 128 || got.Failovers[0].Hi != 200 || got.Done != 200 ||
		len(got.Shares) != 2 || got.Shares[0].Rows != 128 || got.Shares[1].Rows != 72 ||
		len(got.Spans) != 2 || got.Spans[1].Lo != 128 {
		t.Errorf("%+v", got)
	}
}

// TestShardRefuses: rows that the source does not have are errors.
func TestShardRefuses(t *testing.T) {
	lib, pairs := testPairs(t, 100)
	for _, r := range [][2]int{{-1, 5}, {5, 4}, {0, 101}} {
		if _, err := Shard(&sizedSource{slowSource{pairs: pairs}}, r[0], r[1]); err == nil {
			t.Errorf("rows %d to %d of 100: no error", r[0], r[1])
		}
	}
	for _, r := range [][2]int{{90, 101}, {101, 120}} {
		part, err := Shard(&slowSource{pairs: pairs}, r[0], r[1]) // of a source that does not know its length
		if err != nil {
			t.Fatal(err)
		}
		_, err = New(&fake{name: "cpu"}).RunStream(t.Context(), lib, part, allColumns, new(sink), Options{})
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("rows %d to %d: %v", r[0], r[1], err)
		}
	}
	_, err := New(&fake{name: "cpu"}).RunStream(t.Context(), lib, &slowSource{pairs: pairs}, allColumns,
		new(sink), Options{FirstRow: -1})
	if err == nil || !strings.Contains(err.Error(), "FirstRow -1") {
		t.Errorf("%v", err)
	}
	if rep, err := New(&fake{name: "cpu"}).RunStream(t.Context(), lib, mustShard(t, pairs, 40, 40), allColumns,
		new(sink), Options{}); err != nil || rep.Rows != 0 {
		t.Errorf("a shard of no rows: %d rows, %v", rep.Rows, err)
	}
}

func mustShard(t *testing.T, pairs *batch.Pairs, lo, hi int) Source {
	t.Helper()
	s, err := Shard(&sizedSource{slowSource{pairs: pairs}}, lo, hi)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
