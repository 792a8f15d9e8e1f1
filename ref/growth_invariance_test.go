package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

// variant is a pair made from another, whose factor is a known multiple of the other's.
type variant struct {
	name string
	make func(q *placed, c *GrowthCenters, g *rand.Rand) (placed, GrowthCenters, float64)
}

var growthVariants = []variant{
	{"the same", func(q *placed, c *GrowthCenters, _ *rand.Rand) (placed, GrowthCenters, float64) {
		return *q, *c, 1
	}},
	{"swapped", func(q *placed, c *GrowthCenters, _ *rand.Rand) (placed, GrowthCenters, float64) {
		return placed{a: q.b, b: q.a, pa: q.pb, pb: q.pa}, GrowthCenters{c.B, c.A, c.InradiusB, c.InradiusA}, 1
	}},
	{"moved", func(q *placed, c *GrowthCenters, g *rand.Rand) (placed, GrowthCenters, float64) {
		m := testkit.Pose(g, 10)
		return placed{a: q.a, b: q.b, pa: m.Compose(q.pa), pb: m.Compose(q.pb)}, *c, 1
	}},
	// α is homogeneous in p.
	{"farther", func(q *placed, c *GrowthCenters, g *rand.Rand) (placed, GrowthCenters, float64) {
		k := math.Pow(10, 2*g.Float64()-1)
		far := *q
		ray := r3.Sub(q.pb.Apply(c.B), q.pa.Apply(c.A))
		far.pb.Position = r3.Add(q.pb.Position, r3.Scale(k-1, ray))
		return far, *c, k
	}},
	// Shapes k times as large at the same centers divide it by k.
	{"larger", func(q *placed, c *GrowthCenters, g *rand.Rand) (placed, GrowthCenters, float64) {
		k := math.Pow(10, 2*g.Float64()-1)
		l := *q
		var errs [2]error
		l.a, errs[0] = geom.Scaled(q.a, k)
		l.b, errs[1] = geom.Scaled(q.b, k)
		if errs[0] != nil || errs[1] != nil {
			panic(fmt.Sprint(errs))
		}
		m := *c
		m.A, m.B = r3.Scale(k, c.A), r3.Scale(k, c.B)
		m.InradiusA, m.InradiusB = geom.InradiusAt(l.a, m.A), geom.InradiusAt(l.b, m.B)
		l.pa.Position = r3.Sub(q.pa.Apply(c.A), rotate(q.pa.Rotation, m.A))
		l.pb.Position = r3.Sub(q.pb.Apply(c.B), rotate(q.pb.Rotation, m.B))
		return l, m, 1 / k
	}},
}

// The factor changes as it has to under rigid motions, exchange, scaling of the distance and of the shapes.
func TestGrowthInvariance(t *testing.T) {
	pairs, centers := growthPairs(331, rounds(4))
	g := rand.New(rand.NewPCG(332, 1))
	for i := range pairs {
		q, c := &pairs[i], &centers[i]
		p := q.pair()
		r := Growth(&p, *c, GrowthOptions{}, nil)
		for _, v := range growthVariants {
			w, d, factor := v.make(q, c, g)
			if d.InradiusA+d.InradiusB == 0 {
				continue
			}
			p := w.pair()
			s := Growth(&p, d, GrowthOptions{}, nil)
			// Moving the poses rounds them to the magnitude of the coordinates.
			far := r3.Norm(w.pa.Position) + r3.Norm(w.pb.Position) + r3.Norm(q.pa.Position) + r3.Norm(q.pb.Position)
			slack := 64 * eps * (far*(1+1/factor) + p.scale) * (1 + r.Upper) / (c.InradiusA + c.InradiusB)
			lower, upper := s.Lower/factor, s.Upper/factor
			if !(lower <= r.Upper+slack && r.Lower <= upper+slack) {
				t.Fatalf("row %d %s: bounds [%.17g, %.17g], before [%.17g, %.17g]\n%s", i, v.name, lower, upper,
					r.Lower, r.Upper, q.describe())
			}
			if s.Status == Undecided {
				t.Fatalf("row %d %s: undecided: %+v\n%s", i, v.name, s, q.describe())
			}
		}
	}
}

