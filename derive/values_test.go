package derive

import (
	"context"
	"math"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/derive/lanes"
	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

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
			pass := Pass{variant: variant}
			if err := pass.fill(context.Background(), r, out); err != nil {
				t.Fatal(err)
			}
			return out.Column(batch.ColDDistance)
		}
		want := run("off")
		if zeros := countZeros(want); zeros < 40 || zeros > n/2 {
			t.Errorf("%d of %d rows have no derivative", zeros, n)
		}
		for _, variant := range lanes.Variants() {
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
