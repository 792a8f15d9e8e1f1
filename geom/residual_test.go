package geom_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

// A point that lies t outside along the normal of a surface point is at the distance
// t exactly, for any convex shape: the reference that needs no solver.
func TestResidualOutsideAlongNormals(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, s := range analyticShapes() {
		size := s.BoundingRadius()
		for i := range 400 {
			n := randomUnit(rng)
			if i%2 == 0 {
				n = generalUnit(rng, s)
			}
			dist := size * math.Pow(10, 18*rng.Float64()-16)
			p := r3.Add(geom.Support(s, n), r3.Scale(dist, n))
			got := s.Residual(p)
			// Rounding of p, of the support point, and of the residual itself, of which a
			// superquadric takes some fifteen exponentials and logarithms.
			tol := 24 * eps * (size + dist)
			if !exactResidual(s) {
				tol = 128 * eps * (size + dist)
			}
			if k := s.Kind(); k == geom.KindSmoothHull || k == geom.KindSmoothRevolution {
				// Near a corner of sharpness β the normal is known to rounding over the distance,
				// which counts while that is some hundred units of rounding.
				tol = 256 * eps * (size + dist)
			}
			if !(math.Abs(got-dist) <= tol) {
				t.Fatalf("%s: residual of %v, %g from the surface along %v, is off by %g (%g rounding units)",
					label(s), p, dist, n, got-dist, (got-dist)/eps/(size+dist))
			}
		}
	}
}

// dualDistance is the signed distance as max over unit n of <n,p> - h(n): samples, then
// a search around the best with shrinking steps. Whatever n, the value is a
// lower bound of the signed distance; accuracy is that of the search.
func dualDistance(s geom.Shape, p r3.Vec, rng *rand.Rand) float64 {
	value := func(n r3.Vec) float64 { return r3.Dot(n, p) - closedForm(s, n) }
	slope := 0.0
	switch s := s.(type) {
	case geom.Cone:
		slope = s.R / (2 * s.HalfLength)
	case geom.Frustum:
		slope = (s.RBottom - s.RTop) / (2 * s.HalfLength)
	}
	var n r3.Vec
	best := math.Inf(-1)
	try := func(c r3.Vec) {
		if norm := r3.Norm(c); norm > 0 {
			c = r3.Scale(1/norm, c)
			if v := value(c); v > best {
				n, best = c, v
			}
		}
	}
	for range 400 {
		try(randomUnit(rng))
	}
	for _, axis := range []r3.Vec{vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1)} {
		try(axis)
		try(r3.Scale(-1, axis))
	}
	// Steps grow on success and shrink on failure, so that about one in five succeeds,
	// which climbs narrow ridges too; the kinks of h, on coordinate planes and on the
	// normals of a cone's side, are tried exactly.
	for step, left := 0.5, 4000; step > 1e-9 && left > 0; left-- {
		before := best
		c := r3.Add(n, vec(step*rng.NormFloat64(), step*rng.NormFloat64(), step*rng.NormFloat64()))
		try(c)
		// Inside there is a maximum on each side of a plane of symmetry; the higher is on that of p.
		try(vec(math.Copysign(c.X, p.X), math.Copysign(c.Y, p.Y), math.Copysign(c.Z, p.Z)))
		try(vec(0, c.Y, c.Z))
		try(vec(c.X, 0, c.Z))
		try(vec(c.X, c.Y, 0))
		try(vec(c.X, c.Y, slope*math.Hypot(c.X, c.Y)))
		if best > before {
			step *= 1.5
		} else {
			step *= 0.92
		}
	}
	return best
}

