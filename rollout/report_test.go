package rollout

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/rollout/sweep"
)

// priced is the back end cpu under another name, with an estimate of its own.
type priced struct {
	*cpu.Backend
	name      string
	call, row time.Duration
	runs      atomic.Int64
}

func (p *priced) Name() string { return p.name }

func (p *priced) Estimate(rows int, _ *batch.Options) time.Duration {
	return p.call + time.Duration(rows)*p.row
}

func (p *priced) RunCounted(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results,
	count *batch.Count) error {
	p.runs.Add(1)
	return p.Backend.RunCounted(ctx, job, lo, hi, out, count)
}

// fewAndMany returns back ends of which one is estimated to be faster for less, the other for more than 1,000 rows.
func fewAndMany(t *testing.T) (d *dispatch.Dispatcher, few, many *priced) {
	t.Helper()
	var list [2]*priced
	for i := range list {
		c, err := cpu.New(cpu.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list[i] = &priced{Backend: c, name: []string{"few", "many"}[i]}
	}
	few, many = list[0], list[1]
	few.row, many.call = time.Microsecond, time.Millisecond
	d = dispatch.New(few, many)
	t.Cleanup(func() { d.Close() })
	return d, few, many
}

// TestOneBackendOfASweep: a sweep has one back end, by the most rows of its calls, not another one in each round.
func TestOneBackendOfASweep(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 8))
	bodies := table(t, rng)
	for _, c := range []struct {
		worlds int
		want   string
	}{{2, "few"}, {200, "many"}} {
		d, few, many := fewAndMany(t)
		_, rep := mustSweep(t, d, bodies, paths(rng, bodies, c.worlds, 10, 2, 14), sweep.Options{}, "")
		if rep.Backend != c.want || (few.runs.Load() > 0) != (c.want == "few") ||
			(many.runs.Load() > 0) != (c.want == "many") {
			t.Errorf("%d worlds: reported %s, %d calls of few and %d of many, want all of %s", c.worlds, rep.Backend,
				few.runs.Load(), many.runs.Load(), c.want)
		}
	}
}

// TestBackendOfAllPairs: all pairs are estimated by their number, not as one row.
func TestBackendOfAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	bodies := table(t, rng)
	for _, c := range []struct {
		m    int
		o    Options
		want string
	}{
		{4, Options{}, "few"},
		{60, Options{}, "many"}, // 1770 pairs of bodies, none of which is ruled out
		{300, Options{MaxDistance: 0.1, HasMaxDistance: true}, "many"},
	} {
		d, _, _ := fewAndMany(t)
		w := crowd(rng, bodies, 1, c.m, 4)
		if _, rep := mustRun(t, d, bodies, w, c.o, ""); rep.Backend != c.want {
			t.Errorf("%d bodies: %s, want %s", c.m, rep.Backend, c.want)
		}
	}
}

// TestBackendOfNothing: the report names the selected back end where bounds answer everything, and where there is
// nothing to answer.
func TestBackendOfNothing(t *testing.T) {
	bodies, d := bodiesOf(t, geom.Sphere{R: 0.1}), dispatcher(t)
	w := inRow([]int32{0, 0, 0}, 10)
	o := Options{MaxDistance: 1, HasMaxDistance: true}
	for _, w := range []*batch.Worlds{w, templates(w), {}} {
		if _, rep := mustRun(t, d, bodies, w, o, ""); rep.Backend != "cpu" || rep.Why == "" || rep.Solved != 0 {
			t.Errorf("back end %q (%q), %d solved", rep.Backend, rep.Why, rep.Solved)
		}
	}
	m := &batch.Motions{Bodies: []int32{0, batch.Absent}, TemplateA: []int32{0}, TemplateB: []int32{1},
		Poses: w.Poses[:14]}
	m.Poses = append(append([]float64{}, m.Poses...), m.Poses...)
	if _, rep := mustSweep(t, d, bodies, m, sweep.Options{}, ""); rep.Backend != "cpu" {
		t.Errorf("a sweep of an absent body: back end %q", rep.Backend)
	}
}

// TestRowErrorsInOrder: the report lists bad input by world, its poses before its pairs, whatever the blocks and the
// workers are.
func TestRowErrorsInOrder(t *testing.T) {
	bodies, d := bodiesOf(t, geom.Halfspace{}, geom.Sphere{R: 0.1}), dispatcher(t)
	w := &batch.Worlds{Bodies: []int32{0, 0, 1, 1}, TemplateA: []int32{0, 1, 0}, TemplateB: []int32{2, 0, 3}}
	for world := range 12 { // a pair of half-spaces each, bad poses in every third
		for k := range 4 {
			p := geom.Translate(0, float64(k), 0)
			if world%3 == 2 && k >= 2 {
				p.Position.X = math.NaN()
			}
			w.Poses = appendPose(w.Poses, &p)
		}
	}
	var all []string
	for world := range 12 {
		if world%3 == 2 {
			all = append(all, fmt.Sprint(world, 2, -1), fmt.Sprint(world, 3, -1))
		}
		all = append(all, fmt.Sprint(world, -1, 1))
	}
	for _, most := range []int{3, 7, 100} {
		for _, blocks := range []int{1, 5, 1000} {
			for _, workers := range []int{1, 3} {
				job := &Job{Bodies: bodies, Worlds: w, Options: Options{BlockPairs: blocks, Workers: workers}}
				rep, err := Run(t.Context(), d, job, dispatch.Options{MaxRowErrors: most})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, e := range rep.RowErrors {
					got = append(got, fmt.Sprint(e.World, e.Body, e.Pair))
				}
				if want := all[:min(most, len(all))]; fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("at most %d, blocks of %d, %d workers: %q, want %q", most, blocks, workers, got, want)
				}
			}
		}
	}
}

// TestManyEvaluations: the number of evaluations of a row stays at the largest one that the column can hold.
func TestManyEvaluations(t *testing.T) {
	bodies := bodiesOf(t, geom.Sphere{R: 1})
	m := &batch.Motions{Bodies: []int32{0, 0}, TemplateA: []int32{0}, TemplateB: []int32{1}, Poses: make([]float64, 28)}
	s := &sweeper{bodies: bodies, motions: m, out: batch.NewSweepResults(1)}
	var count sweepCount
	for range 3 {
		s.fold(0, []sweep.Answer{{State: sweep.Free, Evaluations: math.MaxInt32 - 5, T0: 1}}, &count)
	}
	if n := s.out.Evaluations[0]; n != math.MaxInt32 || count.evaluations != 3*(math.MaxInt32-5) {
		t.Errorf("%d evaluations, %d counted", n, count.evaluations)
	}
}
