package geom_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

func smoothShapes() []geom.Smooth {
	list := []geom.Smooth{
		geom.Sphere{R: 2},
		geom.Capsule{R: 0.5, HalfLength: 2},
		geom.Ellipsoid{SemiAxes: vec(3, 1, 2)},
		geom.Ellipsoid{SemiAxes: vec(1e-3, 1e-3, 1e3)},
		geom.Ellipsoid{SemiAxes: vec(1e3, 1e3, 1e-3)},
		geom.Superquadric{SemiAxes: vec(1, 2, 3), Alpha1: 1, Alpha2: 1},
		geom.Superquadric{SemiAxes: vec(1, 2, 3), Alpha1: 1.3, Alpha2: 1.6},
		geom.Superquadric{SemiAxes: vec(1, 2, 3), Alpha1: 1.5, Alpha2: 0.6},
		geom.Superquadric{SemiAxes: vec(2, 1, 1), Alpha1: 0.5, Alpha2: 1.2},
		geom.Superquadric{SemiAxes: vec(2, 1, 1), Alpha1: 0.3, Alpha2: 0.2},
	}
	for _, s := range poweredShapes() {
		// Differences need directions in which h has small third derivatives.
		if s.BoundingRadius() < 10 && s.BoundingRadius() > 0.1 {
			list = append(list, s.(geom.Smooth))
		}
	}
	for _, s := range list[:len(list):len(list)] {
		list = append(list, geom.WithMargin(s, 0.25).(geom.Smooth))
	}
	return list
}

func entry(v r3.Vec, i int) float64 { return [3]float64{v.X, v.Y, v.Z}[i] }

// The gradient of h is the support point: central differences, with a step of the
// cube root of the rounding error, are right to its square.
func TestGradientIsSupport(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, s := range smoothShapes() {
		for range 50 {
			d := randomGeneral(rng)
			want := geom.Support(s, d)
			const step = 1e-5
			for i := range 3 {
				e := [3]r3.Vec{{X: step}, {Y: step}, {Z: step}}[i]
				got := (supportValue(s, r3.Add(d, e)) - supportValue(s, r3.Sub(d, e))) / (2 * step)
				if math.Abs(got-entry(want, i)) > 1e-5*s.BoundingRadius() {
					t.Fatalf("%s: ∂h/∂d[%d] at %v = %g, support point has %g", label(s), i, d, got, entry(want, i))
				}
			}
		}
	}
}

// randomGeneral returns a unit vector with all components at least 0.1.
func randomGeneral(rng *rand.Rand) r3.Vec {
	for {
		d := randomUnit(rng)
		if min(math.Abs(d.X), math.Abs(d.Y), math.Abs(d.Z)) > 0.1 {
			return d
		}
	}
}

// The Hessian is the derivative of the support point, annihilates d, is symmetric
// and positive semidefinite, and is homogeneous of degree -1.
func TestSupportHessian(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, s := range smoothShapes() {
		size := s.BoundingRadius()
		for range 50 {
			d := randomGeneral(rng)
			h, ok := s.SupportHessian(d)
			if !ok {
				t.Fatalf("%s: no Hessian at %v", label(s), d)
			}
			norm := 0.0
			for i := range h {
				norm = max(norm, math.Abs(h[i]))
			}
			const step = 1e-5
			for j := range 3 {
				e := [3]r3.Vec{{X: step}, {Y: step}, {Z: step}}[j]
				col := r3.Scale(1/(2*step), r3.Sub(geom.Support(s, r3.Add(d, e)), geom.Support(s, r3.Sub(d, e))))
				for i := range 3 {
					// Truncation: step² times a third derivative of h, ≤ 1e4 norm for these shapes
					// and directions; rounding: that of a support point over the step.
					tol := 1e-6*norm + 8*eps/step*size
					if got, want := h[3*i+j], entry(col, i); math.Abs(got-want) > tol {
						t.Fatalf("%s: H[%d,%d] at %v = %g, differences give %g", label(s), i, j, d, got, want)
					}
					if h[3*i+j] != h[3*j+i] {
						t.Fatalf("%s: H[%d,%d] at %v is not symmetric", label(s), i, j, d)
					}
				}
			}
			if v := h.MulVec(d); r3.Norm(v) > 32*eps*norm {
				t.Fatalf("%s: H·d = %v at %v, want 0", label(s), v, d)
			}
			for range 10 {
				x := randomUnit(rng)
				if q := r3.Dot(x, h.MulVec(x)); q < -16*eps*norm {
					t.Fatalf("%s: xᵀHx = %g < 0 at %v", label(s), q, d)
				}
			}
			for _, k := range []float64{0x1p-800, 0x1p-20, 0x1p800} {
				hk, ok := s.SupportHessian(r3.Scale(k, d))
				for i := range hk {
					if !ok || math.Abs(hk[i]*k-h[i]) > 4*eps*norm {
						t.Fatalf("%s: H(%g·d)[%d]·%g = %g, want %g", label(s), k, i, k, hk[i]*k, h[i])
					}
				}
			}
		}
	}
}

