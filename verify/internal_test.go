package verify

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
)

// TestSupportOfPlaced compares h with its definition, the support points of both
// shapes in the world.
func TestSupportOfPlaced(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	a := geom.WithMargin(geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}}, 0.25)
	b := geom.Capsule{R: 0.5, HalfLength: 2}
	dirs := newCompass(3)
	for k := range 200 {
		pa, pb := testkit.Pose(rng, 2), testkit.Pose(rng, 2)
		var p placed
		p.place(a, b, &pa, &pb)
		d := dirs[k]
		ma, mb := pa.Matrix(), pb.Matrix()
		sa := pa.Apply(geom.Support(a, ma.MulVecT(d)))
		sb := pb.Apply(geom.Support(b, mb.MulVecT(r3.Scale(-1, d))))
		want := r3.Dot(d, sa) - r3.Dot(d, sb)
		// Formed in the world: the positions, up to ten, cancel.
		if got := p.support(d); math.Abs(got-want) > p.rounding+40*eps*10 {
			t.Errorf("h = %.17g, want %.17g", got, want)
		}
		h, s := p.supportPoint(d)
		if math.Abs(h-want) > p.rounding+40*eps*10 || norm(r3.Sub(s, r3.Sub(sa, sb))) > p.rounding+40*eps*10 {
			t.Errorf("support point %v with h = %g, want %v", s, h, r3.Sub(sa, sb))
		}
		// All of D lies within the lever from the line along n.
		n := dirs[k+200]
		off := r3.Sub(s, r3.Scale(r3.Dot(s, n), n))
		if norm(off) > p.lever(n)*(1+1e-12) {
			t.Errorf("support point %g off the line, lever %g", norm(off), p.lever(n))
		}
	}
}

// TestDescent wants the descent to end in the signed distance, from a direction near
// it, where that is known: two balls.
func TestDescent(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 50 {
		pa, pb := testkit.Pose(rng, 0.3), testkit.Pose(rng, 0.3)
		var p placed
		p.place(geom.Sphere{R: 1}, geom.Sphere{R: 2}, &pa, &pb)
		want := norm(p.offset) - 3
		away := unit(p.offset)
		s := search{p: &p, lower: math.Inf(-1)}
		s.try(unit(r3.Add(away, r3.Vec{X: 0.3, Y: -0.2, Z: 0.4})))
		s.descend()
		if math.Abs(s.lower-want) > 1e-12 {
			t.Errorf("descent ended at %.15g, want %.15g", s.lower, want)
		}
		// The sample alone has the line of the centers.
		s = search{p: &p, lower: math.Inf(-1)}
		s.sample(newCompass(1), 0, 0)
		if math.Abs(s.lower-want) > 4*p.rounding {
			t.Errorf("sample found %.15g, want %.15g", s.lower, want)
		}
	}
}

// TestSeparate: there is a separating plane for separated bodies and none for penetrating ones,
// and for spheres an inscribed ball proves that.
func TestSeparate(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 200 {
		pa, pb := testkit.Pose(rng, 1), testkit.Pose(rng, 1)
		var p placed
		p.place(geom.Sphere{R: 0.75}, geom.Sphere{R: 0.5}, &pa, &pb)
		gap := norm(p.offset) - 1.25
		s := search{p: &p, lower: math.Inf(-1)}
		s.separate(0)
		if (s.lower > 0) != (gap > 0) || p.overlapProved() != (gap < 0) {
			t.Errorf("spheres at %g: plane proves %g, overlap proved %v", gap, s.lower, p.overlapProved())
		}
	}
}

func TestCompassIsUniform(t *testing.T) {
	c := newCompass(0)
	var sum r3.Vec
	for _, d := range c {
		if math.Abs(norm(d)-1) > 4*eps {
			t.Fatalf("direction %v is not unit", d)
		}
		sum = r3.Add(sum, d)
	}
	// The mean of n unit vectors has length 1/√n on average, and 4/√n never in practice.
	if m := norm(sum) / tableSize; m > 4/math.Sqrt(tableSize) {
		t.Errorf("mean direction has length %g", m)
	}
	if *newCompass(0) != *c || *newCompass(1) == *c {
		t.Error("directions do not follow from the seed")
	}
}

func TestHistogram(t *testing.T) {
	var h Histogram
	for _, v := range []float64{0, 1e-30, 2e-18, 3e-7, -3e-7, 1, 50, math.NaN(), math.Inf(-1)} {
		h.add(v)
	}
	if h.Zero != 1 || h.Counts[0] != 2 || h.Counts[11] != 2 || h.Counts[18] != 2 || h.NotFinite != 2 {
		t.Errorf("%+v", h)
	}
	var sum Histogram
	sum.merge(&h)
	sum.merge(&h)
	if sum.Zero != 2 || sum.Counts[11] != 4 || sum.NotFinite != 4 {
		t.Errorf("%+v", sum)
	}
	if s := h.String(); s != "0: 1  1e-18: 2  1e-7: 2  1e0: 2  not finite: 2" {
		t.Errorf("%q", s)
	}
	if s := new(Histogram).String(); s != "none" {
		t.Errorf("%q", s)
	}
	if err := json.Unmarshal([]byte(`{"first_decade":3}`), &h); err == nil {
		t.Error("a histogram with other bins was read")
	}
}

