package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/geom"

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
		geom.Sphere{R: 0.4}, geom.Capsule{R: 0.2, HalfLength: 0.5}, geom.Box{HalfExtents: r3.Vec{X: 0.3, Y: 0.5, Z: 0.4}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.6, Z: 0.4}}, geom.Cylinder{R: 0.3, HalfLength: 0.5},
		geom.Cone{R: 0.5, HalfLength: 0.4}, geom.Frustum{RBottom: 0.4, RTop: 0.2, HalfLength: 0.3},
		geom.Box{HalfExtents: r3.Vec{X: 1e-3, Y: 1e-3, Z: 1}}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1e-3}},
		geom.Cylinder{R: 1, HalfLength: 1e-3},
		cloud(8, 0.3, 0.3, 0.3), cloud(40, 0.3, 0.3, 0.3), cloud(300, 0.4, 0.2, 0.3),
	}
	for _, alpha := range [][2]float64{{1, 1}, {0.1, 0.1}, {0.3, 1.7}, {1.8, 0.6}, {geom.MaxExponent, geom.MinExponent}} {
		s = append(s, geom.Superquadric{SemiAxes: r3.Vec{X: 0.3, Y: 0.4, Z: 0.5}, Alpha1: alpha[0], Alpha2: alpha[1]})
	}
	corners := []r3.Vec{{X: 0.4}, {Y: 0.5}, {Z: 0.3}, {X: -0.4}, {Y: -0.5}, {Z: -0.3}, {X: 0.3, Y: 0.3, Z: 0.2}}
	for _, beta := range []float64{geom.MinSharpness, 12, geom.MaxSharpness} {
		s = append(s, must(geom.NewSmoothHull(corners, beta, r3.Vec{X: 0.1})),
			must(geom.NewSmoothRevolution([]r2.Vec{{X: 0.4, Y: 0.5}, {X: 0.3, Y: -0.2}, {X: 0.1, Y: -0.5}}, beta, 1e-3)))
	}
	for _, k := range []int{2, 4, 10, 14} {
		s = append(s, geom.Rounded{Shape: s[k], Margin: 0.05})
	}
	return s
}

// Every kind against every kind, in overlapping poses that nobody draws: the same centre,
// parallel axes, turned by next to nothing, deep inside, a kilometre away, tiny and
// huge. Every answer passes the audit and agrees with the reference, in both precisions.
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
		const poses = 8
		pairs := batch.NewPairs(len(shapes) * len(shapes) * poses)
		i := 0
		for a := range shapes {
			for b := range shapes {
				for k := range poses {
					row := batch.Row{ShapeA: int32(a), ShapeB: int32(b), PoseA: randomPose(rng)}
					row.PoseA.Position = r3.Vec{}
					row.PoseB = row.PoseA // 0: the same centre and axes
					away := r3.Scale(scale*0.2*rng.Float64(), direction(rng))
					switch k {
					case 1: // parallel axes
						row.PoseB.Position = away
					case 2: // turned by rounding
						row.PoseB.Rotation = quat.Add(row.PoseB.Rotation, quat.Scale(1e-15, randomPose(rng).Rotation))
						row.PoseB.Position = away
					case 3: // and by a little more
						row.PoseB.Rotation = quat.Add(row.PoseB.Rotation, quat.Scale(1e-7, randomPose(rng).Rotation))
						row.PoseB.Position = away
					case 4: // at right angles
						row.PoseB.Rotation = quat.Mul(row.PoseB.Rotation, quat.Number{Real: math.Sqrt2 / 2, Imag: math.Sqrt2 / 2})
						row.PoseB.Position = away
					case 5: // the same centre only
						row.PoseB.Rotation = randomPose(rng).Rotation
					default:
						row.PoseB.Rotation = randomPose(rng).Rotation
						row.PoseB.Position = r3.Scale(float64(k-5), away)
					}
					if k == 6 {
						far := r3.Scale(1000, direction(rng))
						row.PoseA.Position = r3.Add(row.PoseA.Position, far)
						row.PoseB.Position = r3.Add(row.PoseB.Position, far)
					}
					pairs.SetRow(i, &row)
					i++
				}
			}
		}
		for _, variant := range variants(t) {
			for _, o := range []batch.Options{{}, {Precision: batch.Double}, {Query: batch.Penetration}} {
				t.Run(fmt.Sprintf("%g/%s/%v/%v", scale, variant, o.Query, o.Precision), func(t *testing.T) {
					b := newVariant(t, variant, 2)
					r := solve(t, b, lib, pairs, o, 0)
					audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: r})
					kernels, left := b.RowsBy()
					t.Logf("%d of %d rows left to the reference solvers", left, kernels+left)
				})
			}
		}
	}
}

