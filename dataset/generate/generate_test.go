package generate

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/ref"
)

// seeded are the sets that need no files.
var seeded = []string{
	"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128", "hull512", "mixed", "adversarial",
}

func newSet(t testing.TB, set string, seed uint64) *Generator {
	t.Helper()
	o := Options{}
	if testing.Short() {
		o.Shapes = 24 // hulls of 512 points take 3 ms each, 20 with the race detector
	}
	g, err := New(set, seed, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func solve(g *Generator, row *batch.Row) (ref.Result, ref.Pair) {
	p := ref.NewPair(g.Library().Shape(row.ShapeA), g.Library().Shape(row.ShapeB), row.PoseA, row.PoseB)
	return ref.Solve(&p, ref.Options{}, nil), p
}

func TestNames(t *testing.T) {
	if got, want := Names(), append(append([]string{}, seeded...), "mesh"); !reflect.DeepEqual(got, want) {
		t.Errorf("Names() = %v, want %v", got, want)
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		set  string
		o    Options
		want string
	}{
		{"elipsoids", Options{}, "unknown set \"elipsoids\", want one of ellipsoids, boxes,"},
		{"boxes", Options{Meshes: []string{"a.obj"}}, "takes no meshes"},
		{"boxes", Options{Shapes: -1}, "-1 shapes"},
		{"mixed", Options{Shapes: 9}, "want at least one of each"},
		{"mesh", Options{}, "none given"},
		{"mesh", Options{Meshes: []string{"no such.obj"}}, "no such.obj"},
		{"mesh", Options{Meshes: []string{t.TempDir()}}, "no .obj, .stl or .ply"},
	} {
		_, err := New(c.set, 1, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%q, %+v): error %v, want one with %q", c.set, c.o, err, c.want)
		}
	}
}

// TestChunks fills a set in one piece, and in uneven pieces backwards from
// another Generator.
func TestChunks(t *testing.T) {
	const n = 301
	for _, set := range seeded {
		whole, parts := batch.NewPairs(n), batch.NewPairs(n)
		newSet(t, set, 7).Fill(whole, 1000)
		g := newSet(t, set, 7)
		for hi := n; hi > 0; {
			lo := max(0, hi-37)
			g.Fill(parts.Slice(lo, hi), 1000+lo)
			hi = lo
		}
		if !reflect.DeepEqual(whole, parts) {
			t.Errorf("%s: rows depend on the chunks", set)
		}
		other := batch.NewPairs(n)
		newSet(t, set, 8).Fill(other, 1000)
		if reflect.DeepEqual(whole, other) {
			t.Errorf("%s: rows do not depend on the seed", set)
		}
	}
}

// TestConcurrent fills pieces from several goroutines at once.
func TestConcurrent(t *testing.T) {
	const n, pieces = 200, 8
	g := newSet(t, "mixed", 7)
	want, got := batch.NewPairs(n), batch.NewPairs(n)
	g.Fill(want, 0)
	var wg sync.WaitGroup
	for i := range pieces {
		wg.Go(func() {
			lo := n / pieces * i
			g.Fill(got.Slice(lo, lo+n/pieces), lo)
		})
	}
	wg.Wait()
	if !reflect.DeepEqual(want, got) {
		t.Error("rows depend on the goroutine")
	}
}

// TestSeparations solves rows again: positive separations are exact, negative ones
// bound the depth from above, every third does what it says.
func TestSeparations(t *testing.T) {
	n := 600
	if testing.Short() {
		n = 90
	}
	for _, set := range seeded[:8] {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			g := newSet(t, set, 3)
			pairs := batch.NewPairs(n)
			g.Fill(pairs, 0)
			var row batch.Row
			for i := range n {
				pairs.Row(i, &row)
				want := g.Separation(i)
				got, p := solve(g, &row)
				lo, hi := [3]float64{-0.1, 0, 0.1}[i%3], [3]float64{0, 0.1, 2}[i%3]
				if tol := 1e-15 * 10; !(want >= lo-tol && want <= hi+tol) {
					t.Fatalf("row %d: separation %g, want %g to %g", i, want, lo, hi)
				}
				// The placement is exact to placed × size; so is, at 1e-12, this solve.
				tol := placed*p.Size() + got.Upper - got.Lower + 4*p.Roundoff()
				switch {
				case want > 0 && !(math.Abs(got.Distance-want) <= tol && got.Status == ref.Separated):
					t.Errorf("row %d: %s at %.17g, placed at %.17g", i, got.Status, got.Distance, want)
				case want > 0 && !(math.Abs(got.Distance-want) <= 1e-12*p.Size()+4*p.Roundoff()):
					t.Errorf("row %d: distance %.17g, placed at %.17g", i, got.Distance, want)
				case want <= 0 && !(got.Distance <= 0 && got.Status == ref.Penetrating):
					t.Errorf("row %d: %s at %g, placed at %g", i, got.Status, got.Distance, want)
				case want <= 0 && !(got.Distance >= want-tol):
					t.Errorf("row %d: depth %g, placed at most %g deep", i, -got.Distance, -want)
				}
				if x := row.PoseA.Position; math.Abs(x.X) > 8 || math.Abs(x.Y) > 8 || math.Abs(x.Z) > 8 {
					t.Errorf("row %d: position %v", i, x)
				}
			}
		})
	}
}

