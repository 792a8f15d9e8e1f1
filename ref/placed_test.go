package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

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
