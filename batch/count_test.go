package batch

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"clearance/geom"
)

// slowCount is a Count in one loop over the rows, each of which is read.
func slowCount(j *Job, out *Results, most int) Count {
	c := Count{WorstGapRow: -1, Bad: -1, MaxInvalid: most}
	query := j.Options.Query.Info()
	cutOff, hasCutOff := j.Options.EffectiveCutOff()
	var row Row
	for i, s := range out.Status() {
		c.Rows++
		c.Statuses[s]++
		c.Solvers[out.Method()[i]]++
		c.Iterations += int64(out.Iterations()[i])
		if Status(s) == Invalid && len(c.Invalid) < most {
			c.Invalid = append(c.Invalid, i)
		}
		if Status(s) >= Undecided || hasCutOff && out.Distance().At(i) > cutOff {
			continue
		}
		j.Input.Row(i, &row)
		scale := query.Tolerance.Scale(j.Library.PairSize(row.ShapeA, row.ShapeB), out.Distance().At(i))
		if g := float64(out.Gap()[i]) / scale; scale > 0 && g > c.WorstGap {
			c.WorstGap, c.WorstGapRow = g, i
		}
	}
	return c
}

// rowsOnly hides the columns of an input.
type rowsOnly struct{ Input }

// countJob returns a job and results of n rows: of few gaps and sizes, so that many rows have the worst one.
func countJob(t *testing.T, rng *rand.Rand, o Options, n int) *Job {
	t.Helper()
	lib, err := NewLibrary([]geom.Shape{geom.Halfspace{}, geom.Sphere{R: 1e-3}, geom.Sphere{R: 0.1}, geom.Sphere{R: 7}},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPairs(n)
	o.Columns = ColDistance | o.Counted()
	r := NewResults(n, &o)
	worst := rng.IntN(5)
	for i := range n {
		p.ShapeA[i], p.ShapeB[i] = rng.Int32N(4), rng.Int32N(4)
		size := lib.PairSize(p.ShapeA[i], p.ShapeB[i])
		d := rng.Float64()*2 - 0.5
		a := Answer{Status: Status(rng.IntN(3)), Distance: d, Lower: d, Upper: d + size*1e-7*float64(rng.IntN(1+worst)),
			Iterations: rng.IntN(1 << 16), Solver: Solver(rng.IntN(int(SolverCount)))}
		switch rng.IntN(20) {
		case 0:
			r.PutFailure(i, Invalid)
			continue
		case 1:
			a.Status, a.Upper = Undecided, d+size
		}
		r.Put(i, &a)
	}
	return &Job{Library: lib, Input: p, Options: o, Results: r}
}

// TestCount: rows that are counted in blocks of any size, by any number of workers, have the count of one loop.
func TestCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	cut := Options{HasCutOff: true, CutOff: 0.3}
	for round := range 60 {
		o := []Options{{}, {Precision: Double}, cut, {Query: Growth}, {Query: Penetration}}[round%5]
		n := rng.IntN(700)
		job := countJob(t, rng, o, n)
		const most = 7
		want := slowCount(job, job.Results, most)
		if round%2 == 1 {
			job.Input = rowsOnly{job.Input}
		}
		for _, workers := range []int{1, 2, 7, 64} {
			all := make([]Count, workers)
			for i := range all {
				all[i].MaxInvalid = most
				all[i].Reset()
			}
			for lo := 0; lo < n; {
				hi := min(n, lo+1+rng.IntN(100))
				all[rng.IntN(workers)].Add(job, 0, job.Results, lo, hi)
				lo = hi
			}
			rng.Shuffle(workers, func(i, k int) { all[i], all[k] = all[k], all[i] })
			got := Count{MaxInvalid: most}
			got.Reset()
			for i := range all {
				got.Merge(&all[i])
			}
			got.row = Row{}
			if len(got.Invalid) == 0 {
				got.Invalid = nil
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("round %d, %d workers:\n%+v, want\n%+v", round, workers, got, want)
			}
		}
	}
}

// TestCountBad: the first code that does not exist is found, of a status or of a solver.
func TestCountBad(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	job := countJob(t, rng, Options{}, 1100)
	out := job.Results.Slice(1000, 1100)
	out.Status()[60], out.Method()[40] = uint8(StatusCount), uint8(SolverCount)
	var c Count
	c.Reset()
	c.Add(job, 1000, out, 50, 100)
	if c.Bad != 1060 {
		t.Errorf("bad row %d, want 1060", c.Bad)
	}
	c.Add(job, 1000, out, 0, 50)
	if c.Bad != 1040 {
		t.Errorf("bad row %d, want 1040", c.Bad)
	}
}

// TestMarks: runs of marks are those of a loop, and marks that are nil take none.
func TestMarks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	for range 200 {
		m := make(Marks, rng.IntN(50))
		for range 3 {
			lo := rng.IntN(len(m) + 1)
			m.Set(lo, lo+rng.IntN(len(m)-lo+1), uint8(rng.IntN(3)))
		}
		for code := range uint8(3) {
			again := make(Marks, len(m))
			for lo, hi := m.NextRun(0, code); lo >= 0; lo, hi = m.NextRun(hi, code) {
				again.Set(lo, hi, 1)
			}
			for i := range m {
				if (again[i] == 1) != (m[i] == code) {
					t.Fatalf("marks %v: runs of %d are %v", m, code, again)
				}
			}
			if n := again.Count(1); n != m.Count(code) {
				t.Errorf("%d of %v, want %d", m.Count(code), m, n)
			}
		}
	}
	Marks(nil).Set(0, 5, Answered)
}

// TestPackBits: words of bits are those of a loop over statuses, whatever the codes.
func TestPackBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	for n := range 200 {
		statuses := make([]uint8, n)
		for i := range statuses {
			statuses[i] = []uint8{0, 0, 1, 2, 3, 4, 0x80, 0xff}[rng.IntN(8)]
		}
		r := NewResults(n, &Options{Columns: ColBits})
		r.PackBits(statuses)
		want := make([]uint64, words(n))
		for i, s := range statuses {
			if s != 0 {
				want[i/BitsPerWord] |= 1 << (i % BitsPerWord)
			}
		}
		if !slices.Equal(r.Bits(), want) {
			t.Fatalf("%d rows: bits %x, want %x", n, r.Bits(), want)
		}
	}
}
