package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
)

// randomReduction is one of n rows: sets of up to most rows, groups of up to so many sets.
func randomReduction(rng *rand.Rand, n, most, sets int) *batch.Reduction {
	r := &batch.Reduction{Sets: []int32{0}, Groups: []int32{0}}
	for at := 0; at < n; {
		at = min(n, at+rng.IntN(most+1)) // a set may be empty
		r.Sets = append(r.Sets, int32(at))
	}
	for s := 0; s < len(r.Sets)-1; {
		s = min(len(r.Sets)-1, s+1+rng.IntN(sets))
		r.Groups = append(r.Groups, int32(s))
	}
	return r
}

// TestPortions: portions cover the rows of a chunk in order. Each is whole sets of one group, or rows of one set, of at
// most PortionRows rows.
func TestPortions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, most := range []int{1, 3, 40, 700, 2000} {
		const rows = 5000
		of := randomReduction(rng, rows, most, 8)
		var r reduction
		for at := 0; at < rows; {
			n := min(1+rng.IntN(2000), rows-at)
			r.cut(of, at, n)
			if r.portions[0] != 0 || r.sets[0] != 0 || int(r.sets[len(r.sets)-1]) != n ||
				int(r.portions[len(r.portions)-1]) != len(r.sets)-1 {
				t.Fatalf("rows %d to %d: portions %v of sets %v", at, at+n, r.portions, r.sets)
			}
			for p := range len(r.portions) - 1 {
				lo, hi := r.rows(p)
				sets := r.sets[r.portions[p] : r.portions[p+1]+1]
				whole := true
				for i, s := range sets {
					whole = whole && slices.Contains(of.Sets, int32(at)+int32(s))
					if i > 0 && s <= sets[i-1] {
						t.Fatalf("sets %v", sets)
					}
				}
				first, last := setOf(of.Sets, at+lo), setOf(of.Sets, at+hi-1)
				if hi-lo > layout.PortionRows || setOf(of.Groups, first) != setOf(of.Groups, last) ||
					!whole && (len(sets) != 2 || first != last) {
					t.Errorf("sets of up to %d rows: a portion of rows %d to %d, sets %d to %d", most, at+lo, at+hi,
						first, last)
				}
			}
			at += n
		}
	}
}

// setOf returns the range that contains x.
func setOf(ends []int32, x int) int {
	i := 0
	for int(ends[i+1]) <= x {
		i++
	}
	return i
}

// TestReduceShader: of random columns, with ties, zeros of both signs, denormal numbers, infinities and NaN, and with
// every kind of status word, the shader stores exactly the rows that batch.Reduction names and counts the others.
func TestReduceShader(t *testing.T) { eachPath(t, testReduceShader) }

func testReduceShader(t *testing.T, o Options) {
	b := open(t, Options{staged: o.staged, reduceAll: true})
	rng := rand.New(rand.NewPCG(2, 2))
	for round := range size(12, 60, 600) {
		options := batch.Options{Precision: batch.Precision(round % 2)}
		switch round % 3 {
		case 0:
			options.Columns = batch.AllColumns | batch.ColIterations | batch.ColMethod
		case 1:
			options.Columns = batch.ColStatus
		case 2:
			options.Columns = batch.ColStatus | batch.ColDistance | batch.ColGap
		}
		n := 1 + rng.IntN(1500)
		of := randomReduction(rng, n+100, []int{2, 20, 900}[round%5%3], 8)
		at := rng.IntN(100)
		job := &batch.Job{Options: options, Reduction: of}
		want, got := unanswered(n, &options), unanswered(n, &options)
		l := placementOf(want, n)
		columns := randomColumns(rng, &l, want)
		var r reduction
		if ok, err := r.prepare(b, job, at, n, &l); !ok || err != nil {
			t.Fatal(ok, err)
		}
		memory := runReduction(t, b, &r, columns)
		l.takeDown(columns, want, 0, 0, n)
		var sum batch.Tally
		r.take(&l, memory, got, 0, at, &sum)
		name := fmt.Sprintf("round %d, %d rows, precision %v, columns %v", round, n, options.Precision, options.Columns)
		checkReduced(t, name, &r, at, got, want, &sum)
		checkGarbage(t, name, rng, &r, &l, memory, got)
		free(r.blocks)
	}
}

