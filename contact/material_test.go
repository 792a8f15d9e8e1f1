package contact

import (
	"math"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// twoCubes are cubes 5 m apart on a half-space.
func twoCubes(t *testing.T, z float64) (*Scene, *State) {
	scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: cube}, geom.Box{HalfExtents: cube}},
		[]r3.Vec{cube, cube}, 1, 0.5, 0)
	return scene, stateOf(1, []geom.Pose{geom.IdentityPose(), geom.Translate(0, 0, z), geom.Translate(0, 5, z)})
}

// TestMaterialsOfPairs: sliding cubes are braked by the friction of their own pair with the ground, which depends on
// bodies, parts, entries for pairs and the rule.
func TestMaterialsOfPairs(t *testing.T) {
	const dt, v0, steps = 1e-3, 2.0, 50
	for _, c := range []struct {
		name          string
		change        func(s *Scene)
		first, second float64
	}{
		{"bodies", func(s *Scene) { s.Friction = []float64{0.4, 0.1, 0.9} }, 0.2, 0.6},
		{"mean", func(s *Scene) { s.Friction, s.FrictionRule = []float64{0.4, 0.2, 0.8}, Mean }, 0.3, 0.6},
		{"minimum", func(s *Scene) { s.Friction, s.FrictionRule = []float64{0.4, 0.2, 0.8}, Minimum }, 0.2, 0.4},
		{"maximum", func(s *Scene) { s.Friction, s.FrictionRule = []float64{0.4, 0.2, 0.8}, Maximum }, 0.4, 0.8},
		{"product", func(s *Scene) { s.Friction, s.FrictionRule = []float64{0.5, 0.2, 0.8}, Product }, 0.1, 0.4},
		{"part", func(s *Scene) { s.PartFriction = []PartValue{{2, 0, 0.02}} }, 0.5, 0.1},
		{"pair", func(s *Scene) { s.PairFriction = []PairValue{{2, AllParts, 0, 0, 0.25}} }, 0.5, 0.25},
		{"the last entry", func(s *Scene) {
			s.PairFriction = []PairValue{{2, 0, 0, 0, 0.25}, {0, AllParts, 2, AllParts, 0.3}}
			s.PartFriction = []PartValue{{1, 0, 0.02}}
		}, 0.1, 0.3},
	} {
		t.Run(c.name, func(t *testing.T) {
			scene, state := twoCubes(t, 0.1)
			state.Velocity[3], state.Velocity[6] = v0, v0
			c.change(scene)
			s := simulation(t, scene, state, StepOptions{TimeStep: dt, Gravity: down,
				Solve: Options{Tolerance: 1e-10}})
			run(t, s, steps, nil)
			for i, mu := range []float64{c.first, c.second} {
				if got, want := s.State().Velocity[3+3*i], v0-mu*9.81*dt*steps; math.Abs(got-want) > 1e-7 {
					t.Errorf("cube %d at %.9g m/s, want %.9g by a friction of %g", i, got, want, mu)
				}
			}
		})
	}
}

// TestRestitutionOfPairs: a ball without restitution does not bounce whatever others do, and the rules combine.
func TestRestitutionOfPairs(t *testing.T) {
	for _, c := range []struct {
		name                          string
		rule                          Rule
		ground, second, first, bounce float64
		pairs                         []PairValue
	}{
		{"maximum", Standard, 0, 0.9, 0, 0.9, nil},
		{"minimum", Minimum, 0.5, 0.9, 0, 0.5, nil},
		{"mean", Mean, 0.4, 0.8, 0.2, 0.6, nil},
		{"product", Product, 0.5, 0.8, 0, 0.4, nil},
		{"pair", Standard, 0.9, 0.9, 0, 0.25, []PairValue{{1, 0, 0, 0, 0}, {0, 0, 2, 0, 0.25}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ball := geom.Sphere{R: 0.1}
			scene := testScene(t, []geom.Shape{ball, ball}, []r3.Vec{cube, cube}, 1, 0, 0)
			scene.Restitution = []float64{c.ground, 0, c.second}
			scene.RestitutionRule, scene.PairRestitution = c.rule, c.pairs
			state := stateOf(1, []geom.Pose{geom.IdentityPose(), geom.Translate(0, 0, 0.1005),
				geom.Translate(5, 0, 0.1005)})
			state.Velocity[5], state.Velocity[8] = -1, -1
			s := simulation(t, scene, state, StepOptions{TimeStep: 1e-3, Solve: Options{Tolerance: 1e-10}})
			run(t, s, 2, nil)
			for i, e := range []float64{c.first, c.bounce} {
				if v := s.State().Velocity[5+3*i]; math.Abs(v-e) > 1e-6 {
					t.Errorf("ball %d leaves at %.9g m/s, want %g", i, v, e)
				}
			}
		})
	}
}

