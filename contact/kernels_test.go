package contact_test

import (
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/cpu/simd"
)

// TestKernelsOfTheEnvironment: problems and simulations are solved by the kernels that the environment names where the
// option is empty: a name that there are none of is an error of every entry, and each other name has its own bits.
func TestKernelsOfTheEnvironment(t *testing.T) {
	p := must(scenes.Generate("stack4", 8, 1))
	scene, state, err := scenes.Simulation("stack4", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	solver := must(cpu.New(cpu.Options{Workers: 1}))
	defer solver.Close()
	solve := func(kernels string) ([]float64, error) {
		var s contact.Solution
		err := contact.Solve(t.Context(), p, contact.Options{Workers: 1, SIMD: kernels}, &s)
		return s.Impulse, err
	}
	for _, name := range append(simd.Supported(), contact.Off) {
		t.Setenv(simd.EnvSIMD, "")
		want := must(solve(name))
		t.Setenv(simd.EnvSIMD, name)
		if got := must(solve("")); !slices.Equal(got, want) {
			t.Errorf("%s: other bits than by the option", name)
		}
	}
	t.Setenv(simd.EnvSIMD, "bogus")
	_, simulation := contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: 1e-3})
	_, problem := solve("")
	o := contact.ManifoldOptions(0.1)
	job := &batch.Job{Library: scene.Bodies.Library(), Input: batch.NewPairs(0), Options: o,
		Results: batch.NewResults(0, &o)}
	for entry, err := range map[string]error{"Solve": problem, "NewSimulation": simulation,
		"Options.Check":  contact.Options{}.Check(),
		"BuildManifolds": contact.BuildManifolds(t.Context(), job, 1, contact.NewManifolds(0))} {
		const says = `CLEARANCE_SIMD: unknown SIMD variant "bogus", want one of avx512, avx2, neon, portable, or off`
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", entry, err)
		}
	}
	if err := (contact.Options{SIMD: contact.Off}).Check(); err != nil {
		t.Errorf("the option counts before the environment: %v", err)
	}
}
