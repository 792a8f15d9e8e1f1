package contact

import (
	"math"
	"testing"

	"clearance/contact/lanes"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestBallImpact: a ball of radius r that hits the ground with the velocity (u, w) and the spin ω about y leaves with
// −ew. Friction gives it the impulse that stops the slip u − ωr, 2/7·m of it, or μ(1 + e)mw if that is less: Routh's
// closed form of an impact of a ball.
func TestBallImpact(t *testing.T) {
	const r, m = 0.1, 1.7
	inertia := 0.4 * m * r * r
	for _, variant := range append(lanes.Supported(), Off) {
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
