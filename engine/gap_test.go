package engine

import (
	"fmt"
	"math"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/testkit/rowcheck"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestWideGaps: in single precision a gap is at most half the tolerance, or what rounding
// leaves at the distance of the pair (96·2⁻⁵², as everywhere), and the rounding of the
// stored distance to float32. So a gap above 1e-6 of the size is that of a pair many
// times its size apart, as a small shape beside a half-space, or of two points.
func TestWideGaps(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	rows := size(5000, 5000, 20000)
	lib, pairs := set(t, "adversarial", 0, rows)
	job := &batch.Job{Library: lib, Input: pairs}
	run(t, job, dispatch.Options{}, b, c)
	var r batch.Row
	wide := 0
	for i := range rows {
		pairs.Row(i, &r)
		size := lib.PairSize(r.ShapeA, r.ShapeB)
		scale := size + r3.Norm(r3.Sub(r.PoseB.Position, r.PoseA.Position)) +
			r3.Norm(lib.Shape(r.ShapeA).Center()) + r3.Norm(lib.Shape(r.ShapeB).Center())
		gap, distance := float64(job.Results.Gap()[i]), math.Abs(job.Results.Distance().At(i))
		// The gap itself is rounded up to float32.
		if allowed := (max(0.5e-6*size, 96*0x1p-52*scale) + 0x1p-24*distance) * (1 + 0x1p-22); !(gap <= allowed) {
			t.Errorf("row %d: size %g, distance %g, gap %g, allowed %g", i, size, distance, gap, allowed)
		}
		if gap > 1e-6*size {
			wide++
			if !(distance > 8*size) && size > 0 {
				t.Errorf("row %d: size %g, distance %g, gap %g", i, size, distance, gap)
			}
		}
	}
	if wide == 0 || wide > rows/100 {
		t.Errorf("%d of %d gaps are above 1e-6 of the size", wide, rows)
	}
}

// TestPointsAlmostTogether: points so close to one another that squares underflow are left to the CPU, and the
// distances of all lie within their gaps.
func TestPointsAlmostTogether(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	lib, pairs, apart := rowcheck.TinyPairs(t)
	for _, query := range []batch.Query{batch.Distance, batch.Collide, batch.Penetration} {
		for _, method := range []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak, batch.RTR} {
			o := batch.Options{Query: query, Precision: batch.Double, Method: method,
				Columns: query.Available() &^ (batch.ColBits | batch.DerivedColumns)}
			where := fmt.Sprintf("%v, %v", query, method)
			for i, status := range direct(t, b, lib, pairs, o).Status() {
				if left := status == 0xff; left != (apart[i] < 1e-140) {
					t.Errorf("%s: %v apart: left to the CPU %v", where, apart[i], left)
				}
			}
			job := &batch.Job{Library: lib, Input: pairs, Options: o}
			run(t, job, dispatch.Options{}, b, c)
			rowcheck.Points(t, where, job.Results, apart)
		}
	}
}
