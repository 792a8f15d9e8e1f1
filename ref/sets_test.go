package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

// testSets are the sets of the benchmark: sizes log-uniform in 0.1..1 m, uniform
// rotations, a third overlapping by 0..0.1, a third 0..0.1 and a third 0.1..2 apart.
var testSets = map[string]func(*rand.Rand) geom.Shape{
	"ellipsoids": func(g *rand.Rand) geom.Shape { return geom.Ellipsoid{SemiAxes: logVec(g)} },
	"boxes":      func(g *rand.Rand) geom.Shape { return geom.Box{HalfExtents: logVec(g)} },
	"capsule-cylinder-cone": func(g *rand.Rand) geom.Shape {
		r, h := logSize(g), logSize(g)
		switch g.IntN(3) {
		case 0:
			return geom.Capsule{R: r, HalfLength: h}
		case 1:
			return geom.Cylinder{R: r, HalfLength: h}
		}
		return geom.Cone{R: r, HalfLength: h}
	},
	"hull8":   randomHull(8),
	"hull32":  randomHull(32),
	"hull128": randomHull(128),
	"hull512": randomHull(512),
}

func logSize(g *rand.Rand) float64 { return math.Pow(10, g.Float64()-1) }

func logVec(g *rand.Rand) r3.Vec { return r3.Vec{X: logSize(g), Y: logSize(g), Z: logSize(g)} }

func randomHull(n int) func(*rand.Rand) geom.Shape {
	return func(g *rand.Rand) geom.Shape { return testkit.Hull(g, logVec(g), n) }
}

// placed is a pair whose signed distance is known to lie in [atLeast, atMost]
// without the help of the solver under test: want apart exactly, or overlapping
// by construction.
type placed struct {
	a, b            geom.Shape
	pa, pb          geom.Pose
	want            float64
	atLeast, atMost float64
}

func (q *placed) pair() Pair { return NewPair(q.a, q.b, q.pa, q.pb) }

// place draws a pair at a separation of want.
//
// From a pair apart with nearest points a and b along n, a move along n keeps both
// nearest, so a positive want is exact. For an overlap, a move along n may come
// out on the other side of a sharp corner. There the points that
// lie a fraction t of the way from a and b to the centers are made to coincide:
// each has a ball of t·Inradius around it in its shape, so D holds a ball of the
// sum of both around the origin; and along n the overlap is -want.
func place(g *rand.Rand, a, b geom.Shape, want float64) placed {
	q := placed{a: a, b: b, pa: geom.IdentityPose(), pb: geom.IdentityPose(), want: want}
	q.pa.Rotation, q.pb.Rotation = testkit.Rotation(g), testkit.Rotation(g)
	q.pa.Position = r3.Vec{X: g.Float64(), Y: g.Float64(), Z: g.Float64()}
	far := 1.5 * (a.BoundingRadius() + b.BoundingRadius())
	q.pb.Position = r3.Add(q.pa.Position, r3.Scale(far, testkit.Unit(g)))
	p := q.pair()
	res := GJK(&p, Options{}, nil)
	n := p.DirToWorld(res.Normal)
	gap := res.Gap() + p.Roundoff() // of the placement itself
	if want >= 0 {
		q.pb.Position = r3.Add(q.pb.Position, r3.Scale(want-res.Distance, n))
		q.atLeast, q.atMost = want-gap, want+gap
		return q
	}
	wa, wb := p.ToWorld(res.WitnessA), p.ToWorld(res.WitnessB)
	inA, inB := r3.Sub(q.pa.Apply(a.Center()), wa), r3.Sub(q.pb.Apply(b.Center()), wb)
	overlap := r3.Dot(n, r3.Sub(inB, inA)) // for t = 1, at least the sum of both inradii
	t := min(-want/overlap, 0.9)
	move := r3.Sub(r3.Add(wa, r3.Scale(t, inA)), r3.Add(wb, r3.Scale(t, inB)))
	q.pb.Position = r3.Add(q.pb.Position, move)
	q.want = -t * overlap
	q.atLeast, q.atMost = q.want-gap, -t*(a.Inradius()+b.Inradius())
	return q
}

func drawSet(name string, seed uint64, n int) []placed {
	g := rand.New(rand.NewPCG(seed, 1))
	makeShape := testSets[name]
	lib := make([]geom.Shape, min(n, 256))
	for i := range lib {
		lib[i] = makeShape(g)
	}
	out := make([]placed, n)
	for i := range out {
		var want float64
		switch i % 3 {
		case 0:
			want = -0.1 * g.Float64()
		case 1:
			want = 0.1 * g.Float64()
		default:
			want = 0.1 + 1.9*g.Float64()
		}
		out[i] = place(g, lib[g.IntN(len(lib))], lib[g.IntN(len(lib))], want)
	}
	return out
}

var setNames = []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128", "hull512"}

// curvedSet says of which sets depths are answered to 1e-8 only.
var curvedSet = map[string]bool{"ellipsoids": true, "capsule-cylinder-cone": true}

