package geom_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// capSpread draws a length between size/ratio and size.
func capSpread(g *rand.Rand, size, ratio float64) float64 {
	return size * math.Pow(ratio, -g.Float64())
}

// capShapes draw a shape of every kind that has a bound: round ones, needles and plates of
// sizes from 1e-4 to 1e4.
var capShapes = map[string]func(*rand.Rand) geom.Shape{
	"ellipsoid": func(g *rand.Rand) geom.Shape { return geom.Ellipsoid{SemiAxes: capAxes(g)} },
	"superquadric": func(g *rand.Rand) geom.Shape {
		alpha := func() float64 {
			if g.IntN(6) == 0 {
				return 1
			}
			return 0.05 + 1.9*g.Float64()
		}
		return geom.Superquadric{SemiAxes: capAxes(g), Alpha1: alpha(), Alpha2: alpha()}
	},
	"smooth hull": func(g *rand.Rand) geom.Shape {
		a, c := capAxes(g), r3.Vec{}
		var v []r3.Vec
		for range 8 + g.IntN(20) {
			u := randomUnit(g)
			v = append(v, vec(a.X*u.X, a.Y*u.Y, a.Z*u.Z))
		}
		if g.IntN(2) == 0 {
			c = vec(0.1*a.X, 0.05*a.Y, -0.1*a.Z)
		}
		s, err := geom.NewSmoothHull(v, 2.1*math.Pow(100, g.Float64()), c)
		if err != nil {
			return geom.Sphere{R: 1}
		}
		return s
	},
	"smooth revolution": func(g *rand.Rand) geom.Shape {
		a := capAxes(g)
		v := []r2.Vec{{X: a.X, Y: a.Z}, {X: capSpread(g, a.X, 10), Y: -a.Z}}
		for range g.IntN(6) {
			v = append(v, r2.Vec{X: a.X * g.Float64(), Y: a.Z * (2*g.Float64() - 1)})
		}
		return mustSmoothRevolution(v, 2.1*math.Pow(100, g.Float64()), math.Pow(10, 3*g.Float64()-3))
	},
}

func capAxes(g *rand.Rand) r3.Vec {
	size, ratio := math.Pow(10, 8*g.Float64()-4), []float64{1.5, 10, 1e3}[g.IntN(3)]
	return vec(capSpread(g, size, ratio), capSpread(g, size, ratio), capSpread(g, size, ratio))
}

// capDirection draws a unit vector: uniform, in a coordinate plane, on an axis, or close to one of
// these, either in the frame in which a needle or a plate is round or in the frame of the shape.
func capDirection(g *rand.Rand, s geom.Shape) r3.Vec {
	n := randomUnit(g)
	if g.IntN(2) == 0 {
		n = generalUnit(g, s)
	}
	for range g.IntN(3) {
		small := []float64{0, 0, 1e-12, 1e-6, 1e-3}[g.IntN(5)]
		switch g.IntN(3) {
		case 0:
			n.X *= small
		case 1:
			n.Y *= small
		default:
			n.Z *= small
		}
	}
	if !(r3.Norm(n) > 1e-9) {
		return vec(0, 0, 1)
	}
	return r3.Unit(n)
}

// across returns two unit vectors that complete n to an orthonormal basis.
func across(n r3.Vec) (e, f r3.Vec) {
	a := vec(1, 0, 0)
	if math.Abs(n.X) > 0.6 {
		a = vec(0, 1, 0)
	}
	e = r3.Unit(r3.Cross(n, a))
	return e, r3.Cross(n, e)
}

// capDeficit returns by how much the bound exceeds f(n+y) in closed form, and the rounding error of that.
func capDeficit(s geom.Shape, b *geom.CapBound, n, y r3.Vec) (deficit, round float64) {
	d, x := r3.Add(n, y), s.CoreSupport(n)
	f := closedForm(s, d)
	right := r3.Dot(x, d) + 0.5*r3.Dot(y, b.K.MulVec(y)) - b.Slack*r3.Norm(y)
	// K applies to vectors orthogonal to n; y, added to n and recovered as a difference, is rounded.
	trace := math.Abs(b.K[0]) + math.Abs(b.K[4]) + math.Abs(b.K[8])
	extent := s.BoundingRadius() + r3.Norm(s.Center())
	return right - f, 32*eps*extent + 16*eps*trace*r3.Norm(y)
}

// The support function is nowhere in the cap below its bound.
func TestCapBoundHolds(t *testing.T) {
	for name, draw := range capShapes {
		t.Run(name, func(t *testing.T) {
			g := rand.New(rand.NewPCG(201, 202))
			rounds := 6000
			if testing.Short() {
				rounds = 1000
			}
			var s geom.Shape
			var caps geom.HessianBounds
			for i := range rounds {
				if i%20 == 0 {
					s = draw(g)
				}
				n := capDirection(g, s)
				e, f := across(n)
				caps.Reset(s, n)
				for size := math.Pow(10, -3+2.85*g.Float64()); size < 2; size *= 1 + 2*g.Float64() {
					b := caps.Widen(size)
					for k := range 6 {
						sin, cos := math.Sincos(2 * math.Pi * (float64(k) + g.Float64()) / 6)
						y := r3.Add(r3.Scale(cos, e), r3.Scale(sin, f))
						for _, share := range []float64{1, g.Float64(), g.Float64() * g.Float64()} {
							y := r3.Scale(share*size*(1-4*eps), y)
							if d, round := capDeficit(s, &b, n, y); !(d <= round) {
								t.Fatalf("%s: n = %v, t = %g, y = %v: too high by %g, rounding is %g; K = %v, slack %g",
									label(s), n, size, y, d, round, b.K, b.Slack)
							}
						}
					}
				}
			}
		})
	}
}

