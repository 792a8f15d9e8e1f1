package contact

import (
	"math"
	"testing"

	"clearance/contact/lanes"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// turntable is a plate of 4 × 4 m that rotates about the vertical with a box on it at a distance of its axis, which
// moves with it, and with another one on top of this, off its center by some offset.
func turntable(t testing.TB, spin, distance, offset float64, o StepOptions) *Simulation {
	plate := r3.Vec{X: 2, Y: 2, Z: 0.1}
	scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: plate}, geom.Box{HalfExtents: cube},
		geom.Box{HalfExtents: cube}}, []r3.Vec{plate, cube, cube}, 1, 0.8, 0)
	scene.Mass[1] = math.Inf(1)
	at := []geom.Pose{geom.Translate(0, 0, -10), geom.Translate(0, 0, -0.1), geom.Translate(distance, 0, 0.1),
		geom.Translate(distance+offset, 0, 0.3)}
	state := stateOf(1, at)
	turn := r3.Vec{Z: spin}
	putVec(state.Momentum[3:], turn)
	for b := 2; b < 4; b++ {
		putVec(state.Velocity[3*b:], r3.Cross(turn, at[b].Position))
		putVec(state.Momentum[3*b:], scene.Momentum(b, at[b].Rotation, turn))
	}
	return simulation(t, scene, state, o)
}

// TestTurntable: a box that sticks to a turntable stays at its distance from the axis, to rounding and the tolerance of
// the solves, at every time step. It moves by chords of the length ωΔt·R, and so is ahead of the table by (ωΔt)²/24
// of the angle. Without a rotation of the contacts by half of the step it would move along tangents, and outwards by
// πωΔt a revolution; so does the upper box from the center of the lower one, since the contacts between two bodies that
// move freely are those of the beginning of the step, by which they keep their angular momentum.
func TestTurntable(t *testing.T) {
	const spin, distance, offset, seconds = 1.5, 0.9, 0.03, 4.0
	for _, variant := range append(lanes.Supported(), Off) {
		for _, dt := range []float64{2e-2, 5e-3} {
			s := turntable(t, spin, distance, offset, StepOptions{TimeStep: dt, Gravity: down,
				Solve: Options{SIMD: variant, Workers: 1, Tolerance: 1e-9}})
			run(t, s, int(math.Round(seconds/dt)), nil)
			low, high := vecOf(s.state.Pose[14:]), vecOf(s.state.Pose[21:])
			table := quaternion(s.state.Pose[10:])
			off := math.Hypot(low.X, low.Y)/distance - 1
			angle := math.Remainder(math.Atan2(low.Y, low.X)-2*math.Atan2(table.Kmag, table.Real), 2*math.Pi)
			ahead := spin * seconds * math.Pow(spin*dt, 2) / 24
			apart := math.Hypot(high.X-low.X, high.Y-low.Y)/offset - 1
			limit := math.Expm1(spin * spin * dt / 2 * seconds)
			t.Logf("%s, step %g: distance off by %.2e, angle %.2e (chords: %.2e), offset %.4f (tangents: %.4f)",
				variant, dt, off, angle, ahead, apart, limit)
			if !(math.Abs(off) <= 1e-7) || !(math.Abs(angle-ahead) <= 1e-6) || !(math.Abs(apart-limit) <= 1e-2*limit) {
				t.Errorf("%s, step %g: distance off by %.2e, angle %.2e, want %.2e, offset %.4f, want %.4f", variant,
					dt, off, angle, ahead, apart, limit)
			}
		}
	}
}
