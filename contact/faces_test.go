package contact

import (
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestFacesMerge: a box whose faces are grids of points, rounded to single precision after a rotation, has six faces;
// its contact points are those of a box, on both bodies within the deviation that the gaps include, and their IDs last
// through small rotations.
func TestFacesMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	turn := geom.Rotate(r3.Vec{X: 1, Y: 2, Z: 3}, 0.4)
	var points []r3.Vec
	const grid = 4
	for i := range grid * grid * grid {
		x, y, z := i%grid, i/grid%grid, i/grid/grid
		if slices.Contains([]int{0, grid - 1}, x) || slices.Contains([]int{0, grid - 1}, y) ||
			slices.Contains([]int{0, grid - 1}, z) {
			p := r3.Vec{X: float64(x)/(grid-1) - 0.5, Y: float64(y)/(grid-1) - 0.5, Z: float64(z)/(grid-1) - 0.5}
			p = turn.Apply(r3.Scale(0.2, p))
			single := func(x float64) float64 { return float64(float32(x)) }
			points = append(points, r3.Vec{X: single(p.X), Y: single(p.Y), Z: single(p.Z)})
		}
	}
	mesh, err := geom.NewConvex(points)
	if err != nil {
		t.Fatal(err)
	}
	a := mustFeatures(t, mesh)
	if hullFaces := len(mesh.Hull().FaceStart) - 1; hullFaces < 20 {
		t.Fatalf("the hull has %d faces: nothing to merge", hullFaces)
	}
	if len(a.face) != 6 {
		t.Fatalf("%d faces, want 6", len(a.face))
	}
	for _, f := range a.face {
		if !(f.slack > 0 && f.slack < 1e-7) || len(f.corners) < 4 || len(f.corners) != len(f.edges) {
			t.Errorf("face %+v", f)
		}
	}
	ground := mustFeatures(t, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 0.1}})
	back := turn.Inverse()
	var ws Workspace
	var solver ref.Workspace
	var first []uint64
	for k := range 50 {
		wobble := geom.Rotate(r3.Unit(r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()}), 1e-5)
		pose, err := wobble.Compose(back).Normalized()
		if err != nil {
			t.Fatal(err)
		}
		pose.Position = r3.Vec{Z: 0.2}
		p, ok := solvePair(t, ground, a, geom.IdentityPose(), pose, 1e-3, &solver)
		if !ok {
			t.Fatal("undecided")
		}
		var m Manifold
		ws.Build(&p, &m)
		if m.N != 4 {
			t.Fatalf("motion %d: %d points, want 4", k, m.N)
		}
		var ids []uint64
		for i := range m.N {
			ids = append(ids, m.Points[i].ID)
			q := m.Points[i].Position
			above := r3.Scale(m.Points[i].Gap/2+1e-7, m.Normal)
			if d := mesh.Residual(pose.Inverse().Apply(r3.Add(q, above))); d > 1e-6 {
				t.Errorf("motion %d: point %d is %g off its body", k, i, d)
			}
		}
		if k == 0 {
			first = ids
		} else if !slices.Equal(ids, first) {
			t.Errorf("motion %d: IDs %v, before %v", k, ids, first)
		}
	}
}

// unknownKind is a shape of a kind that this package does not know.
type unknownKind struct{ geom.Sphere }

// TestEveryKindHasAForm: a kind that is missing in the table of forms, or among the shapes of the tests of manifolds,
// fails.
func TestEveryKindHasAForm(t *testing.T) {
	var tested [geom.KindCount]bool
	for _, s := range manifoldShapes(t) {
		core, _ := geom.WithoutMargin(s)
		tested[core.Kind()] = true
		mustFeatures(t, s)
	}
	if _, err := NewFeatures(unknownKind{}); err == nil {
		t.Error("a kind that nothing is known of has features")
	}
	for k := range geom.KindCount {
		if forms[k.Family()] == formUnknown || !tested[k] {
			t.Errorf("%v: no form, or no shape in the tests of manifolds", k)
		}
	}
}
