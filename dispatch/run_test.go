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
)

var allColumns = batch.Options{Columns: batch.AllColumns | batch.ColBits}

func TestRunChunks(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 1000} {
		for _, chunk := range []int{0, 1, 64, 65, 5000} {
			f := &fake{name: "a"}
			lib, pairs := testPairs(t, n)
			job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
			var progress []int
			rep, err := New(f).Run(t.Context(), job, Options{ChunkRows: chunk, Progress: func(done, total int) {
				if total != n {
					t.Errorf("total %d, want %d", total, n)
				}
				progress = append(progress, done)
			}})
			if err != nil {
				t.Fatal(err)
			}
			checkRows(t, job.Results, pairs, 0, n)
			if rep.Rows != n || rep.Done != n || sum(rep.Counts) != n || int(f.rows.Load()) != n ||
				rep.Iterations != int64(2*n) {
				t.Errorf("%d rows in chunks of %d: report %+v", n, chunk, rep)
			}
			if !slices.IsSorted(progress) || len(progress) != int(f.runs.Load()) ||
				(n > 0 && progress[len(progress)-1] != n) {
				t.Errorf("%d rows in chunks of %d: progress %v", n, chunk, progress)
			}
			if n > 0 && (len(rep.Spans) != 1 || rep.Spans[0].Lo != 0 || rep.Spans[0].Hi != n ||
				rep.Spans[0].Chunks != int(f.runs.Load())) {
				t.Errorf("%d rows in chunks of %d: spans %+v", n, chunk, rep.Spans)
			}
		}
	}
}

// The report does not depend on the requested columns, and no other column is written.
func TestReportWithoutColumns(t *testing.T) {
	lib, pairs := testPairs(t, 300)
	pairs.ShapeB[17] = 9
	for _, query := range []batch.Query{batch.Distance, batch.Penetration} {
		var want Report
		for _, cols := range []batch.Columns{batch.AllColumns, batch.ColBits, batch.ColNormal, batch.ColDistance,
			batch.ColStatus | batch.ColGap} {
			job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: query, Columns: cols}}
			rep, err := New(&fake{name: "a"}).Run(t.Context(), job, Options{ChunkRows: 128})
			if err != nil {
				t.Fatal(err)
			}
			if err := job.Results.CheckShape(); err != nil || job.Results.Columns != cols {
				t.Errorf("%v: results have the columns %v, %v", cols, job.Results.Columns, err)
			}
			if cols == batch.AllColumns {
				want = rep
				continue
			}
			if rep.Counts != want.Counts || rep.Iterations != want.Iterations || rep.WorstGap != want.WorstGap ||
				rep.WorstGapRow != want.WorstGapRow {
				t.Errorf("%v: report %+v, want %+v", cols, rep, want)
			}
			if cols == batch.ColBits && (job.Results.Bit(4) || !job.Results.Bit(17) || !job.Results.Bit(0)) {
				t.Error("wrong bits")
			}
		}
	}
}

// A Boolean query for bits alone has no iterations; everything else is counted.
func TestBitsAlone(t *testing.T) {
	lib, pairs := testPairs(t, 300)
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Collide, Columns: batch.ColBits}}
	rep, err := New(&fake{name: "a"}).Run(t.Context(), job, Options{ChunkRows: 128})
	if err != nil || rep.Done != 300 || sum(rep.Counts) != 300 || rep.Counts[batch.Separated] != 120 ||
		rep.Iterations != 0 {
		t.Errorf("report %+v, %v", rep, err)
	}
	if !job.Results.Bit(0) || job.Results.Bit(4) || job.Results.Status() != nil {
		t.Error("wrong bits")
	}
}

