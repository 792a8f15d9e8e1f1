package derive

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/kernels"
	kernel "clearance/kernels/derive"

	"gonum.org/v1/gonum/spatial/r3"
)

// jobOf makes a job of rows with their answers.
func jobOf(t *testing.T, rows []Row, precision batch.Precision) *batch.Job {
	t.Helper()
	var shapes []geom.Shape
	o := batch.Options{Precision: precision}
	if rows[0].Growth {
		o.Query = batch.Growth
	}
	pairs, out := batch.NewPairs(len(rows)), batch.NewResults(len(rows), &o)
	for i := range rows {
		r := &rows[i]
		shapes = append(shapes, r.A, r.B)
		pairs.SetRow(i, &batch.Row{ShapeA: int32(2 * i), ShapeB: int32(2*i + 1), PoseA: r.PoseA, PoseB: r.PoseB})
		answer := batch.Answer{Status: batch.Separated, Distance: r.Value, Lower: r.Value - r.Gap,
			Upper: r.Value + r.Gap, Normal: r.Normal, WitnessA: r.WitnessA, WitnessB: r.WitnessB}
		switch {
		case !r.Answered:
			answer.Status = batch.Undecided
		case r.Value < 0 || r.Growth && r.Value < 1:
			answer.Status = batch.Penetrating
		}
		out.Put(i, &answer)
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &batch.Job{Library: lib, Input: pairs, Options: o, Results: out}
}

// TestLanes holds the kernel to the derivatives in Go, on pairs of every kind with every kind.
func TestLanes(t *testing.T) {
	shapes := shapesOfTest(t)
	rng := rand.New(rand.NewPCG(33, 1))
	var rows []Row
	for _, a := range kindNames {
		for _, b := range kindNames {
			if a == "halfspace" && b == "halfspace" {
				continue
			}
			for _, gap := range []float64{0.5, 0.05, 1e-4, -0.02, -0.1} {
				rows = append(rows, placedAtGap(rng, shapes[a], shapes[b], gap))
			}
		}
	}
	for _, precision := range []batch.Precision{batch.Double, batch.Single} {
		job := jobOf(t, rows, precision)
		want := compareKernel(t, job, Options{})
		compareKernel(t, job, Options{Mode: Gumbel})
		compareKernel(t, job, Options{Mode: Gumbel, Epsilon: 0.05})
		compareKernel(t, job, Options{Mode: Gumbel, Epsilon: 0.3})
		compareKernel(t, job, Options{Mode: Gumbel, Epsilon: 0.1, Rings: 1})
		compareKernel(t, job, Options{Mode: Gaussian, Seed: 1<<40 + 3})
		compareKernel(t, job, Options{Mode: Gaussian, Samples: 7, Epsilon: 1e-2})
		compareKernel(t, job, Options{Mode: Gaussian, Samples: 150, Epsilon: 1.5})
		checkDeclined(t, job, rows, want)
	}
}

// TestLanesGrowth is TestLanes for growth distances.
func TestLanesGrowth(t *testing.T) {
	shapes := shapesOfTest(t)
	rng := rand.New(rand.NewPCG(33, 3))
	var rows []Row
	for _, a := range kindNames {
		for _, b := range kindNames {
			for _, gap := range []float64{0.5, 0.05, -0.05} {
				if a == "halfspace" && b == "halfspace" {
					continue
				}
				r := placedAtGap(rng, shapes[a], shapes[b], gap)
				if g := solveGrowth(r.A, r.B, r.PoseA, r.PoseB); g.Answered {
					rows = append(rows, g)
				}
			}
		}
	}
	if len(rows) < 700 {
		t.Errorf("only %d rows", len(rows))
	}
	for _, precision := range []batch.Precision{batch.Double, batch.Single} {
		job := jobOf(t, rows, precision)
		want := compareKernel(t, job, Options{})
		compareKernel(t, job, Options{Mode: Gumbel})
		compareKernel(t, job, Options{Mode: Gumbel, Epsilon: 0.3})
		compareKernel(t, job, Options{Mode: Gaussian, Seed: 4})
		checkDeclined(t, job, rows, want)
	}
}

// TestLanesFewRows has fewer rows of a pair of kinds than a vector has lanes, beside each other and not: they have the
// bits of the same rows alone.
func TestLanesFewRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 5))
	ball, box := geom.Sphere{R: 0.2}, geom.Box{HalfExtents: r3.Vec{X: 0.3, Y: 0.2, Z: 0.4}}
	for places := range 1 << 7 {
		mode := Mode(places >> 6 * int(Gaussian))
		rows := make([]Row, 6)
		for i := range rows {
			rows[i] = placedAtGap(rng, box, box, 0.3)
			if places>>i&1 == 1 {
				rows[i] = placedAtGap(rng, ball, box, 0.3)
			}
		}
		got := newDerivatives(len(rows), batch.DerivedColumns)
		all := Pass{Options: Options{Mode: mode}}
		if err := all.Run(t.Context(), jobOf(t, rows, batch.Double), got); err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			alone := newDerivatives(1, batch.DerivedColumns)
			one := Pass{Options: all.Options, FirstRow: uint64(i)}
			if err := one.Run(t.Context(), jobOf(t, rows[i:i+1], batch.Double), alone); err != nil {
				t.Fatal(err)
			}
			if c := got.Differs(i, alone, 0); c != 0 {
				t.Fatalf("%v, places %06b, row %d: %v depends on the other rows", mode, places, i, c)
			}
		}
	}
}

