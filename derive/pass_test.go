package derive

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/derive/lanes"
	"clearance/geom"
	"clearance/verify"
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
	for _, variant := range append(lanes.Variants(), "off") {
		for _, o := range []Options{{}, {Mode: Gumbel}, {Mode: Gaussian}} {
			p := Pass{Options: o, variant: variant}
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
	for _, variant := range append(lanes.Variants(), "off") {
		for _, o := range []Options{{}, {Mode: Gumbel}} {
			p := Pass{Options: o, Workers: 2, variant: variant}
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
	return verify.NormalBound(out.Distance().At(i), float64(out.Gap()[i]), 1e-14, out.Normal().Vec(i),
		out.WitnessA().Vec(i), out.WitnessB().Vec(i))
}