// H is of use on needles only if no entry is lost to cancellation: along an axis
// the closed form is diagonal.
func TestEllipsoidHessianOnAxes(t *testing.T) {
	e := geom.Ellipsoid{SemiAxes: vec(1e-4, 1, 1e4)}
	for _, c := range []struct {
		d    r3.Vec
		want geom.Mat3
	}{
		{vec(2, 0, 0), geom.Mat3{0, 0, 0, 0, 1 / (2 * 1e-4), 0, 0, 0, 1e8 / (2 * 1e-4)}},
		{vec(0, -1, 0), geom.Mat3{1e-8, 0, 0, 0, 0, 0, 0, 0, 1e8}},
		{vec(0, 0, 1), geom.Mat3{1e-12, 0, 0, 0, 1e-4, 0, 0, 0, 0}},
	} {
		h, ok := e.SupportHessian(c.d)
		for i := range h {
			if !ok || math.Abs(h[i]-c.want[i]) > 4*eps*math.Abs(c.want[i]) {
				t.Errorf("H(%v) = %v, want %v", c.d, h, c.want)
				break
			}
		}
	}
}

// Where h is C², and where it is not.
func TestSmoothDirections(t *testing.T) {
	sq := func(a1, a2 float64) geom.Smooth {
		return geom.Superquadric{SemiAxes: vec(1, 2, 3), Alpha1: a1, Alpha2: a2}
	}
	var zero = vec(0, 0, 0)
	x, y, z, xy, xz, yz := vec(1, 0, 0), vec(0, -1, 0), vec(0, 0, 1), vec(1, 1, 0), vec(1, 0, 1), vec(0, 1, -1)
	for _, c := range []struct {
		name    string
		s       geom.Smooth
		yes, no []r3.Vec
	}{
		{"sphere", geom.Sphere{R: 1}, []r3.Vec{x, y, z, xy}, []r3.Vec{zero, vec(math.NaN(), 0, 1),
			vec(math.Inf(1), 0, 0), vec(1e-300, 0, 0)}},
		{"capsule", geom.Capsule{R: 1, HalfLength: 1}, []r3.Vec{z, xz, yz}, []r3.Vec{zero, x, y, xy}},
		{"capsule of length 0", geom.Capsule{R: 1}, []r3.Vec{x, y, z, xy}, []r3.Vec{zero}},
		{"ellipsoid", geom.Ellipsoid{SemiAxes: vec(1, 2, 3)}, []r3.Vec{x, y, z, xy, xz, yz}, []r3.Vec{zero}},
		{"superquadric 1 1", sq(1, 1), []r3.Vec{x, y, z, xy, xz, yz}, []r3.Vec{zero}},
		{"superquadric 1.5 1.5", sq(1.5, 1.5), []r3.Vec{x, y, z, xy, xz, yz}, []r3.Vec{zero}},
		{"superquadric 1 1.5", sq(1, 1.5), []r3.Vec{x, y, xy, xz, yz}, []r3.Vec{zero, z}},
		{"superquadric 0.9 1.5", sq(0.9, 1.5), []r3.Vec{xz, yz}, []r3.Vec{zero, x, y, z, xy}},
		{"superquadric 1.5 0.9", sq(1.5, 0.9), []r3.Vec{xy}, []r3.Vec{zero, x, y, z, xz, yz}},
		{"rounded box", geom.WithMargin(geom.Box{HalfExtents: vec(1, 1, 1)}, 1).(geom.Smooth), nil,
			[]r3.Vec{zero, x, xy, vec(1, 2, 3)}},
	} {
		for _, d := range c.yes {
			if _, ok := c.s.SupportHessian(d); !ok {
				t.Errorf("%s: no Hessian at %v", c.name, d)
			}
		}
		for _, d := range c.no {
			if h, ok := c.s.SupportHessian(d); ok {
				t.Errorf("%s: claims the Hessian %v at %v", c.name, h, d)
			}
		}
	}
}

