package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

func vec(x, y, z float64) r3.Vec { return r3.Vec{X: x, Y: y, Z: z} }

func mustConvex(points ...r3.Vec) *geom.Convex {
	c, err := geom.NewConvex(points)
	if err != nil {
		panic(err)
	}
	return c
}

// closeTo solves a pair whose signed distance is known to within slack, on top of
// the rounding that Roundoff covers.
func closeTo(q *placed, want, slack float64, ws *Workspace) error {
	p := q.pair()
	r := Solve(&p, Options{}, ws)
	if !(r.Lower-slack <= want && want <= r.Upper+slack) {
		return fmt.Errorf("bounds [%g, %g] (%g, %g off), truth %g: %+v\n%s",
			r.Lower, r.Upper, r.Lower-want, r.Upper-want, want, r, q.describe())
	}
	margin := r.Upper - r.Lower + slack
	if want > margin && r.Status != Separated || want < -margin && r.Status != Penetrating {
		return fmt.Errorf("status %v, truth %g\n%s", r.Status, want, q.describe())
	}
	if err := certify(q, &Options{}, &r); err != nil {
		return fmt.Errorf("%w: %+v\n%s", err, r, q.describe())
	}
	return nil
}

// scatter places two shapes: apart, overlapping, nearly touching, in parallel, with
// coincident centers, with the second near the surface of the first.
func scatter(g *rand.Rand, a, b geom.Shape, i int) placed {
	q := placed{a: a, b: b, pa: geom.IdentityPose(), pb: geom.IdentityPose()}
	q.pa.Rotation, q.pb.Rotation = testkit.Rotation(g), testkit.Rotation(g)
	if i%3 == 1 {
		q.pb.Rotation = q.pa.Rotation
	}
	if i%3 == 2 {
		q.pa.Rotation, q.pb.Rotation = specialRotations[g.IntN(len(specialRotations))],
			specialRotations[g.IntN(len(specialRotations))]
	}
	q.pa.Position = r3.Scale(math.Pow(10, 6*g.Float64()-2), testkit.Unit(g))
	size := finiteSize(a) + finiteSize(b)
	switch i % 7 {
	case 0: // coincident
		q.pb.Position = q.pa.Position
	case 1, 2:
		q.pb.Position = r3.Add(q.pa.Position, r3.Scale(size*g.Float64(), testkit.Unit(g)))
	case 3:
		q.pb.Position = r3.Add(q.pa.Position, r3.Scale(size*math.Pow(10, 3*g.Float64()), testkit.Unit(g)))
	case 4: // along an axis of A, where faces and edges are parallel
		axis := [3]r3.Vec{vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1)}[g.IntN(3)]
		q.pb.Position = r3.Add(q.pa.Position, r3.Scale(size*2*g.Float64(), rotate(q.pa.Rotation, axis)))
	case 5: // the same, in the plane of two axes and by simple fractions
		off := vec(float64(g.IntN(5))/4, float64(g.IntN(5))/4, 0)
		q.pb.Position = r3.Add(q.pa.Position, rotate(q.pa.Rotation, r3.Scale(size, off)))
	default: // the center of B near the surface of A
		n := testkit.Unit(g)
		s := geom.Support(a, n)
		if a.Kind() == geom.KindHalfspace {
			s, n = r3.Vec{}, vec(0, 0, 1)
		}
		s = r3.Add(s, r3.Scale((2*g.Float64()-1)*1.5*finiteSize(b), n))
		q.pb.Position = r3.Add(q.pa.Position, rotate(q.pa.Rotation, s))
	}
	return q
}

var specialRotations = []quat.Number{
	{Real: 1}, {Imag: 1}, {Real: math.Sqrt(0.5), Imag: math.Sqrt(0.5)},
	{Real: math.Sqrt(0.5), Kmag: math.Sqrt(0.5)}, {Real: math.Sqrt(0.5), Jmag: -math.Sqrt(0.5)},
	{Real: 0.5, Imag: 0.5, Jmag: 0.5, Kmag: 0.5},
}

func finiteSize(s geom.Shape) float64 {
	if r := s.BoundingRadius(); !math.IsInf(r, 1) {
		return r
	}
	return 1 + s.Radius()
}

