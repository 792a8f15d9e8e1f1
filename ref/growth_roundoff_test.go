package ref

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

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
