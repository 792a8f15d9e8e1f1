package rollout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/rollout/broadphase"
	"clearance/rollout/sweep"
	"clearance/tests/need"
)

// crowd returns worlds of all pairs: bodies of the table in a cube, one of them the ground, some absent.
func crowd(rng *rand.Rand, bodies *batch.Bodies, worlds, m int, side float64) *batch.Worlds {
	w := &batch.Worlds{M: m, AllPairs: true}
	ground := int32(bodies.Len() - 1)
	for range worlds {
		for k := range m {
			b, p := rng.Int32N(ground), testkit.Pose(rng, side/2)
			switch {
			case k == 3:
				b, p = ground, geom.Rotate(testkit.Unit(rng), 0.1)
			case rng.IntN(15) == 0:
				b = batch.Absent
			}
			w.Bodies = append(w.Bodies, b)
			w.Poses = appendPose(w.Poses, &p)
		}
	}
	for range m / 4 {
		if a, b := rng.Int32N(int32(m)), rng.Int32N(int32(m)); a != b {
			w.SkipA, w.SkipB = append(w.SkipA, a), append(w.SkipB, b)
		}
	}
	return w
}

// templates returns the same worlds with a template of all pairs that are not skipped.
func templates(w *batch.Worlds) *batch.Worlds {
	d := *w
	d.AllPairs, d.SkipA, d.SkipB = false, nil, nil
	skip := map[uint64]bool{}
	for i, a := range w.SkipA {
		skip[pairKey(a, w.SkipB[i])] = true
	}
	for a := range int32(w.BodiesPerWorld()) {
		for b := a + 1; b < int32(w.BodiesPerWorld()); b++ {
			if !skip[pairKey(a, b)] {
				d.TemplateA, d.TemplateB = append(d.TemplateA, a), append(d.TemplateB, b)
			}
		}
	}
	return &d
}

func mustRun(t testing.TB, d *dispatch.Dispatcher, bodies *batch.Bodies, w *batch.Worlds, o Options, backend string) (
	*Results, Report) {
	t.Helper()
	job := &Job{Bodies: bodies, Worlds: w, Options: o}
	rep, err := Run(context.Background(), d, job, dispatch.Options{Backend: backend})
	if err != nil {
		t.Fatal(err)
	}
	return job.Results, rep
}

// queriesOfAll are queries of all pairs, with the largest distance.
func queriesOfAll() []Options {
	distance := func(p batch.Precision, d float64) Options {
		return Options{Options: batch.Options{Precision: p, Columns: batch.FileColumns}, MaxDistance: d,
			HasMaxDistance: true}
	}
	return []Options{
		distance(batch.Single, 0.05), distance(batch.Double, 0.3), distance(batch.Single, 0),
		distance(batch.Double, 40),
		{Options: batch.Options{Query: batch.Collide}},
		{Options: batch.Options{Query: batch.Collide, Columns: batch.FileColumns | batch.ColBits}},
		{Options: batch.Options{Query: batch.Penetration, Columns: batch.FileColumns}},
		{Options: batch.Options{Query: batch.Growth, Columns: batch.ColDistance | batch.ColGap | batch.ColStatus}},
		{Options: batch.Options{Columns: batch.FileColumns}},
	}
}

// TestAllPairs compares the rows of all pairs with those of a template of every pair without any culling: none that
// is in contact or below the largest distance may be missing, and the answers must agree.
func TestAllPairs(t *testing.T) {
	d := dispatcher(t)
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for _, backend := range []string{"cpu", "ref"} {
		for q, o := range queriesOfAll() {
			for round := range rounds {
				rng := rand.New(rand.NewPCG(uint64(q), uint64(round)))
				bodies := table(t, rng)
				m := 5 + rng.IntN(20)
				if backend == "ref" && round > 1 {
					break
				}
				side := 1 + 2*rng.Float64()
				if round%3 == 2 { // most pairs are about as far from one another as the largest distance
					m, side = 60, 5
				}
				w := crowd(rng, bodies, 1+rng.IntN(6), m, side)
				o.Workers, o.BlockPairs = 1+round%3, []int{0, 1, 700}[round%3]
				got, rep := mustRun(t, d, bodies, w, o, backend)
				o.NoCulling = true
				want, _ := mustRun(t, d, bodies, templates(w), o, backend)
				compareSparse(t, fmt.Sprintf("%s, %v, round %d", backend, o.Query, round), w, &o, got, want)
				if n := rep.Counts[batch.Separated] + rep.Counts[batch.Touching] + rep.Counts[batch.Penetrating] +
					rep.Counts[batch.Undecided] + rep.Counts[batch.Invalid]; n != got.N {
					t.Errorf("%v: %d rows counted of %d", o.Query, n, got.N)
				}
			}
		}
	}
}