// closedForm runs scatter over pairs drawn by draw against a formula that takes the
// center of B and a map of directions from B, both in the frame of A.
func closedForm(t *testing.T, seed uint64, n int, draw func(*rand.Rand) (a, b geom.Shape),
	truth func(f *frame) (want, slack float64)) {
	t.Helper()
	if testing.Short() {
		n /= 5
	}
	g := rand.New(rand.NewPCG(seed, 3))
	var ws Workspace
	signs := [2]int{}
	for i := range n {
		a, b := draw(g)
		q := scatter(g, a, b, i)
		f := q.frame()
		want, slack := truth(&f)
		if err := closeTo(&q, want, slack, &ws); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		if want > 0 {
			signs[0]++
		} else if want < 0 {
			signs[1]++
		}
	}
	if signs[0] < n/20 || signs[1] < n/20 {
		t.Errorf("%d separated rows, %d overlapping: the sample misses an outcome", signs[0], signs[1])
	}
}

func TestSphereSphere(t *testing.T) {
	closedForm(t, 1, 5000, func(g *rand.Rand) (a, b geom.Shape) {
		return geom.Sphere{R: wideSize(g)}, geom.WithMargin(geom.Sphere{R: wideSize(g)}, 0.1*g.Float64())
	}, func(f *frame) (float64, float64) {
		return r3.Norm(f.shift) - f.q.a.Radius() - f.q.b.Radius(), 0
	})
}

// wideSize is log-uniform in 1e-4 to 1e4.
func wideSize(g *rand.Rand) float64 { return math.Pow(10, 8*g.Float64()-4) }

func TestSphereCapsule(t *testing.T) {
	closedForm(t, 2, 5000, func(g *rand.Rand) (a, b geom.Shape) {
		return geom.Sphere{R: wideSize(g)}, geom.Capsule{R: wideSize(g), HalfLength: wideSize(g)}
	}, func(f *frame) (float64, float64) {
		h := f.q.b.(geom.Capsule).HalfLength
		c := f.pointB(r3.Vec{})
		return pointSegment(c, vec(0, 0, -h), vec(0, 0, h)) - f.q.a.Radius() - f.q.b.Radius(), 0
	})
}

func TestCapsuleCapsule(t *testing.T) {
	closedForm(t, 3, 5000, func(g *rand.Rand) (a, b geom.Shape) {
		if g.IntN(8) == 0 {
			return geom.Capsule{R: wideSize(g)}, geom.Capsule{R: wideSize(g), HalfLength: wideSize(g)}
		}
		return geom.Capsule{R: logSize(g), HalfLength: logSize(g)}, geom.Capsule{R: logSize(g), HalfLength: logSize(g)}
	}, func(f *frame) (float64, float64) {
		ha, hb := f.q.a.(geom.Capsule).HalfLength, f.q.b.(geom.Capsule).HalfLength
		d := segmentSegment(vec(0, 0, -ha), vec(0, 0, ha), f.fromB(vec(0, 0, -hb)), f.fromB(vec(0, 0, hb)))
		return d - f.q.a.Radius() - f.q.b.Radius(), 0
	})
}

// The signed distance of a sphere from a shape is that of its center less the radius,
// also deep inside. It holds for every kind with an exact Residual, in both orders.
func TestSphereAgainstEveryKind(t *testing.T) {
	kinds := map[string]func(*rand.Rand) geom.Shape{
		"ellipsoid": func(g *rand.Rand) geom.Shape { return geom.Ellipsoid{SemiAxes: logVec(g)} },
		"cylinder":  func(g *rand.Rand) geom.Shape { return geom.Cylinder{R: logSize(g), HalfLength: logSize(g)} },
		"cone":      func(g *rand.Rand) geom.Shape { return geom.Cone{R: logSize(g), HalfLength: logSize(g)} },
		"frustum": func(g *rand.Rand) geom.Shape {
			return geom.Frustum{RBottom: logSize(g), RTop: logSize(g), HalfLength: logSize(g)}
		},
		"box":    func(g *rand.Rand) geom.Shape { return geom.Box{HalfExtents: logVec(g)} },
		"hull32": randomHull(32),
		"rounded box": func(g *rand.Rand) geom.Shape {
			return geom.WithMargin(geom.Box{HalfExtents: logVec(g)}, logSize(g))
		},
		"half-space": func(*rand.Rand) geom.Shape { return geom.Halfspace{} },
	}
	seed := uint64(40)
	for name, draw := range kinds {
		seed++
		t.Run(name, func(t *testing.T) {
			closedForm(t, seed, 700, func(g *rand.Rand) (a, b geom.Shape) {
				s := geom.Sphere{R: math.Pow(10, 3*g.Float64()-3)}
				if g.IntN(2) == 0 {
					return s, draw(g)
				}
				return draw(g), s
			}, func(f *frame) (float64, float64) {
				// Residual has roundings of its own, as many as Roundoff grants.
				if s, ok := f.q.a.(geom.Sphere); ok {
					return f.q.b.Residual(f.pointB(r3.Vec{})) - s.R, f.slack
				}
				return f.q.a.Residual(f.fromB(r3.Vec{})) - f.q.b.Radius(), f.slack
			})
		})
	}
}

