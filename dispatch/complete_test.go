package dispatch

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// picky is a back end that declines rows, measures its kernels and prefers a chunk size.
type picky struct {
	*fake
	declines func(i int) bool
	chunk    int
}

func (p *picky) Partial() bool  { return true }
func (p *picky) ChunkRows() int { return p.chunk }

func (p *picky) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	_, err := p.RunMeasured(ctx, job, lo, hi, out)
	return err
}

func (p *picky) RunMeasured(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) (time.Duration,
	error) {
	if err := p.fake.Run(ctx, job, lo, hi, out); err != nil {
		return 0, err
	}
	for i := lo; i < hi; i++ {
		if p.declines(i) { // the columns of a declined row may hold anything
			out.Put(i-lo, &batch.Answer{Distance: 7, Lower: 7, Upper: 7, Solver: batch.SolverGJK})
			out.Marks.Set(i-lo, i-lo+1, batch.Unanswered)
		}
	}
	return time.Duration(hi-lo) * time.Microsecond, nil
}

func third(i int) bool { return i%3 == 1 }

// Rows that a back end declines are answered by the next one, each once, for any chunk size
// and whether the first is selected by name or not. All other answers are unchanged.
func TestDeclinedRows(t *testing.T) {
	lib, pairs := testPairs(t, 500)
	pairs.ShapeA[7] = -1
	for _, chunk := range []int{0, 64, 500} {
		for _, name := range []string{Auto, "gpu"} {
			p := &picky{fake: &fake{name: "gpu"}, declines: func(i int) bool { return third(i) && i != 7 }, chunk: 192}
			f := &fake{name: "cpu"}
			job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
			rep, err := New(p, f, &fake{name: "ref", at: failAt(0)}).Run(t.Context(), job,
				Options{ChunkRows: chunk, Backend: name})
			if err != nil {
				t.Fatal(err)
			}
			checkRows(t, job.Results, pairs, 0, 7)
			checkRows(t, job.Results, pairs, 8, 500)
			want := 166 // rows 1, 4, ... 499 but 7
			if rep.Done != 500 || sum(rep.Counts) != 500 || rep.Declined() != want || int(f.rows.Load()) != want {
				t.Errorf("report %+v, %d rows on the other back end, want %d", rep, f.rows.Load(), want)
			}
			if len(rep.Handovers) != 1 || rep.Handovers[0].From != "gpu" || rep.Handovers[0].To != "cpu" ||
				len(rep.Failovers) != 0 {
				t.Errorf("handovers %+v, failovers %+v", rep.Handovers, rep.Failovers)
			}
			if rep.Kernel != 500*time.Microsecond || rep.KernelRows != 500 {
				t.Errorf("kernel time %v for %d rows", rep.Kernel, rep.KernelRows)
			}
			if wantRuns := map[int]int64{0: 3, 64: 8, 500: 1}[chunk]; p.runs.Load() != wantRuns {
				t.Errorf("%d chunks, want %d", p.runs.Load(), wantRuns)
			}
		}
	}
}

// The same in streams.
func TestDeclinedInStream(t *testing.T) {
	lib, pairs := testPairs(t, 400)
	p := &picky{fake: &fake{name: "gpu"}, declines: third, chunk: 64}
	out := new(sink)
	rep, err := New(p, &fake{name: "cpu"}).RunStream(t.Context(), lib, &slowSource{pairs: pairs}, allColumns,
		out, Options{ChunkRows: 64})
	if err != nil || out.Len() != 400 || rep.Declined() == 0 || rep.Counts[batch.Undecided] != 0 {
		t.Fatalf("%d answers, report %+v, %v", out.Len(), rep, err)
	}
	for i, d := range out.distance {
		if d != fakeAnswer(float64(i%5)).Distance {
			t.Fatalf("row %d is wrong", i)
		}
	}
}

// A declined row keeps its warm start.
func TestDeclinedWarmStart(t *testing.T) {
	lib, pairs := testPairs(t, 100)
	o := allColumns
	o.WarmStart = make([]float64, 300)
	for i := range o.WarmStart {
		o.WarmStart[i] = float64(i / 3)
	}
	p := &picky{fake: &fake{name: "gpu"}, declines: third, chunk: 64}
	var seen []r3.Vec
	f := &warm{fake: &fake{name: "cpu"}, seen: &seen}
	rep, err := New(p, f).Run(t.Context(), &batch.Job{Library: lib, Input: pairs, Options: o}, Options{ChunkRows: 64})
	if err != nil || rep.Declined() != 33 || len(seen) != 33 {
		t.Fatalf("report %+v, %v", rep, err)
	}
	for k, w := range seen {
		if want := float64(3*k + 1); w.X != want || w.Z != want {
			t.Errorf("row %d came with the warm start %v", 3*k+1, w)
		}
	}
}

// warm records the warm starts that it reads.
type warm struct {
	*fake
	seen *[]r3.Vec
}

func (w *warm) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	var r batch.Row
	for i := lo; i < hi; i++ {
		v, err := job.Read(i, &r)
		if err != nil {
			return err
		}
		*w.seen = append(*w.seen, v)
	}
	return w.fake.Run(ctx, job, lo, hi, out)
}

