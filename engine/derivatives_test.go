package engine

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"clearance/batch"
	"clearance/derive"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/ref"
	"clearance/tests/conformance"

	"gonum.org/v1/gonum/spatial/r3"
)

// pairsAtGaps has pairs of every form with every form, the second one of every other pair with a margin, in random
// poses with about the given signed distances.
func pairsAtGaps(t *testing.T, gaps ...float64) (*batch.Library, *batch.Pairs) {
	t.Helper()
	rng := rand.New(rand.NewPCG(33, 5))
	var shapes []geom.Shape
	for _, f := range conformance.Forms() {
		shapes = append(shapes, f.Shape(), geom.WithMargin(f.Shape(), 0.05))
	}
	var rows []batch.Row
	for a := 0; a < len(shapes); a += 2 {
		for b := (a / 2) % 2; b < len(shapes); b += 2 {
			if shapes[a].Kind() == geom.KindHalfspace && shapes[b].Kind() == geom.KindHalfspace {
				continue
			}
			for _, gap := range gaps {
				row := batch.Row{ShapeA: int32(a), ShapeB: int32(b), PoseA: testkit.Pose(rng, 1),
					PoseB: testkit.Pose(rng, 0)}
				placeAtGap(rng, shapes[a], shapes[b], &row, gap)
				rows = append(rows, row)
			}
		}
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(len(rows))
	for i := range rows {
		pairs.SetRow(i, &rows[i])
	}
	return lib, pairs
}

// placeAtGap moves B along the normal to about a signed distance.
func placeAtGap(rng *rand.Rand, a, b geom.Shape, row *batch.Row, gap float64) {
	out := testkit.Unit(rng)
	switch geom.KindHalfspace {
	case a.Kind():
		m := row.PoseA.Matrix()
		out = m.MulVec(r3.Vec{Z: 1})
	case b.Kind():
		m := row.PoseB.Matrix()
		out = m.MulVec(r3.Vec{Z: -1})
	}
	row.PoseB.Position = r3.Add(row.PoseA.Position, r3.Scale(2, out))
	for range 8 {
		p := ref.NewPair(a, b, row.PoseA, row.PoseB)
		r := ref.Solve(&p, ref.Options{}, &ref.Workspace{})
		if math.Abs(r.Distance-gap) < 1e-3 {
			break
		}
		row.PoseB.Position = r3.Add(row.PoseB.Position, r3.Scale(gap-r.Distance, p.DirToWorld(r.Normal)))
	}
}

// derivedOf answers pairs on a device, with derivatives, and returns the job with the answers and the columns of
// derivatives, whose rows that the device leaves to the host have the smoothness batch.NotDerived.
func derivedOf(t *testing.T, b *Backend, lib *batch.Library, in batch.Input, o batch.Options) (*batch.Job,
	*batch.Results) {
	t.Helper()
	o.Columns = derive.Needs | batch.ColGap
	out := batch.NewResults(in.Len(), &batch.Options{Precision: o.Precision, Columns: o.Columns | batch.DerivedColumns})
	out.Marks = make(batch.Marks, in.Len())
	for i := range in.Len() {
		out.Column(batch.ColSmoothness).U8[i] = uint8(batch.NotDerived)
	}
	job := &batch.Job{Library: lib, Input: in, Options: o}
	if err := b.Run(t.Context(), job, 0, in.Len(), out); err != nil {
		t.Fatal(err)
	}
	job.Results = out
	return job, out
}

// TestDerivatives holds the derivatives of the device to those of package derive, on pairs of every form with every
// form, exact ones and those with Gumbel smoothing: the same smoothness, and numbers that agree to rounding where the
// system is conditioned. Hardly any row is left to the host.
func TestDerivatives(t *testing.T) {
	lib, pairs := pairsAtGaps(t, 0.5, 0.05, 1e-4, -0.02)
	n := pairs.Len()
	eachPath(t, func(t *testing.T, o Options) {
		b := open(t, o)
		for k, d := range []batch.Derivative{{}, {}, {Mode: batch.GumbelDerivative},
			{Mode: batch.GumbelDerivative, Epsilon: 0.05}, {Mode: batch.GumbelDerivative, Epsilon: 0.3}} {
			p := []batch.Precision{batch.Double, batch.Single}[k%2]
			job, got := derivedOf(t, b, lib, pairs, batch.Options{Precision: p, Derivative: d})
			want := batch.NewResults(n, &batch.Options{Precision: p, Columns: batch.DerivedColumns})
			if err := (&derive.Pass{Options: d}).Run(t.Context(), job, want); err != nil {
				t.Fatal(err)
			}
			var left []string
			unanswered, worst := 0, 0.0
			for i := range n {
				s := batch.Smoothness(got.Column(batch.ColSmoothness).U8[i])
				switch {
				case got.Marks[i] != batch.Answered:
					unanswered++
					if s != batch.NotDerived {
						t.Errorf("%s has no answer, and the smoothness %v", nameOf(job, i), s)
					}
				case s == batch.NotDerived:
					left = append(left, nameOf(job, i))
				default:
					worst = max(worst, compareDerivatives(t, job, want, got, i))
				}
			}
			if len(left)*200 > n || unanswered*20 > n {
				t.Errorf("%v, %+v: %d of %d rows have no answer, and the derivatives of %d are left: %q", p, d,
					unanswered, n, len(left), left[:min(len(left), 9)])
			}
			t.Logf("%v, %v, ε %g: %d rows, largest deviation %.1e, %d left", p, d.Mode, d.Epsilon, n, worst, len(left))
		}
	})
}

func nameOf(job *batch.Job, i int) string {
	var row batch.Row
	job.Input.Row(i, &row)
	return fmt.Sprintf("row %d (%v and %v at %g)", i, job.Library.Shape(row.ShapeA).Kind(),
		job.Library.Shape(row.ShapeB).Kind(), job.Results.Distance().At(i))
}

// compareDerivatives compares all columns of a row of two results. Numbers that are large belong to systems that are
// badly conditioned: the deviation is relative to the square of the largest, at least 1. Smoothed Hessians depend on
// the normal by 1/ε; it is polished to 1e-13, and exact to the rounding of witnesses over their distance.
func compareDerivatives(t *testing.T, job *batch.Job, want, got *batch.Results, i int) (deviation float64) {
	t.Helper()
	tolerance := 1e-11
	if d := &job.Options.Derivative; d.Mode == batch.GumbelDerivative {
		epsilon := d.Epsilon
		if epsilon == 0 { // of the size of the pair, but for unbounded shapes
			var row batch.Row
			job.Input.Row(i, &row)
			epsilon = 1e-2 * min(job.Library.Shape(row.ShapeA).BoundingRadius()+
				job.Library.Shape(row.ShapeB).BoundingRadius(), 1)
		}
		tolerance += (1e-13 + 4e-16/math.Abs(job.Results.Distance().At(i))) / epsilon
	}
	if got.Precision == batch.Single {
		tolerance = 0x1p-23
	}
	name := nameOf(job, i)
	a, b := want.Column(batch.ColSmoothness).U8[i], got.Column(batch.ColSmoothness).U8[i]
	if a != b {
		t.Errorf("%s: %v, by the host %v", name, batch.Smoothness(b), batch.Smoothness(a))
		return 0
	}
	for _, c := range (batch.DerivedColumns &^ batch.ColSmoothness).Each() {
		w := c.Info().Width
		scale, far := 1.0, 0.0
		for k := range w {
			x, y := want.Column(c).At(w*i+k), got.Column(c).At(w*i+k)
			scale = max(scale, math.Abs(x))
			far = max(far, math.Abs(x-y))
			if math.IsNaN(y) {
				far = math.Inf(1)
			}
		}
		far /= scale * scale
		deviation = max(deviation, far)
		if !(far <= tolerance) {
			t.Errorf("%s, %v, %v: deviation %.1e", name, batch.Smoothness(a), c, far)
		}
	}
	return deviation
}

// degenerate has pairs whose derivatives do not all exist, or hardly, and rows that are invalid.
func degenerate(t *testing.T) (*batch.Library, *batch.Pairs) {
	t.Helper()
	box := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1.5, Z: 2}}
	cube := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	ball, capsule := geom.Sphere{R: 0.5}, geom.Capsule{R: 0.3, HalfLength: 1}
	cylinder, cone := geom.Cylinder{R: 1, HalfLength: 1}, geom.Cone{R: 1, HalfLength: 1}
	ellipsoid := geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 3}}
	octahedron, err := geom.NewConvex([]r3.Vec{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}})
	if err != nil {
		t.Fatal(err)
	}
	at, xAxis := geom.Translate, r3.Vec{X: 1}
	tilted := func(z, angle float64) geom.Pose { return at(0, 0, z).Compose(geom.Rotate(xAxis, angle)) }
	cases := []struct {
		a, b geom.Shape
		pose geom.Pose // of B in the frame of A
	}{
		{ball, ball, at(2, 0, 0)}, {ball, ball, at(0, 0, 0)}, {ball, ball, at(0.7, 0, 0)},
		{ellipsoid, ellipsoid, at(0, 0, 0)}, {ellipsoid, ball, at(0, 0, 0)}, {ellipsoid, ball, at(4, 1, 1)},
		{box, cube, at(3, 0, 0)}, {box, cube, at(2, 0, 0)}, {box, cube, at(1.7, 0.2, 0.1)}, {box, cube, at(4, 4, 0)},
		{cube, cube, at(0, 0, 0)}, {cube, cube, at(4, 4.5, 5)}, {box, ball, at(3, 0.3, 0.4)},
		{box, ball, at(3, 1.5, 0.4)}, {box, ball, at(3, 1.5, 2)}, {cube, ball, at(0, 0, 0)},
		{cube, ball, at(0.9, 0.9, 0.2)}, {box, ball, at(0.9, 0.1, 0.2)},
		{capsule, capsule, at(2, 0, 0.5)}, {capsule, capsule, at(0, 0, 4)}, {capsule, capsule, tilted(0, 1)},
		{capsule, ball, at(2, 0, 1)}, {capsule, ball, at(0, 0, 0.3)}, {capsule, ball, at(2, 0, 0.3)},
		{cylinder, ball, at(0.2, 0.3, 2)}, {cylinder, ball, at(1, 0, 2)}, {cylinder, ball, at(2, 0, 0.2)},
		{cylinder, cylinder, at(3, 0, 0)}, {cylinder, cylinder, at(0, 0, 3)}, {cone, ball, at(0.1, 0, 3)},
		{geom.Halfspace{}, cylinder, at(0, 0, 2)}, {geom.Halfspace{}, cylinder, tilted(2, math.Pi/2)},
		{geom.Halfspace{}, cone, tilted(2, math.Pi)}, {geom.Halfspace{}, box, at(0, 0, 3)},
		{octahedron, ball, at(0, 0, 0)}, {octahedron, ball, at(0.3, 0.3, 0)}, {octahedron, ball, at(0.3, 0.25, 0.2)},
		{octahedron, ball, at(2, 0, 0)}, {octahedron, ball, at(2, 2, 2)}, {octahedron, octahedron, at(3, 0, 0)},
	}
	rng := rand.New(rand.NewPCG(33, 6))
	var shapes []geom.Shape
	pairs := batch.NewPairs(4 * len(cases))
	for i, c := range cases {
		shapes = append(shapes, c.a, c.b)
		for frame := range 4 {
			a := testkit.Pose(rng, 3)
			if frame < 2 {
				a = geom.IdentityPose()
			}
			b, err := a.Compose(c.pose).Normalized()
			if err != nil {
				t.Fatal(err)
			}
			row := batch.Row{ShapeA: int32(2 * i), ShapeB: int32(2*i + 1), PoseA: a, PoseB: b}
			switch frame {
			case 0:
				row.PoseA.Rotation.Real = math.NaN()
			case 3:
				row.ShapeA, row.ShapeB, row.PoseA, row.PoseB = row.ShapeB, row.ShapeA, row.PoseB, row.PoseA
			}
			pairs.SetRow(4*i+frame, &row)
		}
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib, pairs
}

