package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
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

// patience is how long a test waits for an event that must occur promptly.
const patience = 10 * time.Minute // on a busy machine

// While the declined rows of a chunk are answered, the device computes the next chunk: the
// other back end waits until the device has started it.
func TestFinishingOverlaps(t *testing.T) {
	lib, pairs := testPairs(t, 64*8)
	begun := make(chan struct{}, 8)
	dev := &picky{fake: &fake{name: "gpu", at: func(i int) error {
		if i%64 == 0 {
			begun <- struct{}{}
		}
		return nil
	}}, declines: third, chunk: 64}
	calls := 0
	other := &fake{name: "cpu", at: func(i int) error {
		if i != 0 {
			return nil
		}
		need := 2 // the first chunk and the second
		if calls++; calls > 1 {
			need = 1
		}
		if calls == 8 {
			return nil // there is no ninth
		}
		for range need {
			select {
			case <-begun:
			case <-time.After(patience):
				return errors.New("the device waits for the rows that it declined")
			}
		}
		return nil
	}}
	for _, stream := range []bool{false, true} {
		calls = 0
		for len(begun) > 0 {
			<-begun
		}
		var rep Report
		var err error
		d := New(dev, other)
		o := Options{Backend: "gpu", ChunkRows: 64}
		if stream {
			rep, err = d.RunStream(t.Context(), lib, &slowSource{pairs: pairs}, allColumns, new(sink), o)
		} else {
			job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
			rep, err = d.Run(t.Context(), job, o)
			checkRows(t, job.Results, pairs, 0, pairs.Len())
		}
		if err != nil || len(rep.Failovers) != 0 || rep.Done != pairs.Len() || rep.Declined() < pairs.Len()/4 {
			t.Errorf("stream %t: report %+v, %v", stream, rep, err)
		}
	}
}

// The queue between a fast device and the back end that answers its declined rows is bounded.
func TestFinishingIsBounded(t *testing.T) {
	lib, pairs := testPairs(t, 64*50)
	var begun, ahead atomic.Int64
	dev := &picky{fake: &fake{name: "gpu", at: func(i int) error {
		if i%64 == 0 {
			begun.Add(1)
		}
		return nil
	}}, declines: third, chunk: 64}
	finished := int64(0)
	other := &fake{name: "cpu", at: func(i int) error {
		if i == 0 {
			for k := 0; k < 100 || finished == 0 && begun.Load() < 2 && k < 1e7; k++ { // the device gets ahead
				time.Sleep(20 * time.Microsecond)
			}
			ahead.Store(max(ahead.Load(), begun.Load()-finished))
			finished++
		}
		return nil
	}}
	rep, err := New(dev, other).Run(t.Context(), &batch.Job{Library: lib, Input: pairs},
		Options{Backend: "gpu", ChunkRows: 64})
	if err != nil || rep.Done != pairs.Len() {
		t.Fatalf("report %+v, %v", rep, err)
	}
	if limit := int64(1 + queuedChunks + 2); ahead.Load() > limit || ahead.Load() < 2 {
		t.Errorf("%d chunks were begun and not finished, want 2 to %d", ahead.Load(), limit)
	}
}

// Cancelled while the declined rows of one chunk are answered and another is computed: the
// report counts exactly the rows answered.
func TestFinishingCancelled(t *testing.T) {
	lib, pairs := testPairs(t, 64*8)
	ctx, cancel := context.WithCancel(t.Context())
	computing := make(chan struct{})
	dev := &picky{fake: &fake{name: "gpu", at: func(i int) error {
		if i == 3*64+10 {
			close(computing)
			<-ctx.Done()
		}
		return nil
	}}, declines: third, chunk: 64}
	other := &fake{name: "cpu", at: func(i int) error {
		if i == 5 {
			select {
			case <-computing:
			case <-time.After(patience):
				return errors.New("the device waits")
			}
			cancel()
		}
		return nil
	}}
	job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Results: used(pairs.Len(), &allColumns)}
	rep, err := New(dev, other).Run(ctx, job, Options{Backend: "gpu", ChunkRows: 64})
	if !errors.Is(err, context.Canceled) || sum(rep.Counts) != pairs.Len() || len(rep.Failovers) != 0 {
		t.Fatalf("report %+v, %v", rep, err)
	}
	answered := 0
	for i := range pairs.Len() {
		if batch.Status(job.Results.Status()[i]) == batch.Undecided {
			checkUnanswered(t, job.Results, i, i+1)
		} else {
			checkRows(t, job.Results, pairs, i, i+1)
			answered++
		}
	}
	if answered != rep.Done || rep.Declined() != 5 {
		t.Errorf("%d rows look answered, report %+v", answered, rep)
	}
}

