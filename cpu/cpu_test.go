package cpu

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/kernels"
	"clearance/ref"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

var (
	_ dispatch.Backend = (*Backend)(nil)
	// Both packages have the same codes.
	_ = [1]int{}[uint8(batch.Separated)-uint8(ref.Separated)]
	_ = [1]int{}[uint8(batch.Touching)-uint8(ref.Touching)]
	_ = [1]int{}[uint8(batch.Penetrating)-uint8(ref.Penetrating)]
	_ = [1]int{}[uint8(batch.Undecided)-uint8(ref.Undecided)]
	_ = [1]int{}[uint8(batch.Invalid)-uint8(ref.Invalid)]
)

// everything is all columns.
var everything = batch.FileColumns | batch.ColBits

// mixed returns a library of all analytic kinds and n pairs of it: about a third
// penetrating, some rows invalid.
func mixed(t testing.TB, n int, seed uint64) (*batch.Library, *batch.Pairs) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	shapes := []geom.Shape{
		geom.Sphere{R: 0.5}, geom.Capsule{R: 0.2, HalfLength: 0.4}, geom.Cylinder{R: 0.3, HalfLength: 0.5},
		geom.Cone{R: 0.4, HalfLength: 0.5}, geom.Frustum{RBottom: 0.4, RTop: 0.2, HalfLength: 0.3},
		geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.4, Z: 0.6}}, geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.4, Z: 0.6}},
		geom.WithMargin(geom.Box{HalfExtents: r3.Vec{X: 0.3, Y: 0.3, Z: 0.1}}, 0.05), geom.Halfspace{},
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := batch.NewPairs(n)
	for i := range n {
		a := rng.IntN(len(shapes))
		b := rng.IntN(len(shapes) - 1) // half-spaces only against others
		p.SetRow(i, &batch.Row{ShapeA: int32(a), ShapeB: int32(b), PoseA: randomPose(rng), PoseB: randomPose(rng)})
		if i%97 == 50 {
			p.RotationA[4*i] = math.NaN()
		}
	}
	return lib, p
}

func randomPose(rng *rand.Rand) geom.Pose {
	c := func() float64 { return rng.NormFloat64() }
	return geom.Pose{Position: r3.Vec{X: 0.5 * c(), Y: 0.5 * c(), Z: 0.5 * c()},
		Rotation: quat.Number{Real: c(), Imag: c(), Jmag: c(), Kmag: c()}}
}

// solve runs a job of the whole input on b, chunk rows at a time.
func solve(t testing.TB, b *Backend, lib *batch.Library, in batch.Input, o batch.Options, chunk int) *batch.Results {
	t.Helper()
	job := &batch.Job{Library: lib, Input: in, Options: o}
	if _, err := dispatch.New(b).Run(context.Background(), job, dispatch.Options{ChunkRows: chunk}); err != nil {
		t.Fatal(err)
	}
	return job.Results
}

