package adjoint_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/internal/testkit"
)

// problemsOfSteps are the contact problems of a step of so many worlds after half a second, with the impulses that the
// step has found as warm start.
func problemsOfSteps(b *testing.B, kind string, worlds int) *contact.Problem {
	b.Helper()
	scene, state, err := scenes.Simulation(kind, worlds, 1)
	if err != nil {
		b.Fatal(err)
	}
	solver, err := cpu.New(cpu.Options{Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer solver.Close()
	s, err := contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: 5e-3,
		Gravity: r3.Vec{Z: -9.81}, Solve: contact.Options{Workers: 1}})
	if err != nil {
		b.Fatal(err)
	}
	var record contact.StepRecord
	s.Record(&record)
	for range 101 {
		if err := s.Step(context.Background(), nil); err != nil {
			b.Fatal(err)
		}
	}
	p := &contact.Problem{Target: []float64{}, Warm: []float64{}}
	contacts := 0
	for _, w := range record.Worlds {
		contacts = max(contacts, w.Parts[0].Problem.Contacts)
	}
	p.Resize(worlds, record.Worlds[0].Parts[0].Problem.Bodies, contacts)
	for i := range p.Mass {
		p.Mass[i] = math.Inf(1)
	}
	for w := range record.Worlds {
		q, of := &record.Worlds[w].Parts[0].Problem, &record.Worlds[w].Parts[0].Solution
		at, k := w*p.Bodies, w*p.Contacts
		copy(p.Mass[at:], q.Mass)
		copy(p.Inertia[6*at:], q.Inertia)
		copy(p.Velocity[6*at:], q.Velocity)
		p.Count[w] = q.Count[0]
		copy(p.BodyA[k:], q.BodyA)
		copy(p.BodyB[k:], q.BodyB)
		copy(p.ArmA[3*k:], q.ArmA)
		copy(p.ArmB[3*k:], q.ArmB)
		copy(p.Frame[9*k:], q.Frame)
		copy(p.Friction[k:], q.Friction)
		copy(p.Target[k:], q.Target)
		copy(p.Warm[3*k:], of.Impulse)
	}
	return p
}

// BenchmarkProblem is the solve of the problems of a step from its own impulses and from none, and VJP, by one worker.
func BenchmarkProblem(b *testing.B) {
	for _, kind := range []string{"ground", "stack4", "stack8", "heap", "pile"} {
		worlds := 256
		if kind == "pile" {
			worlds = 8
		}
		p := problemsOfSteps(b, kind, worlds)
		warm := p.Warm
		var solver contact.Solver
		var s contact.Solution
		var m adjoint.Problems
		var g adjoint.Gradient
		o := contact.Options{Workers: 1}
		solve := func() {
			if err := solver.Solve(context.Background(), p, o, &s); err != nil {
				b.Fatal(err)
			}
		}
		solve()
		bar := normals(rand.New(rand.NewPCG(1, 1)), len(p.Velocity))
		compliant := make([]float64, 2*worlds*p.Contacts)
		contacts := 0
		for w := range worlds {
			contacts += int(p.Count[w])
		}
		for i := range worlds * p.Contacts {
			compliant[2*i+1] = 1e-3 / 8 // of boxes of about 8 kg: a thousandth of G_NN
		}
		vjp := func() {
			if err := m.VJP(context.Background(), p, &s, contact.NCP, bar, nil, 1, &g); err != nil {
				b.Fatal(err)
			}
		}
		for _, c := range []struct {
			name    string
			prepare func()
			run     func()
		}{
			{"solve-warm", func() { p.Warm = warm }, solve},
			{"solve-cold", func() { p.Warm = nil }, solve},
			{"vjp", func() { p.Warm = warm; solve() }, vjp},
			{"vjp-compliant", func() { p.Compliance = compliant; solve() }, vjp},
		} {
			b.Run(kind+"/"+c.name, func(b *testing.B) {
				c.prepare()
				c.run()
				b.ReportAllocs()
				before := testkit.CPUTime(b)
				for b.Loop() {
					c.run()
				}
				used := testkit.CPUTime(b) - before
				b.ReportMetric(1e6*used.Seconds()/float64(worlds*b.N), "µs-CPU/world")
				b.ReportMetric(float64(contacts)/float64(worlds), "contacts")
			})
		}
		p.Compliance = nil
	}
}
