package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
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
