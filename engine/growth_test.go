package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/internal/testkit/rowcheck"
	"clearance/tests/conformance"

	"gonum.org/v1/gonum/spatial/r3"
)

// growthSets are the sets of which growth distances are tested.
var growthSets = append([]string{"smooth"}, setNames...)

// growthColumns are all columns of growth distances.
var growthColumns = batch.Growth.FileColumns()

// compareGrowth fails the test where two answers to one row exclude each other: intervals without a common point, or
// statuses that differ although one interval is clear of 1. Rows that the device declined are left out.
func compareGrowth(t *testing.T, got, want *batch.Results) {
	t.Helper()
	bad := 0
	for i := range got.N {
		if got.Status()[i] == uint8(batch.Undecided) {
			continue
		}
		gd, gg := got.Distance().At(i), float64(got.Gap()[i])
		wd, wg := want.Distance().At(i), float64(want.Gap()[i])
		ok := got.Status()[i] == want.Status()[i] || math.Abs(gd-1) <= gg || math.Abs(wd-1) <= wg
		ok = ok && (math.Abs(gd-wd) <= gg+wg || got.Status()[i] == uint8(batch.Invalid))
		if bad++; ok {
			bad--
		} else if bad < 5 {
			t.Errorf("row %d: %v, %.17g ± %g; the CPU says %v, %.17g ± %g", i, batch.Status(got.Status()[i]), gd, gg,
				batch.Status(want.Status()[i]), wd, wg)
		}
	}
	if bad > 0 {
		t.Errorf("%d rows differ from the CPU", bad)
	}
}

// TestGrowth: on every set, in both precisions, the audit proves all answers of the device from the shapes alone, they
// are those of the CPU, and few rows are declined.
func TestGrowth(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	rows := size(150, 300, 3000)
	for _, name := range growthSets {
		lib, pairs := set(t, name, 0, rows)
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			t.Run(fmt.Sprintf("%s/%v", name, precision), func(t *testing.T) {
				o := batch.Options{Query: batch.Growth, Precision: precision, Columns: growthColumns}
				job := &batch.Job{Library: lib, Input: pairs, Options: o}
				before := b.Stats()
				rep := run(t, job, dispatch.Options{}, b)
				after := b.Stats()
				rowcheck.Audit(t, job)
				want := &batch.Job{Library: lib, Input: pairs, Options: o}
				run(t, want, dispatch.Options{}, c)
				compareGrowth(t, job.Results, want.Results)
				evaluations := 0
				for _, n := range job.Results.Iterations() {
					evaluations += int(n)
				}
				declined := after.Declined.Sum() - before.Declined.Sum()
				t.Logf("of %d rows %d declined and %d continued in double precision, %.1f evaluations", rows, declined,
					after.Refined-before.Refined, float64(evaluations)/float64(rows))
				most := int64(rows / 50)
				if precision == batch.Double && name == "adversarial" {
					most *= 2 // needles and plates, for which the device has no bound of 1e-12
				}
				if n := rep.Counts; int64(n[batch.Undecided]) != declined || declined > most ||
					after.Declined.Gap-before.Declined.Gap != declined {
					t.Errorf("statuses %v, declined %+v, before %+v", n, after.Declined, before.Declined)
				}
			})
		}
	}
}

// TestGrowthOptions: status alone with and without other columns, cut-offs, warm starts, tolerances and limits.
func TestGrowthOptions(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	rows := size(200, 500, 2000)
	warm := make([]float64, 3*rows)
	for i := range warm {
		warm[i] = math.Sin(float64(i)) * 1e-30
	}
	clear(warm[30:60])
	for _, name := range []string{"mixed", "boxes", "adversarial"} {
		lib, pairs := set(t, name, 0, rows)
		truth := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Growth,
			Precision: batch.Double, Columns: growthColumns}}
		run(t, truth, dispatch.Options{}, c)
		for what, o := range map[string]batch.Options{
			"status":               {Columns: batch.ColStatus},
			"bits, double":         {Columns: batch.ColBits, Precision: batch.Double},
			"status and method":    {Columns: batch.ColStatus | batch.ColMethod | batch.ColIterations},
			"point":                {Columns: batch.ColStatus | batch.ColDistance | batch.ColWitnessA | batch.ColPoint},
			"cut-off":              {Columns: growthColumns, HasCutOff: true, CutOff: 1.25},
			"cut-off below 1":      {Columns: growthColumns, HasCutOff: true, CutOff: 0.5, Precision: batch.Double},
			"warm":                 {Columns: growthColumns, WarmStart: warm},
			"tolerance":            {Columns: growthColumns, Tolerance: 1e-3},
			"tolerance, double":    {Columns: growthColumns, Tolerance: 1e-9, Precision: batch.Double},
			"limit of evaluations": {Columns: growthColumns, MaxIterations: 7},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				o.Query = batch.Growth
				job := &batch.Job{Library: lib, Input: pairs, Options: o}
				before := b.Stats()
				rep := run(t, job, dispatch.Options{}, b, c)
				rowcheck.Audit(t, job)
				checkGrowthStatus(t, job.Results, truth.Results, max(o.Tolerance, batch.SingleTolerance))
				declined := rep.Declined()
				if o.MaxIterations == 0 && (declined > rows/50 || rep.Counts[batch.Undecided] > 0) {
					t.Errorf("%d declined, statuses %v", declined, rep.Counts)
				}
				for i, n := range job.Results.Iterations() {
					if o.MaxIterations > 0 && int(n) > o.MaxIterations {
						t.Fatalf("row %d took %d evaluations, the limit is %d", i, n, o.MaxIterations)
					}
				}
				t.Logf("%d declined, %d continued", declined, b.Stats().Refined-before.Refined)
			})
		}
	}
}