func TestNumberJSON(t *testing.T) {
	for _, f := range []float64{0, -1.5, 1e-300, math.Inf(1), math.Inf(-1), math.NaN()} {
		b, err := json.Marshal(Number(f))
		if err != nil {
			t.Fatal(err)
		}
		var n Number
		if err := json.Unmarshal(b, &n); err != nil {
			t.Fatal(err)
		}
		if got := float64(n); got != f && !(math.IsNaN(got) && math.IsNaN(f)) {
			t.Errorf("%g became %s became %g", f, b, got)
		}
	}
	var n Number
	for _, bad := range []string{`"x"`, `true`, `[1]`} {
		if err := json.Unmarshal([]byte(bad), &n); err == nil {
			t.Errorf("%s was read as %g", bad, float64(n))
		}
	}
}

// TestWorstRows wants the same list whatever the order, failures first, then by
// excess over what is allowed, then by row.
func TestWorstRows(t *testing.T) {
	rows := []outcome{
		{row: 5, residual: 1, allowed: 4}, {row: 1, residual: 3, allowed: 4},
		{row: 9, residual: 8, allowed: 4}, {row: 2, residual: math.NaN(), allowed: 4},
		{row: 3, residual: 1, allowed: 4}, {row: 4, residual: -1, allowed: 4}, {row: 6, residual: 1e-9},
	}
	rng := rand.New(rand.NewPCG(8, 8))
	for range 50 {
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		r := newReport(5)
		for _, o := range rows {
			r.add(checkPlane, o)
		}
		c := r.Checks[checkPlane]
		var got []int
		for _, w := range c.Worst {
			got = append(got, w.Row)
		}
		want := []int{2, 6, 9, 1, 3}
		for i := range want {
			if len(got) != len(want) || got[i] != want[i] {
				t.Fatalf("worst rows %v, want %v", got, want)
			}
		}
		if c.Failed != 3 || c.Ran != 7 || !math.IsInf(float64(c.Residual), 1) {
			t.Fatalf("%+v", c)
		}
	}
}

func TestStretch(t *testing.T) {
	for _, c := range []struct{ n, m int }{{10, 3}, {7, 7}, {1000, 999}, {math.MaxInt32 * 4, 12345}} {
		if stretch(0, c.n, c.m) != 0 || stretch(c.m, c.n, c.m) != c.n {
			t.Errorf("stretches of %d by %d do not cover it", c.n, c.m)
		}
		for k := range min(c.m, 1000) {
			if stretch(k+1, c.n, c.m) <= stretch(k, c.n, c.m) {
				t.Errorf("stretch %d of %d by %d is empty", k, c.n, c.m)
			}
		}
	}
}

// TestNoAllocations audits rows of each status one by one.
func TestNoAllocations(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}, geom.Sphere{R: 1},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 3}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = 64
	in := batch.NewPairs(n)
	o := batch.Options{}
	res := batch.NewResults(n, &o)
	rng := rand.New(rand.NewPCG(2, 2))
	for i := range n {
		in.SetRow(i, &batch.Row{ShapeA: int32(i % 3), ShapeB: int32(i / 3 % 3), PoseA: testkit.Pose(rng, 1),
			PoseB: testkit.Pose(rng, 1)})
		res.Put(i, &batch.Answer{Status: batch.Status(i % 4), Distance: rng.NormFloat64(), Normal: r3.Vec{X: 1},
			Lower: -9, Upper: 9})
	}
	job := &batch.Job{Library: lib, Input: in, Options: o, Results: res}
	opt, err := Options{DescentEvery: 1}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	a := newAuditor(job, &opt, newCompass(0))
	if got := testing.AllocsPerRun(10, func() {
		for i := range n {
			a.row(i)
		}
	}); got != 0 {
		t.Errorf("%g allocations for %d rows", got, n)
	}
}

// A panic of a worker, or of what is told of its progress, is an error, and nobody waits for it.
func TestPanicOfAWorker(t *testing.T) {
	const n = 10_000
	for _, workers := range []int{1, 2, 7} {
		var checked atomic.Int64
		begin := func() (func(int), func()) {
			return func(i int) {
				if i == 700 {
					panic("deliberate")
				}
				checked.Add(1)
			}, func() {}
		}
		err := inBlocks(context.Background(), n, 64, workers, nil, begin)
		if err == nil || !strings.Contains(err.Error(), "deliberate") {
			t.Errorf("%d workers: %v", workers, err)
		}
		if checked.Load() == n {
			t.Errorf("%d workers: every row was checked", workers)
		}
		quiet := func() (func(int), func()) { return func(int) {}, func() {} }
		err = inBlocks(context.Background(), n, 64, workers, func(int) { panic("deliberate") }, quiet)
		if err == nil || !strings.Contains(err.Error(), "deliberate") {
			t.Errorf("%d workers, progress: %v", workers, err)
		}
	}
}

// Every query that is answered has an audit, and no other one has: its row has all functions but place, which few need.
func TestEveryQueryIsAudited(t *testing.T) {
	for q, r := range rulesOf {
		query := batch.Query(q)
		if answered := query.Info().Answered; answered != (r != nil) {
			t.Errorf("query %v: answered is %t, and the table has a row: %t", query, answered, r != nil)
		}
		if r == nil {
			continue
		}
		v := reflect.ValueOf(*r)
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "place" && v.Field(i).IsZero() {
				t.Errorf("query %v: no function %s", query, name)
			}
		}
	}
}
