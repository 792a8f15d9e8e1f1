package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// powerSets are the kinds whose support functions take powers.
var powerSets = []struct {
	name  string
	shape func(rng *rand.Rand, i int) geom.Shape
}{
	{"superquadrics", func(rng *rand.Rand, _ int) geom.Shape {
		return geom.Superquadric{SemiAxes: logVec3(rng), Alpha1: 0.2 + 1.6*rng.Float64(),
			Alpha2: 0.2 + 1.6*rng.Float64()}
	}},
	{"sharp superquadrics", func(rng *rand.Rand, i int) geom.Shape {
		alpha := []float64{geom.MinExponent, 0.05, 1, 1.9, geom.MaxExponent}
		return geom.Superquadric{SemiAxes: logVec3(rng), Alpha1: alpha[i%5], Alpha2: alpha[i/5%5]}
	}},
	{"smooth hulls", func(rng *rand.Rand, i int) geom.Shape {
		center := r3.Scale(rng.Float64(), direction(rng))
		axes := logVec3(rng)
		for {
			points := make([]r3.Vec, 8+rng.IntN(25))
			for k := range points {
				u := direction(rng)
				points[k] = r3.Add(center, r3.Vec{X: axes.X * u.X, Y: axes.Y * u.Y, Z: axes.Z * u.Z})
			}
			if s, err := geom.NewSmoothHull(points, sharpnesses[i%len(sharpnesses)], center); err == nil {
				return s
			}
		}
	}},
	{"smooth revolutions", func(rng *rand.Rand, i int) geom.Shape {
		profile := []r2.Vec{{X: logUniform(rng), Y: logUniform(rng)}, {X: logUniform(rng), Y: -logUniform(rng)}}
		for range rng.IntN(6) {
			profile = append(profile, r2.Vec{X: logUniform(rng), Y: 2*rng.Float64() - 1})
		}
		s, err := geom.NewSmoothRevolution(profile, sharpnesses[i%len(sharpnesses)], []float64{1e-3, geom.MinFlatness,
			1}[i%3])
		if err != nil {
			panic(err)
		}
		return s
	}},
}

var sharpnesses = []float64{10, geom.MinSharpness, 40, 200}

// drawPowers is n rows of a set, placed as package generate does: a third penetrates, a third has distances of
// up to a tenth of a meter, the others of up to two. In every eighth row both bodies have the same axes.
func drawPowers(t testing.TB, shape func(*rand.Rand, int) geom.Shape, n int) (*batch.Library, *batch.Pairs) {
	t.Helper()
	rng := rand.New(rand.NewPCG(61, 62))
	shapes := make([]geom.Shape, 256)
	for i := range shapes {
		shapes[i] = shape(rng, i)
		if i%4 == 3 {
			shapes[i] = geom.WithMargin(shapes[i], 0.02)
		}
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(n)
	for i := range n {
		row := batch.Row{ShapeA: int32(rng.IntN(len(shapes))), ShapeB: int32(rng.IntN(len(shapes)))}
		row.PoseA, row.PoseB = randomPose(rng), randomPose(rng)
		if i%8 == 7 {
			row.PoseB.Rotation = row.PoseA.Rotation
		}
		apart := []float64{-0.1 * rng.Float64(), 0.1 * rng.Float64(), 2 * rng.Float64()}[i%3]
		ma, mb := row.PoseA.Matrix(), row.PoseB.Matrix()
		a, b, u := shapes[row.ShapeA], shapes[row.ShapeB], direction(rng)
		if i%16 == 15 { // along an axis, where exposed faces are corners or faces
			u = ma.MulVec(r3.Vec{X: 1})
		}
		reach := r3.Dot(u, ma.MulVec(geom.Support(a, ma.MulVecT(u)))) - r3.Dot(u,
			mb.MulVec(geom.Support(b, mb.MulVecT(r3.Scale(-1, u)))))
		row.PoseB.Position = r3.Add(row.PoseA.Position, r3.Scale(reach+apart, u))
		pairs.SetRow(i, &row)
	}
	return lib, pairs
}

// Every answer of every variant passes the audit and agrees with the reference.
func TestPowers(t *testing.T) {
	n := size(1500)
	for _, set := range powerSets {
		lib, pairs := drawPowers(t, set.shape, n)
		for _, variant := range variants(t) {
			for _, o := range []batch.Options{
				{}, {Precision: batch.Double}, {Query: batch.Penetration},
				{Query: batch.Penetration, Precision: batch.Double},
				{Query: batch.Collide}, {Query: batch.Collide, Columns: everything},
			} {
				t.Run(fmt.Sprintf("%s/%s/%v/%v/%v", set.name, variant, o.Query, o.Precision, o.Columns != 0),
					func(t *testing.T) {
						b := newVariant(t, variant, 2)
						r := solve(t, b, lib, pairs, o, 0)
						audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: r})
						by, left := b.RowsBy()
						t.Logf("%.1f %% of the rows left to the reference solvers", 100*float64(left)/float64(by+left))
					})
			}
		}
	}
}

// The kernels decline next to no row: in double precision only some of sharp shapes.
func TestPowersByKernels(t *testing.T) {
	n := size(3000)
	for _, set := range powerSets {
		lib, pairs := drawPowers(t, set.shape, n)
		for _, variant := range variants(t) {
			for _, o := range []batch.Options{{}, {Query: batch.Collide}, {Query: batch.Penetration}} {
				b := newVariant(t, variant, 2)
				solve(t, b, lib, pairs, o, 0)
				if _, left := b.RowsBy(); left > int64(n/50) {
					t.Errorf("%s, %s, %v: %d of %d rows left to the reference solvers", set.name, variant, o.Query,
						left, n)
				}
			}
		}
	}
}