// The bound of a small cap is the Hessian; that of a wider cap is a large part of it on soft shapes.
func TestCapBoundIsWorthSomething(t *testing.T) {
	zero := r3.Vec{}
	g := rand.New(rand.NewPCG(203, 204))
	var cloud []r3.Vec
	for range 20 {
		cloud = append(cloud, testkit.Unit(g))
	}
	for _, c := range []struct {
		s           geom.Smooth
		t           float64
		half, eight float64 // shares of directions where K is at least half, an eighth of the Hessian
	}{
		{geom.Ellipsoid{SemiAxes: vec(1, 2, 3)}, 0.1, 0.9, 0.99},
		{geom.Superquadric{SemiAxes: vec(1, 1.2, 1.5), Alpha1: 1.2, Alpha2: 0.8}, 0.1, 0.5, 0.8},
		{geom.Superquadric{SemiAxes: vec(1, 1.2, 1.5), Alpha1: 0.8, Alpha2: 1.2}, 0.1, 0.5, 0.8},
		{mustSmoothHull(cloud, 8, zero), 0.1, 0.5, 0.9},
		{mustSmoothHull(cloud, 20, zero), 0.05, 0.2, 0.7},
		{mustSmoothRevolution([]r2.Vec{{X: 1, Y: 1}, {X: 1, Y: -1}}, 8, 0.1), 0.1, 0.4, 0.8},
	} {
		half, eighth, n := 0, 0, 0
		for range 2000 {
			d := randomGeneral(g)
			h, ok := c.s.SupportHessian(d)
			if !ok {
				t.Fatalf("%s: no Hessian at %v", label(c.s), d)
			}
			e, f := across(d)
			trace := h[0] + h[4] + h[8]
			share := func(size, floor float64) float64 {
				var caps geom.HessianBounds
				caps.Reset(c.s, d)
				for k := 4; k > 0; k-- {
					caps.Widen(size * math.Pow(1.7, -float64(k)))
				}
				b := caps.Widen(size)
				least := math.Inf(1)
				for k := range 16 {
					sin, cos := math.Sincos(math.Pi * float64(k) / 16)
					y := r3.Add(r3.Scale(cos, e), r3.Scale(sin, f))
					least = min(least, (r3.Dot(y, b.K.MulVec(y))+floor)/(r3.Dot(y, h.MulVec(y))+floor))
				}
				return least
			}
			if got := share(1e-7, trace+1e-4*supportValue(c.s, d)); !(math.Abs(got-1) < 1e-3) {
				t.Fatalf("%s: K is %g of the Hessian at %v over a cap of 1e-7", label(c.s), got, d)
			}
			n++
			got := share(c.t, 0)
			if got >= 0.5 {
				half++
			}
			if got >= 0.125 {
				eighth++
			}
		}
		t.Logf("%s, t = %g: at least half of the Hessian in %d of %d directions, an eighth in %d", label(c.s), c.t,
			half, n, eighth)
		if float64(half) < c.half*float64(n) || float64(eighth) < c.eight*float64(n) {
			t.Errorf("%s, t = %g: K is half of the Hessian in %d and an eighth in %d of %d directions, want shares "+
				"of %g and %g", label(c.s), c.t, half, eighth, n, c.half, c.eight)
		}
	}
}

// A margin is not part of the core. Shapes that are not smooth have no bound, and neither has a cap
// that is no wider than the one before, or one beyond MaxCaps.
func TestCapsOfOthers(t *testing.T) {
	n := r3.Unit(vec(1, 2, 3))
	var plain, rounded, caps geom.HessianBounds
	for _, s := range []geom.Shape{
		geom.Ellipsoid{SemiAxes: vec(1, 2, 3)},
		geom.Superquadric{SemiAxes: vec(1, 2, 3), Alpha1: 0.8, Alpha2: 1.2},
		mustSmoothHull(cube(r3.Vec{}, 1, 1, 1), 5, r3.Vec{}),
		mustSmoothRevolution([]r2.Vec{{X: 1, Y: 1}, {X: 1, Y: -1}}, 5, 0.1),
	} {
		plain.Reset(s, n)
		rounded.Reset(geom.WithMargin(s, 0.3), n)
		for i := range geom.MaxCaps {
			size := 0.01 * float64(i+1)
			b := plain.Widen(size)
			if b != rounded.Widen(size) || b.K == (geom.Mat3{}) || !(b.Slack > 0) {
				t.Fatalf("%s, cap of %g: %v", label(s), size, b)
			}
			if again := plain.Widen(size); again != (geom.CapBound{}) {
				t.Fatalf("%s: the same cap once more gives %v", label(s), again)
			}
		}
		if more := plain.Widen(1); more != (geom.CapBound{}) {
			t.Errorf("%s: more than MaxCaps give %v", label(s), more)
		}
	}
	for _, s := range []geom.Shape{geom.Sphere{R: 1}, geom.Box{HalfExtents: vec(1, 2, 3)},
		geom.Capsule{R: 1, HalfLength: 1}} {
		caps.Reset(s, n)
		if b := caps.Widen(0.1); b != (geom.CapBound{}) {
			t.Errorf("%s: %v", label(s), b)
		}
		for _, size := range []float64{0, -1, math.NaN()} {
			caps.Reset(geom.Ellipsoid{SemiAxes: vec(1, 2, 3)}, n)
			if b := caps.Widen(size); b != (geom.CapBound{}) {
				t.Errorf("cap of %g: %v", size, b)
			}
		}
	}
}