// checkGrowthStatus compares statuses and bits with those of factors that are known, where these are clear of 1 by more
// than the tolerance.
func checkGrowthStatus(t *testing.T, got, truth *batch.Results, tolerance float64) {
	t.Helper()
	for i := range got.N {
		alpha, gap := truth.Distance().At(i), float64(truth.Gap()[i])
		status := batch.Status(truth.Status()[i])
		if got.Status() != nil {
			status = batch.Status(got.Status()[i])
		}
		clear := batch.Status(truth.Status()[i]) < batch.Undecided && math.Abs(alpha-1) > gap+tolerance
		if clear && status < batch.Undecided && status != batch.Status(truth.Status()[i]) {
			t.Errorf("row %d: %v at the factor %g ± %g", i, status, alpha, gap)
		}
		if got.Bits() != nil && clear && got.Bit(i) != (alpha < 1) {
			t.Errorf("row %d: bit %t at the factor %g", i, got.Bit(i), alpha)
		}
	}
}

// TestGrowthKinds: every kind beside every other, half-spaces and flat shapes among them, with the default centers and
// with others: the audit proves the answers, they are those of the CPU, and all are given on the device.
func TestGrowthKinds(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	g := rand.New(rand.NewPCG(41, 9))
	flat, err := geom.NewConvex([]r3.Vec{{X: 1}, {Y: 1}, {X: -1, Y: -1}})
	if err != nil {
		t.Fatal(err)
	}
	shapes := []geom.Shape{flat}
	for _, f := range conformance.Forms() {
		shapes = append(shapes, f.Shape(), geom.WithMargin(f.Shape(), 0.1))
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	centers := map[int32]r3.Vec{}
	for i := range lib.Len() {
		if r := lib.GrowthInradius(int32(i)); r > 0 {
			centers[int32(i)] = r3.Add(lib.GrowthCenter(int32(i)), r3.Scale(0.6*r, testkit.Unit(g)))
		}
	}
	others, err := lib.WithCenters(centers)
	if err != nil {
		t.Fatal(err)
	}
	for name, lib := range map[string]*batch.Library{"default centers": lib, "other centers": others} {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			t.Run(fmt.Sprintf("%s, %v", name, precision), func(t *testing.T) {
				pairs := everyPair(g, lib)
				job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Growth,
					Precision: precision, Columns: growthColumns}}
				rep := run(t, job, dispatch.Options{}, b, c)
				rowcheck.Audit(t, job)
				want := &batch.Job{Library: lib, Input: pairs, Options: job.Options}
				wantRep := run(t, want, dispatch.Options{}, c)
				compareGrowth(t, job.Results, want.Results)
				if rep.Counts[batch.Undecided] > 0 || rep.Counts[batch.Invalid] != wantRep.Counts[batch.Invalid] ||
					rep.Counts[batch.Invalid] == 0 || rep.Declined() > pairs.Len()/100 {
					t.Errorf("%d declined of %d, statuses %v, on the CPU %v", rep.Declined(), pairs.Len(), rep.Counts,
						wantRep.Counts)
				}
			})
		}
	}
}

// everyPair returns a pair of any two shapes of a library in either order, some apart and some not.
func everyPair(g *rand.Rand, lib *batch.Library) *batch.Pairs {
	n := lib.Len()
	pairs := batch.NewPairs(n * n)
	for i := range n * n {
		a, b := int32(i%n), int32(i/n)
		size := 1.0
		if s := lib.PairSize(a, b); s > 0 {
			size = s
		}
		origin := r3.Scale(10, testkit.Unit(g))
		pose := func(p r3.Vec) geom.Pose { return geom.Pose{Position: p, Rotation: testkit.Quaternion(g)} }
		pairs.SetRow(i, &batch.Row{ShapeA: a, ShapeB: b, PoseA: pose(origin),
			PoseB: pose(r3.Add(origin, r3.Scale(size*(0.2+g.Float64()), testkit.Unit(g))))})
	}
	return pairs
}

