package cpu

import (
	"slices"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit/rowcheck"
)

// Rows of a library whose shapes are all of one class and form are not sorted. Their answers are the same as in
// a library with another shape, also if some rows name no shape.
func TestSameBitsInAlikeLibraries(t *testing.T) {
	n := size(1500)
	for _, set := range []string{"ellipsoids", "boxes", "hull8", "hull512"} {
		lib, pairs := draw(t, set, n)
		pairs.ShapeA[n/2], pairs.ShapeB[n/3] = -1, int32(lib.Len())+1
		shapes := []geom.Shape{}
		for i := range lib.Len() {
			shapes = append(shapes, lib.Shape(int32(i)))
		}
		other, err := batch.NewLibrary(append(slices.Clone(shapes), geom.Cylinder{R: 1, HalfLength: 1}), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, variant := range variants(t) {
			b := newVariant(t, variant, 1)
			for _, o := range []batch.Options{{Columns: everything}, {Query: batch.Collide},
				{Columns: everything, Method: batch.GJK}} {
				want, got := solve(t, b, other, pairs, o, n), solve(t, b, lib, pairs, o, n)
				for i := range n {
					if !rowcheck.Same(want, i, got, i) {
						t.Fatalf("%s, %s, %v: row %d differs", set, variant, o.Query, i)
					}
				}
				for _, i := range []int{n / 2, n / 3} {
					if s := batch.Status(got.Status()[i]); s != batch.Invalid {
						t.Errorf("%s, %s: row %d names no shape and is %v", set, variant, i, s)
					}
				}
			}
		}
	}
}
