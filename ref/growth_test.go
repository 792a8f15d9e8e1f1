package ref

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// Every kind against every kind, by every solver: certified answers within the tolerance whose bounds agree.
func TestGrowthSolversAgree(t *testing.T) {
	g := rand.New(rand.NewPCG(311, 1))
	var ws Workspace
	for _, na := range growthKindNames {
		for _, nb := range growthKindNames {
			for i := range rounds(8) {
				a, b := growthKinds[na](g), growthKinds[nb](g)
				q := scatter(g, a, b, 1+g.IntN(6))
				c := centersOf(a, b)
				if i%2 == 1 {
					c = centersWithin(g, a, b)
				}
				if c.InradiusA+c.InradiusB == 0 {
					continue
				}
				p := q.pair()
				var lower, upper float64 = 0, math.Inf(1)
				for m := range GrowthMethodCount {
					o := GrowthOptions{Method: m}
					r := Growth(&p, c, o, &ws)
					if err := certifyGrowth(&q, &c, &o, &r); err != nil {
						t.Fatalf("%s and %s, %v: %v: %+v\n%s", na, nb, m, err, r, q.describe())
					}
					lower, upper = max(lower, r.Lower), min(upper, r.Upper)
				}
				if !(lower <= upper) {
					t.Fatalf("%s and %s: bounds of two solvers exclude each other, %.17g and %.17g\n%s", na, nb, lower,
						upper, q.describe())
				}
			}
		}
	}
}

// The answers lie in the enclosures that bisection over GJK finds on the scaled shapes.
func TestGrowthAgainstBisection(t *testing.T) {
	g := rand.New(rand.NewPCG(312, 1))
	var ws Workspace
	narrow, count := 0, 0
	for _, na := range growthKindNames {
		for _, nb := range growthKindNames {
			for range rounds(4) {
				a, b := growthKinds[na](g), growthKinds[nb](g)
				q := scatter(g, a, b, 1+g.IntN(6))
				c := centersWithin(g, a, b)
				if c.InradiusA+c.InradiusB == 0 {
					continue
				}
				p := q.pair()
				r := Growth(&p, c, GrowthOptions{}, &ws)
				lo, hi := q.bisect(&c, 1e-9, &ws)
				v := newGrowthView(&q, &c)
				if slack := v.floor(r.Distance); !(r.Lower <= hi+slack && lo-slack <= r.Upper) {
					t.Fatalf("%s and %s: bounds [%.17g, %.17g], bisection [%.17g, %.17g]\n%s", na, nb, r.Lower, r.Upper,
						lo, hi, q.describe())
				}
				count++
				if hi-lo <= 1e-6*hi {
					narrow++
				}
			}
		}
	}
	if narrow*100 < 95*count {
		t.Errorf("bisection enclosed %d of %d factors within 1e-6", narrow, count)
	}
}

// Random pairs of every kind in bulk: at the bounds, widened by 1e-7, GJK and EPA find the scaled shapes
// separated and intersecting.
func TestGrowthInBulk(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 4_000
	}
	growthInBulk(t, 313, n)
}

// The same on 10⁶ pairs.
func TestGrowthOnAMillionPairs(t *testing.T) {
	need.Full(t, "TestGrowthInBulk solves fewer such pairs")
	growthInBulk(t, 314, 1_000_000)
}