// Where ok is true on a coordinate plane or axis the Hessian is continuous there.
func TestSuperquadricHessianContinuous(t *testing.T) {
	const off = 1e-9
	for _, a := range [][2]float64{{1, 1}, {1.4, 1.4}, {1, 1.4}, {1.4, 1}, {1.9, 1.2}} {
		s := geom.Superquadric{SemiAxes: vec(1, 2, 3), Alpha1: a[0], Alpha2: a[1]}
		for _, d := range []r3.Vec{vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1), vec(1, 1, 0), vec(1, 0, 1), vec(0, 1, 1)} {
			h, ok := s.SupportHessian(d)
			if !ok {
				continue
			}
			near, ok := s.SupportHessian(r3.Add(d, vec(off, -2*off, 3*off)))
			// |w|^(r'-2) and |u|^(p'-2) vanish with a power of the offset of at least 1/3.
			tol := 20 * math.Pow(off, 1.0/3)
			for i := range h {
				if !ok || math.Abs(h[i]-near[i]) > tol {
					t.Fatalf("α = %v: H(%v)[%d] = %g, but %g next to it", a, d, i, h[i], near[i])
				}
			}
		}
	}
}

// cube returns the corners of a cuboid around c.
func cube(c r3.Vec, x, y, z float64) (v []r3.Vec) {
	for i := range 8 {
		sign := func(bit int) float64 { return float64(1 - 2*(i>>bit&1)) }
		v = append(v, r3.Add(c, vec(sign(0)*x, sign(1)*y, sign(2)*z)))
	}
	return v
}

func mustSmoothHull(v []r3.Vec, sharpness float64, c r3.Vec) *geom.SmoothHull {
	s, err := geom.NewSmoothHull(v, sharpness, c)
	if err != nil {
		panic(err)
	}
	return s
}

func mustSmoothRevolution(p []r2.Vec, sharpness, flatness float64) *geom.SmoothRevolution {
	s, err := geom.NewSmoothRevolution(p, sharpness, flatness)
	if err != nil {
		panic(err)
	}
	return s
}

