package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/kernels"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// closedSets draw shapes of a pair of kinds, sizes log-uniform in 0.1 to 1.
var closedSets = []struct {
	name  string
	a, b  func(*rand.Rand) geom.Shape
	query batch.Query
}{
	{"sphere-sphere", drawSphere, drawSphere, batch.Distance},
	{"sphere-capsule", drawSphere, drawCapsule, batch.Distance},
	{"capsule-capsule", drawCapsule, drawCapsule, batch.Distance},
	{"box-sphere", drawBox, drawSphere, batch.Distance},
	{"box-box", drawBox, drawBox, batch.Collide},
	{"halfspace-box", drawHalfspace, drawBox, batch.Distance},
	{"ellipsoid-halfspace", drawEllipsoid, drawHalfspace, batch.Distance},
}

func logUniform(g *rand.Rand) float64 { return math.Pow(10, g.Float64()-1) }
func logVec3(g *rand.Rand) r3.Vec {
	return r3.Vec{X: logUniform(g), Y: logUniform(g), Z: logUniform(g)}
}
func drawSphere(g *rand.Rand) geom.Shape { return geom.Sphere{R: logUniform(g)} }
func drawCapsule(g *rand.Rand) geom.Shape {
	return geom.Capsule{R: logUniform(g), HalfLength: logUniform(g)}
}
func drawBox(g *rand.Rand) geom.Shape       { return geom.Box{HalfExtents: logVec3(g)} }
func drawEllipsoid(g *rand.Rand) geom.Shape { return geom.Ellipsoid{SemiAxes: logVec3(g)} }
func drawHalfspace(*rand.Rand) geom.Shape   { return geom.Halfspace{} }

// BenchmarkClosed compares the closed forms with the iterative solver, which does not support half-spaces,
// and with the reference solvers. Two thirds of the rows have distances of 0 to 2 m along the line of
// the centers, the others penetrate. "apart" leaves these out, since the iterative solver
// declines intersecting cores. The time is that of the best round.
func BenchmarkClosed(b *testing.B) {
	const n = 1 << 14
	for _, set := range closedSets {
		lib, all, apart := drawClosed(b, set.a, set.b, n)
		for _, in := range []struct {
			name  string
			pairs *batch.Pairs
		}{{"all", all}, {"apart", apart}} {
			for _, variant := range append(kernels.Supported(), kernels.Off) {
				for _, m := range []batch.Method{batch.Auto, batch.GJK} {
					if m == batch.GJK && variant == kernels.Off {
						continue
					}
					b.Run(set.name+"/"+in.name+"/"+variant+"/"+m.String(), func(b *testing.B) {
						be, err := New(Options{Workers: 1, SIMD: variant})
						if err != nil {
							b.Fatal(err)
						}
						o := batch.Options{Query: set.query, Method: m}
						if o.Query == batch.Collide {
							o.Columns = everything // with the status alone, boxes are decided in float32
						}
						job := &batch.Job{Library: lib, Input: in.pairs, Options: o}
						rows := in.pairs.Len()
						out := batch.NewResults(rows, &o)
						best := time.Duration(math.MaxInt64)
						for b.Loop() {
							start := time.Now()
							if err := be.Run(context.Background(), job, 0, rows, out); err != nil {
								b.Fatal(err)
							}
							best = min(best, time.Since(start))
						}
						kernels, left := be.RowsBy()
						b.ReportMetric(float64(best.Nanoseconds())/float64(rows), "ns/pair")
						b.ReportMetric(100*float64(left)/float64(left+kernels), "%left")
					})
				}
			}
		}
	}
}

// drawClosed returns 256 shapes, n pairs of them, and the separated ones of these pairs.
func drawClosed(b *testing.B, drawA, drawB func(*rand.Rand) geom.Shape, n int) (lib *batch.Library, all,
	apart *batch.Pairs) {
	b.Helper()
	rng := rand.New(rand.NewPCG(3, 9))
	var shapes []geom.Shape
	for range 128 {
		shapes = append(shapes, drawA(rng), drawB(rng))
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		b.Fatal(err)
	}
	random := func() quat.Number {
		return testkit.Quaternion(rng)
	}
	all, apart = batch.NewPairs(n), batch.NewPairs(n-n/3-1)
	k := 0
	for i := range n {
		row := batch.Row{ShapeA: int32(2 * rng.IntN(128)), ShapeB: int32(2*rng.IntN(128) + 1)}
		row.PoseA.Rotation, row.PoseB.Rotation = random(), random()
		d := testkit.Unit(rng)
		if lib.Shape(row.ShapeA).Kind() == geom.KindHalfspace {
			d = axisOf(row.PoseA.Rotation, 1)
		} else if lib.Shape(row.ShapeB).Kind() == geom.KindHalfspace {
			d = axisOf(row.PoseB.Rotation, -1)
		}
		h := 2 * rng.Float64()
		if i%3 == 0 {
			h = -0.1 * rng.Float64()
		}
		for _, s := range []struct {
			shape int32
			q     quat.Number
			sign  float64
		}{{row.ShapeA, row.PoseA.Rotation, 1}, {row.ShapeB, row.PoseB.Rotation, -1}} {
			if lib.Shape(s.shape).Kind() == geom.KindHalfspace {
				continue
			}
			m := geom.Pose{Rotation: normalized(s.q)}.Matrix()
			local := m.MulVecT(r3.Scale(s.sign, d))
			h += r3.Dot(local, geom.Support(lib.Shape(s.shape), local))
		}
		row.PoseB.Position = r3.Scale(h, d)
		all.SetRow(i, &row)
		if i%3 != 0 && k < apart.Len() {
			apart.SetRow(k, &row)
			k++
		}
	}
	return lib, all, apart
}

func normalized(q quat.Number) quat.Number { return quat.Scale(1/quat.Abs(q), q) }

// axisOf is the z axis of a body, times sign.
func axisOf(q quat.Number, sign float64) r3.Vec {
	m := geom.Pose{Rotation: normalized(q)}.Matrix()
	return m.MulVec(r3.Vec{Z: sign})
}
