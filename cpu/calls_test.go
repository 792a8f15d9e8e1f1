package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/internal/testkit/rowcheck"
	"clearance/kernels"
	"clearance/verify"
)

// unwritten is no code of a solver.
const unwritten = 0xee

// The method column is written in every row, by every path of every variant, and it
// changes no other column.
func TestMethodColumn(t *testing.T) {
	lib, pairs := mixed(t, size(4000), 31)
	n := pairs.Len()
	for _, variant := range append(kernels.Supported(), kernels.Off) {
		b, err := New(Options{Workers: 2, SIMD: variant})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		for m := range batch.MethodCount {
			for q := range batch.QueryCount {
				if !b.Serves().Has(&batch.Options{Query: q, Method: m}) {
					continue
				}
				for _, columns := range []batch.Columns{batch.AllColumns, batch.ColStatus} {
					t.Run(fmt.Sprintf("%s/%v/%v/%v", variant, m, q, columns), func(t *testing.T) {
						o := batch.Options{Query: q, Method: m, Columns: columns}
						without := solve(t, b, lib, pairs, o, 0)
						o.Columns |= batch.ColMethod
						job := &batch.Job{Library: lib, Input: pairs, Options: o, Results: batch.NewResults(n, &o)}
						for i := range job.Results.Method() {
							job.Results.Method()[i] = unwritten
						}
						if err := b.Run(context.Background(), job, 0, n, job.Results); err != nil {
							t.Fatal(err)
						}
						audit, err := verify.Audit(context.Background(), job, verify.Options{})
						if err != nil {
							t.Fatal(err)
						}
						if c := audit.Check("method"); c.Failed > 0 || c.Ran < n*9/10 ||
							audit.Check("invalid").Failed > 0 {
							t.Errorf("the audit of the methods: %+v, of invalid rows: %+v", c, audit.Check("invalid"))
						}
						for i, s := range job.Results.Method() {
							if s == unwritten {
								t.Fatalf("row %d has no method", i)
							}
						}
						for i := range n {
							if !rowcheck.Same(without, i, job.Results, i) {
								t.Fatalf("row %d has another answer with the column of the method", i)
							}
						}
					})
				}
			}
		}
	}
}