// TestSets solves every benchmark set in both precisions: no wrong status, no answer
// off by more than its gap, none undecided, every certificate holds, and the gaps
// that are promised are reached.
func TestSets(t *testing.T) {
	n := 1500
	if testing.Short() {
		n = 150
	}
	for _, name := range setNames {
		set := drawSet(name, 11, n)
		for _, tolerance := range []float64{0, 1e-6} {
			t.Run(fmt.Sprintf("%s/%g", name, tolerance), func(t *testing.T) {
				checkSet(t, set, tolerance, curvedSet[name])
			})
		}
	}
}

func checkSet(t *testing.T, set []placed, tolerance float64, curved bool) {
	var ws Workspace
	over := 0
	var hit [Invalid + 1]int
	for i := range set {
		q := &set[i]
		p := q.pair()
		o := Options{Tolerance: tolerance * p.Size()}
		r := Solve(&p, o, &ws)
		hit[r.Status]++
		if err := checkPlaced(q, &o, &r); err != nil {
			t.Fatalf("row %d, %+v: %v\n%s", i, r, err, q.describe())
		}
		limit, usual := 1e-10, 1e-12
		if curved && q.want < 0 {
			limit, usual = 1e-8, 1e-8
		}
		if tolerance > 0 {
			limit, usual = tolerance, tolerance
		}
		gap := r.Gap() / p.Size()
		if !(gap <= limit) {
			t.Errorf("row %d, %v: gap %g × size, want at most %g", i, r.Status, gap, limit)
		}
		if !(gap <= usual) {
			over++
		}
	}
	if over*1000 > len(set) {
		t.Errorf("%d of %d rows have a gap above the usual one, want 1 in 1000 at most", over, len(set))
	}
	if hit[Separated] < len(set)/2 || hit[Penetrating] < len(set)/4 {
		t.Errorf("statuses %v: the set does not hold both outcomes", hit)
	}
}

// checkPlaced checks an answer against the placement and against the shapes.
func checkPlaced(q *placed, o *Options, r *Result) error {
	want := Separated
	if q.want < 0 {
		want = Penetrating
	}
	if r.Status != want {
		return fmt.Errorf("status %v, want %v at %g", r.Status, want, q.want)
	}
	if !(r.Lower <= q.atMost && r.Upper >= q.atLeast) {
		return fmt.Errorf("bounds [%g, %g], placed in [%g, %g]", r.Lower, r.Upper, q.atLeast, q.atMost)
	}
	if q.want >= 0 && !(math.Abs(r.Distance-q.want) <= r.Gap()+q.atMost-q.want) {
		return fmt.Errorf("distance %g ± %g, placed at %g", r.Distance, r.Gap(), q.want)
	}
	if err := q.aligned(o, r); err != nil {
		return err
	}
	return certify(q, o, r)
}

// TestSetsTouching places the shapes of every set in contact, exactly or within
// rounding of it.
func TestSetsTouching(t *testing.T) {
	n := 200
	if testing.Short() {
		n = 30
	}
	var ws Workspace
	for _, name := range setNames {
		g := rand.New(rand.NewPCG(12, 1))
		touching := 0
		for i := range n {
			q := place(g, testSets[name](g), testSets[name](g), 0)
			p := q.pair()
			r := Solve(&p, Options{}, &ws)
			if err := certify(&q, &Options{}, &r); err != nil {
				t.Fatalf("%s row %d, %+v: %v\n%s", name, i, r, err, q.describe())
			}
			if !(r.Lower <= q.atMost && r.Upper >= q.atLeast) {
				t.Fatalf("%s row %d: bounds [%g, %g] do not hold 0\n%s", name, i, r.Lower, r.Upper, q.describe())
			}
			if r.Lower <= 0 && r.Upper >= 0 {
				touching++
			}
		}
		// The placement has a gap of its own; the rest is off by no more than that.
		if touching < n/2 {
			t.Errorf("%s: %d of %d rows are touching, want half of them", name, touching, n)
		}
	}
}

// TestSetsReachEveryRank shows that the samples exercise the solver: every rank of the
// final simplex, every status, and warm starts that differ from cold ones.
func TestSetsReachEveryRank(t *testing.T) {
	var rank [5]int
	var status [Invalid + 1]int
	var ws Workspace
	for _, name := range setNames {
		for _, q := range drawSet(name, 13, 300) {
			p := q.pair()
			r := GJK(&p, Options{}, &ws)
			rank[r.Simplex.N]++
			status[r.Status]++
			r = Solve(&p, Options{}, &ws)
			status[r.Status]++
		}
	}
	for n := 1; n <= 4; n++ {
		if rank[n] < 20 {
			t.Errorf("%d pairs end with a simplex of rank %d, ranks %v", rank[n], n, rank)
		}
	}
	// The depth of intersecting cores is open after GJK alone.
	for _, s := range []Status{Separated, Penetrating, Undecided} {
		if status[s] < 20 {
			t.Errorf("%d answers are %v, statuses %v", status[s], s, status)
		}
	}
}