func TestWorstGap(t *testing.T) {
	lib, pairs := testPairs(t, 10) // distances -2 to 2, gaps 1e-9, size 2
	run := func(o batch.Options) Report {
		t.Helper()
		rep, err := New(&fake{name: "a"}).Run(t.Context(), &batch.Job{Library: lib, Input: pairs, Options: o},
			Options{})
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	if rep := run(batch.Options{Precision: batch.Double}); rep.WorstGapRow < 0 ||
		math.Abs(rep.WorstGap-0.5e-9) > 1e-15 {
		t.Errorf("worst gap %g in row %d", rep.WorstGap, rep.WorstGapRow)
	}
	// The tolerance does not apply to rows beyond the cut-off.
	if rep := run(batch.Options{HasCutOff: true, CutOff: -3}); rep.WorstGapRow != -1 || rep.WorstGap != 0 {
		t.Errorf("worst gap %g in row %d, though all rows are beyond the cut-off", rep.WorstGap, rep.WorstGapRow)
	}
	if rep := run(batch.Options{Query: batch.Collide}); rep.WorstGapRow != -1 {
		t.Errorf("worst gap in row %d of a collide query", rep.WorstGapRow)
	}
}

func TestRowErrors(t *testing.T) {
	lib, pairs := testPairs(t, 500)
	bad := []int{3, 64, 130, 131, 499}
	pairs.ShapeA[3] = -1
	pairs.PositionA[3*64] = math.NaN()
	clear(pairs.RotationB[4*130 : 4*131])
	pairs.PositionB[3*131+2] = math.Inf(1)
	pairs.ShapeB[499] = 1
	columns := []string{"shape_a", "position_a", "rotation_b", "position_b", "shape_b"}
	job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
	rep, err := New(&fake{name: "a"}).Run(t.Context(), job, Options{ChunkRows: 64, MaxRowErrors: 4})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Counts[batch.Invalid] != 5 || rep.Done != 500 || len(rep.RowErrors) != 4 {
		t.Fatalf("report %+v", rep)
	}
	for k, e := range rep.RowErrors {
		if e.Row != bad[k] || e.Column != columns[k] {
			t.Errorf("error %d is %v, want row %d, column %s", k, e, bad[k], columns[k])
		}
	}
	next := 0
	for _, b := range bad {
		checkRows(t, job.Results, pairs, next, b)
		if batch.Status(job.Results.Status()[b]) != batch.Invalid || !math.IsNaN(job.Results.Distance().At(b)) ||
			!job.Results.Bit(b) {
			t.Errorf("row %d: %v", b, batch.Status(job.Results.Status()[b]))
		}
		next = b + 1
	}
	var rows *RowsError
	var row *batch.RowError
	if err := rep.Err(); !errors.As(err, &rows) || rows.Invalid != 5 || rows.Undecided != 0 || !errors.As(err, &row) ||
		row.Row != 3 {
		t.Errorf("Err() = %v", err)
	}
	if err := (&Report{Rows: 3}).Err(); err != nil {
		t.Errorf("Err() = %v for rows that are all decided", err)
	}
}

func TestCancel(t *testing.T) {
	lib, pairs := testPairs(t, 300)
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{name: "a", at: func(i int) error {
		if i == 150 {
			cancel()
		}
		return nil
	}}
	spare := &fake{name: "b"}
	job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Results: used(300, &allColumns)}
	rep, err := New(f, spare).Run(ctx, job, Options{ChunkRows: 64})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "150 answers") {
		t.Fatalf("error %v", err)
	}
	checkRows(t, job.Results, pairs, 0, 150)
	checkUnanswered(t, job.Results, 150, 300)
	if rep.Rows != 300 || rep.Done != 150 || sum(rep.Counts) != 300 || rep.Counts[batch.Undecided] != 150 ||
		len(rep.Failovers) != 0 || spare.runs.Load() != 0 {
		t.Errorf("report %+v", rep)
	}
	if rep.Err() == nil {
		t.Error("a cancelled call counts as decided")
	}

	// A context that has ended before the call.
	job.Results = used(300, &allColumns)
	if rep, err = New(f).Run(ctx, job, Options{}); !errors.Is(err, context.Canceled) || rep.Done != 0 {
		t.Errorf("report %+v, error %v", rep, err)
	}
	checkUnanswered(t, job.Results, 0, 300)
}

func TestFailover(t *testing.T) {
	lib, pairs := testPairs(t, 300)
	for _, c := range []struct {
		what string
		bad  *fake
		want string
	}{
		{"error", &fake{name: "bad", at: failAt(130)}, errDevice.Error()},
		{"panic", &fake{name: "bad", at: func(i int) error {
			if i == 130 {
				panic("out of range")
			}
			return nil
		}}, "panic: out of range"},
		{"row left out", &fake{name: "bad", skip: 130}, "row 130 was not answered"},
	} {
		good := &fake{name: "good"}
		job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
		rep, err := New(c.bad, good).Run(t.Context(), job, Options{ChunkRows: 64})
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		checkRows(t, job.Results, pairs, 0, 300)
		if rep.Done != 300 || sum(rep.Counts) != 300 || good.rows.Load() != 300-128 {
			t.Errorf("%s: report %+v, %d rows on the second back end", c.what, rep, good.rows.Load())
		}
		if len(rep.Failovers) != 1 || rep.Failovers[0].Backend != "bad" || rep.Failovers[0].Lo != 128 ||
			rep.Failovers[0].Hi != 192 {
			t.Fatalf("%s: failovers %+v", c.what, rep.Failovers)
		}
		if s := rep.Failovers[0].Err.Error(); !strings.Contains(s, c.want) || !strings.Contains(s, "rows [128, 192)") {
			t.Errorf("%s: failover error %q", c.what, s)
		}
		if len(rep.Spans) != 2 || rep.Spans[0].Backend != "bad" || rep.Spans[0].Hi != 128 ||
			rep.Spans[1].Backend != "good" || rep.Spans[1].Hi != 300 {
			t.Errorf("%s: spans %+v", c.what, rep.Spans)
		}
	}
}