// randomColumns fills the memory of columns.
func randomColumns(rng *rand.Rand, l *placement, out *batch.Results) []byte {
	memory := make([]byte, l.bytes+8)
	words := recordsIn[uint32](memory)
	for i := range words {
		words[i] = rng.Uint32()
	}
	numbers := []float64{1, 1, 1 + 1e-7, 2, 0, math.Copysign(0, -1), -1, -1, 1e-40, -1e-40, 1e30, 3}
	gaps := []float32{0, 1e-3, 1e-3, 1e-40, 1, 1e-7}
	if rng.IntN(2) == 0 {
		numbers = append(numbers, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, 5e-324)
		gaps = append(gaps, float32(math.Inf(1)), float32(math.NaN()), math.MaxFloat32)
	}
	bad := rng.IntN(3) // of eight
	for k := range l.n {
		if at, ok := l.at(batch.ColDistance); ok {
			v := numbers[rng.IntN(len(numbers))]
			if l.double {
				recordsIn[float64](memory[4*at:])[k] = v
			} else {
				recordsIn[float32](memory[4*at:])[k] = float32(v)
			}
		}
		if at, ok := l.at(batch.ColGap); ok {
			recordsIn[float32](memory[4*at:])[k] = gaps[rng.IntN(len(gaps))]
		}
		odd := rng.IntN(30) < bad
		if !l.packed {
			w := uint32(rng.IntN(3)) | uint32(rng.IntN(8))<<8 | rng.Uint32()<<16 |
				uint32(rng.IntN(len(layout.Solvers)))<<layout.SolverShift
			if odd {
				w = []uint32{^uint32(0), uint32(batch.Invalid), layout.Declined | layout.DeclinedGap<<8,
					uint32(len(layout.Solvers)) << layout.SolverShift, uint32(batch.Undecided)}[rng.IntN(5)]
			}
			words[l.statusAt()+uint32(k)] = w
			continue
		}
		code := uint32([]int{0, 0, 1, 2, 4, 5, 6, 13, 14}[rng.IntN(9)])
		if odd {
			code = uint32([]int{3, 7, 8, 9, 10, 11, 12, 15}[rng.IntN(8)])
		}
		word, shift := l.statusAt()+uint32(k/perWord), k%perWord*layout.PackedBits
		words[word] = words[word]&^(0xf<<shift) | code<<shift
	}
	return memory
}

// runReduction has the device reduce columns, and returns the output.
func runReduction(t *testing.T, b *Backend, r *reduction, columns []byte) []byte {
	t.Helper()
	var in mirror
	plan := plan{b: b}
	plan.input(&in, uint64(len(columns)))
	blocks, err := plan.allocate()
	if err != nil {
		t.Fatal(err)
	}
	defer free(blocks)
	copy(in.host.Bytes(), columns)
	if err := in.wrote(uint64(len(columns))); err != nil {
		t.Fatal(err)
	}
	s, err := b.device.NewStream(vk.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	if !b.direct {
		s.Copy(in.device, in.host)
		r.fill(s, r.bounds.fresh)
	} else {
		r.fill(s, 0)
	}
	s.Barrier(vk.StageTransfer, vk.StageCompute)
	f := flight{stream: s}
	f.recordPass(&recording{reduction: r.record}, &r.chain.steps[0], &memory{work: &work{columns: in}, reduce: r})
	if !b.direct {
		s.Copy(r.out.host.Slice(0, r.bytes), r.out.device.Slice(0, r.bytes))
	}
	if err := s.Submit(); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), b.options.Timeout); err != nil {
		t.Fatal(err)
	}
	if err := r.out.host.Slice(0, r.bytes).Invalidate(); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(r.out.host.Bytes()[:r.bytes])
}

