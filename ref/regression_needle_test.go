package ref

import (
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
)

// TestPointOnAnEdgeOfANeedle: a point touches the long edge of a triangle that is 1e-6 wide. Three pairs of many
// million that were undecided: the closest point of the triangle had an error of rounding over that width.
func TestPointOnAnEdgeOfANeedle(t *testing.T) {
	point, needle := mustConvex(vec(0.1, -0.2, 0.3)), mustConvex(vec(-1, 0, 0), vec(1, 0, 0), vec(0, 1e-6, 0))
	for i, poses := range [][2]geom.Pose{
		{{Position: vec(-1.4940555407442127, -3.439897351169612, 3.607999565287975),
			Rotation: quat.Number{Real: -0.27624946548283597, Imag: 0.44628617501890083, Jmag: 0.06844317959764391,
				Kmag: -0.8484282020147673}},
			{Position: vec(-1.6170946878147252, -3.1621821562716317, 3.4794822327331767),
				Rotation: quat.Number{Real: 0.5346272484226626, Imag: 0.29983374008281755, Jmag: -0.7105853942133059,
					Kmag: 0.3454588703198726}}},
		{{Position: vec(1.3567338431469163, 0.9175483517057372, 4.311894406192591),
			Rotation: quat.Number{Real: -0.7015108852459572, Imag: 0.5895797557519771, Jmag: -0.2826233115398778,
				Kmag: 0.28355291087045065}},
			{Position: vec(2.4513832318260063, 1.0305534605176259, 4.511306330977439),
				Rotation: quat.Number{Real: -0.4450914093903414, Imag: 0.8951803411789885, Jmag: -0.001501351507052247,
					Kmag: -0.023313944266080078}}},
		{{Position: vec(-4.525637612659618, 3.958534452398737, 3.9958004036729973),
			Rotation: quat.Number{Real: 0.8775162886621036, Imag: 0.4323807748988844, Jmag: 0.2036118814380925,
				Kmag: 0.039423728486380906}},
			{Position: vec(-3.844642284475335, 3.787006368277747, 4.553810425173879),
				Rotation: quat.Number{Real: -0.27337293499354454, Imag: 0.32889907821929115, Jmag: -0.7341005013054768,
					Kmag: -0.5274363361985628}}},
	} {
		for _, swap := range []bool{false, true} {
			q := placed{a: point, b: needle, pa: poses[0], pb: poses[1]}
			if swap {
				q = placed{a: needle, b: point, pa: poses[1], pb: poses[0]}
			}
			q.pa, q.pb = normalized(q.pa), normalized(q.pb)
			p := q.pair()
			for m := range MethodCount {
				o := Options{Method: m}
				r := Solve(&p, o, nil)
				if err := certify(&q, &o, &r); err != nil || r.Status == Undecided && m != MethodFrankWolfe {
					t.Errorf("pair %d, %v: %v [%g, %g]: %v", i, m, r.Status, r.Lower, r.Upper, err)
				}
			}
		}
	}
}

func normalized(p geom.Pose) geom.Pose {
	p, _ = p.Normalized()
	return p
}