// TestMixedKinds counts the pairs of kinds.
func TestMixedKinds(t *testing.T) {
	const n = 20000
	g := newSet(t, "mixed", 5)
	w := g.pool.Get().(*worker)
	count := map[[2]geom.Kind]int{}
	margins := 0
	for i := range n {
		w.rand.seed(g.seed, streamRows, i)
		p := g.draw(g, w, i)
		a, b := g.Library().Shape(p.a), g.Library().Shape(p.b)
		count[[2]geom.Kind{a.Kind(), b.Kind()}]++
		if _, ok := a.(geom.Rounded); ok {
			margins++
		}
	}
	const want = n / 99.0
	if len(count) != 99 {
		t.Errorf("%d pairs of kinds, want 10 × 10 less two half-spaces", len(count))
	}
	for k, c := range count {
		// Six standard deviations of a binomial count.
		if math.Abs(float64(c)-want) > 6*math.Sqrt(want) {
			t.Errorf("%s and %s: %d rows, want about %.0f", k[0], k[1], c, want)
		}
	}
	if margins < n/3 || margins > 2*n/3 {
		t.Errorf("%d of %d shapes have a margin, want about half", margins, n)
	}
}

// TestDistributions compares sizes and rotations with what they are drawn from.
func TestDistributions(t *testing.T) {
	g, err := New("ellipsoids", 11, Options{Shapes: 2000})
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for i := range int32(2000) {
		a := g.Library().Shape(i).(geom.Ellipsoid).SemiAxes
		for _, x := range []float64{a.X, a.Y, a.Z} {
			if x < 0.1 || x > 1 {
				t.Fatalf("shape %d: semi-axes %v", i, a)
			}
			sum += math.Log10(x)
		}
	}
	// log10 is uniform in -1 to 0: mean -1/2, standard deviation of the mean
	// 1/√12/√6000 = 0.0037.
	if mean := sum / 6000; math.Abs(mean+0.5) > 0.02 {
		t.Errorf("mean of log10 of the semi-axes %g, want -0.5", mean)
	}
	r := newRandom()
	var m [9]float64
	for i := range 20000 {
		r.seed(1, streamRows, i)
		q := r.rotation()
		if math.Abs(quat.Abs(q)-1) > 1e-15 {
			t.Fatalf("quaternion %v is not unit", q)
		}
		for k, x := range (geom.Pose{Rotation: q}).Matrix() {
			m[k] += x * x / 20000
		}
	}
	for k, x := range m { // every entry of a uniform rotation has the mean square 1/3
		if math.Abs(x-1.0/3) > 0.015 {
			t.Errorf("mean square of entry %d of the rotations %g, want 1/3", k, x)
		}
	}
}

// TestAdversarial checks what each case promises, and that together they meet
// every status.
func TestAdversarial(t *testing.T) {
	g := newSet(t, "adversarial", 1)
	n := 60 * len(cases)
	if testing.Short() {
		n = 12 * len(cases)
	}
	pairs := batch.NewPairs(n)
	g.Fill(pairs, 0)
	var row batch.Row
	seen := map[ref.Status]int{}
	inexact := 0
	for i := range n {
		pairs.Row(i, &row)
		name := cases[i%len(cases)].name
		for _, pose := range []geom.Pose{row.PoseA, row.PoseB} {
			if _, err := pose.Normalized(); err != nil {
				t.Fatalf("row %d (%s): %v", i, name, err)
			}
		}
		got, p := solve(g, &row)
		seen[got.Status]++
		a, b := g.Library().Name(row.ShapeA), g.Library().Name(row.ShapeB)
		want := g.Separation(i)
		tol := placed*p.Size() + got.Upper - got.Lower + 4*p.Roundoff()
		switch name {
		case "identical":
			if row.PoseA != row.PoseB || row.ShapeA != row.ShapeB {
				t.Errorf("row %d: %s differs from %s", i, a, b)
			}
		case "concentric", "nested":
			if got.Lower > 4*p.Roundoff() {
				t.Errorf("row %d (%s): %s and %s are %g apart", i, name, a, b, got.Distance)
			}
		case "1 km away", "10 km away":
			far := map[string]float64{"1 km away": 1e3, "10 km away": 1e4}[name]
			if d := r3.Norm(row.PoseA.Position); math.Abs(d-far) > 25 {
				t.Errorf("row %d (%s): %g m from the origin", i, name, d)
			}
			fallthrough
		default:
			if math.IsNaN(want) {
				inexact++
			} else if want >= 0 && !(got.Lower <= want+tol && got.Upper >= want-tol) {
				t.Errorf("row %d (%s): %s and %s in [%g, %g], placed at %g", i, name, a, b, got.Lower, got.Upper, want)
			} else if want < 0 && !(got.Upper >= want-tol) {
				t.Errorf("row %d (%s): %s and %s %g deep, placed at %g", i, name, a, b, -got.Upper, want)
			}
		}
	}
	for _, s := range []ref.Status{ref.Separated, ref.Touching, ref.Penetrating} {
		if seen[s] < n/20 {
			t.Errorf("%d of %d rows are %s", seen[s], n, s)
		}
	}
	t.Logf("statuses %v, %d rows without a placed separation", seen, inexact)
}

func BenchmarkFill(b *testing.B) {
	for _, set := range seeded {
		b.Run(set, func(b *testing.B) {
			g := newSet(b, set, 1)
			pairs := batch.NewPairs(1000)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				g.Fill(pairs, i*1000)
			}
		})
	}
}

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
