package tests

import (
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance"
	"clearance/batch"
	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/geom"
	"clearance/kernels"
	"clearance/rollout"
)

// TestChoiceReachesKernels: the option and the environment variable choose all kernels. No call enters C by another
// variant, but for contacts of few worlds, which take AVX2 in place of AVX-512; none at all with "off".
func TestChoiceReachesKernels(t *testing.T) {
	for _, name := range append(kernels.Supported(), kernels.Off) {
		t.Run("option "+name, func(t *testing.T) { entriesInto(t, name, clearance.WithSIMD(name)) })
		t.Run("environment "+name, func(t *testing.T) {
			t.Setenv(kernels.EnvSIMD, name)
			entriesInto(t, name)
		})
	}
}

// entriesInto runs one call of each kernel and compares the variants that were entered with the name.
func entriesInto(t *testing.T, name string, options ...clearance.Option) {
	h, err := clearance.Open(append(options, clearance.WithBackend("cpu"))...)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}, geom.Cylinder{R: 1, HalfLength: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const worlds = 64
	part := func(shape int32) batch.Body {
		return batch.Body{Parts: []batch.Part{{Shape: shape, Pose: geom.IdentityPose()}}}
	}
	bodies, err := batch.NewBodies(lib, []batch.Body{part(0), part(1)})
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{Shapes: []int32{0, 1}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for k := range worlds {
		w.Poses = append(w.Poses, 0, 0, 0, 1, 0, 0, 0, 2+float64(k), 0, 0, 1, 0, 0, 0)
	}
	var lock sync.Mutex
	entered := map[kernels.Kernel][]string{}
	kernels.Observe(func(k kernels.Kernel, variant string) {
		lock.Lock()
		defer lock.Unlock()
		if !slices.Contains(entered[k], variant) {
			entered[k] = append(entered[k], variant)
		}
	})
	defer kernels.Observe(nil)
	if _, _, err := h.Distance(t.Context(), lib, w); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Growth(t.Context(), lib, w); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Rollout(t.Context(), bodies, w, rollout.Options{Reduce: rollout.ReduceWorld}); err != nil {
		t.Fatal(err)
	}
	all := &batch.Worlds{Shapes: w.Shapes, Poses: w.Poses, AllPairs: true}
	if _, _, err := h.Rollout(t.Context(), bodies, all, rollout.Options{Reduce: rollout.ReduceWorld}); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []batch.DerivativeMode{batch.ExactDerivative, batch.ZerothDerivative} {
		o := batch.Options{Columns: batch.ColDDistance | batch.ColDNormal}
		o.Derivative.Mode = mode
		if _, err := h.Run(t.Context(), &batch.Job{Library: lib, Input: w, Options: o}); err != nil {
			t.Fatal(err)
		}
	}
	stepWorlds(t, h, options)
	for _, k := range []kernels.Kernel{kernels.Pairs, kernels.Growth, kernels.Culling, kernels.BroadPhase,
		kernels.Derivatives, kernels.Contacts} {
		var want []string
		if name != kernels.Off {
			want = []string{name}
		}
		got := slices.Clone(entered[k])
		if k == kernels.Contacts && name == "avx512" {
			got = slices.DeleteFunc(got, func(variant string) bool { return variant == "avx2" })
		}
		if !slices.Equal(got, want) {
			t.Errorf("kernel %d: entered %v, want %v", k, entered[k], want)
		}
	}
}

// stepWorlds takes a step of a heap in many worlds. The choice of contacts is that of the handle, or that of the
// environment if no option was given.
func stepWorlds(t *testing.T, h *clearance.Handle, options []clearance.Option) {
	t.Helper()
	scene, state, err := scenes.Simulation("heap", 64, 1)
	if err != nil {
		t.Fatal(err)
	}
	o := contact.StepOptions{TimeStep: 5e-3, Gravity: r3.Vec{Z: -9.81}}
	if len(options) > 0 {
		o.Solve.SIMD = h.SIMD()
	}
	sim, err := contact.NewSimulation(scene, state, h.Dispatcher().Steps(""), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Step(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}
