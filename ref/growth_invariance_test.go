package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
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
