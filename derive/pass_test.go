package derive

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/kernels"
	kernel "clearance/kernels/derive"
)

// jobOfTest has pairs of all kinds with the answers of the reference, and rows without one: undecided, invalid by its
// quaternion, beyond a cut-off.
func jobOfTest(t *testing.T, precision batch.Precision) *batch.Job {
	t.Helper()
	named := shapesOfTest(t)
	var shapes []geom.Shape
	for _, name := range kindNames {
		shapes = append(shapes, named[name])
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = 600
	pairs := batch.NewPairs(n)
	o := batch.Options{Precision: precision, HasCutOff: true, CutOff: 1}
	out := batch.NewResults(n, &o)
	rng := rand.New(rand.NewPCG(9, 9))
	for i := range n {
		a, b := rng.IntN(len(shapes)), rng.IntN(len(shapes))
		if kindNames[a] == "halfspace" {
			a = 0
		}
		r := placedAtGap(rng, shapes[a], shapes[b], []float64{0.3, -0.02, 2}[i%3])
		row := batch.Row{ShapeA: int32(a), ShapeB: int32(b), PoseA: r.PoseA, PoseB: r.PoseB}
		answer := batch.Answer{Status: batch.Separated, Distance: r.Value, Lower: r.Value - r.Gap,
			Upper:  r.Value + r.Gap,
			Normal: r.Normal, WitnessA: r.WitnessA, WitnessB: r.WitnessB}
		if r.Value < 0 {
			answer.Status = batch.Penetrating
		}
		switch {
		case i%50 == 7:
			answer.Status = batch.Undecided // with numbers left over
		case i%50 == 8:
			row.PoseA.Rotation.Real = math.NaN()
		}
		pairs.SetRow(i, &row)
		out.Put(i, &answer)
	}
	return &batch.Job{Library: lib, Input: pairs, Options: o, Results: out}
}

// TestPass: the columns are those of the rows one by one, whatever the number of goroutines and the cut into jobs;
// rows without an answer are zero.
func TestPass(t *testing.T) {
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		job := jobOfTest(t, precision)
		n := job.Results.N
		for _, o := range []Options{{}, {Mode: Gumbel}, {Mode: Gaussian, Seed: 4}} {
			whole := newDerivatives(n, batch.DerivedColumns)
			pass := Pass{Options: o, Workers: 1}
			if err := pass.Run(context.Background(), job, whole); err != nil {
				t.Fatal(err)
			}
			checkRows(t, job, &o, whole)
			const cut = 320
			for _, part := range []struct{ lo, hi int }{{0, cut}, {cut, n}} {
				some := newDerivatives(part.hi-part.lo, batch.DerivedColumns)
				p := Pass{Options: o, Workers: 3, FirstRow: uint64(part.lo)}
				err := p.Run(context.Background(), &batch.Job{Library: job.Library, Options: job.Options,
					Input:   job.Input.(*batch.Pairs).Slice(part.lo, part.hi),
					Results: job.Results.Slice(part.lo, part.hi)}, some)
				if err != nil {
					t.Fatal(err)
				}
				for i := range some.N {
					if c := some.Differs(i, whole, part.lo+i); c != 0 {
						t.Fatalf("%v, %v: column %v differs in parts", precision, o.Mode, c)
					}
				}
			}
		}
	}
}

func checkRows(t *testing.T, job *batch.Job, o *Options, got *batch.Results) {
	t.Helper()
	full := 0
	for i := range got.N {
		state := Smoothness(got.Column(batch.ColSmoothness).U8[i])
		failed := i%50 == 7 || i%50 == 8 || i%3 == 2
		if failed != (state == None) {
			t.Errorf("row %d: %v", i, state)
		}
		if state.Full() {
			full++
		}
		for _, c := range (batch.DerivedColumns &^ batch.ColSmoothness).Each() {
			w := c.Info().Width
			for _, v := range got.Column(c).F64[w*i : w*i+w] {
				if math.IsNaN(v) || math.IsInf(v, 0) ||
					v != 0 && (state == None || c != batch.ColDDistance && !state.Full()) {
					t.Fatalf("row %d (%v): column %v has %g", i, state, c, v)
				}
			}
		}
	}
	if full < got.N/2 {
		t.Errorf("%v: %d of %d rows with all derivatives", o.Mode, full, got.N)
	}
}

