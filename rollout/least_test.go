package rollout

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestLeastOfListedPairs: the least of a world has the same bits whether its pairs are listed or all pairs skip the
// others, and is that of all rows; and bounds rule out most pairs of parts either way.
func TestLeastOfListedPairs(t *testing.T) {
	d := dispatcher(t)
	type scene struct {
		bodies      *batch.Bodies
		listed, all *batch.Worlds
	}
	var onGround, furnished scene
	onGround.bodies, onGround.listed, onGround.all = figures(t, 24, 4)
	furnished.bodies, furnished.listed, furnished.all = kitchen(t, 16)
	for name, s := range map[string]scene{"figures": onGround, "kitchen": furnished} {
		for _, o := range []Options{{}, {HasMaxDistance: true}, {Options: batch.Options{Query: batch.Penetration}}} {
			solve := func(w *batch.Worlds, o Options) (*Results, Report) {
				o.Options.Precision = batch.Double
				job := &Job{Bodies: s.bodies, Worlds: w, Options: o}
				rep, err := Run(t.Context(), d, job, dispatch.Options{Backend: "cpu"})
				if err != nil {
					t.Fatal(err)
				}
				return job.Results, rep
			}
			rows, _ := solve(s.listed, Options{NoCulling: true, Options: o.Options})
			o.Reduce = ReduceWorld
			listed, rep := solve(s.listed, o)
			all, _ := solve(s.all, o)
			n := len(s.listed.TemplateA)
			for w := range listed.N {
				x := listed.Distance().F64[w]
				if x != all.Distance().F64[w] || listed.Gap()[w] != all.Gap()[w] ||
					listed.Status()[w] != all.Status()[w] {
					t.Fatalf("%s, %+v, world %d: listed %v ± %v, all pairs %v ± %v", name, o, w, x, listed.Gap()[w],
						all.Distance().F64[w], all.Gap()[w])
				}
				if p := listed.Pair[w]; p >= 0 {
					a, b := s.listed.TemplateA[p], s.listed.TemplateB[p]
					if pairKey(a, b) != pairKey(all.BodyA[w], all.BodyB[w]) {
						t.Errorf("%s, %+v, world %d: bodies %d and %d, of all pairs %d and %d", name, o, w, a, b,
							all.BodyA[w], all.BodyB[w])
					}
				}
				least := rows.Distance().F64[w*n]
				for _, y := range rows.Distance().F64[w*n : (w+1)*n] {
					least = min(least, y)
				}
				if beyond := o.HasMaxDistance && least > 0; !beyond && x != least {
					t.Errorf("%s, %+v, world %d: %v, the least row is %v", name, o, w, x, least)
				}
			}
			// Contacts are counted, so that all of them are solved. Cutting off at the row with the least lower bound
			// alone leaves over a hundred pairs of parts a world more.
			contacts := 0
			for _, y := range rows.Distance().F64 {
				if y <= 0 {
					contacts++
				}
			}
			if most := int64(contacts + 60*listed.N); rep.Solved > most {
				t.Errorf("%s, %+v: %d pairs of parts are solved in %d worlds with %d contacts", name, o, rep.Solved,
					listed.N, contacts)
			}
		}
	}
}

// figures returns worlds of figures of 16 capsules and spheres each on a half-space, body by body: every pair but those
// within the ground and of neighbors in a figure, listed, and all pairs with the complement skipped.
func figures(t testing.TB, worlds, n int) (*batch.Bodies, *batch.Worlds, *batch.Worlds) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 0))
	shapes := []geom.Shape{geom.Halfspace{}}
	for k := range 16 {
		if k%5 == 0 {
			shapes = append(shapes, geom.Sphere{R: 0.06 + 0.01*float64(k%3)})
		} else {
			shapes = append(shapes, geom.Capsule{R: 0.04 + 0.01*float64(k%3), HalfLength: 0.08 + 0.02*float64(k%4)})
		}
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []batch.Body
	for k := range shapes {
		list = append(list, batch.Body{Parts: []batch.Part{{Shape: int32(k), Pose: geom.IdentityPose()}}})
	}
	bodies, err := batch.NewBodies(lib, list)
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{Bodies: []int32{0}}
	for range n {
		for k := range 16 {
			w.Bodies = append(w.Bodies, int32(1+k))
		}
	}
	for range worlds {
		ground := geom.IdentityPose()
		w.Poses = appendPose(w.Poses, &ground)
		for f := range n {
			joint := geom.Translate(1.5*float64(f%4), 1.5*float64(f/4), 0.9+0.2*rng.Float64())
			for range 16 {
				q := testkit.Pose(rng, 1)
				q.Position = r3.Add(joint.Position, r3.Scale(0.5*math.Cbrt(rng.Float64()), testkit.Unit(rng)))
				w.Poses = appendPose(w.Poses, &q)
			}
		}
	}
	return bodies, w, complement(w, func(a, b int32) bool { return a > 0 && (a-1)/16 == (b-1)/16 && b-a < 3 })
}

