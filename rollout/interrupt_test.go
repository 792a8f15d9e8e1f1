package rollout

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/fault"
	"clearance/rollout/sweep"
)

// counting is a context that counts the checks of it and ends after a number of them.
type counting struct {
	context.Context
	checks, ends atomic.Int64
}

func (c *counting) Err() error {
	if c.checks.Add(1) > c.ends.Load() {
		return context.Canceled
	}
	return nil
}

func countingTo(ends int64) *counting {
	c := &counting{Context: context.Background()}
	c.ends.Store(ends)
	return c
}

// ballsOf returns two bodies of n balls in a cube.
func ballsOf(t *testing.T, n int) *batch.Bodies {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1e-4}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := batch.NewBodies(lib, []batch.Body{cloud(rand.New(rand.NewPCG(3, 4)), n),
		cloud(rand.New(rand.NewPCG(5, 6)), n)})
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

// TestCullingChecksTheContext: the number of checks grows with the pairs of parts that are compared, and no pair is
// compared after a check of a context that has ended.
func TestCullingChecksTheContext(t *testing.T) {
	d := dispatcher(t)
	const parts = 1500
	bodies := ballsOf(t, parts)
	a, b := geom.IdentityPose(), geom.Translate(0.01, 0.02, 0.03)
	for name, w := range map[string]*batch.Worlds{
		"template":  {Bodies: []int32{0, 1}, TemplateA: []int32{0}, TemplateB: []int32{1}},
		"all pairs": {Bodies: []int32{0, 1}, AllPairs: true},
	} {
		w.Poses = appendPose(appendPose(nil, &a), &b)
		o := Options{MaxDistance: 1e-4, HasMaxDistance: true, Workers: 1}
		whole := countingTo(math.MaxInt64)
		job := &Job{Bodies: bodies, Worlds: w, Options: o}
		if _, err := Run(whole, d, job, dispatch.Options{Backend: "cpu"}); err != nil {
			t.Fatal(err)
		}
		// Bounds are computed in two passes over the pairs.
		if checks, want := whole.checks.Load(), int64(2*parts*parts/pairsPerCheck); checks < want {
			t.Errorf("%s: %d checks for %d pairs of parts, want at least %d", name, checks, parts*parts, want)
		}
		short := countingTo(20)
		_, err := Run(short, d, &Job{Bodies: bodies, Worlds: w, Options: o}, dispatch.Options{Backend: "cpu"})
		if !errors.Is(err, context.Canceled) || short.checks.Load() > 24 {
			t.Errorf("%s: error %v after %d checks of a context that ends after 20", name, err, short.checks.Load())
		}
	}
}

// TestFoldingChecksTheContext: combining the answers of a block, which is the last pass over it, checks the context
// after a number of candidates, within a row as well, and stores no row after a check of one that has ended.
func TestFoldingChecksTheContext(t *testing.T) {
	d := dispatcher(t)
	const parts = 600
	bodies := ballsOf(t, parts)
	two := &batch.Worlds{Bodies: []int32{0, 1}, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 0}}
	a, b := geom.IdentityPose(), geom.Translate(0.01, 0.02, 0.03)
	two.Poses = appendPose(appendPose(nil, &a), &b)
	all := &batch.Worlds{Bodies: two.Bodies, Poses: two.Poses, AllPairs: true}
	for name, w := range map[string]*batch.Worlds{"template": two, "all pairs": all} {
		o := Options{MaxDistance: 9, HasMaxDistance: true, NoCulling: true, Workers: 1}
		o.Columns = batch.ColDistance | batch.ColStatus
		held, err := Hold(d, bodies, w, o, dispatch.Options{Backend: "cpu"})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := held.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		tile := held.tiles[0]
		fold := func(ends int64) *counting {
			c := countingTo(ends)
			held.ctx, tile.err, tile.unseen = c, nil, 0
			tile.fold(held.answers)
			return c
		}
		if checks := fold(math.MaxInt64).checks.Load(); checks < parts*parts/pairsPerCheck || tile.err != nil {
			t.Errorf("%s: %d checks for %d candidates, error %v", name, checks, parts*parts, tile.err)
		}
		for i := range held.results.N {
			held.results.PartA[i] = -7
		}
		if checks := fold(1).checks.Load(); checks != 2 || !errors.Is(tile.err, context.Canceled) {
			t.Errorf("%s: %d checks of a context that ends after one, error %v", name, checks, tile.err)
		}
		if held.results.PartA[0] != -7 {
			t.Errorf("%s: a row was stored after the context had ended", name)
		}
	}
}