// TestStale: arrays that hold numbers of an earlier call are overwritten, those of rows without an answer by zeros.
func TestStale(t *testing.T) {
	job := jobOfTest(t, batch.Double)
	n := job.Results.N
	for _, variant := range append(kernel.Variants(), "off") {
		for _, o := range []Options{{}, {Mode: Gumbel}, {Mode: Gaussian}} {
			p := Pass{Options: o, SIMD: variant}
			fresh, out := newDerivatives(n, batch.DerivedColumns), newDerivatives(n, batch.DerivedColumns)
			for _, c := range batch.DerivedColumns.Each() {
				column := out.Column(c)
				for i := range column.F64 {
					column.F64[i] = math.NaN()
				}
				for i := range column.U8 {
					column.U8[i] = uint8(Smooth)
				}
			}
			var products [4][]float64
			for k, width := range []int{TwistWidth, AnswerWidth} {
				products[k], products[k+2] = make([]float64, width*n), make([]float64, width*n)
				for i := range products[k] {
					products[k][i] = math.NaN()
				}
			}
			ones := make([]float64, TwistWidth*n)
			for i := range ones {
				ones[i] = 1
			}
			ctx := t.Context()
			err := errors.Join(p.Run(ctx, job, fresh), p.Run(ctx, job, out),
				p.VJP(ctx, job, ones[:AnswerWidth*n], products[0]), p.VJP(ctx, job, ones[:AnswerWidth*n], products[2]),
				p.JVP(ctx, job, ones, products[1]), p.JVP(ctx, job, ones, products[3]))
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if c := out.Differs(i, fresh, i); c != 0 {
					t.Fatalf("%s, %v, row %d: column %v has earlier numbers", variant, o.Mode, i, c)
				}
			}
			if !slices.Equal(products[0], products[2]) || !slices.Equal(products[1], products[3]) {
				t.Errorf("%s, %v: products have earlier numbers", variant, o.Mode)
			}
		}
	}
}

// TestOrder: rows in the other order have the same bits, of every kind with every kind, by every variant and in Go.
func TestOrder(t *testing.T) {
	job := jobOfTest(t, batch.Double)
	n := job.Results.N
	pairs, results := batch.NewPairs(n), batch.NewResults(n, &job.Options)
	for i := range n {
		var row batch.Row
		job.Input.Row(n-1-i, &row)
		pairs.SetRow(i, &row)
		results.CopyRow(i, job.Results, n-1-i, batch.AllColumns)
	}
	reversed := &batch.Job{Library: job.Library, Input: pairs, Options: job.Options, Results: results}
	for _, variant := range append(kernel.Variants(), "off") {
		for _, o := range []Options{{}, {Mode: Gumbel}} {
			p := Pass{Options: o, Workers: 2, SIMD: variant}
			got, again := newDerivatives(n, batch.DerivedColumns), newDerivatives(n, batch.DerivedColumns)
			if err := errors.Join(p.Run(t.Context(), job, got), p.Run(t.Context(), reversed, again)); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if c := got.Differs(i, again, n-1-i); c != 0 {
					t.Fatalf("%s, %v, row %d: column %v depends on the order", variant, o.Mode, i, c)
				}
			}
		}
	}
}

// TestPassProducts holds both products to the columns.
func TestPassProducts(t *testing.T) {
	job := jobOfTest(t, batch.Double)
	checkProducts(t, job)
	checkProducts(t, growthJob(t, job.Results.N))
}

