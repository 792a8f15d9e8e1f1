package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/internal/testkit/rowcheck"
)

func TestSameBitsForAnyWorkersAndChunks(t *testing.T) {
	n := size(3000)
	lib, pairs := mixed(t, n, 1)
	for _, o := range []batch.Options{
		{Columns: everything}, {Columns: everything, Precision: batch.Double, Method: batch.Nesterov},
		{Columns: everything, Query: batch.Penetration, Method: batch.Polyak},
		{Columns: everything, Query: batch.Collide},
		{Columns: everything, Method: batch.RTR},
	} {
		want := solve(t, newBackend(t, 1), lib, pairs, o, n)
		var count [batch.StatusCount]int
		for _, s := range want.Status() {
			count[s]++
		}
		if count[batch.Separated] < n/10 || count[batch.Penetrating] < n/10 || count[batch.Invalid] == 0 {
			t.Fatalf("%v: the set is one-sided: %v", o.Query, count)
		}
		for _, workers := range []int{2, 5} {
			b := newBackend(t, workers)
			for _, chunk := range []int{64, 640, n} {
				got := solve(t, b, lib, pairs, o, chunk)
				for i := range n {
					if !rowcheck.Same(want, i, got, i) {
						t.Fatalf("%v: row %d differs with %d workers, chunks of %d", o.Query, i, workers, chunk)
					}
				}
			}
		}
	}
}

func TestSameBitsForAnyOrder(t *testing.T) {
	n := size(2000)
	lib, pairs := mixed(t, n, 2)
	o := batch.Options{Columns: everything}
	b := newBackend(t, 3)
	want := solve(t, b, lib, pairs, o, 256)
	order := rand.New(rand.NewPCG(3, 4)).Perm(n)
	shuffled := batch.NewPairs(n)
	var r batch.Row
	for to, from := range order {
		pairs.Row(from, &r)
		shuffled.SetRow(to, &r)
	}
	got := solve(t, b, lib, shuffled, o, 256)
	for to, from := range order {
		if !rowcheck.Same(want, from, got, to) {
			t.Fatalf("row %d differs when it stands at %d", from, to)
		}
	}
}

// Worlds of bodies give, bit for bit, what the pair list written out gives.
func TestWorldsEqualPairs(t *testing.T) {
	lib, _ := mixed(t, 0, 0)
	rng := rand.New(rand.NewPCG(5, 6))
	w := &batch.Worlds{Shapes: []int32{0, 3, 5, 6, 8}}
	for a := range int32(5) {
		for b := range int32(4) {
			if a != b {
				w.TemplateA, w.TemplateB = append(w.TemplateA, a), append(w.TemplateB, b)
			}
		}
	}
	for range 20 * len(w.Shapes) {
		p := randomPose(rng)
		w.Poses = append(w.Poses, p.Position.X, p.Position.Y, p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
			p.Rotation.Jmag, p.Rotation.Kmag)
	}
	w.Poses[7*7] = math.Inf(1) // body 2 of world 1
	pairs := rowcheck.Listed(w)
	o := batch.Options{Columns: everything, Precision: batch.Double}
	b := newBackend(t, 2)
	got, want := solve(t, b, lib, w, o, 64), solve(t, b, lib, pairs, o, 0)
	if w.Len() != 320 || got.N != 320 {
		t.Fatalf("%d rows, want 20 worlds × 16 pairs", w.Len())
	}
	invalid := 0
	for i := range got.N {
		if !rowcheck.Same(got, i, want, i) {
			t.Fatalf("row %d differs", i)
		}
		if batch.Status(got.Status()[i]) == batch.Invalid {
			invalid++
		}
	}
	if invalid != 7 { // body 2 is A of 3 pairs and B of 4
		t.Errorf("%d invalid rows, want 7", invalid)
	}
}