// Against the dual, inside and outside: never below it, and equal where Residual is
// the signed distance.
func TestResidualAgainstDual(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	shapes := []geom.Shape{
		geom.Sphere{R: 1.5},
		geom.Capsule{R: 0.5, HalfLength: 1},
		geom.Cylinder{R: 1, HalfLength: 0.5}, geom.Cylinder{R: 0.25, HalfLength: 1},
		geom.Cone{R: 1, HalfLength: 0.5}, geom.Cone{R: 0.25, HalfLength: 1},
		geom.Frustum{RBottom: 1, RTop: 0.5, HalfLength: 0.5}, geom.Frustum{RBottom: 0.1, RTop: 1, HalfLength: 0.5},
		geom.Box{HalfExtents: vec(1, 0.5, 0.75)},
		geom.Ellipsoid{SemiAxes: vec(1, 0.5, 0.75)}, geom.Ellipsoid{SemiAxes: vec(0.3, 0.3, 1)},
		geom.Ellipsoid{SemiAxes: vec(1, 1, 0.3)},
		geom.Superquadric{SemiAxes: vec(1, 0.5, 0.75), Alpha1: 0.6, Alpha2: 1.4},
		geom.Superquadric{SemiAxes: vec(1, 0.5, 0.75), Alpha1: 1.4, Alpha2: 0.6},
		geom.WithMargin(geom.Box{HalfExtents: vec(1, 0.5, 0.75)}, 0.25),
		geom.WithMargin(geom.Ellipsoid{SemiAxes: vec(1, 0.5, 0.75)}, 0.25),
		geom.WithMargin(geom.Superquadric{SemiAxes: vec(1, 0.5, 0.75), Alpha1: 1.4, Alpha2: 0.6}, 0.25),
	}
	points := 60
	if testing.Short() {
		points = 15
	}
	for _, s := range shapes {
		inside, outside := 0, 0
		_, hi := s.AABB()
		for i := range points {
			p := vec(hi.X*(3*rng.Float64()-1.5), hi.Y*(3*rng.Float64()-1.5), hi.Z*(3*rng.Float64()-1.5))
			if i%3 == 0 {
				p = r3.Scale(0.3, p)
			}
			got, want := s.Residual(p), dualDistance(s, p, rng)
			if got < want-16*eps*s.BoundingRadius() {
				t.Fatalf("%s: residual of %v = %g, but a plane proves at least %g", label(s), p, got, want)
			}
			// The search ends within about 1e-6.
			if (exactResidual(s) || got > 0) && got > want+3e-6*s.BoundingRadius() {
				t.Fatalf("%s: residual of %v = %.9g, want %.9g", label(s), p, got, want)
			}
			if got < 0 {
				inside++
			} else {
				outside++
			}
		}
		if inside < points/10 || outside < points/10 {
			t.Errorf("%s: %d points inside and %d outside, want some of both", label(s), inside, outside)
		}
	}
}

// Closed forms in special positions.
func TestResidualTable(t *testing.T) {
	sqrt := math.Sqrt
	box := geom.Box{HalfExtents: vec(1, 2, 3)}
	cyl := geom.Cylinder{R: 1, HalfLength: 2}
	cone := geom.Cone{R: 3, HalfLength: 2} // slant 5: sides 3, 4, 5
	fru := geom.Frustum{RBottom: 4, RTop: 1, HalfLength: 2}
	for _, c := range []struct {
		s    geom.Shape
		p    r3.Vec
		want float64
	}{
		{geom.Sphere{R: 2}, vec(0, 0, 0), -2},
		{geom.Sphere{R: 2}, vec(3, 4, 0), 3},
		{geom.Capsule{R: 1, HalfLength: 2}, vec(0, 0, 0), -1},
		{geom.Capsule{R: 1, HalfLength: 2}, vec(0, 0, 2.5), -0.5},
		{geom.Capsule{R: 1, HalfLength: 2}, vec(3, 0, -6), 4},
		{box, vec(0, 0, 0), -1},
		{box, vec(0, 1.75, 0), -0.25},
		{box, vec(1, 2, 3), 0},
		{box, vec(-3, 1, 0), 2},
		{box, vec(2, -4, 5), 3},
		{cyl, vec(0, 0, 0), -1},
		{cyl, vec(0, 0, -1.75), -0.25},
		{cyl, vec(0, 4, 6), 5},
		{cyl, vec(0.5, 0, 3), 1},
		{cone, vec(0, 0, 2), 0},
		{cone, vec(0, 0, 5), 3},                   // beyond the apex
		{cone, vec(0, 0, -3), 1},                  // below the base
		{cone, vec(6, 0, -6), 5},                  // beyond the rim
		{cone, vec(0, 0, 0), -1.2},                // 2·3/5 from the side
		{cone, vec(0, 0, -1.75), -0.25},           // near the base
		{cone, vec(1.5+4, 0, 0+3), 5},             // across the side at its middle
		{cone, vec(0, -1.5-0.8, 0+0.6), 1},        // the same, another side
		{cone, vec(1.5-0.08, 0, -0.06), -1. / 10}, // inside of it
		{fru, vec(0, 0, 0), -2},
		{fru, vec(1+1.6, 0, 2+1.2), 2}, // along the side's normal from the upper rim
		{fru, vec(4, 0, -5), 3},
		{fru, vec(7, 0, -6), 5},
		{fru, vec(1, 0, 4), 2},
		{geom.Frustum{RTop: 3, HalfLength: 2}, vec(0, 0, 0), -1.2},
		{geom.Halfspace{}, vec(5, 6, 7), 7},
		{geom.Halfspace{}, vec(5, 6, -7), -7},
		{geom.WithMargin(geom.Halfspace{}, 2), vec(5, 6, 7), 5},
		{geom.WithMargin(box, 0.5), vec(2, 3, 4), sqrt(3) - 0.5},
		{geom.WithMargin(box, 0.5), vec(0, 0, 0), -1.5},
		{geom.Superquadric{SemiAxes: vec(1, 2, 3), Alpha1: 0.5, Alpha2: 1.5}, vec(0, 0, 5), 2},
		{geom.Superquadric{SemiAxes: vec(1, 2, 3), Alpha1: 0.5, Alpha2: 1.5}, vec(0, -5, 0), 3},
		{geom.Superquadric{SemiAxes: vec(1, 2, 3), Alpha1: 0.5, Alpha2: 1.5}, vec(1.5, 0, 0), 0.5},
	} {
		if got := c.s.Residual(c.p); !(math.Abs(got-c.want) <= 8*eps*(1+r3.Norm(c.p))) {
			t.Errorf("%s: residual of %v = %g, want %g", label(c.s), c.p, got, c.want)
		}
	}
}

