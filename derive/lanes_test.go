package derive

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/derive/lanes"
	"clearance/geom"
)

// lanesJob has pairs of every kind with every kind, several of each, at a few gaps, with the answers of the reference.
func lanesJob(t *testing.T, precision batch.Precision) *batch.Job {
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
	var rows []batch.Row
	var answers []batch.Answer
	rng := rand.New(rand.NewPCG(33, 1))
	for a := range shapes {
		for b := range shapes {
			for _, gap := range []float64{0.5, 0.05, 1e-4, -0.02, -0.1} {
				if kindNames[a] == "halfspace" && kindNames[b] == "halfspace" {
					continue
				}
				r := placedAtGap(rng, shapes[a], shapes[b], gap)
				answer := batch.Answer{Status: batch.Separated, Distance: r.Value, Lower: r.Value - r.Gap,
					Upper: r.Value + r.Gap, Normal: r.Normal, WitnessA: r.WitnessA, WitnessB: r.WitnessB}
				if r.Value < 0 {
					answer.Status = batch.Penetrating
				}
				rows = append(rows, batch.Row{ShapeA: int32(a), ShapeB: int32(b), PoseA: r.PoseA, PoseB: r.PoseB})
				answers = append(answers, answer)
			}
		}
	}
	o := batch.Options{Precision: precision}
	pairs, out := batch.NewPairs(len(rows)), batch.NewResults(len(rows), &o)
	for i := range rows {
		pairs.SetRow(i, &rows[i])
		out.Put(i, &answers[i])
	}
	return &batch.Job{Library: lib, Input: pairs, Options: o, Results: out}
}

// TestLanes holds the kernel, in every variant, to the derivatives in Go: the same smoothness, and numbers that agree
// to rounding where the system is conditioned.
func TestLanes(t *testing.T) {
	ctx := context.Background()
	for _, precision := range []batch.Precision{batch.Double, batch.Single} {
		job := lanesJob(t, precision)
		n := job.Results.N
		want := newDerivatives(n, batch.DerivedColumns)
		inGo := Pass{variant: "off"}
		if err := inGo.Run(ctx, job, want); err != nil {
			t.Fatal(err)
		}
		for _, variant := range lanes.Variants() {
			got := newDerivatives(n, batch.DerivedColumns)
			pass := Pass{variant: variant}
			if err := pass.Run(ctx, job, got); err != nil {
				t.Fatal(err)
			}
			compareLanes(t, job, want, got)
			call := lanes.Call{Job: job, Answers: job.Results, Variant: variant, Out: got}
			s := lanes.NewSolver(lanes.TableOf(job.Library), &call)
			left, leftFull := 0, map[string]int{}
			for lo := 0; lo < n; lo += lanes.Block {
				for _, i := range s.Run(lo, min(lo+lanes.Block, n)) {
					left++
					if Smoothness(want.Column(batch.ColSmoothness).U8[i]).Full() {
						var row batch.Row
						job.Input.Row(int(i), &row)
						leftFull[kindNames[row.ShapeA]+" × "+kindNames[row.ShapeB]]++
					}
				}
			}
			s.Close()
			t.Logf("%v, %s: %d of %d rows left to Go; with all derivatives: %v", precision, variant, left, n, leftFull)
		}
	}
}

// compareLanes compares all columns of two results.
func compareLanes(t *testing.T, job *batch.Job, want, got *batch.Results) {
	t.Helper()
	worst, failures := 0.0, 0
	for i := range want.N {
		var row batch.Row
		job.Input.Row(i, &row)
		name := kindNames[row.ShapeA] + " × " + kindNames[row.ShapeB]
		a := Smoothness(want.Column(batch.ColSmoothness).U8[i])
		if b := Smoothness(got.Column(batch.ColSmoothness).U8[i]); a != b {
			t.Errorf("row %d (%s at %g): %v, in Go %v", i, name, job.Results.Distance().At(i), b, a)
			continue
		}
		for _, c := range (batch.DerivedColumns &^ batch.ColSmoothness).Each() {
			w := c.Info().Width
			x, y := want.Column(c).F64[w*i:w*i+w], got.Column(c).F64[w*i:w*i+w]
			scale, far := 1.0, 0.0
			for k := range x {
				scale = max(scale, math.Abs(x[k]))
				far = max(far, math.Abs(x[k]-y[k]))
			}
			// Numbers that are large belong to systems that are badly conditioned.
			far /= scale * scale
			worst = max(worst, far)
			if !(far <= 1e-11) && failures < 10 {
				failures++
				t.Errorf("row %d (%s at %g), %v: deviation %.1e\n got %v\nwant %v", i, name,
					job.Results.Distance().At(i), c, far, y, x)
			}
		}
	}
	t.Logf("largest deviation %.1e", worst)
}
