package cpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/kernels"
)

// BenchmarkSIMD solves sets on one core with every variant and with the reference
// solvers alone ("off"). "apart" are the separated rows of a set, with distances of up to 2 m; the
// others are all rows, of which a third penetrates. The time reported is that of the
// best round, as other programs may be running.
func BenchmarkSIMD(b *testing.B) {
	for _, set := range []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128",
		"hull512", "mixed"} {
		b.Run(set, func(b *testing.B) {
			lib, pairs := draw(b, set, benchmarkRows)
			benchmarkSet(b, lib, pairs)
		})
	}
	for _, set := range powerSets {
		b.Run(set.name, func(b *testing.B) {
			lib, pairs := drawPowers(b, set.shape, benchmarkRows)
			benchmarkSet(b, lib, pairs)
		})
	}
}

const benchmarkRows = 1 << 14

func benchmarkSet(b *testing.B, lib *batch.Library, pairs *batch.Pairs) {
	const n = benchmarkRows
	{
		apart := batch.NewPairs(n - n/3 - 1)
		var r batch.Row
		k := 0
		for i := range n {
			if i%3 != 0 && k < apart.Len() {
				pairs.Row(i, &r)
				apart.SetRow(k, &r)
				k++
			}
		}
		for _, c := range []struct {
			name string
			in   *batch.Pairs
			o    batch.Options
		}{
			{"apart", apart, batch.Options{}}, {"apart-double", apart, batch.Options{Precision: batch.Double}},
			{"all", pairs, batch.Options{}}, {"collide", pairs, batch.Options{Query: batch.Collide}},
			{"growth", pairs, batch.Options{Query: batch.Growth}},
		} {
			for _, variant := range append(kernels.Supported(), kernels.Off) {
				b.Run(c.name+"/"+variant, func(b *testing.B) {
					be, err := New(Options{Workers: 1, SIMD: variant})
					if err != nil {
						b.Fatal(err)
					}
					job := &batch.Job{Library: lib, Input: c.in, Options: c.o}
					out := batch.NewResults(c.in.Len(), &c.o)
					rows, best := c.in.Len(), time.Duration(math.MaxInt64)
					if err := be.Run(context.Background(), job, 0, c.in.Len(), out); err != nil { // makes the table
						b.Fatal(err)
					}
					for b.Loop() {
						start := time.Now()
						if err := be.Run(context.Background(), job, 0, c.in.Len(), out); err != nil {
							b.Fatal(err)
						}
						best = min(best, time.Since(start))
						rows += c.in.Len()
					}
					_, left := be.RowsBy()
					b.ReportMetric(float64(best.Nanoseconds())/float64(c.in.Len()), "ns/pair")
					b.ReportMetric(100*float64(left)/float64(rows), "%left")
					if w := be.idle[0].solver; w != nil && w.Stats().Rows32 > 0 {
						s := w.Stats()
						b.ReportMetric(float64(s.Lanes32)/float64(s.Rows32), "steps32/pair")
						b.ReportMetric(float64(s.Lanes32)/float64(s.Steps32), "lanes")
						b.ReportMetric(100*float64(s.Rows64)/float64(s.Rows32), "%64")
					}
				})
			}
		}
	}
}

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

// BenchmarkDepth answers penetration queries of the penetrating third of each set on one
// core, with every variant and with the reference solvers alone ("off"). The time
// reported is that of the best round, as other programs may be running.
func BenchmarkDepth(b *testing.B) {
	for _, set := range []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128",
		"hull512"} {
		lib, pairs := draw(b, set, 3<<12)
		benchmarkDepths(b, set, lib, overlapping(pairs))
	}
	for _, set := range powerSets {
		lib, pairs := drawPowers(b, set.shape, 9<<12)
		benchmarkDepths(b, set.name, lib, penetrating(b, lib, overlapping(pairs)))
	}
}

// penetrating returns the rows that penetrate beyond rounding errors.
func penetrating(t testing.TB, lib *batch.Library, pairs *batch.Pairs) *batch.Pairs {
	t.Helper()
	be, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Collide}}
	out := batch.NewResults(pairs.Len(), &job.Options)
	if err := be.Run(context.Background(), job, 0, pairs.Len(), out); err != nil {
		t.Fatal(err)
	}
	var rows []batch.Row
	for i, s := range out.Status() {
		if batch.Status(s) == batch.Penetrating {
			rows = append(rows, batch.Row{})
			pairs.Row(i, &rows[len(rows)-1])
		}
	}
	deep := batch.NewPairs(len(rows))
	for i := range rows {
		deep.SetRow(i, &rows[i])
	}
	return deep
}