// If no back end is left, the error names the rows, and rows without an answer are undecided,
// including all rows of the chunk that failed.
func TestNoBackendLeft(t *testing.T) {
	lib, pairs := testPairs(t, 300)
	for _, o := range []Options{{ChunkRows: 64, Backend: "bad"}, {ChunkRows: 64}} {
		spare := &fake{name: "spare", at: failAt(128)}
		job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Results: used(300, &allColumns)}
		rep, err := New(&fake{name: "bad", at: failAt(130)}, spare).Run(t.Context(), job, o)
		if !errors.Is(err, errDevice) || !strings.Contains(err.Error(), "rows [128, 192)") {
			t.Fatalf("error %v", err)
		}
		checkRows(t, job.Results, pairs, 0, 128)
		checkUnanswered(t, job.Results, 128, 300)
		if rep.Done != 128 || sum(rep.Counts) != 300 {
			t.Errorf("report %+v", rep)
		}
		if o.Backend != "" && spare.runs.Load() != 0 {
			t.Error("a back end selected by name was replaced")
		}
	}
}

func TestChoose(t *testing.T) {
	gone := &fake{name: "gpu", device: batch.Device{Reason: "no loader, install libvulkan1"}}
	picky := &fake{name: "picky", refuse: errors.New("no double precision")}
	good, other := &fake{name: "cpu"}, &fake{name: "ref"}
	d := New(gone, picky, good, other)
	for _, c := range []struct {
		name string
		want []Backend
		err  string
	}{
		{"", []Backend{good, other}, ""},
		{"auto", []Backend{good, other}, ""},
		{"ref", []Backend{other}, ""},
		{"gpu", nil, "install libvulkan1"},
		{"picky", nil, "no double precision"},
		{"tpu", nil, `"tpu", want one of [gpu picky cpu ref]`},
	} {
		got, err := d.Choose(c.name, new(batch.Options), UnknownRows)
		if c.err == "" {
			if err != nil || !slices.Equal(append(got.Share, got.Spare...), c.want) || len(got.Share) != 1 {
				t.Errorf("%q: %v, %v", c.name, got, err)
			}
			continue
		}
		if !errors.Is(err, ErrNoBackend) || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: error %v, want %q", c.name, err, c.err)
		}
	}
	if _, err := New(gone, picky).Choose("auto", new(batch.Options), 1); !errors.Is(err, ErrNoBackend) ||
		!strings.Contains(err.Error(), "gpu: no loader") || !strings.Contains(err.Error(), "picky: no double") {
		t.Errorf("error %v", err)
	}
	if _, err := New().Choose("auto", new(batch.Options), 1); !errors.Is(err, ErrNoBackend) {
		t.Errorf("error %v", err)
	}
	if err := d.Close(); err != nil || !gone.closed || !other.closed {
		t.Errorf("Close: %v", err)
	}
}

func TestRunRefuses(t *testing.T) {
	lib, pairs := testPairs(t, 10)
	for _, c := range []struct {
		job  batch.Job
		o    Options
		want string
	}{
		{batch.Job{Input: pairs}, Options{}, "no library"},
		{batch.Job{Library: lib}, Options{}, "no input"},
		{batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.QueryCount}}, Options{},
			"not available yet"},
		{batch.Job{Library: lib, Input: &batch.Worlds{Shapes: []int32{0}, Poses: make([]float64, 8)}}, Options{},
			"multiple of 7"},
		{batch.Job{Library: lib, Input: &batch.Worlds{Shapes: []int32{0}, Poses: make([]float64, 7),
			TemplateA: []int32{0}, TemplateB: []int32{1}}}, Options{}, "template_b[0] = 1"},
		{batch.Job{Library: lib, Input: pairs}, Options{ChunkRows: -1}, "ChunkRows -1"},
		{batch.Job{Library: lib, Input: pairs}, Options{MaxRowErrors: -1}, "MaxRowErrors -1"},
	} {
		f := &fake{name: "a"}
		if _, err := New(f).Run(t.Context(), &c.job, c.o); err == nil || !strings.Contains(err.Error(), c.want) ||
			f.runs.Load() != 0 {
			t.Errorf("error %v, want %q and nothing run", err, c.want)
		}
	}
}

