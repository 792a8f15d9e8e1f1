package geom

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"clearance/geom/hull"

	"gonum.org/v1/gonum/spatial/r3"
)

func mustConvex(t testing.TB, points []r3.Vec) *Convex {
	t.Helper()
	c, err := NewConvex(points)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func boxCorners(half r3.Vec) []r3.Vec {
	var pts []r3.Vec
	for i := range 8 {
		pts = append(pts, r3.Vec{
			X: half.X * float64(i&1*2-1), Y: half.Y * float64(i>>1&1*2-1), Z: half.Z * float64(i>>2&1*2-1),
		})
	}
	return pts
}

func gauss(rng *rand.Rand) r3.Vec {
	return r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()}
}

func TestNewConvexErrors(t *testing.T) {
	for want, pts := range map[string][]r3.Vec{
		"0 vertices":    nil,
		"vertices[1].y": {{}, {Y: math.NaN()}},
		"vertices[0].z": {{Z: math.Inf(1)}},
		"vertices[2].x": {{}, {}, {X: -2e9}},
	} {
		if _, err := NewConvex(pts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	if c := mustConvex(t, make([]r3.Vec, 65536)); len(c.Hull().Vertices) != 1 {
		t.Errorf("%d vertices of 65536 points that coincide", len(c.Hull().Vertices))
	}
	if err := new(Convex).Validate(); err == nil {
		t.Error("the zero Convex validates")
	}
	if err := mustConvex(t, []r3.Vec{{}}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestConvexBox compares the hull of the corners of a box, placed near and far from
// the local origin, with the box.
func TestConvexBox(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, half := range []r3.Vec{{X: 1, Y: 1, Z: 1}, {X: 1e-4, Y: 1, Z: 3}, {X: 1e-4, Y: 1e-4, Z: 1e4},
		{X: 1, Y: 1, Z: 1e-12}} {
		for _, at := range []r3.Vec{{}, {X: 1000, Y: -500, Z: 3}} {
			box := Box{HalfExtents: half}
			pts := boxCorners(half)
			for i := range pts {
				pts[i] = r3.Add(pts[i], at)
			}
			c := mustConvex(t, pts)
			// Coordinates are rounded at the offset, and that is all that may be lost.
			tol := 1e-15*r3.Norm(at) + 32*0x1p-53*r3.Norm(half)
			if d := r3.Norm(r3.Sub(c.Center(), at)); d > tol {
				t.Errorf("%v at %v: center is off by %g", half, at, d)
			}
			if d := math.Abs(c.BoundingRadius() - box.BoundingRadius()); d > tol {
				t.Errorf("%v at %v: bounding radius is off by %g", half, at, d)
			}
			if d := box.Inradius() - c.Inradius(); d > tol || d < -tol {
				t.Errorf("%v at %v: inradius is off by %g", half, at, d)
			}
			for range 2000 {
				g := gauss(rng)
				p := r3.Vec{X: g.X * half.X, Y: g.Y * half.Y, Z: g.Z * half.Z}
				if rng.IntN(4) == 0 { // on the surface
					p.X = math.Copysign(half.X, p.X)
				}
				got, want := c.Residual(r3.Add(p, at)), box.Residual(p)
				if math.Abs(got-want) > tol+8*0x1p-53*r3.Norm(p) {
					t.Fatalf("%v at %v: residual of %v is %g, want %g", half, at, p, got, want)
				}
				if p := c.CoreSupport(g); r3.Dot(g, r3.Sub(p, r3.Add(box.CoreSupport(g), at))) < -10*tol {
					t.Fatalf("%v at %v: support in %v is %v", half, at, g, p)
				}
			}
			lo, hi := c.AABB()
			if r3.Norm(r3.Sub(lo, r3.Sub(at, half))) > tol || r3.Norm(r3.Sub(hi, r3.Add(at, half))) > tol {
				t.Errorf("%v at %v: AABB %v %v", half, at, lo, hi)
			}
		}
	}
}

func TestConvexFlat(t *testing.T) {
	v := func(x, y, z float64) r3.Vec { return r3.Vec{X: x, Y: y, Z: z} }
	tests := []struct {
		name   string
		points []r3.Vec
		center r3.Vec
		radius float64
		want   map[r3.Vec]float64
	}{
		{"point", []r3.Vec{v(1, 2, 3), v(1, 2, 3)}, v(1, 2, 3), 0,
			map[r3.Vec]float64{v(1, 2, 3): 0, v(4, 6, 3): 5}},
		{"segment", []r3.Vec{v(-1, 0, 0), v(0, 0, 0), v(3, 0, 0)}, v(1, 0, 0), 2,
			map[r3.Vec]float64{v(-1, 0, 0): 0, v(2, 0, 0): 0, v(1, 3, 4): 5, v(6, 4, 0): 5, v(-4, 0, 4): 5}},
		{"rectangle", []r3.Vec{v(0, 0, 1), v(4, 0, 1), v(4, 2, 1), v(0, 2, 1), v(2, 1, 1), v(2, 0, 1)}, v(2, 1, 1),
			math.Sqrt(5),
			map[r3.Vec]float64{v(1, 1, 1): 0, v(4, 2, 1): 0, v(1, 1, 3): 2, v(1, 1, -3): 4, v(7, 1, 5): 5,
				v(-3, -4, 1): 5}},
		{"triangle", []r3.Vec{v(0, 0, 0), v(6, 0, 0), v(0, 6, 0)}, v(2, 2, 0), math.Sqrt(20),
			map[r3.Vec]float64{v(1, 1, 0): 0, v(3, 3, 0): 0, v(4, 4, 0): math.Sqrt2, v(9, -4, 0): 5, v(1, 1, 7): 7}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := mustConvex(t, tt.points)
			if d := r3.Norm(r3.Sub(c.Center(), tt.center)); d > 1e-15 {
				t.Errorf("center %v, want %v", c.Center(), tt.center)
			}
			if c.Inradius() != 0 || math.Abs(c.BoundingRadius()-tt.radius) > 1e-14 {
				t.Errorf("radii %g, %g; want 0, %g", c.Inradius(), c.BoundingRadius(), tt.radius)
			}
			for p, want := range tt.want {
				if got := c.Residual(p); math.Abs(got-want) > 1e-14 {
					t.Errorf("residual of %v is %g, want %g", p, got, want)
				}
			}
		})
	}
}

// TestConvexResidualCertified checks the signed distance by its own gradient g, a
// unit vector: <g, p> − h(g) bounds the distance from below whatever g is, and the
// projection p − distance·g has to be on the hull.
func TestConvexResidualCertified(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{4, 8, 32, 128, 1000} {
		pts := make([]r3.Vec, n)
		for i := range pts {
			pts[i] = r3.Unit(gauss(rng))
			pts[i].X *= 0.3
		}
		c := mustConvex(t, pts)
		inside := 0
		for range 300 {
			p := r3.Scale(0.7, gauss(rng))
			r := c.Residual(p)
			const step = 1e-6
			g := r3.Vec{
				X: c.Residual(r3.Add(p, r3.Vec{X: step})) - c.Residual(r3.Sub(p, r3.Vec{X: step})),
				Y: c.Residual(r3.Add(p, r3.Vec{Y: step})) - c.Residual(r3.Sub(p, r3.Vec{Y: step})),
				Z: c.Residual(r3.Add(p, r3.Vec{Z: step})) - c.Residual(r3.Sub(p, r3.Vec{Z: step})),
			}
			g = r3.Scale(1/(2*step), g)
			if math.Abs(r3.Norm(g)-1) > 1e-4 {
				continue // p is within a step of a ridge of the distance
			}
			if r < 0 {
				inside++
			}
			g = r3.Unit(g)
			lower := r3.Dot(g, p) - r3.Dot(g, c.CoreSupport(g))
			if math.Abs(lower-r) > 1e-4 {
				t.Fatalf("%d points: residual %g, its gradient proves %g", n, r, lower)
			}
			if foot := c.Residual(r3.Sub(p, r3.Scale(r, g))); math.Abs(foot) > 1e-4 {
				t.Fatalf("%d points: the projection of a residual %g is %g off the surface", n, r, foot)
			}
		}
		if n > 4 && (inside < 10 || inside > 290) {
			t.Errorf("%d points: %d of 300 samples inside do not test both sides", n, inside)
		}
	}
}

// TestConvexNeedleTip: beyond the tip of a needle all plane distances are at rounding
// level, but the distance is not.
func TestConvexNeedleTip(t *testing.T) {
	c := mustConvex(t, []r3.Vec{{X: 1e-13, Z: -1}, {X: -1e-13, Y: 1e-13, Z: -1}, {X: -1e-13, Y: -1e-13, Z: -1}, {Z: 1}})
	if got := c.Residual(r3.Vec{Z: 1.25}); math.Abs(got-0.25) > 1e-15 {
		t.Errorf("residual beyond the tip is %g, want 0.25", got)
	}
	if got := c.Residual(r3.Vec{Z: 0}); !(math.Abs(got) < 1e-13) {
		t.Errorf("residual in the needle is %g, want about -5e-14", got)
	}
}

func TestConvexVerticesOnSurface(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, scale := range []float64{1e-4, 1, 1e4} {
		pts := make([]r3.Vec, 200)
		for i := range pts {
			pts[i] = r3.Scale(scale, gauss(rng))
		}
		c := mustConvex(t, pts)
		for _, p := range pts {
			if r := c.Residual(p); r > 1e-15*scale*4 {
				t.Errorf("an input point has residual %g", r)
			}
			if d := r3.Norm(r3.Sub(p, c.Center())); d > c.BoundingRadius() {
				t.Errorf("an input point is %g beyond the bounding radius", d-c.BoundingRadius())
			}
		}
		for range 500 {
			d := r3.Unit(gauss(rng))
			p := r3.Add(c.Center(), r3.Scale(c.Inradius(), d))
			if r := c.Residual(p); r > 1e-15*scale*4 {
				t.Errorf("a point of the inscribed ball has residual %g", r)
			}
		}
	}
}

func TestConvexOddInputs(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	ball := make([]r3.Vec, 500)
	rng := rand.New(rand.NewPCG(11, 12))
	for i := range ball {
		ball[i] = r3.Unit(gauss(rng))
	}
	for _, pts := range [][]r3.Vec{ball, boxCorners(r3.Vec{X: 1, Y: 1, Z: 1}), {{}}, {{}, {X: 1}},
		{{}, {X: 1}, {Y: 1}}} {
		c := mustConvex(t, pts)
		for _, p := range []r3.Vec{{X: nan}, {Y: inf}, {X: -inf, Z: nan}} {
			if r := c.Residual(p); r <= 0 {
				t.Errorf("residual of %v is %g: it counts as inside", p, r)
			}
			_ = c.CoreSupport(p) // some vertex, no panic
		}
		if p := c.CoreSupport(r3.Vec{}); c.Residual(p) > 1e-15 {
			t.Errorf("support of the zero direction %v is not on the shape", p)
		}
	}
}

func TestConvexAllocations(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{8, 1000} {
		pts := make([]r3.Vec, n)
		for i := range pts {
			pts[i] = r3.Unit(gauss(rng))
		}
		c := mustConvex(t, pts)
		d := gauss(rng)
		normal := c.Hull().Normals[0] // a tie, which takes the exact comparison
		if a := testing.AllocsPerRun(100, func() {
			_ = c.CoreSupport(d)
			_ = c.CoreSupport(normal)
			_ = c.Residual(d)
		}); a != 0 {
			t.Errorf("%d points: %v allocations", n, a)
		}
	}
}

// BenchmarkConvexResidual measures points on the surface, the witnesses that a
// verifier checks.
func BenchmarkConvexResidual(b *testing.B) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{8, 128, 1000} {
		pts := make([]r3.Vec, n)
		for i := range pts {
			pts[i] = r3.Unit(gauss(rng))
		}
		c := mustConvex(b, pts)
		on := make([]r3.Vec, 1024)
		for i := range on {
			f := c.Hull().Facets[rng.IntN(len(c.Hull().Facets))]
			v := c.Hull().Vertices
			on[i] = r3.Scale(1./3, r3.Add(v[f[0]], r3.Add(v[f[1]], v[f[2]])))
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for i := range b.N {
				_ = c.Residual(on[i%len(on)])
			}
		})
	}
}

// TestConvexSmallest: hulls have a smallest size like all kinds; a single point has none.
func TestConvexSmallest(t *testing.T) {
	at := r3.Vec{X: 0.5, Y: -3}
	for _, c := range []struct {
		size float64
		good bool
	}{{0, true}, {1e-300, false}, {1e-160, false}, {1e-10, false}, {1e-8, true}, {1, true}} {
		for _, origin := range []r3.Vec{{}, at} {
			if origin == at && c.size > 0 && c.size < 1e-15 {
				continue // lost in rounding: a point
			}
			h, err := NewConvex([]r3.Vec{origin, r3.Add(origin, r3.Vec{X: c.size}), r3.Add(origin, r3.Vec{Y: c.size})})
			if err != nil {
				t.Fatal(err)
			}
			if err = h.Validate(); (err == nil) != c.good {
				t.Errorf("size %g at %v: %v", c.size, origin, err)
			}
		}
	}
}

// TestManyPoints: more points than a hull may have vertices are reduced to those that may be vertices of it.
func TestManyPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	points := make([]r3.Vec, 3*hull.MaxPoints)
	for i := range points {
		points[i] = r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()}
	}
	c, err := NewConvex(points)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Points()) > hull.MaxPoints {
		t.Errorf("%d points are left", len(c.Points()))
	}
	// Every point lies in the hull, and every vertex is one of the points.
	h := c.Hull()
	given := map[r3.Vec]bool{}
	for _, p := range points {
		given[p] = true
	}
	for _, v := range h.Vertices {
		if !given[v] {
			t.Fatalf("%v is no point", v)
		}
	}
	for f, n := range h.Normals {
		for _, p := range points {
			if r3.Dot(n, p) > h.Offsets[f]+1e-12 {
				t.Fatalf("%v is outside of facet %d", p, f)
			}
		}
	}
	sphere := make([]r3.Vec, hull.MaxPoints+100)
	for i := range sphere {
		p := r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()}
		sphere[i] = r3.Unit(p)
	}
	if _, err := NewConvex(sphere); err == nil || !strings.Contains(err.Error(), "vertices") {
		t.Errorf("a hull of too many vertices: %v", err)
	}
}