func benchmarkDepths(b *testing.B, set string, lib *batch.Library, deep *batch.Pairs) {
	for _, c := range []struct {
		name string
		o    batch.Options
	}{
		{"single", batch.Options{Query: batch.Penetration}},
		{"single-gjk", batch.Options{Query: batch.Penetration, Method: batch.GJK}},
		{"double", batch.Options{Query: batch.Penetration, Precision: batch.Double}},
	} {
		for _, variant := range append(kernels.Supported(), kernels.Off) {
			b.Run(set+"/"+c.name+"/"+variant, func(b *testing.B) { benchmarkDepth(b, lib, deep, c.o, variant) })
		}
	}
}

func benchmarkDepth(b *testing.B, lib *batch.Library, in *batch.Pairs, o batch.Options, variant string) {
	be, err := New(Options{Workers: 1, SIMD: variant})
	if err != nil {
		b.Fatal(err)
	}
	job := &batch.Job{Library: lib, Input: in, Options: o}
	out := batch.NewResults(in.Len(), &o)
	if err := be.Run(context.Background(), job, 0, in.Len(), out); err != nil { // makes the table
		b.Fatal(err)
	}
	rows, best := in.Len(), time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		if err := be.Run(context.Background(), job, 0, in.Len(), out); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start))
		rows += in.Len()
	}
	steps := 0
	for _, k := range out.Iterations() {
		steps += int(k)
	}
	_, left := be.RowsBy()
	b.ReportMetric(float64(best.Nanoseconds())/float64(in.Len()), "ns/pair")
	b.ReportMetric(100*float64(left)/float64(rows), "%left")
	b.ReportMetric(float64(steps)/float64(in.Len()), "steps/pair")
}

// overlapping returns the penetrating rows of a set: every third.
func overlapping(pairs *batch.Pairs) *batch.Pairs {
	deep := batch.NewPairs((pairs.Len() + 2) / 3)
	var r batch.Row
	for i := range deep.Len() {
		pairs.Row(3*i, &r)
		deep.SetRow(i, &r)
	}
	return deep
}

// BenchmarkHulls computes distances of 0.1 to 2 between hulls of 8 to 512 vertices on the unit sphere, with
// one hull in all rows, which stays in cache, and with 256 hulls. The time reported is that of the best round.
func BenchmarkHulls(b *testing.B) {
	for _, vertices := range []int{8, 12, 16, 24, 32, 48, 64, 128, 512} {
		for _, hulls := range []int{1, 256} {
			lib, pairs := drawHulls(b, vertices, hulls, benchmarkRows)
			for _, variant := range kernels.Supported() {
				b.Run(fmt.Sprintf("%d/%d/%s", vertices, hulls, variant), func(b *testing.B) {
					be, err := New(Options{Workers: 1, SIMD: variant})
					if err != nil {
						b.Fatal(err)
					}
					job := &batch.Job{Library: lib, Input: pairs}
					out := batch.NewResults(pairs.Len(), &job.Options)
					best := time.Duration(math.MaxInt64)
					if err := be.Run(context.Background(), job, 0, pairs.Len(), out); err != nil { // makes the table
						b.Fatal(err)
					}
					for b.Loop() {
						start := time.Now()
						if err := be.Run(context.Background(), job, 0, pairs.Len(), out); err != nil {
							b.Fatal(err)
						}
						best = min(best, time.Since(start))
					}
					b.ReportMetric(float64(best.Nanoseconds())/float64(pairs.Len()), "ns/pair")
				})
			}
		}
	}
}

