package adjoint

import (
	"context"
	"math"
	"testing"

	"clearance/contact"
)

// TestHeldBodies: bodies at rest, which their contacts hold, have the gradients that the regularized iteration has. The
// latter is that of a call with cotangents of impulses, here zero. Contacts are redundant: of their impulses both find
// those of least norm. Cotangents, masses and lengths are about 1, so gradients that vanish because nothing moves are
// compared with 1. The iteration ends at residuals of 2⁻⁴⁸, and stacks have condition numbers of some thousands.
func TestHeldBodies(t *testing.T) {
	const tolerance = 1e-11
	held := 0
	for _, kind := range []string{"ground", "stack4", "stack8"} {
		s := startedSimulation(t, kind, 4, 0)
		var record contact.StepRecord
		s.Record(&record)
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		for w := range record.Worlds {
			part := &record.Worlds[w].Parts[0]
			p := &part.Problem
			bar := make([]float64, 6*p.Bodies)
			for i := range bar {
				bar[i] = math.Sin(float64(i + 1))
			}
			var x problemWorld
			var of [2]Gradient
			for i, impulseBar := range [][]float64{nil, make([]float64, 3*p.Contacts)} {
				of[i].Resize(p)
				x.vjp(p, 0, &part.Solution, contact.NCP, bar, impulseBar, &of[i])
				if i == 0 && x.rows[0].Pivot[0] == heldRegularization*x.rows[0].H {
					held++
				}
			}
			if of[0].Smoothness[0] != of[1].Smoothness[0] || of[0].Smoothness[0] == None {
				t.Fatalf("%s: %v and %v", kind, of[0].Smoothness[0], of[1].Smoothness[0])
			}
			other := of[1].columns(p)
			for i, c := range of[0].columns(p) {
				size, difference := 1.0, 0.0
				for k, v := range *c.column {
					size = max(size, math.Abs(v), math.Abs((*other[i].column)[k]))
					difference = max(difference, math.Abs(v-(*other[i].column)[k]))
				}
				if difference > tolerance*size {
					t.Errorf("%s, world %d: %s differ by %.1e of %.1e", kind, w, c.name, difference, size)
				}
			}
		}
	}
	if held < 8 {
		t.Errorf("%d worlds are held, of 12", held)
	}
}