// TestDegenerateDerivatives: the flags and numbers of degenerate rows are those of package derive, and rows that are
// invalid, or beyond a cut-off, have zeros in every column. The device leaves to the host pairs that touch, and those
// whose shapes without their balls do: three pairs here, of which one frame is invalid.
func TestDegenerateDerivatives(t *testing.T) {
	lib, pairs := degenerate(t)
	b := open(t, Options{})
	for _, o := range []batch.Options{{Precision: batch.Double}, {Precision: batch.Single},
		{Precision: batch.Double, HasCutOff: true, CutOff: 1}, {Precision: batch.Double, Query: batch.Penetration}} {
		job, got := derivedOf(t, b, lib, pairs, o)
		want := batch.NewResults(got.N, &batch.Options{Precision: o.Precision, Columns: batch.DerivedColumns})
		if err := new(derive.Pass).Run(t.Context(), job, want); err != nil {
			t.Fatal(err)
		}
		var count [batch.SmoothnessCount]int
		var left []string
		for i := range got.N {
			s := batch.Smoothness(got.Column(batch.ColSmoothness).U8[i])
			if s == batch.NotDerived {
				if got.Marks[i] == batch.Answered {
					left = append(left, nameOf(job, i))
					count[want.Column(batch.ColSmoothness).U8[i]]++
				}
				continue
			}
			count[s]++
			compareDerivatives(t, job, want, got, i)
			if batch.Status(got.Status()[i]) == batch.Invalid && s != batch.NoDerivative {
				t.Errorf("%s is invalid, and %v", nameOf(job, i), s)
			}
		}
		if count[batch.NoDerivative] < got.N/4 || count[batch.SmoothPair] == 0 || count[batch.UniqueFeatures] == 0 ||
			count[batch.NotUnique] == 0 || count[batch.NearSingular] == 0 || len(left) > 3*3 {
			t.Errorf("%+v: rows by smoothness: %v; left to the host: %q", o, count, left)
		}
	}
}