// TestInterruptKeepsUnreached: a call that is told so stores nothing but the status of rows that it did not reach, as
// their columns would take longer to write than a user waits; rows before stay answered.
func TestInterruptKeepsUnreached(t *testing.T) {
	d := dispatcher(t)
	bodies := ballsOf(t, 10)
	w := &batch.Worlds{Bodies: []int32{0, 1}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for i := range 50 {
		a, b := geom.IdentityPose(), geom.Translate(2+float64(i), 0, 0)
		w.Poses = appendPose(appendPose(w.Poses, &a), &b)
	}
	for _, keep := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		o := Options{BlockPairs: 100, Workers: 1}
		run := dispatch.Options{Backend: "cpu", KeepUnreached: keep, Progress: func(done, _ int) {
			if done == 10 {
				cancel()
			}
		}}
		results := NewResults(50, &o)
		for i := range results.N {
			results.PartA[i] = -7
		}
		_, err := Run(ctx, d, &Job{Bodies: bodies, Worlds: w, Options: o, Results: results}, run)
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		for i, s := range results.Status() {
			status, part := batch.Separated, results.PartA[i] >= 0
			if i >= 10 {
				status, part = batch.Undecided, results.PartA[i] == map[bool]int32{false: -1, true: -7}[keep]
			}
			if batch.Status(s) != status || !part {
				t.Errorf("keep %v, row %d: status %d, part %d", keep, i, s, results.PartA[i])
			}
		}
	}
}