// compareSparse compares rows of some pairs with those of a template of all.
func compareSparse(t *testing.T, name string, w *batch.Worlds, o *Options, got, want *Results) {
	t.Helper()
	dense := templates(w)
	p := len(dense.TemplateA)
	if err := got.CheckShape(); err != nil || len(got.BodyA) != got.N || len(got.Offsets) != w.Count()+1 ||
		got.Offsets[w.Count()] != int64(got.N) {
		t.Fatalf("%s: %d rows, offsets %v: %v", name, got.N, got.Offsets, err)
	}
	for world := range w.Count() {
		row := got.Offsets[world]
		for k := range p {
			a, b := dense.TemplateA[k], dense.TemplateB[k]
			i := world*p + k
			present := row < got.Offsets[world+1] && got.BodyA[row] == a && got.BodyB[row] == b
			status := batch.Status(want.Status()[i])
			if !present {
				absent := w.Body(world, a) == batch.Absent || w.Body(world, b) == batch.Absent
				if !absent && (status != batch.Separated ||
					o.HasMaxDistance && want.Distance().At(i)+float64(want.Gap()[i]) <= o.MaxDistance ||
					o.Query == batch.Growth || o.Query == batch.Distance && !o.HasMaxDistance) {
					t.Fatalf("%s: world %d, bodies %d and %d: no row, want %v", name, world, a, b, status)
				}
				continue
			}
			if s := batch.Status(got.Status()[row]); s != status {
				t.Errorf("%s: world %d, bodies %d and %d: %v, want %v", name, world, a, b, s, status)
			}
			if got.Bits() != nil && got.Bit(int(row)) != (status != batch.Separated) {
				t.Errorf("%s: row %d: bit %v of %v", name, row, got.Bit(int(row)), status)
			}
			if status < batch.Undecided && got.Distance().Len() > 0 && want.Distance().Len() > 0 {
				d, gap := got.Distance().At(int(row)), float64(got.Gap()[row])
				e, egap := want.Distance().At(i), float64(want.Gap()[i])
				if !(math.Abs(d-e) <= gap+egap) {
					t.Errorf("%s: world %d, bodies %d and %d: %g ± %g, want %g ± %g", name, world, a, b, d, gap, e,
						egap)
				}
			}
			row++
		}
		if row != got.Offsets[world+1] {
			t.Fatalf("%s: world %d: row %d of bodies %d and %d is not expected", name, world, row, got.BodyA[row],
				got.BodyB[row])
		}
	}
}

// TestLeastOfAllPairs compares worlds reduced over all pairs with those reduced over a template of every pair.
func TestLeastOfAllPairs(t *testing.T) {
	d := dispatcher(t)
	rounds := 30
	if testing.Short() {
		rounds = 6
	}
	for q, o := range queriesOfAll() {
		o.Reduce = ReduceWorld
		for round := range rounds {
			rng := rand.New(rand.NewPCG(uint64(q), uint64(100+round)))
			bodies := table(t, rng)
			side := []float64{1, 4, 10}[round%3]
			w := crowd(rng, bodies, 1+rng.IntN(8), 4+rng.IntN(20), side)
			if round%3 > 0 { // no ground, which is near to all
				for i := 3; i < len(w.Bodies); i += w.M {
					w.Bodies[i] = 0
				}
			}
			o.Workers, o.NoCulling = 1+round%3, false
			got, _ := mustRun(t, d, bodies, w, o, "cpu")
			o.NoCulling = true
			dense := templates(w)
			want, _ := mustRun(t, d, bodies, dense, o, "cpu")
			for i := range w.Count() {
				name := fmt.Sprintf("%v, round %d, world %d", o.Query, round, i)
				if got.Any[i] != want.Any[i] || got.Status()[i] != want.Status()[i] ||
					want.ContactsComplete == got.ContactsComplete && got.Contacts[i] != want.Contacts[i] {
					t.Fatalf("%s: any %d, %d contacts, status %d; want %d, %d, %d", name, got.Any[i], got.Contacts[i],
						got.Status()[i], want.Any[i], want.Contacts[i], want.Status()[i])
				}
				if got.Distance().Len() == 0 || batch.Status(want.Status()[i]) >= batch.Undecided {
					continue
				}
				g, ggap := got.Distance().At(i), float64(got.Gap()[i])
				e, egap := want.Distance().At(i), float64(want.Gap()[i])
				if !(math.Abs(g-e) <= ggap+egap) && !(math.IsInf(g, 1) && math.IsInf(e, 1)) {
					t.Fatalf("%s: %g ± %g, want %g ± %g", name, g, ggap, e, egap)
				}
				near := o.Query == batch.Distance && (!o.HasMaxDistance || e+egap <= o.MaxDistance)
				if near && ggap > 2*egap+1e-5 {
					t.Errorf("%s: %g ± %g where all pairs give %g ± %g", name, g, ggap, e, egap)
				}
				k := want.Pair[i]
				if k < 0 || got.BodyA[i] < 0 || o.HasMaxDistance && e+egap > o.MaxDistance {
					continue
				}
				if got.BodyA[i] != dense.TemplateA[k] || got.BodyB[i] != dense.TemplateB[k] {
					if ggap+egap < 1e-9 || o.StatusAlone() {
						t.Errorf("%s: bodies %d and %d, want %d and %d", name, got.BodyA[i], got.BodyB[i],
							dense.TemplateA[k], dense.TemplateB[k])
					}
				}
			}
		}
	}
}