func checkProducts(t *testing.T, job *batch.Job) {
	t.Helper()
	n := job.Results.N
	rng := rand.New(rand.NewPCG(1, 1))
	cotangents, twists := make([]float64, AnswerWidth*n), make([]float64, TwistWidth*n)
	for i := range cotangents {
		cotangents[i] = rng.NormFloat64()
	}
	for i := range twists {
		twists[i] = rng.NormFloat64()
	}
	gradients, tangents := make([]float64, TwistWidth*n), make([]float64, AnswerWidth*n)
	ctx := context.Background()
	var pass Pass
	out := newDerivatives(n, batch.DerivedColumns)
	for _, err := range []error{pass.VJP(ctx, job, cotangents, gradients), pass.JVP(ctx, job, twists, tangents),
		pass.Run(ctx, job, out)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		var jacobian []float64
		for _, c := range (batch.DerivedColumns &^ (batch.ColCurvature | batch.ColSmoothness)).Each() {
			w := c.Info().Width
			jacobian = append(jacobian, out.Column(c).F64[w*i:w*i+w]...)
		}
		scale := 1.0
		for _, v := range jacobian {
			scale = max(scale, math.Abs(v))
		}
		tolerance := 1e-9 * scale * scale
		for k := range TwistWidth {
			sum := 0.0
			for c := range AnswerWidth {
				sum += cotangents[AnswerWidth*i+c] * jacobian[12*c+k]
			}
			if got := gradients[TwistWidth*i+k]; !(math.Abs(got-sum) <= tolerance) {
				t.Fatalf("row %d: gradient %d is %g, by the columns %g", i, k, got, sum)
			}
		}
		for c := range AnswerWidth {
			sum := 0.0
			for k := range TwistWidth {
				sum += twists[TwistWidth*i+k] * jacobian[12*c+k]
			}
			if got := tangents[AnswerWidth*i+c]; !(math.Abs(got-sum) <= tolerance) {
				t.Fatalf("row %d: tangent %d is %g, by the columns %g", i, c, got, sum)
			}
		}
	}
}

// TestPassRefuses names what is missing.
func TestPassRefuses(t *testing.T) {
	good := jobOfTest(t, batch.Single)
	for name, c := range map[string]struct {
		change func(p *Pass, j *batch.Job)
		want   string
	}{
		"query":   {func(_ *Pass, j *batch.Job) { j.Options.Query = batch.Collide }, "status"},
		"columns": {func(_ *Pass, j *batch.Job) { j.Results.Drop(batch.ColNormal) }, "normal"},
		"rows":    {func(_ *Pass, j *batch.Job) { j.Input = batch.NewPairs(1) }, "1 pairs"},
		"options": {func(p *Pass, _ *batch.Job) { p.Epsilon = -1 }, "epsilon"},
	} {
		job := *good
		job.Results = good.Results.Slice(0, good.Results.N)
		var pass Pass
		c.change(&pass, &job)
		err := pass.Run(context.Background(), &job, newDerivatives(job.Results.N, batch.ColDDistance))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	var pass Pass
	if err := pass.VJP(context.Background(), good, make([]float64, 3), nil); err == nil {
		t.Error("arrays of wrong lengths are accepted")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := pass.Run(ctx, good, newDerivatives(good.Results.N, batch.ColDDistance)); err == nil {
		t.Error("a cancelled call reports no error")
	}
}

// TestPassZeroth: order zero by the reference.
func TestPassZeroth(t *testing.T) {
	job := jobOfTest(t, batch.Double)
	job.Input, job.Results = job.Input.(*batch.Pairs).Slice(0, 12), job.Results.Slice(0, 12)
	pass := Pass{Options: Options{Mode: Zeroth, Samples: 5}}
	out := newDerivatives(12, batch.DerivedColumns)
	if err := pass.Run(context.Background(), job, out); err != nil {
		t.Fatal(err)
	}
	for i, s := range out.Column(batch.ColSmoothness).U8 {
		if want := i%3 != 2 && i != 7 && i != 8; want != (Smoothness(s) == Smoothed) {
			t.Errorf("row %d: %v", i, Smoothness(s))
		}
	}
}

// newDerivatives are columns of derivatives of n rows in double precision.
func newDerivatives(n int, c batch.Columns) *batch.Results {
	return batch.NewResults(n, &batch.Options{Columns: c, Precision: batch.Double})
}

// TestDistanceAlone: without other columns, derivatives of the value are those of normal and witnesses as they are,
// and near those of the polished answer.
func TestDistanceAlone(t *testing.T) {
	for _, query := range []batch.Query{batch.Distance, batch.Growth} {
		job := jobOfTest(t, batch.Double)
		n := job.Results.N
		if query == batch.Growth {
			job = growthJob(t, n)
		}
		alone := newDerivatives(n, batch.ColDDistance)
		checked := newDerivatives(n, batch.ColDDistance|batch.ColSmoothness)
		var pass Pass
		for _, out := range []*batch.Results{alone, checked} {
			if err := pass.Run(context.Background(), job, out); err != nil {
				t.Fatal(err)
			}
		}
		far, compared, certified := 0.0, 0, 0
		for i := range n {
			x := alone.Column(batch.ColDDistance).F64[12*i : 12*i+12]
			y := checked.Column(batch.ColDDistance).F64[12*i : 12*i+12]
			if state := Smoothness(checked.Column(batch.ColSmoothness).U8[i]); !state.Full() {
				if state == None && slices.ContainsFunc(x, func(v float64) bool { return v != 0 }) {
					t.Errorf("%v, row %d (%v): %v", query, i, state, x)
				}
				continue
			}
			compared++
			for k := range x {
				far = max(far, math.Abs(x[k]-y[k]))
			}
			if bound := normalBound(job, i); query == batch.Distance && bound < 1 {
				certified++
				if d := math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2]); !(d <= bound+1e-12) {
					t.Errorf("row %d: the normals differ by %g, proved %g", i, d, bound)
				}
			}
		}
		// The answers are those of tolerances of up to 1e-8: normals have the root of it.
		if !(far < 1e-3) || compared < n/3 || query == batch.Distance && certified < n/4 {
			t.Errorf("%v: %d rows, %d certified, largest difference %g", query, compared, certified, far)
		}
	}
}