// An ellipsoid with equal exponents 1 is a superquadric too: two ways to one distance.
func TestSuperquadricResidualIsEllipsoids(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	for range 500 {
		axes := vec(math.Exp(rng.NormFloat64()), math.Exp(rng.NormFloat64()), math.Exp(rng.NormFloat64()))
		e, s := geom.Ellipsoid{SemiAxes: axes}, geom.Superquadric{SemiAxes: axes, Alpha1: 1, Alpha2: 1}
		n := randomUnit(rng)
		p := r3.Add(e.CoreSupport(n), r3.Scale(rng.ExpFloat64(), randomUnit(rng)))
		a, b := e.Residual(p), s.Residual(p)
		if a > 0 && math.Abs(a-b) > 16*eps*(e.BoundingRadius()+r3.Norm(p)) {
			t.Fatalf("axes %v, point %v: ellipsoid %g, superquadric %g", axes, p, a, b)
		}
		if a < 0 && b < a-16*eps*e.BoundingRadius() {
			t.Fatalf("axes %v, point %v: depth is %g, superquadric claims %g", axes, p, a, b)
		}
	}
}

// Inside an ellipsoid, from the closed forms: the center, the long axis on both sides of
// the center of curvature, the plane across the shortest axis, and points below
// the surface along its normal, as far as the smallest radius of curvature.
func TestEllipsoidDepth(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, axes := range [][3]float64{
		{1, 2, 3}, {1, 1, 1}, {1, 1, 2}, {1, 2, 2}, {1, 1 + 1e-15, 1 + 1e-8},
		{1e-4, 1e-4, 1}, {1e-4, 1, 1}, {1e-4, 1e-2, 1}, {1, 1e3, 1e6}, {1e-9, 1, 1e9},
	} {
		c, b, a := axes[0], axes[1], axes[2]
		for _, order := range [][3]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
			place := func(x, y, z float64) r3.Vec { // x along the shortest axis
				var v [3]float64
				v[order[0]], v[order[1]], v[order[2]] = x, y, z
				return vec(v[0], v[1], v[2])
			}
			e := geom.Ellipsoid{SemiAxes: place(c, b, a)}
			check := func(p r3.Vec, want float64) {
				t.Helper()
				if got := e.Residual(p); !(math.Abs(got-want) <= 16*eps*max(a, r3.Norm(p))) {
					t.Errorf("axes %v: residual of %v = %.17g, want %.17g (%g units of rounding of the longest axis)",
						e.SemiAxes, p, got, want, (got-want)/eps/a)
				}
			}
			check(place(0, 0, 0), -c)
			for _, f := range []float64{1e-12, 0.1, 0.5, 0.9, 1 - 1e-6, 1, 1 + 1e-9, 1.5} {
				check(place(f*c, 0, 0), (f-1)*c)
				// On the long axis the closest point leaves the axis before the center of curvature,
				// at x = a - c²/a.
				x := f * a
				if k := (a - c) * (a + c); a*x < k {
					check(place(0, 0, x), -c*math.Sqrt(1-x*x/k))
				} else {
					check(place(0, 0, x), x-a)
				}
			}
			for range 200 {
				n := randomUnit(rng)
				if rng.IntN(2) == 0 {
					n = generalUnit(rng, e)
				}
				depth := geom.MinCurvatureRadius(e) * rng.Float64()
				check(r3.Sub(e.CoreSupport(n), r3.Scale(depth, n)), -depth)
			}
			// Points of the medial disc and around its edge, the evolute, where
			// the root is hardest; the dual gives a lower bound there.
			for range 50 {
				y, z := rng.Float64()*b, rng.Float64()*a
				p := place(c*math.Pow(10, -40*rng.Float64()), y, z)
				n := place(1, y/b*c/b, z/a*c/a)
				n = r3.Scale(1/r3.Norm(n), n)
				got := e.Residual(p)
				if low := r3.Dot(n, p) - supportValue(e, n); !(got >= low-16*eps*a) {
					t.Errorf("axes %v: residual of %v = %g, but at least %g", e.SemiAxes, p, got, low)
				}
				x, y, z := p.X/e.SemiAxes.X, p.Y/e.SemiAxes.Y, p.Z/e.SemiAxes.Z
				if g := x*x + y*y + z*z; math.Abs(g-1) > 1e-9 && (got < 0) != (g < 1) {
					t.Errorf("axes %v: residual of %v = %g, but its gauge is %g", e.SemiAxes, p, got, math.Sqrt(g))
				}
			}
		}
	}
}

