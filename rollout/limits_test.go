package rollout

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/rollout/sweep"
)

// limited runs a rollout with at most the given number of candidates in a block.
func limited(t *testing.T, bodies *batch.Bodies, w *batch.Worlds, o Options, most int64) (*Results, error) {
	t.Helper()
	b, err := newBatch(dispatcher(t), &Job{Bodies: bodies, Worlds: w, Options: o}, dispatch.Options{Backend: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	b.most = most
	r, _, err := b.Run(t.Context())
	return r, err
}

// TestManyCandidates: blocks never have more candidates than can be counted. Worlds are answered in smaller blocks,
// with the same answers, and a world that has too many by itself is an error that names it.
func TestManyCandidates(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	bodies := table(t, rng)
	template := scene(rng, bodies, 40, 6, 15, false)
	all := &batch.Worlds{M: template.M, Bodies: template.Bodies, Poses: template.Poses, AllPairs: true}
	for name, w := range map[string]*batch.Worlds{"template": template, "all pairs": all} {
		for _, o := range []Options{
			{NoCulling: true}, {MaxDistance: 1, HasMaxDistance: true}, {Reduce: ReduceWorld},
			{MaxDistance: 1, HasMaxDistance: true, Workers: 3},
		} {
			o.BlockPairs = math.MaxInt
			want, err := limited(t, bodies, w, o, maxCandidates)
			if err != nil {
				t.Fatal(err)
			}
			got, err := limited(t, bodies, w, o, 150)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got.N != want.N || !sameBits(got.Distance().F32, want.Distance().F32) || !sameBits(got.Gap(),
				want.Gap()) {
				t.Errorf("%s: other answers in blocks of at most 150 candidates", name)
			}
			_, err = limited(t, bodies, w, o, 0)
			var many *tooManyError
			if !errors.As(err, &many) || !strings.Contains(err.Error(), "world 0 has more than 0 pairs of parts") {
				t.Errorf("%s: %v, want an error that names world 0", name, err)
			}
		}
	}
}

// TestErrorsOfWorldWithManyCandidates: a call that ends since a world has too many candidates reports its bad poses.
func TestErrorsOfWorldWithManyCandidates(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	bodies := table(t, rng)
	w := scene(rng, bodies, 2, 6, 15, false)
	w.Poses[0] = math.NaN()
	b, err := newBatch(dispatcher(t), &Job{Bodies: bodies, Worlds: w, Options: Options{NoCulling: true}},
		dispatch.Options{Backend: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	b.most = 1
	_, report, err := b.Run(t.Context())
	if !isTooMany(err) || len(report.RowErrors) == 0 || report.RowErrors[0].World != 0 {
		t.Errorf("%v, with the errors %v", err, report.RowErrors)
	}
}

// cloud is a body of n balls of 1 cm within a meter.
func cloud(rng *rand.Rand, n int) (b batch.Body) {
	for range n {
		b.Parts = append(b.Parts, batch.Part{Pose: testkit.Pose(rng, 1)})
	}
	return b
}

// clouds is a world of two bodies of n balls.
func clouds(t *testing.T, n int) (*batch.Bodies, *batch.Worlds) {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.01}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(8, 9))
	first := cloud(rng, n)
	slices.SortFunc(first.Parts, func(a, b batch.Part) int { // the last one is the nearest
		return cmp.Compare(a.Pose.Position.X, b.Pose.Position.X)
	})
	bodies, err := batch.NewBodies(lib, []batch.Body{first, cloud(rng, n)})
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{Bodies: []int32{0, 1}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for _, x := range []float64{0, 4} {
		p := geom.Translate(x, 0, 0)
		w.Poses = appendPose(w.Poses, &p)
	}
	return bodies, w
}

// TestManyParts: two bodies of more pairs of parts than bounds are kept for.
func TestManyParts(t *testing.T) {
	bodies, w := clouds(t, 300)
	d := dispatcher(t)
	o := Options{Options: batch.Options{Precision: batch.Double}}
	got, rep := mustRun(t, d, bodies, w, o, "cpu")
	o.NoCulling = true
	want, _ := mustRun(t, d, bodies, w, o, "cpu")
	if rep.PartPairs != 300*300 || rep.PartPairs <= keptBounds || rep.Solved > rep.PartPairs/2 ||
		got.Distance().F64[0] != want.Distance().F64[0] || got.PartA[0] != want.PartA[0] ||
		got.PartB[0] != want.PartB[0] {
		t.Errorf("distance %g of parts %d and %d, %d of %d solved; want %g of parts %d and %d", got.Distance().F64[0],
			got.PartA[0], got.PartB[0], rep.Solved, rep.PartPairs, want.Distance().F64[0], want.PartA[0], want.PartB[0])
	}
}

// TestManyBadPoses: bodies with an invalid pose are in too many of all pairs to list.
func TestManyBadPoses(t *testing.T) {
	w := &batch.Worlds{AllPairs: true, Bodies: make([]int32, 30_000)}
	w.Poses = make([]float64, 7*len(w.Bodies)) // no rotation
	o := Options{MaxDistance: 1, HasMaxDistance: true}
	job := &Job{Bodies: bodiesOf(t, geom.Sphere{R: 1}), Worlds: w, Options: o}
	_, err := Run(t.Context(), dispatcher(t), job, dispatch.Options{Backend: "cpu"})
	if err == nil || !strings.Contains(err.Error(), "world 0: 30000 bodies with an invalid pose") {
		t.Error(err)
	}
}

// TestSweepOfTooManyParts: two bodies of more pairs of parts than a sweep takes are an error that names them.
func TestSweepOfTooManyParts(t *testing.T) {
	bodies, w := clouds(t, 8193)
	m := &batch.Motions{Bodies: w.Bodies, TemplateA: w.TemplateA, TemplateB: w.TemplateB}
	m.Poses = append(append(m.Poses, w.Poses...), w.Poses...)
	job := &SweepJob{Bodies: bodies, Motions: m, Options: sweep.Options{}}
	_, err := Sweep(t.Context(), dispatcher(t), job, dispatch.Options{Backend: "cpu"})
	if err == nil || !strings.Contains(err.Error(), "world 0, pair 0: bodies 0 and 1 have 67125249 pairs of parts") {
		t.Error(err)
	}
	if n := job.Results.N; n != 1 || sweep.State(job.Results.State[0]) != sweep.Undecided {
		t.Errorf("%d rows, %v", n, sweep.State(job.Results.State[0]))
	}
}
