package ref

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

// Spheres about centers of their own: the factor solves |p − αq| = αR. The formula and the simplex method
// both enclose it.
func TestGrowthSpheres(t *testing.T) {
	g := rand.New(rand.NewPCG(301, 1))
	for range 2000 {
		a, b := geom.Sphere{R: logSize(g)}, geom.Sphere{R: logSize(g)}
		c := GrowthCenters{A: r3.Scale(0.9*a.R*g.Float64(), testkit.Unit(g)),
			B: r3.Scale(0.9*b.R*g.Float64(), testkit.Unit(g))}
		c.InradiusA, c.InradiusB = a.R-r3.Norm(c.A), b.R-r3.Norm(c.B)
		q := scatter(g, a, b, 1+g.IntN(6))
		p := q.pair()
		f := q.frame()
		ray := r3.Sub(f.fromB(c.B), c.A)
		off := r3.Sub(r3.Scale(-1, c.A), r3.Sub(f.fromB(r3.Vec{}), f.fromB(c.B)))
		for _, o := range []GrowthOptions{{}, {Method: GrowthSimplex}} {
			r := Growth(&p, c, o, nil)
			apart := func(alpha float64) float64 {
				return r3.Norm(r3.Sub(ray, r3.Scale(alpha, off))) - alpha*(a.R+b.R)
			}
			slack := f.slack * (1 + r.Distance)
			if !(apart(r.Lower) >= -slack && apart(r.Upper) <= slack) || !(r.Upper-r.Lower <= 1e-10*max(1, r.Upper)) {
				t.Fatalf("%v: bounds [%g, %g], distances of the scaled spheres %g and %g\n%s", o.Method, r.Lower,
					r.Upper, apart(r.Lower), apart(r.Upper), q.describe())
			}
		}
	}
}

// A bounded shape of every kind against a half-space, in both orders: v/h along the normal of the plane.
func TestGrowthHalfspace(t *testing.T) {
	for name, draw := range everyKind {
		if name == "triangle" { // flat: invalid
			continue
		}
		g := rand.New(rand.NewPCG(302, hash(name)))
		for i := range 200 {
			s, h := draw(g), geom.WithMargin(geom.Halfspace{}, float64(i%2)*logSize(g))
			c := GrowthCenters{A: s.Center(), InradiusA: s.Inradius()}
			q := scatter(g, s, h, i)
			f := q.frame()
			m := r3.Scale(-1, f.normalOfB())
			v := -r3.Dot(m, r3.Sub(c.A, f.fromB(r3.Vec{}))) - h.Radius()
			reach := r3.Dot(m, r3.Sub(geom.Support(s, m), c.A))
			p := q.pair()
			got := [2]Result{Growth(&p, c, GrowthOptions{}, nil)}
			swapped := NewPair(h, s, q.pb, q.pa)
			got[1] = Growth(&swapped, GrowthCenters{B: c.A, InradiusB: c.InradiusA}, GrowthOptions{}, nil)
			for _, r := range got {
				slack := 2 * f.slack * (1 + r.Distance)
				if !(r.Lower*reach-slack <= max(v, 0) && max(v, 0) <= r.Upper*reach+slack) {
					t.Fatalf("%s: bounds [%g, %g], %g/%g expected: %+v\n%s", name, r.Lower, r.Upper, v, reach, r,
						q.describe())
				}
				if v > reach+slack && r.Status != Separated || v < reach-slack && r.Status != Penetrating {
					t.Fatalf("%s: status %v at %g/%g\n%s", name, r.Status, v, reach, q.describe())
				}
			}
			other := placed{a: h, b: s, pa: q.pb, pb: q.pa}
			err := errors.Join(checkMeeting(&q, c, &got[0]),
				checkMeeting(&other, GrowthCenters{B: c.A}, &got[1]))
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, q.describe())
			}
		}
	}
}

// checkMeeting checks the witnesses of a bounded shape about its center and of a half-space, in either order: the one
// of the shape lies in it and, scaled, is the common point, which is the one of the half-space and lies on its
// plane, or inside if the center does.
func checkMeeting(q *placed, c GrowthCenters, r *Result) error {
	f, p := q.frame(), q.pair()
	slack := 4 * f.slack * (1 + r.Distance)
	center, inShape, inSpace := c.A, r.WitnessA, r.WitnessB
	outShape, outSpace := q.a.Residual(r.WitnessA), q.b.Residual(f.pointB(r.WitnessB))
	if unbounded(q.a) {
		center, inShape, inSpace = f.fromB(c.B), r.WitnessB, r.WitnessA
		outShape, outSpace = q.b.Residual(f.pointB(r.WitnessB)), q.a.Residual(r.WitnessA)
	}
	if !(outShape <= slack) || !(outSpace <= slack) || r.Distance > 0 && !(outSpace >= -slack) {
		return fmt.Errorf("the witnesses lie %g outside the shape, %g outside the half-space", outShape, outSpace)
	}
	x := p.GrowthPoint(c, r)
	scaled := r3.Add(center, r3.Scale(r.Distance, r3.Sub(inShape, center)))
	if !(r3.Norm(r3.Sub(x, scaled)) <= slack) || !(r3.Norm(r3.Sub(x, inSpace)) <= slack) {
		return fmt.Errorf("common point %v, scaled witness %v, witness of the half-space %v", x, scaled, inSpace)
	}
	return nil
}

// normalOfB is the outward normal of B, a half-space, in the frame of A.
func (f *frame) normalOfB() r3.Vec { return r3.Sub(f.fromB(vec(0, 0, 1)), f.fromB(r3.Vec{})) }