// kitchen returns worlds of 40 pieces of furniture of 1 to 24 boxes, at the same places in all of them, and 30 small
// bodies of 1 to 6 hulls among them: every pair but those of furniture, listed, and all pairs with the complement
// skipped.
func kitchen(t testing.TB, worlds int) (*batch.Bodies, *batch.Worlds, *batch.Worlds) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 0))
	var shapes []geom.Shape
	var list []batch.Body
	const furniture, small = 40, 30
	for k := range furniture + small {
		var b batch.Body
		n, spread := 1+rng.IntN(24), 0.6
		if k >= furniture {
			n, spread = 1+rng.IntN(6), 0.08
		}
		for range n {
			e := func() float64 { return spread * (0.05 + 0.4*rng.Float64()) }
			var s geom.Shape = geom.Box{HalfExtents: r3.Vec{X: e(), Y: e(), Z: 0.2 * e()}}
			if k >= furniture {
				s = testkit.Hull(rng, r3.Vec{X: e(), Y: e(), Z: e()}, 32)
			}
			b.Parts = append(b.Parts, batch.Part{Shape: int32(len(shapes)), Pose: testkit.Pose(rng, spread)})
			shapes = append(shapes, s)
		}
		list = append(list, b)
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := batch.NewBodies(lib, list)
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{}
	var fixed []float64
	for k := range furniture + small {
		w.Bodies = append(w.Bodies, int32(k))
		if k < furniture {
			q := testkit.Pose(rng, 0)
			q.Position = r3.Vec{X: 4 * rng.Float64(), Y: 4 * rng.Float64(), Z: 2 * rng.Float64()}
			fixed = appendPose(fixed, &q)
		}
	}
	for range worlds {
		w.Poses = append(w.Poses, fixed...)
		for range small {
			q := testkit.Pose(rng, 0)
			q.Position = r3.Vec{X: 4 * rng.Float64(), Y: 4 * rng.Float64(), Z: 2 * rng.Float64()}
			w.Poses = appendPose(w.Poses, &q)
		}
	}
	return bodies, w, complement(w, func(a, b int32) bool { return b < furniture })
}

// complement lists the pairs of the bodies of w that are not skipped, and returns worlds of all pairs that skip the
// others.
func complement(w *batch.Worlds, skipped func(a, b int32) bool) *batch.Worlds {
	all := *w
	all.AllPairs = true
	m := int32(len(w.Bodies))
	for a := range m {
		for b := a + 1; b < m; b++ {
			if skipped(a, b) {
				all.SkipA, all.SkipB = append(all.SkipA, a), append(all.SkipB, b)
			} else {
				w.TemplateA, w.TemplateB = append(w.TemplateA, a), append(w.TemplateB, b)
			}
		}
	}
	return &all
}

// BenchmarkLeastOfWorld measures the least of worlds over listed pairs, in turns with all pairs that skip the others.
// Metrics: microseconds and pairs of parts that are solved, per world.
func BenchmarkLeastOfWorld(b *testing.B) {
	b.Run("figures", func(b *testing.B) {
		bodies, listed, all := figures(b, 256, 10)
		benchmarkLeast(b, bodies, listed, all)
	})
	b.Run("kitchen", func(b *testing.B) {
		bodies, listed, all := kitchen(b, 256)
		benchmarkLeast(b, bodies, listed, all)
	})
}

func benchmarkLeast(b *testing.B, bodies *batch.Bodies, listed, all *batch.Worlds) {
	d := dispatcher(b)
	for _, v := range []struct {
		name string
		o    Options
	}{
		{"least", Options{Reduce: ReduceWorld}},
		{"within-0", Options{Reduce: ReduceWorld, HasMaxDistance: true}},
	} {
		for _, w := range []struct {
			name string
			w    *batch.Worlds
		}{{"listed", listed}, {"all", all}} {
			b.Run(v.name+"/"+w.name, func(b *testing.B) {
				h, err := Hold(d, bodies, w.w, v.o, dispatch.Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer h.Close()
				var rep Report
				for b.Loop() {
					if _, rep, err = h.Run(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(rep.Solved)/256, "solved/world")
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/256, "us/world")
			})
		}
	}
}
