package adjoint

import (
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/geom"
)

// TestLeavingEdges: of an edge that is parallel to a face and leaves it the normal has no derivative: a corner meets
// the face if the edge tilts one way, and two edges meet if it tilts the other way.
func TestLeavingEdges(t *testing.T) {
	table := feature(t, geom.Box{HalfExtents: r3.Vec{X: 0.8, Y: 0.7, Z: 0.3}})
	box := feature(t, geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.25}})
	var s pairSolver
	var w PairWorkspace
	var m contact.Manifold
	for _, tilt := range []float64{0, 1e-9, -1e-9} {
		tilted := geom.Rotate(r3.Vec{X: 1}, tilt).Compose(geom.Rotate(r3.Vec{Y: 1}, 0.6))
		p, ok := s.solve(table, box, geom.IdentityPose(), geom.Translate(0.1, 0.65, 1).Compose(tilted))
		if !ok {
			t.Fatal("a pair without an answer")
		}
		for k := range 2 {
			s.contact.Build(&p, &m)
			if _, _, smoothness := w.VJP(&p, &m, &PairCotangent{Normal: r3.Vec{Y: 1}}); smoothness.Full() {
				t.Errorf("tilted by %g, swapped %d times: %v", tilt, k, smoothness)
			}
			p = swapped(&p)
		}
	}
}
