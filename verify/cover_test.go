package verify

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
)

// TestCover compares with depths that are known: of balls, of boxes with parallel axes, and of a half-space.
func TestCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var v cover
	for k := range 300 {
		pa := testkit.Pose(rng, 3)
		pb := pa
		off := r3.Scale(0.3, testkit.Unit(rng))
		pb.Position = r3.Add(pb.Position, off)
		var a, b geom.Shape
		depth := 0.0
		m := pa.Matrix()
		local := m.MulVecT(off)
		switch k % 3 {
		case 0:
			a, b = geom.Sphere{R: 0.4}, geom.Sphere{R: 0.3}
			depth = 0.7 - norm(off)
		case 1:
			x, y := r3.Vec{X: 0.5, Y: 0.6, Z: 0.7}, r3.Vec{X: 0.2, Y: 0.9, Z: 0.4}
			a, b = geom.Box{HalfExtents: x}, geom.Box{HalfExtents: y}
			depth = math.Min(0.7-math.Abs(local.X), math.Min(1.5-math.Abs(local.Y), 1.1-math.Abs(local.Z)))
		case 2:
			a, b = geom.Halfspace{}, geom.Sphere{R: 0.4}
			depth = 0.4 - local.Z
		}
		var p placed
		p.place(a, b, &pa, &pb)
		for _, c := range []struct {
			least float64
			want  proof
		}{
			{depth - 1e-3, proved}, {depth - 1e-13, proved}, {depth + 2e-13, refuted}, {depth + 1e-3, refuted},
		} {
			if got := v.depthAtLeast(&p, c.least); got != c.want {
				t.Fatalf("pair %d of depth %g: %d for %g more, want %d", k, depth, got, c.least-depth, c.want)
			}
		}
	}
}

// TestCoverLimit: what is not proved within the limit is open.
func TestCoverLimit(t *testing.T) {
	pa, pb := geom.IdentityPose(), geom.IdentityPose()
	pb.Position.X = 0.1
	var p placed
	p.place(geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}, geom.Cylinder{R: 1, HalfLength: 1}, &pa, &pb)
	v := cover{limit: 20}
	if got := v.depthAtLeast(&p, 1.9-1e-13); got != unproved {
		t.Errorf("outcome %d within 20 directions, want unproved", got)
	}
	v.limit = 0
	if got := v.depthAtLeast(&p, 1.9-1e-13); got != proved {
		t.Errorf("outcome %d, want proved", got)
	}
}

// TestBestCombination: the value is one of a convex combination, at least that of each point and of their mean, and for
// points on a plane across a direction of the triangle at least that of the point along it.
func TestBestCombination(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 7))
	for range 2000 {
		n := testkit.Unit(rng)
		var c [3]corner
		e := unit(r3.Cross(n, testkit.Unit(rng)))
		f := r3.Cross(n, e)
		h := rng.Float64() - 0.5
		turn := 2 * math.Pi * rng.Float64()
		for i := range c {
			sin, cos := math.Sincos(turn + 2*math.Pi/3*float64(i))
			c[i].n = unit(r3.Add(n, r3.Scale(0.2, r3.Add(r3.Scale(cos, e), r3.Scale(sin, f)))))
			r := 0.1 + rng.Float64() // about the projection of the origin
			c[i].s = r3.Add(r3.Scale(h, n), r3.Scale(r, r3.Add(r3.Scale(cos, e), r3.Scale(sin, f))))
		}
		got := bestCombination(&c, math.Inf(1))
		least := func(s r3.Vec) float64 {
			return math.Min(r3.Dot(c[0].n, s), math.Min(r3.Dot(c[1].n, s), r3.Dot(c[2].n, s)))
		}
		if want := least(r3.Scale(h, n)); got < want-1e-12 {
			t.Fatalf("%g, the point along the normal gives %g", got, want)
		}
		upper := math.Inf(-1)
		for i := range c {
			if got < least(c[i].s)-1e-12 {
				t.Fatalf("%g, less than a single point gives", got)
			}
			upper = math.Max(upper, r3.Dot(c[i].n, c[i].s))
		}
		if got > upper {
			t.Fatalf("%g is more than any combination can give, %g", got, upper)
		}
	}
}

// TestNearestOf: no point of the triangle is closer to the origin, and the point is one of the triangle.
func TestNearestOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 7))
	for k := range 2000 {
		var c [3]r3.Vec
		for i := range c {
			c[i] = r3.Add(r3.Scale(0.7*float64(k%3), testkit.Unit(rng)), testkit.Unit(rng))
		}
		if k%5 == 0 {
			c[2] = c[1]
		}
		at, grid, off := nearestOf(c), math.Inf(1), math.Inf(1)
		for i := range 101 {
			for j := range 101 - i {
				x, y := float64(i)/100, float64(j)/100
				s := r3.Add(r3.Scale(1-x-y, c[0]), r3.Add(r3.Scale(x, c[1]), r3.Scale(y, c[2])))
				grid, off = math.Min(grid, norm(s)), math.Min(off, norm(r3.Sub(s, at)))
			}
		}
		if norm(at) > grid+1e-12 || off > 0.05 {
			t.Fatalf("norm %g, on a grid %g, which is %g off", norm(at), grid, off)
		}
	}
}

