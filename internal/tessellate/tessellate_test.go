package tessellate

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// kinds are shapes of every kind, with a margin and without, needles and plates among them.
func kinds(t *testing.T) map[string]geom.Shape {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	hullOf := func(points ...r3.Vec) geom.Shape {
		c, err := geom.NewConvex(points)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	smooth, err := geom.NewSmoothHull(testkit.OnEllipsoid(rng, r3.Vec{X: 0.3, Y: 0.2, Z: 0.1}, 20), 8, r3.Vec{})
	if err != nil {
		t.Fatal(err)
	}
	bottle, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.1, Y: -0.3}, {X: 0.12, Y: 0.1}, {X: 0.03, Y: 0.3}}, 12, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]geom.Shape{
		"sphere": geom.Sphere{R: 2}, "capsule": geom.Capsule{R: 0.1, HalfLength: 0.5},
		"cylinder": geom.Cylinder{R: 0.1, HalfLength: 0.5}, "disc": geom.Cylinder{R: 1, HalfLength: 1e-4},
		"cone": geom.Cone{R: 0.4, HalfLength: 0.5}, "needle": geom.Cone{R: 1e-3, HalfLength: 1},
		"frustum":      geom.Frustum{RBottom: 0.2, RTop: 0.1, HalfLength: 0.3},
		"box":          geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}},
		"plate":        geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1e-5}},
		"ellipsoid":    geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 0.2, Z: 0.1}},
		"spheroid":     geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.1, Y: 0.1, Z: 1}},
		"superquadric": geom.Superquadric{SemiAxes: r3.Vec{X: 0.1, Y: 0.2, Z: 0.3}, Alpha1: 0.5, Alpha2: 0.7},
		"smooth hull":  smooth, "bottle": bottle, "hull": testkit.Hull(rng, r3.Vec{X: 1, Y: 1, Z: 1}, 32),
		"point": hullOf(r3.Vec{X: 1}), "segment": hullOf(r3.Vec{X: 1}, r3.Vec{Y: 1}),
		"triangle": hullOf(r3.Vec{X: 1}, r3.Vec{Y: 1}, r3.Vec{Z: 1}), "half-space": geom.Halfspace{},
	}
	for _, name := range []string{"cylinder", "cone", "box", "hull", "ellipsoid", "superquadric", "point", "segment",
		"triangle"} {
		all["round "+name] = geom.WithMargin(all[name], 0.05)
	}
	seen := map[geom.Kind]bool{}
	for _, s := range all {
		seen[s.Kind()] = true
	}
	if len(seen) != int(geom.KindCount) {
		t.Fatalf("%d kinds of shapes, want %d", len(seen), geom.KindCount)
	}
	return all
}

// TestVerticesLieOnTheSurface: within 1e-6 of the size, by the signed distance of the shape, which takes no part in
// the tessellation. The superquadric's is a bound that vanishes on the surface alone.
func TestVerticesLieOnTheSurface(t *testing.T) {
	for name, s := range kinds(t) {
		for level := Tiny; level <= Fine; level++ {
			m, err := Shape(s, level)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			size := m.Radius
			if s.Kind() != geom.KindHalfspace {
				size = s.BoundingRadius()
			}
			for i, v := range m.Vertices {
				if r := s.Residual(v); !(math.Abs(r) <= 1e-6*size) {
					t.Errorf("%s, level %d: vertex %d, %v, lies %g from the surface", name, level, i, v, r)
					break
				}
			}
		}
	}
}

// TestSupportValues: a mesh lies in its shape, and its support values lack no more than its facets cut off; exact of
// polytopes. An arc of 60, 30, 15 or 7.5 degrees sags by 1 − cos of the half, relative to its radius; a geodesic
// sphere's longest edges, divided 0 to 3 times, are 63, 36, 19 and 9.6 degrees, whose triangles have circumradii of 0.6
// of that.
func TestSupportValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	allowed := map[int]float64{Tiny: 0.21, Coarse: 0.08, Medium: 0.022, Fine: 0.006}
	// Where curvature is uneven, there are fewer points for an angle at the sharp parts.
	sharp := map[string]float64{"superquadric": 4, "round superquadric": 4, "smooth hull": 3, "bottle": 3,
		"round ellipsoid": 2, "round segment": 2}
	for name, s := range kinds(t) {
		if s.Kind() == geom.KindHalfspace {
			continue
		}
		for level := Tiny; level <= Fine; level++ {
			m, err := Shape(s, level)
			if err != nil {
				t.Fatal(err)
			}
			exact := s.Radius() == 0 && s.Kind().Traits().Polyhedral
			for range 300 {
				d := testkit.Unit(rng)
				want, got := r3.Dot(d, geom.Support(s, d)), math.Inf(-1)
				for _, v := range m.Vertices {
					got = max(got, r3.Dot(d, v))
				}
				lack := (want - got) / (s.BoundingRadius() + r3.Norm(s.Center()))
				most := allowed[level] * max(1, sharp[name])
				if exact {
					most = 1e-14
				}
				if !(lack >= -1e-9 && lack <= most) {
					t.Errorf("%s, level %d: the support value along %v is %g, want %g less at most %g of the size",
						name, level, d, got, want, most)
					break
				}
			}
		}
	}
}

