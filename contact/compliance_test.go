package contact_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/geom"
	native "clearance/kernels/contact"

	"gonum.org/v1/gonum/spatial/r3"
)

// Compliance of contacts, in problems and in steps.

// TestCompliantCube: a cube on four corners with the compliance ρ/m each sinks at ρgΔt/(4 + ρ): m(v + gΔt) = 4λ and
// v = −ρλ/m. The kernels solve it without a sweep.
func TestCompliantCube(t *testing.T) {
	for _, rho := range []float64{1e-6, 1e-3, 0.1, 10} {
		for _, mass := range []float64{1e-3, 2, 1e5} {
			w := resting(mass, 0.5, r3.Vec{}, 0.3)
			for i := range w.Contacts {
				w.Contacts[i].Compliance = [2]float64{rho / mass, rho / mass}
			}
			p := scenes.Pack([]scenes.World{w})
			for _, variant := range append(native.Supported(), contact.Off) {
				for _, model := range []contact.Model{contact.NCP, contact.CCP} {
					s := solve(t, p, contact.Options{Model: model, SIMD: variant, Tolerance: 1e-9})
					name := fmt.Sprintf("%s %v, ρ = %g, %g kg", variant, model, rho, mass)
					near(t, name, s.Velocity[2], -rho*gravity*step/(4+rho), 1e-9*gravity*step)
					for i := range 4 {
						near(t, name, s.Impulse[3*i+2], mass*gravity*step/(4+rho), 1e-8*mass*gravity*step*max(1, 1/rho))
					}
					if variant != contact.Off && s.Sweeps[0]+s.Steps[0] != 0 {
						t.Errorf("%s: %d sweeps and %d steps of Newton's method", name, s.Sweeps[0], s.Steps[0])
					}
				}
			}
		}
	}
}

// spinningCube is a cube that slides and spins on four corners, with the impulses to start from of friction on one of
// the diagonals, which carries all of the weight.
func spinningCube(rho float64, diagonal int) *contact.Problem {
	const mass, mu = 2.0, 0.4
	w := resting(mass, mu, r3.Vec{X: 0.3}, 0.3)
	w.Bodies[0].Omega = r3.Vec{Z: 4}
	for i := range w.Contacts {
		w.Contacts[i].Compliance = [2]float64{rho / mass, rho / mass}
	}
	p := scenes.Pack([]scenes.World{w})
	p.Warm = make([]float64, 12)
	for _, i := range [2][2]int{{0, 3}, {1, 2}}[diagonal] {
		c, n := &w.Contacts[i], mass*gravity*step/2
		slip := r3.Add(r3.Vec{X: 0.3}, r3.Cross(w.Bodies[0].Omega, c.ArmB))
		slip.Z = 0
		friction := r3.Scale(-mu*n, r3.Unit(slip))
		p.Warm[3*i], p.Warm[3*i+1], p.Warm[3*i+2] = r3.Dot(c.Frame[0], friction), r3.Dot(c.Frame[1], friction), n
	}
	return p
}

// TestSpinningCubeHasOneAnswer: a rigid cube that slides and spins on four corners has many answers under the NCP,
// since either diagonal can carry it, and the start decides. With a compliance it has one.
func TestSpinningCubeHasOneAnswer(t *testing.T) {
	for _, variant := range append(native.Supported(), contact.Off) {
		spread := func(rho float64) float64 {
			o := contact.Options{SIMD: variant, Tolerance: 1e-12}
			first, second := solve(t, spinningCube(rho, 0), o), solve(t, spinningCube(rho, 1), o)
			return distance(first.Velocity, second.Velocity)
		}
		if e := spread(0); !(e > 1e-4) {
			t.Errorf("%s: rigid: velocities of two starts differ by %g m/s: the test shows little", variant, e)
		}
		for _, rho := range []float64{1e-3, 1e-2} {
			if e := spread(rho); !(e <= 1e-8) { // residuals of 1e-12 of the speeds, over ρ
				t.Errorf("%s: ρ = %g: velocities of two starts differ by %g m/s", variant, rho, e)
			}
		}
	}
}

// TestCompliantRest: a box at rest sinks until the correction balances the compliance: ρgΔt²/(βn) beyond the slop, of a
// box of any mass and size at any time step, which the difference of two compliances shows. On a slope it creeps at
// ρgΔt·sin α/n.
func TestCompliantRest(t *testing.T) {
	const rho = 0.02
	solver := must(cpu.New(cpu.Options{Workers: 1}))
	defer solver.Close()
	for _, mass := range []float64{1e-4, 1, 1e4} {
		for _, half := range []float64{5e-3, 0.1, 5} {
			for _, dt := range []float64{1e-3, 3e-3} {
				for _, slope := range []float64{0, 0.3} {
					l := lying{shape: geom.Box{HalfExtents: r3.Vec{X: half, Y: half, Z: half}}, mass: mass, dt: dt,
						friction: 0.8, slope: slope}
					first, second := sunk(t, &l, rho, solver), sunk(t, &l, 2*rho, solver)
					name := fmt.Sprintf("%g kg, %g m, %g s, slope %g", mass, half, dt, slope)
					one := rho * gravity * math.Cos(slope) * dt * dt / (0.1 * 4)
					near(t, name+": depth", second.depth-first.depth, one, 0.01*one)
					for k, of := range []sunkBody{first, second} {
						creep := rho * float64(k+1) * gravity * dt * math.Sin(slope) / 4
						near(t, name+": creep", of.creep, creep, 1e-3*rho*gravity*dt)
					}
				}
			}
		}
	}
}

type sunkBody struct{ depth, creep float64 }