// The factor is 1 exactly where the signed distance changes sign: the two queries never contradict each other,
// at any separation.
func TestGrowthAgainstSignedDistance(t *testing.T) {
	g := rand.New(rand.NewPCG(333, 1))
	var ws Workspace
	var hit [Invalid + 1]int
	for range rounds(4) {
		for _, na := range growthKindNames {
			for _, nb := range growthKindNames {
				a, b := growthKinds[na](g), growthKinds[nb](g)
				c := centersWithin(g, a, b)
				if c.InradiusA+c.InradiusB == 0 || a.Inradius() == 0 || b.Inradius() == 0 {
					continue
				}
				q := place(g, a, b, math.Copysign(math.Pow(10, -6*g.Float64()-1), g.Float64()-0.5))
				p := q.pair()
				r := Growth(&p, c, GrowthOptions{}, &ws)
				s := Solve(&p, Options{Boolean: true}, &ws)
				hit[r.Status]++
				if r.Status == Undecided || r.Status == Separated && s.Status == Penetrating ||
					r.Status == Penetrating && s.Status == Separated {
					t.Fatalf("%s and %s, %g apart: growth %v in [%.17g, %.17g], distance %v\n%s", na, nb, q.want,
						r.Status, r.Lower, r.Upper, s.Status, q.describe())
				}
			}
		}
	}
	if hit[Separated] < 50 || hit[Penetrating] < 50 {
		t.Errorf("statuses %v: the sample misses an outcome", hit)
	}
}

// A margin, or a larger shape, never increases the factor.
func TestGrowthIsMonotone(t *testing.T) {
	pairs, centers := growthPairs(334, rounds(2))
	for i := range pairs {
		q, c := pairs[i], centers[i]
		p := q.pair()
		r := Growth(&p, c, GrowthOptions{}, nil)
		q.a = geom.WithMargin(q.a, 0.05)
		c.InradiusA = geom.InradiusAt(q.a, c.A)
		p = q.pair()
		if s := Growth(&p, c, GrowthOptions{}, nil); !(s.Lower < r.Upper) {
			t.Fatalf("row %d: bounds [%g, %g], with a margin [%g, %g]\n%s", i, r.Lower, r.Upper, s.Lower, s.Upper,
				pairs[i].describe())
		}
	}
}

// The common point lies in both shapes when they are scaled, whatever solver found it: both witnesses scaled are
// this point, but for what the upper bound adds for |e|, times the distance of the witnesses from the centers,
// which is at most twice the bounding radius.
func TestGrowthPoint(t *testing.T) {
	pairs, centers := growthPairs(335, rounds(2))
	for i := range pairs {
		q, c := &pairs[i], &centers[i]
		p := q.pair()
		for m := range GrowthMethodCount {
			r := Growth(&p, *c, GrowthOptions{Method: m}, nil)
			v := newGrowthView(q, c)
			x := p.GrowthPoint(*c, &r)
			y := r3.Add(v.centerB, r3.Scale(r.Distance, r3.Sub(r.WitnessB, v.centerB)))
			allowed := 2*(r.Upper-r.Lower)*(q.a.BoundingRadius()+q.b.BoundingRadius()) + 8*v.slack*(1+r.Distance)
			if off := r3.Norm(r3.Sub(x, y)); !(off <= allowed) {
				t.Fatalf("row %d, %v: the scaled witnesses are %g from each other, allowed %g: %+v\n%s", i, m, off,
					allowed, r, q.describe())
			}
			got, want := p.GrowthInfeasibility(*c, &r), r3.Norm(r3.Sub(x, y))
			if !(math.Abs(got-want) <= 4*v.slack*(1+r.Distance)) {
				t.Fatalf("row %d, %v: infeasibility %g, scaled witnesses %g from each other", i, m, got, want)
			}
		}
	}
}

// growthPairs draws pairs of every kind against every kind, without those that are flat both.
func growthPairs(seed uint64, rounds int) (pairs []placed, centers []GrowthCenters) {
	g := rand.New(rand.NewPCG(seed, 1))
	for range rounds {
		for _, na := range growthKindNames {
			for _, nb := range growthKindNames {
				a, b := growthKinds[na](g), growthKinds[nb](g)
				c := centersWithin(g, a, b)
				if c.InradiusA+c.InradiusB > 0 {
					pairs = append(pairs, scatter(g, a, b, 1+g.IntN(6)))
					centers = append(centers, c)
				}
			}
		}
	}
	return pairs, centers
}

