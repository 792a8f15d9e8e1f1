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

const bigPrec = 300

type bigVec [3]*big.Float

func newBig(x float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(x) }

func bigOf(v r3.Vec) bigVec { return bigVec{newBig(v.X), newBig(v.Y), newBig(v.Z)} }

func (v bigVec) sub(w bigVec) (r bigVec) {
	for i := range r {
		r[i] = new(big.Float).SetPrec(bigPrec).Sub(v[i], w[i])
	}
	return r
}

func (v bigVec) vec() r3.Vec {
	x, _ := v[0].Float64()
	y, _ := v[1].Float64()
	z, _ := v[2].Float64()
	return r3.Vec{X: x, Y: y, Z: z}
}

// bigRotate applies R(q/|q|), or its transpose, without rounding that matters.
func bigRotate(q quat.Number, v bigVec, transpose bool) bigVec {
	w, u := newBig(q.Real), bigVec{newBig(q.Imag), newBig(q.Jmag), newBig(q.Kmag)}
	if transpose {
		for i := range u {
			u[i].Neg(u[i])
		}
	}
	mul := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(bigPrec).Mul(a, b) }
	add := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(bigPrec).Add(a, b) }
	cross := func(a, b bigVec) (c bigVec) {
		for i := range 3 {
			j, k := (i+1)%3, (i+2)%3
			c[i] = new(big.Float).SetPrec(bigPrec).Sub(mul(a[j], b[k]), mul(a[k], b[j]))
		}
		return c
	}
	n := add(add(mul(w, w), mul(u[0], u[0])), add(mul(u[1], u[1]), mul(u[2], u[2])))
	// v + 2·(w·(u×v) + u×(u×v))/|q|²
	uv := cross(u, v)
	uuv := cross(u, uv)
	var r bigVec
	for i := range 3 {
		t := add(mul(w, uv[i]), uuv[i])
		t = mul(t, newBig(2))
		t.Quo(t, n)
		r[i] = add(v[i], t)
	}
	return r
}

// TestRoundoffBoundsVertices compares vertices of D with exact arithmetic, from the
// poses as callers give them: near and far apart, at the origin and 10 km away. It
// measures the constant of Roundoff instead of trusting its derivation.
func TestRoundoffBoundsVertices(t *testing.T) {
	g := rand.New(rand.NewPCG(7, 7))
	var worst float64
	for range 20000 {
		a := geom.Box{HalfExtents: r3.Scale(math.Pow(10, 8*g.Float64()-4), logVec(g))}
		b := geom.Box{HalfExtents: r3.Scale(math.Pow(10, 8*g.Float64()-4), logVec(g))}
		raw := [2]quat.Number{}
		for i := range raw {
			raw[i] = testkit.Quaternion(g)
		}
		origin := r3.Scale(math.Pow(10, 8*g.Float64()-4), testkit.Unit(g))
		between := r3.Scale((a.BoundingRadius()+b.BoundingRadius())*math.Pow(10, 3*g.Float64()-1), testkit.Unit(g))
		pa, err := geom.Pose{Position: origin, Rotation: raw[0]}.Normalized()
		if err != nil {
			t.Fatal(err)
		}
		pb, err := geom.Pose{Position: r3.Add(origin, between), Rotation: raw[1]}.Normalized()
		if err != nil {
			t.Fatal(err)
		}
		p := NewPair(a, b, pa, pb)
		d := testkit.Unit(g)
		v := p.Support(d)
		local := b.CoreSupport(r3.Scale(-1, p.rot.MulVecT(d)))

		world := bigRotate(raw[1], bigOf(local), false)
		shift := bigOf(pb.Position).sub(bigOf(pa.Position))
		for i := range world {
			world[i].Add(world[i], shift[i])
		}
		exact := bigOf(v.A).sub(bigRotate(raw[0], world, true)).vec()
		if e := norm(r3.Sub(v.W, exact)) / (eps * p.scale); e > worst {
			worst = e
		}
	}
	t.Logf("largest error of a vertex: %.2f units of eps·scale", worst)
	// Of the 24 units that Roundoff grants, the dot product that makes a support
	// value of a vertex takes three, and so does the length of a witness pair.
	if worst > 18 {
		t.Errorf("a vertex of D is off by %.1f units of eps·scale, Roundoff leaves 18", worst)
	}
	if worst < 0.5 {
		t.Errorf("the largest error is %.1f units: the test does not measure rounding", worst)
	}
}
