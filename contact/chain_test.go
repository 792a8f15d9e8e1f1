package contact_test

import (
	"runtime"
	"testing"

	"clearance/contact"
	"clearance/contact/lanes"
)

// chain is a world of n bodies on top of each other, each of which rests on the one below.
func chain(n int) *contact.Problem {
	p := &contact.Problem{Worlds: 1}
	p.Resize(1, n, n)
	p.Count[0] = int32(n)
	for b := range n {
		p.Mass[b] = 1
		copy(p.Inertia[6*b:], []float64{1, 1, 1, 0, 0, 0})
		p.Velocity[6*b+2] = -0.01
		p.BodyA[b], p.BodyB[b], p.Friction[b] = int32(b-1), int32(b), 0.5
		p.ArmA[3*b+2], p.ArmB[3*b+2] = 0.5, -0.5
		copy(p.Frame[9*b:], []float64{1, 0, 0, 0, 1, 0, 0, 0, 1})
	}
	return p
}

// TestChainMemory: a chain of 5,000 contacts takes memory for the blocks of its matrix that are not zero: some 25,000
// of the 25 million, besides six bytes for each place of the pattern in either solver.
func TestChainMemory(t *testing.T) {
	const n = 5000
	for _, variant := range append(lanes.Supported(), contact.Off) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var got contact.Solution
		if err := contact.Solve(t.Context(), chain(n), contact.Options{Sweeps: -1, Steps: 2, SIMD: variant},
			&got); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if got.Steps[0] == 0 {
			t.Errorf("%s: no step of Newton's method", variant)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 500<<20 {
			t.Errorf("%s: %d MB for a chain of %d contacts", variant, used>>20, n)
		} else {
			t.Logf("%s: %d MB", variant, used>>20)
		}
	}
}
