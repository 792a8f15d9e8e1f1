package ref

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

// adversarialShapes are the shapes that break solvers: every kind, plates, needles, flat and
// degenerate hulls, nearly equal axes, tiny and huge sizes, margins, half-spaces.
func adversarialShapes() []geom.Shape {
	ring := func(n int, r, z float64) (pts []r3.Vec) {
		for i := range n {
			s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			pts = append(pts, vec(r*c, r*s, z))
		}
		return pts
	}
	return []geom.Shape{
		geom.Sphere{R: 0.5}, geom.Sphere{R: 1e-4}, geom.Sphere{R: 1e4},
		geom.Capsule{R: 0.3, HalfLength: 0.5}, geom.Capsule{R: 1e-4, HalfLength: 1}, geom.Capsule{R: 0.1},
		geom.Cylinder{R: 0.3, HalfLength: 0.5}, geom.Cylinder{R: 1, HalfLength: 1e-4},
		geom.Cylinder{R: 1e-4, HalfLength: 1},
		geom.Cone{R: 0.3, HalfLength: 0.5}, geom.Cone{R: 1e-3, HalfLength: 1}, geom.Cone{R: 1, HalfLength: 1e-3},
		geom.Frustum{RBottom: 0.4, RTop: 0.2, HalfLength: 0.3}, geom.Frustum{RTop: 0.2, HalfLength: 0.3},
		geom.Box{HalfExtents: vec(0.5, 0.5, 0.5)}, geom.Box{HalfExtents: vec(1, 1, 1e-4)},
		geom.Box{HalfExtents: vec(1, 1e-4, 1e-4)},
		geom.Box{HalfExtents: vec(1e4, 1e4, 1e4)}, geom.Box{HalfExtents: vec(1e-4, 1e-4, 1e-4)},
		geom.Box{HalfExtents: vec(1e4, 1e-4, 1)},
		ellipsoid(vec(0.5, 0.3, 0.2)), ellipsoid(vec(1, 1, 1e-3)), ellipsoid(vec(1, 1e-3, 1e-3)),
		ellipsoid(vec(0.5, 0.5, 0.5)), ellipsoid(vec(0.5, 0.5, 0.499)),
		geom.Superquadric{SemiAxes: vec(0.5, 0.4, 0.3), Alpha1: 1, Alpha2: 1},
		geom.Superquadric{SemiAxes: vec(0.5, 0.4, 0.3), Alpha1: 0.3, Alpha2: 0.3},
		geom.Superquadric{SemiAxes: vec(0.5, 0.4, 0.3), Alpha1: 1.7, Alpha2: 1.5},
		mustConvex(vec(0.1, 0.2, 0.3)), mustConvex(vec(-0.5, 0, 0), vec(0.5, 0.1, 0)),
		mustConvex(vec(0, 0, 0), vec(1, 0, 0), vec(0, 1, 0)),
		mustConvex(vec(0, 0, 0), vec(1, 0, 0), vec(0.5, 1e-7, 0)), // a needle of a triangle
		mustConvex(vec(-1, -1, 0), vec(1, -1, 0), vec(1, 1, 0), vec(-1, 1, 0)),
		mustConvex(vec(-1, -1, 0), vec(1, -1, 0), vec(1, 1, 0), vec(-1, 1, 1e-9), vec(0, 0, 1e-6)),
		mustConvex(vec(0, 0, 0), vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1), vec(0, 0, 0), vec(1, 0, 0),
			vec(0.25, 0.25, 0.25)),
		mustConvex(append(ring(40, 0.5, -0.3), ring(40, 0.5, 0.3)...)...),
		mustConvex(append(ring(24, 1, 0), vec(0, 0, 1e-12))...),
		geom.WithMargin(geom.Box{HalfExtents: vec(0.2, 0.3, 0.4)}, 0.1),
		geom.WithMargin(mustConvex(vec(0, 0, 0), vec(1, 0, 0), vec(0, 1, 0)), 0.01),
		geom.WithMargin(ellipsoid(vec(0.3, 0.2, 0.1)), 1e-6),
		geom.WithMargin(geom.Cone{R: 0.3, HalfLength: 0.5}, 0.05),
		geom.Halfspace{}, geom.WithMargin(geom.Halfspace{}, 0.1),
	}
}

// ofRevolution reports whether the core of s is a curved body around the local z axis. Two of
// them, coaxial and deep, touch D's boundary on a whole circle: a certified depth to
// 1e-8 takes tens of thousands of facets.
func ofRevolution(s geom.Shape) bool {
	switch s.Kind() {
	case geom.KindCylinder, geom.KindCone, geom.KindFrustum:
		return true
	case geom.KindEllipsoid, geom.KindSuperquadric:
		lo, hi := s.AABB()
		d := r3.Sub(hi, lo)
		return d.X == d.Y || d.Y == d.Z
	}
	return false
}

