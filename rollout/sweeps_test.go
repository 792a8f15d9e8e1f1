package rollout

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/rollout/sweep"

	"gonum.org/v1/gonum/spatial/r3"
)

// paths returns worlds of moving bodies of the table, one of them a half-space at rest.
func paths(rng *rand.Rand, bodies *batch.Bodies, worlds, m, t, pairs int) *batch.Motions {
	s := scene(rng, bodies, worlds*t, m, pairs, false)
	q := &batch.Motions{T: t, Bodies: s.Bodies, Poses: s.Poses, TemplateA: s.TemplateA, TemplateB: s.TemplateB}
	for w := range worlds {
		for k := 1; k < t; k++ { // body 0 is the ground
			copy(q.Poses[7*(w*t+k)*m:][:7], q.Poses[7*w*t*m:][:7])
		}
	}
	return q
}

func mustSweep(t testing.TB, d *dispatch.Dispatcher, bodies *batch.Bodies, m *batch.Motions, o sweep.Options,
	backend string) (*SweepResults, SweepReport) {
	t.Helper()
	job := &SweepJob{Bodies: bodies, Motions: m, Options: o}
	rep, err := Sweep(context.Background(), d, job, dispatch.Options{Backend: backend})
	if err != nil {
		t.Fatal(err)
	}
	return job.Results, rep
}

// worldsAt returns the worlds at a time of the motions.
func worldsAt(m *batch.Motions, time float64) *batch.Worlds {
	w := &batch.Worlds{M: m.BodiesPerWorld(), Bodies: m.Bodies, TemplateA: m.TemplateA, TemplateB: m.TemplateB}
	leg := min(int(time), m.WayPoints()-2)
	for world := range m.Count() {
		for k := range int32(m.BodiesPerWorld()) {
			from, _ := m.Pose(world, leg, k).Normalized()
			to, _ := m.Pose(world, leg+1, k).Normalized()
			p := sweep.Between(from, to, time-float64(leg))
			w.Poses = appendPose(w.Poses, &p)
		}
	}
	return w
}

// TestSweepsAgainstSampling answers the distances of the bodies at many times, without culling: none may be in contact
// before the interval of the first contact, or nearer than the lower bound of a free row.
func TestSweepsAgainstSampling(t *testing.T) {
	d := dispatcher(t)
	samples := 400
	if testing.Short() {
		samples = 80
	}
	for _, backend := range []string{"cpu", "ref"} {
		for _, ways := range []int{2, 4} {
			rng := rand.New(rand.NewPCG(uint64(ways), 8))
			bodies := table(t, rng)
			m := paths(rng, bodies, 12, 10, ways, 14)
			got, rep := mustSweep(t, d, bodies, m, sweep.Options{}, backend)
			if n := rep.States; n[sweep.Invalid] > 0 || n[sweep.Undecided] > 1 || n[sweep.Free] < 10 ||
				n[sweep.Contact] < 10 {
				t.Errorf("%s: rows by state: %v", backend, n)
			}
			if backend == "ref" {
				continue
			}
			o := Options{Options: batch.Options{Precision: batch.Double}, NoCulling: true}
			for k := range samples {
				time := float64(ways-1) * (float64(k) + rng.Float64()) / float64(samples)
				res, _ := mustRun(t, d, bodies, worldsAt(m, time), o, "cpu")
				for i := range got.N {
					status, low := batch.Status(res.Status()[i]), res.Distance().F64[i]+float64(res.Gap()[i])
					if time < got.T0[i] && status == batch.Penetrating {
						t.Fatalf("row %d: contact at %g missed: %v from %.9g", i, time, sweep.State(got.State[i]),
							got.T0[i])
					}
					if sweep.State(got.State[i]) == sweep.Free && !(low >= got.Lower[i]) {
						t.Fatalf("row %d: distance %g at %g below the bound %g", i, low, time, got.Lower[i])
					}
				}
			}
			for i := range got.N {
				if s := sweep.State(got.State[i]); s == sweep.Contact && !(got.T1[i]-got.T0[i] <= 1.001e-6) ||
					s == sweep.Free && (got.T0[i] != float64(ways-1) || !(got.Lower[i] > 0)) {
					t.Errorf("row %d: %v, lower bound %g, from %g to %g", i, s, got.Lower[i], got.T0[i], got.T1[i])
				}
			}
		}
	}
}