// Auto takes the closed form, the separating axes, or the fastest other solver of the pair. A call that names a
// method gets it.
func TestWhatAutoTakes(t *testing.T) {
	if len(kernels.Supported()) == 0 {
		t.Skip("no kernels: package ref has no formula but that of half-spaces")
	}
	lib, pairs := mixed(t, size(4000), 32)
	b := newBackend(t, 2)
	const apart, deep = 0, 1
	type key struct {
		a, b geom.Kind
		side int
	}
	taken := func(o batch.Options) map[key][batch.SolverCount]int {
		o.Columns = batch.FileColumns
		r := solve(t, b, lib, pairs, o, 0)
		got := map[key][batch.SolverCount]int{}
		for i, s := range r.Status() {
			if batch.Status(s) >= batch.Undecided {
				continue
			}
			x, y := lib.Shape(pairs.ShapeA[i]).Kind(), lib.Shape(pairs.ShapeB[i]).Kind()
			k := key{min(x, y), max(x, y), apart}
			if batch.Status(s) == batch.Penetrating {
				k.side = deep
			}
			counts := got[k]
			counts[r.Method()[i]]++
			got[k] = counts
		}
		return got
	}
	all := func(m batch.Method, q batch.Query, k key, want ...batch.Solver) {
		t.Helper()
		counts := taken(batch.Options{Method: m, Query: q})[k]
		sum, wanted := 0, 0
		for _, n := range counts {
			sum += n
		}
		for _, w := range want {
			wanted += counts[w]
		}
		if sum == 0 || wanted < sum*9/10 { // rows that a closed form does not decide go on
			t.Errorf("%v, %v of %v and %v: %v, want %v", m, q, k.a, k.b, counts, want)
		}
	}
	for _, side := range []int{apart, deep} {
		all(batch.Auto, batch.Distance, key{geom.KindSphere, geom.KindSphere, side}, batch.SolverClosedForm)
		all(batch.Auto, batch.Distance, key{geom.KindSphere, geom.KindCapsule, side}, batch.SolverClosedForm)
		all(batch.Auto, batch.Distance, key{geom.KindSphere, geom.KindBox, side}, batch.SolverClosedForm)
		all(batch.Auto, batch.Collide, key{geom.KindBox, geom.KindBox, side}, batch.SolverAxes)
		all(batch.GJK, batch.Collide, key{geom.KindBox, geom.KindBox, side}, batch.SolverGJK)
		for m := range batch.MethodCount {
			all(m, batch.Distance, key{geom.KindCone, geom.KindHalfspace, side}, batch.SolverClosedForm)
		}
	}
	all(batch.Auto, batch.Distance, key{geom.KindBox, geom.KindBox, apart}, batch.SolverNewton)
	all(batch.GJK, batch.Distance, key{geom.KindBox, geom.KindBox, apart}, batch.SolverGJK)
	all(batch.Auto, batch.Distance, key{geom.KindBox, geom.KindBox, deep}, batch.SolverAxes)
	all(batch.Auto, batch.Distance, key{geom.KindCylinder, geom.KindCone, apart}, batch.SolverNewton)
	all(batch.Auto, batch.Distance, key{geom.KindCapsule, geom.KindFrustum, apart}, batch.SolverNewton)
	all(batch.GJK, batch.Distance, key{geom.KindCylinder, geom.KindCone, apart}, batch.SolverGJK)
	all(batch.Auto, batch.Collide, key{geom.KindCylinder, geom.KindCone, apart}, batch.SolverGJK)
	all(batch.Auto, batch.Distance, key{geom.KindCylinder, geom.KindCone, deep}, batch.SolverEPA)
	all(batch.Auto, batch.Distance, key{geom.KindEllipsoid, geom.KindEllipsoid, apart}, batch.SolverNewton)
	// If the eroded cores are disjoint, the depth is computed as a distance.
	all(batch.Auto, batch.Distance, key{geom.KindEllipsoid, geom.KindEllipsoid, deep}, batch.SolverRTR,
		batch.SolverNewton)
	all(batch.GJK, batch.Distance, key{geom.KindEllipsoid, geom.KindEllipsoid, apart}, batch.SolverGJK)
	all(batch.GJK, batch.Distance, key{geom.KindSphere, geom.KindSphere, apart}, batch.SolverGJK)
	all(batch.Nesterov, batch.Distance, key{geom.KindCylinder, geom.KindCone, apart}, batch.SolverNesterov)
	all(batch.Polyak, batch.Distance, key{geom.KindEllipsoid, geom.KindEllipsoid, apart}, batch.SolverPolyak)
	all(batch.RTR, batch.Distance, key{geom.KindEllipsoid, geom.KindEllipsoid, apart}, batch.SolverRTR)
	all(batch.RTR, batch.Distance, key{geom.KindSphere, geom.KindEllipsoid, deep}, batch.SolverRTR)
	all(batch.RTR, batch.Distance, key{geom.KindCylinder, geom.KindCone, apart}, batch.SolverGJK)
}

// counted is a back end that does not count its rows: the dispatcher does.
type counted struct{ dispatch.Backend }

// countedReport answers pairs in chunks and returns the answers, and the report without times and parts of a call.
func countedReport(t *testing.T, b dispatch.Backend, lib *batch.Library, in batch.Input, o batch.Options,
	chunk int) (*batch.Results, string) {
	t.Helper()
	job := &batch.Job{Library: lib, Input: in, Options: o}
	rep, err := dispatch.New(b).Run(t.Context(), job, dispatch.Options{ChunkRows: chunk, MaxRowErrors: 5})
	if err != nil {
		t.Fatal(err)
	}
	rep.Wall, rep.Kernel, rep.Spans, rep.Shares, rep.Why, rep.Devices = 0, 0, nil, nil, "", nil
	text := ""
	for _, e := range rep.RowErrors {
		text += e.Error() + "; "
	}
	rep.RowErrors = nil
	return job.Results, fmt.Sprintf("%+v %s", rep, text)
}

