package contact

import (
	"errors"
	"testing"

	"clearance/contact/lanes"
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

// TestSharesOfMemory: Newton's method counts on the memory for as many matrices as there are goroutines at work: one,
// where there is one world, however many workers it may have, and also in the solve for the bound of the error.
func TestSharesOfMemory(t *testing.T) {
	for _, o := range []Options{{Workers: 64, Sweeps: -1}, {Workers: 64, Sweeps: -1, Model: CCP, Bound: true}} {
		var s Solver
		var got Solution
		for _, worlds := range []int{1, 3 * lanes.Width} {
			p := star(20)
			many := &Problem{}
			many.Resize(worlds, p.Bodies, p.Contacts)
			for w := range worlds {
				copyRow(many.Mass, w, p.Mass, 0, p.Bodies)
				copyRow(many.Inertia, w, p.Inertia, 0, 6*p.Bodies)
				copyRow(many.Velocity, w, p.Velocity, 0, 6*p.Bodies)
				copyRow(many.BodyA, w, p.BodyA, 0, p.Contacts)
				copyRow(many.BodyB, w, p.BodyB, 0, p.Contacts)
				copyRow(many.ArmA, w, p.ArmA, 0, 3*p.Contacts)
				copyRow(many.ArmB, w, p.ArmB, 0, 3*p.Contacts)
				copyRow(many.Frame, w, p.Frame, 0, 9*p.Contacts)
				copyRow(many.Friction, w, p.Friction, 0, p.Contacts)
				many.Count[w] = p.Count[0]
			}
			if err := s.Solve(t.Context(), many, o, &got); err != nil {
				t.Fatal(err)
			}
			if want := (worlds + lanes.Width - 1) / lanes.Width; s.workers[0].sharing != want {
				t.Errorf("%d worlds, %v: the memory is shared by %d, want %d", worlds, o.Model,
					s.workers[0].sharing, want)
			}
		}
	}
}
