package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// deepShapes are one of each kind that has a kernel, with and without a margin, of size
// about 1, and a needle, a plate and a hull in it.
func deepShapes(t *testing.T, rng *rand.Rand) []geom.Shape {
	t.Helper()
	must := func(s geom.Shape, err error) geom.Shape {
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	cloud := func(n int, x, y, z float64) geom.Shape {
		v := make([]r3.Vec, n)
		for i := range v {
			v[i] = r3.Vec{X: x * rng.NormFloat64(), Y: y * rng.NormFloat64(), Z: z * rng.NormFloat64()}
		}
		return must(geom.NewConvex(v))
	}
	s := []geom.Shape{
		geom.Sphere{R: 0.4}, geom.Capsule{R: 0.2, HalfLength: 0.5},
		geom.Box{HalfExtents: r3.Vec{X: 0.3, Y: 0.5, Z: 0.4}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.6, Z: 0.4}}, geom.Cylinder{R: 0.3, HalfLength: 0.5},
		geom.Cone{R: 0.5, HalfLength: 0.4}, geom.Frustum{RBottom: 0.4, RTop: 0.2, HalfLength: 0.3},
		geom.Box{HalfExtents: r3.Vec{X: 1e-3, Y: 1e-3, Z: 1}}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1e-3}},
		geom.Cylinder{R: 1, HalfLength: 1e-3},
		cloud(8, 0.3, 0.3, 0.3), cloud(40, 0.3, 0.3, 0.3), cloud(300, 0.4, 0.2, 0.3),
	}
	for _, alpha := range [][2]float64{{1, 1}, {0.1, 0.1}, {0.3, 1.7}, {1.8, 0.6},
		{geom.MaxExponent, geom.MinExponent}} {
		s = append(s, geom.Superquadric{SemiAxes: r3.Vec{X: 0.3, Y: 0.4, Z: 0.5}, Alpha1: alpha[0], Alpha2: alpha[1]})
	}
	corners := []r3.Vec{{X: 0.4}, {Y: 0.5}, {Z: 0.3}, {X: -0.4}, {Y: -0.5}, {Z: -0.3}, {X: 0.3, Y: 0.3, Z: 0.2}}
	for _, beta := range []float64{geom.MinSharpness, 12, geom.MaxSharpness} {
		s = append(s, must(geom.NewSmoothHull(corners, beta, r3.Vec{X: 0.1})),
			must(geom.NewSmoothRevolution([]r2.Vec{{X: 0.4, Y: 0.5}, {X: 0.3, Y: -0.2}, {X: 0.1, Y: -0.5}}, beta,
				1e-3)))
	}
	for _, k := range []int{2, 4, 10, 14} {
		s = append(s, geom.Rounded{Shape: s[k], Margin: 0.05})
	}
	return s
}

// Every kind against every kind, in penetrating poses that random draws do not contain: the same center,
// parallel axes, rotated by rounding errors, deep inside, a kilometer away, tiny and
// huge. Every answer passes the audit and agrees with the reference, in both precisions, and at
// most one row in ten is left to the reference solvers.
func TestDepthsOfAllKinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, scale := range []float64{1, 1e-4, 1e4} {
		base := deepShapes(t, rng)
		shapes := make([]geom.Shape, len(base))
		for i, s := range base {
			shapes[i] = scaled(t, s, scale)
		}
		lib, err := batch.NewLibrary(shapes, nil)
		if err != nil {
			t.Fatal(err)
		}
		pairs := oddPairs(rng, len(shapes), oddPoses+2, scale, func(row *batch.Row, pose int, away r3.Vec) {
			if pose >= oddPoses { // anywhere inside, and beside
				row.PoseB.Rotation = randomPose(rng).Rotation
				row.PoseB.Position = r3.Scale(float64(pose-oddPoses+1), away)
			}
			if pose == oddPoses {
				takeFar(rng, row)
			}
		})
		for _, variant := range variants(t) {
			for _, o := range []batch.Options{{}, {Precision: batch.Double}, {Query: batch.Penetration}} {
				t.Run(fmt.Sprintf("%g/%s/%v/%v", scale, variant, o.Query, o.Precision), func(t *testing.T) {
					b := newVariant(t, variant, 2)
					r := solve(t, b, lib, pairs, o, 0)
					audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: r})
					kernels, left := b.RowsBy()
					if left*10 > kernels+left {
						t.Errorf("%d of %d rows left to the reference solvers", left, kernels+left)
					}
				})
			}
		}
	}
}

