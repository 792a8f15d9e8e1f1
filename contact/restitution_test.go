package contact

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
	native "clearance/kernels/contact"
	"clearance/tests/need"
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

// TestBallImpact: a ball of radius r that hits the ground with the velocity (u, w) and the spin ω about y leaves with
// −ew. Friction gives it the impulse that stops the slip u − ωr, 2/7·m of it, or μ(1 + e)mw if that is less: Routh's
// closed form of an impact of a ball.
func TestBallImpact(t *testing.T) {
	const r, m = 0.1, 1.7
	inertia := 0.4 * m * r * r
	for _, variant := range append(native.Supported(), Off) {
		for _, mu := range []float64{0, 0.1, 0.3, 1, 2} {
			for _, e := range []float64{0, 0.3, 0.7, 1} {
				for _, v := range []r3.Vec{{X: 1, Y: 0, Z: -2}, {X: -3, Y: 30, Z: -1}, {X: 0.4, Y: -20, Z: -3}} {
					scene := testScene(t, []geom.Shape{geom.Sphere{R: r}}, []r3.Vec{cube}, m, mu, e)
					copy(scene.Inertia[6:], []float64{inertia, inertia, inertia, 0, 0, 0})
					state := stateOf(1, []geom.Pose{geom.IdentityPose(), geom.Translate(0, 0, r)})
					putVec(state.Velocity[3:], r3.Vec{X: v.X, Z: v.Z})
					putVec(state.Momentum[3:], r3.Vec{Y: inertia * v.Y})
					s := simulation(t, scene, state, StepOptions{TimeStep: 1e-3,
						Solve: Options{SIMD: variant, Tolerance: 1e-12}})
					run(t, s, 1, nil)
					slip := v.X - v.Y*r
					impulse := min(2./7*m*math.Abs(slip), mu*m*(1+e)*-v.Z)
					friction := -math.Copysign(impulse, slip)
					want := []float64{v.X + friction/m, -e * v.Z, v.Y - r*friction/inertia}
					got := []float64{s.state.Velocity[3], s.state.Velocity[5], s.state.Momentum[4] / inertia}
					for i := range want {
						if !(math.Abs(got[i]-want[i]) <= 1e-9*(1+math.Abs(want[i]))) {
							t.Errorf("%s, μ %g, e %g, %v: velocities and spin %v, want %v", variant, mu, e, v, got,
								want)
							break
						}
					}
				}
			}
		}
	}
}

// TestBallBounces: a ball that falls from h leaves the ground for the n-th time with eⁿ·√(2gh), to the order of the
// integrator: it lands with a speed that is off by gΔt at most.
func TestBallBounces(t *testing.T) {
	const r, height, g = 0.1, 1.0, 9.81
	for _, e := range []float64{0.5, 0.8, 1} {
		for _, dt := range []float64{1e-3, 1e-4} {
			scene := testScene(t, []geom.Shape{geom.Sphere{R: r}}, []r3.Vec{cube}, 1, 0.5, e)
			state := stateOf(1, []geom.Pose{geom.IdentityPose(), geom.Translate(0, 0, r+height)})
			s := simulation(t, scene, state, StepOptions{TimeStep: dt, Gravity: r3.Vec{Z: -g}})
			bounces, before, want := 0, 0.0, math.Sqrt(2*g*height)
			run(t, s, int(2.2/dt), func() {
				v := s.state.Velocity[5]
				if before < -0.1 && v > 0 {
					bounces++
					want *= e
					// Each landing is off by gΔt, and the next ones by e of that.
					if limit := 1.5 * g * dt * float64(bounces); !(math.Abs(v-want) <= limit) {
						t.Errorf("e %g, step %g: bounce %d with %g m/s, want %g", e, dt, bounces, v, want)
					}
				}
				before = v
			})
			if bounces < 2 {
				t.Errorf("e %g, step %g: %d bounces", e, dt, bounces)
			}
		}
	}
}