// A Boolean query ends with the status of the factor after fewer evaluations.
func TestGrowthBoolean(t *testing.T) {
	pairs, centers := growthPairs(321, rounds(4))
	full, boolean := 0, 0
	for i := range pairs {
		p := pairs[i].pair()
		for _, m := range []GrowthMethod{GrowthAuto, GrowthSimplex, GrowthIE} {
			r := Growth(&p, centers[i], GrowthOptions{Method: m}, nil)
			o := GrowthOptions{Method: m, Boolean: true}
			s := Growth(&p, centers[i], o, nil)
			if r.Status != s.Status && r.Status != Touching {
				t.Fatalf("row %d, %v: status %v, Boolean %v\n%s", i, m, r.Status, s.Status, pairs[i].describe())
			}
			if err := certifyGrowth(&pairs[i], &centers[i], &o, &s); err != nil {
				t.Fatalf("row %d, %v: %v: %+v\n%s", i, m, err, s, pairs[i].describe())
			}
			full, boolean = full+r.Iterations, boolean+s.Iterations
		}
	}
	if !(3*boolean < full) {
		t.Errorf("%d evaluations for the factors, %d for Boolean answers", full, boolean)
	}
}

// A cut-off ends a row once the factor is proved to exceed it, with the right status, and does not change
// others.
func TestGrowthCutOff(t *testing.T) {
	pairs, centers := growthPairs(322, rounds(2))
	beyond := 0
	for i := range pairs {
		p := pairs[i].pair()
		r := Growth(&p, centers[i], GrowthOptions{Method: GrowthSimplex}, nil)
		for _, k := range []float64{0.3, 1, 2} {
			o := GrowthOptions{Method: GrowthSimplex, HasCutOff: true, CutOff: k}
			s := Growth(&p, centers[i], o, nil)
			if err := certifyGrowth(&pairs[i], &centers[i], &o, &s); err != nil {
				t.Fatalf("row %d, cut-off %g: %v: %+v\n%s", i, k, err, s, pairs[i].describe())
			}
			switch {
			case r.Upper < k && s != r:
				t.Fatalf("row %d, cut-off %g: %+v, without it %+v", i, k, s, r)
			case r.Status != s.Status && r.Status != Touching:
				t.Fatalf("row %d, cut-off %g: status %v, without it %v", i, k, s.Status, r.Status)
			case k == 1 && s.Status == Separated && s != Growth(&p, centers[i],
				GrowthOptions{Method: GrowthSimplex, Boolean: true}, nil):
				t.Fatalf("row %d: %+v with a cut-off of 1, which is not the Boolean answer", i, s)
			}
			if s.Iterations < r.Iterations {
				beyond++
			}
		}
	}
	if beyond < len(pairs) {
		t.Errorf("the cut-off saved evaluations %d times on %d pairs", beyond, len(pairs))
	}
}

// A limit of evaluations ends rows undecided with bounds that hold, and a tolerance is met with fewer.
func TestGrowthLimits(t *testing.T) {
	pairs, centers := growthPairs(323, 1)
	undecided, loose, tight := 0, 0, 0
	for i := range pairs {
		p := pairs[i].pair()
		for m := range GrowthMethodCount {
			r := Growth(&p, centers[i], GrowthOptions{Method: m}, nil)
			s := Growth(&p, centers[i], GrowthOptions{Method: m, MaxIterations: 3}, nil)
			if s.Iterations > 3 || !(s.Lower <= r.Upper && r.Lower <= s.Upper) {
				t.Fatalf("row %d, %v: %+v, in full %+v", i, m, s, r)
			}
			if s.Status == Undecided {
				undecided++
			}
			o := GrowthOptions{Method: m, Tolerance: 1e-4}
			s = Growth(&p, centers[i], o, nil)
			if err := certifyGrowth(&pairs[i], &centers[i], &o, &s); err != nil {
				t.Fatalf("row %d, %v: %v: %+v\n%s", i, m, err, s, pairs[i].describe())
			}
			loose, tight = loose+s.Iterations, tight+r.Iterations
		}
	}
	if undecided < len(pairs) || !(3*loose < 2*tight) {
		t.Errorf("%d undecided rows; %d evaluations at 1e-4, %d in full", undecided, loose, tight)
	}
}

