// Package rowcheck compares and audits columns of results, for tests of back ends and of what is above
// them.
package rowcheck

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/verify"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// Differs returns the name of the first column in which row i of r and row j of s are not equal bit for
// bit, "" if there is none. Columns that either result lacks do not count.
func Differs(r *batch.Results, i int, s *batch.Results, j int) (column string) {
	return r.Differs(i, s, j).String()
}

// Same reports whether row i of r and row j of s are equal bit for bit, in all columns that both have.
func Same(r *batch.Results, i int, s *batch.Results, j int) bool { return Differs(r, i, s, j) == "" }

// Listed is the list of pairs that worlds stand for.
func Listed(w *batch.Worlds) *batch.Pairs {
	pairs := batch.NewPairs(w.Len())
	var row batch.Row
	for i := range w.Len() {
		w.Row(i, &row)
		pairs.SetRow(i, &row)
	}
	return pairs
}

// Audit fails the test on every answer that the audit refutes, and returns the report.
func Audit(t *testing.T, job *batch.Job) *verify.Report {
	t.Helper()
	report, err := verify.Audit(t.Context(), job, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Wrong() == 0 {
		return report
	}
	t.Errorf("the audit refutes %d rows of %d", report.Wrong(), report.Rows)
	for _, c := range report.Checks {
		for _, w := range c.Worst {
			if w.Failed {
				t.Errorf("row %d, %s: found %g, expected %g, allowed %g", w.Row, c.Name, w.Found, w.Expected, w.Allowed)
			}
		}
	}
	return report
}

// TinyPairs returns pairs of a library's first shape, a point, that lie as far apart as testkit.TinyOffsets says.
func TinyPairs(t *testing.T) (lib *batch.Library, pairs *batch.Pairs, apart []float64) {
	t.Helper()
	point, err := geom.NewConvex([]r3.Vec{{}})
	if err != nil {
		t.Fatal(err)
	}
	if lib, err = batch.NewLibrary([]geom.Shape{point, geom.Sphere{R: 1}}, nil); err != nil {
		t.Fatal(err)
	}
	offsets, apart := testkit.TinyOffsets()
	pairs = batch.NewPairs(len(offsets))
	for i, at := range offsets {
		pairs.SetRow(i, &batch.Row{PoseA: geom.IdentityPose(), PoseB: geom.Translate(at.X, at.Y, at.Z)})
	}
	return lib, pairs, apart
}

// Points fails the test unless the answers are those of pairs of points that are so far apart: the distances lie within
// their gaps, no status is one that they refute, and normals, which are float64, are units.
func Points(t *testing.T, what string, got *batch.Results, apart []float64) {
	t.Helper()
	for i, d := range apart {
		n, status := got.Normal().F64[3*i:3*i+3], batch.Status(got.Status()[i])
		length := math.Hypot(math.Hypot(n[0], n[1]), n[2])
		if !(math.Abs(got.Distance().At(i)-d) <= float64(got.Gap()[i])) || !(math.Abs(length-1) < 1e-12) ||
			status != batch.Touching && status != batch.Separated {
			t.Errorf("%s: %v apart: %v, %v ± %v, normal %v", what, d, status, got.Distance().At(i), got.Gap()[i], n)
		}
	}
}

// TouchingPairs returns n pairs of a library of solids with rims and edges, from 1e-4 to 1e4 m in size, that touch up
// to a small length at a support point of each. Rows of even number have a common point, as the support point of B
// lies inside of A, and the other ones are separated by the plane through both points; both up to the rounding of a
// position. The lengths go from 1e-13 m, which a position may not resolve, to a hundredth of the smaller size.
func TouchingPairs(t *testing.T, n int, seed uint64) (lib *batch.Library, pairs *batch.Pairs) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var shapes []geom.Shape
	var sizes []float64
	for i := range 48 {
		s := math.Pow(10, 8*rng.Float64()-4)
		u, v := s*(0.2+0.8*rng.Float64()), s*(0.2+0.8*rng.Float64())
		shape := []geom.Shape{
			geom.Cylinder{R: s, HalfLength: u}, geom.Frustum{RBottom: s, RTop: 1e-3 * v, HalfLength: u},
			geom.Frustum{RBottom: s, RTop: v, HalfLength: u}, geom.Box{HalfExtents: r3.Vec{X: s, Y: u, Z: v}},
			geom.Ellipsoid{SemiAxes: r3.Vec{X: s, Y: u, Z: v}}, geom.Capsule{R: s, HalfLength: u}, nil, nil,
		}[i%8]
		if shape == nil { // a prism of 8 or 40 vertices
			var corners []r3.Vec
			sides := []int{4, 20}[i%2]
			for k := range 2 * sides {
				sin, cos := math.Sincos(2 * math.Pi * float64(k/2) / float64(sides))
				corners = append(corners, r3.Vec{X: s * cos, Y: s * sin, Z: u * float64(k%2*2-1)})
			}
			hull, err := geom.NewConvex(corners)
			if err != nil {
				t.Fatal(err)
			}
			shape = hull
		}
		shapes, sizes = append(shapes, shape), append(sizes, s)
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	rotation := func() quat.Number {
		if rng.IntN(4) == 0 {
			return geom.IdentityPose().Rotation
		}
		return testkit.Rotation(rng)
	}
	pairs = batch.NewPairs(n)
	for i := range n {
		a, b := rng.IntN(len(shapes)), rng.IntN(len(shapes))
		r := batch.Row{ShapeA: int32(a), ShapeB: int32(b)}
		r.PoseA.Rotation, r.PoseB.Rotation = rotation(), rotation()
		d := testkit.Unit(rng)
		support := func(k int, pose geom.Pose, d r3.Vec) r3.Vec { // relative to the position
			core := shapes[k].CoreSupport(pose.ApplyInverse(d))
			return r3.Add(pose.Apply(core), r3.Scale(shapes[k].Radius(), d))
		}
		least := min(sizes[a], sizes[b])
		length := 1e-13 * math.Pow(1e11*least, max(0, 1.25*rng.Float64()-0.25))
		fromA, fromB := support(a, r.PoseA, d), support(b, r.PoseB, r3.Scale(-1, d))
		at := r3.Scale(length, d)
		if i%2 == 0 {
			at = r3.Scale(-length, r3.Unit(fromA)) // to the origin of A, which is inside
		}
		r.PoseA.Position = r3.Scale(least, testkit.Normal(rng))
		r.PoseB.Position = r3.Add(r3.Add(r.PoseA.Position, fromA), r3.Sub(at, fromB))
		pairs.SetRow(i, &r)
	}
	return lib, pairs
}

// Touching fails the test if an answer to TouchingPairs is wrong: a proof of the status leaves out what rounding can
// hide. Each status has to occur.
func Touching(t *testing.T, what string, got *batch.Results) {
	t.Helper()
	var count [256]int
	wrong := []batch.Status{batch.Separated, batch.Penetrating}
	for i, status := range got.Status() {
		count[status]++
		if s := batch.Status(status); s == wrong[i%2] || s != batch.Touching && s != wrong[1-i%2] {
			t.Errorf("%s: row %d is %v", what, i, s)
		}
	}
	for _, s := range []batch.Status{batch.Separated, batch.Penetrating, batch.Touching} {
		if count[s] == 0 {
			t.Errorf("%s: no row is %v", what, s)
		}
	}
}