// TestSameReports: 1, 2, 7 and 64 workers give the same bits and the same report in any chunks, and so does the
// dispatcher where it counts.
func TestSameReports(t *testing.T) {
	n := size(5000)
	lib, pairs := mixed(t, n, 11)
	for _, o := range []batch.Options{
		{Columns: everything}, {Columns: everything, Precision: batch.Double, HasCutOff: true, CutOff: 0.1},
		{Query: batch.Collide}, {Query: batch.Penetration},
	} {
		want, report := countedReport(t, counted{newBackend(t, 1)}, lib, pairs, o, n)
		for _, workers := range []int{1, 2, 7, 64} {
			b := newBackend(t, workers)
			for _, chunk := range []int{64, 1024, n} {
				got, rep := countedReport(t, b, lib, pairs, o, chunk)
				if rep != report {
					t.Fatalf("%v, %d workers, chunks of %d:\n%s, want\n%s", o.Query, workers, chunk, rep, report)
				}
				for i := range n {
					if !rowcheck.Same(want, i, got, i) {
						t.Fatalf("%v: row %d differs with %d workers, chunks of %d", o.Query, i, workers, chunk)
					}
				}
			}
		}
	}
}

// ending is a context that ends when it has been asked a number of times.
type ending struct {
	context.Context
	asked atomic.Int64
}