func growthInBulk(t *testing.T, seed uint64, n int) {
	g := rand.New(rand.NewPCG(seed, 1))
	var shapes []geom.Shape
	for range 20 {
		for _, name := range growthKindNames {
			shapes = append(shapes, growthKinds[name](g))
		}
	}
	var ws Workspace
	var told [2]int
	var hit [Invalid + 1]int
	for i := range n {
		a, b := shapes[g.IntN(len(shapes))], shapes[g.IntN(len(shapes))]
		q := scatter(g, a, b, i)
		c := centersOf(a, b)
		if c.InradiusA+c.InradiusB == 0 {
			continue
		}
		p := q.pair()
		o := GrowthOptions{}
		r := Growth(&p, c, o, &ws)
		hit[r.Status]++
		if err := certifyGrowth(&q, &c, &o, &r); err != nil {
			t.Fatalf("row %d: %v: %+v\n%s", i, err, r, q.describe())
		}
		if r.Distance < 1e-6 {
			continue
		}
		below, above := q.statusAt(&c, r.Lower*(1-1e-7), &ws), q.statusAt(&c, r.Upper*(1+1e-7), &ws)
		if below == Penetrating || above == Separated {
			t.Fatalf("row %d: bounds [%.17g, %.17g], the scaled shapes are %v below and %v above\n%s", i, r.Lower,
				r.Upper, below, above, q.describe())
		}
		for k, ok := range [2]bool{below == Separated, above == Penetrating} {
			if ok {
				told[k]++
			}
		}
	}
	t.Logf("statuses %v; GJK told the side below of %d rows, above of %d", hit, told[0], told[1])
	if least := n * 8 / 10; told[0] < least || told[1] < least {
		t.Errorf("GJK told the side of %v of %d rows", told, n)
	}
	if hit[Separated] < n/10 || hit[Penetrating] < n/10 {
		t.Errorf("statuses %v of %d rows: the sample misses an outcome", hit, n)
	}
}

// The shapes and placements that break solvers: needles, plates, flat shapes, size ratios of 1e8, centers that
// nearly coincide, parallel faces, rays through vertices and edges. None is undecided.
func TestGrowthAdversarial(t *testing.T) {
	n := 21
	if testing.Short() {
		n = 3
	}
	shapes := adversarialShapes()
	var ws Workspace
	var hit [Invalid + 1]int
	for ia, a := range shapes {
		for ib, b := range shapes {
			g := rand.New(rand.NewPCG(315, uint64(ia*len(shapes)+ib)))
			c := centersOf(a, b)
			half := unbounded(a) || unbounded(b)
			for k := range n {
				q := awkward(g, a, b, k+ia+ib)
				p := q.pair()
				for m := range GrowthMethodCount {
					o := GrowthOptions{Method: m}
					r := Growth(&p, c, o, &ws)
					hit[r.Status]++
					if c.InradiusA+c.InradiusB == 0 {
						if r.Status != Invalid {
							t.Fatalf("shapes %d and %d: status %v of flat shapes", ia, ib, r.Status)
						}
						continue
					}
					err := certifyGrowth
					if half {
						err = certifyGrowthHalfspace
					}
					if err := err(&q, &c, &o, &r); err != nil {
						t.Fatalf("shapes %d and %d, placement %d, %v: %v: %+v\n%s", ia, ib, k, m, err, r, q.describe())
					}
				}
			}
		}
	}
	for _, s := range []Status{Separated, Touching, Penetrating, Invalid} {
		if hit[s] < n*20 {
			t.Errorf("%d answers are %v, statuses %v: the sample misses an outcome", hit[s], s, hit)
		}
	}
}

