package ref

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

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