func (e *ending) Err() error {
	if e.asked.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterruptedCount: however early a call ends, rows have their answer or none, and the report counts what the
// columns hold. The results are the caller's, and held answers before.
func TestInterruptedCount(t *testing.T) {
	n := size(8000)
	lib, pairs := mixed(t, n, 12)
	o := batch.Options{Columns: batch.AllColumns | batch.ColMethod}
	whole := &batch.Job{Library: lib, Input: pairs, Options: o}
	if _, err := dispatch.New(newBackend(t, 2)).Run(t.Context(), whole, dispatch.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 7, 64} {
		stopped := false
		d := dispatch.New(newBackend(t, workers))
		for asked := 0; asked < 60; asked += 7 {
			job := &batch.Job{Library: lib, Input: pairs, Options: o, Results: batch.NewResults(n, &o)}
			for i := range n {
				job.Results.Put(i, &batch.Answer{Distance: 7, Lower: 7, Upper: 7})
			}
			e := &ending{Context: context.Background()}
			e.asked.Store(int64(asked))
			rep, err := d.Run(e, job, dispatch.Options{ChunkRows: n})
			stopped = stopped || err != nil
			var counts [batch.StatusCount]int
			for i, s := range job.Results.Status() {
				counts[s]++
				none := batch.Status(s) == batch.Undecided && math.IsNaN(job.Results.Distance().At(i)) &&
					math.IsInf(float64(job.Results.Gap()[i]), 1) && job.Results.Iterations()[i] == 0
				if !none && !rowcheck.Same(job.Results, i, whole.Results, i) {
					t.Fatalf("%d workers, %d asked: row %d is %v, %g", workers, asked, i, batch.Status(s),
						job.Results.Distance().At(i))
				}
			}
			if !reflect.DeepEqual(rep.Counts, counts) || rep.Rows != n || err == nil && rep.Done != n {
				t.Fatalf("%d workers, %d asked: report %+v of rows %v, error %v", workers, asked, rep, counts, err)
			}
		}
		if !stopped {
			t.Errorf("%d workers: no call was interrupted", workers)
		}
	}
}

// TestPanicLeavesNoAnswer: the chunk in which a worker panics has no answer, and no trace of the memory before.
func TestPanicLeavesNoAnswer(t *testing.T) {
	const n, at = 600, 300
	lib, pairs := hookedPairs(t, n, at, func() { panic("deliberate") })
	job := &batch.Job{Library: lib, Input: pairs}
	rep, err := dispatch.New(newBackend(t, 7)).Run(t.Context(), job, dispatch.Options{})
	if err == nil || rep.Done != 0 || rep.Counts[batch.Undecided] != n {
		t.Fatalf("report %+v, error %v", rep, err)
	}
	for i, s := range job.Results.Status() {
		if batch.Status(s) != batch.Undecided || !math.IsNaN(job.Results.Distance().At(i)) {
			t.Fatalf("row %d is %v, %g", i, batch.Status(s), job.Results.Distance().At(i))
		}
	}
}

// The kernels and the reference solvers keep the iteration limit: rows that reach it are undecided, with
// bounds that contain the exact value, and all others are correct. A limit that no row reaches changes no bit.
func TestIterationCap(t *testing.T) {
	n := size(1200)
	type input struct {
		lib   *batch.Library
		pairs *batch.Pairs
	}
	sets := map[string]input{}
	for _, set := range []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull32"} {
		lib, pairs := draw(t, set, n)
		sets[set] = input{lib, pairs}
	}
	for _, set := range powerSets {
		lib, pairs := drawPowers(t, set.shape, n/4)
		sets[set.name] = input{lib, pairs}
	}
	for set, in := range sets {
		lib, pairs, n := in.lib, in.pairs, in.pairs.Len()
		truth := solve(t, newVariant(t, variants(t)[0], 2), lib, pairs, batch.Options{Precision: batch.Double,
			Columns: everything}, 0)
		for _, variant := range variants(t) {
			for _, o := range []batch.Options{{}, {Precision: batch.Double}, {Query: batch.Penetration},
				{Query: batch.Collide}, {Method: batch.RTR}} {
				o.Columns = everything
				free := solve(t, newVariant(t, variant, 2), lib, pairs, o, 0)
				last := n + 1
				for _, steps := range []int{1, 2, 4, 8, 40, 300, 5000} {
					o.MaxIterations = steps
					b := newVariant(t, variant, 2)
					r := solve(t, b, lib, pairs, o, 0)
					rep, err := verify.Audit(context.Background(), &batch.Job{Library: lib, Input: pairs, Options: o,
						Results: r}, verify.Options{})
					if err != nil {
						t.Fatal(err)
					}
					if rep.WrongRows != 0 {
						rep.WriteText(os.Stderr)
						t.Errorf("%s, %s, %v, %v, at most %d: %d wrong rows", set, variant, o.Query, o.Precision, steps,
							rep.WrongRows)
					}
					if rep.Status.Undecided > last || steps == 2 && o.Query == batch.Distance &&
						rep.Status.Undecided == 0 {
						t.Errorf("%s, %s, %v, %v: %d rows undecided after at most %d steps, %d before", set, variant,
							o.Query, o.Precision, rep.Status.Undecided, steps, last)
					}
					if last = rep.Status.Undecided; steps == 1 {
						last = n // by the reference solvers alone
					}
					over := 0
					for i := range n {
						if steps > 1 && int(r.Iterations()[i]) > steps {
							over++
						}
						if off := math.Abs(r.Distance().At(i) - truth.Distance().At(i)); o.Query == batch.Distance &&
							!(off <= float64(r.Gap()[i])+float64(truth.Gap()[i])) {
							t.Fatalf("%s, %s, at most %d: row %d is off by %v, gap %v", set, variant, steps, i, off,
								r.Gap()[i])
						}
						// It may raise the default of a reference solver, which is 100 for RTR.
						if steps == 5000 && free.Iterations()[i] < 100 && !rowcheck.Same(free, i, r, i) {
							t.Fatalf("%s, %s, %v, %v, row %d: a cap that is not reached changes the answer: %v ± %v "+
								"in %d steps by %v, was %v ± %v in %d by %v", set, variant, o.Query, o.Precision, i,
								r.Distance().At(i), r.Gap()[i], r.Iterations()[i], batch.Solver(r.Method()[i]),
								free.Distance().At(i), free.Gap()[i], free.Iterations()[i],
								batch.Solver(free.Method()[i]))
						}
					}
					// The reference solvers, which answer declined rows, add the iterations of several solvers.
					kernels, left := b.RowsBy()
					if over > int(left) {
						t.Errorf("%s, %s, %v: %d rows took more than %d steps, and %d were left", set, variant, o.Query,
							over, steps, left)
					}
					if steps > 1 && o.Query == batch.Distance && o.Method == batch.Auto && kernels < int64(n)/3 {
						t.Errorf("%s, %s, at most %d: the kernels answered %d of %d rows", set, variant, steps, kernels,
							n)
					}
				}
			}
		}
	}
}