func drawHulls(b *testing.B, vertices, hulls, rows int) (*batch.Library, *batch.Pairs) {
	b.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(vertices)))
	direction := func() r3.Vec {
		return testkit.Unit(rng)
	}
	random := func() quat.Number {
		return testkit.Quaternion(rng)
	}
	var shapes []geom.Shape
	for range hulls {
		points := make([]r3.Vec, vertices)
		for i := range points {
			points[i] = direction()
		}
		hull, err := geom.NewConvex(points)
		if err != nil {
			b.Fatal(err)
		}
		shapes = append(shapes, hull)
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		b.Fatal(err)
	}
	pairs := batch.NewPairs(rows)
	for i := range rows {
		row := batch.Row{ShapeA: int32(rng.IntN(hulls)), ShapeB: int32(rng.IntN(hulls))}
		row.PoseA.Rotation, row.PoseB.Rotation = random(), random()
		row.PoseB.Position = r3.Scale(2.1+1.9*rng.Float64(), direction())
		pairs.SetRow(i, &row)
	}
	return lib, pairs
}

// repeated returns separated rows of a set, repeated `times` times: the work per
// pair does not depend on their number.
func repeated(b *testing.B, set string, rows, times int) (*batch.Library, *batch.Pairs) {
	lib, drawn := draw(b, set, rows+rows/2+3)
	pairs := batch.NewPairs(rows * times)
	var row batch.Row
	for i, k := 0, 0; k < rows; i++ {
		if i%3 != 0 { // every third row penetrates
			drawn.Row(i, &row)
			for j := range times {
				pairs.SetRow(j*rows+k, &row)
			}
			k++
		}
	}
	return lib, pairs
}

// best is the least time of a call so far.
type best struct {
	be  *Backend
	job *batch.Job
	out *batch.Results
	d   time.Duration
}

func newBest(b *testing.B, workers int, lib *batch.Library, in *batch.Pairs) *best {
	be, err := New(Options{Workers: workers})
	if err != nil {
		b.Fatal(err)
	}
	var o batch.Options
	m := &best{be, &batch.Job{Library: lib, Input: in, Options: o}, batch.NewResults(in.Len(), &o), 0}
	m.run(b, 1) // makes the table, and touches the pages
	m.d = math.MaxInt64
	return m
}

// run answers the job several times and records the least time.
func (m *best) run(b *testing.B, times int) {
	start := time.Now()
	for range times {
		if err := m.be.Run(context.Background(), m.job, 0, m.job.Input.Len(), m.out); err != nil {
			b.Fatal(err)
		}
	}
	m.d = min(m.d, time.Since(start)/time.Duration(times))
}

func (m *best) nsPair() float64 { return float64(m.d.Nanoseconds()) / float64(m.job.Input.Len()) }

var scaleSets = []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull32", "hull512"}

// BenchmarkCores says how many times as fast two workers are as one, in rounds taken in
// turn. At least 1.8 is wanted of a machine with two cores of its own and nothing
// else to do; two threads of one core cannot give that.
func BenchmarkCores(b *testing.B) {
	if runtime.GOMAXPROCS(0) < 2 {
		b.Skip("one processor: there is nothing to compare")
	}
	for _, set := range scaleSets {
		b.Run(set, func(b *testing.B) {
			lib, pairs := repeated(b, set, 1<<14, 8)
			one, two := newBest(b, 1, lib, pairs), newBest(b, 2, lib, pairs)
			for b.Loop() {
				one.run(b, 1)
				two.run(b, 1)
			}
			b.ReportMetric(one.nsPair(), "ns/pair-one")
			b.ReportMetric(two.nsPair(), "ns/pair-two")
			b.ReportMetric(one.nsPair()/two.nsPair(), "times")
		})
	}
}

// BenchmarkMemory says how much longer a pair takes among a million in memory than among
// 10,000 in cache, the same pairs, one worker, in rounds taken in turn. At most 1.2 times
// is wanted.
func BenchmarkMemory(b *testing.B) {
	const rows, times = 10_000, 100
	for _, set := range scaleSets {
		b.Run(set, func(b *testing.B) {
			lib, few := repeated(b, set, rows, 1)
			_, many := repeated(b, set, rows, times)
			cached, memory := newBest(b, 1, lib, few), newBest(b, 1, lib, many)
			for b.Loop() {
				cached.run(b, 10)
				memory.run(b, 1)
			}
			b.ReportMetric(cached.nsPair(), "ns/pair-cache")
			b.ReportMetric(memory.nsPair(), "ns/pair-memory")
			b.ReportMetric(memory.nsPair()/cached.nsPair(), "times")
		})
	}
}