// growthJob has growth distances of pairs of all kinds but half-spaces.
func growthJob(t *testing.T, n int) *batch.Job {
	job := jobOfTest(t, batch.Double)
	job.Options = batch.Options{Query: batch.Growth, Precision: batch.Double}
	job.Results = batch.NewResults(n, &job.Options)
	var row batch.Row
	for i := range n {
		if _, err := job.Read(i, &row); err != nil {
			continue
		}
		r := solveGrowth(job.Library.Shape(row.ShapeA), job.Library.Shape(row.ShapeB), row.PoseA, row.PoseB)
		if r.Answered {
			job.Results.Put(i, &batch.Answer{Distance: r.Value, Lower: r.Value - r.Gap, Upper: r.Value + r.Gap,
				Normal: r.Normal, WitnessA: r.WitnessA, WitnessB: r.WitnessB})
		}
	}
	return job
}

// normalBound is NormalBound of row i of a job.
func normalBound(job *batch.Job, i int) float64 {
	out := job.Results
	return geom.NormalBound(out.Distance().At(i), float64(out.Gap()[i]), 1e-14, out.Normal().Vec(i),
		out.WitnessA().Vec(i), out.WitnessB().Vec(i))
}

// TestReportedValues holds the kernel of values alone to Go: rows that a back end has checked and others, with every
// reason for a row to have no derivative.
func TestReportedValues(t *testing.T) {
	for _, precision := range []batch.Precision{batch.Double, batch.Single} {
		distance := jobOfTest(t, precision)
		spoil(distance)
		compareValues(t, distance, map[batch.Precision]float64{batch.Double: 1e-15, batch.Single: 1e-7}[precision])
	}
	growth := growthJob(t, jobOfTest(t, batch.Double).Results.N)
	spoil(growth)
	compareValues(t, growth, 1e-13)
}

// spoil makes of some rows what has no derivative, and of others what few have.
func spoil(job *batch.Job) {
	out, pairs := job.Results, job.Input.(*batch.Pairs)
	normal, witness := out.Normal(), out.WitnessB()
	half := int32(slices.IndexFunc(kindNames, func(name string) bool { return name == "halfspace" }))
	for i := 0; i < out.N; i += 31 {
		switch (i / 31) % 10 {
		case 0:
			n := normal.Vec(i)
			normal.SetReals(i, []float64{1.01 * n.X, 1.01 * n.Y, 1.01 * n.Z})
		case 1:
			witness.SetReals(i, []float64{0, math.NaN(), 0})
		case 2:
			witness.SetReals(i, []float64{0, 0, math.Inf(1)})
		case 3:
			out.Gap()[i] = 0.5
		case 4: // within the scale of the shapes, not of the distance
			out.Gap()[i] = 2e-4
		case 5:
			pairs.ShapeA[i], pairs.ShapeB[i] = half, half
		case 6:
			pairs.PositionB[3*i] = 1e10
		case 7:
			pairs.RotationA[4*i] *= 3 // not unit
		case 8:
			out.Distance().SetReals(i, []float64{math.Inf(1)})
		case 9:
			pairs.ShapeB[i] = 1 << 20
			out.Status()[i] = uint8(batch.Invalid)
		}
	}
	out.Marks = make([]uint8, out.N)
	for i := range out.Marks {
		out.Marks[i] = batch.Answered
	}
	out.Marks[5] = batch.Answered + 1
}