// TestKnownAnswers is a table of pairs whose answers are plain.
func TestKnownAnswers(t *testing.T) {
	box := geom.Box{HalfExtents: vec(1, 1, 1)}
	ball := geom.Sphere{R: 1}
	tri := mustConvex(vec(0, 0, 0), vec(2, 0, 0), vec(0, 2, 0))
	bar := mustConvex(vec(-1, 0, 0), vec(1, 0, 0))
	dot := mustConvex(vec(0, 0, 0))
	turned := quat.Number{Real: math.Sqrt(0.5), Kmag: math.Sqrt(0.5)}
	diagonal := quat.Number{Real: math.Cos(math.Pi / 8), Kmag: math.Sin(math.Pi / 8)}
	cases := []struct {
		name string
		a, b geom.Shape
		at   r3.Vec
		rot  quat.Number
		want float64
	}{
		{"coincident balls", ball, ball, vec(0, 0, 0), turned, -2},
		{"nested balls", ball, geom.Sphere{R: 0.25}, vec(0.5, 0, 0), turned, -0.75},
		{"kissing balls", ball, ball, vec(2, 0, 0), turned, 0},
		{"coincident boxes", box, box, vec(0, 0, 0), turned, -2},
		{"nested boxes", box, geom.Box{HalfExtents: vec(0.25, 0.25, 0.25)}, vec(0.5, 0.25, 0), turned, -0.75},
		{"boxes face to face", box, box, vec(2, 0.5, 0), turned, 0},
		{"boxes edge to edge", box, box, vec(2, 2, 0), turned, 0},
		{"boxes corner to corner", box, box, vec(2, 2, 2), turned, 0},
		{"parallel faces apart", box, box, vec(0, 0.75, 3), turned, 1},
		{"edge on a face", box, box, vec(1+math.Sqrt2, 0, 0), diagonal, 0},
		{"point in the middle of a box", box, dot, vec(0, 0, 0), turned, -1},
		{"point on a face", box, dot, vec(1, 0.5, 0.25), turned, 0},
		{"point on a corner", box, dot, vec(1, 1, 1), turned, 0},
		{"equal points", dot, dot, vec(0, 0, 0), turned, 0},
		{"points apart", dot, dot, vec(3, 4, 0), turned, 5},
		{"crossed segments", bar, bar, vec(0, 0, 0), turned, 0},
		{"skew segments", bar, bar, vec(0.5, 0.5, 0.25), turned, 0.25},
		{"equal segments", bar, bar, vec(0, 0, 0), quat.Number{Real: 1}, 0},
		{"segments in line, apart", bar, bar, vec(3, 0, 0), quat.Number{Real: 1}, 1},
		{"segments in line, end to end", bar, bar, vec(2, 0, 0), quat.Number{Real: 1}, 0},
		{"segment through a triangle", tri, bar, vec(0.5, 0.5, 0), quat.Number{Real: math.Sqrt(0.5),
			Jmag: math.Sqrt(0.5)}, -0.5},
		{"triangles in one plane", tri, tri, vec(0.25, 0.25, 0), quat.Number{Real: 1}, 0},
		{"parallel triangles", tri, tri, vec(0.25, 0.25, 0.5), quat.Number{Real: 1}, 0.5},
		{"ball in a half-space", geom.Halfspace{}, ball, vec(5, 5, -3), turned, -4},
		{"ball on a half-space", geom.Halfspace{}, ball, vec(5, 5, 1), turned, 0},
		{"box above a half-space", geom.Halfspace{}, box, vec(1e3, 0, 3), diagonal, 2},
		{"half-space upside down", box, geom.Halfspace{}, vec(0, 0, 3), quat.Number{Imag: 1}, 2},
		{"half-space with margin", geom.WithMargin(geom.Halfspace{}, 0.5), ball, vec(0, 0, 2), turned, 0.5},
		{"cone tip on a box", box, geom.Cone{R: 1, HalfLength: 1}, vec(0.25, 0.25, -2), quat.Number{Real: 1}, 0},
		{"cylinder coaxial with itself", geom.Cylinder{R: 1, HalfLength: 2}, geom.Cylinder{R: 1, HalfLength: 2},
			vec(0, 0, 0), quat.Number{Real: 1}, -2},
		{"ellipsoid in its like", geom.Ellipsoid{SemiAxes: vec(3, 2, 1)}, geom.Ellipsoid{SemiAxes: vec(3, 2, 1)},
			vec(0, 0, 0), quat.Number{Real: 1}, -2},
		{"ellipsoids end to end", geom.Ellipsoid{SemiAxes: vec(3, 2, 1)}, geom.Ellipsoid{SemiAxes: vec(2, 3, 1)},
			vec(6, 0, 0), turned, 0},
		{"margins only touch", geom.WithMargin(dot, 0.5), geom.WithMargin(bar, 0.25), vec(0.5, 0.75, 0),
			quat.Number{Real: 1}, 0},
	}
	var ws Workspace
	for _, c := range cases {
		q := placed{a: c.a, b: c.b, pa: geom.IdentityPose(), pb: geom.Pose{Position: c.at, Rotation: c.rot}}
		if err := closeTo(&q, c.want, 0, &ws); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		p := q.pair()
		if r := Solve(&p, Options{}, &ws); c.want == 0 && r.Status != Touching {
			t.Errorf("%s: status %v [%g, %g], want touching", c.name, r.Status, r.Lower, r.Upper)
		}
	}
}

