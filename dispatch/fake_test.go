package dispatch

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// fake is a back end whose answers are a simple function of the row: the distance is the
// x coordinate of B minus 2, and the status follows from it.
type fake struct {
	name   string
	device batch.Device
	refuse error             // what Plan returns
	at     func(i int) error // called before row i of the input is answered; an error ends Run
	skip   int               // row that is not answered, if not 0
	closed bool

	rows   atomic.Int64 // answers given
	runs   atomic.Int64
	plans  atomic.Int64 // that were asked for
	tables atomic.Int64 // Serves that were asked for
}

func (f *fake) Name() string         { return f.name }
func (f *fake) Device() batch.Device { return f.device }
func (f *fake) Serves() batch.Serves { f.tables.Add(1); return fakeServes }
func (f *fake) Plan(o *batch.Options) (batch.Plan, error) {
	f.plans.Add(1)
	if err := fakeServes.Check(f.name, o); err != nil {
		return nil, err
	}
	return f, f.refuse
}
func (f *fake) Close() error { f.closed = true; return nil }

func (f *fake) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	f.runs.Add(1)
	if job.Plan != batch.Plan(f) {
		return errors.New("a job without its plan")
	}
	var r batch.Row
	for i := lo; i < hi; i++ {
		if f.at != nil {
			if err := f.at(i); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.skip != 0 && i == f.skip {
			continue
		}
		if _, err := job.Read(i, &r); err != nil {
			out.PutFailure(i-lo, batch.Invalid)
			continue
		}
		a := fakeAnswer(r.PoseB.Position.X)
		out.Put(i-lo, &a)
		f.rows.Add(1)
	}
	return nil
}

func fakeAnswer(x float64) batch.Answer {
	a := batch.Answer{Distance: x - 2, Lower: x - 2 - 1e-9, Upper: x - 2, Normal: r3.Vec{X: 1}, Iterations: 2,
		Point: r3.Vec{Y: x}}
	switch {
	case a.Lower > 0:
		a.Status = batch.Separated
	case a.Upper < 0:
		a.Status = batch.Penetrating
	default:
		a.Status = batch.Touching
	}
	return a
}

var fakeServes = func() (s batch.Serves) {
	for _, q := range []batch.Query{batch.Distance, batch.Collide, batch.Penetration, batch.Growth} {
		s = append(s, batch.Served{
			Query: q, Methods: []batch.Method{batch.Auto, batch.GJK}, Precisions: []batch.Precision{batch.Single,
				batch.Double},
		})
	}
	return s
}()

var errDevice = errors.New("the device is gone")

// failAt returns a hook that fails at a row.
func failAt(row int) func(int) error {
	return func(i int) error {
		if i == row {
			return errDevice
		}
		return nil
	}
}

// testPairs returns n pairs of unit balls; row i lies at x = i mod 5.
func testPairs(t testing.TB, n int) (*batch.Library, *batch.Pairs) {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := batch.NewPairs(n)
	for i := range n {
		p.SetRow(i, &batch.Row{PoseA: geom.IdentityPose(), PoseB: at(float64(i % 5))})
	}
	return lib, p
}

func at(x float64) geom.Pose {
	p := geom.IdentityPose()
	p.Position.X = x
	return p
}

// checkRows asserts that rows [lo, hi) hold the answers of the fake.
func checkRows(t *testing.T, r *batch.Results, in batch.Input, lo, hi int) {
	t.Helper()
	var row batch.Row
	for i := lo; i < hi; i++ {
		in.Row(i, &row)
		a := fakeAnswer(row.PoseB.Position.X)
		if r.Distance().At(i) != a.Distance || batch.Status(r.Status()[i]) != a.Status || r.Iterations()[i] != 2 ||
			r.Gap()[i] < 1e-9 || r.Gap()[i] > 1.001e-9 {
			t.Fatalf("row %d: %v, distance %g, want %v, %g", i, batch.Status(r.Status()[i]), r.Distance().At(i),
				a.Status,
				a.Distance)
		}
		if r.Bits() != nil && r.Bit(i) != (a.Status != batch.Separated) {
			t.Fatalf("row %d: wrong bit", i)
		}
	}
}

// checkUnanswered asserts that rows [lo, hi) look like rows that were not reached.
func checkUnanswered(t *testing.T, r *batch.Results, lo, hi int) {
	t.Helper()
	for i := lo; i < hi; i++ {
		if batch.Status(r.Status()[i]) != batch.Undecided || !math.IsNaN(r.Distance().At(i)) ||
			!math.IsInf(float64(r.Gap()[i]), 1) || !math.IsNaN(r.Normal().At(3*i)) || r.Iterations()[i] != 0 {
			t.Fatalf("row %d was not reached but is %v, %g", i, batch.Status(r.Status()[i]), r.Distance().At(i))
		}
		if r.Bits() != nil && !r.Bit(i) {
			t.Fatalf("row %d was not reached but its bit is clear", i)
		}
	}
}

// used returns results that hold old answers, all of them separated.
func used(n int, o *batch.Options) *batch.Results {
	r := batch.NewResults(n, o)
	for i := range n {
		r.Put(i, &batch.Answer{Distance: 7, Lower: 7, Upper: 7})
	}
	r.PackBits(make([]uint8, n))
	return r
}

func sum(counts [batch.StatusCount]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