// TestMeshesAreClosed: each edge of a mesh of three dimensions has two triangles, by the places of its vertices, which
// run along it in opposite directions, and the volume is positive: triangles face outwards.
func TestMeshesAreClosed(t *testing.T) {
	for name, s := range kinds(t) {
		m, err := Shape(s, Medium)
		if err != nil {
			t.Fatal(err)
		}
		if s.Kind() == geom.KindHalfspace || len(m.Triangles) < 4 {
			continue
		}
		sides := map[[2]r3.Vec]int{}
		volume := 0.0
		for _, c := range m.Triangles {
			var p [3]r3.Vec
			for k := range 3 {
				p[k] = m.Vertices[c[k]]
			}
			for k := range 3 {
				sides[[2]r3.Vec{p[k], p[(k+1)%3]}]++
			}
			volume += r3.Dot(r3.Sub(p[0], m.Center), r3.Cross(r3.Sub(p[1], m.Center), r3.Sub(p[2], m.Center))) / 6
		}
		for e := range sides {
			if sides[e] != 1 || sides[[2]r3.Vec{e[1], e[0]}] != 1 {
				t.Errorf("%s: edge %v has %d triangles one way and %d the other", name, e, sides[e],
					sides[[2]r3.Vec{e[1], e[0]}])
				break
			}
		}
		if !(volume > 0) {
			t.Errorf("%s: volume %g", name, volume)
		}
		for i, n := range m.Normals {
			if !(math.Abs(r3.Norm(n)-1) < 1e-9) {
				t.Errorf("%s: normal %d has the length %g", name, i, r3.Norm(n))
				break
			}
		}
	}
}

// TestCreases: a box has its twelve edges, a cylinder its two rims, a ball none.
func TestCreases(t *testing.T) {
	for _, c := range []struct {
		shape geom.Shape
		edges int
	}{
		{geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}}, 12},
		{geom.Cylinder{R: 1, HalfLength: 1}, 2 * 24},
		{geom.Cone{R: 1, HalfLength: 1}, 24},
		{geom.Sphere{R: 1}, 0},
	} {
		m, err := Shape(c.shape, Medium)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Edges) != c.edges {
			t.Errorf("%s: %d edges at creases, want %d", c.shape.Kind(), len(m.Edges), c.edges)
		}
	}
}

// TestNormalsOfBalls: a ball is shaded as a ball, which the mean of normals gives to a few degrees.
func TestNormalsOfBalls(t *testing.T) {
	m, err := Shape(geom.Sphere{R: 3}, Fine)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range m.Normals {
		if c := r3.Dot(n, m.Vertices[i]) / 3; !(c > math.Cos(2*math.Pi/180)) {
			t.Fatalf("the normal of vertex %d is %g degrees off", i, math.Acos(c)*180/math.Pi)
		}
	}
}

// TestHit: rays at a box and at a ball, with their closed forms; a ray that starts beyond, or misses, hits nothing.
func TestHit(t *testing.T) {
	box, err := Shape(geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}}, Coarse)
	if err != nil {
		t.Fatal(err)
	}
	ball, err := Shape(geom.Sphere{R: 2}, Fine)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mesh              *Mesh
		origin, direction r3.Vec
		want, within      float64 // want NaN: none
	}{
		{box, r3.Vec{X: 5}, r3.Vec{X: -1}, 4, 1e-12},
		{box, r3.Vec{X: 5, Y: 1.9, Z: -2.9}, r3.Vec{X: -2}, 2, 1e-12},
		{box, r3.Vec{X: 5, Y: 2.1}, r3.Vec{X: -1}, math.NaN(), 0},
		{box, r3.Vec{X: 5}, r3.Vec{X: 1}, math.NaN(), 0},
		{ball, r3.Vec{X: 3, Y: 4}, r3.Vec{X: -0.6, Y: -0.8}, 3, 0.01},
		{ball, r3.Vec{X: 3, Y: 4}, r3.Vec{X: -1}, math.NaN(), 0},
	} {
		got, ok := c.mesh.Hit(c.origin, c.direction)
		if ok == math.IsNaN(c.want) || ok && !(math.Abs(got-c.want) <= c.within) {
			t.Errorf("the ray from %v along %v hits at %g, %v; want %g", c.origin, c.direction, got, ok, c.want)
		}
	}
}