// checkDeclined asks that the kernel declines few of the rows that have all derivatives.
func checkDeclined(t *testing.T, job *batch.Job, rows []Row, want *batch.Results) {
	t.Helper()
	for _, variant := range kernel.Variants() {
		call := kernel.Call{Job: job, Answers: job.Results, Variant: variant}
		s := kernel.NewSolver(kernels.ShapesOf(job.Library), &call)
		declined := 0
		for lo := 0; lo < len(rows); lo += kernel.Block {
			for _, i := range s.Run(lo, min(lo+kernel.Block, len(rows))) {
				if Smoothness(want.Column(batch.ColSmoothness).U8[i]).Full() {
					declined++
				}
			}
		}
		s.Close()
		if declined > len(rows)/100 {
			t.Errorf("%v, %s: %d of %d rows declined that have all derivatives", job.Options.Precision, variant,
				declined, len(rows))
		}
	}
}

// TestLanesLargeHulls has hulls of more vertices than the kernel takes at a time: of a few, of some and of all of them
// the weight counts. Rows in the other order have the same bits.
func TestLanesLargeHulls(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 2))
	var rows []Row
	for _, n := range []int{255, 257, 700, 5000} {
		a := testkit.Hull(rng, r3.Vec{X: 0.5, Y: 0.3, Z: 0.4}, n)
		b := testkit.Hull(rng, r3.Vec{X: 0.2, Y: 0.4, Z: 0.3}, n)
		for _, gap := range []float64{0.5, 0.05, -0.02} {
			rows = append(rows, placedAtGap(rng, a, b, gap), placedAtGap(rng, b, a, gap))
		}
	}
	reversed := slices.Clone(rows)
	slices.Reverse(reversed)
	job, other := jobOf(t, rows, batch.Double), jobOf(t, reversed, batch.Double)
	for _, o := range []Options{{Mode: Gumbel, Epsilon: 1e-3}, {Mode: Gumbel}, {Mode: Gumbel, Epsilon: 0.3},
		{Mode: Gumbel, Epsilon: 0.01, Rings: 1}, {Mode: Gumbel, Rings: 3}, {Mode: Gumbel, Epsilon: 0.3, Rings: 40},
		{Mode: Gaussian, Epsilon: 1e-2}, {Mode: Gaussian, Samples: 65}, {Mode: Gaussian, Epsilon: 3}} {
		compareKernel(t, job, o)
		if o.Mode == Gaussian {
			continue // other rows have other noise
		}
		for _, variant := range kernel.Variants() {
			pass := Pass{Options: o, SIMD: variant}
			got := newDerivatives(len(rows), batch.DerivedColumns)
			again := newDerivatives(len(rows), batch.DerivedColumns)
			if err := errors.Join(pass.Run(t.Context(), job, got), pass.Run(t.Context(), other, again)); err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				for _, c := range (batch.DerivedColumns &^ batch.ColSmoothness).Each() {
					w, j := c.Info().Width, len(rows)-1-i
					if !slices.Equal(got.Column(c).F64[w*i:w*i+w], again.Column(c).F64[w*j:w*j+w]) {
						t.Errorf("%s, %+v, row %d: %v depends on the order of the rows", variant, o, i, c)
					}
				}
			}
		}
	}
}

