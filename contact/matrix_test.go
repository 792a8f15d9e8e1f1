package contact

import (
	"errors"
	"testing"
)

// TestNoRoomForMatrix: a world whose matrix of Newton's method has no memory has the answer of the sweeps, here of
// none, with its residual, and is undecided.
func TestNoRoomForMatrix(t *testing.T) {
	for _, simd := range []string{"", Off} {
		asked := 0
		w := new(worldSolver)
		w.newton.memory = func(float64) error { asked++; return errors.New("no memory") }
		s := Solver{workers: []*worldSolver{w}}
		var got Solution
		if err := s.Solve(t.Context(), star(20), Options{Sweeps: -1, SIMD: simd, Workers: 1}, &got); err != nil {
			t.Fatal(err)
		}
		if asked == 0 || got.Status[0] != Undecided || got.Steps[0] != 0 || !(got.Residual[0] > 0) {
			t.Errorf("%q: asked %d times, %v after %d steps with a residual of %g m/s", simd, asked, got.Status[0],
				got.Steps[0], got.Residual[0])
		}
	}
}