// TestSweepsCheckTheContext: pairs of parts that bounds rule out are counted, too.
func TestSweepsCheckTheContext(t *testing.T) {
	d := dispatcher(t)
	bodies := ballsOf(t, 300)
	m := &batch.Motions{Bodies: []int32{0, 1}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for _, x := range []float64{0, 0.1, 0.2, 0.3} {
		p := geom.Translate(x, 0, 0)
		m.Poses = appendPose(m.Poses, &p)
	}
	o := sweep.Options{MaxDistance: 1e-9, HasMaxDistance: true, Workers: 1}
	whole := countingTo(math.MaxInt64)
	if _, err := Sweep(whole, d, &SweepJob{Bodies: bodies, Motions: m, Options: o}, dispatch.Options{}); err != nil {
		t.Fatal(err)
	}
	if checks := whole.checks.Load(); checks < 300*300/sweep.ActiveRows {
		t.Errorf("%d checks for %d pairs of parts", checks, 300*300)
	}
	short := countingTo(3)
	_, err := Sweep(short, d, &SweepJob{Bodies: bodies, Motions: m, Options: o}, dispatch.Options{})
	if !errors.Is(err, context.Canceled) || short.checks.Load() > 6 {
		t.Errorf("error %v after %d checks of a context that ends after 3", err, short.checks.Load())
	}
}

// TestSweepCullingChecksTheContext: comparing bodies looks at the context after each piece, and compares none once that
// has ended.
func TestSweepCullingChecksTheContext(t *testing.T) {
	d := dispatcher(t)
	bodies, m := sweptArm(t, 200, 10, 8)
	for _, workers := range []int{1, 2} {
		o := sweep.Options{MaxDistance: 0.05, HasMaxDistance: true, Workers: workers}
		s := newSweeper(&SweepJob{Bodies: bodies, Motions: m, Options: o}, dispatch.Options{})
		if _, err := s.open(d, dispatch.Options{Backend: "cpu"}, 0); err != nil {
			t.Fatal(err)
		}
		whole := countingTo(math.MaxInt64)
		if err := s.culler.run(whole, 0, m.Count()); err != nil {
			t.Fatal(err)
		}
		if checks, want := whole.checks.Load(), int64(m.Len()*m.WayPoints()/pieceWork); checks < want {
			t.Errorf("%d workers: %d checks, want at least %d", workers, checks, want)
		}
		short := countingTo(1)
		if err := s.culler.run(short, 0, m.Count()); !errors.Is(err, context.Canceled) {
			t.Errorf("%d workers: error %v of a context that ended", workers, err)
		}
		legs := s.culler.legs.Load()
		if err := s.culler.run(countingTo(0), 0, m.Count()); err == nil || s.culler.legs.Load() != legs {
			t.Errorf("%d workers: error %v, bodies were compared after the context had ended", workers, err)
		}
	}
}

// TestPanicOfAWorker: a panic in a tile is the error of the call, whichever worker takes the tile. Worlds of earlier
// blocks have their answers, the others are Undecided, and the batch answers the next call.
func TestPanicOfAWorker(t *testing.T) {
	d := dispatcher(t)
	bodies, worlds := arm(t, 64)
	want := statusesOf(t, d, bodies, worlds)
	const block = 16 // worlds
	o := Options{BlockPairs: block * len(worlds.TemplateA), Workers: 3}
	held, err := Hold(d, bodies, worlds, o, dispatch.Options{Backend: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*func(worker, tile int){"cull": &held.cullTile, "fold": &held.foldTile} {
		whole := *f
		*f = func(worker, tile int) {
			if held.tiles[tile].lo >= block {
				panic("lost")
			}
			whole(worker, tile)
		}
		out, _, err := held.Run(t.Context())
		var p *fault.Panic
		if !errors.As(err, &p) || p.Value != "lost" {
			t.Fatalf("%s: error %v, want the panic", name, err)
		}
		first := held.report.Done
		if first == 0 || first == len(want) {
			t.Fatalf("%s: %d of %d rows answered", name, first, len(want))
		}
		for i, s := range out.Status() {
			if i < first && s != want[i] || i >= first && s != uint8(batch.Undecided) {
				t.Fatalf("%s: row %d of %d answered has status %v, want %v", name, i, first, s, want[i])
			}
		}
		*f = whole
		if out, _, err = held.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, s := range out.Status() {
			if s != want[i] {
				t.Fatalf("%s, the next run: row %d has status %v, want %v", name, i, s, want[i])
			}
		}
	}
}

func statusesOf(t *testing.T, d *dispatch.Dispatcher, bodies *batch.Bodies, worlds *batch.Worlds) []uint8 {
	t.Helper()
	job := &Job{Bodies: bodies, Worlds: worlds}
	if _, err := Run(t.Context(), d, job, dispatch.Options{Backend: "cpu"}); err != nil {
		t.Fatal(err)
	}
	return job.Results.Status()
}

// TestPanicOfASweep: a panic of a worker is the error of the sweep.
func TestPanicOfASweep(t *testing.T) {
	d := dispatcher(t)
	bodies, m := sweptArm(t, 20, 10, 8)
	s := newSweeper(&SweepJob{Bodies: bodies, Motions: m, Options: sweep.Options{Workers: 2}}, dispatch.Options{})
	if _, err := s.open(d, dispatch.Options{Backend: "cpu"}, 0); err != nil {
		t.Fatal(err)
	}
	s.runner = new(sweep.Runner)
	s.culler.place = func(int, int) { panic("lost") }
	if err := s.run(t.Context()); !errors.As(err, new(*fault.Panic)) {
		t.Errorf("error %v, want the panic", err)
	}
	s.failUnreached()
	for row, state := range s.out.State {
		if state != uint8(sweep.Undecided) {
			t.Fatalf("row %d has state %d", row, state)
		}
	}
}