func newBackend(t testing.TB, workers int) *Backend {
	t.Helper()
	b, err := New(Options{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func size(full int) int {
	if testing.Short() {
		return full / 4
	}
	return full
}

// Normal and witnesses are in the world frame, for any pose of A.
func TestWorldFrame(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.5}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}}},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	half := math.Sqrt(0.5)
	turned := quat.Number{Real: half, Kmag: half} // local x points along world y
	pairs := batch.NewPairs(2)
	row := batch.Row{ShapeA: 1, ShapeB: 0,
		PoseA: geom.Pose{Position: r3.Vec{X: 10, Y: 20, Z: 30}, Rotation: turned},
		PoseB: geom.Pose{Position: r3.Vec{X: 10, Y: 24, Z: 30}, Rotation: quat.Number{Real: 3}}}
	pairs.SetRow(0, &row)
	row.ShapeA, row.ShapeB, row.PoseA, row.PoseB = 0, 1, row.PoseB, row.PoseA
	pairs.SetRow(1, &row)
	r := solve(t, newBackend(t, 1), lib, pairs, batch.Options{Precision: batch.Double}, 0)
	for i, want := range []struct{ normal, a, b r3.Vec }{
		{r3.Vec{Y: 1}, r3.Vec{X: 10, Y: 21, Z: 30}, r3.Vec{X: 10, Y: 23.5, Z: 30}},
		{r3.Vec{Y: -1}, r3.Vec{X: 10, Y: 23.5, Z: 30}, r3.Vec{X: 10, Y: 21, Z: 30}},
	} {
		if batch.Status(r.Status()[i]) != batch.Separated || math.Abs(r.Distance().At(i)-2.5) > 1e-11 ||
			!(r.Gap()[i] < 1e-11) {
			t.Errorf("row %d: %v, %g ± %g, want 2.5", i, batch.Status(r.Status()[i]), r.Distance().At(i), r.Gap()[i])
		}
		for _, c := range []struct {
			what string
			col  *batch.Values
			want r3.Vec
		}{{"normal", r.Normal(), want.normal}, {"witness_a", r.WitnessA(), want.a}, {"witness_b", r.WitnessB(),
			want.b}} {
			got := r3.Vec{X: c.col.At(3 * i), Y: c.col.At(3*i + 1), Z: c.col.At(3*i + 2)}
			if !(r3.Norm(r3.Sub(got, c.want)) < 1e-6) {
				t.Errorf("row %d: %s %v, want %v", i, c.what, got, c.want)
			}
		}
	}
}

// The interval of the float32 answer contains the answer in double precision.
func TestSinglePrecisionHoldsDouble(t *testing.T) {
	n := size(2000)
	lib, pairs := mixed(t, n, 7)
	b := newBackend(t, 2)
	single := solve(t, b, lib, pairs, batch.Options{}, 0)
	double := solve(t, b, lib, pairs, batch.Options{Precision: batch.Double}, 0)
	for i := range n {
		if batch.Status(double.Status()[i]) >= batch.Undecided {
			if batch.Status(double.Status()[i]) == batch.Invalid && batch.Status(single.Status()[i]) != batch.Invalid {
				t.Errorf("row %d is %v in single precision, invalid in double", i, batch.Status(single.Status()[i]))
			}
			continue
		}
		d, g := single.Distance().At(i), float64(single.Gap()[i])
		if !(math.Abs(d-double.Distance().At(i)) <= g+float64(double.Gap()[i])) {
			t.Errorf("row %d: %g ± %g in single precision, %g ± %g in double", i, d, g, double.Distance().At(i),
				double.Gap()[i])
		}
	}
}

// Nothing is allocated per row: a call allocates the same for 512 rows and for 4,096. With one worker, since
// the workspace of each worker grows until it has solved the rows that need most.
func TestNoAllocationPerRow(t *testing.T) {
	lib, pairs := mixed(t, 4096, 8)
	for i := range pairs.Len() { // invalid rows allocate their error
		if math.IsNaN(pairs.RotationA[4*i]) {
			pairs.RotationA[4*i] = 1
		}
	}
	for _, q := range []batch.Query{batch.Distance, batch.Collide} {
		o := batch.Options{Query: q, Columns: everything}
		b := newBackend(t, 1)
		job := &batch.Job{Library: lib, Input: pairs, Options: o}
		out := batch.NewResults(4096, &o)
		count := func(n int) float64 {
			return testing.AllocsPerRun(3, func() {
				if err := b.Run(context.Background(), job, 0, n, out); err != nil {
					t.Fatal(err)
				}
			})
		}
		count(4096) // grows the workspaces
		few, many := count(512), count(4096)
		if many > few {
			t.Errorf("%v: %g allocations for 512 rows, %g for 4096", q, few, many)
		}
	}
}

// hooked is a ball whose support function calls hook.
type hooked struct {
	geom.Sphere
	hook func()
}

func (h hooked) Kind() geom.Kind { return geom.KindConvex }
func (h hooked) CoreSupport(d r3.Vec) r3.Vec {
	h.hook()
	return h.Sphere.CoreSupport(d)
}

