package ref

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

// grown is a shape scaled by a factor about a center, as a support function: what the growth distance is
// defined by.
type grown struct {
	geom.Shape
	k float64
	c r3.Vec
}

func (s grown) at(x r3.Vec) r3.Vec { return r3.Add(s.c, r3.Scale(s.k, r3.Sub(x, s.c))) }

func (s grown) CoreSupport(d r3.Vec) r3.Vec { return s.at(s.Shape.CoreSupport(d)) }
func (s grown) Radius() float64             { return s.k * s.Shape.Radius() }
func (s grown) Center() r3.Vec              { return s.at(s.Shape.Center()) }
func (s grown) BoundingRadius() float64     { return s.k * s.Shape.BoundingRadius() }
func (s grown) Inradius() float64           { return s.k * s.Shape.Inradius() }

// statusAt is the status of the pair whose shapes are scaled by k, by GJK and EPA.
func (q *placed) statusAt(c *GrowthCenters, k float64, ws *Workspace) Status {
	p := NewPair(grown{q.a, k, c.A}, grown{q.b, k, c.B}, q.pa, q.pb)
	r := Solve(&p, Options{Boolean: true}, ws)
	return r.Status
}

// bisect encloses the growth distance by bisection over GJK: the scaled shapes are separated at lo and
// intersect at hi. It ends at a relative width, or where GJK cannot tell.
func (q *placed) bisect(c *GrowthCenters, width float64, ws *Workspace) (lo, hi float64) {
	for hi = 1; hi < 1e12 && q.statusAt(c, hi, ws) == Separated; hi *= 2 {
		lo = hi
	}
	for hi-lo > width*hi {
		mid := (lo + hi) / 2
		switch q.statusAt(c, mid, ws) {
		case Separated:
			lo = mid
		case Penetrating:
			hi = mid
		default:
			return lo, hi
		}
	}
	return lo, hi
}

// centersOf returns the default centers of a pair.
func centersOf(a, b geom.Shape) GrowthCenters {
	c := GrowthCenters{A: geom.GrowthCenter(a), B: geom.GrowthCenter(b)}
	c.InradiusA, c.InradiusB = geom.InradiusAt(a, c.A), geom.InradiusAt(b, c.B)
	return c
}

// centersWithin returns centers drawn inside the shapes: between the default center and the surface, which
// for a flat shape is a point of it.
func centersWithin(g *rand.Rand, a, b geom.Shape) GrowthCenters {
	draw := func(s geom.Shape, c r3.Vec) (r3.Vec, float64) {
		at := r3.Add(c, r3.Scale(0.95*g.Float64(), r3.Sub(geom.Support(s, testkit.Unit(g)), c)))
		return at, geom.InradiusAt(s, at)
	}
	c := centersOf(a, b)
	c.A, c.InradiusA = draw(a, c.A)
	c.B, c.InradiusB = draw(b, c.B)
	return c
}

// growthKinds draws a shape of every bounded kind, flat and rounded ones among them.
var growthKinds = func() map[string]func(*rand.Rand) geom.Shape {
	kinds := map[string]func(*rand.Rand) geom.Shape{
		"smooth hull": func(g *rand.Rand) geom.Shape {
			for {
				s, err := geom.NewSmoothHull(testkit.OnEllipsoid(g, logVec(g), 12), 2.1+20*g.Float64(), r3.Vec{})
				if err == nil { // the hull contains the origin
					return s
				}
			}
		},
		"smooth revolution": func(g *rand.Rand) geom.Shape {
			profile := []r2.Vec{{X: logSize(g), Y: -logSize(g)}, {X: logSize(g), Y: 0.1}, {Y: logSize(g)}}
			s, err := geom.NewSmoothRevolution(profile, 3+10*g.Float64(), math.Pow(10, -3*g.Float64()))
			if err != nil {
				panic(err)
			}
			return s
		},
		"rounded box": func(g *rand.Rand) geom.Shape {
			return geom.WithMargin(geom.Box{HalfExtents: logVec(g)}, 0.2*logSize(g))
		},
		"segment": func(g *rand.Rand) geom.Shape { return mustConvex(randomPoint(g), randomPoint(g)) },
	}
	for name, draw := range everyKind {
		kinds[name] = draw
	}
	return kinds
}()