// Sizes of 1e-8 to 1e7 m, alike or not, at distances of 1e-18 to 1e6 sizes between the centers: no answer is
// undecided, infinite or refuted, and beyond a ratio of 1e12 bounds may be wide.
func TestGrowthAtAnyScale(t *testing.T) {
	n := 8000
	if testing.Short() {
		n = 1500
	}
	g := rand.New(rand.NewPCG(316, 1))
	var ws Workspace
	var hit [Invalid + 1]int
	for i := range n {
		a := growthKinds[growthKindNames[g.IntN(len(growthKindNames))]](g)
		b := growthKinds[growthKindNames[g.IntN(len(growthKindNames))]](g)
		ka, kb := math.Pow(10, 14*g.Float64()-7), math.Pow(10, 14*g.Float64()-7)
		if i%2 == 0 {
			kb = ka
		}
		a, errA := geom.Scaled(a, ka)
		b, errB := geom.Scaled(b, kb)
		if errA != nil || errB != nil || a.Validate() != nil || b.Validate() != nil {
			continue
		}
		c := centersOf(a, b)
		if i%3 == 0 {
			c = centersWithin(g, a, b)
		}
		if c.InradiusA+c.InradiusB == 0 {
			continue
		}
		q := scatter(g, a, b, 0) // at one point
		size := a.BoundingRadius() + b.BoundingRadius()
		apart := r3.Scale(size*math.Pow(10, 24*g.Float64()-18), testkit.Unit(g))
		ray := r3.Sub(q.pb.Apply(c.B), q.pa.Apply(c.A))
		q.pb.Position = r3.Add(q.pb.Position, r3.Sub(apart, ray))
		p := q.pair()
		for m := range GrowthMethodCount {
			o := GrowthOptions{Method: m}
			r := Growth(&p, c, o, &ws)
			hit[r.Status]++
			if err := certifyGrowth(&q, &c, &o, &r); err != nil {
				t.Fatalf("row %d, %v: %v: %+v\n%s", i, m, err, r, q.describe())
			}
		}
	}
	if hit[Separated] < n/4 || hit[Penetrating] < n/4 {
		t.Errorf("statuses %v: the sample misses an outcome", hit)
	}
}

// certifyGrowthHalfspace checks the status and the tolerance; TestGrowthHalfspace checks the values.
func certifyGrowthHalfspace(q *placed, c *GrowthCenters, o *GrowthOptions, r *Result) error {
	v := newGrowthView(q, c)
	return v.checkStatus(o, r)
}

// Rays that meet a vertex, an edge or a face of D exactly: unit cubes side by side at simple fractions.
func TestGrowthOfCubes(t *testing.T) {
	a, b := geom.Box{HalfExtents: vec(0.5, 0.5, 0.5)}, geom.Box{HalfExtents: vec(0.5, 0.5, 0.5)}
	c := centersOf(a, b)
	corners := mustConvex(corners(a)...)
	for x := -4; x <= 4; x++ {
		for y := -4; y <= 4; y++ {
			for z := -4; z <= 4; z++ {
				at := vec(float64(x)/2, float64(y)/2, float64(z)/2)
				want := max(math.Abs(at.X), math.Abs(at.Y), math.Abs(at.Z))
				for _, shape := range []geom.Shape{a, corners} {
					q := placed{a: shape, b: b, pa: geom.IdentityPose(), pb: geom.Translate(at.X, at.Y, at.Z)}
					p := q.pair()
					for m := range GrowthMethodCount {
						o := GrowthOptions{Method: m}
						r := Growth(&p, c, o, nil)
						if err := certifyGrowth(&q, &c, &o, &r); err != nil {
							t.Fatalf("%v at %v: %v", m, at, err)
						}
						if !(r.Lower <= want && want <= r.Upper) {
							t.Fatalf("%v at %v: bounds [%g, %g], want %g", m, at, r.Lower, r.Upper, want)
						}
					}
				}
			}
		}
	}
}

// Brute force over directions: no dual bound of many exceeds the factor, and the best comes close to it. The factor
// is that of the paper's definition, with support functions by formulas of their own.
func TestGrowthByBruteForce(t *testing.T) {
	g := rand.New(rand.NewPCG(317, 1))
	for _, name := range []string{"sphere", "capsule", "cylinder", "cone", "box", "ellipsoid", "superquadric", "hull",
		"triangle"} {
		for range rounds(4) {
			a, b := everyKind[name](g), everyKind["ellipsoid"](g)
			q := scatter(g, a, b, 1+g.IntN(6))
			c := centersWithin(g, a, b)
			p := q.pair()
			r := Growth(&p, c, GrowthOptions{}, nil)
			v := newGrowthView(&q, &c)
			dual := func(n r3.Vec) float64 {
				m := v.dirB(r3.Scale(-1, n))
				return r3.Dot(n, v.ray) / (reach(a, n) - r3.Dot(n, c.A) + reach(b, m) - r3.Dot(m, c.B))
			}
			// Uniform directions, then ever closer to the best.
			best, bound := r3.Vec{}, 0.0
			for i := range 6000 {
				n := testkit.Unit(g)
				if i > 2000 {
					n = r3.Unit(r3.Add(best, r3.Scale(math.Pow(10, -float64(i-2000)/1000), n)))
				}
				if d := dual(n); d > bound {
					best, bound = n, d
				}
			}
			if !(bound <= r.Upper*(1+1e-12)+v.floor(r.Upper)) || !(bound >= r.Lower*(1-1e-3)) {
				t.Fatalf("%s: bounds [%.17g, %.17g], the best of 6,000 directions proves %.17g\n%s", name, r.Lower,
					r.Upper, bound, q.describe())
			}
		}
	}
}

