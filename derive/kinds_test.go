package derive

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestEveryKind takes a shape of every kind of package geom through every switch over kinds, which panic for one that
// they lack.
func TestEveryKind(t *testing.T) {
	tested := map[geom.Kind]bool{}
	rng := rand.New(rand.NewPCG(2, 5))
	var w Workspace
	for name, shape := range shapesOfTest(t) {
		tested[shape.Kind()] = true
		s := place(shape, testkit.Pose(rng, 1), r3.Vec{}, r3.Vec{})
		d := testkit.Unit(rng)
		if shape.Kind() == geom.KindHalfspace {
			d = column(&s.rot, 2)
		}
		e := tangentBasis(d)
		if f := w.at(&s, d, r3.Vec{}, 1e-9, &e); !f.ok {
			t.Errorf("%s: no feature", name)
		}
		for _, mode := range []Mode{Gumbel, Gaussian} {
			f := feature{}
			if !w.smoothed(&f, &s, d, &Options{Mode: mode}, 0, 0, 1, &e) || !(f.h[0]+f.h[2] < math.Inf(1)) {
				t.Errorf("%s: no Hessian of mode %v", name, mode)
			}
		}
		if shape.Kind() == geom.KindHalfspace {
			continue
		}
	}
	for k := range geom.KindCount {
		if !tested[k] {
			t.Errorf("shapesOfTest has no shape of the kind %v, and no derivatives of it are tested", k)
		}
	}
}
