package derive

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// queried are pairs of all kinds, some of them invalid, as a query takes them.
func queried(t *testing.T) (*batch.Library, *batch.Pairs) {
	job := jobOfTest(t, batch.Double)
	return job.Library, job.Input.(*batch.Pairs)
}

func newDispatcher() *dispatch.Dispatcher { return dispatcherOf(cpu.NewReference()) }

func dispatcherOf(b dispatch.Backend) *dispatch.Dispatcher {
	d := dispatch.New(b)
	d.SetDifferentiator(&Differentiator{})
	return d
}

// partly is a back end that computes the derivatives of every second row, and leaves numbers in those of others.
type partly struct{ dispatch.Backend }

func (partly) Derives(o *batch.Options, columns batch.Columns) bool {
	return (o.Derivative.Mode == Exact || o.Derivative.Mode == Gumbel) && columns != batch.ColDDistance
}

func (b partly) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	answers := *out
	answers.Drop(batch.DerivedColumns)
	if err := b.Backend.Run(ctx, job, lo, hi, &answers); err != nil {
		return err
	}
	smoothness := slices.Clone(out.Column(batch.ColSmoothness).U8)
	if err := new(Differentiator).Differentiate(ctx, job, lo, lo, out, nil); err != nil {
		return err
	}
	for i, s := range smoothness {
		if (lo+i)%2 == 0 {
			continue
		}
		out.Column(batch.ColSmoothness).U8[i] = s
		for _, c := range (out.Columns & batch.DerivedColumns &^ batch.ColSmoothness).Each() {
			out.Column(c).Set(c.Info().Width*i, 17)
		}
	}
	return nil
}

// sink collects the results of a stream.
type sink struct{ all *batch.Results }

func (s *sink) Write(r *batch.Results) error {
	at := s.all.N
	s.all.Resize(at + r.N)
	s.all.CopyRows(at, r, 0, r.N, r.Columns)
	return nil
}

// TestQuery: the columns of a query are those of a pass over its answers, whatever the chunks, in a call, a stream and
// a held batch, in every mode; rows without an answer have zeros. A back end may compute the derivatives of some rows.
func TestQuery(t *testing.T) {
	t.Run("none by the back end", func(t *testing.T) { testQuery(t, newDispatcher()) })
	t.Run("some by the back end", func(t *testing.T) { testQuery(t, dispatcherOf(partly{cpu.NewReference()})) })
}