// TestMaterialFaults: bad values are refused by the names of body, part and column.
func TestMaterialFaults(t *testing.T) {
	nan := math.NaN()
	for want, change := range map[string]func(s *Scene){
		"body 1: friction: NaN":    func(s *Scene) { s.Friction[1] = nan },
		"body 2: friction: -1":     func(s *Scene) { s.Friction[2] = -1 },
		"body 0: restitution: 1.5": func(s *Scene) { s.Restitution[0] = 1.5 },
		"body 1: part 0: friction: +Inf": func(s *Scene) {
			s.PartFriction = []PartValue{{1, 0,
				math.Inf(1)}}
		},
		"body 1: part 0: restitution: NaN": func(s *Scene) {
			s.PartRestitution = []PartValue{{1, 0,
				nan}}
		},
		"friction of parts: entry 0: body 1: part 1": func(s *Scene) { s.PartFriction = []PartValue{{1, 1, 0}} },
		"friction of parts: entry 0 has no part": func(s *Scene) {
			s.PartFriction = []PartValue{{1, AllParts,
				0}}
		},
		"restitution of pairs: entry 0: body 3": func(s *Scene) {
			s.PairRestitution = []PairValue{{1, 0, 3, 0,
				0}}
		},
		"friction of pairs: entry 0: body 1 and itself": func(s *Scene) {
			s.PairFriction = []PairValue{{1, 0, 1, 0,
				0}}
		},
		"body 1: pair with body 2: restitution: -0.1": func(s *Scene) {
			s.PairRestitution = []PairValue{{1, 0, 2, 0,
				-0.1}}
		},
		"friction: unknown rule(9), want one of [standard geometric_mean": func(s *Scene) { s.FrictionRule = 9 },
		"bodies 0 and 1: friction: +Inf": func(s *Scene) {
			s.Friction[0], s.Friction[1], s.FrictionRule = 1e200, 1e200, Product
		},
	} {
		scene, state := twoCubes(t, 0.1)
		change(scene)
		if _, err := NewSimulation(scene, state, undecided{}, StepOptions{TimeStep: 1e-3}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if r, err := Rules.Parse("product"); r != Product || err != nil {
		t.Errorf("product: %v, %v", r, err)
	}
	if _, err := Rules.Parse("sum"); err == nil {
		t.Error("sum is a rule")
	}
}

// TestMaterialsOfParts: a body of two boxes with different friction is braked by the part that carries it.
func TestMaterialsOfParts(t *testing.T) {
	for _, up := range []float64{0, math.Pi} { // the part of 0.1 below, or that of 0.6
		lib, err := batch.NewLibrary([]geom.Shape{geom.Halfspace{}, geom.Box{HalfExtents: cube}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		bodies, err := batch.NewBodies(lib, []batch.Body{
			{Parts: []batch.Part{{Shape: 0, Pose: geom.IdentityPose()}}},
			{Parts: []batch.Part{{Shape: 1, Pose: geom.Translate(0, 0, -0.1)}, {Shape: 1, Pose: geom.Translate(0, 0,
				0.1)}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		slippery, rough, mass, ground := 0.1, 0.6, 1.0, 0.3
		scene, err := NewScene(bodies, []int32{0, 1}, []batch.Physics{{Friction: &ground}, {Mass: &mass,
			Parts: []batch.PartPhysics{{Friction: &slippery}, {Friction: &rough}}}}, batch.Physics{})
		if err != nil {
			t.Fatal(err)
		}
		scene.FrictionRule = Minimum
		pose := geom.Translate(0, 0, 0.2)
		pose.Rotation = quat.Number{Real: math.Cos(up / 2), Imag: math.Sin(up / 2)}
		state := stateOf(1, []geom.Pose{geom.IdentityPose(), pose})
		state.Velocity[3] = 1
		s := simulation(t, scene, state, StepOptions{TimeStep: 1e-3, Gravity: down, Solve: Options{Tolerance: 1e-10}})
		run(t, s, 20, nil)
		mu := 0.1
		if up > 0 {
			mu = 0.3
		}
		if got, want := s.State().Velocity[3], 1-mu*9.81*0.02; math.Abs(got-want) > 1e-6 {
			t.Errorf("rotated by %g: %g m/s, want %g", up, got, want)
		}
	}
}
