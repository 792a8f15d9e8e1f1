package contact

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// energies are the kinetic energy of a world and the total one in the gravity of [down].
func (s *Simulation) energies(w int) (kinetic, total float64) {
	for b := range s.scene.Body {
		if k := w*len(s.scene.Body) + b; s.scene.movable(int32(b)) {
			v := vecOf(s.state.Velocity[3*k:])
			m := geom.Pose{Rotation: quaternion(s.state.Pose[7*k+3:])}.Matrix()
			kinetic += 0.5*s.scene.Mass[b]*r3.Norm2(v) + 0.5*r3.Dot(vecOf(s.state.Momentum[3*k:]), s.Spin(w, b))
			total += s.scene.Mass[b] * 9.81 * r3.Add(vecOf(s.state.Pose[7*k:]), m.MulVec(s.scene.center(b))).Z
		}
	}
	return kinetic, kinetic + total
}

// TestRodBounces: a rod without friction and e = 1 keeps its energy to the order of the integrator: it is off by
// ½mgΔt|v_z| at most, which is that of semi-implicit Euler.
func TestRodBounces(t *testing.T) {
	for _, half := range []r3.Vec{{X: 0.5, Y: 0.02, Z: 0.02}, {X: 0.2, Y: 0.1, Z: 0.1}, {X: 1, Y: 0.05, Z: 0.02}} {
		for _, dt := range []float64{5e-3, 1.25e-3} {
			for _, tilt := range []float64{0.3, 0.5, 1} {
				scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: half}}, []r3.Vec{half}, 1, 0, 1)
				pose := geom.Translate(0, 0, 1.5).Compose(geom.Rotate(r3.Vec{Y: 1}, tilt)).Compose(
					geom.Rotate(r3.Vec{X: 1}, 0.2))
				state := stateOf(1, []geom.Pose{geom.IdentityPose(), pose})
				s := simulation(t, scene, state, StepOptions{TimeStep: dt, Gravity: down})
				_, e := s.energies(0)
				most := 0.0
				run(t, s, int(4/dt), func() {
					_, now := s.energies(0)
					most = max(most, now/e-1)
				})
				// |v_z| is at most √(2gz).
				if limit := 1.1 * 0.5 * 9.81 * dt * math.Sqrt(2*9.81*1.5) / (9.81 * 1.5); most > limit {
					t.Errorf("%v, step %g, tilt %g: the energy rises by %g, limit %g", half, dt, tilt, most, limit)
				}
			}
		}
	}
}

// TestTiltedBox is an impact that gains energy by Newton's law.
func TestTiltedBox(t *testing.T) {
	half := r3.Vec{X: 0.2, Y: 0.1, Z: 0.1}
	for _, e := range []float64{0.5, 0.8, 0.9, 1} {
		for _, law := range []RestitutionLaw{BoundedRestitution, NewtonRestitution} {
			scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: half}}, []r3.Vec{half}, 1, 0.5, e)
			angle := 25 * math.Pi / 180
			low := 0.2*math.Sin(angle) + 0.1*math.Cos(angle)
			at := geom.Translate(0, 0, low+1e-4).Compose(geom.Rotate(r3.Vec{Y: 1}, angle))
			state := stateOf(1, []geom.Pose{geom.IdentityPose(), at})
			putVec(state.Velocity[3:], r3.Vec{X: -0.5, Z: -1})
			s := simulation(t, scene, state, StepOptions{TimeStep: 1e-3, Restitution: law})
			before, _ := s.energies(0)
			run(t, s, 1, nil)
			after, _ := s.energies(0)
			switch gain := after / before; {
			case law == NewtonRestitution && e == 1 && math.Abs(gain-1.184) > 1e-3:
				t.Errorf("Newton's law: energy × %g, want 1.184", gain)
			case law == BoundedRestitution && !(gain <= 1+1e-9 && (e < 0.9 || gain > 0.98)):
				t.Errorf("e = %g: energy × %g", e, gain)
			}
		}
	}
}

// TestImpactsLoseEnergy: the kinetic energy of random impacts of bodies of every form, pairs of them and the ground,
// never rises by more than 1e-9 of it, for every friction and restitution. By Newton's law some of them gain.
func TestImpactsLoseEnergy(t *testing.T) {
	worlds := 50
	if need.All() {
		worlds = 2000
	}
	half := r3.Vec{X: 0.2, Y: 0.1, Z: 0.05}
	shapes := []geom.Shape{geom.Box{HalfExtents: half}, geom.Sphere{R: 0.1}, geom.Capsule{R: 0.03, HalfLength: 0.15},
		geom.Cylinder{R: 0.1, HalfLength: 0.05}, geom.Ellipsoid{SemiAxes: half}}
	rng := rand.New(rand.NewPCG(44, 4))
	impacts, gained := 0, 0
	for i, shape := range shapes {
		for _, mu := range []float64{0, 0.3, 1, 2} {
			for _, e := range []float64{0, 0.3, 0.8, 1} {
				scene := testScene(t, []geom.Shape{shape, shapes[(i+1)%len(shapes)]}, []r3.Vec{half, half}, 1, mu, e)
				state := impactingState(rng, scene, worlds)
				for _, law := range []RestitutionLaw{BoundedRestitution, NewtonRestitution} {
					s := simulation(t, scene, state, StepOptions{TimeStep: 2e-3, Restitution: law, Correction: -1,
						Solve: Options{Workers: 1}})
					before := make([]float64, worlds)
					for step := range 40 {
						for w := range before {
							before[w], _ = s.energies(w)
						}
						if err := s.Step(t.Context(), nil); err != nil {
							t.Fatal(err)
						}
						for w := range before {
							after, _ := s.energies(w)
							gains := after > before[w]*(1+1e-9)
							switch {
							case law == NewtonRestitution && gains:
								gained++
							case gains:
								t.Errorf("%T, μ %g, e %g: step %d, world %d: %v, energy × 1 + %g", shape, mu, e, step,
									w,
									s.state.Status[w], after/before[w]-1)
							case law == BoundedRestitution && after < before[w]*(1-1e-3):
								impacts++
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d impacts that lose energy, %d gain by Newton's law", impacts, gained)
	if impacts < 20*worlds || gained < 2*worlds {
		t.Errorf("%d impacts, %d gain by Newton's law: the test shows little", impacts, gained)
	}
}

// impactingState is worlds of two bodies that fly towards each other and the ground.
func impactingState(rng *rand.Rand, scene *Scene, worlds int) *State {
	var poses []geom.Pose
	for range worlds {
		poses = append(poses, geom.IdentityPose())
		for b := range 2 {
			at := geom.Translate(0.1*rng.NormFloat64(), 0.1*rng.NormFloat64(), 0.25+0.45*float64(b))
			poses = append(poses, at.Compose(geom.Pose{Rotation: testkit.Rotation(rng)}))
		}
	}
	state := stateOf(worlds, poses)
	for w := range worlds {
		for b := 1; b < 3; b++ {
			k := 3*w + b
			putVec(state.Velocity[3*k:], r3.Add(r3.Vec{Z: -2 * float64(b)}, testkit.Unit(rng)))
			spin := r3.Scale(10*rng.Float64(), testkit.Unit(rng))
			putVec(state.Momentum[3*k:], scene.Momentum(b, poses[k].Rotation, spin))
		}
	}
	return state
}
