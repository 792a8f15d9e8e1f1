package derive

import (
	"context"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// BenchmarkDerivative is the time of one row on one core: the derivatives are taken, then multiplied once.
func BenchmarkDerivative(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	ellipsoid := geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.2, Z: 0.3}}
	box := geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}}
	hull := testkit.Hull(rng, r3.Vec{X: 0.5, Y: 0.3, Z: 0.4}, 128)
	for _, c := range []struct {
		name string
		a, b geom.Shape
	}{{"ellipsoids", ellipsoid, ellipsoid}, {"boxes", box, box}, {"hulls of 128", hull, hull}} {
		var rows []Row
		for range 64 {
			rows = append(rows, placedAtGap(rng, c.a, c.b, 0.3))
		}
		for _, o := range []Options{{}, {Mode: Gumbel}, {Mode: Gaussian}} {
			b.Run(c.name+"/"+o.Mode.String(), func(b *testing.B) {
				var w Workspace
				i := 0
				for b.Loop() {
					d := w.Of(&rows[i%64], &o, uint64(i))
					d.VJP(&Cotangent{Value: 1, Normal: r3.Vec{X: 1}, WitnessA: r3.Vec{Y: 1}})
					i++
				}
			})
		}
	}
}

// BenchmarkPass is the time of one row on one core: of the query that precedes, of columns of derivatives and of a
// product.
func BenchmarkPass(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	shapes := []geom.Shape{geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.2, Z: 0.3}},
		geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}},
		testkit.Hull(rng, r3.Vec{X: 0.5, Y: 0.3, Z: 0.4}, 32)}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		b.Fatal(err)
	}
	backend, err := cpu.New(cpu.Options{Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer backend.Close()
	const n = 4096
	ctx := context.Background()
	for k, name := range []string{"ellipsoids", "boxes", "hulls of 32"} {
		pairs := batch.NewPairs(n)
		for i := range n {
			at, beside := testkit.Pose(rng, 1), testkit.Pose(rng, 0)
			beside.Position = r3.Add(at.Position, r3.Scale(1.3, testkit.Unit(rng)))
			pairs.SetRow(i, &batch.Row{ShapeA: int32(k), ShapeB: int32(k), PoseA: at, PoseB: beside})
		}
		o := batch.Options{Precision: batch.Double}
		job := &batch.Job{Library: lib, Input: pairs, Options: o, Results: batch.NewResults(n, &o)}
		pass := Pass{Workers: 1}
		asked, query := *job, Differentiator{Workers: 1}
		asked.Options.Columns = Needs | batch.ColGap | batch.ColDDistance
		both := batch.NewResults(n, &asked.Options)
		cotangents, gradients := make([]float64, AnswerWidth*n), make([]float64, TwistWidth*n)
		for i := range cotangents {
			cotangents[i] = rng.NormFloat64()
		}
		alone, all := newDerivatives(n, batch.ColDDistance), newDerivatives(n, batch.DerivedColumns)
		for _, c := range []struct {
			name string
			run  func() error
		}{
			{"query", func() error { return backend.Run(ctx, job, 0, n, job.Results) }},
			{"d_distance", func() error { return pass.Run(ctx, job, alone) }},
			{"d_distance of a query", func() error { return query.Differentiate(ctx, &asked, 0, 0, both) }},
			{"all columns", func() error { return pass.Run(ctx, job, all) }},
			{"VJP", func() error { return pass.VJP(ctx, job, cotangents, gradients) }},
		} {
			both.CopyRows(0, job.Results, 0, n, job.Results.Columns)
			b.Run(name+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := c.run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
			})
		}
	}
}