// TestRodImpact: a rod that strikes the ground with one end, inclined by θ, has there the inverse masses
// a = 1/m + x²/I along the ground normal and b = 1/m + z²/I along the ground, and c = xz/I between them, of the arm
// (−x, −z). It strikes at w and slips at u. By Newton's law the end leaves at −ew: without friction the impulse is
// (1 + e)|w|/a; if it sticks, that of the matrix (a c; c b); if it slides on against friction, (1 + e)|w|/(a ∓ μc) and
// the friction μ of it. Where the energy would rise, the bounded law has less.
func TestRodImpact(t *testing.T) {
	const m, half, thick = 1.3, 0.5, 1e-3
	inertia := m / 3 * half * half
	seen := map[string]int{}
	for _, mu := range []float64{0, 0.05, 0.2, 0.6, 1.5} {
		for _, e := range []float64{0, 0.4, 0.8, 1} {
			for _, theta := range []float64{0.3, 0.8, 1.2, -0.8} {
				for _, slide := range []float64{0, 0.7, -2} {
					scene := testScene(t, []geom.Shape{geom.Capsule{R: thick, HalfLength: half}}, []r3.Vec{cube}, m, mu,
						e)
					copy(scene.Inertia[6:], []float64{inertia, inertia, 1e-3 * inertia, 0, 0, 0})
					pose := geom.Rotate(r3.Vec{Y: 1}, theta)
					arm := r3.Sub(pose.Apply(r3.Vec{Z: -half}), r3.Vec{Z: thick})
					pose.Position = r3.Vec{Z: -arm.Z}
					state := stateOf(1, []geom.Pose{geom.IdentityPose(), pose})
					spin := 0.5
					putVec(state.Velocity[3:], r3.Vec{X: slide, Z: -1})
					putVec(state.Momentum[3:], scene.Momentum(1, pose.Rotation, r3.Vec{Y: spin}))
					s := simulation(t, scene, state, StepOptions{TimeStep: 1e-4, Restitution: NewtonRestitution,
						Solve: Options{Tolerance: 1e-12}})
					u, w := slide+spin*arm.Z, -1-spin*arm.X
					a, b, c := 1/m+arm.X*arm.X/inertia, 1/m+arm.Z*arm.Z/inertia, -arm.X*arm.Z/inertia
					normal, friction, kind := rodImpulse(mu, e, u, w, a, b, c)
					seen[kind]++
					run(t, s, 1, nil)
					want := []float64{slide + friction/m, -1 + normal/m,
						spin + (arm.Z*friction-arm.X*normal)/inertia}
					got := []float64{s.state.Velocity[3], s.state.Velocity[5], s.Spin(0, 1).Y}
					for i := range want {
						if !(math.Abs(got[i]-want[i]) <= 1e-8*(1+math.Abs(want[i]))) {
							t.Errorf("μ %g, e %g, θ %g, slip %g, %s: velocities and spin %v, want %v", mu, e, theta, u,
								kind, got, want)
							break
						}
					}
					// The bounded law: no more energy, and the same impact where this one has gained none.
					bounded := simulation(t, scene, state,
						StepOptions{TimeStep: 1e-4, Solve: Options{Tolerance: 1e-12}})
					before, _ := bounded.energies(0)
					run(t, bounded, 1, nil)
					newton, _ := s.energies(0)
					after, _ := bounded.energies(0)
					if !(after <= before*(1+1e-9)) || newton <= before && !(math.Abs(after/newton-1) <= 1e-9) ||
						newton > before && !(after >= 0.9*before) {
						t.Errorf("μ %g, e %g, θ %g, slip %g, %s: energy × %g by the bounded law, %g by Newton's", mu, e,
							theta, u, kind, after/before, newton/before)
					}
				}
			}
		}
	}
	t.Log(seen)
	for _, kind := range []string{"frictionless", "sticks", "slides"} {
		if seen[kind] < 10 {
			t.Errorf("%d impacts where the end %s", seen[kind], kind)
		}
	}
}

// rodImpulse is the impulse of a rod at its end, along the normal and along the ground.
func rodImpulse(mu, e, u, w, a, b, c float64) (normal, friction float64, kind string) {
	rise := -(1 + e) * w
	if mu == 0 {
		return rise / a, 0, "frictionless"
	}
	// a·N + c·F = rise, c·N + b·F = −u
	det := a*b - c*c
	normal, friction = (b*rise+c*u)/det, (-a*u-c*rise)/det
	if math.Abs(friction) <= mu*normal {
		return normal, friction, "sticks"
	}
	for _, sign := range []float64{1, -1} { // of the slip after the impact
		normal = rise / (a - sign*mu*c)
		friction = -sign * mu * normal
		if normal > 0 && sign*(u+c*normal+b*friction) > 0 {
			return normal, friction, "slides"
		}
	}
	return math.NaN(), math.NaN(), "none"
}

