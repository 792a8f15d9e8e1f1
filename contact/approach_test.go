package contact

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestImpactsOfFastBodies: an impact is recognized where the approach is a small difference of large speeds, at every
// unit of length, and however the kernel that set its target rounds: with its own target, and with that of the approach
// by contracted products.
func TestImpactsOfFastBodies(t *testing.T) {
	const worlds, e = 64, 0.5
	rng := rand.New(rand.NewPCG(44, 31))
	for _, unit := range []float64{1e-3, 1, 1e3} {
		scene := testScene(t, []geom.Shape{geom.Sphere{R: 0.1 * unit}}, []r3.Vec{{X: 0.1 * unit, Y: 0.1 * unit,
			Z: 0.1 * unit}}, 1, 0, e)
		var poses []geom.Pose
		var velocities []r3.Vec
		for range worlds {
			q := testkit.Rotation(rng)
			m := geom.Pose{Rotation: q}.Matrix()
			at := geom.Pose{Rotation: q, Position: m.MulVec(r3.Vec{Z: (0.1 + 1e-6) * unit})}
			poses = append(poses, geom.Pose{Rotation: q}, at)
			velocities = append(velocities, r3.Vec{}, m.MulVec(r3.Vec{X: 500 * unit, Z: -0.005 * unit}))
		}
		state := stateOf(worlds, poses)
		for k, v := range velocities {
			putVec(state.Velocity[3*k:], v)
		}
		for _, kernels := range []string{Off, ""} {
			s := simulation(t, scene, state, StepOptions{TimeStep: 1e-3, Solve: Options{Workers: 1, SIMD: kernels}})
			run(t, s, 1, nil)
			for w := range worlds {
				s.side[w] = 1 - s.side[w] // as before the step
				if s.problem.Count[w] != 1 {
					t.Fatalf("%d contacts", s.problem.Count[w])
				}
				c := w * s.problem.Contacts
				n, v := vecOf(s.problem.Frame[9*c+6:]), velocities[2*w+1]
				contracted := math.FMA(n.X, v.X, math.FMA(n.Y, v.Y, n.Z*v.Z))
				for _, target := range []float64{s.problem.Target[c], -e * contracted} {
					s.problem.Target[c] = target
					if asked, _ := s.impact(w, 0, 1); !(asked > 0) {
						t.Errorf("unit %g, kernels %q, world %d: target %g is of no impact", unit, kernels, w, target)
					}
				}
				s.problem.Target[c] = 0.1 * unit * e
				if asked, _ := s.impact(w, 0, 1); asked != 0 {
					t.Errorf("unit %g, world %d: a recovery is taken for an impact", unit, w)
				}
			}
		}
	}
}
