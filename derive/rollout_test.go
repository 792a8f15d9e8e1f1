package derive

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/rollout"
	"clearance/rollout/sweep"

	"gonum.org/v1/gonum/spatial/r3"
)

// armBodies are bodies of one to three smooth parts.
func armBodies(t *testing.T) *batch.Bodies {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.3, Z: 0.15}},
		geom.Sphere{R: 0.2}, geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.1, Y: 0.1, Z: 0.4}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(x, y, z float64, k float64) geom.Pose {
		return geom.Translate(x, y, z).Compose(geom.Rotate(r3.Vec{X: 1, Y: 2}, k))
	}
	bodies, err := batch.NewBodies(lib, []batch.Body{
		{Parts: []batch.Part{{Shape: 0, Pose: at(0.3, 0, 0, 0.4)}, {Shape: 1, Pose: at(-0.3, 0.1, 0, 0)}}},
		{Parts: []batch.Part{{Shape: 1, Pose: geom.IdentityPose()}}},
		{Parts: []batch.Part{{Shape: 2, Pose: at(0, 0.4, 0, 1)}, {Shape: 0, Pose: at(0, -0.4, 0.1, 2)},
			{Shape: 1, Pose: at(0.1, 0, 0.3, 0)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

func appendPose(to []float64, p geom.Pose) []float64 {
	q := p.Rotation
	return append(to, p.Position.X, p.Position.Y, p.Position.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
}

// TestRolloutVJP compares gradients per body with differences of the sum of weighted values: of pairs, of the least of
// each world, and of all pairs; the same bits for any number of goroutines.
func TestRolloutVJP(t *testing.T) {
	ctx := context.Background()
	bodies := armBodies(t)
	d := dispatch.New(cpu.NewReference())
	defer d.Close()
	rng := rand.New(rand.NewPCG(2, 3))
	const worlds, m = 40, 4
	scene := &batch.Worlds{Bodies: []int32{0, 1, 2, 0}, TemplateA: []int32{0, 1, 3, 2}, TemplateB: []int32{1, 2, 0, 3}}
	for range worlds * m {
		scene.Poses = appendPose(scene.Poses, testkit.Pose(rng, 0.7))
	}
	for name, c := range map[string]struct {
		all    bool
		reduce batch.Reduce
	}{"pairs": {false, batch.ReduceNone}, "worlds": {false, batch.ReduceWorld}, "all pairs": {true, batch.ReduceNone},
		"worlds of all pairs": {true, batch.ReduceWorld}} {
		w := *scene
		o := batch.RolloutOptions{Options: batch.Options{Precision: batch.Double}, Reduce: c.reduce}
		if c.all {
			w.TemplateA, w.TemplateB, w.AllPairs = nil, nil, true
			o.MaxDistance, o.HasMaxDistance = 0.5, true
		}
		answer := func(w *batch.Worlds) *batch.RolloutResults {
			job := &rollout.Job{Bodies: bodies, Worlds: w, Options: o}
			if _, err := rollout.Run(ctx, d, job, dispatch.Options{}); err != nil {
				t.Fatal(err)
			}
			return job.Results
		}
		r := &Rollout{batch.RolloutRows{Bodies: bodies, Worlds: &w, Results: answer(&w)}, o}
		n := r.Results.N
		weights, wide := make([]float64, n), make([]float64, AnswerWidth*n)
		for i := range n {
			weights[i] = 1 + rng.Float64()
			wide[AnswerWidth*i] = weights[i]
		}
		got, again := make([]float64, BodyWidth*m*worlds), make([]float64, BodyWidth*m*worlds)
		for _, workers := range []int{1, 3} {
			p := Pass{Workers: workers}
			copy(again, got)
			if err := p.RolloutVJP(ctx, r, weights, got); err != nil {
				t.Fatal(err)
			}
			if workers > 1 && !slices.Equal(got, again) {
				t.Errorf("%s: other bits with %d goroutines", name, workers)
			}
		}
		p := Pass{}
		if err := p.RolloutVJP(ctx, r, wide, again); err != nil {
			t.Fatal(err)
		}
		far, zero := 0.0, 0
		for i := range got {
			far = max(far, math.Abs(got[i]-again[i]))
			if got[i] == 0 {
				zero++
			}
		}
		if !(far < 2e-3) || zero > 2*len(got)/3 {
			t.Errorf("%s: polished gradients differ by %g, %d are zero", name, far, zero)
		}
		checkWorlds(t, name, &w, r.Results, answer, weights, again)
		checkRolloutKernel(t, name, r, rng)
		// Rows without an answer have no gradient.
		for i := range n {
			r.Results.Status()[i] = uint8(batch.Undecided)
		}
		if err := p.RolloutVJP(ctx, r, weights, got); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(got, func(v float64) bool { return v != 0 }) {
			t.Errorf("%s: undecided rows have gradients", name)
		}
	}
}

// checkRolloutKernel compares gradients of all columns by the kernel with those in Go, and their bits with any number
// of goroutines.
func checkRolloutKernel(t *testing.T, name string, r *Rollout, rng *rand.Rand) {
	t.Helper()
	n := BodyWidth * r.Worlds.BodiesPerWorld() * r.Worlds.Count()
	cotangents := make([]float64, AnswerWidth*r.Results.N)
	for i := range cotangents {
		cotangents[i] = rng.NormFloat64()
	}
	for _, o := range []Options{{}, {Mode: Gaussian, Seed: 8}} {
		var got [3][]float64
		for k, p := range []Pass{{SIMD: "off"}, {Workers: 1}, {Workers: 3}} {
			p.Options, got[k] = o, make([]float64, n)
			if err := p.RolloutVJP(context.Background(), r, cotangents, got[k]); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got[1], got[2]) {
			t.Errorf("%s, %v: the kernel has other bits with 3 goroutines", name, o.Mode)
		}
		largest, far := 1.0, 0.0
		for i, v := range got[0] {
			largest = max(largest, math.Abs(v))
			far = max(far, math.Abs(v-got[1][i]))
		}
		if !(far <= 1e-10*largest) {
			t.Errorf("%s, %v: gradients of the kernel differ by %g from those in Go, the largest is %g", name, o.Mode,
				far, largest)
		}
	}
}

// checkWorlds compares gradients of some bodies with central differences, in worlds whose least pair stays the same.
func checkWorlds(t *testing.T, name string, w *batch.Worlds, here *batch.RolloutResults,
	answer func(*batch.Worlds) *batch.RolloutResults, weights, gradients []float64) {
	t.Helper()
	const h = 1e-5
	m := w.BodiesPerWorld()
	compared, wrong := 0, 0
	for body := range m {
		for k := range BodyWidth {
			var results [2]*batch.RolloutResults
			for side := range results {
				moved12 := *w
				moved12.Poses = slices.Clone(w.Poses)
				for world := range w.Count() {
					var twist Twists
					twist[k] = 1
					p := moved(w.Pose(world, int32(body)), &twist, 0, h*float64(1-2*side))
					copy(moved12.Poses[7*(world*m+body):], appendPose(nil, p))
				}
				results[side] = answer(&moved12)
			}
			if results[0].N != here.N || results[1].N != here.N {
				continue // another set of near pairs
			}
			r := &Rollout{RolloutRows: batch.RolloutRows{Worlds: w, Results: here}}
			if here.Pair != nil {
				r.Options.Reduce = batch.ReduceWorld
			}
			for world := range w.Count() {
				lo, hi := r.Range(world)
				sum, usable := 0.0, true
				for i := lo; i < hi; i++ {
					same := here.PartA[i] == results[0].PartA[i] && here.PartB[i] == results[0].PartB[i] &&
						here.PartA[i] == results[1].PartA[i] && here.PartB[i] == results[1].PartB[i]
					if a, b, ok := r.Places(world, i); here.Pair != nil && ok {
						for _, other := range results {
							x, y, _ := (&batch.RolloutRows{Worlds: w, Results: other}).Places(world, i)
							same = same && x == a && y == b
						}
					}
					usable = usable && same
					if here.PartA[i] >= 0 {
						sum += weights[i] * (results[0].Distance().At(i) - results[1].Distance().At(i)) / (2 * h)
					}
				}
				if !usable {
					continue
				}
				compared++
				if got := gradients[BodyWidth*(m*world+body)+k]; !(math.Abs(got-sum) <= 1e-3) {
					if wrong++; wrong < 5 {
						t.Errorf("%s, world %d, body %d, %d: gradient %g, by differences %g", name, world, body, k,
							got, sum)
					}
				}
			}
		}
	}
	if compared < 12*m {
		t.Errorf("%s: %d gradients compared", name, compared)
	}
}

// TestRolloutRefused names what is wrong.
func TestRolloutRefused(t *testing.T) {
	bodies := armBodies(t)
	w := &batch.Worlds{Bodies: []int32{0, 1}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for range 2 {
		w.Poses = appendPose(w.Poses, geom.IdentityPose())
	}
	o := batch.RolloutOptions{}
	good := &Rollout{RolloutRows: batch.RolloutRows{Bodies: bodies, Worlds: w, Results: batch.NewRolloutResults(1, &o)}}
	for want, c := range map[string]struct {
		p    Pass
		n, g int
		drop batch.Columns
	}{"order zero": {Pass{Options: Options{Mode: Zeroth}}, 1, 12, 0}, "arrays of 2": {Pass{}, 2, 12, 0},
		"and 11 numbers": {Pass{}, 1, 11, 0}, "normal": {Pass{}, 1, 12, batch.ColNormal}} {
		r := *good
		r.Options.Columns = batch.AllColumns &^ c.drop
		r.Results = batch.NewRolloutResults(1, &r.Options)
		err := c.p.RolloutVJP(context.Background(), &r, make([]float64, c.n), make([]float64, c.g))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestContactTime compares derivatives of times of first contacts with differences of polished times, along twists of
// every way point.
func TestContactTime(t *testing.T) {
	ctx := context.Background()
	bodies := armBodies(t)
	d := dispatch.New(cpu.NewReference())
	defer d.Close()
	rng := rand.New(rand.NewPCG(5, 3))
	const worlds, points = 60, 3
	m := &batch.Motions{Bodies: []int32{0, 2}, T: points, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for range worlds {
		for k := range points {
			for side := range 2 {
				p := testkit.Pose(rng, 0.2)
				p.Position.X += float64(1-2*side) * (float64(k) - 1) * 1.5
				m.Poses = appendPose(m.Poses, p)
			}
		}
	}
	answer := func(m *batch.Motions) *batch.SweepResults {
		job := &rollout.SweepJob{Bodies: bodies, Motions: m, Options: sweep.Options{}}
		if _, err := rollout.Sweep(ctx, d, job, dispatch.Options{}); err != nil {
			t.Fatal(err)
		}
		return job.Results
	}
	results := answer(m)
	var w Workspace
	regular := 0
	for i := range worlds {
		c, err := w.ContactTime(bodies, m, results, i)
		if err != nil {
			t.Fatal(err)
		}
		if !c.Regular {
			continue
		}
		regular++
		if !(math.Abs(c.Time-results.T1[i]) < 1e-2) || !(c.Rate < 0) {
			t.Errorf("row %d: the contact is at %g, the sweep has [%g, %g], rate %g", i, c.Time, results.T0[i],
				results.T1[i], c.Rate)
		}
		const h = 1e-6
		for side, g := range [2]*[2][BodyWidth]float64{&c.A, &c.B} {
			for point := range 2 {
				for k := range BodyWidth {
					var times [2]float64
					for sign := range times {
						other := *m
						other.Poses = slices.Clone(m.Poses)
						var twist Twists
						twist[k] = 1
						p := moved(m.Pose(i, c.WayPoint+point, int32(side)), &twist, 0, h*float64(1-2*sign))
						copy(other.Poses[7*((i*points+c.WayPoint+point)*2+side):], appendPose(nil, p))
						there, err := w.ContactTime(bodies, &other, results, i)
						if err != nil || !there.Regular {
							t.Fatalf("row %d: %v, %+v", i, err, there)
						}
						times[sign] = there.Time
					}
					want := (times[0] - times[1]) / (2 * h)
					if !(math.Abs(g[point][k]-want) <= 1e-5*(1+math.Abs(want))) {
						t.Fatalf("row %d, body %d, way point %d, %d: %g, by differences %g", i, side, point, k,
							g[point][k], want)
					}
				}
			}
		}
	}
	if regular < worlds/4 {
		t.Errorf("%d of %d contacts are regular", regular, worlds)
	}
	// A contact at the start, a free row and one that is not decided have no derivative.
	for _, change := range []func(){
		func() { results.T1[0] = 0 }, func() { results.State[0] = uint8(batch.SweepFree) },
		func() { results.State[0] = uint8(batch.SweepUndecided) }, func() { results.T1[0] = math.NaN() },
	} {
		results = answer(m)
		change()
		if c, err := w.ContactTime(bodies, m, results, 0); err != nil || c.Regular || c.A != [2][BodyWidth]float64{} {
			t.Errorf("%v, %+v", err, c)
		}
	}
}

// TestGradientsOfSteps: steps whose answers are kept have the gradients of those that are handed back, of any rows and
// columns, for any size of blocks; rows that are not known before are refused.
func TestGradientsOfSteps(t *testing.T) {
	bodies, d := armBodies(t), newDispatcher()
	defer d.Close()
	rng := rand.New(rand.NewPCG(2, 9))
	const worlds = 30
	w := &batch.Worlds{Bodies: []int32{0, 1, 2, batch.Absent}, TemplateA: []int32{0, 1, 2}, TemplateB: []int32{1, 2, 3}}
	for range 4 * worlds {
		w.Poses = appendPose(w.Poses, testkit.Pose(rng, 0.7))
	}
	got, want := make([]float64, BodyWidth*4*worlds), make([]float64, BodyWidth*4*worlds)
	for _, o := range []rollout.Options{{}, {Reduce: rollout.ReduceWorld}, {BlockPairs: 3, Workers: 2}} {
		o.Precision, o.MaxDistance, o.HasMaxDistance = batch.Double, 0.5, true
		r := &Rollout{RolloutRows: batch.RolloutRows{Bodies: bodies, Worlds: w}, Options: o}
		job := &rollout.Job{Bodies: bodies, Worlds: w, Options: o}
		if _, err := rollout.Run(t.Context(), d, job, dispatch.Options{}); err != nil {
			t.Fatal(err)
		}
		r.Results = job.Results
		cotangents := make([]float64, AnswerWidth*r.Results.N)
		for i := range cotangents {
			cotangents[i] = rng.NormFloat64()
		}
		o.Columns = batch.ColStatus
		b, err := rollout.Hold(d, bodies, w, o, dispatch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		for _, mode := range []batch.Derivative{{}, {Mode: batch.GumbelDerivative}} {
			for _, c := range [][]float64{cotangents, cotangents[:r.Results.N]} {
				if err := (&Pass{Options: mode}).RolloutVJP(t.Context(), r, c, want); err != nil {
					t.Fatal(err)
				}
				product := batch.RolloutProduct{Kind: batch.VJP, Operands: c, Results: got}
				if len(c) == r.Results.N {
					product.Kind = batch.ValueVJP
				}
				for _, answers := range []*rollout.Results{nil, job.Results} {
					clear(got)
					rep, err := b.Multiply(t.Context(), w, answers, mode, &product)
					if err != nil || answers == nil && rep.Done != r.Results.N {
						t.Fatal(rep.Done, err)
					}
					if !slices.Equal(got, want) || slices.Max(got) == 0 {
						t.Errorf("%+v, %v: other gradients than those of the answers", o, mode)
					}
				}
			}
		}
		short := &batch.RolloutProduct{Kind: batch.VJP, Operands: cotangents[1:], Results: got}
		if _, err := b.Multiply(t.Context(), w, nil, batch.Derivative{}, short); err == nil {
			t.Error("too few cotangents were accepted")
		}
		checkRowProducts(t, b, r, cotangents)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		every := &batch.RolloutProduct{Kind: batch.VJP, Operands: cotangents, Results: got}
		if _, err := b.Multiply(t.Context(), w, nil, batch.Derivative{}, every); err == nil {
			t.Error("a batch that is closed answers")
		}
	}
	all := *w
	all.TemplateA, all.TemplateB, all.AllPairs = nil, nil, true
	b, err := rollout.Hold(d, bodies, &all, rollout.Options{}, dispatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	product := &batch.RolloutProduct{Kind: batch.VJP, Results: got}
	if _, err := b.Multiply(t.Context(), &all, nil, batch.Derivative{}, product); err == nil {
		t.Error("gradients of all pairs by rows were accepted")
	}
	answers, _, err := b.Find(t.Context(), &all)
	if err != nil {
		t.Fatal(err)
	}
	product.Operands = make([]float64, AnswerWidth*answers.N)
	for i := range product.Operands {
		product.Operands[i] = rng.NormFloat64()
	}
	_, err = b.Multiply(t.Context(), &all, answers, batch.Derivative{}, product)
	if err != nil || slices.Max(got) == 0 {
		t.Errorf("gradients of the answers of all pairs: %v", err)
	}
}

// checkRowProducts: gradients of rows add up to those of bodies, in every mode; tangents are their adjoint; each row
// without a gradient says so.
func checkRowProducts(t *testing.T, b *rollout.Batch, r *Rollout, cotangents []float64) {
	t.Helper()
	n, m := r.Results.N, r.Worlds.BodiesPerWorld()
	bodies := make([]float64, BodyWidth*m*r.Worlds.Count())
	rng := rand.New(rand.NewPCG(8, 1))
	twists := make([]float64, len(bodies))
	for i := range twists {
		twists[i] = rng.NormFloat64()
	}
	rows, tangents, smoothness := make([]float64, TwistWidth*n), make([]float64, AnswerWidth*n), make([]uint8, n)
	for _, mode := range []batch.Derivative{{}, {Mode: batch.GumbelDerivative}, {Mode: batch.ZerothDerivative}} {
		for _, p := range []batch.RolloutProduct{
			{Kind: batch.VJP, Operands: cotangents, Results: bodies},
			{Kind: batch.VJP, Operands: cotangents, Results: rows, ByRow: true},
			{Kind: batch.JVP, Operands: twists, Results: tangents},
			{Smoothness: smoothness},
		} {
			if _, err := b.Multiply(t.Context(), r.Worlds, r.Results, mode, &p); err != nil {
				t.Fatal(err)
			}
		}
		sums, along := make([]float64, len(bodies)), 0.0
		for world := range r.Worlds.Count() {
			first, last := r.Range(world)
			for i := first; i < last; i++ {
				g, forward := rows[TwistWidth*i:][:TwistWidth], 0.0
				for j, c := range cotangents[AnswerWidth*i:][:AnswerWidth] {
					forward += c * tangents[AnswerWidth*i+j]
				}
				along += forward
				zero := slices.Max(g) == 0 && slices.Min(g) == 0
				if none := Smoothness(smoothness[i]) == batch.NoDerivative; none != zero {
					t.Fatalf("%v, row %d: smoothness %v of the gradient %v", mode, i, Smoothness(smoothness[i]), g)
				}
				a, c, ok := r.Places(world, i)
				for side, place := range []int32{a, c} {
					for j := 0; ok && j < BodyWidth; j++ {
						sums[BodyWidth*(m*world+int(place))+j] += g[BodyWidth*side+j]
					}
				}
			}
		}
		if !slices.Equal(sums, bodies) {
			t.Errorf("%v: gradients of rows do not add up to those of bodies", mode)
		}
		dot, size := 0.0, 0.0
		for i, g := range bodies {
			dot, size = dot+g*twists[i], size+math.Abs(g*twists[i])
		}
		if !(math.Abs(dot-along) <= 1e-9*size) {
			t.Errorf("%v: %g along the twists by gradients, %g by tangents", mode, dot, along)
		}
	}
}
