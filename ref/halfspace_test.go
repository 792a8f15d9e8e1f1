package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

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