// compareValues compares every variant of the kernel with Go, to a tolerance relative to the largest number of a row.
func compareValues(t *testing.T, job *batch.Job, tolerance float64) {
	t.Helper()
	n := job.Results.N
	for _, valid := range []bool{false, true} {
		run := func(variant string) *batch.Values {
			r := newRows(job, 0, job.Results)
			if r.valid = valid; valid {
				r.answers = withoutInvalid(job)
			}
			o := batch.Options{Columns: batch.ColDDistance, Precision: job.Options.Precision}
			out := batch.NewResults(n, &o)
			for i := range 12 * n {
				out.Column(batch.ColDDistance).Set(i, 7)
			}
			pass := Pass{SIMD: variant}
			if err := pass.fill(context.Background(), r, out); err != nil {
				t.Fatal(err)
			}
			return out.Column(batch.ColDDistance)
		}
		want := run("off")
		if zeros := countZeros(want); zeros < 40 || zeros > n/2 {
			t.Errorf("%d of %d rows have no derivative", zeros, n)
		}
		for _, variant := range kernel.Variants() {
			got := run(variant)
			for i := range n {
				scale, far := 1.0, 0.0
				for k := 12 * i; k < 12*i+12; k++ {
					scale = max(scale, math.Abs(want.At(k)))
					far = max(far, math.Abs(want.At(k)-got.At(k)))
				}
				if !(far <= tolerance*scale) {
					t.Errorf("%v, %s, valid %v, row %d: deviation %g", job.Options.Query, variant, valid, i, far)
				}
			}
		}
	}
}

// withoutInvalid is a copy of the answers in which rows that a back end refuses have no answer.
func withoutInvalid(job *batch.Job) *batch.Results {
	out := *job.Results
	out.Marks = slices.Clone(out.Marks)
	var row batch.Row
	for i := range out.N {
		if _, err := job.Read(i, &row); err != nil {
			out.Marks[i] = batch.Answered + 1
		}
	}
	return &out
}

// countZeros counts the rows of twelve zeros.
func countZeros(v *batch.Values) (count int) {
	for i := 0; i < v.Len(); i += 12 {
		sum := 0.0
		for k := range 12 {
			sum += math.Abs(v.At(i + k))
		}
		if sum == 0 {
			count++
		}
	}
	return count
}

// TestWorldsAsPairs: derivatives of the rows of worlds are those of the same pairs, bit by bit, from any row on.
func TestWorldsAsPairs(t *testing.T) {
	shapes := []geom.Shape{geom.Sphere{R: 0.3}, geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.4}},
		geom.Capsule{R: 0.1, HalfLength: 0.4}}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	worlds := &batch.Worlds{Shapes: []int32{1, 0, 2, 1}, TemplateA: []int32{0, 1, 3}, TemplateB: []int32{2, 2, 1}}
	const count = 150
	for w := range count {
		for k := range 4 {
			p := geom.Pose{Position: r3.Vec{X: float64(2 * k), Y: 0.01 * float64(w)},
				Rotation: quat.Number{Real: 2, Imag: float64(k), Jmag: 0.01 * float64(w)}} // not unit
			worlds.Poses = appendPose(worlds.Poses, p)
		}
	}
	n := worlds.Len()
	pairs := batch.NewPairs(n)
	o := batch.Options{Precision: batch.Double}
	answers := batch.NewResults(n, &o)
	var row batch.Row
	for i := range n {
		worlds.Row(i, &row)
		pairs.SetRow(i, &row)
		a, _ := row.PoseA.Normalized()
		b, _ := row.PoseB.Normalized()
		r := solve(lib.Shape(row.ShapeA), lib.Shape(row.ShapeB), a, b)
		answers.Put(i, &batch.Answer{Status: batch.Separated, Distance: r.Value, Lower: r.Value, Upper: r.Value,
			Normal: r.Normal, WitnessA: r.WitnessA, WitnessB: r.WitnessB})
	}
	const first = 1
	later := batch.NewResults(n-first, &o)
	later.CopyRows(0, answers, first, n-first, answers.Columns)
	for _, columns := range []batch.Columns{batch.ColDDistance, batch.DerivedColumns} {
		var got [2]*batch.Results
		for k, input := range []batch.Input{pairs, worlds} {
			job := &batch.Job{Library: lib, Input: input, Options: o, Results: answers}
			got[k] = newDerivatives(n-first, columns)
			if err := new(Pass).fill(t.Context(), newRows(job, first, later), got[k]); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range columns.Each() {
			if a, b := got[0].Column(c), got[1].Column(c); !slices.Equal(a.F64, b.F64) || !slices.Equal(a.U8, b.U8) {
				t.Errorf("%v of worlds are not those of pairs", c)
			}
		}
		if countZeros(got[1].Column(batch.ColDDistance)) != 0 {
			t.Error("rows have no derivative")
		}
	}
}