// TestSweepWayPoints moves a ball along the sides of a square, into the second part of a body on the third.
func TestSweepWayPoints(t *testing.T) {
	d := dispatcher(t)
	box := geom.Box{HalfExtents: r3.Vec{X: 0.1, Y: 0.1, Z: 0.1}}
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.1}, box}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := batch.NewBodies(lib, []batch.Body{
		{Parts: []batch.Part{{Shape: 0, Pose: geom.IdentityPose()}}},
		{Parts: []batch.Part{{Shape: 1, Pose: geom.Translate(9, 9, 0)}, {Shape: 1, Pose: geom.Translate(0.4, 1, 0)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := &batch.Motions{T: 5, Bodies: []int32{0, 1, batch.Absent}, TemplateA: []int32{0, 0}, TemplateB: []int32{1, 2}}
	for _, p := range []r3.Vec{{}, {X: 1}, {X: 1, Y: 1}, {Y: 1}, {}} {
		a, b := geom.Translate(p.X, p.Y, 0), geom.IdentityPose()
		m.Poses = appendPose(appendPose(appendPose(m.Poses, &a), &b), &b)
	}
	r, _ := mustSweep(t, d, bodies, m, sweep.Options{}, "cpu")
	const at = 2 + 0.4 // from x = 1 to 0.4 + 0.1 + 0.1
	if sweep.State(r.State[0]) != sweep.Contact || r.T0[0] > at+1e-9 || r.T1[0] < at-1e-7 || r.PartB[0] != 1 {
		t.Errorf("%v in [%.9g, %.9g] with part %d, want contact at 2.4 with part 1", sweep.State(r.State[0]), r.T0[0],
			r.T1[0], r.PartB[0])
	}
	if sweep.State(r.State[1]) != sweep.Free || !math.IsInf(r.Lower[1], 1) || r.T0[1] != 4 {
		t.Errorf("an absent body: %v, lower bound %g", sweep.State(r.State[1]), r.Lower[1])
	}
}

// TestSweepLateWayPoints: intervals of contacts are within the tolerance at way points where floats are farther apart.
func TestSweepLateWayPoints(t *testing.T) {
	d := dispatcher(t)
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := batch.NewBodies(lib, []batch.Body{{Parts: []batch.Part{{Pose: geom.IdentityPose()}}}})
	if err != nil {
		t.Fatal(err)
	}
	const ways, worlds = 1026, 40
	m := &batch.Motions{T: ways, Bodies: []int32{0, 0}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for world := range worlds {
		for way := range ways {
			a, b := geom.IdentityPose(), geom.Translate(1, 0, 0)
			if way == ways-1 {
				b.Position.X = 0.003 * float64(world)
			}
			m.Poses = appendPose(appendPose(m.Poses, &a), &b)
		}
	}
	const tolerance = 3e-12
	r, _ := mustSweep(t, d, bodies, m, sweep.Options{TimeTolerance: tolerance}, "cpu")
	for i := range r.N {
		at := ways - 2 + 0.8/(1-0.003*float64(i))
		if sweep.State(r.State[i]) != sweep.Contact || r.T1[i]-r.T0[i] > tolerance || math.Abs(r.T0[i]-at) > 1e-8 {
			t.Errorf("row %d: %v in [%.15g, %.15g], %g wide, want contact at %.15g", i, sweep.State(r.State[i]),
				r.T0[i], r.T1[i], r.T1[i]-r.T0[i], at)
		}
	}
	job := &SweepJob{Bodies: bodies, Motions: m, Options: sweep.Options{TimeTolerance: 1e-13}}
	_, err = Sweep(t.Context(), d, job, dispatch.Options{})
	if err == nil || !strings.Contains(err.Error(), "digits") {
		t.Errorf("a tolerance below the spacing of times: %v", err)
	}
}

// TestSweepMaxDistance: rows beyond a largest distance are free with a bound above it, some of them without
// evaluations of their parts, and the states of others do not change.
func TestSweepMaxDistance(t *testing.T) {
	d := dispatcher(t)
	rng := rand.New(rand.NewPCG(12, 13))
	bodies := table(t, rng)
	m := paths(rng, bodies, 40, 10, 4, 14)
	const limit = 0.05
	all, _ := mustSweep(t, d, bodies, m, sweep.Options{}, "cpu")
	near, rep := mustSweep(t, d, bodies, m, sweep.Options{HasMaxDistance: true, MaxDistance: limit}, "cpu")
	for i := range all.N {
		free := sweep.State(near.State[i]) == sweep.Free
		if all.State[i] != near.State[i] || all.Lower[i] > near.Upper[i] || near.Lower[i] > all.Upper[i] ||
			free && !(near.Lower[i] >= limit || near.Lower[i] >= 0.49*near.Upper[i]) {
			t.Errorf("row %d: %v in [%g, %g], with a largest distance %v in [%g, %g]", i, sweep.State(all.State[i]),
				all.Lower[i], all.Upper[i], sweep.State(near.State[i]), near.Lower[i], near.Upper[i])
		}
		if !free && (all.T0[i] > near.T1[i] || near.T0[i] > all.T1[i]) {
			t.Errorf("row %d: contact in [%g, %g], with a largest distance in [%g, %g]", i, all.T0[i], all.T1[i],
				near.T0[i], near.T1[i])
		}
	}
	if rep.Culled == 0 {
		t.Error("no pair of bodies is ruled out")
	}
}

// TestSweepInvalid: a NaN in a way point of one world makes its rows invalid, and no others.
func TestSweepInvalid(t *testing.T) {
	d := dispatcher(t)
	rng := rand.New(rand.NewPCG(4, 5))
	bodies := table(t, rng)
	m := paths(rng, bodies, 3, 6, 3, 8)
	good, _ := mustSweep(t, d, bodies, m, sweep.Options{}, "cpu")
	k := m.TemplateA[2]
	m.Poses[7*((1*3+2)*6+int(k))+1] = math.NaN()
	bad, rep := mustSweep(t, d, bodies, m, sweep.Options{}, "cpu")
	for i := range bad.N {
		p := i % 8
		of := i/8 == 1 && (m.TemplateA[p] == k || m.TemplateB[p] == k)
		if of != (sweep.State(bad.State[i]) == sweep.Invalid) {
			t.Errorf("row %d: %v", i, sweep.State(bad.State[i]))
		}
		same := fmt.Sprint(bad.State[i], bad.Lower[i], bad.T0[i], bad.T1[i]) ==
			fmt.Sprint(good.State[i], good.Lower[i], good.T0[i], good.T1[i])
		if !of && !same {
			t.Errorf("row %d changes beside an invalid one", i)
		}
	}
	mine := batch.NewSweepResults(bad.N)
	job := &SweepJob{Bodies: bodies, Motions: m, Results: mine}
	for range 2 { // the second call overwrites the answers of the first
		if _, err := Sweep(context.Background(), d, job, dispatch.Options{}); err != nil ||
			fmt.Sprint(*mine) != fmt.Sprint(*bad) {
			t.Errorf("results of the caller are not those of a call without (%v)", err)
		}
	}
	mine.T0 = mine.T0[1:]
	if _, err := Sweep(context.Background(), d, job, dispatch.Options{}); err == nil {
		t.Error("results of another length were accepted")
	}
	if len(rep.RowErrors) != 1 || rep.RowErrors[0].World != 1 || rep.RowErrors[0].Body != int(k) ||
		!strings.Contains(rep.RowErrors[0].Error(), "way point 2") {
		t.Errorf("row errors %v", rep.RowErrors)
	}
	if rep.Err() == nil {
		t.Error("the report has no error for invalid rows")
	}
}

// TestSweepRefused gives motions of a wrong shape, and a cancelled context.
func TestSweepRefused(t *testing.T) {
	d := dispatcher(t)
	rng := rand.New(rand.NewPCG(6, 7))
	bodies := table(t, rng)
	for name, change := range map[string]func(m *batch.Motions){
		"one way point":     func(m *batch.Motions) { m.T = 1 },
		"odd poses":         func(m *batch.Motions) { m.Poses = m.Poses[1:] },
		"no such body":      func(m *batch.Motions) { m.Bodies[1] = 99 },
		"no such pair":      func(m *batch.Motions) { m.TemplateB[0] = 6 },
		"a body and itself": func(m *batch.Motions) { m.TemplateB[0] = m.TemplateA[0] },
		"too few bodies":    func(m *batch.Motions) { m.M, m.Bodies = 6, m.Bodies[:5] },
	} {
		m := paths(rng, bodies, 2, 6, 3, 8)
		change(m)
		job := &SweepJob{Bodies: bodies, Motions: m}
		if _, err := Sweep(context.Background(), d, job, dispatch.Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	job := &SweepJob{Bodies: bodies, Motions: paths(rng, bodies, 2, 6, 3, 8)}
	rep, err := Sweep(ctx, d, job, dispatch.Options{})
	if err == nil || rep.States[sweep.Undecided] != job.Results.N {
		t.Errorf("cancelled: %v, rows by state %v", err, rep.States)
	}
}

// TestSweepManyParts crosses the limits of the blocks of pairs of parts.
func TestSweepManyParts(t *testing.T) {
	d := dispatcher(t)
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.01}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(8, 9))
	balls := cloud(rng, 300)
	bodies, err := batch.NewBodies(lib, []batch.Body{balls, balls})
	if err != nil {
		t.Fatal(err)
	}
	m := &batch.Motions{Bodies: []int32{0, 1}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for range 3 {
		for _, x := range []float64{0, 4, 0, 2.3} {
			p := geom.Translate(x, 0, 0)
			m.Poses = appendPose(m.Poses, &p)
		}
	}
	r, _ := mustSweep(t, d, bodies, m, sweep.Options{HasMaxDistance: true, MaxDistance: 1e-3}, "cpu")
	// The first contact of spheres that move along x, by a formula.
	first := math.Inf(1)
	for _, a := range balls.Parts {
		for _, b := range balls.Parts {
			c := r3.Sub(b.Pose.Position, a.Pose.Position)
			if s := 0.02*0.02 - c.Y*c.Y - c.Z*c.Z; s > 0 {
				first = min(first, (4+c.X-math.Sqrt(s))/1.7)
			}
		}
	}
	for i := range r.N {
		if sweep.State(r.State[i]) != sweep.Contact || r.T0[i] > first+1e-9 || r.T1[i] < first-1e-7 {
			t.Errorf("row %d: %v in [%.9g, %.9g], want contact at %.9g", i, sweep.State(r.State[i]), r.T0[i], r.T1[i],
				first)
		}
	}
}

// TestSweepsCullWholeMotionsFirst: of rows whose bodies stay far apart, few legs are compared and few parts are asked,
// and the answers are alike on any number of workers.
func TestSweepsCullWholeMotionsFirst(t *testing.T) {
	d := dispatcher(t)
	bodies, m := sweptArm(t, 40, 6, 8)
	var first *SweepResults
	for _, workers := range []int{1, 3} {
		job := &SweepJob{Bodies: bodies, Motions: m, Options: sweep.Options{MaxDistance: 0.05, HasMaxDistance: true,
			Workers: workers}}
		s := newSweeper(job, dispatch.Options{})
		if _, err := s.open(d, dispatch.Options{Backend: "cpu"}, 0); err != nil {
			t.Fatal(err)
		}
		if err := s.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		asked := 0
		for i, n := range s.out.Evaluations {
			if n > 0 {
				asked++
			} else if !(s.out.Lower[i] > 0.05) || !(s.out.Upper[i] >= s.out.Lower[i]) {
				t.Fatalf("row %d is not asked: distance in [%g, %g]", i, s.out.Lower[i], s.out.Upper[i])
			}
		}
		legs := int(s.culler.legs.Load())
		t.Logf("%d rows of 5 legs: %d legs compared, %d rows asked", s.out.N, legs, asked)
		if asked > s.out.N/20 || legs > s.out.N/4 {
			t.Errorf("of %d rows %d are asked, and %d legs of them are compared", s.out.N, asked, legs)
		}
		if first == nil {
			first = s.out
		} else if fmt.Sprint(*first) != fmt.Sprint(*s.out) {
			t.Errorf("results on %d workers are not those on one", workers)
		}
	}
}

// sweptArm returns motions of the benchmark arm over some way points: its bodies drift by a centimetre from one to the
// next, and the obstacles rest at their places times spread.
func sweptArm(t testing.TB, worlds, ways int, spread float64) (*batch.Bodies, *batch.Motions) {
	t.Helper()
	bodies, w := arm(t, worlds)
	rng := rand.New(rand.NewPCG(22, 0))
	n := w.BodiesPerWorld()
	m := &batch.Motions{T: ways, Bodies: w.Bodies, TemplateA: w.TemplateA, TemplateB: w.TemplateB}
	for world := range worlds {
		drift := r3.Vec{X: 0.01 * rng.NormFloat64(), Y: 0.01 * rng.NormFloat64(), Z: 0.01 * rng.NormFloat64()}
		for way := range ways {
			for k := range int32(n) {
				p := w.Pose(world, k)
				if k < 8 {
					p.Position = r3.Add(p.Position, r3.Scale(float64(way), drift))
					p = p.Compose(geom.Rotate(r3.Vec{Z: 1}, 0.02*float64(way)))
				} else {
					p.Position = r3.Scale(spread, p.Position)
				}
				m.Poses = appendPose(m.Poses, &p)
			}
		}
	}
	return bodies, m
}

// BenchmarkSweeps measures sweeps of the benchmark arm with and without a largest distance, among obstacles that are
// near and far. The metric "open" is the share of rows with evaluations.
func BenchmarkSweeps(b *testing.B) {
	for _, workers := range []int{1, 2} {
		c, err := cpu.New(cpu.Options{Workers: workers})
		if err != nil {
			b.Fatal(err)
		}
		d := dispatch.New(c)
		for _, spread := range []float64{1, 8} {
			for _, limit := range []float64{0.05, -1} {
				worlds := 500
				if limit < 0 {
					worlds = 4
				}
				bodies, m := sweptArm(b, worlds, 10, spread)
				o := sweep.Options{Workers: workers, HasMaxDistance: limit >= 0, MaxDistance: max(limit, 0)}
				b.Run(fmt.Sprintf("workers=%d/spread=%g/limit=%g", workers, spread, limit), func(b *testing.B) {
					open := 0
					for b.Loop() {
						job := &SweepJob{Bodies: bodies, Motions: m, Options: o}
						if _, err := Sweep(b.Context(), d, job, dispatch.Options{}); err != nil {
							b.Fatal(err)
						}
						open = 0
						for _, n := range job.Results.Evaluations {
							if n > 0 {
								open++
							}
						}
					}
					b.ReportMetric(float64(m.Len())*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
					b.ReportMetric(100*float64(open)/float64(m.Len()), "%open")
				})
			}
		}
		d.Close()
	}
}