// slowRows are rows of which each takes the reference solvers some milliseconds: sharp
// superquadrics, deep in one another.
func slowRows(t *testing.T, n int) *batch.Job {
	t.Helper()
	s := geom.Superquadric{SemiAxes: r3.Vec{X: 1, Y: 1.2, Z: 0.9}, Alpha1: 0.1, Alpha2: 1.9}
	lib, err := batch.NewLibrary([]geom.Shape{s}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := batch.NewPairs(n)
	for i := range n {
		at := geom.IdentityPose()
		at.Position.X = 0.1 + 1e-6*float64(i)
		p.SetRow(i, &batch.Row{PoseA: geom.IdentityPose(), PoseB: at})
	}
	return &batch.Job{Library: lib, Input: p, Options: batch.Options{Precision: batch.Double}}
}

// countdown is a context that ends after a number of calls of Err.
type countdown struct {
	context.Context
	looks int
}

func (c *countdown) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterruptedBetweenRows: the reference solvers check the context before every row.
func TestInterruptedBetweenRows(t *testing.T) {
	const n = 512
	job := slowRows(t, n)
	out := batch.NewResults(n, &job.Options)
	b := NewReference()
	defer b.Close()
	err := b.Run(&countdown{Context: context.Background(), looks: 5}, job, 0, n, out)
	if err != context.Canceled {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	answered := 0
	for _, s := range out.Status() {
		if batch.Status(s) != batch.Undecided {
			answered++
		}
	}
	if answered > 5 {
		t.Errorf("%d rows answered after the context had ended,", answered)
	}
}

// TestInterruptedBetweenRowsOfLargeHulls: of hulls with many vertices the kernels answer a few rows between two checks
// at the context.
func TestInterruptedBetweenRowsOfLargeHulls(t *testing.T) {
	if len(kernels.Supported()) == 0 {
		t.Skip("there are no kernels")
	}
	rng := rand.New(rand.NewPCG(1, 9))
	lib, err := batch.NewLibrary([]geom.Shape{geom.WithMargin(testkit.Hull(rng, r3.Vec{X: 1, Y: 1, Z: 1}, 10_000),
		0.1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if work := RowWork(lib); work < 100 || work > 200 {
		t.Errorf("a row of hulls with 10,000 vertices counts as %d", work)
	}
	const rows = 256
	pairs := batch.NewPairs(rows)
	for i := range rows {
		at := geom.Translate(3+float64(i), 0, 0)
		pairs.SetRow(i, &batch.Row{PoseA: geom.IdentityPose(), PoseB: at})
	}
	job := &batch.Job{Library: lib, Input: pairs}
	out := batch.NewResults(rows, &job.Options)
	b := newBackend(t, 1)
	err = b.Run(&countdown{Context: t.Context(), looks: 5}, job, 0, rows, out)
	if err != context.Canceled {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	answered := 0
	for _, s := range out.Status() {
		if batch.Status(s) != batch.Undecided {
			answered++
		}
	}
	if answered == 0 || answered > 4*minKernelRows {
		t.Errorf("%d rows answered, want some of the first %d", answered, 4*minKernelRows)
	}
}

// TestInterruptedBetweenDeclinedRows: so they do between the rows that the kernels decline.
func TestInterruptedBetweenDeclinedRows(t *testing.T) {
	if len(kernels.Supported()) == 0 {
		t.Skip("there are no kernels")
	}
	lib, pairs := mixed(t, 200, 1)
	for i := range pairs.Len() {
		pairs.PositionB[3*i] = math.Inf(1) // invalid, which is for the reference solvers to say
	}
	job := &batch.Job{Library: lib, Input: pairs}
	out := batch.NewResults(200, &job.Options)
	b := newBackend(t, 1)
	err := b.Run(&countdown{Context: t.Context(), looks: 5}, job, 0, 200, out)
	if err != context.Canceled {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	written := 0
	for _, s := range out.Status() {
		if batch.Status(s) == batch.Invalid {
			written++
		}
	}
	if written == 0 || written > 5 {
		t.Errorf("%d rows ended, want some of the first 5", written)
	}
}

// Close waits for the calls in progress, and later ones fail as they do on a device.
func TestClose(t *testing.T) {
	for _, b := range []*Backend{newBackend(t, 2), NewReference()} {
		lib, pairs := mixed(t, 100, 1)
		job := &batch.Job{Library: lib, Input: pairs}
		job.Results = batch.NewResults(100, &job.Options)
		running, proceed := make(chan bool), make(chan bool)
		busy := *job
		busy.Input = held{job.Input, running, proceed}
		answered, closed := make(chan error, 1), make(chan error, 1)
		go func() { answered <- b.Run(t.Context(), &busy, 0, 100, busy.Results) }()
		<-running
		go func() { closed <- b.Close() }()
		select {
		case <-closed:
			t.Errorf("%s: closed while a call was in progress", b.Name())
		case <-time.After(20 * time.Millisecond):
		}
		close(proceed)
		if err := errors.Join(<-answered, <-closed); err != nil {
			t.Errorf("%s: %v", b.Name(), err)
		}
		if err := b.Run(t.Context(), job, 0, 100, job.Results); !errors.Is(err, batch.ErrClosed) {
			t.Errorf("%s: after Close: %v", b.Name(), err)
		}
		if err := b.Close(); err != nil {
			t.Errorf("%s: closed twice: %v", b.Name(), err)
		}
	}
}

// held is an input whose first row waits.
type held struct {
	batch.Input
	running, proceed chan bool
}

func (h held) Row(i int, r *batch.Row) {
	if i == 0 {
		h.running <- true
		<-h.proceed
	}
	h.Input.Row(i, r)
}

// A call that the back end does not support, or without rows, ends before any worker begins; the context of a call
// without rows is checked all the same.
func TestCallsWithoutWork(t *testing.T) {
	for _, b := range []*Backend{newBackend(t, 2), NewReference()} {
		lib, pairs := mixed(t, 10, 1)
		job := &batch.Job{Library: lib, Input: pairs}
		out := batch.NewResults(10, &job.Options)
		bad := *job
		bad.Options.Tolerance = -1
		if err := b.Run(t.Context(), &bad, 0, 10, out); err == nil || !strings.Contains(err.Error(), "tolerance") {
			t.Errorf("%s: a negative tolerance: %v", b.Name(), err)
		}
		if err := b.Run(t.Context(), job, 5, 5, out.Slice(5, 5)); err != nil {
			t.Errorf("%s: no rows: %v", b.Name(), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Run(ctx, job, 5, 5, out.Slice(5, 5)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: no rows of a context that has ended: %v", b.Name(), err)
		}
		if kernels, reference := b.RowsBy(); kernels+reference != 0 {
			t.Errorf("%s: %d rows answered", b.Name(), kernels+reference)
		}
	}
}

// TestPiecesBesideABusyCore: two workers, of which one has half of a core, would end the rows of a call 1.3 times as
// early as one (1.5 is the most), and never later; where there are many rows, 1.4 times.
func TestPiecesBesideABusyCore(t *testing.T) {
	for _, c := range []struct {
		rows  int
		least float64
	}{{1000, 1}, {4096, 1.3}, {1 << 14, 1.4}, {minChunkRows, 1.4}, {1 << 18, 1.4}} {
		rows := blockRows(c.rows, 2)
		pieces := (c.rows + rows - 1) / rows
		if gain := testkit.Gain(pieces, 1, 0.5); gain < c.least {
			t.Errorf("%d rows in %d blocks of %d: a gain of %.2f, want %.1f", c.rows, pieces, rows, gain, c.least)
		}
	}
}
