package derive

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
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
			whole := NewResults(n, AllColumns)
			pass := Pass{Options: o, Workers: 1}
			if err := pass.Run(context.Background(), job, whole); err != nil {
				t.Fatal(err)
			}
			checkRows(t, job, &o, whole)
			const cut = 320
			for _, part := range []struct{ lo, hi int }{{0, cut}, {cut, n}} {
				some := NewResults(part.hi-part.lo, AllColumns)
				p := Pass{Options: o, Workers: 3, FirstRow: uint64(part.lo)}
				err := p.Run(context.Background(), &batch.Job{Library: job.Library, Options: job.Options,
					Input:   job.Input.(*batch.Pairs).Slice(part.lo, part.hi),
					Results: job.Results.Slice(part.lo, part.hi)}, some)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range AllColumns.Each() {
					if c == ColSmoothness {
						if !slices.Equal(some.Smoothness, whole.Smoothness[part.lo:part.hi]) {
							t.Errorf("%v, %v: another smoothness in parts", precision, o.Mode)
						}
						continue
					}
					width := c.Info().Width
					if !slices.Equal(some.Reals(c), whole.Reals(c)[width*part.lo:width*part.hi]) {
						t.Errorf("%v, %v: column %v differs in parts", precision, o.Mode, c)
					}
				}
			}
		}
	}
}

func checkRows(t *testing.T, job *batch.Job, o *Options, got *Results) {
	t.Helper()
	full := 0
	for i := range got.N {
		state := Smoothness(got.Smoothness[i])
		failed := i%50 == 7 || i%50 == 8 || i%3 == 2
		if failed != (state == None) {
			t.Errorf("row %d: %v", i, state)
		}
		if state.Full() {
			full++
		}
		for _, c := range []Columns{ColValue, ColNormal, ColWitnessA, ColWitnessB, ColCurvature} {
			w := c.Info().Width
			for _, v := range got.Reals(c)[w*i : w*i+w] {
				if math.IsNaN(v) || math.IsInf(v, 0) || v != 0 && (state == None || c != ColValue && !state.Full()) {
					t.Fatalf("row %d (%v): column %v has %g", i, state, c, v)
				}
			}
		}
	}
	if full < got.N/2 {
		t.Errorf("%v: %d of %d rows with all derivatives", o.Mode, full, got.N)
	}
}

// TestPassProducts holds both products to the columns.
func TestPassProducts(t *testing.T) {
	job := jobOfTest(t, batch.Double)
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
	out := NewResults(n, AllColumns)
	for _, err := range []error{pass.VJP(ctx, job, cotangents, gradients), pass.JVP(ctx, job, twists, tangents),
		pass.Run(ctx, job, out)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		jacobian := append(slices.Clone(out.Value[12*i:12*i+12]), out.Normal[36*i:36*i+36]...)
		jacobian = append(jacobian, out.WitnessA[36*i:36*i+36]...)
		jacobian = append(jacobian, out.WitnessB[36*i:36*i+36]...)
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
		"solver":  {func(p *Pass, _ *batch.Job) { p.Mode = Zeroth }, "solver"},
	} {
		job := *good
		job.Results = good.Results.Slice(0, good.Results.N)
		var pass Pass
		c.change(&pass, &job)
		err := pass.Run(context.Background(), &job, NewResults(job.Results.N, ColValue))
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
	if err := pass.Run(ctx, good, NewResults(good.Results.N, ColValue)); err == nil {
		t.Error("a cancelled call reports no error")
	}
}

// TestPassZeroth: order zero by the reference, which the caller gives.
func TestPassZeroth(t *testing.T) {
	job := jobOfTest(t, batch.Double)
	job.Input, job.Results = job.Input.(*batch.Pairs).Slice(0, 12), job.Results.Slice(0, 12)
	pass := Pass{Options: Options{Mode: Zeroth, Samples: 5}, Solver: func(r *Row) Solver {
		a, b := r.A, r.B
		return func(poseA, poseB geom.Pose) (float64, r3.Vec, r3.Vec, r3.Vec, bool) {
			s := solve(a, b, poseA, poseB)
			return s.Value, s.Normal, s.WitnessA, s.WitnessB, s.Answered
		}
	}}
	out := NewResults(12, AllColumns)
	if err := pass.Run(context.Background(), job, out); err != nil {
		t.Fatal(err)
	}
	for i, s := range out.Smoothness {
		if want := i%3 != 2 && i != 7 && i != 8; want != (Smoothness(s) == Smoothed) {
			t.Errorf("row %d: %v", i, Smoothness(s))
		}
	}
}

func TestColumns(t *testing.T) {
	c, err := ParseColumns("d_distance, smoothness")
	if err != nil || c != ColValue|ColSmoothness {
		t.Errorf("read %v, %v", c, err)
	}
	if c, err = ParseColumns(AllColumns.String()); err != nil || c != AllColumns {
		t.Errorf("all columns are read as %v, %v", c, err)
	}
	if _, err = ParseColumns("d_gap"); err == nil {
		t.Error("an unknown column is accepted")
	}
}
