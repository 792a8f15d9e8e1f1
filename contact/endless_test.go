package contact_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/contact"
	"clearance/contact/lanes"
)

// TestSpeedsBeyondFormat: problems whose speeds at contacts are beyond the numbers of the format end, undecided or
// invalid, with every kernel. The passes over the islands of bodies went on for ever where one of them is NaN.
func TestSpeedsBeyondFormat(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	wild := []float64{1e308, -1e308, 1e200, -1e200, 1e154, 5e-324, 1, -1, 0}
	for range 300 {
		p := chain(4)
		for _, column := range [][]float64{p.Velocity, p.ArmA, p.ArmB, p.Mass, p.Friction} {
			for i := range column {
				if rng.IntN(3) == 0 {
					column[i] = wild[rng.IntN(len(wild))]
				}
			}
		}
		for _, variant := range append(lanes.Supported(), contact.Off) {
			for _, sweeps := range []int{-1, 20} {
				var got contact.Solution
				o := contact.Options{Sweeps: sweeps, Steps: 10, SIMD: variant}
				if err := contact.Solve(t.Context(), p, o, &got); err != nil {
					t.Fatal(err)
				}
				if got.Status[0] == contact.Solved && !(got.Residual[0] <= math.MaxFloat64) {
					t.Errorf("%s: solved with a residual of %g", variant, got.Residual[0])
				}
			}
		}
	}
}
