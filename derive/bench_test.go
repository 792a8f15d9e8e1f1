package derive

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

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

// timed is a call whose least time counts.
type timed struct {
	name  string
	run   func() error
	least time.Duration
}

// passesOf are a query, the first, and the passes that take its derivatives, on one core: of pairs of a shape with
// itself, n of them in random places with their centers at a distance.
func passesOf(b *testing.B, shape geom.Shape, query batch.Query, apart float64, n int,
	precision batch.Precision) (passes []timed) {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	lib, err := batch.NewLibrary([]geom.Shape{shape}, nil)
	if err != nil {
		b.Fatal(err)
	}
	backend, err := cpu.New(cpu.Options{Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { backend.Close() })
	ctx := context.Background()
	pairs := batch.NewPairs(n)
	for i := range n {
		at, beside := testkit.Pose(rng, 1), testkit.Pose(rng, 0)
		beside.Position = r3.Add(at.Position, r3.Scale(apart, testkit.Unit(rng)))
		pairs.SetRow(i, &batch.Row{PoseA: at, PoseB: beside})
	}
	o := batch.Options{Query: query, Precision: precision, Columns: Needs | batch.ColGap}
	job := &batch.Job{Library: lib, Input: pairs, Options: o, Results: batch.NewResults(n, &o)}
	asked, ofQuery := *job, Differentiator{Workers: 1}
	asked.Options.Columns |= batch.ColDDistance
	both := batch.NewResults(n, &asked.Options)
	cotangents, gradients := make([]float64, AnswerWidth*n), make([]float64, TwistWidth*n)
	for i := range cotangents {
		cotangents[i] = rng.NormFloat64()
	}
	twists, tangents := gradients, cotangents
	derived := func(c batch.Columns) *batch.Results {
		return batch.NewResults(n, &batch.Options{Columns: c, Precision: precision})
	}
	alone, all := derived(batch.ColDDistance), derived(batch.DerivedColumns)
	add := func(name string, run func() error) { passes = append(passes, timed{name: name, run: run}) }
	add("query", func() error { return backend.Run(ctx, job, 0, n, job.Results) })
	add("d_distance", func() error { return (&Pass{Workers: 1}).Run(ctx, job, alone) })
	add("d_distance of a query", func() error { return ofQuery.Differentiate(ctx, &asked, 0, 0, both, nil) })
	for _, c := range []struct {
		name string
		pass Pass
	}{
		{"", Pass{Workers: 1}},
		{" in Go", Pass{Workers: 1, SIMD: "off"}},
		{", Gumbel", Pass{Workers: 1, Options: Options{Mode: Gumbel}}},
		{", Gumbel in Go", Pass{Workers: 1, Options: Options{Mode: Gumbel}, SIMD: "off"}},
		{", Gaussian", Pass{Workers: 1, Options: Options{Mode: Gaussian}}},
		{", Gaussian in Go", Pass{Workers: 1, Options: Options{Mode: Gaussian}, SIMD: "off"}},
	} {
		pass := &c.pass
		add("all columns"+c.name, func() error { return pass.Run(ctx, job, all) })
		add("VJP"+c.name, func() error { return pass.VJP(ctx, job, cotangents, gradients) })
		if c.name == "" {
			add("JVP", func() error { return pass.JVP(ctx, job, twists, tangents) })
		}
	}
	for _, p := range passes {
		if err := p.run(); err != nil {
			b.Fatal(err)
		}
	}
	both.CopyRows(0, job.Results, 0, n, job.Results.Columns)
	return passes
}

// inTurns runs passes in turns until the benchmark ends.
func inTurns(b *testing.B, passes []timed) {
	for b.Loop() {
		for k := range passes {
			p := &passes[k]
			start := time.Now()
			if err := p.run(); err != nil {
				b.Fatal(err)
			}
			if took := time.Since(start); p.least == 0 || took < p.least {
				p.least = took
			}
		}
	}
}

// BenchmarkPass is the time of one row on one core of a query, of columns of derivatives and of products. They run in
// turns; of each the least of all rounds counts, and its ratio to the least of the query.
func BenchmarkPass(b *testing.B) {
	const n = 1024 // a run is shorter than a time slice
	rng := rand.New(rand.NewPCG(1, 1))
	size := r3.Vec{X: 0.5, Y: 0.3, Z: 0.4}
	for _, c := range []struct {
		name  string
		shape geom.Shape
		apart float64
		query batch.Query
	}{
		{"spheres", geom.Sphere{R: 0.3}, 1, batch.Distance},
		{"capsules", geom.Capsule{R: 0.2, HalfLength: 0.4}, 1.5, batch.Distance},
		{"ellipsoids", geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.2, Z: 0.3}}, 1.3, batch.Distance},
		{"penetrating ellipsoids", geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.2, Z: 0.3}}, 0.4, batch.Distance},
		{"boxes", geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}}, 1.3, batch.Distance},
		{"penetrating boxes", geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}}, 0.4, batch.Distance},
		{"cylinders", geom.Cylinder{R: 0.3, HalfLength: 0.4}, 1.3, batch.Distance},
		{"hulls of 32", testkit.Hull(rng, size, 32), 1.3, batch.Distance},
		{"hulls of 128", testkit.Hull(rng, size, 128), 1.3, batch.Distance},
		{"penetrating hulls of 32", testkit.Hull(rng, size, 32), 0.4, batch.Distance},
		{"ellipsoids, growth", geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.2, Z: 0.3}}, 1.3, batch.Growth},
		{"hulls of 32, growth", testkit.Hull(rng, size, 32), 1.3, batch.Growth},
	} {
		for _, precision := range []batch.Precision{batch.Double, batch.Single} {
			b.Run(c.name+"/"+precision.String(), func(b *testing.B) {
				passes := passesOf(b, c.shape, c.query, c.apart, n, precision)
				inTurns(b, passes)
				var table strings.Builder
				for k, p := range passes { // two to a line, since tests print ten lines of a log
					fmt.Fprintf(&table, "%s%-26s %7.0f ns/row, %6.2f of the query", []string{"\n", "   "}[k%2], p.name,
						float64(p.least)/n, float64(p.least)/float64(passes[0].least))
				}
				b.Log(table.String())
			})
		}
	}
}