// Coincident centers give the factor 0, the centers as witnesses and no normal.
func TestGrowthOfCoincidentCenters(t *testing.T) {
	g := rand.New(rand.NewPCG(318, 1))
	for range 200 {
		a, b := geom.Box{HalfExtents: logVec(g)}, geom.Cone{R: logSize(g), HalfLength: logSize(g)}
		c := centersWithin(g, a, b)
		p := NewPair(a, b, geom.IdentityPose(), geom.Pose{Position: r3.Sub(c.A, c.B), Rotation: specialRotations[0]})
		r := Growth(&p, c, GrowthOptions{}, nil)
		slack := p.Roundoff()
		if r.Status != Penetrating || r.Distance != 0 || r.Lower != 0 || !(r.Upper <= 4*slack/c.InradiusB) ||
			r.Normal != (r3.Vec{}) || r.WitnessA != c.A || r3.Norm(r3.Sub(r.WitnessB, c.A)) > slack {
			t.Fatalf("centers %v: %+v", c, r)
		}
	}
}

// Each pair ends by the solver made for it, in the evaluations that this takes: boxes by their axes unless edges
// are parallel, smooth pairs by Newton's method, spheres by a formula, all others by the simplex method.
func TestGrowthEndings(t *testing.T) {
	g := rand.New(rand.NewPCG(319, 1))
	for _, s := range []struct {
		a, b  string
		ended Ending
		share float64 // of the pairs that end so, at least
		mean  float64 // evaluations, at most
	}{
		{"sphere", "sphere", EndedByFormula, 1, 1},
		{"box", "box", EndedByAxes, 0.999, 1.1},
		{"ellipsoid", "ellipsoid", EndedByNewton, 1, 6},
		{"ellipsoid", "sphere", EndedByNewton, 1, 6},
		{"smooth hull", "ellipsoid", EndedByNewton, 0.95, 11},
		{"smooth revolution", "smooth revolution", EndedByNewton, 0.99, 9},
		{"hull", "hull", EndedByMethod, 1, 9},
		{"rounded box", "box", EndedByMethod, 1, 25},
		{"cylinder", "cone", EndedByMethod, 1, 32},
		{"capsule", "triangle", EndedByMethod, 1, 32},
	} {
		const n = 400
		ended, evaluations := 0, 0
		for range n {
			q := scatter(g, growthKinds[s.a](g), growthKinds[s.b](g), 21*g.IntN(9)+3*g.IntN(2)+3)
			p := q.pair()
			r := Growth(&p, centersWithin(g, q.a, q.b), GrowthOptions{}, nil)
			evaluations += r.Iterations
			if r.Ended == s.ended {
				ended++
			}
		}
		mean := float64(evaluations) / n
		t.Logf("%s and %s: %d of %d end as they should, %.1f evaluations", s.a, s.b, ended, n, mean)
		if float64(ended) < s.share*n || mean > s.mean {
			t.Errorf("%s and %s: %d of %d end by solver %v, %.1f evaluations", s.a, s.b, ended, n, s.ended, mean)
		}
	}
}
