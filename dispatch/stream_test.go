package dispatch

import (
	"context"
	"errors"
	"io"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"clearance/batch"
)

// slowSource yields copies of the rows of a list. It does not tell its length.
type slowSource struct {
	pairs *batch.Pairs
	next  int // row that has not been asked for
	fail  int // row at which it fails, if not 0
	err   error
}

func (s *slowSource) Rows(lo, hi int, used batch.Input) (batch.Input, error) {
	if s.fail != 0 && hi > s.fail {
		if s.err == nil {
			panic("broken reader")
		}
		return nil, s.err
	}
	if lo < s.next {
		return nil, errors.New("rows are asked for twice")
	}
	hi = min(hi, s.pairs.Len())
	lo = min(lo, hi)
	dst := batch.PairsIn(used, hi-lo)
	var r batch.Row
	for i := range hi - lo {
		s.pairs.Row(lo+i, &r)
		dst.SetRow(i, &r)
	}
	s.next = hi
	return dst, nil
}

type sizedSource struct{ slowSource }

func (s *sizedSource) Len() int { return s.pairs.Len() }

// longSource declares its length as an int64, as files do.
type longSource struct {
	Source
	n int64
}

func (s longSource) Len() int64 { return s.n }

// sink records its input.
type sink struct {
	distance []float64
	status   []uint8
	bits     []bool
	fail     int // write that fails, if not 0
	writes   int
}

func (s *sink) Write(r *batch.Results) error {
	s.writes++
	if s.writes == s.fail {
		return errors.New("disk full")
	}
	for i := range r.N {
		s.distance = append(s.distance, r.Distance().At(i))
		s.bits = append(s.bits, r.Bit(i))
	}
	s.status = append(s.status, r.Status()...)
	return r.CheckShape()
}

func (s *sink) Len() int { return len(s.status) }

