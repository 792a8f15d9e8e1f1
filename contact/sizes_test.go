package contact_test

import (
	"context"
	"math"
	"testing"

	"clearance/contact"
	"clearance/cpu"
	"clearance/geom"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// sizeGrid is the grid of [TestEverySize]; in make test some of each, and all by make test-all.
func sizeGrid() (masses, halves, steps []float64, most int) {
	if need.All() {
		return []float64{1e-6, 1e-4, 1e-2, 1, 1e2, 1e4, 1e6}, []float64{0.5e-3, 5e-3, 0.05, 0.5, 5, 50},
			[]float64{1e-5, 1e-4, 1e-3, 5e-3, 1.0 / 60, 1.0 / 30}, 2000
	}
	return []float64{1e-6, 1, 1e6}, []float64{0.5e-3, 0.1, 50}, []float64{1e-5, 1e-3, 1.0 / 30}, 120
}

// TestEverySize: a cube of 1e-6 to 1e6 kg and 1 mm to 100 m rests on a slope, slides down one, and is pushed with a
// force that grows to twice its friction, at time steps of 10 µs to 1/30 s, with default options. What rests moves by
// at most 1e-6 of its size and rotates by at most 1e-4 rad/s in 2 s. What slides has the speed of the closed form to
// 1e-5 of what gravity gives in the time, and a speed of rounding: gaps are known to a few units of the coordinates, so
// that a body may fall that far before it weighs on the ground. It may lift off by 1e-6 of its size and rotate by 1e-4
// rad/s besides what the tolerance allows in steps in which all contacts slide, in which a body of 1 mm falls by 11 mm.
func TestEverySize(t *testing.T) {
	masses, halves, steps, most := sizeGrid()
	solver := must(cpu.New(cpu.Options{Workers: 1}))
	defer solver.Close()
	worst := map[string]float64{}
	for _, mass := range masses {
		for _, half := range halves {
			for _, dt := range steps {
				n := min(most, int(math.Round(2/dt)))
				for _, motion := range []string{"rests", "slides", "pushed"} {
					e := moveCube(t, solver, motion, mass, half, dt, n)
					for name, x := range e {
						name = motion + ": " + name
						worst[name] = max(worst[name], x)
						if !(x <= 1) {
							t.Errorf("%s of %g kg, %g m, at %g s: %s: %g times what is allowed", motion, mass, half, dt,
								name, x)
						}
					}
				}
			}
		}
	}
	t.Log("largest errors as parts of what is allowed:", worst)
}

// moveCube returns the errors of a motion as parts of what is allowed.
func moveCube(t *testing.T, solver *cpu.Backend, motion string, mass, half, dt float64, n int) map[string]float64 {
	t.Helper()
	const angle = 20 * math.Pi / 180
	l := lying{shape: geom.Box{HalfExtents: r3.Vec{X: half, Y: half, Z: half}}, mass: mass, dt: dt, friction: 0.4}
	a := 0.0 // along the ground at the end of step i: a·f(i)
	f := func(i float64) float64 { return i }
	switch motion {
	case "rests":
		l.slope = angle
	case "slides":
		l.slope, l.friction = angle, 0.3
		a = gravity * (math.Sin(angle) - l.friction*math.Cos(angle))
	case "pushed":
		a = l.friction * gravity
		f = func(i float64) float64 { return max(0, 2*i/float64(n)-1) }
	}
	scene, state := l.world(t)
	s, err := contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: dt,
		Gravity: r3.Vec{Z: -gravity}, Solve: contact.Options{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	along, up := r3.Vec{X: math.Cos(l.slope), Z: -math.Sin(l.slope)}, r3.Vec{X: math.Sin(l.slope), Z: math.Cos(l.slope)}
	start, want, e := place(s, 1), 0.0, map[string]float64{}
	raise := func(name string, x, allowed float64) { e[name] = max(e[name], x/allowed) }
	force := make([]float64, 12)
	for i := range n {
		if motion == "pushed" {
			force[6] = 2 * l.friction * mass * gravity * float64(i+1) / float64(n)
			want += dt * a * f(float64(i+1))
		} else {
			want += dt * a
		}
		if err := s.Step(context.Background(), force); err != nil {
			t.Fatal(err)
		}
		if v := s.State().Status[0]; v != contact.Advanced {
			t.Fatalf("%s of %g kg, %g m, at %g s: step %d: %v", motion, mass, half, dt, i, v)
		}
		v := s.State().Velocity[3:6]
		raise("speed", math.Abs(v[0]*along.X+v[2]*along.Z-want), 1e-5*gravity*dt*float64(i+1)+0x1p-46*l.size()/dt)
		moved, slack := r3.Sub(place(s, 1), start), 0.0
		if motion != "rests" {
			slack = 2e-6 * gravity * dt // tolerance and speed scale
		}
		raise("lift", math.Abs(r3.Dot(moved, up)), 1e-6*l.size()+slack*dt)
		raise("spin", r3.Norm(s.Spin(0, 1)), 1e-4+slack/half)
		if motion == "rests" {
			raise("moves", r3.Norm(moved), 1e-6*l.size())
		}
	}
	return e
}