// The residual of the surface is 1-Lipschitz everywhere; a solver that ends on the wrong
// root, or stops early, jumps.
func TestResidualLipschitz(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for _, s := range analyticShapes() {
		size := s.BoundingRadius()
		_, hi := s.AABB()
		if !exactResidual(s) {
			continue // inside it is a bound with a kink of its own at the surface
		}
		for range 300 {
			p := vec(hi.X*(3*rng.Float64()-1.5), hi.Y*(3*rng.Float64()-1.5), hi.Z*(3*rng.Float64()-1.5))
			q := r3.Add(p, r3.Scale(size*math.Pow(10, -14*rng.Float64()), randomUnit(rng)))
			a, b := s.Residual(p), s.Residual(q)
			if d := r3.Norm(r3.Sub(p, q)); !(math.Abs(a-b) <= d+24*eps*(size+r3.Norm(q))) {
				t.Fatalf("%s: residual %g at %v and %g at %v, %g apart", label(s), a, p, b, q, d)
			}
		}
	}
}

// NaN in, NaN out: no membership test passes by accident.
func TestResidualNaN(t *testing.T) {
	nan := math.NaN()
	for _, s := range analyticShapes() {
		for _, p := range []r3.Vec{vec(nan, 0, 0), vec(0, nan, 0), vec(0, 0, nan), vec(nan, nan, nan),
			vec(nan, 1e3, 1e3), vec(1e3, 1e3, nan)} {
			if r := s.Residual(p); r == r {
				t.Errorf("%s: residual of %v = %g, want NaN", label(s), p, r)
			}
		}
	}
}

// The sides of a prism at a random rotation are quadrilaterals that rounding splits into triangles, nearly coplanar.
// Within rounding of a vertex the signed distance is that rounding, whichever of the triangles has the vertex.
func TestResidualAtVerticesOfPrisms(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for range 400 {
		sides := 3 + rng.IntN(20)
		pose := testkit.Pose(rng, 1)
		var vertices []r3.Vec
		for k := range sides {
			sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(sides))
			for _, z := range [2]float64{-0.4, 0.4} {
				vertices = append(vertices, pose.Apply(r3.Vec{X: 0.3 * cos, Y: 0.3 * sin, Z: z}))
			}
		}
		c, err := geom.NewConvex(vertices)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vertices {
			for range 40 {
				inward := math.Pow(10, -16+3*rng.Float64())
				aim := r3.Scale(0.3, testkit.Unit(rng))
				p := r3.Add(v, r3.Scale(inward, r3.Sub(r3.Add(c.Center(), aim), v)))
				if d := c.Residual(p); !(math.Abs(d) <= 1e-12) {
					t.Fatalf("prism of %d sides: %g at %g of the way inward from a vertex", sides, d, inward)
				}
			}
		}
	}
}