// hookedPairs returns n pairs of balls 3 m apart, row at of which calls hook.
func hookedPairs(t *testing.T, n, at int, hook func()) (*batch.Library, *batch.Pairs) {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.5}, hooked{geom.Sphere{R: 0.5}, hook}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := batch.NewPairs(n)
	pose := geom.IdentityPose()
	pose.Position.Z = 4
	for i := range n {
		p.SetRow(i, &batch.Row{PoseA: geom.IdentityPose(), PoseB: pose})
	}
	p.ShapeA[at] = 1
	return lib, p
}

func TestPanicNamesTheRow(t *testing.T) {
	lib, pairs := hookedPairs(t, 2000, 1234, func() { panic("broken shape") })
	b := newBackend(t, 3)
	o := batch.Options{}
	job := &batch.Job{Library: lib, Input: pairs, Options: o}
	err := b.Run(t.Context(), job, 1000, 2000, batch.NewResults(1000, &o))
	var p *PanicError
	if !errors.As(err, &p) || p.Row != 1234 || p.Value != "broken shape" || !strings.Contains(string(p.Stack),
		"CoreSupport") || !strings.Contains(err.Error(), "row 1234") {
		t.Fatalf("error %v", err)
	}
	// The back end still works.
	pairs.ShapeA[1234] = 0
	if r := solve(t, b, lib, pairs, o, 0); batch.Status(r.Status()[1234]) != batch.Separated ||
		math.Abs(r.Distance().At(1234)-3) > 1e-6 {
		t.Errorf("after a panic: %v, %g", batch.Status(r.Status()[1234]), r.Distance().At(1234))
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	lib, pairs := hookedPairs(t, 100*kernels.BlockRows, 3*kernels.BlockRows+5, cancel)
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: everything}}
	rep, err := dispatch.New(newBackend(t, 3), NewReference()).Run(ctx, job, dispatch.Options{})
	if !errors.Is(err, context.Canceled) || len(rep.Failovers) != 0 {
		t.Fatalf("error %v, failovers %v", err, rep.Failovers)
	}
	answered := 0
	for i, s := range job.Results.Status() {
		switch d := job.Results.Distance().At(i); batch.Status(s) {
		case batch.Separated:
			answered++
			if math.Abs(d-3) > 1e-6 {
				t.Fatalf("row %d: distance %g, want 3", i, d)
			}
		default:
			if batch.Status(s) != batch.Undecided || !math.IsNaN(d) || !job.Results.Bit(i) {
				t.Fatalf("row %d was not reached but is %v, %g", i, batch.Status(s), d)
			}
		}
	}
	if answered != rep.Done || answered < kernels.BlockRows || answered > 99*kernels.BlockRows {
		t.Errorf("%d rows answered, %d reported", answered, rep.Done)
	}
}

// A warm start along the answer's normal, given in the world frame, saves
// iterations of every solver; a wrong frame would cost some.
func TestWarmStart(t *testing.T) {
	for _, b := range []*Backend{newBackend(t, 2), NewReference()} {
		n := size(1200)
		lib, pairs := mixed(t, n, 10)
		for i := range n {
			pairs.ShapeA[i], pairs.ShapeB[i] = 6, 6 // ellipsoids
			pairs.PositionB[3*i] += 5
		}
		cold := solve(t, b, lib, pairs, batch.Options{}, 0)
		o := batch.Options{WarmStart: make([]float64, 3*n)}
		for i := range o.WarmStart {
			if v := cold.Normal().At(i); !math.IsNaN(v) {
				o.WarmStart[i] = v
			}
		}
		warm := solve(t, b, lib, pairs, o, 128)
		var coldSum, warmSum int
		for i := range n {
			coldSum += int(cold.Iterations()[i])
			warmSum += int(warm.Iterations()[i])
			if cold.Status()[i] != warm.Status()[i] {
				t.Errorf("%s, row %d: %v cold, %v warm", b.Name(), i, batch.Status(cold.Status()[i]),
					batch.Status(warm.Status()[i]))
			}
		}
		if !(float64(warmSum) < 0.7*float64(coldSum)) {
			t.Errorf("%s: %d iterations warm, %d cold", b.Name(), warmSum, coldSum)
		}
	}
}

