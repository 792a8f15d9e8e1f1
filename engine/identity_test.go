package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
)

// sameRow reports whether row i of a has the bits of row j of b, in every column.
func sameRow(a, b *batch.Results, i, j int) bool {
	floats := func(x, y *batch.Floats, n int) bool {
		for k := range n {
			if math.Float64bits(x.At(n*i+k)) != math.Float64bits(y.At(n*j+k)) {
				return false
			}
		}
		return true
	}
	return a.Status[i] == b.Status[j] && a.Iterations[i] == b.Iterations[j] &&
		math.Float32bits(a.Gap[i]) == math.Float32bits(b.Gap[j]) &&
		floats(&a.Distance, &b.Distance, 1) && floats(&a.Normal, &b.Normal, 3) &&
		floats(&a.WitnessA, &b.WitnessA, 3) && floats(&a.WitnessB, &b.WitnessB, 3)
}

// TestBitIdentical: answers have the same bits whatever the run, the chunk, the order of
// the rows, the form of the input, and what other goroutines ask at the same time.
func TestBitIdentical(t *testing.T) {
	const rows = 1000
	c := processor(t)
	for _, name := range []string{"mixed", "adversarial"} {
		lib, pairs := set(t, name, 0, rows)
		pairs.ShapeA[77] = -1
		for _, o := range []batch.Options{{}, {Precision: batch.Double, Method: batch.Nesterov}} {
			var want *batch.Results
			check := func(t *testing.T, b *Backend, in batch.Input, order []int, chunk int) {
				t.Helper()
				job := &batch.Job{Library: lib, Input: in, Options: o}
				run(t, job, dispatch.Options{ChunkRows: chunk}, b, c)
				if want == nil {
					want = job.Results
					return
				}
				for i, j := range order {
					if !sameRow(job.Results, want, i, j) {
						t.Fatalf("%s: row %d has other bits", name, j)
					}
				}
			}
			plain := make([]int, rows)
			for i := range plain {
				plain[i] = i
			}
			for _, chunk := range []int{64, 192, 4096} {
				b := open(t, Options{ChunkRows: chunk})
				for _, outer := range []int{64, 640, 1 << 16} {
					check(t, b, pairs, plain, outer)
				}
				order := slices.Clone(plain)
				rand.New(rand.NewPCG(3, 4)).Shuffle(rows, func(i, j int) { order[i], order[j] = order[j], order[i] })
				check(t, b, permuted{pairs, order}, order, 0)
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() { check(t, b, pairs, plain, 320) })
				}
				wg.Wait()
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// permuted is the rows of another input in another order.
type permuted struct {
	in    batch.Input
	order []int
}

func (p permuted) Len() int                { return len(p.order) }
func (p permuted) Row(i int, r *batch.Row) { p.in.Row(p.order[i], r) }

// TestWorlds: the worlds form gives the bits of the pair list that it stands for.
func TestWorlds(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	lib, pairs := set(t, "mixed", 0, 40)
	w := &batch.Worlds{Shapes: make([]int32, 8), TemplateA: []int32{0, 2, 4, 1}, TemplateB: []int32{1, 3, 5, 7}}
	for i := range w.Shapes {
		w.Shapes[i] = pairs.ShapeB[i]
	}
	for i := range 5 * 8 { // five worlds of eight bodies
		w.Poses = append(w.Poses, pairs.PositionB[3*i:3*i+3]...)
		w.Poses = append(w.Poses, pairs.RotationB[4*i:4*i+4]...)
	}
	list := batch.NewPairs(w.Len())
	var r batch.Row
	for i := range w.Len() {
		w.Row(i, &r)
		list.SetRow(i, &r)
	}
	jobs := [2]*batch.Job{{Library: lib, Input: w}, {Library: lib, Input: list}}
	for _, job := range jobs {
		run(t, job, dispatch.Options{}, b, c)
		audit(t, job)
	}
	for i := range w.Len() {
		if !sameRow(jobs[0].Results, jobs[1].Results, i, i) {
			t.Errorf("row %d has other bits", i)
		}
	}
}

// TestFarAway: 1 km from the origin the answers keep their contract, and distances of
// the moved rows are what they were but for the rounding of the poses.
func TestFarAway(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	const rows = 600
	lib, near := set(t, "mixed", 0, rows)
	far := batch.NewPairs(rows)
	var r batch.Row
	for i := range rows {
		near.Row(i, &r)
		for _, p := range []*float64{&r.PoseA.Position.X, &r.PoseA.Position.Y, &r.PoseB.Position.X, &r.PoseB.Position.Y} {
			*p += 700
		}
		far.SetRow(i, &r)
	}
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		o := batch.Options{Precision: precision}
		a := &batch.Job{Library: lib, Input: near, Options: o}
		z := &batch.Job{Library: lib, Input: far, Options: o}
		run(t, a, dispatch.Options{}, b, c)
		rep := run(t, z, dispatch.Options{}, b, c)
		audit(t, z)
		if precision == batch.Single && !(rep.WorstGap <= 1e-6) {
			t.Errorf("worst gap %g", rep.WorstGap)
		}
		for i := range rows {
			da, dz := a.Results.Distance.At(i), z.Results.Distance.At(i)
			// Adding 700 rounds the positions to 2⁻⁴⁴.
			allowed := float64(a.Results.Gap[i]+z.Results.Gap[i]) + 8*0x1p-44
			if !(math.Abs(da-dz) <= allowed) {
				t.Errorf("%v, row %d: %.17g at the origin, %.17g away, allowed %g", precision, i, da, dz, allowed)
			}
		}
	}
}