// TestGrowthClosedForms: spheres, boxes on one axis, a half-space, and centers that coincide.
func TestGrowthClosedForms(t *testing.T) {
	b := open(t, Options{})
	shapes := []geom.Shape{geom.Sphere{R: 1}, geom.Sphere{R: 2}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}},
		geom.Halfspace{}, geom.Cylinder{R: 0.5, HalfLength: 2}}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		a, b   int32
		offset r3.Vec
		alpha  float64
		normal r3.Vec
	}{
		{0, 1, r3.Vec{X: 6}, 2, r3.Vec{X: 1}},
		{1, 0, r3.Vec{Y: -1.5}, 0.5, r3.Vec{Y: -1}},
		{2, 2, r3.Vec{X: 3}, 1.5, r3.Vec{X: 1}},
		{2, 4, r3.Vec{Z: 2.5}, 0.5, r3.Vec{Z: 1}},
		{3, 4, r3.Vec{X: 7, Z: 3}, 1.5, r3.Vec{Z: 1}},
		{4, 3, r3.Vec{X: 7, Z: -1}, 0.5, r3.Vec{Z: -1}},
		{3, 0, r3.Vec{Y: 5, Z: -2}, 0, r3.Vec{Z: 1}},
		{2, 1, r3.Vec{}, 0, r3.Vec{}},
		{0, 4, r3.Vec{}, 0, r3.Vec{}},
	}
	pairs := batch.NewPairs(len(rows))
	for i, r := range rows {
		pairs.SetRow(i, &batch.Row{ShapeA: r.a, ShapeB: r.b, PoseA: geom.IdentityPose(),
			PoseB: geom.Translate(r.offset.X, r.offset.Y, r.offset.Z)})
	}
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Growth, Precision: precision,
			Columns: growthColumns}}
		rep := run(t, job, dispatch.Options{}, b)
		rowcheck.Audit(t, job)
		for i, r := range rows {
			alpha, n := job.Results.Distance().At(i), job.Results.Normal()
			normal := r3.Vec{X: n.At(3 * i), Y: n.At(3*i + 1), Z: n.At(3*i + 2)}
			want := batch.Separated
			if r.alpha < 1 {
				want = batch.Penetrating
			}
			if math.Abs(alpha-r.alpha) > 1e-6 || r3.Norm(r3.Sub(normal, r.normal)) > 1e-3 ||
				batch.Status(job.Results.Status()[i]) != want {
				t.Errorf("%v, row %d: %v, factor %g, normal %g; want %v, %g, %g", precision, i,
					batch.Status(job.Results.Status()[i]), alpha, normal, want, r.alpha, r.normal)
			}
		}
		if rep.Solvers[batch.SolverClosedForm] != 5 || rep.Solvers[batch.SolverGrowth] != 4 {
			t.Errorf("solvers %v", rep.Solvers)
		}
	}
}

// TestGrowthDeclines: a pair whose support functions exceed the limit on loop passes is declined, with that reason, and
// the CPU answers it.
func TestGrowthDeclines(t *testing.T) {
	b := open(t, Options{budget: 1000})
	var many []r3.Vec
	for i := range 1200 { // a flat polygon: near its normal all corners are candidates
		s, c := math.Sincos(2 * math.Pi * float64(i) / 1200)
		many = append(many, r3.Vec{X: c, Y: s})
	}
	polygon, err := geom.NewConvex(many)
	if err != nil {
		t.Fatal(err)
	}
	lib, err := batch.NewLibrary([]geom.Shape{geom.WithMargin(polygon, 0.1), geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(2)
	for i := range 2 {
		pairs.SetRow(i, &batch.Row{ShapeA: int32(i), ShapeB: int32(i), PoseA: geom.IdentityPose(),
			PoseB: geom.Translate(1, 2, 3)})
	}
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Growth, Columns: growthColumns}}
	rep := run(t, job, dispatch.Options{}, b, processor(t))
	rowcheck.Audit(t, job)
	if got, want := b.Stats().Declined, (DeclinedRows{Budget: 1}); got != want || rep.Counts[batch.Separated] != 2 {
		t.Errorf("declined %+v, want %+v; statuses %v", got, want, rep.Counts)
	}
}

// TestGrowthHugeAndSmall: where the rounding of a huge A would move the witness of a small B out of it, the device
// declines the row in double precision.
func TestGrowthHugeAndSmall(t *testing.T) {
	b, rng := open(t, Options{}), rand.New(rand.NewPCG(23, 14))
	lib, err := batch.NewLibrary([]geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 1e4, Y: 5e3, Z: 7e3}},
		testkit.Hull(rng, r3.Vec{X: 0.3, Y: 0.3, Z: 0.3}, 8)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const rows = 1000
	pairs := batch.NewPairs(rows)
	for i := range rows {
		pairs.SetRow(i, &batch.Row{ShapeA: int32(i % 2), ShapeB: int32(1 - i%2), PoseA: testkit.Pose(rng, 3),
			PoseB: testkit.Pose(rng, 40)})
	}
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Growth,
		Precision: batch.Double, Columns: growthColumns}}
	run(t, job, dispatch.Options{}, b, processor(t))
	rowcheck.Audit(t, job)
	if n := b.Stats().Declined.Gap; n == 0 || n > rows/2 {
		t.Errorf("%d of %d rows declined", n, rows)
	}
}