// If the next back end fails, the one after it answers the rows; if there is none, they are
// undecided.
func TestDeclinedAndFailed(t *testing.T) {
	lib, pairs := testPairs(t, 200)
	gone := &fake{name: "gone", device: batch.Device{Reason: "no driver"}}
	for _, c := range []struct {
		what      string
		others    []Backend
		undecided int
		failovers int
	}{
		{"second fails", []Backend{&fake{name: "bad", at: failAt(5)}, &fake{name: "good"}}, 0, 1},
		{"second declines too", []Backend{&picky{fake: &fake{name: "picky"},
			declines: func(i int) bool { return i%2 == 0 }}, &fake{name: "good"}}, 0, 0},
		{"not usable", []Backend{gone}, 67, 0},
		{"alone", nil, 67, 0},
		{"all fail", []Backend{&fake{name: "bad", at: failAt(0)}}, 67, 1},
	} {
		p := &picky{fake: &fake{name: "gpu"}, declines: third, chunk: 64}
		job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
		rep, err := New(append([]Backend{p}, c.others...)...).Run(t.Context(), job, Options{Backend: "gpu"})
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if rep.Counts[batch.Undecided] != c.undecided || len(rep.Failovers) != c.failovers || sum(rep.Counts) != 200 ||
			rep.Done != 200-c.undecided {
			t.Errorf("%s: report %+v", c.what, rep)
		}
		for i := range 200 {
			if c.undecided > 0 && third(i) {
				checkUnanswered(t, job.Results, i, i+1)
			} else {
				checkRows(t, job.Results, pairs, i, i+1)
			}
		}
	}
}

// If the context ends while declined rows are answered, the answers so far are kept.
func TestDeclinedAndCancelled(t *testing.T) {
	lib, pairs := testPairs(t, 200)
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{name: "cpu", at: func(i int) error {
		if i == 10 {
			cancel()
		}
		return nil
	}}
	job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
	rep, err := New(&picky{fake: &fake{name: "gpu"}, declines: third, chunk: 256}, f).Run(ctx, job, Options{})
	if !errors.Is(err, context.Canceled) || rep.Done != 200-67+10 || rep.Declined() != 10 {
		t.Errorf("report %+v, error %v", rep, err)
	}
	checkRows(t, job.Results, pairs, 0, 31)
	checkUnanswered(t, job.Results, 31, 32)
}

// A device that emulates a GPU on the CPU is selected last.
func TestSoftwareLast(t *testing.T) {
	soft := &fake{name: "vulkan", device: batch.Device{Kind: batch.SoftwareGPU}}
	c := &fake{name: "cpu", device: batch.Device{Kind: batch.CPU}}
	hard := &fake{name: "gpu"}
	for _, rows := range []int{0, 1000, 1 << 20, UnknownRows} {
		got, err := New(soft, hard, c).Choose(Auto, new(batch.Options), rows)
		if err != nil || len(got.Share) != 1 || got.Share[0] == Backend(soft) || got.Spare[1] != Backend(soft) {
			t.Errorf("%d rows: %+v, %v", rows, got, err)
		}
	}
	if got, err := New(soft, c).Choose("vulkan", new(batch.Options), 5); err != nil || got.Share[0] != Backend(soft) {
		t.Errorf("%v, %v", got, err)
	}
}

// Declined rows are complete although the caller did not request all columns.
func TestDeclinedColumns(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, pairs := testPairs(t, 130)
	for _, cols := range []batch.Columns{batch.ColBits, batch.ColDistance, batch.ColNormal | batch.ColWitnessB,
		batch.ColPoint} {
		for _, p := range []batch.Precision{batch.Single, batch.Double} {
			o := batch.Options{Columns: cols, Precision: p}
			if cols == batch.ColPoint {
				o.Query = batch.Growth
			}
			want := &batch.Job{Library: lib, Input: pairs, Options: o}
			got := &batch.Job{Library: lib, Input: pairs, Options: o}
			if _, err := New(&fake{name: "a"}).Run(t.Context(), want, Options{}); err != nil {
				t.Fatal(err)
			}
			if _, err := New(&picky{fake: &fake{name: "gpu"}, declines: third}, &fake{name: "a"}).Run(t.Context(), got,
				Options{ChunkRows: 64}); err != nil {
				t.Fatal(err)
			}
			w, g := want.Results, got.Results
			same := slices.Equal(w.Bits(), g.Bits()) && w.Distance().Len() == g.Distance().Len() &&
				w.Normal().Len() == g.Normal().Len() && w.Point().Len() == g.Point().Len()
			for i := range w.Distance().Len() {
				same = same && w.Distance().At(i) == g.Distance().At(i)
			}
			for i := range w.Normal().Len() {
				same = same && w.Normal().At(i) == g.Normal().At(i) && w.WitnessB().At(i) == g.WitnessB().At(i) &&
					!math.IsNaN(g.Normal().At(i))
			}
			for i := range w.Point().Len() {
				same = same && w.Point().At(i) == g.Point().At(i) && !math.IsNaN(g.Point().At(i))
			}
			if !same {
				t.Errorf("%v, %v: other answers", cols, p)
			}
		}
	}
}

// A back end that is not partial has failed if it does not answer a row.
func TestLeftOut(t *testing.T) {
	lib, pairs := testPairs(t, 100)
	_, err := New(&fake{name: "a", skip: 3}).Run(t.Context(), &batch.Job{Library: lib, Input: pairs}, Options{})
	if err == nil || !strings.Contains(err.Error(), "row 3 was not answered") {
		t.Errorf("error %v", err)
	}
}
