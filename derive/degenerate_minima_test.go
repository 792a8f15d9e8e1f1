package derive

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// TestDegenerateMinima has depths with two equal minima that are not along normals of faces, each beside the same pair
// a little off, whose minimum is unique: a shift of 1e-6 is a thousand times the tolerance.
func TestDegenerateMinima(t *testing.T) {
	cube := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	ball := geom.Sphere{R: 0.2}
	pole := geom.Cylinder{R: 0.5, HalfLength: 4}
	rod := geom.Capsule{R: 0.2, HalfLength: 3}
	cone := geom.Cone{R: 1, HalfLength: 4}
	frustum := geom.Frustum{RBottom: 0.6, RTop: 0.5, HalfLength: 4}
	ellipsoid := geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 3}}
	superquadric := geom.Superquadric{SemiAxes: r3.Vec{X: 1, Y: 1.6, Z: 2.5}, Alpha1: 0.8, Alpha2: 1.2}
	revolution, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.5, Y: 1.6}, {X: 0.5, Y: -1.6}}, 6, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	tetrahedron := mustConvex(t, []r3.Vec{{X: 1, Y: 1, Z: 1}, {X: 1, Y: -1, Z: -1}, {X: -1, Y: 1, Z: -1},
		{X: -1, Y: -1, Z: 1}})
	octahedron := mustConvex(t, []r3.Vec{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}})
	// A roof: a prism along y, whose ridge is an edge.
	roof := mustConvex(t, []r3.Vec{{X: -1, Y: -4, Z: -1}, {X: 1, Y: -4, Z: -1}, {Y: -4, Z: 0.3}, {X: -1, Y: 4, Z: -1},
		{X: 1, Y: 4, Z: -1}, {Y: 4, Z: 0.3}})
	point := mustConvex(t, []r3.Vec{{}})

	at := geom.Translate
	xAxis, zAxis := r3.Vec{X: 1}, r3.Vec{Z: 1}
	const right = math.Pi / 2
	twins := []struct {
		name string
		a, b geom.Shape
		pose geom.Pose // of two minima
		off  r3.Vec    // towards one of them
		want Smoothness
	}{
		{"cylinders, axes that meet", pole, pole, geom.Rotate(xAxis, 1.2), xAxis, UniqueFeatures},
		{"cylinders, axes that meet at right angles", pole, pole, geom.Rotate(xAxis, right), xAxis, UniqueFeatures},
		{"frustum and cylinder", frustum, pole, geom.Rotate(xAxis, 1.2), xAxis, UniqueFeatures},
		{"capsule across a cylinder", pole, rod, geom.Rotate(xAxis, 1), xAxis, UniqueFeatures},
		{"capsule across a frustum", frustum, rod, geom.Rotate(xAxis, 1.3), xAxis, UniqueFeatures},
		{"cone across a cylinder", cone, pole, geom.Rotate(xAxis, 1.3), xAxis, UniqueFeatures},
		{"cube, cone through two faces", cube, geom.Cone{R: 0.5, HalfLength: 4}, geom.Rotate(xAxis, 0.7), xAxis,
			UniqueFeatures},
		{"cylinder and ellipsoid", pole, ellipsoid, at(0, 0, 0.3).Compose(geom.Rotate(xAxis, 0.5)), xAxis,
			UniqueFeatures},
		{"ellipsoids shifted along y", ellipsoid, ellipsoid, at(0, 0.3, 0), xAxis, Smooth},
		{"ellipsoids shifted along z", ellipsoid, ellipsoid, at(0, 0, 0.4), xAxis, Smooth},
		{"ellipsoids rotated about x", ellipsoid, ellipsoid, at(0, 0.1, 0.4).Compose(geom.Rotate(xAxis, 0.6)), xAxis,
			Smooth},
		{"sphere within an ellipsoid", ellipsoid, ball, at(0, 0.5, 0.2), xAxis, Smooth},
		{"point within an ellipsoid", ellipsoid, point, at(0, 0.5, 0.2), xAxis, UniqueFeatures},
		{"superquadric and ellipsoid", superquadric, ellipsoid, at(0, 0.2, 0.1).Compose(geom.Rotate(xAxis, 0.3)), xAxis,
			Smooth},
		{"revolutions that cross", revolution, revolution, geom.Rotate(xAxis, 1.3), xAxis, Smooth},
		{"tetrahedra, edges that cross on both sides", tetrahedron, tetrahedron, at(0, 0, 0), xAxis, UniqueFeatures},
		{"octahedra, rotated", octahedron, octahedron, geom.Rotate(zAxis, math.Pi/6).Compose(at(0, 0, 0.4)), xAxis,
			UniqueFeatures},
		{"roof and cylinder", roof, pole, at(0, 0, 0.2).Compose(geom.Rotate(xAxis, 0.2)), xAxis, UniqueFeatures},
		{"cube and ellipsoid", cube, ellipsoid, at(0, 0.1, 0.2).Compose(geom.Rotate(xAxis, 0.4)), xAxis,
			UniqueFeatures},
		{"point on the axis of a square", cube, point, at(0.5, 0.5, 0.1), r3.Vec{X: 1, Y: -1}, UniqueFeatures},
	}
	var cases []stateCase
	for _, c := range twins {
		cases = append(cases, stateCase{c.name, c.a, c.b, c.pose, NotUnique})
		for _, by := range []float64{1e-6, -1e-6, 1e-3} {
			moved := c.pose
			moved.Position = r3.Add(moved.Position, r3.Scale(by, c.off))
			cases = append(cases, stateCase{c.name + ", off", c.a, c.b, moved, c.want})
		}
	}
	checkStates(t, cases)
}

// TestOtherMinimum holds the search to the least support value over many directions: it finds another minimum that is
// lower, of answers that are a local one, and none where all others are higher.
func TestOtherMinimum(t *testing.T) {
	shapes := shapesOfTest(t)
	rng := rand.New(rand.NewPCG(33, 9))
	var w Workspace
	lower, proved := 0, 0
	for _, a := range kindNames {
		for _, b := range kindNames {
			if a == "halfspace" || b == "halfspace" {
				continue
			}
			r := placedAtGap(rng, shapes[a], shapes[b], -0.03)
			d := w.Exact(&r)
			if !d.Smoothness().Full() {
				continue
			}
			p := &d.p
			proved++
			for range 2000 {
				u := r3.Unit(r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()})
				h := r3.Dot(u, r3.Sub(p.a.coreSupport(u), p.b.coreSupport(r3.Scale(-1, u)))) + p.a.radius + p.b.radius
				if h < -d.s.value-equalTolerance*p.size {
					t.Errorf("%s and %s: support value %g, depth %g", a, b, h, -d.s.value)
				}
			}
			// The answer moved deeper, along its normal, is no minimum any more once another direction is lower.
			s := d.s
			s.value -= 3 * p.size
			if found, _ := w.otherMinimum(p, &s); !found {
				t.Errorf("%s and %s: no direction is found with a support value below %g", a, b, -s.value)
			}
			lower++
		}
	}
	if lower < 150 || proved < 150 {
		t.Errorf("%d and %d pairs", lower, proved)
	}
}