// kept is a back end that the dispatcher does not close.
type kept struct{ *Backend }

func (kept) Close() error { return nil }

// TestDerivativeQueries: the derivatives of a call on the device are those of package derive over its answers; they
// have the same bits in chunks, in another order, in a held batch and whatever columns are asked for.
func TestDerivativeQueries(t *testing.T) {
	lib, pairs := pairsAtGaps(t, 0.05, -0.02)
	n := pairs.Len()
	reversed := batch.NewPairs(n)
	var row batch.Row
	for i := range n {
		pairs.Row(n-1-i, &row)
		reversed.SetRow(i, &row)
	}
	b := open(t, Options{ChunkRows: 2048})
	d := dispatch.New(kept{b}, processor(t))
	defer d.Close()
	d.SetDifferentiator(&derive.Differentiator{})
	ask := func(in batch.Input, columns batch.Columns, rows int) *batch.Results {
		t.Helper()
		job := &batch.Job{Library: lib, Input: in, Options: batch.Options{Precision: batch.Double, Columns: columns}}
		if _, err := d.Run(t.Context(), job, dispatch.Options{Backend: b.Name(), ChunkRows: rows}); err != nil {
			t.Fatal(err)
		}
		return job.Results
	}
	all := derive.Needs | batch.ColGap | batch.DerivedColumns
	got := ask(pairs, all, 0)
	if derived := b.Stats().Derived; derived < int64(n/2) {
		t.Errorf("the device derived %d of %d rows", derived, n)
	}
	job := &batch.Job{Library: lib, Input: pairs, Results: got}
	want := batch.NewResults(n, &batch.Options{Precision: batch.Double, Columns: batch.DerivedColumns})
	if err := new(derive.Pass).Run(t.Context(), job, want); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		compareDerivatives(t, job, want, got, i)
	}
	same := func(name string, other *batch.Results, place func(i int) int) {
		t.Helper()
		for i := range n {
			if c := got.Differs(i, other, place(i)); c != 0 {
				t.Fatalf("%s: %v of %s has other bits", name, c, nameOf(job, i))
			}
		}
	}
	identity := func(i int) int { return i }
	same("chunks", ask(pairs, all, 192), identity)
	same("another order", ask(reversed, all, 0), func(i int) int { return n - 1 - i })
	same("one column", ask(pairs, batch.ColDWitnessA, 0), identity)
	held, err := d.Hold(t.Context(), lib, pairs, batch.Options{Precision: batch.Double, Columns: all},
		dispatch.Options{Backend: b.Name()})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if ok, why := held.Resident(); !ok {
		t.Fatalf("not resident: %s", why)
	}
	for range 2 {
		out, _, err := held.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same("a held batch", out, identity)
	}
}

