package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// orientation is how box B is rotated against box A.
type orientation string

const (
	generic  orientation = "generic"
	parallel orientation = "parallel" // axes of B along axes of A, in any order: a quarter of a rotation or none
	planar   orientation = "planar"   // one axis in common, as of boxes on a table
	slight   orientation = "slight"   // parallel but for an angle of 1e-14 to 1e-2
)

// drawBoxes returns n pairs of boxes about a meter wide whose centers are up to three meters apart.
func drawBoxes(t *testing.T, o orientation, n int) (*batch.Library, *batch.Pairs) {
	t.Helper()
	rng := rand.New(rand.NewPCG(31, 7))
	shapes := make([]geom.Shape, 40)
	for i := range shapes {
		half := r3.Vec{X: 0.1 + 0.4*rng.Float64(), Y: 0.1 + 0.4*rng.Float64(), Z: 0.1 + 0.4*rng.Float64()}
		if i%8 == 0 {
			half.Z = half.X
		}
		shapes[i] = geom.Box{HalfExtents: half}
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(n)
	about := func(axis r3.Vec, angle float64) quat.Number {
		s, c := math.Sincos(angle / 2)
		return quat.Number{Real: c, Imag: s * axis.X, Jmag: s * axis.Y, Kmag: s * axis.Z}
	}
	for i := range n {
		row := batch.Row{ShapeA: int32(rng.IntN(len(shapes))), ShapeB: int32(rng.IntN(len(shapes)))}
		row.PoseA = randomPose(rng)
		row.PoseA.Rotation = normalized(row.PoseA.Rotation)
		row.PoseB = row.PoseA
		row.PoseB.Position = r3.Add(row.PoseA.Position, r3.Scale(3*rng.Float64(), direction(rng)))
		axis := [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}[rng.IntN(3)]
		var by quat.Number
		switch quarter := math.Pi / 2 * float64(rng.IntN(4)); o {
		case generic:
			by = normalized(randomPose(rng).Rotation)
		case parallel:
			by = about(axis, quarter)
		case planar:
			by = about(axis, 2*math.Pi*rng.Float64())
		case slight:
			by = quat.Mul(about(axis, quarter), about(direction(rng), math.Pow(10, -14+12*rng.Float64())))
		}
		row.PoseB.Rotation = quat.Mul(row.PoseA.Rotation, by)
		pairs.SetRow(i, &row)
	}
	return lib, pairs
}

// Growth distances of boxes end by their axes, whatever the orientation, and pass the audit, which proves both bounds
// from the shapes alone. Where axes are parallel the point of the ray may lie in a facet that more than two edges span,
// which the axes need not find: the simplex method answers some of those rows.
func TestGrowthOfBoxesByAxes(t *testing.T) {
	n := size(4000)
	for _, c := range []struct {
		orientation
		least float64 // share of the rows that the axes answer
	}{{generic, 1}, {parallel, 1}, {planar, 0.8}, {slight, 0.9}} {
		lib, pairs := drawBoxes(t, c.orientation, n)
		for _, variant := range variants(t) {
			for _, precision := range []batch.Precision{batch.Single, batch.Double} {
				o := batch.Options{Query: batch.Growth, Precision: precision,
					Columns: batch.AllColumns | batch.ColPoint | batch.ColMethod}
				b := newVariant(t, variant, 1)
				r := solve(t, b, lib, pairs, o, 0)
				audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: r})
				axes, widest := 0, 0.
				for i := range n {
					if batch.Solver(r.Method()[i]) == batch.SolverAxes {
						axes++
					}
					widest = max(widest, float64(r.Gap()[i])/max(1, r.Distance().At(i)))
				}
				t.Logf("%s, %s, %v: %d of %d by the axes, largest gap %.2g", c.orientation, variant, precision, axes, n,
					widest)
				if float64(axes) < c.least*float64(n) {
					t.Errorf("%s, %s, %v: the axes answer %d of %d rows", c.orientation, variant, precision, axes, n)
				}
				if widest > map[batch.Precision]float64{batch.Single: 1e-6, batch.Double: 1e-12}[precision] {
					t.Errorf("%s, %s, %v: gap %g", c.orientation, variant, precision, widest)
				}
			}
		}
	}
}

// Of boxes with parallel axes, the growth factor is the largest of |tᵢ|/(aᵢ + bᵢ).
func TestGrowthOfParallelBoxes(t *testing.T) {
	n := size(2000)
	lib, pairs := drawBoxes(t, parallel, n)
	o := batch.Options{Query: batch.Growth, Precision: batch.Double}
	for _, variant := range variants(t) {
		r := solve(t, newVariant(t, variant, 1), lib, pairs, o, 0)
		for i := range n {
			var row batch.Row
			pairs.Row(i, &row)
			a, b := lib.Shape(row.ShapeA).(geom.Box).HalfExtents, lib.Shape(row.ShapeB).(geom.Box).HalfExtents
			m, other := row.PoseA.Matrix(), row.PoseB.Matrix()
			p := m.MulVecT(r3.Sub(row.PoseB.Position, row.PoseA.Position))
			b = m.MulVecT(other.MulVec(b)) // a corner of B, whose coordinates in A are its half extents there
			want := max(math.Abs(p.X)/(a.X+math.Abs(b.X)), math.Abs(p.Y)/(a.Y+math.Abs(b.Y)),
				math.Abs(p.Z)/(a.Z+math.Abs(b.Z)))
			if got := r.Distance().At(i); !(math.Abs(got-want) <= 1e-12*max(1, want)) {
				t.Fatalf("%s, row %d: factor %v, want %v", variant, i, got, want)
			}
		}
	}
}
