package rollout

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/internal/testkit"
	"clearance/kernels"
)

// TestLanes: culling by every variant of the kernels gives the bits of culling in Go, with the same counts, also
// beside worlds with an invalid pose or a quaternion that has to be scaled.
func TestLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	bodies := withManyParts(t, rng, table(t, rng))
	random := scene(rng, bodies, 203, 9, 24, false)
	for i := range random.Poses { // farther from one another
		if i%7 < 3 {
			random.Poses[i] *= 3
		}
	}
	random.Poses[7*9*20+7*3+1] = math.NaN()
	random.Poses[7*9*21+7*4] = 2e9
	for k := 3; k < 7; k++ {
		random.Poses[7*9*40+7*5+k] *= 1e-170
		random.Poses[7*9*41+7*5+k] *= 1.5
	}
	armBodies, armWorlds := arm(t, 77)
	for _, variant := range kernels.Supported() {
		d := dispatcherOf(t, variant)
		for _, o := range []Options{
			{Reduce: ReduceWorld},
			{Reduce: ReduceWorld, MaxDistance: 0.1, HasMaxDistance: true},
			{Reduce: ReduceWorld, MaxDistance: 0, HasMaxDistance: true, Workers: 3},
			{Reduce: ReduceWorld, Options: batch.Options{Query: batch.Penetration}},
			{Reduce: ReduceWorld, Options: batch.Options{Query: batch.Collide,
				Columns: batch.ColStatus | batch.ColGap}},
		} {
			for name, c := range map[string]*Job{
				"random": {Bodies: bodies, Worlds: random, Options: o},
				"arm":    {Bodies: armBodies, Worlds: armWorlds, Options: o},
			} {
				inGo, err := newBatch(d, c, dispatch.Options{Backend: "cpu"})
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range inGo.pool {
					p.culler = nil
				}
				r, plain, err := inGo.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				b, err := newBatch(d, c, dispatch.Options{Backend: "cpu"})
				if err != nil {
					t.Fatal(err)
				}
				if b.vectors == nil || !slices.Contains(b.vectors.Boxed, true) {
					t.Fatalf("%s: no kernel culls %v", variant, o.Query)
				}
				if name == "random" && !slices.Contains(b.vectors.Boxed, false) {
					t.Fatal("kernels compare the boxes of all pairs")
				}
				got, rep, err := b.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got.Status(), r.Status()) || !sameBits(got.Distance().F32, r.Distance().F32) ||
					!sameBits(got.Gap(), r.Gap()) || !slices.Equal(got.PartA, r.PartA) || !slices.Equal(got.Pair,
					r.Pair) ||
					!slices.Equal(got.Contacts, r.Contacts) || !slices.Equal(got.Any, r.Any) {
					t.Errorf("%s, %s, %v: other answers than those of culling in Go", variant, name, o.Query)
				}
				if rep.CulledRows != plain.CulledRows || rep.PartPairs != plain.PartPairs ||
					rep.Solved != plain.Solved || rep.Rows != plain.Rows || len(rep.RowErrors) != len(plain.RowErrors) {
					t.Errorf("%s, %s, %v: report %+v, want %+v", variant, name, o.Query, rep, plain)
				}
			}
		}
	}
}

// withManyParts adds a body of more parts than kernels compare with those of another.
func withManyParts(t *testing.T, rng *rand.Rand, from *batch.Bodies) *batch.Bodies {
	t.Helper()
	var list []batch.Body
	for i := range from.Len() {
		list = append(list, batch.Body{Parts: from.Parts(int32(i))})
	}
	var many batch.Body
	for range maxBoxedParts {
		many.Parts = append(many.Parts, batch.Part{Shape: rng.Int32N(6), Pose: testkit.Pose(rng, 0.2)})
	}
	bodies, err := batch.NewBodies(from.Library(), append(list, many))
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

// dispatcherOf returns the CPU with the kernels of a variant, and the reference.
func dispatcherOf(t *testing.T, variant string) *dispatch.Dispatcher {
	t.Helper()
	c, err := cpu.New(cpu.Options{SIMD: variant})
	if err != nil {
		t.Fatal(err)
	}
	d := dispatch.New(c, cpu.NewReference())
	t.Cleanup(func() { d.Close() })
	return d
}

// TestKernelsOfTheBackend: culling and the broad phase use the kernels of the CPU back end, whatever the environment
// says, which decides where there is no such back end.
func TestKernelsOfTheBackend(t *testing.T) {
	t.Setenv(kernels.EnvSIMD, kernels.Off)
	for _, variant := range kernels.Supported() {
		if got := cullingKernels(dispatcherOf(t, variant)).SIMD(); got != variant {
			t.Errorf("culling by %q, want %q", got, variant)
		}
		if got := broadPhaseOf(t, dispatcherOf(t, variant)); got != variant {
			t.Errorf("%q, want %q", got, variant)
		}
	}
	none := dispatch.New(dispatch.Backend(struct{ dispatch.Backend }{cpu.NewReference()})) // which hides its kernels
	if got := broadPhaseOf(t, none); got != "" {
		t.Errorf("%q, want none", got)
	}
	for _, variant := range kernels.Supported() {
		t.Setenv(kernels.EnvSIMD, variant)
		if got := broadPhaseOf(t, none); got != variant {
			t.Errorf("%q by the environment, want %q", got, variant)
		}
	}
	if got := broadPhaseOf(t, dispatcherOf(t, kernels.Off)); got != "" {
		t.Errorf("%q without kernels", got)
	}
	t.Setenv(kernels.EnvSIMD, "mmx")
	if got, err := variantOf(none); err == nil {
		t.Errorf("%q for an instruction set that there is none of", got)
	}
}

func broadPhaseOf(t testing.TB, d *dispatch.Dispatcher) string {
	t.Helper()
	variant, err := variantOf(d)
	if err != nil {
		t.Fatal(err)
	}
	return variant
}

// TestTilesAreSmall: a worker that is held up keeps a small part of a block from the others, in whole calls of the
// kernels that cull.
func TestTilesAreSmall(t *testing.T) {
	for _, workers := range []int{2, 3} {
		h := heldArm(t, 300, workers)
		for _, n := range []int{1, 300, 4096, 100_003} {
			size, whole := h.tileWorlds(n), 1
			if h.vectors != nil {
				whole = h.vectors.worlds
			}
			if size%whole != 0 || size > n/(16*workers)+whole {
				t.Errorf("%d workers: tiles of %d of %d worlds, of which kernels take %d at a time", workers, size, n,
					whole)
			}
		}
	}
}
