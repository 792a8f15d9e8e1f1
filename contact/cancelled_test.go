package contact

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"clearance/contact/lanes"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// countdown is a context that ends after it was asked so many times.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelledStep: a step that is cancelled, wherever that is, leaves the simulation as it was, and says that no
// world was advanced: the next one has the bits that it would have had. Worlds are solved again for their energy, or
// stepped in parts of which one is undecided.
func TestCancelledStep(t *testing.T) {
	half, angle := r3.Vec{X: 0.2, Y: 0.1, Z: 0.1}, 25*math.Pi/180
	scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: half}}, []r3.Vec{half}, 1, 0.5, 1)
	low := 0.2*math.Sin(angle) + 0.1*math.Cos(angle)
	falling := func(dt float64) *State { // boxes that strike the ground in the second step
		tilted := geom.Translate(0, 0, low+1.2*dt).Compose(geom.Rotate(r3.Vec{Y: 1}, angle))
		state := stateOf(3, slices.Repeat([]geom.Pose{geom.IdentityPose(), tilted}, 3))
		for w := range 3 {
			putVec(state.Velocity[6*w+3:], r3.Vec{X: -0.5 + 0.1*float64(w), Z: -1})
		}
		return state
	}
	same := func(x, y []float64) bool {
		return slices.EqualFunc(x, y, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
	}
	again, parts := int32(0), int32(0)
	for _, c := range []struct {
		name string
		o    StepOptions
	}{
		{"solved again", StepOptions{TimeStep: 1e-3}},
		{"in parts", StepOptions{TimeStep: 5e-3, Solve: Options{Sweeps: 5, Steps: -1}}},
	} {
		for _, variant := range append(lanes.Supported(), Off) {
			o := c.o
			o.Gravity, o.Solve.SIMD, o.Solve.Workers = down, variant, 1
			begun := func() *Simulation {
				s := simulation(t, scene, falling(o.TimeStep), o)
				if err := s.Step(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				return s
			}
			want := begun()
			if err := want.Step(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			again, parts = max(again, want.state.Solves[0]), max(parts, want.state.Parts[0])
			cancelled := int64(0)
			for ended := false; !ended; cancelled += 1 + cancelled/16 {
				got, ctx := begun(), &countdown{Context: t.Context()}
				ctx.left.Store(cancelled)
				if ended = got.Step(ctx, nil) == nil; !ended {
					for w, v := range got.State().Status {
						if v != NotStepped || got.CountContacts() != 0 || got.Residual(w) == got.Residual(w) {
							t.Fatalf("%s, %s: world %d of a step that was cancelled: %v", c.name, variant, w, v)
						}
					}
					if err := got.Step(t.Context(), nil); err != nil {
						t.Fatal(err)
					}
				}
				a, b, x, y := want.State(), got.State(), want.Warm(), got.Warm()
				if !slices.Equal(a.Status, b.Status) || !same(a.Pose, b.Pose) || !same(a.Velocity, b.Velocity) ||
					!same(a.Momentum, b.Momentum) || !slices.Equal(x.Count, y.Count) || !slices.Equal(x.ID, y.ID) ||
					!same(x.Impulse, y.Impulse) {
					t.Fatalf("%s, %s: after a step that was cancelled at question %d the next one has other bits, %v, "+
						"want %v", c.name, variant, cancelled, b.Status, a.Status)
				}
			}
			t.Logf("%s, %s: %v after %d solves in %d parts; cancelled at up to %d questions", c.name, variant,
				want.State().Status, want.State().Solves, want.State().Parts, cancelled)
		}
	}
	if again < 2 || parts < 2 {
		t.Errorf("worlds are solved %d times in %d parts: the test shows little", again, parts)
	}
}