var growthKindNames = func() (names []string) {
	for name := range growthKinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

// certifyGrowth checks an answer from the shapes, the poses and the centers alone:
//
//   - its bounds are in order, their gap within the tolerance, and the status is the one that they prove;
//   - the plane across Normal proves Lower;
//   - the witnesses lie in the shapes and prove Upper;
//   - no direction that is tried refutes Upper.
func certifyGrowth(q *placed, c *GrowthCenters, o *GrowthOptions, r *Result) error {
	v := newGrowthView(q, c)
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, x := range []r3.Vec{r.Normal, r.WitnessA, r.WitnessB, {X: r.Distance, Y: r.Lower, Z: r.Upper}} {
		if !geom.Finite(x) {
			return fmt.Errorf("not finite: %+v", *r)
		}
	}
	if !(0 <= r.Lower && r.Lower <= r.Distance && r.Distance <= r.Upper) {
		bad("want 0 ≤ lower ≤ distance ≤ upper, got %g, %g, %g", r.Lower, r.Distance, r.Upper)
	}
	if err := v.checkStatus(o, r); err != nil {
		errs = append(errs, err)
	}
	if r.Normal == (r3.Vec{}) {
		if !(r3.Norm(v.ray) <= 4*v.slack) {
			bad("no normal, but the centers are %g apart", r3.Norm(v.ray))
		}
		return errors.Join(errs...)
	}
	if n := r3.Norm(r.Normal); !(math.Abs(n-1) <= 8*eps) {
		bad("|normal| − 1 = %g", n-1)
	}
	along, h := r3.Dot(r.Normal, v.ray), v.value(r.Normal)
	if !(r.Lower*(h-2*v.slack) <= along+2*v.slack) {
		bad("the plane across the normal proves %g/%g, lower is %g", along, h, r.Lower)
	}
	return errors.Join(append(errs, v.checkWitnesses(r), v.refute(r))...)
}

// growthView is a placed pair about its centers, in the frame of A, by quaternions instead of the matrices
// of Pair.
type growthView struct {
	frame
	c       *GrowthCenters
	centerB r3.Vec // in the frame of A
	ray     r3.Vec
}

func newGrowthView(q *placed, c *GrowthCenters) (v growthView) {
	v = growthView{frame: q.frame(), c: c}
	v.slack += 24 * eps * (r3.Norm(c.A) + r3.Norm(c.B))
	v.centerB = v.fromB(c.B)
	v.ray = r3.Sub(v.centerB, c.A)
	return v
}

// value is the support function of D about the centers.
func (v *growthView) value(n r3.Vec) float64 {
	a := r3.Sub(geom.Support(v.q.a, n), v.c.A)
	b := r3.Sub(geom.Support(v.q.b, v.dirB(r3.Scale(-1, n))), v.c.B)
	return r3.Dot(n, a) - r3.Dot(v.dirB(n), b)
}

// floor is the gap that float64 is known to prove; none where the pair is flat up to rounding.
func (v *growthView) floor(alpha float64) float64 {
	inradius := v.c.InradiusA + v.c.InradiusB
	if v.slack > inradius/16 {
		return math.Inf(1)
	}
	return 4 * (1 + alpha) * v.slack / inradius
}

func (v *growthView) checkStatus(o *GrowthOptions, r *Result) error {
	tol := o.Tolerance
	if tol == 0 {
		if tol = 1e-10; polytopeBody(v.q.a) && polytopeBody(v.q.b) {
			tol = 1e-12
		}
	}
	allowed := max(tol*max(1, r.Distance), v.floor(r.Distance))
	want := Touching
	switch {
	case r.Lower > 1:
		want = Separated
	case r.Upper < 1:
		want = Penetrating
	}
	decided := want != Touching && (o.Boolean || o.HasCutOff && r.Lower > o.CutOff)
	if r.Status != want {
		return fmt.Errorf("status %v, bounds [%.17g, %.17g]", r.Status, r.Lower, r.Upper)
	}
	if gap := r.Upper - r.Lower; !(gap <= allowed) && !decided {
		return fmt.Errorf("gap %g, allowed %g", gap, allowed)
	}
	return nil
}

// checkWitnesses checks that the witnesses lie in the shapes and that the point of D that they make proves
// Upper, see primalBound.
func (v *growthView) checkWitnesses(r *Result) error {
	inA, inB := v.q.a.Residual(r.WitnessA), v.q.b.Residual(v.pointB(r.WitnessB))
	if !(inA <= residualUnits(v.q.a)*v.slack) || !(inB <= residualUnits(v.q.b)*v.slack) {
		return fmt.Errorf("witnesses lie %g outside A and %g outside B, slack %g", inA, inB, v.slack)
	}
	s := r3.Sub(r3.Sub(r.WitnessA, v.c.A), r3.Sub(r.WitnessB, v.centerB))
	u := r3.Unit(v.ray)
	along := r3.Dot(u, s)
	off := r3.Norm(r3.Sub(s, r3.Scale(along, u)))
	inradius := v.c.InradiusA + v.c.InradiusB
	proved := (r3.Norm(v.ray) - 2*v.slack) * (inradius + max(off-2*v.slack, 0)) / ((along + 2*v.slack) * inradius)
	if !(proved <= r.Upper) {
		return fmt.Errorf("the witnesses prove %.17g, upper is %.17g (%g off the ray, inradius %g)", proved, r.Upper,
			off, inradius)
	}
	return nil
}

// refute looks for a direction that proves more than Upper: random ones and tilts of Normal.
func (v *growthView) refute(r *Result) error {
	g := rand.New(rand.NewPCG(math.Float64bits(r.Distance), uint64(r.Iterations)))
	for i := range 12 {
		n := testkit.Unit(g)
		if i > 3 {
			n = r3.Unit(r3.Add(r.Normal, r3.Scale(math.Pow(10, -float64(i-3)), n)))
		}
		if along, h := r3.Dot(n, v.ray), v.value(n); !(along-2*v.slack <= r.Upper*(h+2*v.slack)) {
			return fmt.Errorf("direction %v proves %.17g, upper is %.17g", n, along/h, r.Upper)
		}
	}
	return nil
}

func bigOp(op func(z, x, y *big.Float) *big.Float, x, y *big.Float) *big.Float {
	return op(new(big.Float).SetPrec(bigPrec), x, y)
}

func (v bigVec) dot(w bigVec) *big.Float {
	sum := newBig(0)
	for i := range v {
		sum.Add(sum, bigOp((*big.Float).Mul, v[i], w[i]))
	}
	return sum
}

func (v bigVec) cross(w bigVec) (c bigVec) {
	for i := range c {
		j, k := (i+1)%3, (i+2)%3
		c[i] = bigOp((*big.Float).Sub, bigOp((*big.Float).Mul, v[j], w[k]), bigOp((*big.Float).Mul, v[k], w[j]))
	}
	return c
}

// exactBoxes returns the growth distance of two boxes about centers, by their fifteen axes in exact arithmetic
// (300 bits), from poses as callers give them: positions, and quaternions before they are normalized.
func exactBoxes(a, b geom.Box, c *GrowthCenters, from, to r3.Vec, qa, qb quat.Number) *big.Float {
	inA := func(v bigVec) bigVec { return bigRotate(qa, bigRotate(qb, v, false), true) }
	units := [3]bigVec{bigOf(vec(1, 0, 0)), bigOf(vec(0, 1, 0)), bigOf(vec(0, 0, 1))}
	var axesB [3]bigVec
	for i := range units {
		axesB[i] = inA(units[i])
	}
	shift := inA(bigOf(c.B)).sub(bigOf(c.A)) // the middle of D about the centers
	ray := bigRotate(qa, bigOf(to).sub(bigOf(from)), true)
	for i := range ray {
		ray[i].Add(ray[i], shift[i])
	}
	normals := append(append([]bigVec{}, units[:]...), axesB[:]...)
	for _, u := range units {
		for _, w := range axesB {
			normals = append(normals, u.cross(w))
		}
	}
	half := [2][3]float64{{a.HalfExtents.X, a.HalfExtents.Y, a.HalfExtents.Z},
		{b.HalfExtents.X, b.HalfExtents.Y, b.HalfExtents.Z}}
	best := newBig(0)
	for _, n := range normals {
		along, h := n.dot(ray), n.dot(shift)
		if along.Sign() < 0 {
			along.Neg(along)
			h.Neg(h)
		}
		for i := range units {
			for k, axis := range [2]bigVec{units[i], axesB[i]} {
				d := n.dot(axis)
				h.Add(h, d.Mul(d.Abs(d), newBig(half[k][i])))
			}
		}
		if h.Sign() > 0 {
			if f := bigOp((*big.Float).Quo, along, h); f.Cmp(best) > 0 {
				best = f
			}
		}
	}
	return best
}

// TestGrowthRounding compares the bounds with exact arithmetic, without any slack: near and far, with centers in the
// middle and elsewhere, by every solver. What the bounds add for rounding is more than what rounding took, and not
// a hundred times as much.
func TestGrowthRounding(t *testing.T) {
	g := rand.New(rand.NewPCG(341, 7))
	var ws Workspace
	var worst [2]float64 // share of the rounding granted to each bound that rounding took
	n := 3000
	if testing.Short() {
		n = 600
	}
	for range n {
		size := math.Pow(10, 8*g.Float64()-4)
		a := geom.Box{HalfExtents: r3.Scale(size, logVec(g))}
		b := geom.Box{HalfExtents: r3.Scale(size*math.Pow(10, 4*g.Float64()-2), logVec(g))}
		c := centersOf(a, b)
		if g.IntN(2) == 0 {
			c = centersWithin(g, a, b)
		}
		raw := [2]quat.Number{testkit.Quaternion(g), testkit.Quaternion(g)}
		from := r3.Scale(size*math.Pow(10, 8*g.Float64()-4), testkit.Unit(g))
		to := r3.Add(from, r3.Scale((a.BoundingRadius()+b.BoundingRadius())*math.Pow(10, 6*g.Float64()-3),
			testkit.Unit(g)))
		pa, errA := geom.Pose{Position: from, Rotation: raw[0]}.Normalized()
		pb, errB := geom.Pose{Position: to, Rotation: raw[1]}.Normalized()
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		exact := exactBoxes(a, b, &c, from, to, raw[0], raw[1])
		p := NewPair(a, b, pa, pb)
		for m := range GrowthMethodCount {
			r := Growth(&p, c, GrowthOptions{Method: m}, &ws)
			if r.Normal == (r3.Vec{}) {
				continue
			}
			below, _ := bigOp((*big.Float).Sub, exact, newBig(r.Lower)).Float64()
			above, _ := bigOp((*big.Float).Sub, newBig(r.Upper), exact).Float64()
			if !(below >= 0 && above >= 0) {
				t.Fatalf("%v: the factor is %g above lower and %g below upper: %+v", m, below, above, r)
			}
			granted := p.GrowthRoundoff(c, r.Distance) / 4
			off, _ := bigOp((*big.Float).Sub, newBig(r.Distance), exact).Float64()
			worst[0] = max(worst[0], math.Abs(off)/granted)
			worst[1] = max(worst[1], max(below, above)/granted)
		}
	}
	t.Logf("rounding took %.2f of what it is granted; the bounds are up to %.2f of it away", worst[0], worst[1])
	if worst[0] > 0.9 || worst[0] < 0.01 {
		t.Errorf("rounding took %g of what it is granted", worst[0])
	}
}
