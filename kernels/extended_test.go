//go:build cgo

package kernels

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestExtendedTables adds shapes to libraries in random steps: their tables are, to the last number, those of a library
// made of all shapes at once, whether or not there was a table in between, and whichever of two libraries that extend
// the same one was the first.
func TestExtendedTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	variant, _ := Choose("")
	if variant == "" {
		t.Skip("no kernels in this build")
	}
	draw := func() geom.Shape {
		size := r3.Vec{X: 0.2 + rng.Float64(), Y: 0.2 + rng.Float64(), Z: 0.2 + rng.Float64()}
		switch rng.IntN(8) {
		case 0:
			return geom.Sphere{R: size.X}
		case 1:
			return geom.WithMargin(geom.Box{HalfExtents: size}, 0.1)
		case 2:
			return geom.Halfspace{}
		case 3:
			return geom.WithMargin(testkit.Hull(rng, size, 5+rng.IntN(8)), 0.1)
		case 4:
			return testkit.Hull(rng, r3.Vec{X: size.X, Y: size.Y, Z: 1e-6}, 30)
		case 5:
			points := testkit.OnEllipsoid(rng, size, 6)
			for _, p := range points {
				points = append(points, r3.Scale(-1, p)) // about the origin
			}
			s, err := geom.NewSmoothHull(points, 8, r3.Vec{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		return testkit.Hull(rng, size, 20+rng.IntN(200))
	}
	for range 20 {
		lib, err := batch.NewLibrary(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var all []geom.Shape
		for range 4 {
			more := make([]geom.Shape, rng.IntN(5))
			for i := range more {
				more[i] = draw()
			}
			if rng.IntN(2) == 0 { // another one that extends the library first
				if _, err := lib.Extended([]geom.Shape{draw(), draw(), draw()}, nil, nil); err != nil {
					t.Fatal(err)
				}
			}
			if lib, err = lib.Extended(more, nil, nil); err != nil {
				t.Fatal(err)
			}
			all = append(all, more...)
			if rng.IntN(3) == 0 {
				continue
			}
			scratch, err := batch.NewLibrary(all, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := TableOf(lib, variant, nil)
			if err != nil {
				t.Fatal(err)
			}
			sameTables(t, got, NewTable(scratch, variant))
		}
	}
}

func sameTables(t *testing.T, got, want *Table) {
	t.Helper()
	starts, at := got.Neighbors()
	wantStarts, wantAt := want.Neighbors()
	if !reflect.DeepEqual(starts, wantStarts) || !reflect.DeepEqual(at, wantAt) {
		t.Error("the neighbors of vertices differ")
	}
	a, b := *got, *want
	a.neighbors, b.neighbors = nil, nil
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if x.Type().Field(i).Name == "Shapes" {
			continue
		}
		compare(t, x.Type().Field(i).Name, x.Field(i), y.Field(i))
	}
	for i := range x.FieldByName("Shapes").NumField() {
		compare(t, x.FieldByName("Shapes").Type().Field(i).Name, x.FieldByName("Shapes").Field(i),
			y.FieldByName("Shapes").Field(i))
	}
}

// compare compares fields that need not be exported: empty slices are equal to none.
func compare(t *testing.T, name string, x, y reflect.Value) {
	t.Helper()
	if x.Kind() == reflect.Slice && x.Len() == 0 && y.Len() == 0 || x.Kind() == reflect.Func {
		return
	}
	if x.Kind() == reflect.Slice {
		if x.Len() != y.Len() {
			t.Errorf("%s has %d entries, want %d", name, x.Len(), y.Len())
			return
		}
		for i := range x.Len() {
			if !x.Index(i).Equal(y.Index(i)) {
				t.Errorf("%s[%d] = %v, want %v", name, i, x.Index(i), y.Index(i))
				return
			}
		}
		return
	}
	if !x.Equal(y) {
		t.Errorf("%s = %v, want %v", name, x, y)
	}
}

// BenchmarkExtended is the time to prepare one more box, where a library has a table.
func BenchmarkExtended(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	variant, _ := Choose("")
	if variant == "" {
		b.Skip("no kernels in this build")
	}
	boxes, hulls := make([]geom.Shape, 4000), make([]geom.Shape, 30)
	for i := range boxes {
		boxes[i] = geom.Box{HalfExtents: r3.Vec{X: 0.1 + rng.Float64(), Y: 0.2, Z: 0.3}}
	}
	for i := range hulls {
		hulls[i] = testkit.Hull(rng, r3.Vec{X: 1, Y: 1, Z: 1}, 500)
	}
	for name, shapes := range map[string][]geom.Shape{"4000-boxes": boxes, "30-hulls": hulls} {
		for _, scratch := range []bool{true, false} {
			what := map[bool]string{true: "/scratch", false: "/extended"}[scratch]
			b.Run(name+what, func(b *testing.B) {
				lib, err := batch.NewLibrary(shapes, nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err = TableOf(lib, variant, nil); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					next := lib
					if scratch {
						next, err = batch.NewLibrary(append(shapes[:len(shapes):len(shapes)], shapes[0]), nil)
					} else {
						next, err = lib.Extended(shapes[:1], nil, nil)
					}
					if err != nil {
						b.Fatal(err)
					}
					if _, err = TableOf(next, variant, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
