package tests

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/engine"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/rollout/sweep"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// simplices are points, segments and triangles with coordinates of the grid of exact arithmetic.
type simplices struct {
	lib      *batch.Library
	vertices [][]r3.Vec
	origin   int32 // the shape that is one point there
}

// newSimplices returns as many shapes of each kind with vertices on the grid, half of them on a coarse one, so that
// some are parallel or in one plane.
func newSimplices(t *testing.T, rng *rand.Rand, each int) *simplices {
	t.Helper()
	s := &simplices{}
	var shapes []geom.Shape
	for k := range 3 * each {
		grid := exactUnit
		if k/3%2 == 1 {
			grid = 0.25
		}
		var v []r3.Vec
		for range k%3 + 1 {
			v = append(v, onGrid(r3.Scale(0.5, testkit.Normal(rng)), grid))
		}
		c, err := geom.NewConvex(v)
		if err != nil {
			t.Fatal(err)
		}
		shapes, s.vertices = append(shapes, c), append(s.vertices, v)
	}
	s.origin = int32(len(shapes))
	point, err := geom.NewConvex([]r3.Vec{{}})
	if err != nil {
		t.Fatal(err)
	}
	shapes, s.vertices = append(shapes, point), append(s.vertices, []r3.Vec{{}})
	if s.lib, err = batch.NewLibrary(shapes, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// exactRow is a sweep of B by p + t·v relative to A at rest. Its vertices and vectors are on the grid.
type exactRow struct {
	a, b int32
	p, v r3.Vec
}

// exactRows implements [sweep.Input].
type exactRows []exactRow

func (r exactRows) Len() int { return len(r) }

func (r exactRows) Row(i int, row *sweep.Row) {
	id := geom.IdentityPose()
	*row = sweep.Row{ShapeA: r[i].a, ShapeB: r[i].b, LocalA: id, LocalB: id, FromA: id, ToA: id, FromB: id, ToB: id}
	row.FromB.Position, row.ToB.Position = r[i].p, r3.Add(r[i].p, r[i].v)
}

// draw returns a row: a point of A and one of B meet at a time in the motion, or miss one another by a distance from
// 1e-12 to 1, or by none. The points are within the shapes, on an edge or at a vertex.
func (s *simplices) draw(rng *rand.Rand) exactRow {
	r := exactRow{a: rng.Int32N(int32(len(s.vertices))), b: rng.Int32N(int32(len(s.vertices)))}
	unit, time := exactUnit, rng.Float64()
	if rng.IntN(4) == 0 {
		unit, time = 0.25, 0.5 // coplanar, collinear and coincident features
	}
	point := func(v []r3.Vec) (x r3.Vec) {
		w, sum := make([]float64, len(v)), 0.0
		for k := range w {
			if rng.IntN(8) > 0 {
				w[k] = rng.ExpFloat64()
			}
			sum += w[k]
		}
		if sum == 0 {
			return v[0]
		}
		for k := range w {
			x = r3.Add(x, r3.Scale(w[k]/sum, v[k]))
		}
		return x
	}
	meet := r3.Sub(point(s.vertices[r.a]), point(s.vertices[r.b]))
	if rng.IntN(2) == 0 {
		meet = r3.Add(meet, r3.Scale(math.Pow(10, -12*rng.Float64()), testkit.Unit(rng)))
	}
	r.v = onGrid(r3.Scale(math.Pow(10, 1-3*rng.Float64()), testkit.Normal(rng)), unit)
	r.p = onGrid(r3.Sub(meet, r3.Scale(time, r.v)), unit)
	return r
}

// wrong returns why an answer contradicts exact arithmetic, "" if it does not, and whether the shapes meet.
//
// Shapes that meet are in contact, from a time in [T0, T1] on or, where T1 is earlier, nearer than the tolerance then.
// Shapes that do not meet are free of contact, or nearer than the tolerance at T1.
func (s *simplices) wrong(r *exactRow, a *sweep.Answer, o sweep.Options) (reason string, meet bool) {
	va, vb := s.vertices[r.a], s.vertices[r.b]
	first := firstContact(va, vb, r.p, r.v)
	meet = first != nil
	switch {
	case a.State == sweep.Free && !meet:
		if !(a.Lower > 0 && a.Lower <= a.Upper) || a.T0 != 1 {
			return "free", meet
		}
		return "", meet
	case a.State != sweep.Contact:
		return fmt.Sprint(a.State), meet
	case a.T1-a.T0 > o.TimeTolerance:
		return "wider than the tolerance", meet
	case meet && first.Cmp(new(big.Rat).SetFloat64(a.T0)) < 0:
		return "a contact before T0", meet
	case meet && first.Cmp(new(big.Rat).SetFloat64(a.T1)) <= 0:
		return "", meet
	}
	time := new(big.Rat).SetFloat64(a.T1)
	at, v := rational(r.p), rational(r.v)
	for i := range at {
		at[i].Add(at[i], v[i].Mul(v[i], time))
	}
	const rounding = 1e-11 // of positions below 100
	if limit := o.Tolerance*s.lib.PairSize(r.a, r.b) + rounding; !within(limit, va, vb, at) {
		return fmt.Sprintf("a distance above %g at T1", limit), meet
	}
	return "", meet
}

// TestSweepsAreExact compares first contacts of points, segments and triangles with those in rational arithmetic: no
// row is undecided, no contact is missed, and none is claimed of shapes that stay apart by more than the tolerance.
func TestSweepsAreExact(t *testing.T) {
	checkExactSweeps(t, 4000, 300)
}

// TestMillionSweepsAreExact is the same with 10⁶ rows on the CPU.
func TestMillionSweepsAreExact(t *testing.T) {
	need.Full(t, "TestSweepsAreExact has fewer rows")
	checkExactSweeps(t, 1_000_000, 20_000)
}

func checkExactSweeps(t *testing.T, rows, others int) {
	rng := rand.New(rand.NewPCG(31, uint64(rows)))
	s := newSimplices(t, rng, 40)
	in := make(exactRows, rows)
	for i := range in {
		in[i] = s.draw(rng)
	}
	in[0] = exactRow{a: s.origin, b: s.origin} // at rest, without a size
	o := sweep.Options{TimeTolerance: sweep.DefaultTimeTolerance, Tolerance: sweep.DefaultTolerance}
	fast, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer fast.Close()
	want := s.sweep(t, fast, in, o)
	states := s.compare(t, in, want, o)
	if states[sweep.Free] < rows/10 || states[sweep.Contact] < rows/10 {
		t.Errorf("rows by state: %v: the set is one-sided", states)
	}
	backends := []dispatch.Backend{cpu.NewReference()}
	if b, err := engine.Open(engine.Options{}); err == nil {
		backends = append(backends, b)
	} else {
		t.Logf("not compared with a Vulkan device: %v", err)
	}
	for _, b := range backends {
		defer b.Close()
		got := s.sweep(t, b, in[:others], o)
		s.compare(t, in[:others], got, o)
		differ := 0
		for i := range got {
			if got[i].State == want[i].State {
				continue
			}
			differ++
			if reason := s.mayDiffer(&in[i], &got[i], &want[i], o); reason != "" {
				t.Errorf("row %d: %s on %s, %s on the CPU: %s", i, got[i].State, b.Name(), want[i].State, reason)
			}
		}
		t.Logf("%s: %d of %d rows have another state than on the CPU", b.Name(), differ, others)
	}
}

// mayDiffer returns why two answers to one row must not have other states, "" if they may: only where the shapes do not
// meet, and the least distance is between half of the tolerance and all of it. Then the one is in contact, since a pose
// nearer than the tolerance was proved, and the other free, since no pose was that the solver asked about.
func (s *simplices) mayDiffer(r *exactRow, a, b *sweep.Answer, o sweep.Options) string {
	free, contact := a, b
	if a.State == sweep.Contact {
		free, contact = b, a
	}
	near := o.Tolerance * s.lib.PairSize(r.a, r.b)
	switch {
	case free.State != sweep.Free || contact.State != sweep.Contact:
		return "neither is free"
	case firstContact(s.vertices[r.a], s.vertices[r.b], r.p, r.v) != nil:
		return "they meet"
	case !(free.Lower >= near/2) || !(contact.Upper <= near):
		return fmt.Sprintf("the least distance is at least %g and at most %g, and the tolerance is %g", free.Lower,
			contact.Upper, near)
	}
	return ""
}

// sweep answers rows.
func (s *simplices) sweep(t *testing.T, b dispatch.Backend, in exactRows, o sweep.Options) []sweep.Answer {
	t.Helper()
	d := dispatch.New(b)
	options := o.OfDistances()
	series, err := d.Series(&options, dispatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := sweep.Run(t.Context(), s.lib, in, o, func(ctx context.Context, job *batch.Job) error {
		_, err := series.Run(ctx, job)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// compare fails the test for every answer that contradicts exact arithmetic, and returns the number of rows by state.
func (s *simplices) compare(t *testing.T, in exactRows, out []sweep.Answer, o sweep.Options) (n [sweep.StateCount]int) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	meets, wrong := 0, 0
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(in); i += workers {
				reason, meet := s.wrong(&in[i], &out[i], o)
				mu.Lock()
				n[out[i].State]++
				if meet {
					meets++
				}
				if reason != "" {
					if wrong++; wrong <= 10 {
						t.Errorf("row %d: %s: %+v of %v and %v by %+v, they meet: %v", i, reason, out[i],
							s.vertices[in[i].a], s.vertices[in[i].b], in[i], meet)
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d rows: %d meet; %d free, %d in contact, %d undecided; %d wrong", len(in), meets, n[sweep.Free],
		n[sweep.Contact], n[sweep.Undecided], wrong)
	return n
}