// BenchmarkEstimates is the time of an estimate of order zero on one core, per sample: a product of many rows together,
// whose pairs the CPU kernels answer, and of rows one by one by the reference.
func BenchmarkEstimates(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	size := r3.Vec{X: 0.5, Y: 0.3, Z: 0.4}
	answers := answersOf(b, "cpu")
	for _, c := range []struct {
		name  string
		shape geom.Shape
	}{
		{"ellipsoids", geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.2, Z: 0.3}}},
		{"boxes", geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}}},
		{"hulls of 32", testkit.Hull(rng, size, 32)},
	} {
		for _, gap := range []float64{0.3, -0.05} {
			const n, samples = 64, 50
			var rows []Row
			for range n {
				rows = append(rows, placedAtGap(rng, c.shape, c.shape, gap))
			}
			job := benchJob(b, c.shape, rows)
			cotangents, gradients := make([]float64, AnswerWidth*n), make([]float64, TwistWidth*n)
			for i := range cotangents {
				cotangents[i] = rng.NormFloat64()
			}
			o := Options{Mode: Zeroth, Samples: samples}
			passes := []timed{{name: "together"}, {name: "together, noise in Go"}, {name: "one by one"}}
			for k, pass := range []Pass{{Answers: answers}, {Answers: answers, SIMD: "off"}, {}} {
				pass.Options, pass.Workers = o, 1
				passes[k].run = func() error { return pass.VJP(b.Context(), job, cotangents, gradients) }
			}
			b.Run(fmt.Sprintf("%s/%g", c.name, gap), func(b *testing.B) {
				inTurns(b, passes)
				for _, p := range passes {
					b.ReportMetric(float64(p.least)/(n*samples), strings.ReplaceAll(p.name, " ", "-")+"-ns/sample")
				}
			})
		}
	}
}

// benchJob has rows of one shape in double precision.
func benchJob(b *testing.B, shape geom.Shape, rows []Row) *batch.Job {
	b.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{shape}, nil)
	if err != nil {
		b.Fatal(err)
	}
	o := batch.Options{Precision: batch.Double}
	pairs, out := batch.NewPairs(len(rows)), batch.NewResults(len(rows), &o)
	for i := range rows {
		r := &rows[i]
		pairs.SetRow(i, &batch.Row{PoseA: r.PoseA, PoseB: r.PoseB})
		answer := batch.Answer{Status: batch.Separated, Distance: r.Value, Lower: r.Value, Upper: r.Value,
			Normal: r.Normal, WitnessA: r.WitnessA, WitnessB: r.WitnessB}
		if r.Value < 0 {
			answer.Status = batch.Penetrating
		}
		out.Put(i, &answer)
	}
	return &batch.Job{Library: lib, Input: pairs, Options: o, Results: out}
}
