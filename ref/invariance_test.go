package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// mixedPairs draws pairs of every kind against every kind: apart, close, overlapping,
// and scattered. The order of kinds is fixed, so that a seed gives the same pairs.
func mixedPairs(seed uint64, rounds int) []placed {
	var names []string
	for name := range everyKind {
		names = append(names, name)
	}
	slices.Sort(names)
	g := rand.New(rand.NewPCG(seed, 7))
	var out []placed
	for i := range rounds {
		for _, na := range names {
			for _, nb := range names {
				a, b := everyKind[na](g), everyKind[nb](g)
				var q placed
				switch i % 4 {
				case 0:
					q = place(g, a, b, math.Pow(10, 4*g.Float64()-3))
				case 1:
					q = place(g, a, b, -math.Pow(10, 3*g.Float64()-4))
				case 2:
					q = place(g, a, b, 0.1*g.Float64())
				default:
					q = scatter(g, a, b, 1+g.IntN(6)) // coincident centers are left to other tests
				}
				out = append(out, q)
			}
		}
	}
	return out
}

func rounds(n int) int {
	if testing.Short() {
		return max(1, n/4)
	}
	return n
}

// agree reports why two answers to the same question, each with its own bounds, cannot
// both be right: their intervals, grown by slack, do not meet, or one says apart
// and the other overlapping.
func agree(r, s *Result, slack float64) error {
	if !(r.Lower <= s.Upper+slack && s.Lower <= r.Upper+slack) {
		return fmt.Errorf("bounds [%.17g, %.17g] and [%.17g, %.17g]", r.Lower, r.Upper, s.Lower, s.Upper)
	}
	opposite := r.Status == Separated && s.Status == Penetrating || r.Status == Penetrating && s.Status == Separated
	if opposite && math.Abs(r.Distance) > slack {
		return fmt.Errorf("status %v and %v", r.Status, s.Status)
	}
	return nil
}

// sameNormal compares normals of two answers about the pair apart at distance d. A
// plane across n proves d·cos ∠(n, n*) at most, with n* the true normal; so an
// answer with gap g has 1 − cos ≤ g/d, and two differ by at most the sum of both angles.
func sameNormal(n, m r3.Vec, r, s *Result, slack float64) error {
	if r.Status != Separated || s.Status != Separated {
		return nil
	}
	angle := func(r *Result) float64 {
		return 2 * math.Asin(math.Min(1, math.Sqrt((r.Upper-r.Lower+slack)/(2*r.Upper))))
	}
	allowed := angle(r) + angle(s) + slack/r.Upper
	if !(r3.Norm(r3.Sub(n, m)) <= allowed+16*eps) {
		return fmt.Errorf("normals %v and %v, allowed angle %g", n, m, allowed)
	}
	return nil
}

func TestSwap(t *testing.T) {
	var ws Workspace
	for i, q := range mixedPairs(51, rounds(12)) {
		p := q.pair()
		r := Solve(&p, Options{}, &ws)
		back := placed{a: q.b, b: q.a, pa: q.pb, pb: q.pa}
		pb := back.pair()
		s := Solve(&pb, Options{}, &ws)
		slack := p.Roundoff()
		err := agree(&r, &s, slack)
		if err == nil {
			err = sameNormal(p.DirToWorld(r.Normal), r3.Scale(-1, pb.DirToWorld(s.Normal)), &r, &s, slack)
		}
		if err == nil {
			err = certify(&back, &Options{}, &s)
		}
		if err != nil {
			t.Fatalf("pair %d and the same swapped: %v\n%s", i, err, q.describe())
		}
	}
}

// TestRigidMotion moves both bodies, by up to 10 km. Rounding the moved positions moves
// the bodies against each other, but that is all: the answer stays certified to the
// size of the pair, not to the distance from the origin.
func TestRigidMotion(t *testing.T) {
	g := rand.New(rand.NewPCG(52, 1))
	var ws Workspace
	for i, q := range mixedPairs(53, rounds(8)) {
		p := q.pair()
		r := Solve(&p, Options{}, &ws)
		for _, far := range []float64{1, 1e3, 1e4} {
			motion := geom.Pose{Position: r3.Scale(far, testkit.Unit(g)), Rotation: testkit.Rotation(g)}
			moved := q
			moved.pa, moved.pb = motion.Compose(q.pa), motion.Compose(q.pb)
			pm := moved.pair()
			s := Solve(&pm, Options{}, &ws)
			// Four roundings of each position, three coordinates, and those of the rotations.
			reach := far + r3.Norm(q.pa.Position) + r3.Norm(q.pb.Position)
			slack := 16*eps*reach + p.Roundoff() + pm.Roundoff()
			err := agree(&r, &s, slack)
			if err == nil {
				back := motion.Matrix()
				err = sameNormal(p.DirToWorld(r.Normal), back.MulVecT(pm.DirToWorld(s.Normal)), &r, &s, slack)
			}
			if err == nil {
				err = certify(&moved, &Options{}, &s)
			}
			if err == nil && pm.Roundoff() > 2*p.Roundoff() {
				err = fmt.Errorf("Roundoff grew from %g to %g", p.Roundoff(), pm.Roundoff())
			}
			if err != nil {
				t.Fatalf("pair %d and the same %g m away: %v\n%s", i, far, err, q.describe())
			}
		}
	}
}

func TestWorldFrame(t *testing.T) {
	for _, q := range mixedPairs(54, 1) {
		p := q.pair()
		v := vec(0.3, -0.2, 0.7)
		if d := r3.Norm(r3.Sub(p.FromWorld(p.DirToWorld(v)), v)); d > 16*eps {
			t.Fatalf("a direction comes back from the world %g off", d)
		}
		if d := r3.Norm(r3.Sub(p.ToWorld(v), q.pa.Apply(v))); d > 16*eps*(1+r3.Norm(q.pa.Position)) {
			t.Fatalf("a point is %g off in the world", d)
		}
	}
}

// scaled returns the shape k times as large.
func scaled(s geom.Shape, k float64) geom.Shape {
	big, err := geom.Scaled(s, k)
	if err != nil {
		panic(err)
	}
	return big
}

func TestUniformScale(t *testing.T) {
	var ws Workspace
	for i, q := range mixedPairs(55, rounds(8)) {
		p := q.pair()
		r := Solve(&p, Options{}, &ws)
		for _, k := range []float64{1e-4, 1.0 / 3, 1e4} {
			big := placed{a: scaled(q.a, k), b: scaled(q.b, k), pa: q.pa, pb: q.pb}
			big.pa.Position, big.pb.Position = r3.Scale(k, q.pa.Position), r3.Scale(k, q.pb.Position)
			pk := big.pair()
			s := Solve(&pk, Options{}, &ws)
			scaledBack := s
			scaledBack.Lower, scaledBack.Upper, scaledBack.Distance = s.Lower/k, s.Upper/k, s.Distance/k
			// Scaling rounds every parameter once.
			slack := p.Roundoff() + 8*eps*(r3.Norm(q.pa.Position)+r3.Norm(q.pb.Position))
			err := agree(&r, &scaledBack, slack)
			if err == nil {
				err = sameNormal(r.Normal, s.Normal, &r, &scaledBack, slack)
			}
			if err == nil {
				err = certify(&big, &Options{}, &s)
			}
			if err != nil {
				t.Fatalf("pair %d and the same %g times as large: %v\n%s", i, k, err, q.describe())
			}
		}
	}
}