// inChunks runs a test with whole calls in memory that host and device share, and then in chunks, with copies.
func inChunks(t *testing.T, test func(t *testing.T, b *Backend)) {
	eachPath(t, func(t *testing.T, o Options) {
		if o.staged {
			o.ChunkRows = 128
		}
		test(t, open(t, o))
	})
}

// multiply takes a product on a device. The rows or worlds that are left to the host are few, and with all results the
// same bits as in an earlier run, if there was one.
func multiply(t *testing.T, b *Backend, job *batch.Job, p *batch.Product, rows int,
	earlier *batch.Product) (left []int) {
	t.Helper()
	left, err := b.Multiply(t.Context(), job, p)
	if err != nil {
		t.Fatal(err)
	}
	if len(left)*100 > rows {
		t.Errorf("kind %d: %d of %d left to the host", p.Kind, len(left), rows)
	}
	if earlier.Results != nil && !slices.Equal(p.Results, earlier.Results) {
		t.Errorf("kind %d: other bits in chunks", p.Kind)
	}
	*earlier = *p
	earlier.Results = slices.Clone(p.Results)
	return left
}

// compareProducts compares rows of a width, but those that are left.
func compareProducts(t *testing.T, got, want *batch.Product, width int, left []int, name func(i int) string) {
	t.Helper()
	for i := range len(want.Results) / width {
		scale, far := 1.0, 0.0
		for k := width * i; k < width*(i+1); k++ {
			scale = max(scale, math.Abs(want.Results[k]))
			far = max(far, math.Abs(got.Results[k]-want.Results[k]))
		}
		if !(far <= 1e-10*scale*scale) && !slices.Contains(left, i) {
			t.Errorf("kind %d, %s: deviation %.1e", got.Kind, name(i), far)
		}
	}
}