// TestCradle: of five equal balls in a row that touch, one of which strikes the others with v, all contacts are solved
// at once: the four move off together with (1 + e)v/5 and the first keeps what is left of the momentum. With e = 1 that
// is −3/5·v and 2/5·v, which keeps momentum and energy as well as the one ball with v of a cradle. With gaps between
// them that the balls close in different steps, the impact passes on.
func TestCradle(t *testing.T) {
	const r, v, balls = 0.1, 2.0, 5
	for _, e := range []float64{0, 0.5, 1} {
		for _, gap := range []float64{0, 5e-3} {
			shapes, half := make([]geom.Shape, balls), make([]r3.Vec, balls)
			poses := []geom.Pose{geom.Translate(0, 0, -10)}
			for i := range shapes {
				shapes[i], half[i] = geom.Sphere{R: r}, cube
				poses = append(poses, geom.Translate((2*r+gap)*float64(i), 0, 0))
			}
			poses[1].Position.X -= 1e-3
			scene := testScene(t, shapes, half, 1, 0.3, e)
			state := stateOf(1, poses)
			state.Velocity[3] = v
			s := simulation(t, scene, state, StepOptions{TimeStep: 1e-3, Solve: Options{Tolerance: 1e-12}})
			before, _ := s.energies(0)
			momentum := func() (sum float64) {
				for i := range balls {
					sum += s.state.Velocity[3*(i+1)]
				}
				return sum
			}
			steps := 3 // an impact without restitution closes the gap first
			if gap > 0 {
				steps = 40
			}
			run(t, s, steps, nil)
			after, _ := s.energies(0)
			first, last := s.state.Velocity[3], s.state.Velocity[3*balls]
			t.Logf("e %g, gaps of %g m: first %.4f, last %.4f m/s, energy × %.4f", e, gap, first, last, after/before)
			if !(math.Abs(momentum()-v) <= 1e-12*v) || !(after <= before*(1+1e-9)) {
				t.Errorf("e %g, gaps of %g m: momentum %g, energy × %g", e, gap, momentum(), after/before)
			}
			off := (1 + e) / balls * v
			if gap == 0 && !(math.Abs(first-(v-4*off)) <= 1e-9 && math.Abs(last-off) <= 1e-9) {
				t.Errorf("e %g: first %g, last %g m/s, want %g and %g", e, first, last, v-4*off, off)
			}
			if gap > 0 && e == 1 && !(math.Abs(first) <= 1e-9 && math.Abs(last-v) <= 1e-9 && after > before*(1-1e-9)) {
				t.Errorf("gaps of %g m: first %g, last %g m/s, want 0 and %g", gap, first, last, v)
			}
		}
	}
}

// TestImpactsOfFastBodies: an impact is recognized where the approach is a small difference of large speeds, at every
// unit of length, and however the kernel that set its target rounds: with its own target, and with that of the approach
// by contracted products.
func TestImpactsOfFastBodies(t *testing.T) {
	const worlds, e = 64, 0.5
	rng := rand.New(rand.NewPCG(44, 31))
	for _, unit := range []float64{1e-3, 1, 1e3} {
		scene := testScene(t, []geom.Shape{geom.Sphere{R: 0.1 * unit}}, []r3.Vec{{X: 0.1 * unit, Y: 0.1 * unit,
			Z: 0.1 * unit}}, 1, 0, e)
		var poses []geom.Pose
		var velocities []r3.Vec
		for range worlds {
			q := testkit.Rotation(rng)
			m := geom.Pose{Rotation: q}.Matrix()
			at := geom.Pose{Rotation: q, Position: m.MulVec(r3.Vec{Z: (0.1 + 1e-6) * unit})}
			poses = append(poses, geom.Pose{Rotation: q}, at)
			velocities = append(velocities, r3.Vec{}, m.MulVec(r3.Vec{X: 500 * unit, Z: -0.005 * unit}))
		}
		state := stateOf(worlds, poses)
		for k, v := range velocities {
			putVec(state.Velocity[3*k:], v)
		}
		for _, kernels := range []string{Off, ""} {
			s := simulation(t, scene, state, StepOptions{TimeStep: 1e-3, Solve: Options{Workers: 1, SIMD: kernels}})
			run(t, s, 1, nil)
			for w := range worlds {
				s.side[w] = 1 - s.side[w] // as before the step
				if s.problem.Count[w] != 1 {
					t.Fatalf("%d contacts", s.problem.Count[w])
				}
				c := w * s.problem.Contacts
				n, v := vecOf(s.problem.Frame[9*c+6:]), velocities[2*w+1]
				contracted := math.FMA(n.X, v.X, math.FMA(n.Y, v.Y, n.Z*v.Z))
				for _, target := range []float64{s.problem.Target[c], -e * contracted} {
					s.problem.Target[c] = target
					if asked, _ := s.impact(w, 0, 1); !(asked > 0) {
						t.Errorf("unit %g, kernels %q, world %d: target %g is of no impact", unit, kernels, w, target)
					}
				}
				s.problem.Target[c] = 0.1 * unit * e
				if asked, _ := s.impact(w, 0, 1); asked != 0 {
					t.Errorf("unit %g, world %d: a recovery is taken for an impact", unit, w)
				}
			}
		}
	}
}