func TestConcurrentCalls(t *testing.T) {
	n := size(1200)
	lib, pairs := mixed(t, n, 9)
	b := newBackend(t, 2)
	o := batch.Options{Columns: everything}
	want := solve(t, b, lib, pairs, o, 0)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			job := &batch.Job{Library: lib, Input: pairs, Options: o}
			if _, err := dispatch.New(b).Run(context.Background(), job, dispatch.Options{}); err != nil {
				t.Error(err)
				return
			}
			for i := range n {
				if !rowcheck.Same(want, i, job.Results, i) {
					t.Errorf("row %d differs", i)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Rows of a library whose shapes are all of one class and form are not sorted. Their answers are the same as in
// a library with another shape, also if some rows name no shape.
func TestSameBitsInAlikeLibraries(t *testing.T) {
	n := size(1500)
	for _, set := range []string{"ellipsoids", "boxes", "hull8", "hull512"} {
		lib, pairs := draw(t, set, n)
		pairs.ShapeA[n/2], pairs.ShapeB[n/3] = -1, int32(lib.Len())+1
		shapes := []geom.Shape{}
		for i := range lib.Len() {
			shapes = append(shapes, lib.Shape(int32(i)))
		}
		other, err := batch.NewLibrary(append(slices.Clone(shapes), geom.Cylinder{R: 1, HalfLength: 1}), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, variant := range variants(t) {
			b := newVariant(t, variant, 1)
			for _, o := range []batch.Options{{Columns: everything}, {Query: batch.Collide},
				{Columns: everything, Method: batch.GJK}} {
				want, got := solve(t, b, other, pairs, o, n), solve(t, b, lib, pairs, o, n)
				for i := range n {
					if !rowcheck.Same(want, i, got, i) {
						t.Fatalf("%s, %s, %v: row %d differs", set, variant, o.Query, i)
					}
				}
				for _, i := range []int{n / 2, n / 3} {
					if s := batch.Status(got.Status()[i]); s != batch.Invalid {
						t.Errorf("%s, %s: row %d names no shape and is %v", set, variant, i, s)
					}
				}
			}
		}
	}
}

// sharedShapes are polytopes of all classes, in pairs of similar size; others are 100 more of each class.
func sharedShapes(t *testing.T, rng *rand.Rand) (lib *batch.Library, pairs [][2]int32, others []int32) {
	t.Helper()
	axes := func() r3.Vec {
		return r3.Vec{X: 0.2 + rng.Float64(), Y: 0.2 + rng.Float64(), Z: 0.2 + rng.Float64()}
	}
	cube := func() geom.Shape { // its faces have ties of support values
		var corners []r3.Vec
		for i := range 8 {
			corners = append(corners, r3.Vec{X: float64(i&1) - 0.5, Y: float64(i>>1&1) - 0.5, Z: float64(i>>2) - 0.5})
		}
		c, err := geom.NewConvex(corners)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	prism := func() geom.Shape { // 40 vertices, of which 20 lie in each of two planes
		var corners []r3.Vec
		for _, p := range testkit.OnEllipsoid(rng, r3.Vec{X: 1, Y: 1}, 20) {
			p = r3.Unit(p)
			corners = append(corners, r3.Vec{X: p.X, Y: p.Y, Z: -0.3}, r3.Vec{X: p.X, Y: p.Y, Z: 0.3})
		}
		c, err := geom.NewConvex(corners)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	draws := []func() geom.Shape{
		func() geom.Shape { return geom.Box{HalfExtents: axes()} },
		func() geom.Shape { return geom.Capsule{R: 0.2, HalfLength: 0.5} },
		func() geom.Shape { return testkit.Hull(rng, axes(), 8) },
		cube,
		func() geom.Shape { return testkit.Hull(rng, axes(), 16) },
		func() geom.Shape { return testkit.Hull(rng, axes(), 32) },
		prism,
		func() geom.Shape { return testkit.Hull(rng, axes(), 200) },
		func() geom.Shape { return geom.Rounded{Shape: testkit.Hull(rng, axes(), 24), Margin: 0.05} },
	}
	var shapes []geom.Shape
	for i := range draws {
		for j := range draws {
			if i > 1 || j > 1 { // boxes and capsules have other solvers
				pairs = append(pairs, [2]int32{int32(len(shapes)), int32(len(shapes)) + 1})
				shapes = append(shapes, draws[i](), draws[j]())
			}
		}
	}
	for range 100 {
		for _, draw := range draws {
			others = append(others, int32(len(shapes)))
			shapes = append(shapes, draw())
		}
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib, pairs, others
}

// A row has the same bits in a run of rows that share its shapes, which have a kernel of their own, and among rows of
// other shapes, where it is solved like these; also in worlds, whose rows are sorted by their shapes.
func TestSameBitsInRunsThatShareShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	lib, shared, others := sharedShapes(t, rng)
	const each = 70 // rows of a pair of shapes: two groups and a part of one
	n := each * len(shared)
	runs, mixed, warm, mixedWarm := batch.NewPairs(n), batch.NewPairs(2*n), []float64{}, []float64{}
	for i := range n {
		var other batch.Row
		row := batch.Row{ShapeA: shared[i/each][0], ShapeB: shared[i/each][1]}
		row.PoseA, row.PoseB = randomPose(rng), randomPose(rng)
		away := lib.Shape(row.ShapeA).BoundingRadius() + lib.Shape(row.ShapeB).BoundingRadius()
		row.PoseB.Position = r3.Add(row.PoseA.Position, r3.Scale(1.6*rng.Float64()*away, testkit.Unit(rng)))
		if i%5 == 0 { // faces parallel to faces
			row.PoseB.Rotation = row.PoseA.Rotation
		}
		other.ShapeA, other.ShapeB = others[rng.IntN(len(others))], others[rng.IntN(len(others))]
		other.PoseA, other.PoseB = row.PoseA, row.PoseB
		runs.SetRow(i, &row)
		mixed.SetRow(2*i, &row)
		mixed.SetRow(2*i+1, &other)
		w := testkit.Unit(rng)
		warm = append(warm, w.X, w.Y, w.Z)
		mixedWarm = append(mixedWarm, w.X, w.Y, w.Z, 0, 0, 0)
	}
	// Every second row of a random order: runs of none.
	order := rng.Perm(n)
	shuffled := batch.NewPairs(2 * n)
	shuffledWarm := make([]float64, 6*n)
	var row batch.Row
	for to, from := range order {
		for k := range 2 {
			mixed.Row(2*from+k, &row)
			shuffled.SetRow(2*to+k, &row)
			copy(shuffledWarm[3*(2*to+k):], mixedWarm[3*(2*from+k):3*(2*from+k)+3])
		}
	}
	for _, variant := range variants(t) {
		b := newVariant(t, variant, 1)
		for _, o := range []batch.Options{
			{Columns: everything}, {Columns: everything, Precision: batch.Double},
			{Columns: everything, Method: batch.GJK}, {Columns: everything, HasCutOff: true, CutOff: 0.1},
			{Columns: everything, WarmStart: warm},
		} {
			before := sharedRows(b)
			got := solve(t, b, lib, runs, o, 0)
			if rows := sharedRows(b) - before; rows < int64(n/2) {
				t.Fatalf("%s: %d rows of %d share their shapes", variant, rows, n)
			}
			if o.WarmStart != nil {
				o.WarmStart = shuffledWarm
			}
			before = sharedRows(b)
			want := solve(t, b, lib, shuffled, o, 0)
			if rows := sharedRows(b) - before; rows > 0 {
				t.Fatalf("%s: %d rows share their shapes in a random order", variant, rows)
			}
			for to, from := range order {
				if d := rowcheck.Differs(got, from, want, 2*to); d != "" {
					t.Fatalf("%s, %v: row %d, of shapes %v, differs: %s", variant, o.Precision, from,
						shared[from/each], d)
				}
			}
		}
	}
}

// sharedRows returns how many rows the kernels of a back end with one worker have solved in runs.
func sharedRows(b *Backend) (rows int64) {
	for _, w := range b.idle {
		if w.solver != nil {
			rows += w.solver.Stats().Shared
		}
	}
	return rows
}

// Worlds have their templates sorted by shapes: rows with the same two shapes are far from each other, yet solved in
// runs, with the bits of the pair list.
func TestSameBitsInWorldsThatShareShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	lib, shared, _ := sharedShapes(t, rng)
	w := &batch.Worlds{}
	for i := 0; i < len(shared); i += 7 {
		at := int32(len(w.Shapes))
		w.TemplateA, w.TemplateB = append(w.TemplateA, at), append(w.TemplateB, at+1)
		w.Shapes = append(w.Shapes, shared[i][0], shared[i][1])
	}
	for range 500 * len(w.Shapes) { // enough worlds that a block of rows has runs of each template
		p := randomPose(rng)
		w.Poses = append(w.Poses, p.Position.X, p.Position.Y, p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
			p.Rotation.Jmag, p.Rotation.Kmag)
	}
	pairs := rowcheck.Listed(w)
	for _, variant := range variants(t) {
		b := newVariant(t, variant, 1)
		o := batch.Options{Columns: everything}
		got := solve(t, b, lib, w, o, 0)
		if rows := sharedRows(b); rows < int64(w.Len()/3) {
			t.Fatalf("%s: %d rows of %d share their shapes", variant, rows, w.Len())
		}
		want := solve(t, b, lib, pairs, o, 37) // chunks with too few rows of a pair
		for i := range w.Len() {
			if d := rowcheck.Differs(got, i, want, i); d != "" {
				t.Fatalf("%s: row %d differs: %s", variant, i, d)
			}
		}
	}
}

// The initial direction, which replaces both cores by ellipsoids of their extents, separates most rows with
// distances of up to 0.1 m in one step. The line of the centers separates 40 to 48 %.
func TestFirstDirections(t *testing.T) {
	for _, set := range []string{"ellipsoids", "hull8", "hull32", "hull128"} {
		lib, pairs := draw(t, set, size(3000))
		for _, variant := range variants(t) {
			r := solve(t, newVariant(t, variant, 1), lib, pairs, batch.Options{Query: batch.Collide,
				Columns: everything}, 0)
			near, first := 0, 0
			for i := 1; i < pairs.Len(); i += 3 { // the rows of a set that are near
				near++
				if batch.Status(r.Status()[i]) == batch.Separated && r.Iterations()[i] <= 2 { // the proof counts as one
					first++
				}
			}
			if share := float64(first) / float64(near); share < 0.65 {
				t.Errorf("%s, %s: %.0f %% of %d rows in one step, want 65 %%", set, variant, 100*share, near)
			} else {
				t.Logf("%s, %s: %.0f %%", set, variant, 100*share)
			}
		}
	}
}