func ellipsoid(axes r3.Vec) geom.Ellipsoid { return geom.Ellipsoid{SemiAxes: axes} }

// poseAt draws a pose within the given distance of the origin.
func poseAt(g *rand.Rand, far float64) geom.Pose {
	return geom.Pose{Position: r3.Scale(far*g.Float64(), testkit.Unit(g)), Rotation: testkit.Rotation(g)}
}

// reach is the support function of a shape about its local origin, by a formula of its own.
func reach(s geom.Shape, n r3.Vec) float64 {
	l := math.Hypot(n.X, n.Y)
	switch s := s.(type) {
	case geom.Sphere:
		return s.R
	case geom.Capsule:
		return s.R + s.HalfLength*math.Abs(n.Z)
	case geom.Cylinder:
		return s.R*l + s.HalfLength*math.Abs(n.Z)
	case geom.Cone:
		return max(s.HalfLength*n.Z, s.R*l-s.HalfLength*n.Z)
	case geom.Frustum:
		return max(s.RTop*l+s.HalfLength*n.Z, s.RBottom*l-s.HalfLength*n.Z)
	case geom.Box:
		return s.HalfExtents.X*math.Abs(n.X) + s.HalfExtents.Y*math.Abs(n.Y) + s.HalfExtents.Z*math.Abs(n.Z)
	case geom.Ellipsoid:
		return math.Hypot(s.SemiAxes.X*n.X, math.Hypot(s.SemiAxes.Y*n.Y, s.SemiAxes.Z*n.Z))
	case geom.Superquadric:
		dual := func(x, y, alpha float64) float64 {
			e := 2 / (2 - alpha)
			return math.Pow(math.Pow(x, e)+math.Pow(y, e), 1/e)
		}
		u := dual(s.SemiAxes.X*math.Abs(n.X), s.SemiAxes.Y*math.Abs(n.Y), s.Alpha2)
		return dual(u, s.SemiAxes.Z*math.Abs(n.Z), s.Alpha1)
	case *geom.Convex:
		h := math.Inf(-1)
		for _, v := range s.Points() {
			h = max(h, r3.Dot(n, v))
		}
		return h
	case geom.Rounded:
		return reach(s.Shape, n) + s.Margin
	}
	panic("no formula")
}

