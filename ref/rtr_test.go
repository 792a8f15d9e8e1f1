package ref

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

// smoothPairShapes is one shape of every kind that RTR is made for, and of every sharpness.
func smoothPairShapes(t testing.TB) []geom.Shape {
	t.Helper()
	var corners []r3.Vec
	for i := range 8 {
		sign := func(bit int) float64 { return float64(1-2*(i>>bit&1)) / 2 }
		corners = append(corners, vec(sign(0), sign(1), sign(2)))
	}
	list := []geom.Shape{
		geom.Sphere{R: 0.5},
		geom.Ellipsoid{SemiAxes: vec(0.5, 0.5, 0.7)},
		geom.Ellipsoid{SemiAxes: vec(0.2, 0.4, 0.7)},
		geom.Superquadric{SemiAxes: vec(0.7, 0.7, 0.35), Alpha1: 1, Alpha2: 1.5},
		geom.Superquadric{SemiAxes: vec(0.5, 0.5, 0.7), Alpha1: 1.5, Alpha2: 1},
		geom.Superquadric{SemiAxes: vec(0.6, 0.6, 0.6), Alpha1: 1.5, Alpha2: 1.5},
		geom.Superquadric{SemiAxes: vec(0.6, 0.5, 0.4), Alpha1: 0.5, Alpha2: 0.7},
		geom.WithMargin(geom.Ellipsoid{SemiAxes: vec(0.3, 0.4, 0.5)}, 0.1),
	}
	for _, beta := range []float64{5, 50, 200} {
		s, err := geom.NewSmoothHull(corners, beta, r3.Vec{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	s, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.5, Y: 0.6}, {X: 0.5, Y: -0.6}}, 40, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	return append(list, s)
}

// placedPair places b at a distance of about reach times the sum of the sizes.
func placedPair(g *rand.Rand, a, b geom.Shape, reach float64) Pair {
	q := func() quat.Number {
		q := testkit.Quaternion(g)
		return quat.Scale(1/quat.Abs(q), q)
	}
	u := testkit.Unit(g)
	at := r3.Scale(reach*(a.BoundingRadius()+b.BoundingRadius()), u)
	return NewPair(a, b, geom.Pose{Rotation: q()}, geom.Pose{Position: at, Rotation: q()})
}

// RTR and GJK with EPA are two ways to one certified number: apart, shallow and deep.
func TestRTRAgreesWithGJKAndEPA(t *testing.T) {
	g := rand.New(rand.NewPCG(41, 42))
	var ws Workspace
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	shapes := smoothPairShapes(t)
	counts := map[Status]int{}
	for _, a := range shapes {
		for _, b := range shapes {
			for _, reach := range []float64{0, 0.2, 0.5, 0.7, 1.1, 5} {
				for range rounds {
					p := placedPair(g, a, b, reach)
					o := Options{Tolerance: 1e-6 * p.Size()}
					want := Solve(&p, o, &ws)
					o.Method = MethodRTR
					got := Solve(&p, o, &ws)
					if got.Status == Undecided || want.Status == Undecided {
						t.Fatalf("%s and %s at %g: rtr %+v, gjk %+v", a.Kind(), b.Kind(), reach, got, want)
					}
					if got.Lower > want.Upper || got.Upper < want.Lower {
						t.Fatalf("%s and %s at %g: rtr proves [%g, %g], gjk [%g, %g]", a.Kind(), b.Kind(), reach,
							got.Lower, got.Upper, want.Lower, want.Upper)
					}
					off := norm(r3.Sub(r3.Sub(got.WitnessB, got.WitnessA), r3.Scale(got.Distance, got.Normal)))
					if off > got.Gap()+4*p.Roundoff() {
						t.Fatalf("%s and %s at %g: witnesses are %g off, gap %g", a.Kind(), b.Kind(), reach, off,
							got.Gap())
					}
					counts[got.Status]++
				}
			}
		}
	}
	if counts[Separated] < 100 || counts[Penetrating] < 100 {
		t.Errorf("%v, want many of both outcomes", counts)
	}
}

// Whatever RTR alone says holds: its bounds hold the certified answer, and where it claims
// to have answered, that is the answer.
func TestRTRAloneIsABound(t *testing.T) {
	g := rand.New(rand.NewPCG(43, 44))
	var ws Workspace
	shapes := smoothPairShapes(t)
	answered, local := 0, 0
	for _, a := range shapes {
		for _, b := range shapes {
			for _, reach := range []float64{0.2, 0.6, 1.2} {
				p := placedPair(g, a, b, reach)
				o := Options{Tolerance: 1e-6 * p.Size()}
				want := Solve(&p, o, &ws)
				got := RTR(&p, o, &ws)
				if got.Lower > want.Upper || got.Upper < want.Lower {
					t.Fatalf("%s and %s at %g: rtr proves [%g, %g], gjk [%g, %g]", a.Kind(), b.Kind(), reach, got.Lower,
						got.Upper, want.Lower, want.Upper)
				}
				if got.Status == Undecided {
					local++
				} else {
					answered++
				}
			}
		}
	}
	if answered < 100 || local < 50 {
		t.Errorf("%d answered and %d not, want many of both", answered, local)
	}
}

// Near the solution the gradient falls superlinearly [RTR, Theorem 1]: once it is below a
// hundredth of the size, each norm is at most a multiple of the last to the power 1.5, until
// rounding ends it.
func TestRTRConvergesSuperlinearly(t *testing.T) {
	g := rand.New(rand.NewPCG(45, 46))
	checked := 0
	for range 300 {
		a := geom.Ellipsoid{SemiAxes: vec(0.5, 0.5, 0.7)}
		b := geom.Ellipsoid{SemiAxes: vec(0.3, 0.6, 0.5)}
		for _, reach := range []float64{0.65, 1.3} { // shallow, and apart
			p := placedPair(g, a, b, reach)
			q := p.eroded()
			tr := trustRegion{trace: make([]float64, 0, 64)}
			o := Options{Tolerance: 1e-13}
			tr.reset(&q, &o)
			tr.minimize(startDirection(&q, &o))
			if len(tr.trace) > 20 {
				t.Fatalf("%d steps: %v", len(tr.trace), tr.trace)
			}
			for i := 1; i < len(tr.trace); i++ {
				last, now := tr.trace[i-1], tr.trace[i]
				if last > 1e-2 || now < 1e-14 {
					continue
				}
				if checked++; now > 5*math.Pow(last, 1.5) {
					t.Fatalf("gradient norms %v: step %d is not superlinear", tr.trace, i)
				}
			}
		}
	}
	if checked < 300 {
		t.Errorf("%d steps were near a solution, want many", checked)
	}
}

// Closed forms: spheres, and ellipsoids along an axis they share.
func TestRTRClosedForms(t *testing.T) {
	var ws Workspace
	identity := geom.IdentityPose()
	for _, c := range []struct {
		a, b geom.Shape
		at   r3.Vec
		want float64
	}{
		{geom.Sphere{R: 1}, geom.Sphere{R: 2}, vec(0, 5, 0), 2},
		{geom.Sphere{R: 1}, geom.Sphere{R: 2}, vec(0, 0, 2.5), -0.5},
		{geom.Sphere{R: 1}, geom.Sphere{R: 2}, vec(0, 0, 0), -3}, // concentric
		{geom.Ellipsoid{SemiAxes: vec(3, 1, 1)}, geom.Ellipsoid{SemiAxes: vec(2, 1, 1)}, vec(7, 0, 0), 2},
		{geom.Ellipsoid{SemiAxes: vec(1, 2, 3)}, geom.Ellipsoid{SemiAxes: vec(1, 3, 3)}, vec(1.75, 0, 0), -0.25},
		{geom.Ellipsoid{SemiAxes: vec(1, 2, 3)}, geom.Ellipsoid{SemiAxes: vec(1, 3, 3)}, vec(2, 0, 0), 0}, // kissing
		// concentric
		{geom.Ellipsoid{SemiAxes: vec(1, 2, 3)}, geom.Ellipsoid{SemiAxes: vec(1, 3, 3)}, vec(0, 0, 0), -2},
		{geom.Ellipsoid{SemiAxes: vec(1e4, 1e4, 1e4)}, geom.Sphere{R: 1e-4}, vec(0, 0, 10001), 1 - 1e-4},
		{geom.Ellipsoid{SemiAxes: vec(1e-3, 1e-3, 1)}, geom.Ellipsoid{SemiAxes: vec(1, 1, 1e-3)}, vec(0, 0, 1.002),
			1e-3},
	} {
		for _, away := range []float64{0, 1000} {
			poseA, poseB := identity, identity
			poseA.Position.X += away
			poseB.Position = r3.Add(c.at, poseA.Position)
			p := NewPair(c.a, c.b, poseA, poseB)
			r := Solve(&p, Options{Method: MethodRTR, Tolerance: 1e-7 * p.Size()}, &ws)
			if r.Status == Undecided || !(r.Lower <= c.want+1e-12*away && r.Upper >= c.want-1e-12*away) {
				t.Errorf("%s and %s at %v: %v in [%g, %g], want %g", c.a.Kind(), c.b.Kind(), c.at, r.Status, r.Lower,
					r.Upper, c.want)
			}
		}
	}
}

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