// TestProgressPanicLeavesNoAnswer: rows that are not settled when Progress panics are undecided, in new results as in
// old ones.
func TestProgressPanicLeavesNoAnswer(t *testing.T) {
	const n, chunk = 640, 64
	lib, pairs := testPairs(t, n)
	for _, r := range []*batch.Results{nil, used(n, &allColumns)} {
		job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Results: r}
		calls := 0
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			o := Options{ChunkRows: chunk, Progress: func(int, int) {
				if calls++; calls == 3 {
					panic("deliberate")
				}
			}}
			_, _ = New(&fake{name: "a"}).Run(t.Context(), job, o)
		}()
		checkRows(t, job.Results, pairs, 0, 3*chunk)
		checkUnanswered(t, job.Results, 3*chunk, n)
	}
}

// TestResultsOfRefusedJobs: results that a call allocated before it failed hold no answers.
func TestResultsOfRefusedJobs(t *testing.T) {
	lib, pairs := testPairs(t, 70)
	job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
	if _, err := New(&fake{name: "a", refuse: errDevice}).Run(t.Context(), job, Options{}); err == nil {
		t.Fatal("no error")
	}
	if job.Results == nil {
		t.Fatal("no results")
	}
	checkUnanswered(t, job.Results, 0, 70)
}

// Close waits for the calls in progress; a call that begins later fails and writes nothing.
func TestClose(t *testing.T) {
	lib, pairs := testPairs(t, 10)
	running, proceed := make(chan bool), make(chan bool)
	f := &fake{name: "cpu", device: batch.Device{Kind: batch.CPU}, at: func(i int) error {
		if i == 0 {
			running <- true
			<-proceed
		}
		return nil
	}}
	d := New(f)
	b, err := d.Hold(t.Context(), lib, pairs, batch.Options{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	job := &batch.Job{Library: lib, Input: pairs}
	answered := make(chan error)
	go func() {
		_, err := d.Run(context.Background(), job, Options{})
		answered <- err
	}()
	<-running
	closed := make(chan error)
	go func() { closed <- d.Close() }()
	select {
	case <-closed:
		t.Fatal("closed while a call was in progress")
	case <-time.After(20 * time.Millisecond):
	}
	close(proceed)
	if err := <-answered; err != nil {
		t.Errorf("the call in progress: %v", err)
	}
	if err := <-closed; err != nil || !f.closed {
		t.Errorf("closed %t, %v", f.closed, err)
	}
	checkRows(t, job.Results, pairs, 0, 10)

	if _, err := d.Run(t.Context(), &batch.Job{Library: lib, Input: pairs}, Options{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Run: %v", err)
	}
	if _, err := d.RunStream(t.Context(), lib, &slowSource{pairs: pairs}, batch.Options{}, &sink{},
		Options{}); !errors.Is(err, ErrClosed) {
		t.Errorf("RunStream: %v", err)
	}
	if _, err := d.Hold(t.Context(), lib, pairs, batch.Options{}, Options{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Hold: %v", err)
	}
	if _, _, err := b.Run(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Run of a held batch: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// TestOnePlan: a call of many chunks, with a failure and a second back end, asks each back end once for its plan and
// never for its table; so do the runs of a held batch, of a series and of a stream, together.
func TestOnePlan(t *testing.T) {
	lib, pairs := testPairs(t, 1000)
	first := &fake{name: "a", at: func(i int) error {
		if i == 500 {
			return errors.New("lost")
		}
		return nil
	}}
	second := &fake{name: "b"}
	d := New(first, second)
	o := batch.Options{Columns: batch.AllColumns | batch.ColBits}
	run := Options{ChunkRows: 64}
	for name, call := range map[string]func() error{
		"Run": func() error {
			_, err := d.Run(t.Context(), &batch.Job{Library: lib, Input: pairs}, run)
			return err
		},
		"Hold": func() error {
			b, err := d.Hold(t.Context(), lib, pairs, o, run)
			for range 3 {
				if err == nil {
					_, _, err = b.Run(t.Context())
				}
			}
			return err
		},
		"Series": func() error {
			s, err := d.Series(&o, run)
			for range 3 {
				if err == nil {
					job := &batch.Job{Library: lib, Input: pairs, Options: o, Results: batch.NewResults(1000, &o)}
					_, err = s.Run(t.Context(), job)
				}
			}
			return err
		},
		"RunStream": func() error {
			_, err := d.RunStream(t.Context(), lib, pairs, o, &sink{}, run)
			return err
		},
	} {
		for _, b := range []*fake{first, second} {
			b.plans.Store(0)
			b.tables.Store(0)
		}
		if err := call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, b := range []*fake{first, second} {
			if p, s := b.plans.Load(), b.tables.Load(); p != 1 || s != 0 {
				t.Errorf("%s: %d plans and %d tables of back end %s", name, p, s, b.name)
			}
		}
	}
}