// compareKernel compares the kernel, in every variant, with Go: the same smoothness, and numbers that agree to rounding
// where the system is conditioned. It returns the columns of Go.
func compareKernel(t *testing.T, job *batch.Job, o Options) *batch.Results {
	t.Helper()
	ctx := context.Background()
	n := job.Results.N
	want, got := newDerivatives(n, batch.DerivedColumns), newDerivatives(n, batch.DerivedColumns)
	inGo := Pass{Options: o, SIMD: "off"}
	if err := inGo.Run(ctx, job, want); err != nil {
		t.Fatal(err)
	}
	for _, variant := range kernel.Variants() {
		pass := Pass{Options: o, SIMD: variant}
		if err := pass.Run(ctx, job, got); err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for i := range n {
			worst = max(worst, compareRow(t, job, want, got, i, rounding(job, o, i)))
		}
		t.Logf("%v, %s: %d rows, largest deviation %.1e", job.Options.Precision, variant, n, worst)
	}
	return want
}

// rounding is what a row may deviate by. Smoothed Hessians depend on the normal by 1/ε; it is polished to 1e-13, and
// exact to the rounding of witnesses over their distance.
func rounding(job *batch.Job, o Options, i int) float64 {
	if o.Mode == Exact {
		return 1e-11
	}
	epsilon := o.Epsilon
	switch {
	case o.Mode == Gaussian:
		// The rim of a cone moves by more than the direction, the nearer this is to its axis.
		epsilon, _ = o.Noise()
		epsilon /= 10
	case epsilon == 0:
		epsilon = 1e-2
	}
	return 1e-11 + (1e-13+4e-16/math.Abs(job.Results.Distance().At(i)))/epsilon
}

// compareRow compares all columns of a row of two results. Numbers that are large belong to systems that are badly
// conditioned: the deviation is relative to the square of the largest, at least 1.
func compareRow(t *testing.T, job *batch.Job, want, got *batch.Results, i int, tolerance float64) (
	deviation float64) {
	t.Helper()
	var row batch.Row
	job.Input.Row(i, &row)
	name := fmt.Sprintf("row %d (%v and %v at %g)", i, job.Library.Shape(row.ShapeA).Kind(),
		job.Library.Shape(row.ShapeB).Kind(), job.Results.Distance().At(i))
	a, b := want.Column(batch.ColSmoothness).U8[i], got.Column(batch.ColSmoothness).U8[i]
	if a != b {
		t.Errorf("%s: %v, in Go %v", name, Smoothness(b), Smoothness(a))
		return 0
	}
	for _, c := range (batch.DerivedColumns &^ batch.ColSmoothness).Each() {
		w := c.Info().Width
		x, y := want.Column(c).F64[w*i:w*i+w], got.Column(c).F64[w*i:w*i+w]
		scale, far := 1.0, 0.0
		for k := range x {
			scale = max(scale, math.Abs(x[k]))
			far = max(far, math.Abs(x[k]-y[k]))
		}
		far /= scale * scale
		deviation = max(deviation, far)
		if !(far <= tolerance) {
			t.Errorf("%s, %v: deviation %.1e\n got %v\nwant %v", name, c, far, y, x)
		}
	}
	return deviation
}
