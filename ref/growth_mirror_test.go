package ref

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

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
