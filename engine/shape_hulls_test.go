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

	"gonum.org/v1/gonum/spatial/r3"
)

// oddHulls is hulls that make the search for a support point hard: flat, long, with faces
// of many corners, all but coplanar, with interior and duplicate points, far from their
// own origin, huge and tiny.
func oddHulls(t *testing.T, g *rand.Rand) []geom.Shape {
	t.Helper()
	ball := func(n int, f func(r3.Vec) r3.Vec) (v []r3.Vec) {
		for range n {
			v = append(v, f(testkit.Unit(g)))
		}
		return v
	}
	prism := func(n int, height float64) (v []r3.Vec) {
		for i := range n {
			s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			v = append(v, r3.Vec{X: c, Y: s, Z: height}, r3.Vec{X: c, Y: s, Z: -height})
		}
		return v
	}
	along := r3.Unit(r3.Vec{X: 1, Y: 2, Z: -3})
	var dome []r3.Vec
	for i := range 30 {
		for j := range 30 {
			x, y := (float64(i)-14.5)/20, (float64(j)-14.5)/20
			dome = append(dome, r3.Vec{X: x, Y: y, Z: -1e-9 * (x*x + y*y)})
		}
	}
	interior := ball(300, func(d r3.Vec) r3.Vec { return r3.Scale(g.Float64(), d) })
	var out []geom.Shape
	for _, points := range [][]r3.Vec{
		ball(200, func(d r3.Vec) r3.Vec { return r3.Vec{X: 1e3 * d.X, Y: d.Y, Z: d.Z} }),
		ball(200, func(d r3.Vec) r3.Vec { return r3.Add(r3.Scale(0.01, d), r3.Scale(5*r3.Dot(d, along), along)) }),
		ball(200, func(d r3.Vec) r3.Vec { return r3.Sub(d, r3.Scale((1-1e-6)*r3.Dot(d, along), along)) }),
		ball(150, func(d r3.Vec) r3.Vec { return r3.Vec{X: d.X, Y: d.Y} }),
		ball(100, func(d r3.Vec) r3.Vec { return r3.Vec{X: d.X} }),
		prism(300, 0.3), prism(200, 1e-4), dome,
		append(interior, interior...),
		ball(300, func(d r3.Vec) r3.Vec { return r3.Add(d, r3.Vec{X: 300, Y: -200, Z: 50}) }),
		ball(300, func(d r3.Vec) r3.Vec { return r3.Scale(1e4, d) }),
		ball(300, func(d r3.Vec) r3.Vec { return r3.Scale(1e-4, d) }),
		ball(4000, func(d r3.Vec) r3.Vec { return d }),
	} {
		c, err := geom.NewConvex(points)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return append(out, geom.WithMargin(out[0], 0.2), geom.Box{HalfExtents: r3.Vec{X: 1, Y: 0.2, Z: 0.5}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.3, Y: 0.7, Z: 0.2}})
}

// TestOddHulls: hulls of all kinds get the answers of the CPU, none declined for the limit on
// loop passes and few for wide bounds.
func TestOddHulls(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	g := rand.New(rand.NewPCG(8, 9))
	lib, err := batch.NewLibrary(oddHulls(t, g), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := size(800, 1000, 4000)
	checkRows(t, b, c, lib, scattered(g, lib, rows))
}

// checkRows holds a set of rows against the CPU in both precisions and as a Boolean query.
func checkRows(t *testing.T, b *Backend, c dispatch.Backend, lib *batch.Library, pairs *batch.Pairs) {
	t.Helper()
	rows := pairs.Len()
	for _, o := range []batch.Options{{}, {Precision: batch.Double}, {Method: batch.Nesterov},
		{Query: batch.Collide, Columns: batch.AllColumns}} {
		t.Run(fmt.Sprintf("%v/%v/%v", o.Query, o.Precision, o.Method), func(t *testing.T) {
			before := b.Stats().Declined
			job := &batch.Job{Library: lib, Input: pairs, Options: o}
			run(t, job, dispatch.Options{}, b, c)
			after := b.Stats().Declined
			rowcheck.Audit(t, job)
			want := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Precision: o.Precision}}
			run(t, want, dispatch.Options{}, c)
			compare(t, job, job.Results, want.Results)
			gap := after.Gap - before.Gap
			t.Logf("declined of %d rows: %+v", rows, DeclinedRows{Depth: after.Depth - before.Depth, Gap: gap})
			if after.Budget != before.Budget || after.Kind != before.Kind || after.Unknown != before.Unknown ||
				gap*20 > int64(rows) {
				t.Errorf("declined %+v, before %+v", after, before)
			}
		})
	}
}

// TestManyVertices: hulls of 20,000 and of 65,535 vertices are answered on the device. A
// scan of them would be cut off.
func TestManyVertices(t *testing.T) {
	sizes := []int{20000, 65535}
	if testing.Short() {
		sizes = sizes[:1]
	}
	b, c := open(t, Options{}), processor(t)
	for _, n := range sizes {
		g := rand.New(rand.NewPCG(3, uint64(n)))
		lib := hullLibrary(t, g, 2, n)
		checkRows(t, b, c, lib, scattered(g, lib, 200))
	}
}