// complete takes a product through a dispatcher, in which the CPU answers what the device declines, and returns the
// number of rows whose answers stayed on the device.
func complete(t *testing.T, b *Backend, job *batch.Job, p *batch.Product) int {
	t.Helper()
	d := dispatch.New(kept{b}, processor(t))
	defer d.Close()
	d.SetDifferentiator(&derive.Differentiator{})
	n, err := d.Multiply(t.Context(), job, p, dispatch.Options{Backend: b.Name()})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestProducts: products on the device are those of package derive from answers of the same device; they have the same
// bits in chunks.
func TestProducts(t *testing.T) {
	lib, pairs := pairsAtGaps(t, 0.05, -0.02)
	n := pairs.Len()
	rng := rand.New(rand.NewPCG(33, 7))
	smoothed := batch.Derivative{Mode: batch.GumbelDerivative, Epsilon: 0.3}
	var operands [4][]float64
	var earlier [4]batch.Product
	inChunks(t, func(t *testing.T, b *Backend) {
		for k, c := range []struct {
			kind batch.ProductKind
			d    batch.Derivative
		}{{batch.VJP, batch.Derivative{}}, {batch.ValueVJP, batch.Derivative{}}, {batch.JVP, batch.Derivative{}},
			{batch.VJP, smoothed}} {
			in, out := c.kind.Widths()
			for len(operands[k]) < in*n {
				operands[k] = append(operands[k], rng.NormFloat64())
			}
			job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Precision: batch.Double,
				Derivative: c.d, Columns: derive.Needs | batch.ColGap}}
			run(t, job, dispatch.Options{}, kept{b}, processor(t))
			got := batch.Product{Kind: c.kind, Operands: operands[k], Results: make([]float64, out*n)}
			want := batch.Product{Kind: c.kind, Operands: operands[k], Results: make([]float64, out*n)}
			left := multiply(t, b, job, &got, n, &earlier[k])
			if err := (&derive.Pass{Options: c.d}).Multiply(t.Context(), job, &want); err != nil {
				t.Fatal(err)
			}
			name := func(i int) string { return nameOf(job, i) }
			compareProducts(t, &got, &want, out, left, name)
			kept := complete(t, b, job, &got)
			compareProducts(t, &got, &want, out, nil, name)
			if kept+len(left) != n {
				t.Errorf("kind %d: the device kept %d rows of %d, and left %d", c.kind, kept, n, len(left))
			}
		}
	})
}