// awkward places two shapes: coincident, at simple fractions of their size, anywhere, in
// contact, overlapping by 1e-12 to 1 of the size, apart by as little, or far apart.
func awkward(g *rand.Rand, a, b geom.Shape, i int) placed {
	q := placed{a: a, b: b, pa: geom.IdentityPose(), pb: geom.IdentityPose()}
	pick := func() quat.Number { return specialRotations[g.IntN(len(specialRotations))] }
	switch i % 3 {
	case 0:
		q.pa.Rotation, q.pb.Rotation = testkit.Rotation(g), testkit.Rotation(g)
	case 1:
		q.pa.Rotation, q.pb.Rotation = pick(), pick()
	default: // parallel but for 1e-5 to 1e-15
		q.pa.Rotation = pick()
		tilt := r3.Scale(math.Pow(10, -5-10*g.Float64()), testkit.Unit(g))
		q.pb.Rotation = quat.Mul(q.pa.Rotation, quat.Number{Real: 1, Imag: tilt.X, Jmag: tilt.Y, Kmag: tilt.Z})
		q.pb.Rotation = quat.Scale(1/quat.Abs(q.pb.Rotation), q.pb.Rotation)
	}
	size := finiteSize(a) + finiteSize(b)
	half := a.Kind() == geom.KindHalfspace || b.Kind() == geom.KindHalfspace
	kind := i % 7
	if half && kind >= 3 && kind <= 5 {
		kind = 1
	}
	switch kind {
	case 0: // coincident
	case 1:
		q.pb.Position = r3.Scale(size*g.Float64(), testkit.Unit(g))
	case 2:
		q.pb.Position = vec(size*0.1*float64(g.IntN(5)), size*0.1*float64(g.IntN(5)), 0)
	case 6:
		q.pb.Position = r3.Scale(size*math.Pow(10, 6*g.Float64()), testkit.Unit(g))
	default:
		d := 0.0
		if kind > 3 {
			d = math.Pow(10, -12+12*g.Float64()) * size
		}
		if kind == 4 {
			d = -d
		}
		q.pb.Position = r3.Scale(2*size, testkit.Unit(g))
		p := q.pair()
		r := GJK(&p, Options{}, nil)
		q.pb.Position = r3.Add(q.pb.Position, r3.Scale(d-r.Distance, p.DirToWorld(r.Normal)))
	}
	return q
}

// TestAdversarial sets every such shape against every other, in every such placement:
// every answer is decided, to the tolerance asked for, and certified.
func TestAdversarial(t *testing.T) {
	n := 14
	if testing.Short() {
		n = 2
	}
	shapes := adversarialShapes()
	var ws Workspace
	var hit [Invalid + 1]int
	failures := 0
	for ia, a := range shapes {
		for ib, b := range shapes {
			if a.Kind() == geom.KindHalfspace && b.Kind() == geom.KindHalfspace {
				continue
			}
			g := rand.New(rand.NewPCG(81, uint64(ia*len(shapes)+ib))) // a short run is part of a long one
			for k := range n {
				q := awkward(g, a, b, k+ia+ib)
				p := q.pair()
				var o Options
				if (ofRevolution(a) || ofRevolution(b)) && k > 0 {
					o.Tolerance = 1e-6 * p.Size() // tighter tolerances take seconds of facets
				}
				r := Solve(&p, o, &ws)
				hit[r.Status]++
				err := certify(&q, &o, &r)
				if err == nil && r.Status == Undecided {
					err = fmt.Errorf("undecided")
				}
				if err == nil && r.Iterations > mostSteps {
					err = fmt.Errorf("more steps than any pair may take")
				}
				if err != nil {
					t.Errorf("shapes %d and %d, placement %d: %v\n%v [%g, %g] gap/size %.2g, %d steps\n%s",
						ia, ib, k, err, r.Status, r.Lower, r.Upper, r.Gap()/p.Size(), r.Iterations, q.describe())
					if failures++; failures > 20 {
						t.FailNow()
					}
				}
			}
		}
	}
	for _, s := range []Status{Separated, Touching, Penetrating} {
		if hit[s] < n*20 {
			t.Errorf("%d answers are %v, statuses %v: the sample misses an outcome", hit[s], s, hit)
		}
	}
}

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

// TestMostSteps: pairs whose depth would take a million faces, at a tolerance far below the default, end undecided
// after mostSteps with bounds that hold, whatever the method.
func TestMostSteps(t *testing.T) {
	var ws Workspace
	round := geom.Superquadric{SemiAxes: vec(0.3, 0.3, 0.4), Alpha1: 0.6, Alpha2: 1}
	undecided := 0
	for _, b := range []geom.Shape{geom.Capsule{R: 0.2, HalfLength: 0.5}, geom.Cone{R: 0.4, HalfLength: 0.5}} {
		q := placed{a: round, b: b, pa: geom.IdentityPose(),
			pb: geom.Pose{Position: r3.Vec{X: 1e-8, Z: 0.01}, Rotation: quat.Number{Real: 1, Imag: 1e-8}}}
		p := q.pair()
		for _, m := range []Method{MethodAuto, MethodNesterov} {
			o := Options{Method: m, Tolerance: 1e-13 * p.Size()}
			r := Solve(&p, o, &ws)
			if err := certify(&q, &o, &r); err != nil || r.Iterations > mostSteps {
				t.Errorf("%v and %v, %v: %v [%g, %g] after %d steps: %v", round.Kind(), b.Kind(), m, r.Status, r.Lower,
					r.Upper, r.Iterations, err)
			}
			if r.Status == Undecided {
				undecided++
			}
		}
	}
	if undecided == 0 {
		t.Error("no pair of the test is hard")
	}
}