// TestAllPairsInvalid: a NaN makes the pairs of its body invalid, and no others.
func TestAllPairsInvalid(t *testing.T) {
	d := dispatcher(t)
	rng := rand.New(rand.NewPCG(1, 2))
	bodies := table(t, rng)
	w := crowd(rng, bodies, 3, 12, 2)
	for k := range w.Bodies {
		w.Bodies[k] = int32(k % 9)
	}
	o := Options{MaxDistance: 0.1, HasMaxDistance: true}
	good, _ := mustRun(t, d, bodies, w, o, "cpu")
	w.Poses[7*(12+5)] = math.NaN()
	bad, rep := mustRun(t, d, bodies, w, o, "cpu")
	invalid := 0
	for i := range bad.N {
		of5 := bad.BodyA[i] == 5 || bad.BodyB[i] == 5
		world1 := int64(i) >= bad.Offsets[1] && int64(i) < bad.Offsets[2]
		if (of5 && world1) != (batch.Status(bad.Status()[i]) == batch.Invalid) {
			t.Errorf("row %d of bodies %d and %d: status %d", i, bad.BodyA[i], bad.BodyB[i], bad.Status()[i])
		}
		if of5 && world1 {
			invalid++
		}
	}
	skipped := 0
	for i, a := range w.SkipA {
		if (a == 5) != (w.SkipB[i] == 5) && !slices.Contains(keysOf(w)[:i], pairKey(a, w.SkipB[i])) {
			skipped++
		}
	}
	if invalid != 11-skipped {
		t.Errorf("%d invalid rows, want %d", invalid, 11-skipped)
	}
	if len(rep.RowErrors) != 1 || rep.RowErrors[0].World != 1 || rep.RowErrors[0].Body != 5 {
		t.Errorf("row errors %v, want one about body 5 of world 1", rep.RowErrors)
	}
	for _, world := range []int{0, 2} {
		a, b := good.Offsets[world+1]-good.Offsets[world], bad.Offsets[world+1]-bad.Offsets[world]
		if a != b {
			t.Errorf("world %d has %d rows besides an invalid world, %d without", world, b, a)
		}
	}
}

func keysOf(w *batch.Worlds) (keys []uint64) {
	for i, a := range w.SkipA {
		keys = append(keys, pairKey(a, w.SkipB[i]))
	}
	return keys
}

// TestAllPairsHeld moves the bodies of a held batch: the results are those of separate calls, with other numbers of
// rows.
func TestAllPairsHeld(t *testing.T) {
	d := dispatcher(t)
	rng := rand.New(rand.NewPCG(3, 4))
	bodies := table(t, rng)
	w := crowd(rng, bodies, 4, 15, 2)
	for _, reduce := range []Reduce{ReduceNone, ReduceWorld} {
		o := Options{Options: batch.Options{Columns: batch.FileColumns | batch.ColBits}, MaxDistance: 0.1,
			HasMaxDistance: true, Reduce: reduce}
		run := dispatch.Options{Backend: "cpu"}
		held, err := Hold(d, bodies, w, o, run)
		if err != nil {
			t.Fatal(err)
		}
		for step := range 5 {
			for i := range w.Poses {
				if i%7 < 3 {
					w.Poses[i] *= 1 + 0.2*float64(step%3-1)
				}
			}
			if err := held.Update(w); err != nil {
				t.Fatal(err)
			}
			got, _, err := held.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			want, _ := mustRun(t, d, bodies, w, o, "cpu")
			if got.N != want.N || fmt.Sprint(*got.Results) != fmt.Sprint(*want.Results) ||
				!slices.Equal(got.BodyA, want.BodyA) || !slices.Equal(got.BodyB, want.BodyB) ||
				!slices.Equal(got.PartA, want.PartA) || !slices.Equal(got.Offsets, want.Offsets) {
				t.Fatalf("%v, step %d: the results are not those of a call of its own", reduce, step)
			}
			found, _, err := held.Find(context.Background(), w)
			if err != nil || fmt.Sprint(*found.Results) != fmt.Sprint(*want.Results) || found == got ||
				!slices.Equal(found.BodyA, want.BodyA) || !slices.Equal(found.Offsets, want.Offsets) {
				t.Fatalf("%v, step %d: Find has not the results of a call of its own (%v)", reduce, step, err)
			}
			if reduce != ReduceWorld {
				continue
			}
			out := NewResults(w.Count(), &o)
			out.BodyA, out.BodyB = make([]int32, w.Count()), make([]int32, w.Count())
			mine := out.BodyA
			if _, err := held.Step(context.Background(), w, out); err != nil || !slices.Equal(mine, want.BodyA) {
				t.Fatalf("step %d: the columns of the caller have the bodies %v (%v)", step, mine, err)
			}
		}
		held.Close()
	}
}

