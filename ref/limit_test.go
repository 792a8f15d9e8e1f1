package ref

import (
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

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