// sunk lets a body come to rest on compliant contacts, from a depth of about the slop.
func sunk(t *testing.T, l *lying, rho float64, solver contact.PairSolver) (of sunkBody) {
	t.Helper()
	scene, state := l.world(t)
	up, along := r3.Vec{X: math.Sin(l.slope), Z: math.Cos(l.slope)}, r3.Vec{X: math.Cos(l.slope), Z: -math.Sin(l.slope)}
	state.Pose[7] -= 1e-4 * l.size() * up.X
	state.Pose[9] -= 1e-4 * l.size() * up.Z
	s, err := contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: l.dt, Compliance: rho,
		Gravity: r3.Vec{Z: -gravity}, Solve: contact.Options{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	start := place(s, 1)
	for range 200 {
		advance(t, s)
	}
	return sunkBody{r3.Dot(r3.Sub(start, place(s, 1)), up), r3.Dot(vector(s.State().Velocity[3:]), along)}
}

func vector(v []float64) r3.Vec { return r3.Vec{X: v[0], Y: v[1], Z: v[2]} }

func advance(t *testing.T, s *contact.Simulation) {
	t.Helper()
	if err := s.Step(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for w, status := range s.State().Status {
		if !status.Advances() {
			t.Fatalf("world %d: %v", w, status)
		}
	}
}

// TestCompliantEnergy: the energy identity of steps has −λᵀRλ, and the slip of the law −R_Tλ_T, by the kernels and in
// Go: its error is a small part of λᵀRλ.
func TestCompliantEnergy(t *testing.T) {
	solver := must(cpu.New(cpu.Options{Workers: 1}))
	defer solver.Close()
	for _, variant := range append(native.Supported(), contact.Off) {
		for _, model := range []contact.Model{contact.NCP, contact.CCP} {
			for _, kind := range []string{"stack4", "mixed"} {
				scene, state, err := scenes.Simulation(kind, 3, 5)
				if err != nil {
					t.Fatal(err)
				}
				s := must(contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: 5e-3,
					Compliance: 0.02, Gravity: r3.Vec{Z: -gravity},
					Solve: contact.Options{Model: model, SIMD: variant, Workers: 1}}))
				stored, worst := 0.0, 0.0
				for range 30 {
					advance(t, s)
					for w := range state.Worlds {
						if s.State().Parts[w] == 1 {
							stored = max(stored, softEnergy(s, w))
							worst = max(worst, math.Abs(s.State().Energy[w]))
						}
					}
				}
				if !(worst <= 1e-4*stored) || stored == 0 {
					t.Errorf("%s %v %s: an error of %g J, λᵀRλ is %g J", variant, model, kind, worst, stored)
				}
			}
		}
	}
}

// softEnergy is λᵀRλ of the contacts of a world.
func softEnergy(s *contact.Simulation, w int) (sum float64) {
	p, l := s.Problem(), s.Solution().Impulse
	for c := w * p.Contacts; c < w*p.Contacts+int(p.Count[w]); c++ {
		r := p.Compliance[2*c : 2*c+2]
		sum += r[0]*(l[3*c]*l[3*c]+l[3*c+1]*l[3*c+1]) + r[1]*l[3*c+2]*l[3*c+2]
	}
	return sum
}

// TestNoCompliance: a compliance of zero changes no bit of a problem, and compliances that are not numbers of a step
// are refused.
func TestNoCompliance(t *testing.T) {
	for _, c := range kernelCases(t, append(native.Supported(), contact.Off), 20, 11, "stick", "spin", "stack4") {
		zero := *c.p
		zero.Compliance = make([]float64, 2*c.p.Worlds*c.p.Contacts)
		c.p.Compliance = nil
		o := contact.Options{Model: c.model, SIMD: c.variant}
		if want, got := sweep(t, c.p, o), sweep(t, &zero, o); !sameSolution(got, want) {
			t.Errorf("%v: other bits", &c)
		}
	}
	scene, state, err := scenes.Simulation("stack4", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, rho := range []float64{-1, math.Inf(1), math.NaN()} {
		if _, err := contact.NewSimulation(scene, state, cpu.NewReference(),
			contact.StepOptions{TimeStep: 1e-3, Compliance: rho}); err == nil {
			t.Errorf("a compliance of %g was taken", rho)
		}
	}
}

// TestCompliantCapacity: worlds that grow more contacts keep their compliances, and those of steps in parts are taken
// over.
func TestCompliantCapacity(t *testing.T) {
	scene, state, err := scenes.Simulation("heap", 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	solver := must(cpu.New(cpu.Options{Workers: 1}))
	defer solver.Close()
	s := must(contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: 1.0 / 60, Compliance: 1e-3,
		Gravity: r3.Vec{Z: -gravity}, Solve: contact.Options{Workers: 1}}))
	parts := 0
	for range 60 {
		advance(t, s)
		p := s.Problem()
		for w := range state.Worlds {
			parts = max(parts, int(s.State().Parts[w]))
			for c := w * p.Contacts; c < w*p.Contacts+int(p.Count[w]); c++ {
				want := 1e-3 * inverseMass(p, c)
				if got := p.Compliance[2*c : 2*c+2]; !(math.Abs(got[0]-want) <= 1e-15*want) || got[1] != got[0] {
					t.Fatalf("contact %d: compliance %v, want %g", c, got, want)
				}
			}
		}
	}
	if !slices.ContainsFunc(s.Problem().Count, func(n int32) bool { return n > 8 }) {
		t.Errorf("%v contacts: the test shows little", s.Problem().Count)
	}
	t.Logf("steps in %d parts", parts)
}