// TestConvexInterrupted ends a hull with its context, through the kind, too, and also one of more points than a hull
// takes.
func TestConvexInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var points []r3.Vec
	var numbers []float64
	for i := range hull.MaxPoints + 10 {
		a := float64(i)
		p := r3.Vec{X: math.Cos(a), Y: math.Sin(a), Z: math.Cos(7.3 * a)}
		points, numbers = append(points, p), append(numbers, p.X, p.Y, p.Z)
	}
	want, err := NewConvex(points[:200])
	if err != nil {
		t.Fatal(err)
	}
	got, err := KindConvex.NewContext(ctx, [][]float64{numbers[:600]})
	if err != nil || !slices.Equal(got.(*Convex).Hull().Vertices, want.Hull().Vertices) {
		t.Errorf("a hull with a context: %v", err)
	}
	if of := ConvexOf(points[:200], want.Hull()); of.Center() != want.Center() || of.Inradius() != want.Inradius() {
		t.Errorf("a shape of a hull that is there has the center %v, want %v", of.Center(), want.Center())
	}
	cancel()
	for _, n := range []int{200, len(points)} {
		if _, err := NewConvexContext(ctx, points[:n]); !errors.Is(err, context.Canceled) {
			t.Errorf("%d points after the end of the context: %v", n, err)
		}
	}
	if _, err := KindConvex.NewContext(ctx, [][]float64{numbers}); !errors.Is(err, context.Canceled) {
		t.Errorf("the kind after the end of the context: %v", err)
	}
}
