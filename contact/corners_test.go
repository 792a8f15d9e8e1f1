package contact

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// lowestCorner is the least z of the corners of a box.
func lowestCorner(pose *geom.Pose, half r3.Vec) float64 {
	m := pose.Matrix()
	low := half.X*math.Abs(m[6]) + half.Y*math.Abs(m[7]) + half.Z*math.Abs(m[8])
	return pose.Position.Z - low
}

// TestCorners: boxes, plates and rods of 0.2 to 0.4 m fall on the ground with one corner or edge ahead. It stops there,
// and the pair starts to rotate: the corners that had no contact, since their gap was beyond the largest one, come down
// faster than before. Their depth, by the closed form, is at most 1/128 of the least width after each step, and 1 % of
// it at 32 times within it. Without the proof of the motion the deepest is at 36 % of the width.
func TestCorners(t *testing.T) {
	const worlds, steps, times = 24, 12, 32
	rng := rand.New(rand.NewPCG(44, 20))
	entered, after, within := 0, 0.0, 0.0
	for _, half := range []r3.Vec{{X: 0.1, Y: 0.1, Z: 0.1}, {X: 0.2, Y: 0.2, Z: 0.02}, {X: 0.2, Y: 0.02, Z: 0.02}} {
		width := 2 * half.Z
		for _, dt := range []float64{1e-3, 5e-3, 10e-3} {
			for _, mu := range []float64{0, 0.5} {
				scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: half}}, []r3.Vec{half}, 1, mu, 0)
				state := stateOf(0, nil)
				for range worlds {
					// The far corner is at the gap that it closes in the step after the impact: where a corner
					// is hit, the other end of a rod becomes 1.5 times as fast, and that of a plate 1.7 times.
					// Corners within 1.25 of the way without the impact have contacts at once.
					speed := 1 + 9*rng.Float64()
					gap := (1.1 + 0.6*rng.Float64()) * speed * dt
					angle := math.Asin(min(0.5, gap/(2*half.X)))
					tilt := geom.Rotate(r3.Vec{X: 0.5 * rng.Float64() * float64(rng.IntN(2)), Y: 1}, angle)
					tilt.Position.Z = 0.02*speed*dt*rng.Float64() - lowestCorner(&tilt, half)
					one := stateOf(1, []geom.Pose{geom.IdentityPose(), tilt})
					one.Velocity[5] = -speed
					state.Pose = append(state.Pose, one.Pose...)
					state.Velocity = append(state.Velocity, one.Velocity...)
				}
				state.Worlds, state.Momentum = worlds, make([]float64, len(state.Velocity))
				s := simulation(t, scene, state, StepOptions{TimeStep: dt, Gravity: down})
				for step := range steps {
					if err := s.Step(context.Background(), nil); err != nil {
						t.Fatal(err)
					}
					for w := range worlds {
						status := s.state.Status[w]
						if !status.Advances() {
							t.Errorf("%v, %g s, μ %g: step %d of world %d: %v", half, dt, mu, step, w, status)
							continue
						}
						if len(s.entries[w]) > 0 {
							entered++
						}
						path := s.pathOf(w, 1)
						after = max(after, -lowestCorner(&path.to, half)/width)
						for k := range times {
							if status != Advanced { // of a step in parts the path is that of several
								break
							}
							at := path.poseAt(float64(k) / times)
							within = max(within, -lowestCorner(&at, half)/width)
						}
					}
				}
			}
		}
	}
	t.Logf("%d steps have contacts at corners that had none; the deepest is %.3g %% of the width after a step, "+
		"%.3g %% within one", entered, 100*after, 100*within)
	if entered < 50 {
		t.Errorf("corners without a contact in %d steps: the test shows little", entered)
	}
	if after > depthOfWidth || within > 0.01 {
		t.Errorf("corners are %g of the width deep after a step, and %g within one", after, within)
	}
}