func testQuery(t *testing.T, d *dispatch.Dispatcher) {
	lib, pairs := queried(t)
	n := pairs.Len()
	ctx := context.Background()
	defer d.Close()
	for _, c := range []struct {
		o    batch.Derivative
		add  batch.Columns
		from batch.Query
		p    batch.Precision
	}{
		{batch.Derivative{}, batch.DerivedColumns, batch.Distance, batch.Double},
		{batch.Derivative{}, batch.ColDDistance, batch.Distance, batch.Single},
		{batch.Derivative{Mode: Gumbel}, batch.DerivedColumns, batch.Growth, batch.Single},
		{batch.Derivative{Mode: Gaussian, Seed: 3}, batch.DerivedColumns, batch.Penetration, batch.Double},
		{batch.Derivative{Mode: Zeroth, Seed: 3, Samples: 3}, batch.ColDNormal | batch.ColSmoothness, batch.Distance,
			batch.Double},
	} {
		o := batch.Options{Query: c.from, Precision: c.p, Columns: Needs | batch.ColGap, Derivative: c.o}
		plain := &batch.Job{Library: lib, Input: pairs, Options: o}
		if _, err := d.Run(ctx, plain, dispatch.Options{}); err != nil {
			t.Fatal(err)
		}
		want := batch.NewResults(n, &batch.Options{Columns: c.add, Precision: c.p})
		pass := Pass{Options: c.o, Answers: d.Answers("")}
		if err := pass.Run(ctx, plain, want); err != nil {
			t.Fatal(err)
		}
		// The answers may be left out.
		o.Columns = c.add | batch.ColDistance | batch.ColBits
		check := func(name string, got *batch.Results) {
			t.Helper()
			if got.N != n || got.Columns != o.Columns {
				t.Fatalf("%s: %d rows with the columns %v", name, got.N, got.Columns)
			}
			zero := 0
			for i := range n {
				if diff := got.Differs(i, want, i); diff != 0 {
					t.Fatalf("%s, %v, %v, row %d: column %v differs", name, c.o.Mode, c.from, i, diff)
				}
				if batch.Status(plain.Results.Status()[i]) > batch.Penetrating {
					zero++
					for _, one := range c.add.Each() {
						for k := range one.Info().Width {
							if v := got.Column(one).At(one.Info().Width*i + k); v != 0 {
								t.Fatalf("%s, row %d has no answer, and %v is %g", name, i, one, v)
							}
						}
					}
				}
			}
			if zero == 0 {
				t.Errorf("%s: every row has an answer", name)
			}
		}
		for _, rows := range []int{0, 64, 192} {
			job := &batch.Job{Library: lib, Input: pairs, Options: o}
			if _, err := d.Run(ctx, job, dispatch.Options{ChunkRows: rows}); err != nil {
				t.Fatal(err)
			}
			check("call", job.Results)
		}
		b, err := d.Hold(ctx, lib, pairs, o, dispatch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		held, _, err := b.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		check("held batch", held)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		o.Columns &^= batch.ColBits // of which a sink takes whole words
		s := &sink{batch.NewResults(0, &o)}
		if _, err := d.RunStream(ctx, lib, pairs, o, s, dispatch.Options{ChunkRows: 64}); err != nil {
			t.Fatal(err)
		}
		check("stream", s.all)
	}
}

// TestQueryRefused: without a differentiator, or for a rollout, derivatives are refused by name.
func TestQueryRefused(t *testing.T) {
	lib, pairs := queried(t)
	o := batch.Options{Columns: batch.ColDDistance}
	d := dispatch.New(cpu.NewReference())
	defer d.Close()
	_, err := d.Run(context.Background(), &batch.Job{Library: lib, Input: pairs, Options: o}, dispatch.Options{})
	if !errors.Is(err, batch.ErrNotAvailable) {
		t.Errorf("without a differentiator: %v", err)
	}
	r := batch.RolloutOptions{Options: o}
	if err := r.Check(); err == nil || !strings.Contains(err.Error(), "d_distance") {
		t.Errorf("a rollout: %v", err)
	}
}

// failing fails or panics after it has written something.
type failing struct{ panics bool }

func (failing) Needs() batch.Columns { return Needs }

func (f failing) Differentiate(_ context.Context, _ *batch.Job, _, _ int, out *batch.Results,
	_ batch.Answers) error {
	out.Column(batch.ColDDistance).Set(0, math.NaN())
	if f.panics {
		panic("no memory")
	}
	return errors.New("no memory")
}

func (f failing) Complete(ctx context.Context, job *batch.Job, lo, number int, out *batch.Results,
	answers batch.Answers) error {
	return f.Differentiate(ctx, job, lo, number, out, answers)
}

func (failing) Multiply(context.Context, *batch.Job, int, *batch.Product, batch.Answers) error {
	return errors.New("no memory")
}

// TestQueryFails: the error of a differentiator is that of the call, which leaves no derivatives.
func TestQueryFails(t *testing.T) {
	lib, pairs := queried(t)
	for _, f := range []failing{{false}, {true}} {
		for _, rows := range []int{0, 64} {
			d := dispatch.New(cpu.NewReference())
			d.SetDifferentiator(f)
			job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: batch.ColDDistance}}
			_, err := d.Run(context.Background(), job, dispatch.Options{ChunkRows: rows})
			if err == nil || !strings.Contains(err.Error(), "no memory") {
				t.Errorf("error %v", err)
			}
			for i, v := range job.Results.Column(batch.ColDDistance).F32 {
				if v != 0 {
					t.Fatalf("derivative %d is %g", i, v)
				}
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestQueryEnds: a call that ends early leaves derivatives of the rows that have an answer, and zeros elsewhere.
func TestQueryEnds(t *testing.T) {
	lib, pairs := queried(t)
	d := newDispatcher()
	defer d.Close()
	ctx, cancel := context.WithCancel(context.Background())
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: batch.ColDDistance | batch.ColStatus}}
	_, err := d.Run(ctx, job, dispatch.Options{ChunkRows: 64, Progress: func(int, int) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for i := range job.Results.N {
		for k := range 12 {
			v := job.Results.Column(batch.ColDDistance).At(12*i + k)
			if math.IsNaN(v) || v != 0 && batch.Status(job.Results.Status()[i]) > batch.Penetrating {
				t.Fatalf("row %d: %g", i, v)
			}
		}
	}
}

// TestNormalBound: the bound holds for ellipsoids of known distance, and grows with the gap as its root.
func TestNormalBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	a, b := shapesOfTest(t)["ellipsoid"], geom.Sphere{R: 0.3}
	for range 200 {
		r := placedAtGap(rng, a, b, 0.2)
		var w Workspace
		d := w.Exact(&r)
		value, n, _, _ := d.Answer()
		// Another point of A, beside its witness, and the point of the sphere that is nearest to it.
		beside := r3.Add(n, r3.Scale(0.1, testkit.Normal(rng)))
		q := geom.Pose{Rotation: r.PoseA.Rotation}
		point := r.PoseA.Apply(a.CoreSupport(q.ApplyInverse(r3.Unit(beside))))
		toward := r3.Sub(r.PoseB.Position, point)
		normal := r3.Unit(toward)
		length := r3.Norm(toward) - b.R
		bound := geom.NormalBound(value, 1e-12, 1e-14, normal, point, r3.Add(point, r3.Scale(length, normal)))
		if far := r3.Norm(r3.Sub(n, normal)); !(far <= bound) || far == 0 {
			t.Fatalf("the normals differ by %g, proved %g", far, bound)
		}
		if want := math.Sqrt(length*length-value*value) / length; bound < 1 && bound > 2*want {
			t.Fatalf("the bound is %g, want about %g", bound, want)
		}
	}
	if b := geom.NormalBound(-0.1, 1e-9, 0, r3.Vec{Z: 1}, r3.Vec{}, r3.Vec{Z: -0.1}); !math.IsInf(b, 1) {
		t.Errorf("a penetrating row is bounded by %g", b)
	}
}

// TestMultiply: products of a dispatcher are those of a pass over its answers, in every mode, and sums by body are
// those of the rows of each world.
func TestMultiply(t *testing.T) {
	lib, pairs := queried(t)
	d := newDispatcher()
	defer d.Close()
	ctx := t.Context()
	rng := rand.New(rand.NewPCG(33, 9))
	random := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	n := pairs.Len()
	for _, mode := range []Mode{Exact, Gaussian} {
		for _, kind := range []batch.ProductKind{batch.VJP, batch.ValueVJP, batch.JVP} {
			in, out := kind.Widths()
			job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Precision: batch.Double,
				Columns: Needs | batch.ColGap, Derivative: batch.Derivative{Mode: mode, Seed: 5}}}
			p := batch.Product{Kind: kind, Operands: random(in * n), Results: make([]float64, out*n)}
			want := batch.Product{Kind: kind, Operands: p.Operands, Results: make([]float64, out*n)}
			if kept, err := d.Multiply(ctx, job, &p, dispatch.Options{}); err != nil || kept != 0 {
				t.Fatalf("%v, kind %d: %d rows kept, %v", mode, kind, kept, err)
			}
			if _, err := d.Run(ctx, job, dispatch.Options{}); err != nil {
				t.Fatal(err)
			}
			if err := (&Pass{Options: job.Options.Derivative}).Multiply(ctx, job, &want); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p.Results, want.Results) {
				t.Errorf("%v, kind %d: other products than those of a pass", mode, kind)
			}
		}
	}
	w := &batch.Worlds{Shapes: []int32{0, 5, 6}, TemplateA: []int32{0, 1, 0}, TemplateB: []int32{1, 2, 2}}
	for range 4 * 3 {
		p := testkit.Pose(rng, 1)
		w.Poses = append(w.Poses, p.Position.X, p.Position.Y, p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
			p.Rotation.Jmag, p.Rotation.Kmag)
	}
	job := &batch.Job{Library: lib, Input: w, Options: batch.Options{Precision: batch.Double}}
	rows := batch.Product{Kind: batch.VJP, Operands: random(AnswerWidth * 12), Results: make([]float64, TwistWidth*12)}
	sums := batch.Product{Kind: batch.VJP, Operands: rows.Operands, Sums: &batch.Sums{},
		Results: random(BodyWidth * 12)}
	for _, p := range []*batch.Product{&rows, &sums} {
		if _, err := d.Multiply(ctx, job, p, dispatch.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	for world := range 4 {
		for j := range BodyWidth { // body 1 is B of the first row and A of the second
			at := TwistWidth * 3 * world
			want := rows.Results[at+BodyWidth+j] + rows.Results[at+TwistWidth+j]
			if got := sums.Results[BodyWidth*(3*world+1)+j]; got != want {
				t.Errorf("world %d, number %d: %g, want %g", world, j, got, want)
			}
		}
	}
	for _, bad := range []batch.Product{{}, {Kind: batch.VJP, Operands: rows.Operands},
		{Kind: batch.JVP, Sums: &batch.Sums{}}} {
		if _, err := d.Multiply(ctx, job, &bad, dispatch.Options{}); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