// poweredShapes are smooth hulls and revolutions of all sharpnesses and sizes.
func poweredShapes() []geom.Shape {
	rng := rand.New(rand.NewPCG(91, 92))
	cloud := func(n int, c r3.Vec, x, y, z float64) (v []r3.Vec) {
		for range n {
			u := randomUnit(rng)
			v = append(v, r3.Add(c, vec(x*u.X, y*u.Y, z*u.Z)))
		}
		return v
	}
	can := []r2.Vec{{X: 0.5, Y: 0.7}, {X: 0.5, Y: -0.7}}
	vase := []r2.Vec{{X: 0, Y: 0.9}, {X: 0.3, Y: 0.8}, {X: 0.5, Y: 0.1}, {X: 0.2, Y: 0}, {X: 0.45, Y: -0.6}}
	zero := r3.Vec{}
	return []geom.Shape{
		mustSmoothHull(cube(zero, 0.5, 0.5, 0.5), 5, zero),
		mustSmoothHull(cube(zero, 0.5, 0.5, 0.5), 10, zero),
		mustSmoothHull(cube(zero, 0.5, 0.5, 0.5), 50, zero),
		mustSmoothHull(cube(zero, 0.5, 0.3, 0.8), 200, zero),
		mustSmoothHull(cube(vec(1, 2, -1), 1, 2, 0.5), 12, vec(1.1, 2.2, -1)),
		mustSmoothHull(cloud(20, zero, 0.6, 0.5, 0.4), geom.MinSharpness, zero),
		mustSmoothHull(cloud(20, zero, 0.6, 0.5, 0.4), 3, zero),
		mustSmoothHull(cloud(20, zero, 0.6, 0.5, 0.4), 30, zero),
		mustSmoothHull(cloud(60, vec(0.4, 0.3, 0), 0.6, 0.5, 0.4), 120, vec(0.4, 0.3, 0)),
		mustSmoothHull(cloud(20, zero, 1e-4, 1e-4, 1e-4), 20, zero),
		mustSmoothHull(cloud(20, zero, 1e4, 1e4, 1e4), 20, zero),
		mustSmoothHull(cloud(20, zero, 1e-2, 1e-2, 1), 20, zero),
		mustSmoothHull(cloud(20, zero, 1, 1, 1e-2), 20, zero),
		mustSmoothRevolution(can, 40, 1e-3),
		mustSmoothRevolution(can, 5, 0.1),
		mustSmoothRevolution(can, 200, geom.MinFlatness),
		mustSmoothRevolution(vase, 25, 1e-2),
		mustSmoothRevolution(vase, geom.MinSharpness, 2),
		mustSmoothRevolution([]r2.Vec{{X: 1e-2, Y: 1}, {X: 1e-2, Y: -1}}, 20, 1e-2),
		mustSmoothRevolution([]r2.Vec{{X: 1, Y: 1e-2}, {X: 1, Y: -1e-2}}, 20, 1e-3),
		mustSmoothRevolution([]r2.Vec{{X: 1e4, Y: 1e4}, {X: 1e4, Y: -1e4}}, 20, 1e-3),
	}
}

// The polytope of the points lies inside, and the body in the polytope blown up by
// n^(1/β): the support functions say so [RTR, sec. IV-B], and so does the residual.
func TestSmoothHullTendsToHull(t *testing.T) {
	rng := rand.New(rand.NewPCG(93, 94))
	v := cube(r3.Vec{}, 0.5, 0.5, 0.5)
	last := math.Inf(1)
	for _, beta := range []float64{3, 10, 50, 200, geom.MaxSharpness} {
		s := mustSmoothHull(v, beta, r3.Vec{})
		worst := 0.0
		for range 2000 {
			d := randomUnit(rng)
			flat, h := 0.5*(math.Abs(d.X)+math.Abs(d.Y)+math.Abs(d.Z)), supportValue(s, d)
			if h < flat*(1-8*eps) || h > flat*math.Pow(8, 1/beta)*(1+8*eps) {
				t.Fatalf("β = %g: h(%v) = %g, want %g to %g", beta, d, h, flat, flat*math.Pow(8, 1/beta))
			}
			worst = max(worst, h/flat-1)
		}
		for _, p := range v {
			if r := s.Residual(p); !(r <= 16*eps) {
				t.Errorf("β = %g: corner %v is %g outside", beta, p, r)
			}
		}
		if !(worst < last) {
			t.Errorf("β = %g: larger than the cube by %g, not less than %g of the smaller β", beta, worst, last)
		}
		last = worst
	}
}

// A revolution looks the same from all sides.
func TestSmoothRevolutionIsRound(t *testing.T) {
	rng := rand.New(rand.NewPCG(95, 96))
	s := mustSmoothRevolution([]r2.Vec{{X: 0.5, Y: 0.7}, {X: 0.3, Y: -0.7}}, 40, 1e-3)
	for range 200 {
		d, a := randomUnit(rng), 2*math.Pi*rng.Float64()
		sin, cos := math.Sincos(a)
		turned := vec(cos*d.X-sin*d.Y, sin*d.X+cos*d.Y, d.Z)
		if got, want := supportValue(s, turned), supportValue(s, d); math.Abs(got-want) > 8*eps {
			t.Fatalf("h(%v) = %g, rotated by %g it is %g", d, want, a, got)
		}
	}
	// On the equator the revolution is (Σ r^β)^(1/β), whatever γ.
	if got, want := supportValue(s, vec(0, 1, 0)), powerSum([]float64{0.5, 0.3}, 40); math.Abs(got-want) > 4*eps {
		t.Errorf("radius %g, want %g", got, want)
	}
}