// endingContext ends when it is asked for the given number of times, and counts how often it is asked.
type endingContext struct {
	context.Context
	end   context.CancelFunc
	after int64
	asked atomic.Int64
}

func newEndingContext(parent context.Context, after int64) *endingContext {
	ctx, end := context.WithCancel(parent)
	return &endingContext{Context: ctx, end: end, after: after}
}

func (c *endingContext) Err() error {
	if c.asked.Add(1) >= c.after {
		c.end()
	}
	return c.Context.Err()
}

// TestStopInSamples: a context that ends in the samples of one row ends them, in Go after at most another sample. A row
// would take minutes.
func TestStopInSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 4))
	hull := testkit.Hull(rng, r3.Vec{X: 0.5, Y: 0.3, Z: 0.4}, 2000)
	job := jobOf(t, []Row{placedAtGap(rng, hull, hull, 0.1)}, batch.Double)
	out := newDerivatives(1, batch.DerivedColumns)
	for _, mode := range []Mode{Gaussian, Zeroth} {
		ctx := newEndingContext(t.Context(), 40)
		pass := Pass{Options: Options{Mode: mode, Samples: batch.MaxDerivativeSamples}, Workers: 1, SIMD: "off"}
		if err := pass.Run(ctx, job, out); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v", mode, err)
		}
		if n := ctx.asked.Load(); n < ctx.after || n > ctx.after+10 {
			t.Errorf("%v: the context was asked %d times, and ended at %d", mode, n, ctx.after)
		}
	}
}

// TestStopInKernel: the kernel takes no sample once its context has ended.
func TestStopInKernel(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 5))
	hull := testkit.Hull(rng, r3.Vec{X: 0.5, Y: 0.3, Z: 0.4}, 200)
	box := geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}}
	job := jobOf(t, []Row{placedAtGap(rng, hull, hull, 0.1), placedAtGap(rng, box, hull, 0.1)}, batch.Double)
	for _, variant := range kernel.Variants() {
		for _, ended := range []bool{false, true} {
			ctx, end := context.WithCancel(t.Context())
			samples := 30
			if ended {
				end()
				samples = batch.MaxDerivativeSamples
			}
			out := newDerivatives(2, batch.DerivedColumns)
			call := kernel.Call{Job: job, Answers: job.Results, Out: out, Variant: variant,
				Derivative: Options{Mode: Gaussian, Samples: samples}}
			release := call.StopWith(ctx)
			s := kernel.NewSolver(kernels.ShapesOf(job.Library), &call)
			s.Run(0, 2)
			s.Close()
			release()
			end()
			// A sum of no samples is 0, and so is the curvature of a polytope.
			for i := range 2 {
				sampled := slices.ContainsFunc(out.Column(batch.ColCurvature).F64[6*i:6*i+6], func(v float64) bool {
					return v != 0
				})
				if sampled == ended {
					t.Errorf("%s, row %d, ended %v: sampled %v", variant, i, ended, sampled)
				}
			}
		}
	}
}