// checkReduced compares reduced answers with all answers.
func checkReduced(t *testing.T, name string, r *reduction, at int, got, want *batch.Results, sum *batch.Tally) {
	t.Helper()
	var expect batch.Tally
	touch := 0.0
	if r.record.Flags&layout.FlagTouchAtOne != 0 {
		touch = 1
	}
	for p := range len(r.portions) - 1 {
		lo, hi := r.rows(p)
		stored := map[int]bool{}
		contacts := map[int]bool{} // sets
		least := [3]float64{math.Inf(1), math.Inf(1), math.Inf(1)}
		rows, greatest, contact := [3]int{-1, -1, -1}, 0, -1
		for s := r.portions[p]; s < r.portions[p+1]; s++ {
			first, end := int(r.sets[s]), int(r.sets[s+1])
			if !allAnswered(want, first, end) {
				for k := first; k < end; k++ {
					stored[k] = true
				}
				continue
			}
			for k := first; k < end; k++ {
				if status := int(want.Status()[k]); status > 0 {
					contacts[int(s)] = true
					if status > greatest {
						greatest, contact = status, k
					}
				}
				for i, v := range bounds(want, k, touch) {
					if v < least[i] {
						least[i], rows[i] = v, k
					}
				}
			}
		}
		for _, k := range append(rows[:], contact) {
			if k >= 0 {
				stored[k] = true
				if want.Status()[k] != 0 {
					delete(contacts, setIn(r.sets, k))
				}
			}
		}
		portion := batch.Portion{Row: int32(at + lo), Contacts: int32(len(contacts))}
		for k := lo; k < hi; k++ {
			if stored[k] != (got.Marks[k] != batch.Omitted) {
				t.Fatalf("%s: row %d of portion %d to %d, distances %v, has status %d", name, k, lo, hi,
					bounds(want, k, touch), got.Status()[k])
			}
			if stored[k] {
				sameRow(t, name, k, got, want)
				continue
			}
			expect.Rows++
			expect.Counts[want.Status()[k]]++
			if want.Method() != nil {
				expect.Solvers[want.Method()[k]]++
				expect.Iterations += int64(want.Iterations()[k])
				portion.Iterations += int64(want.Iterations()[k])
			}
		}
		if portion.Contacts != 0 || portion.Iterations != 0 {
			expect.Portions = append(expect.Portions, portion)
		}
	}
	if want.Method() == nil {
		sum.Solvers, sum.Iterations = expect.Solvers, expect.Iterations
	}
	if fmt.Sprint(*sum) != fmt.Sprint(expect) {
		t.Errorf("%s: tally\n%+v, want\n%+v", name, *sum, expect)
	}
}

func setIn(sets []uint32, k int) int {
	i := 0
	for int(sets[i+1]) <= k {
		i++
	}
	return i
}

// bounds are the distance of a row and its bounds as package rollout has them, of shapes that touch at the value touch;
// -Inf without distances, so that the first row is the least.
func bounds(r *batch.Results, k int, touch float64) [3]float64 {
	if r.Distance().Len() == 0 {
		return [3]float64{math.Inf(-1), math.Inf(1), math.Inf(1)}
	}
	d, gap := r.Distance().At(k), float64(r.Gap()[k])
	lower, upper := d, d
	if gap != 0 {
		lower, upper = math.Nextafter(d-gap, math.Inf(-1)), math.Nextafter(d+gap, math.Inf(1))
	}
	if batch.Status(r.Status()[k]) == batch.Separated {
		lower = max(lower, touch)
	}
	return [3]float64{d, lower, upper}
}

func allAnswered(r *batch.Results, lo, hi int) bool {
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	for k := lo; k < hi; k++ {
		if r.Status()[k] >= uint8(batch.Undecided) ||
			r.Distance().Len() > 0 && !(finite(r.Distance().At(k)) && finite(float64(r.Gap()[k]))) {
			return false
		}
	}
	return true
}

// sameRow compares all columns of a row bit for bit.
func sameRow(t *testing.T, name string, k int, got, want *batch.Results) {
	t.Helper()
	same := got.Status()[k] == want.Status()[k]
	for i, f := range [5][2]*batch.Values{{got.Distance(), want.Distance()}, {got.Normal(), want.Normal()},
		{got.WitnessA(), want.WitnessA()}, {got.WitnessB(), want.WitnessB()}, {got.Point(), want.Point()}} {
		per := 3
		if i == 0 {
			per = 1
		}
		for j := per * k; f[1].Len() > 0 && j < per*(k+1); j++ {
			same = same && math.Float64bits(f[0].At(j)) == math.Float64bits(f[1].At(j))
		}
	}
	if want.Gap() != nil {
		same = same && math.Float32bits(got.Gap()[k]) == math.Float32bits(want.Gap()[k])
	}
	if want.Method() != nil && want.Status()[k] < uint8(batch.StatusCount) {
		same = same && got.Method()[k] == want.Method()[k] && got.Iterations()[k] == want.Iterations()[k]
	}
	if !same {
		t.Fatalf("%s: row %d differs", name, k)
	}
}

