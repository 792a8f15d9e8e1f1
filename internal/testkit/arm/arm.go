// Package arm is the scene of the benchmarks of rollouts, for tests.
package arm

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// New returns the worlds of the benchmark of rollouts: an arm of 8 bodies (capsules, boxes and hulls of 32
// vertices, two of them of 4 parts) that reaches 1.6 m, among 12 obstacles within 1.1 m of its base, at other places in
// every world. The 100 pairs are the bodies of the arm with the obstacles, and four of its own.
func New(t testing.TB, worlds int) (*batch.Bodies, *batch.Worlds) {
	t.Helper()
	rng := rand.New(rand.NewPCG(21, 0))
	hull := func(x, y, z float64) geom.Shape { return testkit.Hull(rng, r3.Vec{X: x, Y: y, Z: z}, 32) }
	box := func(x, y, z float64) geom.Shape { return geom.Box{HalfExtents: r3.Vec{X: x, Y: y, Z: z}} }
	shapes := []geom.Shape{
		geom.Capsule{R: 0.06, HalfLength: 0.09}, box(0.05, 0.05, 0.1), hull(0.06, 0.06, 0.11), // links
		hull(0.03, 0.03, 0.08), box(0.02, 0.02, 0.05), geom.Capsule{R: 0.02, HalfLength: 0.06}, // parts of the others
		box(0.15, 0.1, 0.08), hull(0.1, 0.08, 0.12), geom.Capsule{R: 0.07, HalfLength: 0.2}, // obstacles
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	single := func(shape int32) batch.Body {
		return batch.Body{Parts: []batch.Part{{Shape: shape, Pose: geom.IdentityPose()}}}
	}
	compound := batch.Body{Parts: []batch.Part{
		{Shape: 3, Pose: geom.Translate(0.04, 0, -0.03)}, {Shape: 3, Pose: geom.Translate(-0.04, 0, -0.03)},
		{Shape: 4, Pose: geom.Translate(0, 0.03, 0.06)}, {Shape: 5, Pose: geom.Translate(0, -0.03, 0.05)},
	}}
	list := []batch.Body{single(0), single(1), single(2), compound, single(6), single(7), single(8)}
	bodies, err := batch.NewBodies(lib, list)
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{Bodies: []int32{0, 2, 1, 3, 0, 2, 1, 3}}
	for k := range 12 {
		w.Bodies = append(w.Bodies, 4+int32(k%3))
	}
	for range worlds {
		joint := geom.IdentityPose()
		for range 8 {
			axis := r3.Vec{X: 1}
			if rng.IntN(2) == 0 {
				axis = r3.Vec{Y: 1}
			}
			joint = joint.Compose(geom.Rotate(axis, 1.2*(rng.Float64()-0.5)))
			link := joint.Compose(geom.Translate(0, 0, 0.1))
			w.Poses = append(w.Poses, numbers(&link)...)
			joint = joint.Compose(geom.Translate(0, 0, 0.2))
		}
		for range 12 {
			p := testkit.Pose(rng, 1)
			radius := 0.3 + 0.8*math.Cbrt(rng.Float64())
			p.Position = r3.Scale(radius, testkit.Unit(rng))
			w.Poses = append(w.Poses, numbers(&p)...)
		}
	}
	for a := range int32(8) {
		for o := range int32(12) {
			w.TemplateA, w.TemplateB = append(w.TemplateA, a), append(w.TemplateB, 8+o)
		}
	}
	for _, p := range [][2]int32{{0, 4}, {0, 7}, {1, 6}, {2, 7}} {
		w.TemplateA, w.TemplateB = append(w.TemplateA, p[0]), append(w.TemplateB, p[1])
	}
	return bodies, w
}

// numbers are a pose as worlds hold it: position, quaternion (w first).
func numbers(p *geom.Pose) []float64 {
	q := p.Rotation
	return []float64{p.Position.X, p.Position.Y, p.Position.Z, q.Real, q.Imag, q.Jmag, q.Kmag}
}
