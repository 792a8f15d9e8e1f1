package generate

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// tetrahedron is an OBJ group, moved along x and numbered behind so many vertices.
func tetrahedron(name string, x float64, before int) string {
	s := fmt.Sprintf("o %s\nv %g 0 0\nv %g 0 0\nv %g 1 0\nv %g 0 1\n", name, x, x+1, x, x)
	for _, f := range [][3]int{{1, 3, 2}, {1, 2, 4}, {1, 4, 3}, {2, 3, 4}} {
		s += fmt.Sprintf("f %d %d %d\n", f[0]+before, f[1]+before, f[2]+before)
	}
	return s
}

// dart is an OBJ group that is not convex: a tetrahedron whose long face is pushed in.
const dart = `o dart
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
v 0.2 0.2 0.2
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 5
f 3 4 5
f 4 2 5
`

func write(t *testing.T, dir, name, text string) string {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMeshes(t *testing.T) {
	dir := t.TempDir()
	two := tetrahedron("left", 0, 0) + tetrahedron("right", 2, 4)
	write(t, dir, "b.obj", two)
	write(t, dir, "a_parts.obj", two)
	write(t, dir, "notes.txt", "not a mesh")
	other := write(t, t.TempDir(), "dart.obj", dart)
	g, err := New("mesh", 1, Options{Meshes: []string{dir, other}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range g.Library().Len() {
		names = append(names, g.Library().Name(int32(i)))
	}
	if want := []string{"a_parts/left", "a_parts/right", "b", "dart"}; !reflect.DeepEqual(names, want) {
		t.Fatalf("shapes %q, want %q", names, want)
	}
	if lo, hi := g.Library().Shape(2).AABB(); lo != (r3.Vec{}) || hi != (r3.Vec{X: 3, Y: 1, Z: 1}) {
		t.Errorf("the hull of b.obj spans %v to %v", lo, hi)
	}
	if lo, hi := g.Library().Shape(1).AABB(); lo != (r3.Vec{X: 2}) || hi != (r3.Vec{X: 3, Y: 1, Z: 1}) {
		t.Errorf("the right part spans %v to %v", lo, hi)
	}
	checkMeshRows(t, g, 150)

	path := write(t, t.TempDir(), "dart_parts.obj", dart)
	if _, err := New("mesh", 1, Options{Meshes: []string{path}}); err == nil || !strings.Contains(err.Error(),
		"dart_parts.obj") || !strings.Contains(err.Error(), "not convex") {
		t.Errorf("a part that is not convex: error %v", err)
	}
	path = write(t, t.TempDir(), "empty.obj", "")
	if _, err := New("mesh", 1, Options{Meshes: []string{path}}); err == nil || !strings.Contains(err.Error(),
		"empty.obj") {
		t.Errorf("an empty mesh: error %v", err)
	}
}

// checkMeshRows solves rows and compares them with their separations.
func checkMeshRows(t *testing.T, g *Generator, n int) {
	t.Helper()
	pairs := batch.NewPairs(n)
	g.Fill(pairs, 0)
	var row batch.Row
	for i := range n {
		pairs.Row(i, &row)
		want := g.Separation(i)
		got, p := solve(g, &row)
		tol := placed*p.Size() + got.Upper - got.Lower + 4*p.Roundoff()
		switch {
		case math.IsNaN(want):
			t.Errorf("row %d was not placed", i)
		case i%3 == 0 && !(got.Status == ref.Penetrating && want >= -0.1 && got.Distance >= want-tol):
			t.Errorf("row %d: %s at %g, placed at %g", i, got.Status, got.Distance, want)
		case i%3 > 0 && !(got.Status == ref.Separated && math.Abs(got.Distance-want) <= tol):
			t.Errorf("row %d: %s at %g, placed at %g", i, got.Status, got.Distance, want)
		}
	}
}

// TestYCB uses scanned household objects, where they are at hand.
func TestYCB(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "data", "ycb")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no meshes beside the project: %v", err)
	}
	if testing.Short() {
		t.Skip("builds hulls of 8,000 points")
	}
	g, err := New("mesh", 1, Options{Meshes: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	whole, parts := 0, 0
	for i := range int32(g.Library().Len()) {
		if _, ok := g.Library().Shape(i).(*geom.Convex); !ok {
			t.Fatalf("shape %d is %T", i, g.Library().Shape(i))
		}
		if strings.Contains(g.Library().Name(i), "_parts/") {
			parts++
		} else {
			whole++
		}
	}
	if whole == 0 || parts <= whole {
		t.Errorf("%d hulls and %d parts", whole, parts)
	}
	checkMeshRows(t, g, 300)
}