// TestCoverOfTouchingCores: where the cores without their balls touch or are separated, the minima may form a circle,
// and one point of D' proves all directions.
func TestCoverOfTouchingCores(t *testing.T) {
	needle, err := geom.NewConvex([]r3.Vec{{X: -1}, {X: 1}, {Y: 1e-6}})
	if err != nil {
		t.Fatal(err)
	}
	pa, pb := geom.IdentityPose(), geom.IdentityPose()
	pb.Position = r3.Vec{X: 0.3, Y: -2e-7, Z: 3e-7}
	var p placed
	p.place(needle, geom.Sphere{R: 0.5}, &pa, &pb)
	depth := 0.5 - math.Hypot(2e-7, 3e-7)
	v := cover{limit: 5000}
	if got := v.depthAtLeast(&p, depth-1e-15); got != proved {
		t.Errorf("outcome %d after %d directions, want proved", got, v.used)
	}
	if got := v.depthAtLeast(&p, depth+1e-12); got != refuted {
		t.Errorf("outcome %d after %d directions, want refuted", got, v.used)
	}
}

// TestMeridian: pairs on one axis are found, and no others.
func TestMeridian(t *testing.T) {
	cone, ball := geom.Cone{R: 1, HalfLength: 1}, geom.Sphere{R: 1}
	flat := geom.Ellipsoid{SemiAxes: r3.Vec{X: 2, Y: 1, Z: 2}}
	for _, c := range []struct {
		a, b geom.Shape
		x, z float64
		want bool
	}{
		{cone, cone, 0, 0, true}, {cone, ball, 0, 1, true}, {ball, ball, 0.3, 0.4, true}, {ball, ball, 0, 0, true},
		{cone, cone, 1e-9, 0, false}, {cone, ball, 1e-12, 0, false}, {cone, flat, 0, 0, false},
		{ball, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}, 0, 0, false},
		{flat, ball, 0, 0, true}, {geom.WithMargin(cone, 0.1), cone, 0, 0.3, true},
	} {
		pa, pb := geom.IdentityPose(), geom.IdentityPose()
		pb.Position = r3.Vec{X: c.x, Z: c.z}
		var p placed
		p.place(c.a, c.b, &pa, &pb)
		axis, across, change, ok := p.meridian()
		if ok != c.want || ok && (math.Abs(r3.Dot(axis, across)) > 1e-15 || math.Abs(norm(axis)-1) > 1e-15 ||
			change > p.rounding) {
			t.Errorf("%v and %v, moved by %g, %g: %v %v %g %t", c.a.Kind(), c.b.Kind(), c.x, c.z, axis, across, change,
				ok)
		}
	}
}

// Needles and plates that just touch, with the normals and the witnesses that the kernels found: the triangle on the
// ray is some 1e8 times as long as wide. The search must come within the gap that was claimed, 3e-11.
func TestFacetOfNeedles(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 1e-3, Y: 1e-3, Z: 1}}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1e-4}},
		geom.Capsule{R: 1e-4, HalfLength: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	vec := func(x, y, z float64) r3.Vec { return r3.Vec{X: x, Y: y, Z: z} }
	for i, c := range []struct {
		a, b         int32
		from, to     r3.Vec // positions; no rotations
		n            r3.Vec
		point, other r3.Vec // witnesses
	}{
		{0, 1, vec(-0.13806334266379228, -4.725581768240565, -4.4498125121396495),
			vec(0.008662488679330808, -5.725583217385436, -3.4497135621506274),
			vec(5.354249666226382e-12, -0.8230936323884108, 0.5679056896366259),
			vec(-0.13806334266379197, -4.7255832173809615, -3.449813562155103),
			vec(-0.1380633426703249, -4.725583217385436, -3.449813562150627)},
		{1, 2, vec(-2.619818409452239, -4.364621615100523, -0.9029991019870991),
			vec(-1.6198156257689034, -3.364531658160229, -0.24953775755551277),
			vec(0.12094561515974431, 0.992659134936878, -7.079698944451086e-12),
			vec(-1.6198184094522392, -3.364621615100523, -0.9029337617784071),
			vec(-1.6198277179024712, -3.364630924362201, -0.9029398444754698)},
		{1, 2, vec(-1.6900670656284724, 1.7350176627000682, 0.03877452950177229),
			vec(-0.6899843897256006, 0.7349614070773764, -0.2688413348770806),
			vec(0.8268113143430781, -0.5624793778213312, 1.4152257916268542e-16),
			vec(-0.6900670656284722, 0.735017662700068, 0.03867452950177229),
			vec(-0.6900670656141232, 0.7350176626857194, 0.03867452949623368)},
	} {
		a, b := geom.Translate(c.from.X, c.from.Y, c.from.Z), geom.Translate(c.to.X, c.to.Y, c.to.Z)
		var p placed
		var g grown
		p.place(lib.Shape(c.a), lib.Shape(c.b), &a, &b)
		p.placeGrowth(&g, lib, c.a, c.b)
		lower, _ := p.lowerBound(&g, unit(c.n), 0)
		witness := r3.Sub(r3.Sub(c.point, c.from), r3.Sub(c.other, c.to))
		if bound := p.facetBound(&g, unit(c.n), witness, 0, 0); !(bound-lower <= 3e-11) || bound < lower {
			t.Errorf("pair %d: bounds %.17g and %.17g, %.2g from one another", i, lower, bound, bound-lower)
		}
	}
}