// The kernels decline next to none of the penetrating pairs of the sets.
func TestDepthsByKernels(t *testing.T) {
	n := size(3000)
	for _, set := range conformanceSets[:6] {
		lib, pairs := draw(t, set, n)
		deep := overlapping(pairs)
		for _, variant := range variants(t) {
			b := newVariant(t, variant, 2)
			r := solve(t, b, lib, deep, batch.Options{Query: batch.Penetration}, 0)
			if _, left := b.RowsBy(); left > int64(deep.Len()/100) {
				t.Errorf("%s, %s: %d of %d rows left", set, variant, left, deep.Len())
			}
			for i, s := range r.Status() {
				if batch.Status(s) != batch.Penetrating && batch.Status(s) != batch.Touching {
					t.Errorf("%s, %s: row %d, which overlaps, is %v", set, variant, i, batch.Status(s))
				}
			}
		}
	}
}

// A box that lies on another has the depth of the face, to the digits of float64, on all six sides.
func TestDepthOfStackedBoxes(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{
		geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 0.5}}, geom.Box{HalfExtents: r3.Vec{X: 0.5, Y: 0.25, Z: 0.5}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(9, 10))
	pairs := batch.NewPairs(200)
	want := make([]float64, pairs.Len())
	for i := range want {
		p, err := randomPose(rng).Normalized()
		if err != nil {
			t.Fatal(err)
		}
		depth := 0.1 * rng.Float64()
		want[i] = -depth
		row := batch.Row{ShapeB: 1, PoseA: p, PoseB: p}
		up := p.Apply(r3.Vec{X: rng.Float64() - 0.5, Y: rng.Float64() - 0.5, Z: 1 - depth})
		row.PoseB.Position = up
		pairs.SetRow(i, &row)
	}
	for _, variant := range variants(t) {
		r := solve(t, newVariant(t, variant, 1), lib, pairs, batch.Options{Precision: batch.Double}, 0)
		for i, w := range want {
			if d := r.Distance().At(i); !(math.Abs(d-w) <= float64(r.Gap()[i])+1e-14) {
				t.Errorf("%s: row %d: %g, want %g within %g", variant, i, d, w, r.Gap()[i])
			}
		}
	}
}

// A needle and a drum with one center. The needle leaves the drum through an end. The direction hardly
// determines the place of the witness on the rim, but it must lie in the plane of the end, from which it was
// once off by 5.9e-14.
func TestNeedleInDrum(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Cone{R: 0.001, HalfLength: 1}, geom.Frustum{RBottom: 0.4, RTop: 0.4,
		HalfLength: 0.2}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := r3.Vec{X: -0.3692501393237677, Y: 1.491108754295805, Z: 2.2920291401353152}
	pairs := batch.NewPairs(1)
	pairs.SetRow(0, &batch.Row{
		ShapeB: 1,
		PoseA: geom.Pose{Position: at, Rotation: quat.Number{Real: 0.12083530474890826, Imag: 0.09403894345101198,
			Jmag: -0.9415187949445457, Kmag: -0.3001630640285817}},
		PoseB: geom.Pose{Position: at, Rotation: quat.Number{Real: 0.7187770358810983, Imag: -0.3870850406750347,
			Jmag: -0.3372892905066288, Kmag: 0.4687863889716977}},
	})
	for _, variant := range variants(t) {
		o := batch.Options{Columns: everything, Query: batch.Penetration, Precision: batch.Double}
		audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: solve(t, newVariant(t, variant, 1), lib,
			pairs, o, 0)})
	}
}

func direction(rng *rand.Rand) r3.Vec {
	return testkit.Unit(rng)
}

// scaled returns s larger by k.
func scaled(t *testing.T, s geom.Shape, k float64) geom.Shape {
	t.Helper()
	big, err := geom.Scaled(s, k)
	if err != nil {
		t.Fatal(err)
	}
	return big
}