// TestAllPairsFails: a cancelled call is an error and has no rows after the worlds it reached.
func TestAllPairsFails(t *testing.T) {
	d := dispatcher(t)
	rng := rand.New(rand.NewPCG(5, 6))
	bodies := table(t, rng)
	job := &Job{Bodies: bodies, Worlds: crowd(rng, bodies, 4, 15, 2),
		Options: Options{MaxDistance: 1, HasMaxDistance: true}}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, d, job, dispatch.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want one of the context", err)
	}
	if job.Results.N != 0 {
		t.Errorf("%d rows of a call that reached no world", job.Results.N)
	}
	// More pairs than the broad phase allows.
	job.Results = nil
	b, err := newBatch(d, job, dispatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range b.pool {
		p.near.finder.MaxPairs = 3
	}
	var many *broadphase.TooManyPairsError
	if _, _, err := b.Run(context.Background()); !errors.As(err, &many) {
		t.Errorf("error %v, want one about too many pairs", err)
	}
}

// TestAllPairsVulkan: a device answers all pairs as the CPU does, within the bounds of both.
func TestAllPairsVulkan(t *testing.T) {
	d := vulkan(t)
	rng := rand.New(rand.NewPCG(7, 8))
	bodies := table(t, rng)
	w := crowd(rng, bodies, 3, 14, 2)
	o := Options{MaxDistance: 0.2, HasMaxDistance: true}
	got, rep := mustRun(t, d, bodies, w, o, "vulkan")
	if rep.Backend != "vulkan" {
		t.Errorf("answered by %s", rep.Backend)
	}
	o.NoCulling = true
	want, _ := mustRun(t, d, bodies, templates(w), o, "cpu")
	compareSparse(t, "vulkan", w, &o, got, want)
}

// TestSweepVulkan is the same of sweeps.
func TestSweepVulkan(t *testing.T) {
	need.Full(t, "TestSweepsAgainstSampling asks the CPU, and TestVulkan the device for the distances of parts")
	d := vulkan(t)
	rng := rand.New(rand.NewPCG(7, 8))
	bodies := table(t, rng)
	m := paths(rng, bodies, 2, 7, 2, 8)
	a, _ := mustSweep(t, d, bodies, m, sweep.Options{TimeTolerance: 1e-4}, "vulkan")
	b, _ := mustSweep(t, d, bodies, m, sweep.Options{TimeTolerance: 1e-4}, "cpu")
	for i := range a.N {
		if a.State[i] != b.State[i] || a.Lower[i] > b.Upper[i] || b.Lower[i] > a.Upper[i] ||
			a.T1[i] < b.T0[i] || b.T1[i] < a.T0[i] {
			t.Errorf("row %d: %d from %g to %g, on the CPU %d from %g to %g", i, a.State[i], a.T0[i], a.T1[i],
				b.State[i], b.T0[i], b.T1[i])
		}
	}
}

// vulkan returns the back ends vulkan and cpu.
func vulkan(t *testing.T) *dispatch.Dispatcher {
	t.Helper()
	device, err := engine.Open(engine.Options{})
	if err != nil {
		need.Vulkan(t, err.Error())
	}
	d := dispatch.New(device, dispatcher(t).Backends()[0])
	t.Cleanup(func() { d.Close() })
	return d
}

// TestEveryPair: results of all pairs have a row for each where no distance leaves one out.
func TestEveryPair(t *testing.T) {
	for q := range batch.QueryCount {
		for _, reduce := range []Reduce{ReduceNone, ReduceWorld} {
			for _, most := range []float64{-1, 0, 1, math.Inf(1)} {
				o := Options{Reduce: reduce, MaxDistance: most, HasMaxDistance: most >= 0}
				o.Query = q
				if want := math.IsInf(threshold(&o), 1) && reduce == ReduceNone; o.EveryPair() != want {
					t.Errorf("%v, %v, %g: %t", q, reduce, most, o.EveryPair())
				}
			}
		}
	}
}