func TestStream(t *testing.T) {
	for _, n := range []int{0, 1, 64, 200, 1000} {
		for _, copies := range []bool{false, true} {
			lib, pairs := testPairs(t, n)
			var bad int
			if n > 70 {
				bad = 70
				pairs.ShapeB[bad] = 9
			}
			src, out := Source(pairs), new(sink)
			if copies {
				src = &sizedSource{slowSource{pairs: pairs}}
			}
			var progress []int
			rep, err := New(&fake{name: "a"}).RunStream(t.Context(), lib, src, allColumns, out, Options{
				ChunkRows: 128,
				Progress: func(done, total int) {
					progress = append(progress, done)
					if total != n {
						t.Errorf("total %d, want %d", total, n)
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if out.Len() != n || out.writes != (n+127)/128 || rep.Rows != n || rep.Done != n || sum(rep.Counts) != n {
				t.Fatalf("%d rows: %d answers in %d writes, report %+v", n, out.Len(), out.writes, rep)
			}
			for i := range n {
				if bad != 0 && i == bad {
					if batch.Status(out.status[i]) != batch.Invalid || !math.IsNaN(out.distance[i]) || !out.bits[i] {
						t.Errorf("row %d: %v", i, batch.Status(out.status[i]))
					}
					continue
				}
				if a := fakeAnswer(float64(i % 5)); out.distance[i] != a.Distance ||
					batch.Status(out.status[i]) != a.Status || out.bits[i] != (a.Status != batch.Separated) {
					t.Fatalf("row %d: distance %g, want %g", i, out.distance[i], a.Distance)
				}
			}
			if bad != 0 && (len(rep.RowErrors) != 1 || rep.RowErrors[0].Row != bad) {
				t.Errorf("row errors %v", rep.RowErrors)
			}
			if !slices.IsSorted(progress) || (n > 0 && progress[len(progress)-1] != n) {
				t.Errorf("progress %v", progress)
			}
			if n > 0 && (len(rep.Spans) != 1 || rep.Spans[0].Hi != n || rep.WorstGapRow < 0) {
				t.Errorf("report %+v", rep)
			}
		}
	}
}

// The length of a source is known if it has a method Len.
func TestSourceRows(t *testing.T) {
	_, pairs := testPairs(t, 7)
	for _, c := range []struct {
		source Source
		want   int
	}{
		{&slowSource{pairs: pairs}, UnknownRows},
		{&sizedSource{slowSource{pairs: pairs}}, 7},
		{longSource{n: 9}, 9},
		{pairs, 7},
	} {
		if got := sourceRows(c.source); got != c.want {
			t.Errorf("%T: %d rows, want %d", c.source, got, c.want)
		}
	}
}

// Row numbers in errors count from the first row of the stream.
func TestStreamFailover(t *testing.T) {
	lib, pairs := testPairs(t, 400)
	calls := 0
	bad := &fake{name: "bad", at: func(int) error {
		if calls++; calls == 300 {
			return errDevice
		}
		return nil
	}}
	out := new(sink)
	rep, err := New(bad, &fake{name: "good"}).RunStream(t.Context(), lib, &slowSource{pairs: pairs},
		allColumns, out, Options{ChunkRows: 64})
	if err != nil || out.Len() != 400 {
		t.Fatalf("%d answers, %v", out.Len(), err)
	}
	if len(rep.Failovers) != 1 || rep.Failovers[0].Lo != 256 || rep.Failovers[0].Hi != 320 || len(rep.Spans) != 2 ||
		rep.Spans[1].Lo != 256 || rep.Spans[1].Hi != 400 {
		t.Errorf("report %+v", rep)
	}
}

// However a stream ends, the sink has received complete chunks from the first row on, the
// error is the one that ended the stream, and no goroutine is left.
func TestStreamEnds(t *testing.T) {
	before := runtime.NumGoroutine()
	lib, pairs := testPairs(t, 1000)
	readError := errors.New("row group 3 is truncated")
	for _, c := range []struct {
		what string
		src  *slowSource
		out  *sink
		dev  *fake
		want string
	}{
		{"source fails", &slowSource{pairs: pairs, fail: 500, err: readError}, &sink{}, &fake{name: "a"},
			readError.Error()},
		{"source panics", &slowSource{pairs: pairs, fail: 500}, &sink{}, &fake{name: "a"},
			"source panicked: broken reader"},
		{"source yields nothing", &slowSource{pairs: pairs, fail: 500, err: errEmpty}, &sink{}, &fake{name: "a"},
			"yielded no input"},
		{"sink fails", &slowSource{pairs: pairs}, &sink{fail: 3}, &fake{name: "a"}, "disk full"},
		{"device fails", &slowSource{pairs: pairs}, &sink{}, &fake{name: "a", at: failAt(40)},
			errDevice.Error()},
	} {
		var src Source = c.src
		if c.src.err == errEmpty {
			src = emptySource{c.src}
		}
		rep, err := New(c.dev).RunStream(t.Context(), lib, src, allColumns, c.out, Options{ChunkRows: 64})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.what, err, c.want)
		}
		if c.out.Len()%64 != 0 || c.out.Len() > rep.Done || c.out.Len() >= 1000 {
			t.Errorf("%s: %d answers written, %d done", c.what, c.out.Len(), rep.Done)
		}
		for i := range c.out.distance {
			if c.out.distance[i] != fakeAnswer(float64(i%5)).Distance {
				t.Fatalf("%s: row %d is wrong", c.what, i)
			}
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{name: "a", at: func(i int) error { cancel(); return nil }}
	if _, err := New(f).RunStream(ctx, lib, &slowSource{pairs: pairs}, allColumns, new(sink),
		Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	// The goroutines have ended but for their last instructions.
	for range 60_000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

var errEmpty = errors.New("empty")

// emptySource yields no input and no error where its source fails.
type emptySource struct{ *slowSource }

func (s emptySource) Rows(lo, hi int, used batch.Input) (batch.Input, error) {
	in, err := s.slowSource.Rows(lo, hi, used)
	if err == errEmpty {
		err = nil
	}
	return in, err
}

// TestStreamWorlds: worlds stream as the list of their pairs does, in chunks of whole worlds where these have room, and
// in shards that begin anywhere.
func TestStreamWorlds(t *testing.T) {
	lib, _ := testPairs(t, 1)
	w := &batch.Worlds{Shapes: []int32{0, 0, 0}, TemplateA: []int32{0, 1, 0}, TemplateB: []int32{1, 2, 2}}
	for i := range 200 * 3 {
		w.Poses = append(w.Poses, float64(i%7), 0, 0, 1, 0, 0, 0)
	}
	n := w.Len()
	pairs := batch.NewPairs(n)
	var row batch.Row
	for i := range n {
		w.Row(i, &row)
		pairs.SetRow(i, &row)
	}
	for _, c := range []struct{ lo, hi, chunk, whole int }{{0, n, 0, n}, {0, n, 64, 0}, {0, n, 192, n},
		{3, n, 192, n - 3}, {4, n - 1, 192, 0}} {
		asked := &asker{Worlds: w}
		run := func(source Source) *sink {
			part, err := Shard(source, c.lo, c.hi)
			if err != nil {
				t.Fatal(err)
			}
			out := new(sink)
			rep, err := New(&fake{name: "a"}).RunStream(t.Context(), lib, part, allColumns, out,
				Options{ChunkRows: c.chunk})
			if err != nil || rep.Rows != c.hi-c.lo {
				t.Fatalf("%+v: %d rows, %v", c, rep.Rows, err)
			}
			return out
		}
		got, want := run(asked), run(pairs)
		if !slices.Equal(got.distance, want.distance) || !slices.Equal(got.status, want.status) {
			t.Errorf("%+v: worlds have other answers than their pairs", c)
		}
		if c.whole > 0 && asked.whole != c.whole {
			t.Errorf("%+v: %d rows in whole worlds, want %d", c, asked.whole, c.whole)
		}
	}
	w.Bodies, w.Shapes = w.Shapes, nil
	if _, err := New(&fake{name: "a"}).RunStream(t.Context(), lib, w, allColumns, new(sink), Options{}); err == nil ||
		!strings.Contains(err.Error(), "worlds of bodies") {
		t.Errorf("worlds of bodies: %v", err)
	}
}

// asker counts the rows that worlds yield as worlds.
type asker struct {
	*batch.Worlds
	whole int
}

func (a *asker) Rows(lo, hi int, used batch.Input) (batch.Input, error) {
	in, err := a.Worlds.Rows(lo, hi, used)
	if _, ok := in.(*batch.Worlds); ok {
		a.whole += in.Len()
	}
	return in, err
}

func TestStreamRefuses(t *testing.T) {
	lib, pairs := testPairs(t, 10)
	for _, c := range []struct {
		lib  *batch.Library
		o    batch.Options
		do   Options
		want string
	}{
		{nil, batch.Options{}, Options{}, "no library"},
		{lib, batch.Options{WarmStart: make([]float64, 30)}, Options{}, "takes no warm start"},
		{lib, batch.Options{Query: batch.QueryCount}, Options{}, "not available yet"},
		{lib, batch.Options{}, Options{Backend: "gpu"}, `"gpu"`},
		{lib, batch.Options{}, Options{ChunkRows: -5}, "ChunkRows -5"},
	} {
		src := &slowSource{pairs: pairs}
		if _, err := New(&fake{name: "a"}).RunStream(t.Context(), c.lib, src, c.o, new(sink), c.do); err == nil ||
			!strings.Contains(err.Error(), c.want) || src.next != 0 {
			t.Errorf("error %v, want %q and nothing read", err, c.want)
		}
	}
}

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