// TestBodyGradients: the gradients of worlds by body are those of derive.Pass.RolloutVJP; they have the same bits in
// chunks, and alone they are read.
func TestBodyGradients(t *testing.T) {
	forms := conformance.Forms()
	rng := rand.New(rand.NewPCG(33, 8))
	const m, worlds = 12, 40
	var shapes []geom.Shape
	var parts []batch.Body
	w := &batch.Worlds{}
	for i := range m {
		shapes = append(shapes, forms[i].Shape())
		parts = append(parts, batch.Body{Parts: []batch.Part{{Shape: int32(i), Pose: geom.IdentityPose()}}})
		w.Shapes = append(w.Shapes, int32(i))
		for k := range i {
			if (i+k)%3 != 0 {
				w.TemplateA, w.TemplateB = append(w.TemplateA, int32(k)), append(w.TemplateB, int32(i))
			}
		}
	}
	for range worlds * m {
		p := testkit.Pose(rng, 0.8)
		q := p.Rotation
		w.Poses = append(w.Poses, p.Position.X, p.Position.Y, p.Position.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := batch.NewBodies(lib, parts)
	if err != nil {
		t.Fatal(err)
	}
	ofBodies := *w
	ofBodies.Shapes, ofBodies.Bodies = nil, w.Shapes
	n := w.Len()
	var operands [2][]float64
	var earlier [2]batch.Product
	inChunks(t, func(t *testing.T, b *Backend) {
		for k, kind := range []batch.ProductKind{batch.VJP, batch.ValueVJP} {
			in, _ := kind.Widths()
			for len(operands[k]) < in*n {
				operands[k] = append(operands[k], rng.NormFloat64())
			}
			job := &batch.Job{Library: lib, Input: w, Options: batch.Options{Precision: batch.Double,
				Columns: derive.Needs | batch.ColGap}}
			got := batch.Product{Kind: kind, Operands: operands[k], Sums: &batch.Sums{},
				Results: make([]float64, batch.BodyWidth*worlds*m)}
			before := b.Stats().BytesDown
			left := multiply(t, b, job, &got, worlds, &earlier[k])
			if read, bytes := b.Stats().BytesDown-before, int64(worlds*m*(8*batch.BodyWidth+4)); read != bytes {
				t.Errorf("kind %d: %d bytes are read, want %d", kind, read, bytes)
			}
			run(t, job, dispatch.Options{}, kept{b}, processor(t))
			want := batch.Product{Results: make([]float64, len(got.Results))}
			r := derive.Rollout{Options: batch.RolloutOptions{Options: job.Options}}
			r.Bodies, r.Worlds = bodies, &ofBodies
			r.Results = &batch.RolloutResults{Results: job.Results, PartA: make([]int32, n), PartB: make([]int32, n)}
			if err := new(derive.Pass).RolloutVJP(t.Context(), &r, operands[k], want.Results); err != nil {
				t.Fatal(err)
			}
			name := func(i int) string { return fmt.Sprintf("world %d", i) }
			compareProducts(t, &got, &want, batch.BodyWidth*m, left, name)
			complete(t, b, job, &got)
			compareProducts(t, &got, &want, batch.BodyWidth*m, nil, name)
		}
	})
}

var (
	structuredPoses = flag.Int("structured.poses", 200, "poses of TestStructuredDerivatives")
	structuredFirst = flag.Int("structured.first", 0, "number of the block of 400 poses that it begins with")
)

// TestStructuredDerivatives draws poses with symmetries of all kinds with all kinds, in several frames of the world.
// The smoothness that the device states is that of package derive, exact and with Gumbel smoothing, and the same in all
// frames in which it decides the row. Rows that it leaves to the host have that of the host.
func TestStructuredDerivatives(t *testing.T) {
	names, shapes := testkit.StructuredShapes()
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, Options{Timeout: time.Hour}) // a device of software beside other work
	const block = 400
	for seed := 0; seed*block < *structuredPoses; seed++ {
		rng := rand.New(rand.NewPCG(45, uint64(*structuredFirst+seed)))
		n := min(block, *structuredPoses-seed*block)
		pairs := batch.NewPairs(n * testkit.WorldFrames)
		var drawn []string
		for i := range n {
			s := testkit.DrawStructured(rng, names, shapes)
			drawn = append(drawn, s.Name)
			for k, frame := range testkit.WorldPoses(rng) {
				row := batch.Row{ShapeA: int32(s.A), ShapeB: int32(s.B)}
				row.PoseA, row.PoseB = s.In(frame)
				pairs.SetRow(i*testkit.WorldFrames+k, &row)
			}
		}
		for _, mode := range []batch.DerivativeMode{batch.ExactDerivative, batch.GumbelDerivative} {
			o := batch.Options{Precision: batch.Double, Tolerance: 1e-12, Derivative: batch.Derivative{Mode: mode}}
			job, got := derivedOf(t, b, lib, pairs, o)
			want := batch.NewResults(got.N, &batch.Options{Precision: o.Precision, Columns: batch.DerivedColumns})
			if err := (&derive.Pass{Options: o.Derivative}).Run(t.Context(), job, want); err != nil {
				t.Fatal(err)
			}
			flags, device := want.Column(batch.ColSmoothness).U8, got.Column(batch.ColSmoothness).U8
			first := make([]batch.Smoothness, n)
			stated := 0
			for i, f := range flags {
				name := drawn[i/testkit.WorldFrames]
				if s := batch.Smoothness(device[i]); s != batch.NotDerived {
					stated++
					if device[i] != f {
						t.Errorf("%s, %v: %v, package derive says %v", name, mode, s, batch.Smoothness(f))
					}
				}
				if s := batch.Smoothness(f); s != batch.NoDerivative { // the device does not decide all frames
					at := i / testkit.WorldFrames
					if first[at] == batch.NoDerivative {
						first[at] = s
					} else if s != first[at] {
						t.Errorf("%s, %v: %v, in another frame %v", name, mode, s, first[at])
					}
				}
			}
			if stated < got.N/3 {
				t.Errorf("%v: the device states the smoothness of %d of %d rows", mode, stated, got.N)
			}
		}
	}
}
