package tests

import (
	"slices"
	"sync"
	"testing"

	"clearance"
	"clearance/batch"
	"clearance/geom"
	"clearance/kernels"
	"clearance/rollout"
)

// TestChoiceReachesKernels: the option and the environment variable choose the kernels of pairs, growth distances and
// culling. No call enters C by another variant, and none at all with "off".
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
	for _, k := range []kernels.Kernel{kernels.Pairs, kernels.Growth, kernels.Culling} {
		var want []string
		if name != kernels.Off {
			want = []string{name}
		}
		if !slices.Equal(entered[k], want) {
			t.Errorf("kernel %d: entered %v, want %v", k, entered[k], want)
		}
	}
}