// Two half-spaces, two flat shapes, and a flat shape and a half-space have no growth distance.
func TestGrowthInvalid(t *testing.T) {
	flat := mustConvex(vec(0, 0, 0), vec(1, 0, 0), vec(0, 1, 0))
	for _, pair := range [][2]geom.Shape{{geom.Halfspace{}, geom.Halfspace{}}, {flat, flat},
		{flat, geom.Halfspace{}}, {geom.Halfspace{}, flat}} {
		p := NewPair(pair[0], pair[1], geom.IdentityPose(), geom.Translate(1, 2, 3))
		r := Growth(&p, GrowthCenters{A: pair[0].Center(), B: pair[1].Center()}, GrowthOptions{}, nil)
		if r.Status != Invalid || !math.IsNaN(r.Distance) {
			t.Errorf("%v and %v: %+v", pair[0].Kind(), pair[1].Kind(), r)
		}
	}
}

// TestGrowthThin: plates and needles, of which the bound by the inradius proves no gap of 1e-12, have one by the
// triangle that the ray meets, and it contains the factor of exact arithmetic. For a quarter of them the rounding is
// more than that beside the thickness along the ray.
func TestGrowthThin(t *testing.T) {
	g := rand.New(rand.NewPCG(343, 1))
	var ws Workspace
	n, narrow, wide := 400, 0, 0
	for range n {
		thin := func() geom.Box {
			h := r3.Vec{X: 1e-3 * (1 + g.Float64()), Y: 1e-3 * (1 + g.Float64()), Z: 0.5 + g.Float64()}
			if g.IntN(2) == 0 {
				h.Y = 0.5 + g.Float64()
			}
			return geom.Box{HalfExtents: h}
		}
		a, b := thin(), thin()
		c := centersOf(a, b)
		pa := geom.Pose{Position: testkit.Unit(g), Rotation: testkit.Rotation(g)}
		pb := geom.Pose{Position: r3.Scale(1+g.Float64(), testkit.Unit(g)), Rotation: testkit.Rotation(g)}
		p := NewPair(a, b, pa, pb)
		for _, m := range []GrowthMethod{GrowthAuto, GrowthSimplex} {
			r := Growth(&p, c, GrowthOptions{Method: m}, &ws)
			exact := exactBoxes(a, b, &c, pa.Position, pb.Position, pa.Rotation, pb.Rotation)
			if bigOp((*big.Float).Sub, exact, newBig(r.Lower)).Sign() < 0 ||
				bigOp((*big.Float).Sub, newBig(r.Upper), exact).Sign() < 0 {
				t.Fatalf("%v: the factor %v lies outside [%.17g, %.17g]", m, exact, r.Lower, r.Upper)
			}
			scale := max(1, r.Distance)
			if r.Upper-r.Lower <= 1e-12*scale {
				narrow++
			}
			if p.GrowthRoundoff(c, r.Distance) > 2e-12*scale {
				wide++
			}
		}
	}
	t.Logf("of %d bounds %d are within 1e-12; by the inradius %d are not", 2*n, narrow, wide)
	if narrow < 2*n*7/10 || wide < 2*n*9/10 {
		t.Errorf("of %d bounds %d are within 1e-12; by the inradius %d are not", 2*n, narrow, wide)
	}
}

// TestGrowthMirror: pairs with a mirror plane, in which the ray lies and the support points of many directions, are
// decided in every frame of the world: rounding does not choose a triangle without an area.
func TestGrowthMirror(t *testing.T) {
	cone, plate := geom.Cone{R: 0.6, HalfLength: 0.7}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 0.01}}
	tetrahedron, err := geom.NewConvex([]r3.Vec{{X: 1, Y: 1, Z: 1}, {X: 1, Y: -1, Z: -1}, {X: -1, Y: 1, Z: -1},
		{X: -1, Y: -1, Z: 1}})
	if err != nil {
		t.Fatal(err)
	}
	frustum := geom.Frustum{RBottom: 0.8, RTop: 0.4, HalfLength: 0.5}
	rng := rand.New(rand.NewPCG(46, 1))
	var ws Workspace
	for _, c := range []struct {
		a, b geom.Shape
		at   geom.Pose
	}{
		{cone, plate, geom.Translate(3, 3, 0)},
		{cone, plate, geom.Translate(0.25, 0.25, 0)},
		{plate, cone, geom.Translate(3, 3, 0)},
		{tetrahedron, cone, geom.Translate(2, 2, 2).Compose(geom.Rotate(r3.Vec{Z: 1}, math.Pi/4))},
		{frustum, plate, geom.Translate(1.5, 1.5, 0)},
		{frustum, tetrahedron, geom.Translate(1, 1, 0)},
	} {
		centers := centersOf(c.a, c.b)
		var first float64
		for k := range 200 {
			frame := testkit.Pose(rng, 1)
			p := NewPair(c.a, c.b, frame, frame.Compose(c.at))
			r := Growth(&p, centers, GrowthOptions{}, &ws)
			if k == 0 {
				first = r.Distance
			}
			if r.Status > Penetrating || !(math.Abs(r.Distance-first) <= 1e-9*first) {
				t.Errorf("%v and %v at %v: %v, factor %g in [%g, %g], in another frame %g", c.a.Kind(), c.b.Kind(),
					c.at.Position, r.Status, r.Distance, r.Lower, r.Upper, first)
				break
			}
		}
	}
}