// everyKind draws a shape of every bounded kind.
var everyKind = map[string]func(*rand.Rand) geom.Shape{
	"sphere":   func(g *rand.Rand) geom.Shape { return geom.Sphere{R: logSize(g)} },
	"capsule":  func(g *rand.Rand) geom.Shape { return geom.Capsule{R: logSize(g), HalfLength: logSize(g)} },
	"cylinder": func(g *rand.Rand) geom.Shape { return geom.Cylinder{R: logSize(g), HalfLength: logSize(g)} },
	"cone":     func(g *rand.Rand) geom.Shape { return geom.Cone{R: logSize(g), HalfLength: logSize(g)} },
	"frustum": func(g *rand.Rand) geom.Shape {
		return geom.Frustum{RBottom: logSize(g), RTop: logSize(g), HalfLength: logSize(g)}
	},
	"box":       func(g *rand.Rand) geom.Shape { return geom.Box{HalfExtents: logVec(g)} },
	"ellipsoid": func(g *rand.Rand) geom.Shape { return geom.Ellipsoid{SemiAxes: logVec(g)} },
	"superquadric": func(g *rand.Rand) geom.Shape {
		return geom.Superquadric{SemiAxes: logVec(g), Alpha1: 0.2 + 1.6*g.Float64(), Alpha2: 0.2 + 1.6*g.Float64()}
	},
	"hull": randomHull(20),
	"triangle": func(g *rand.Rand) geom.Shape {
		return mustConvex(randomPoint(g), randomPoint(g), randomPoint(g))
	},
	"rounded cylinder": func(g *rand.Rand) geom.Shape {
		return geom.WithMargin(geom.Cylinder{R: logSize(g), HalfLength: logSize(g)}, 0.2*logSize(g))
	},
}

// TestHalfspaceClosedForm compares every kind against a half-space, in both orders and
// with margins, with z − extent.
func TestHalfspaceClosedForm(t *testing.T) {
	for name, draw := range everyKind {
		t.Run(name, func(t *testing.T) {
			closedForm(t, hash(name), 300, func(g *rand.Rand) (a, b geom.Shape) {
				h := geom.WithMargin(geom.Halfspace{}, float64(g.IntN(2))*g.Float64())
				if g.IntN(2) == 0 {
					return h, draw(g)
				}
				return draw(g), h
			}, func(f *frame) (float64, float64) {
				down := vec(0, 0, -1)
				if f.q.a.Kind() == geom.KindHalfspace {
					return f.fromB(r3.Vec{}).Z - reach(f.q.b, f.dirB(down)) - f.q.a.Radius(), f.slack
				}
				up := rotate(quat.Conj(f.q.pa.Rotation), rotate(f.q.pb.Rotation, vec(0, 0, 1)))
				return f.pointB(r3.Vec{}).Z - reach(f.q.a, r3.Scale(-1, up)) - f.q.b.Radius(), f.slack
			})
		})
	}
}

func TestHalfspacePairIsInvalid(t *testing.T) {
	for _, a := range []geom.Shape{geom.Halfspace{}, geom.WithMargin(geom.Halfspace{}, 1)} {
		for _, o := range []Options{{}, {Boolean: true}, {HasCutOff: true}, {Method: MethodFrankWolfe},
			{MaxIterations: 1}} {
			p := NewPair(a, geom.Halfspace{}, geom.IdentityPose(), geom.Pose{Position: vec(0, 0, 5),
				Rotation: quat.Number{Imag: 1}})
			if r := Solve(&p, o, nil); r.Status != Invalid || !math.IsNaN(r.Distance) {
				t.Errorf("two half-spaces: status %v, distance %g, want invalid and NaN", r.Status, r.Distance)
			}
		}
	}
}

func TestStatusAndMethodNames(t *testing.T) {
	want := []string{"separated", "touching", "penetrating", "undecided", "invalid"}
	for i, name := range want {
		if got := Status(i).String(); got != name {
			t.Errorf("status %d is called %q, want %q", i, got, name)
		}
	}
	if got := Status(99).String(); got != "status(99)" {
		t.Errorf("unknown status is called %q", got)
	}
	seen := map[string]bool{}
	for m := range MethodCount {
		if seen[m.String()] || m.String() == "" {
			t.Errorf("method %d has the name %q of another", m, m)
		}
		seen[m.String()] = true
	}
	if got := MethodCount.String(); got != fmt.Sprintf("method(%d)", MethodCount) {
		t.Errorf("unknown method is called %q", got)
	}
}
