package ref

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// What innerEllipsoid proves is true: from whatever direction, at whatever size and elongation
// its bound is not above the depth that EPA bounds. And it proves most of the deep pairs that
// RTR solves.
func TestEllipsoidProof(t *testing.T) {
	g := rand.New(rand.NewPCG(51, 52))
	var ws Workspace
	pairs := 2000
	if testing.Short() {
		pairs = 300
	}
	axis := func(size, spread float64) float64 { return size * math.Pow(spread, -g.Float64()) }
	deep, proved, bounded := 0, 0, 0
	for i := range pairs {
		size, spread := math.Pow(10, float64(i%9-4)), []float64{1.2, 3, 30, 1000}[i%4]
		a := geom.Ellipsoid{SemiAxes: vec(axis(size, spread), axis(size, spread), axis(size, spread))}
		var b geom.Shape = geom.Ellipsoid{SemiAxes: vec(axis(size, spread), axis(size, spread), axis(size, spread))}
		switch i % 5 {
		case 0:
			b = geom.Sphere{R: axis(size, spread)}
		case 1:
			b = geom.WithMargin(b, size/10)
		}
		p := placedPair(g, a, b, g.Float64()*0.6)
		want := Solve(&p, Options{Tolerance: 1e-7 * p.Size()}, &ws)
		if want.Status == Undecided {
			t.Fatalf("pair %d: EPA is undecided", i)
		}
		if want.Upper >= 0 {
			continue
		}
		for range 3 { // directions at random
			x := testkit.Unit(g)
			v := p.Support(x)
			depth, ok := p.innerEllipsoid(x, r3.Dot(x, v.W), 1e-9*p.Size())
			if ok {
				bounded++
				if depth+p.Radius > -want.Lower {
					t.Fatalf("pair %d: %g is claimed from a random direction, the depth is at most %g", i,
						depth+p.Radius, -want.Lower)
				}
			}
		}
		o := Options{Method: MethodRTR, Tolerance: 1e-7 * p.Size()}
		if r := RTR(&p, o, &ws); r.Status == Undecided && ws.t.h > 0 && spread < 10 {
			deep++
			if ws.t.proveEllipsoids(&p, &r) {
				proved++
				if r.Lower > want.Upper || r.Upper < want.Lower {
					t.Fatalf("pair %d: [%g, %g] is claimed, EPA proves [%g, %g]", i, r.Lower, r.Upper, want.Lower,
						want.Upper)
				}
			}
		}
	}
	if proved*10 < deep*7 || deep < pairs/10 || bounded < pairs/20 {
		t.Errorf("%d of %d deep pairs are proved, and %d bounds from random directions", proved, deep, bounded)
	}
}

// Coinciding centers and equal shapes: the dual is at the edge of its domain there.
func TestEllipsoidProofConcentric(t *testing.T) {
	var ws Workspace
	for _, axes := range []r3.Vec{vec(1, 2, 3), vec(2, 2, 3), vec(1, 1, 1), vec(1, 100, 100), vec(1, 1, 1000)} {
		e := geom.Ellipsoid{SemiAxes: axes}
		p := NewPair(e, e, geom.IdentityPose(), geom.IdentityPose())
		o := Options{Method: MethodRTR, Tolerance: 1e-6 * p.Size()}
		r := Solve(&p, o, &ws)
		want := -2 * min(axes.X, axes.Y, axes.Z)
		if r.Status != Penetrating || !(r.Lower <= want && want <= r.Upper) {
			t.Errorf("%v: %v in [%g, %g], want %g", axes, r.Status, r.Lower, r.Upper, want)
		}
	}
}

// More starts leave fewer local minima, never a larger one, and no bound that does not hold.
func TestStarts(t *testing.T) {
	g := rand.New(rand.NewPCG(53, 54))
	var ws Workspace
	shapes := smoothPairShapes(t)
	var local [3]int
	for _, a := range shapes {
		for _, b := range shapes {
			for range 4 {
				p := placedPair(g, a, b, g.Float64()*0.5)
				o := Options{Tolerance: 1e-5 * p.Size()}
				want := Solve(&p, o, &ws)
				last := math.Inf(-1)
				for k, starts := range []int{1, 2, 4} {
					o.Starts = starts
					r := RTR(&p, o, &ws)
					if r.Lower > want.Upper || r.Upper < want.Lower || r.Distance < last-o.Tolerance {
						t.Fatalf("%s and %s, %d starts: %g in [%g, %g] after %g, EPA proves [%g, %g]", a.Kind(),
							b.Kind(), starts, r.Distance, r.Lower, r.Upper, last, want.Lower, want.Upper)
					}
					if last = r.Distance; r.Distance < want.Lower-o.Tolerance {
						local[k]++
					}
				}
			}
		}
	}
	if local[0] < 20 || local[1]*3 > local[0] || local[2]*6 > local[0] {
		t.Errorf("local minima by starts: %v", local)
	}
}

// Auto answers as GJK and EPA do, says what it took, and takes both.
func TestAuto(t *testing.T) {
	g := rand.New(rand.NewPCG(55, 56))
	var ws Workspace
	taken := map[Method]int{}
	shapes := append(smoothPairShapes(t), geom.Box{HalfExtents: vec(0.3, 0.4, 0.5)})
	for _, a := range shapes {
		for _, b := range shapes {
			for _, reach := range []float64{0, 0.3, 0.8, 1.3} {
				p := placedPair(g, a, b, reach)
				o := Options{Tolerance: 1e-6 * p.Size()}
				want := Solve(&p, o, &ws)
				if want.Method != MethodGJK {
					t.Fatalf("GJK was asked for, %v is named", want.Method)
				}
				o.Method = MethodAuto
				got := Solve(&p, o, &ws)
				if got.Status == Undecided || got.Lower > want.Upper || got.Upper < want.Lower {
					t.Fatalf("%s and %s at %g: %v [%g, %g], gjk [%g, %g]", a.Kind(), b.Kind(), reach, got.Status,
						got.Lower, got.Upper, want.Lower, want.Upper)
				}
				if taken[got.Method]++; !SmoothPair(a, b) && got.Method != MethodGJK {
					t.Fatalf("%s and %s: %v was taken", a.Kind(), b.Kind(), got.Method)
				}
			}
		}
	}
	if len(taken) != 2 || taken[MethodGJK] < 50 || taken[MethodRTR] < 50 {
		t.Errorf("taken: %v, want GJK and RTR", taken)
	}
}