// checkGarbage: output in which a word that tells rows is wrong leaves every row without an answer.
func checkGarbage(t *testing.T, name string, rng *rand.Rand, r *reduction, l *placement, memory []byte,
	clean *batch.Results) {
	t.Helper()
	q := &r.record
	portion := uint32(rng.IntN(int(q.Portions)))
	at := layout.ReducedHeader + portion*r.portionWords()
	words := recordsIn[uint32](memory)
	places := map[string]uint32{"the count of separated rows": layout.ReducedStatuses, "the number of entries": at + 1}
	if words[at+1]&0xffff > 0 {
		places["the first entry"] = at
		places["the row of an entry"] = r.firstEntry() + words[at]*q.Entry
	}
	for what, k := range places {
		broken := slices.Clone(memory)
		recordsIn[uint32](broken)[k] ^= 1 << 15
		out := unanswered(l.n, &batch.Options{Precision: clean.Precision, Columns: clean.Columns})
		var sum batch.Tally
		r.take(l, broken, out, 0, 0, &sum)
		for i, s := range out.Status() {
			if out.Marks[i] != batch.Unanswered || sum.Rows != 0 {
				t.Fatalf("%s: with %s garbled, row %d has status %d, and %d rows are omitted", name, what, i, s,
					sum.Rows)
			}
		}
	}
}

// TestReducedAnswers: a device answers the same with a reduction and without, in one memory or two, where no row is
// declined, where more rows are returned than are moved with the chunk, and where there is no room for them.
func TestReducedAnswers(t *testing.T) { eachPath(t, testReducedAnswers) }

func testReducedAnswers(t *testing.T, o Options) {
	lib, pairs := set(t, "mixed", 0, size(600, 1500, 10000))
	n := pairs.Len()
	rng := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct {
		what       string
		budget     uint32
		rows, sets int // at most, of a set and of a group
		omits      bool
	}{
		{"all answered", 0, 60, 8, true},
		{"some declined", 40, 4, 40, true},
		{"no room", 40, 60, 8, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			b := open(t, Options{ChunkRows: 256, staged: o.staged, budget: c.budget})
			d := dispatch.New(b, processor(t))
			for _, columns := range []batch.Columns{0, batch.ColDistance | batch.ColGap | batch.ColStatus} {
				whole := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: columns}}
				few := &batch.Job{Library: lib, Input: pairs, Options: whole.Options}
				few.Reduction = randomReduction(rng, n, c.rows, c.sets)
				var bytes [2]int64
				// The memory must not hold the answers already.
				for i, job := range []*batch.Job{few, whole} {
					rep, err := d.Run(t.Context(), job, dispatch.Options{Backend: b.Name(), ChunkRows: 500})
					if err != nil {
						t.Fatal(err)
					}
					bytes[i] = rep.BytesDown
				}
				omitted := few.Results.Marks.Count(batch.Omitted)
				for k, mark := range few.Results.Marks {
					if mark != batch.Omitted {
						sameRow(t, "reduced", k, few.Results, whole.Results)
					}
				}
				if sum := few.Reduction.Tally.Rows; sum != omitted || c.omits != (omitted > 0) ||
					c.omits != (bytes[0] < bytes[1]) {
					t.Errorf("%d rows of %d omitted, and %d counted; %d bytes, without %d", omitted, n, sum, bytes[0],
						bytes[1])
				}
			}
			if declined := b.Stats().Declined.Sum(); c.budget != 0 == (declined == 0) {
				t.Errorf("%d rows declined", declined)
			}
		})
	}
}

// TestReductionFails: a device that is lost in a call leaves no omitted rows, and no tally, of the chunks that another
// back end answers.
func TestReductionFails(t *testing.T) {
	for after := range 5 {
		t.Run(fmt.Sprintf("after %d", after), func(t *testing.T) {
			b, c := open(t, Options{ChunkRows: 128, staged: true, budget: uint32(40 * (after % 2))}), processor(t)
			lib, pairs := set(t, "boxes", 0, 1000)
			disarm := vk.Inject(vk.Fault{Call: "vkQueueSubmit", After: 3 + after, Times: -1,
				Result: vk.ErrorDeviceLost})
			defer disarm()
			job := &batch.Job{Library: lib, Input: pairs}
			job.Reduction = randomReduction(rand.New(rand.NewPCG(4, 4)), 1000, 20, 8)
			rep, err := dispatch.New(first{b}, c).Run(t.Context(), job, dispatch.Options{ChunkRows: 512})
			disarm()
			omitted := job.Results.Marks.Count(batch.Omitted)
			if err != nil || rep.Done != 1000 || rep.Counts[batch.Undecided] != 0 || len(rep.Failovers) != 1 ||
				omitted != job.Reduction.Tally.Rows || omitted == 1000 {
				t.Errorf("loss %d: report %+v, %d omitted, %d counted, error %v", after, rep, omitted,
					job.Reduction.Tally.Rows, err)
			}
		})
	}
}