// Of the overlapping pairs of the sets next to none is left to the reference solvers.
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
			for i, s := range r.Status {
				if batch.Status(s) != batch.Penetrating && batch.Status(s) != batch.Touching {
					t.Errorf("%s, %s: row %d, which overlaps, is %v", set, variant, i, batch.Status(s))
				}
			}
		}
	}
}

// A box that lies on another has the depth of the face, to the digits of float64, whichever
// way the boxes overlap.
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
			if d := r.Distance.At(i); !(math.Abs(d-w) <= float64(r.Gap[i])+1e-14) {
				t.Errorf("%s: row %d: %g, want %g within %g", variant, i, d, w, r.Gap[i])
			}
		}
	}
}

func direction(rng *rand.Rand) r3.Vec {
	return r3.Unit(r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()})
}

// scaled returns s larger by k.
func scaled(t *testing.T, s geom.Shape, k float64) geom.Shape {
	t.Helper()
	switch v := s.(type) {
	case geom.Sphere:
		return geom.Sphere{R: k * v.R}
	case geom.Capsule:
		return geom.Capsule{R: k * v.R, HalfLength: k * v.HalfLength}
	case geom.Box:
		return geom.Box{HalfExtents: r3.Scale(k, v.HalfExtents)}
	case geom.Ellipsoid:
		return geom.Ellipsoid{SemiAxes: r3.Scale(k, v.SemiAxes)}
	case geom.Superquadric:
		return geom.Superquadric{SemiAxes: r3.Scale(k, v.SemiAxes), Alpha1: v.Alpha1, Alpha2: v.Alpha2}
	case *geom.SmoothHull:
		p := slices.Clone(v.Vertices())
		for i := range p {
			p[i] = r3.Scale(k, p[i])
		}
		h, err := geom.NewSmoothHull(p, v.Sharpness(), r3.Scale(k, v.Center()))
		if err != nil {
			t.Fatal(err)
		}
		return h
	case *geom.SmoothRevolution:
		p := slices.Clone(v.Profile())
		for i := range p {
			p[i] = r2.Scale(k, p[i])
		}
		h, err := geom.NewSmoothRevolution(p, v.Sharpness(), v.Flatness())
		if err != nil {
			t.Fatal(err)
		}
		return h
	case geom.Cylinder:
		return geom.Cylinder{R: k * v.R, HalfLength: k * v.HalfLength}
	case geom.Cone:
		return geom.Cone{R: k * v.R, HalfLength: k * v.HalfLength}
	case geom.Frustum:
		return geom.Frustum{RBottom: k * v.RBottom, RTop: k * v.RTop, HalfLength: k * v.HalfLength}
	case geom.Rounded:
		return geom.Rounded{Shape: scaled(t, v.Shape, k), Margin: k * v.Margin}
	case *geom.Convex:
		p := make([]r3.Vec, len(v.Hull().Vertices))
		for i, x := range v.Hull().Vertices {
			p[i] = r3.Scale(k, x)
		}
		c, err := geom.NewConvex(p)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	t.Fatalf("no way to scale a %T", s)
	return nil
}