// A point inside is claimed to be no deeper than it is: the distance to any sampled support
// plane. A point outside is at least as far as any of them proves.
func TestPoweredResidualIsABound(t *testing.T) {
	rng := rand.New(rand.NewPCG(97, 98))
	for _, s := range poweredShapes() {
		_, hi := s.AABB()
		for range 40 {
			u := generalUnit(rng, s)
			p := r3.Add(s.Center(), r3.Scale(1.5*rng.Float64(), r3.Sub(geom.Support(s, u), s.Center())))
			got := s.Residual(p)
			for range 200 {
				n := randomUnit(rng)
				if low := r3.Dot(n, p) - closedForm(s, n); got < low-32*eps*s.BoundingRadius() {
					t.Fatalf("%s (extent %v): residual of %v = %g, a plane proves %g", label(s), hi, p, got, low)
				}
			}
		}
	}
}

func TestPoweredValidate(t *testing.T) {
	nan := math.NaN()
	v, zero := cube(r3.Vec{}, 1, 1, 1), r3.Vec{}
	for _, c := range []struct {
		v    []r3.Vec
		beta float64
		c    r3.Vec
		want string
	}{
		{v, 2, zero, "smooth_hull: sharpness = 2, want 2.0625 to 1000"},
		{v, nan, zero, "smooth_hull: sharpness = NaN"},
		{v, 1001, zero, "smooth_hull: sharpness = 1001"},
		{nil, 5, zero, "smooth_hull: convex: 0 vertices"},
		{v, 5, vec(nan, 0, 0), "smooth_hull: center = (NaN, 0, 0)"},
		{v, 5, vec(1, 0, 0), "smooth_hull: center (1, 0, 0) is not strictly inside"},
		{v, 5, vec(5, 0, 0), "smooth_hull: center (5, 0, 0) is not strictly inside"},
		{cube(zero, 1, 1, 0), 5, zero, "smooth_hull: center (0, 0, 0) is not strictly inside"},
		{v[:2], 5, zero, "smooth_hull: the vertices span no volume"},
		{cube(zero, 1e-10, 1e-10, 1e-10), 5, zero, "smooth_hull: distance of the farthest vertex"},
	} {
		if _, err := geom.NewSmoothHull(c.v, c.beta, c.c); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%d vertices, β = %g, center %v: error %v, want %q", len(c.v), c.beta, c.c, err, c.want)
		}
	}
	can := []r2.Vec{{X: 1, Y: 1}, {X: 1, Y: -1}}
	for _, c := range []struct {
		p           []r2.Vec
		beta, gamma float64
		want        string
	}{
		{can, 1, 1e-3, "smooth_revolution: sharpness = 1"},
		{can, 5, 0, "smooth_revolution: flatness = 0, want 1e-06 to 100"},
		{can, 5, nan, "smooth_revolution: flatness = NaN"},
		{nil, 5, 1, "smooth_revolution: profile of 0 points"},
		{[]r2.Vec{{X: -1, Y: 1}}, 5, 1, "smooth_revolution: profile[0] = (-1, 1)"},
		{[]r2.Vec{{X: 1, Y: nan}}, 5, 1, "smooth_revolution: profile[0] = (1, NaN)"},
		{[]r2.Vec{{X: 1, Y: 1}, {X: 1, Y: 0}}, 5, 1, "smooth_revolution: the profile does not reach around the origin"},
		{[]r2.Vec{{X: 0, Y: 1}, {X: 0, Y: -1}}, 5, 1,
			"smooth_revolution: the profile does not reach around the origin"},
	} {
		if _, err := geom.NewSmoothRevolution(c.p, c.beta, c.gamma); err == nil || !strings.HasPrefix(err.Error(),
			c.want) {
			t.Errorf("profile %v, β = %g, γ = %g: error %v, want %q", c.p, c.beta, c.gamma, err, c.want)
		}
	}
	if err := new(geom.SmoothHull).Validate(); err == nil {
		t.Error("a zero SmoothHull is valid")
	}
	if err := new(geom.SmoothRevolution).Validate(); err == nil {
		t.Error("a zero SmoothRevolution is valid")
	}
}
