package verify

import (
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

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