// The back end that answers declined rows fails during the call: the next one takes over, and
// the failed one is not used again.
func TestFinisherFails(t *testing.T) {
	lib, pairs := testPairs(t, 64*8)
	bad := &fake{name: "bad", at: failAt(15)}
	good := &fake{name: "good"}
	dev := &picky{fake: &fake{name: "gpu"}, declines: third, chunk: 64}
	job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
	rep, err := New(dev, bad, good).Run(t.Context(), job, Options{Backend: "gpu", ChunkRows: 64})
	if err != nil || len(rep.Failovers) != 1 || rep.Failovers[0].Backend != "bad" || bad.runs.Load() != 1 ||
		rep.Done != pairs.Len() {
		t.Fatalf("report %+v, %d calls, %v", rep, bad.runs.Load(), err)
	}
	checkRows(t, job.Results, pairs, 0, pairs.Len())
}

// flipped is a back end that answers one row with the code of a solver that does not exist.
type flipped struct {
	*fake
	row int
}

func (f *flipped) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	err := f.fake.Run(ctx, job, lo, hi, out)
	if lo <= f.row && f.row < hi {
		out.Method()[f.row-lo] = uint8(batch.SolverCount)
	}
	return err
}

// A solver code out of range, of a flipped bit for one, is a failure of the back end: another answers the chunk, and
// without another the rows are undecided.
func TestSolverCodeOutOfRange(t *testing.T) {
	const n = 300
	lib, pairs := testPairs(t, n)
	for _, columns := range []batch.Columns{batch.AllColumns, batch.ColStatus} {
		job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: columns}}
		d := New(&flipped{&fake{name: "a"}, 130}, &fake{name: "b"})
		rep, err := d.Run(t.Context(), job, Options{ChunkRows: 64})
		if err != nil || rep.Done != n || len(rep.Failovers) != 1 {
			t.Fatalf("columns %v: report %+v, error %v", columns, rep, err)
		}
		if f := rep.Failovers[0]; f.Backend != "a" || f.Lo != 128 ||
			!strings.Contains(f.Err.Error(), fmt.Sprintf("solver %d", batch.SolverCount)) {
			t.Errorf("columns %v: %+v", columns, f)
		}
		if columns == batch.AllColumns {
			checkRows(t, job.Results, pairs, 0, n)
		}

		job = &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: columns}}
		rep, err = New(&flipped{&fake{name: "a"}, 130}).Run(t.Context(), job, Options{ChunkRows: 64})
		if err == nil || rep.Done != 128 || rep.Counts[batch.Undecided] != n-128 {
			t.Errorf("columns %v: alone: report %+v, error %v", columns, rep, err)
		}
	}
}

// The same of rows that one back end declines and another answers.
func TestSolverCodeOfDeclinedRows(t *testing.T) {
	const n = 64
	lib, pairs := testPairs(t, n)
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: batch.AllColumns}}
	d := New(partialFake{&fake{name: "a", skip: 7}}, &flipped{&fake{name: "b"}, 0})
	rep, err := d.Run(t.Context(), job, Options{})
	if err != nil || rep.Done != n-1 || rep.Counts[batch.Undecided] != 1 || len(rep.Failovers) != 1 ||
		rep.Failovers[0].Backend != "b" {
		t.Errorf("report %+v, error %v", rep, err)
	}
}

// partialFake is a fake that may decline rows.
type partialFake struct{ *fake }

func (partialFake) Partial() bool { return true }
