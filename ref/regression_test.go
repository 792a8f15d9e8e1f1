package ref

import (
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// The pairs of this file once came out wrong, each alone among many thousands.

var needleTriangle = []r3.Vec{{}, {X: 1}, {X: 0.5, Y: 1e-7}}

// TestKissingNeedle has a contact of a plate and a needle that a plane proves no deeper
// than 1.2e-17: rounding must not make it a penetration.
func TestKissingNeedle(t *testing.T) {
	q := placed{a: geom.Cylinder{R: 1, HalfLength: 1e-4}, b: mustConvex(needleTriangle...),
		pa: geom.Pose{Rotation: quat.Number{Imag: 1}},
		pb: geom.Pose{Position: r3.Vec{X: 0.9533419769065472, Y: 0.3018924892533781, Z: 9.999999999998899e-05},
			Rotation: quat.Number{Real: -1.1168781062255368e-11, Imag: 1, Jmag: -1.1533184376473735e-12,
				Kmag: 2.3763235394896276e-12}}}
	p := q.pair()
	for _, o := range []Options{{Boolean: true}, {}, {Tolerance: 1e-6}} {
		r := Solve(&p, o, nil)
		if err := certify(&q, &o, &r); err != nil {
			t.Errorf("%+v: %v: %v", o.Boolean, r.Status, err)
		}
	}
}

// TestNeedlesAreDecided sets needles and parallel segments against flat shapes, at the
// default tolerance.
func TestNeedlesAreDecided(t *testing.T) {
	ring := adversarialShapes()[36]
	for name, q := range map[string]placed{
		"point": {a: mustConvex(vec(0.1, 0.2, 0.3)), b: mustConvex(needleTriangle...),
			pa: geom.Pose{Rotation: quat.Number{Real: 0.6697764210771472, Imag: 0.6294079082644356,
				Jmag: 0.34485807561139115, Kmag: 0.19057318402357604}},
			pb: geom.Pose{Position: vec(0.00681201765289538, -0.5492348721996556, 0.6325613561734011),
				Rotation: quat.Number{Real: -0.7522790922319399, Imag: -0.3897351139989932, Jmag: -0.5125137118156118,
					Kmag: -0.13968680505997852}}},
		"parallel segments": {a: mustConvex(vec(-0.5, 0, 0), vec(0.5, 0.1, 0)),
			b:  mustConvex(vec(-0.5, 0, 0), vec(0.5, 0.1, 0)),
			pa: geom.Pose{Rotation: quat.Number{Real: 0.7071067811865476, Jmag: -0.7071067811865476}},
			pb: geom.Pose{Position: vec(1.7050805212193154e-12, -0.021200136907440714, -0.212001369178079),
				Rotation: quat.Number{Real: 0.7071067811905696, Imag: -3.902399383067646e-11, Jmag: -0.7071067811825253,
					Kmag: -1.3381171044765332e-11}}},
		"flat ring": {a: ring, b: mustConvex(needleTriangle...),
			pa: geom.Pose{Rotation: quat.Number{Imag: 1}},
			pb: geom.Pose{Position: vec(1.0000000189099516, -0.09454975812696959, 0),
				Rotation: quat.Number{Real: 0.7071067811865476, Jmag: 0.7071067811865476}}},
	} {
		p := q.pair()
		r := Solve(&p, Options{}, nil)
		if err := certify(&q, &Options{}, &r); err != nil || r.Status == Undecided {
			t.Errorf("%s: %v [%g, %g] %v", name, r.Status, r.Lower, r.Upper, err)
		}
	}
}

// TestHugeWarmStart begins with directions whose square is beyond float64.
func TestHugeWarmStart(t *testing.T) {
	q := placed{a: geom.Capsule{R: 0.3393053899371961, HalfLength: 0.1691386940788881},
		b: geom.Ellipsoid{SemiAxes: vec(0.36098655590339784, 0.3654741304095629, 0.1498771737495693)},
		pa: geom.Pose{Position: vec(0.663135912922363, 0.3583236083756841, 0.18000450064180906),
			Rotation: quat.Number{Real: 0.38120545710119813, Imag: -0.07618420512571349, Jmag: 0.28519838273471754,
				Kmag: -0.876093744328272}},
		pb: geom.Pose{Position: vec(-0.025629939508100885, 0.13649944693061683, -0.004734219312186667),
			Rotation: quat.Number{Real: -0.6390486680357582, Imag: -0.525085131587355, Jmag: -0.5525500177104079,
				Kmag: 0.10291201288402256}}}
	p := q.pair()
	full := Solve(&p, Options{}, nil)
	for _, d := range []r3.Vec{{X: 8.505800760405256e+199, Y: -1.304758539741781e+199, Z: -5.094012031518994e+199},
		{Y: 1e308, X: 1e308}} {
		for m := range MethodFrankWolfe {
			for _, boolean := range []bool{false, true} {
				o := Options{WarmStart: d, Method: m, Boolean: boolean}
				r := Solve(&p, o, nil)
				if err := agree(&full, &r, 0); err != nil {
					t.Errorf("%v %v: %v, %v", d, m, r.Status, err)
				}
			}
		}
	}
}

// TestBooleanDeepInside asks the Boolean question of shapes deep in one another.
func TestBooleanDeepInside(t *testing.T) {
	for _, q := range []placed{
		{a: geom.Box{HalfExtents: vec(1e4, 1e4, 1e4)}, b: geom.Box{HalfExtents: vec(1e-4, 1e-4, 1e-4)},
			pa: geom.Pose{Rotation: quat.Number{Imag: 1}},
			pb: geom.Pose{Rotation: quat.Number{Real: 6.796611518348684e-12, Imag: 1, Jmag: -2.383551250725345e-12,
				Kmag: -8.836375483312352e-13}}},
		{a: geom.Frustum{RBottom: 0.4, RTop: 0.2, HalfLength: 0.3}, b: mustConvex(vec(0.1, 0.2, 0.3)),
			pa: geom.IdentityPose(), pb: geom.Pose{Position: vec(-0.1, -0.2, -0.3), Rotation: quat.Number{Real: 1}}},
	} {
		p := q.pair()
		if r := Solve(&p, Options{Boolean: true}, nil); r.Status != Penetrating {
			t.Errorf("%v [%g, %g]: %s", r.Status, r.Lower, r.Upper, q.describe())
		}
	}
}

// TestCappedMomentum caps accelerated methods at the first step: they still report a
// finite bound.
func TestCappedMomentum(t *testing.T) {
	a, b := geom.Box{HalfExtents: vec(1, 1, 1)}, geom.Box{HalfExtents: vec(1, 1, 1)}
	p := NewPair(a, b, geom.IdentityPose(), geom.Pose{Position: vec(4, 1, 0.5), Rotation: quat.Number{Real: 1}})
	for _, m := range []Method{MethodNesterov, MethodPolyak} {
		if r := Solve(&p, Options{Method: m, MaxIterations: 1}, nil); r.Lower < -1e9 {
			t.Errorf("%v: %v [%g, %g]", m, r.Status, r.Lower, r.Upper)
		}
	}
}

// TestPlateOnSquare overlaps a plate and a square by 4e-12.
func TestPlateOnSquare(t *testing.T) {
	q := placed{a: geom.Cylinder{R: 1, HalfLength: 1e-4}, b: mustConvex(vec(-1, -1, 0), vec(1, -1, 0), vec(1, 1, 0),
		vec(-1, 1, 0)),
		pa: geom.Pose{Rotation: quat.Number{Real: -0.19183811263197814, Imag: 0.033875985977225846,
			Jmag: 0.5413233076574527, Kmag: 0.8179362033206906}},
		pb: geom.Pose{Position: vec(1.2578748495412482, -0.2937054701187597, -1.637000115007846),
			Rotation: quat.Number{Real: 0.32543862427504294, Imag: -0.9395208162158225, Jmag: 0.006964418338051874,
				Kmag: 0.10649804976775368}}}
	p := q.pair()
	o := Options{Tolerance: 1e-6 * p.Size()}
	for _, o := range []Options{o, {}} {
		r := Solve(&p, o, nil)
		if err := certify(&q, &o, &r); err != nil {
			t.Errorf("%v [%g, %g]: %v", r.Status, r.Lower, r.Upper, err)
		}
	}
}

// TestConeOnPlate has the rim of a cone touch a plate: GJK ends within rounding of the origin, and a polytope
// came no nearer than 5e-12 in 200,000 steps.
func TestConeOnPlate(t *testing.T) {
	same := quat.Number{Real: -0.16248541796828633, Imag: -0.7909684301104598, Jmag: 0.42591638323406683,
		Kmag: -0.4081208963151453}
	q := placed{a: geom.Box{HalfExtents: vec(1, 1, 1e-4)}, b: geom.Cone{R: 1, HalfLength: 1e-3},
		pa: unitPose(t, vec(3.483671491362518, 3.532354109544194, 1.3488999349890465), same),
		pb: unitPose(t, vec(5.3081704620644015, 3.4698826935420426, 2.9156260705378068), same)}
	p := q.pair()
	for _, o := range []Options{{Boolean: true}, {}, {Tolerance: 1e-6}} {
		r := Solve(&p, o, nil)
		if err := certify(&q, &o, &r); err != nil || r.Status == Undecided || r.Iterations > 1000 {
			t.Errorf("Boolean %v: %v [%g, %g] in %d steps: %v", o.Boolean, r.Status, r.Lower, r.Upper, r.Iterations,
				err)
		}
	}
}

// TestTouchingIsAVerdict has a corner of a tiny box touch a huge one: a Boolean answer that neither a plane nor
// the polytope gives needs the witnesses to belong to the plane.
func TestTouchingIsAVerdict(t *testing.T) {
	q := placed{a: geom.Box{HalfExtents: vec(1e-4, 5e-5, 7e-5)}, b: geom.Box{HalfExtents: vec(1e4, 5e3, 7e3)},
		pa: unitPose(t, vec(0.9099385321460414, 0.7414817677530063, -2.7208124604895345),
			quat.Number{Real: -0.5940642760058095, Imag: -0.5597734133924593, Jmag: 0.19890638414395242,
				Kmag: -0.5423814266541829}),
		pb: unitPose(t, vec(4606.43623875963, -4780.122361312075, -9000.991166532795),
			quat.Number{Real: 0.6235168591427589, Imag: -0.3839578327114835, Jmag: 0.63312035704272,
				Kmag: 0.25092174589371186})}
	p := q.pair()
	for _, o := range []Options{{Boolean: true}, {}} {
		if r := Solve(&p, o, nil); r.Status != Touching {
			t.Errorf("Boolean %v: %v [%g, %g]", o.Boolean, r.Status, r.Lower, r.Upper)
		}
	}
}

func unitPose(t *testing.T, at r3.Vec, q quat.Number) geom.Pose {
	t.Helper()
	p, err := (geom.Pose{Position: at, Rotation: q}).Normalized()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

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
