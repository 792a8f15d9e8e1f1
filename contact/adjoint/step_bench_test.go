package adjoint

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/internal/testkit"
)

// BenchmarkStepVJP is the derivative of a step of 64 worlds by one worker, after half a second of simulated time,
// beside the step without and with a record: in turns, so that what else the machine does slows all of them. Contacts
// are rigid, or have the compliance of runs with a tape.
func BenchmarkStepVJP(b *testing.B) {
	for _, kind := range scenes.SimulationKinds() {
		if kind == "pile" {
			continue
		}
		b.Run(kind+"/rigid", func(b *testing.B) { benchmarkStep(b, kind, 0) })
		b.Run(kind+"/compliant", func(b *testing.B) { benchmarkStep(b, kind, 1e-3) })
	}
}

func benchmarkStep(b *testing.B, kind string, compliance float64) {
	const worlds = 64
	s := startedSimulation(b, kind, worlds, compliance)
	var record contact.StepRecord
	step := func() {
		if err := s.Step(context.Background(), nil); err != nil {
			b.Fatal(err)
		}
	}
	s.Record(&record)
	step()
	x, bar, g := NewSteps(s), new(StateCotangent), newGradient(s.Scene())
	bar.Resize(len(s.Scene().Body))
	vjp := func() {
		for w := range worlds {
			for i := range bar.Velocity {
				bar.Velocity[i], bar.Momentum[i] = 1, 0.1
			}
			for i := range bar.Pose {
				bar.Pose[i] = 1
			}
			x.VJP(&record.Worlds[w], bar, g)
		}
	}
	vjp()
	b.ReportAllocs()
	var used [3]time.Duration
	timed := func(i int, f func()) {
		before := testkit.CPUTime(b)
		f()
		used[i] += testkit.CPUTime(b) - before
	}
	for b.Loop() {
		s.Record(nil)
		timed(0, step)
		s.Record(&record)
		timed(1, step)
		timed(2, vjp)
	}
	for i, name := range []string{"step", "recorded", "vjp"} {
		b.ReportMetric(1e6*used[i].Seconds()/float64(worlds*b.N), name+"-µs/world")
	}
	b.ReportMetric(used[2].Seconds()/used[0].Seconds(), "vjp/step")
}

// startedSimulation is a simulation of scenes after half a second.
func startedSimulation(t testing.TB, kind string, worlds int, compliance float64) *contact.Simulation {
	t.Helper()
	scene, state, err := scenes.Simulation(kind, worlds, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := contact.NewSimulation(scene, state, kernelSolver(t), contact.StepOptions{TimeStep: 5e-3,
		Gravity: r3.Vec{Z: -9.81}, Compliance: compliance, Solve: contact.Options{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestStepVJPAllocates: the derivative of steps allocates nothing when its memory is held.
func TestStepVJPAllocates(t *testing.T) {
	s := startedSimulation(t, "stack4", 2, 0)
	var record contact.StepRecord
	s.Record(&record)
	if err := s.Step(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	x, bar, g := NewSteps(s), new(StateCotangent), newGradient(s.Scene())
	bar.Resize(len(s.Scene().Body))
	vjp := func() {
		for w := range record.Worlds {
			for i := range bar.Velocity {
				bar.Velocity[i], bar.Momentum[i] = 1, 0.1
			}
			x.VJP(&record.Worlds[w], bar, g)
		}
	}
	vjp()
	if n := testing.AllocsPerRun(10, vjp); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

// BenchmarkTape is a run of 16 worlds without and with a tape, and its backward pass, against the number of steps.
func BenchmarkTape(b *testing.B) {
	for _, steps := range []int{100, 400, 1600} {
		b.Run(fmt.Sprintf("stack4-%d", steps), func(b *testing.B) {
			const worlds = 16
			s := startedSimulation(b, "stack4", worlds, 0)
			first, bodies := markOf(s), len(s.Scene().Body)
			c := RunCotangents{At: []int{steps}, Pose: make([]float64, 6*worlds*bodies)}
			for i := range c.Pose {
				c.Pose[i] = 1
			}
			var g RunGradient
			var used [3]time.Duration
			var tape *Tape
			for b.Loop() {
				for i, f := range []func() error{
					func() error { return s.Run(context.Background(), steps, nil, nil) },
					func() (err error) { tape, err = Run(context.Background(), s, steps, nil, nil); return err },
					func() error { return tape.VJP(context.Background(), &c, &g) },
				} {
					if i < 2 {
						if err := s.Restore(first.state, first.warm); err != nil {
							b.Fatal(err)
						}
					}
					before := testkit.CPUTime(b)
					if err := f(); err != nil {
						b.Fatal(err)
					}
					used[i] += testkit.CPUTime(b) - before
				}
			}
			for i, name := range []string{"run", "taped", "vjp"} {
				b.ReportMetric(1e6*used[i].Seconds()/float64(worlds*steps*b.N), name+"-µs/world-step")
			}
			b.ReportMetric(float64(tape.Bytes())/worlds, "bytes/world")
		})
	}
}