// The status is what the bounds prove, and needs the tolerance unless the query ends before.
func TestGrowthStatuses(t *testing.T) {
	boolean, cut := GrowthOptions{Boolean: true}, GrowthOptions{HasCutOff: true, CutOff: 3}
	for _, c := range []struct {
		lower, upper float64
		o            GrowthOptions
		want         Status
	}{
		{1.01, 1.02, GrowthOptions{}, Separated}, {0.98, 0.99, GrowthOptions{}, Penetrating},
		{0.99, 1.01, GrowthOptions{}, Touching}, {1, 1, GrowthOptions{}, Touching},
		{0.97, 1, GrowthOptions{}, Touching},
		{1.01, 1.2, GrowthOptions{}, Undecided}, {0.5, 0.99, GrowthOptions{}, Undecided},
		{0.5, 1.5, GrowthOptions{}, Undecided}, {1.01, 7, boolean, Separated}, {0, 0.99, boolean, Penetrating},
		{0.5, 1.5, boolean, Undecided}, {1, 1.5, boolean, Undecided}, {0.5, 1, boolean, Undecided},
		{0.99, 1.01, boolean, Touching}, {4, 7, cut, Separated}, {2, 7, cut, Undecided}, {3, 7, cut, Undecided},
		{0.5, 0.9, cut, Undecided}, {1.02, 1.01, GrowthOptions{}, Undecided},
		{math.NaN(), 1, GrowthOptions{}, Undecided}, {1, math.NaN(), boolean, Undecided},
	} {
		r := Result{Lower: c.lower, Upper: c.upper}
		if r.classifyGrowth(&c.o, 0.05); r.Status != c.want {
			t.Errorf("bounds [%g, %g], %+v: %v, want %v", c.lower, c.upper, c.o, r.Status, c.want)
		}
	}
}

// A start from the state before a small motion gives certified answers, with fewer evaluations on polytopes
// and smooth pairs.
func TestGrowthWarmStart(t *testing.T) {
	pairs, centers := growthPairs(324, rounds(4))
	var cold, warm [3]int // polytopes, smooth pairs, others
	for i := range pairs {
		q := pairs[i]
		p := q.pair()
		r := Growth(&p, centers[i], GrowthOptions{}, nil)
		state := p.GrowthState(&r)
		q.pb.Position = r3.Add(q.pb.Position, r3.Scale(0.01*q.b.BoundingRadius(), vec(0.6, -0.64, 0.48)))
		q.pb.Rotation = quat.Mul(q.pb.Rotation, quat.Number{Real: math.Cos(0.005), Jmag: math.Sin(0.005)})
		p = q.pair()
		for _, m := range []GrowthMethod{GrowthAuto, GrowthSimplex} {
			o := GrowthOptions{Method: m}
			before := Growth(&p, centers[i], o, nil)
			o.Warm = &state
			after := Growth(&p, centers[i], o, nil)
			if err := certifyGrowth(&q, &centers[i], &o, &after); err != nil {
				t.Fatalf("row %d: %v: %+v\n%s", i, err, after, q.describe())
			}
			class := 2
			if polytopeBody(q.a) && polytopeBody(q.b) && m == GrowthSimplex {
				class = 0
			} else if SmoothPair(q.a, q.b) && m == GrowthAuto {
				class = 1
			}
			cold[class] += before.Iterations
			warm[class] += after.Iterations
		}
	}
	t.Logf("evaluations cold %v, warm %v", cold, warm)
	if !(10*warm[0] < 7*cold[0]) || !(warm[1] < cold[1]) || !(10*warm[2] < 11*cold[2]) {
		t.Errorf("evaluations cold %v, warm %v", cold, warm)
	}
}

// A state of other shapes is points outside these; a bound may then not be trusted, but a state of no points
// and one of the centers is a cold start.
func TestGrowthEmptyState(t *testing.T) {
	a, b := geom.Box{HalfExtents: vec(0.5, 0.4, 0.3)}, geom.Cone{R: 1, HalfLength: 1}
	c := centersOf(a, b)
	p := NewPair(a, b, geom.IdentityPose(), geom.Translate(1, 2, 3))
	want := Growth(&p, c, GrowthOptions{}, nil)
	for _, w := range []GrowthState{{}, {N: 3, A: [3]r3.Vec{c.A, c.A, c.A}, B: [3]r3.Vec{c.B, c.B, c.B}}} {
		if r := Growth(&p, c, GrowthOptions{Warm: &w}, nil); r != want {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
}

// No solver of the growth distance allocates once its workspace has grown.
func TestGrowthAllocations(t *testing.T) {
	pairs, centers := growthPairs(325, 1)
	var ws Workspace
	for m := range GrowthMethodCount {
		run := func() {
			for i := range pairs {
				p := pairs[i].pair()
				Growth(&p, centers[i], GrowthOptions{Method: m}, &ws)
			}
		}
		run()
		// The mean is rounded down: an allocation of the runtime, which is counted too, is none of the solver.
		if n := testing.AllocsPerRun(4, run); n != 0 {
			t.Errorf("%v: %g allocations on %d pairs", m, n, len(pairs))
		}
	}
}
