package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit/rowcheck"
)

// Growth distances of every variant pass the audit, which proves both bounds from the shapes alone, agree with the
// reference solvers, and few rows are left to these.
func TestGrowthOfVariants(t *testing.T) {
	n := size(2000)
	type set struct {
		name  string
		lib   *batch.Library
		pairs *batch.Pairs
		most  int // rows left, per thousand
	}
	var sets []set
	for _, name := range conformanceSets {
		s := set{name: name, most: 5}
		s.lib, s.pairs = draw(t, name, n)
		if name == "adversarial" {
			s.most = 120 // mostly two flat shapes, which have no growth distance
		}
		sets = append(sets, s)
	}
	for _, p := range powerSets {
		s := set{name: p.name, most: 15}
		s.lib, s.pairs = drawPowers(t, p.shape, n)
		sets = append(sets, s)
	}
	for _, s := range sets {
		for _, variant := range variants(t) {
			for name, o := range map[string]batch.Options{
				"single": {Columns: batch.AllColumns | batch.ColPoint}, "double": {Precision: batch.Double},
				"cut": {HasCutOff: true, CutOff: 1.5}, "status": {Columns: batch.ColStatus},
			} {
				o.Query = batch.Growth
				t.Run(fmt.Sprintf("%s/%s/%s", s.name, variant, name), func(t *testing.T) {
					b := newVariant(t, variant, 2)
					r := solve(t, b, s.lib, s.pairs, o, 0)
					audit(t, &batch.Job{Library: s.lib, Input: s.pairs, Options: o, Results: r})
					_, left := b.RowsBy()
					t.Logf("%d of %d rows left to the reference solvers", left, n)
					if left > int64(n*s.most/1000) {
						t.Errorf("%d of %d rows left to the reference solvers", left, n)
					}
				})
			}
		}
	}
}

// Centers off the middle, those of callers, change the answers of the kernels as they change those of the
// reference solvers.
func TestGrowthAboutOtherCenters(t *testing.T) {
	n := size(1000)
	for _, name := range []string{"ellipsoids", "boxes", "hull32", "mixed"} {
		lib, pairs := draw(t, name, n)
		centers := map[int32]r3.Vec{}
		for i := range int32(lib.Len()) {
			if s := lib.Shape(i); s.Inradius() > 0 && !s.Kind().Traits().Unbounded {
				rng := rand.New(rand.NewPCG(1, uint64(i)))
				centers[i] = r3.Add(s.Center(), r3.Scale(0.4*s.Inradius(), direction(rng)))
			}
		}
		moved, err := lib.WithCenters(centers)
		if err != nil {
			t.Fatal(err)
		}
		for _, variant := range variants(t) {
			for _, precision := range []batch.Precision{batch.Single, batch.Double} {
				o := batch.Options{Query: batch.Growth, Precision: precision,
					Columns: batch.AllColumns | batch.ColPoint}
				b := newVariant(t, variant, 1)
				about, other := solve(t, b, lib, pairs, o, 0), solve(t, b, moved, pairs, o, 0)
				audit(t, &batch.Job{Library: moved, Input: pairs, Options: o, Results: other})
				if _, left := b.RowsBy(); left > int64(n/100) {
					t.Errorf("%s, %s, %v: %d rows left to the reference solvers", name, variant, precision, left)
				}
				same := 0
				for i := range n {
					if about.Distance().At(i) == other.Distance().At(i) {
						same++
					}
				}
				if same > n/10 {
					t.Errorf("%s, %s, %v: %d of %d answers do not depend on the centers", name, variant, precision,
						same, n)
				}
			}
		}
	}
}

// The simplex method starts near the ray: from a triangle around it, hulls of 128 vertices took 12.1 evaluations.
func TestGrowthOfHullsStartsNearTheRay(t *testing.T) {
	n := size(2000)
	lib, pairs := draw(t, "hull128", n)
	o := batch.Options{Query: batch.Growth, Columns: batch.AllColumns}
	for _, variant := range variants(t) {
		r := solve(t, newVariant(t, variant, 1), lib, pairs, o, 0)
		sum := 0
		for _, k := range r.Iterations() {
			sum += int(k)
		}
		if mean := float64(sum) / float64(n); !(mean < 11) {
			t.Errorf("%s: %.1f evaluations per row", variant, mean)
		}
	}
}

// Growth distances of plates and needles: the bounds by the inradius are all wider than the tolerance, those by the
// triangle that the ray meets only where rounding is more beside the thickness along the ray, in about half of the
// rows.
func TestGrowthOfThinHulls(t *testing.T) {
	n := size(2000)
	lib, pairs := drawPowers(t, func(rng *rand.Rand, i int) geom.Shape {
		h := r3.Vec{X: 2e-3, Y: 2e-3 + 0.5*float64(i%2), Z: 0.5 + rng.Float64()}
		var corners []r3.Vec
		for k := range 8 {
			corners = append(corners, r3.Vec{X: h.X * float64(k%2*2-1), Y: h.Y * float64(k/2%2*2-1),
				Z: h.Z * float64(k/4*2-1)})
		}
		s, err := geom.NewConvex(corners)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}, n)
	o := batch.Options{Query: batch.Growth, Precision: batch.Double}
	for _, variant := range variants(t) {
		b := newVariant(t, variant, 1)
		r := solve(t, b, lib, pairs, o, 0)
		audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: r})
		rows, wide := 0, 0
		for i := range n {
			if lib.Shape(pairs.ShapeA[i]).Radius()+lib.Shape(pairs.ShapeB[i]).Radius() > 0 {
				continue // with a margin, which has a larger tolerance
			}
			rows++
			if float64(r.Gap()[i]) > 1e-12*max(1, r.Distance().At(i)) {
				wide++
			}
		}
		t.Logf("%s: %d of %d gaps are beyond 1e-12", variant, wide, rows)
		if wide > rows*2/3 {
			t.Errorf("%s: %d of %d gaps are beyond 1e-12", variant, wide, rows)
		}
	}
}

// TestGrowthOfConcentricRows: a row whose centers coincide, which no kernel searches, has the same bits alone and
// beside rows that are searched.
func TestGrowthOfConcentricRows(t *testing.T) {
	lib, pairs := draw(t, "ellipsoids", 64)
	var r batch.Row
	for i := 0; i < pairs.Len(); i += 3 {
		pairs.Row(i, &r)
		r.PoseB.Position = r.PoseA.Position
		pairs.SetRow(i, &r)
	}
	for _, variant := range variants(t) {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			b := newVariant(t, variant, 1)
			o := batch.Options{Query: batch.Growth, Precision: precision,
				Columns: batch.Growth.Available() &^ batch.DerivedColumns}
			together, alone := solve(t, b, lib, pairs, o, 0), batch.NewPairs(1)
			for i := range pairs.Len() {
				pairs.Row(i, &r)
				alone.SetRow(0, &r)
				if column := rowcheck.Differs(together, i, solve(t, b, lib, alone, o, 0), 0); column != "" {
					t.Errorf("%s, %v: row %d has other bits alone, in column %s", variant, precision, i, column)
				}
			}
		}
	}
}

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