func TestMethods(t *testing.T) {
	for _, c := range []struct {
		m    batch.Method
		a, b geom.Kind
		want ref.Method
	}{
		{batch.Auto, geom.KindBox, geom.KindBox, ref.MethodAuto},
		{batch.GJK, geom.KindEllipsoid, geom.KindEllipsoid, ref.MethodGJK},
		{batch.Nesterov, geom.KindEllipsoid, geom.KindSuperquadric, ref.MethodNesterov},
		{batch.Nesterov, geom.KindEllipsoid, geom.KindBox, ref.MethodNesterovNormalized},
		{batch.Polyak, geom.KindEllipsoid, geom.KindEllipsoid, ref.MethodPolyak},
		{batch.Polyak, geom.KindConvex, geom.KindConvex, ref.MethodPolyakNormalized},
	} {
		if got := method(c.m, c.a, c.b); got != c.want {
			t.Errorf("%v for %v against %v: %v, want %v", c.m, c.a, c.b, got, c.want)
		}
	}
}

func TestNew(t *testing.T) {
	if _, err := New(Options{Workers: -1}); err == nil || !strings.Contains(err.Error(), "-1 workers") {
		t.Errorf("-1 workers: %v", err)
	}
	b, r := newBackend(t, 0), NewReference()
	if b.Name() != "cpu" || r.Name() != "ref" || b.workers < 1 || r.workers != 1 {
		t.Errorf("%s with %d workers, %s with %d", b.Name(), b.workers, r.Name(), r.workers)
	}
	if d := b.Device(); d.Kind != batch.CPU || !d.Usable() || d.Name == "" || d.Driver == "" {
		t.Errorf("device %+v", d)
	}
	if _, err := b.Plan(&batch.Options{Query: batch.QueryCount}); !errors.Is(err, batch.ErrNotAvailable) {
		t.Errorf("a query that is not in the table: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// A reference solver answers every query that a back end serves, and no other one. What ref serves is refused by cpu
// where its own table lacks it.
func TestServedByReference(t *testing.T) {
	for q, f := range references {
		if has := servedByRef.Query(batch.Query(q)); has != (f != nil) {
			t.Errorf("query %v: ref serves it: %t, a solver answers it: %t", batch.Query(q), has, f != nil)
		}
	}
	for _, r := range servedByCPU {
		for _, m := range r.Methods {
			for _, p := range r.Precisions {
				if o := (batch.Options{Query: r.Query, Method: m, Precision: p}); !servedByRef.Has(&o) {
					t.Errorf("cpu serves %v, %v, %v, and ref does not", r.Query, m, p)
				}
			}
		}
	}
	b := newBackend(t, 1)
	b.serves = batch.Serves{{Query: batch.Distance, Methods: methods, Precisions: precisions}}
	o := batch.Options{Query: batch.Growth}
	job := &batch.Job{Options: o, Results: batch.NewResults(1, &o)}
	_, plan := b.Plan(&o)
	for name, err := range map[string]error{"Plan": plan, "Run": b.Run(t.Context(), job, 0, 1, job.Results)} {
		if !errors.Is(err, batch.ErrNotAvailable) || !strings.Contains(err.Error(), "growth") {
			t.Errorf("%s: a query that only ref serves: %v", name, err)
		}
	}
	if _, err := NewReference().Plan(&o); err != nil {
		t.Errorf("a query that only ref serves, by ref: %v", err)
	}
}

func BenchmarkRun(b *testing.B) {
	const n = 1 << 14
	lib, pairs := mixed(b, n, 11)
	for _, q := range []batch.Query{batch.Distance, batch.Penetration, batch.Collide} {
		b.Run(q.String(), func(b *testing.B) {
			back, o := newBackend(b, 1), batch.Options{Query: q}
			job := &batch.Job{Library: lib, Input: pairs, Options: o}
			out := batch.NewResults(n, &o)
			b.ReportAllocs()
			for b.Loop() {
				if err := back.Run(context.Background(), job, 0, n, out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpairs/s")
		})
	}
}
