package geom_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

func TestGrowthCenter(t *testing.T) {
	tetra := func(off r3.Vec) geom.Shape {
		var v []r3.Vec
		for _, p := range []r3.Vec{vec(1, 1, 1), vec(1, -1, -1), vec(-1, 1, -1), vec(-1, -1, 1)} {
			v = append(v, r3.Add(p, off))
		}
		s, err := geom.NewConvex(v)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	smooth, err := geom.NewSmoothHull(tetra(vec(0, 0, 0)).(*geom.Convex).Points(), 8, vec(0.1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	// The inradius of the tetrahedron is 1/√3 about its centroid, its bounding radius √3.
	for i, c := range []struct {
		s    geom.Shape
		want r3.Vec
	}{
		{geom.Box{HalfExtents: vec(1, 2, 3)}, vec(0, 0, 0)},
		{geom.Cone{R: 1, HalfLength: 1}, vec(0, 0, 0)},
		{tetra(vec(0.1, 0, 0)), vec(0, 0, 0)},
		{tetra(vec(0.33, 0.33, 0.33)), vec(0, 0, 0)},
		{tetra(vec(-0.9, 0, 0)), vec(0, 0, 0)},
		{tetra(vec(-0.999, 0, 0)), vec(-0.999, 0, 0)},
		{tetra(vec(3, 0, 0)), vec(3, 0, 0)},
		{geom.WithMargin(tetra(vec(-1.001, 0, 0)), 0.1), vec(0, 0, 0)},
		{smooth, vec(0.1, 0, 0)},
	} {
		if got := geom.GrowthCenter(c.s); r3.Norm(r3.Sub(got, c.want)) > 1e-15 {
			t.Errorf("shape %d: center %v, want %v", i, got, c.want)
		}
	}
}

// The ball about any interior point lies in the shape: no support plane cuts it. It is not much smaller than
// the residual says, and 0 where the point is not inside.
func TestInradiusAt(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 7))
	inside, outside := 0, 0
	for _, s := range analyticShapes() {
		for range 20 {
			c := r3.Add(s.Center(), r3.Scale(s.BoundingRadius()*rng.Float64(), randomUnit(rng)))
			if rng.IntN(2) == 0 {
				c = r3.Add(s.Center(), r3.Scale(s.Inradius()*rng.Float64(), randomUnit(rng)))
			}
			r, residual := geom.InradiusAt(s, c), s.Residual(c)
			if residual >= 0 {
				if outside++; r != 0 {
					t.Fatalf("%s: inradius %g about %v, which is outside by %g", label(s), r, c, residual)
				}
				continue
			}
			inside++
			if !(r <= -residual && r >= -residual*(1-1e-8)-1e-14*(s.BoundingRadius()+r3.Norm(c)+r3.Norm(s.Center()))) {
				t.Fatalf("%s: inradius %g about %v, residual %g", label(s), r, c, residual)
			}
			for range 40 {
				n := randomUnit(rng)
				if plane := r3.Dot(n, r3.Sub(geom.Support(s, n), c)); plane < r {
					t.Fatalf("%s: a ball of %g about %v crosses the plane at %g along %v", label(s), r, c, plane, n)
				}
			}
		}
	}
	if inside < 500 || outside < 100 {
		t.Errorf("%d points inside, %d outside", inside, outside)
	}
	if r := geom.InradiusAt(geom.WithMargin(geom.Halfspace{}, 1), vec(0, 0, -5)); r != 0 {
		t.Errorf("inradius of a half-space: %g", r)
	}
	if r := geom.InradiusAt(geom.Sphere{R: 1}, vec(math.NaN(), 0, 0)); r != 0 {
		t.Errorf("inradius about NaN: %g", r)
	}
}
