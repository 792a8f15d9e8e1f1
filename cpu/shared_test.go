package cpu

import (
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/internal/testkit/rowcheck"

	"gonum.org/v1/gonum/spatial/r3"
)

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
