package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
	"clearance/internal/testkit/rowcheck"
	"clearance/tests/need"
)

// TestBitIdentical: answers have the same bits whatever the run, the chunk, the order of
// the rows and the number of calls that the device is given at a time.
func TestBitIdentical(t *testing.T) {
	rows, paths := 200, []Options{{ChunkRows: 64}, {ChunkRows: 192, staged: true}, {unsorted: true}, {phases: true},
		{Proof: ProofTwoFloats, ChunkRows: 64}, {Proof: ProofTwoFloats, unsorted: true}}
	nesterov := batch.Options{Precision: batch.Double, Method: batch.Nesterov}
	growth := batch.Options{Query: batch.Growth, Precision: batch.Double, Columns: growthColumns}
	options := map[string][]batch.Options{
		"mixed":       {{}, {Query: batch.Growth}, {Query: batch.Collide, MaxIterations: 7}},
		"adversarial": {nesterov, growth},
		"smooth":      {{Precision: batch.Double, Method: batch.RTR}},
	}
	if need.All() {
		rows, paths = 500, append(paths, Options{ChunkRows: 4096})
		options["mixed"] = []batch.Options{{}, nesterov, growth}
		options["adversarial"] = options["mixed"]
	}
	c := processor(t)
	wants := map[string]*batch.Results{} // by set, question and proof
	plain := make([]int, rows)
	for i := range plain {
		plain[i] = i
	}
	order := slices.Clone(plain)
	rand.New(rand.NewPCG(3, 4)).Shuffle(rows, func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, opened := range paths {
		t.Run(pathName(opened), func(t *testing.T) {
			b := open(t, opened)
			for name, questions := range options {
				lib, pairs := set(t, name, 0, rows)
				pairs.ShapeA[77] = -1
				for k, o := range questions {
					check := func(b dispatch.Backend, in batch.Input, order []int, chunk int) {
						t.Helper()
						job := &batch.Job{Library: lib, Input: in, Options: o}
						run(t, job, dispatch.Options{ChunkRows: chunk}, b, c)
						key := fmt.Sprint(name, k, opened.Proof)
						if wants[key] == nil {
							wants[key] = job.Results
							return
						}
						for i, j := range order {
							if !rowcheck.Same(job.Results, i, wants[key], j) {
								t.Fatalf("%s: row %d has other bits", name, j)
							}
						}
					}
					for _, outer := range []int{64, 1 << 16} {
						check(b, pairs, plain, outer)
					}
					check(b, permuted{pairs, order}, order, 0)
					check(atOnce{b}, pairs, plain, 128)
				}
			}
		})
	}
}

// TestConcurrentCalls: calls of several goroutines on one device, on its own memory and on that of
// the host, give the bits of one call.
func TestConcurrentCalls(t *testing.T) {
	lib, pairs := set(t, "boxes", 0, 500)
	eachPath(t, func(t *testing.T, o Options) {
		o.ChunkRows = 64
		b, c := open(t, o), processor(t)
		whole := &batch.Job{Library: lib, Input: pairs}
		run(t, whole, dispatch.Options{}, b, c)
		do := dispatch.Options{Backend: b.Name(), ChunkRows: 192}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				job := &batch.Job{Library: lib, Input: pairs}
				if _, err := dispatch.New(atOnce{b}, c).Run(t.Context(), job, do); err != nil {
					t.Error(err)
					return
				}
				sameAll(t, "at the same time", job.Results, whole.Results)
			})
		}
		wg.Wait()
	})
}

// atOnce is a device that is given several calls at a time, as GPUs are.
type atOnce struct{ *Backend }

func (atOnce) CallsAtOnce() int { return callsAtOnce(vk.Discrete) }

// permuted is the rows of another input in another order.
type permuted struct {
	in    batch.Input
	order []int
}

func (p permuted) Len() int                { return len(p.order) }
func (p permuted) Row(i int, r *batch.Row) { p.in.Row(p.order[i], r) }

// TestWorlds: the worlds form gives the bits of the pair list that it stands for, whatever
// the chunks, with invalid bodies, wherever a call begins and ends.
func TestWorlds(t *testing.T) {
	c := processor(t)
	worlds := size(9, 9, 23)
	lib, w := stack(t, worlds, 3)
	w.Shapes[4] = 5000 // no such shape
	list := rowcheck.Listed(w)
	var r batch.Row
	warm := make([]float64, 3*w.Len())
	for i := range warm {
		warm[i] = math.Cos(float64(i))
	}
	warm[3*500] = math.NaN()
	var want [2]*batch.Results
	paths, calls := []Options{{ChunkRows: 64}, {ChunkRows: 256, staged: true}, {unsorted: true}}, []int{64, 1 << 16}
	if need.All() {
		paths, calls = append(paths, Options{}, Options{ChunkRows: 1000, staged: true}), append(calls, 320)
	}
	for _, o := range paths {
		t.Run(pathName(o), func(t *testing.T) {
			b := open(t, o)
			for k, q := range []batch.Options{{}, {Precision: batch.Double, WarmStart: warm}} {
				for _, in := range []batch.Input{w, list} {
					for _, outer := range calls {
						job := &batch.Job{Library: lib, Input: in, Options: q}
						run(t, job, dispatch.Options{ChunkRows: outer}, b, c)
						if want[k] == nil {
							want[k] = job.Results
							rowcheck.Audit(t, job)
						}
						sameAll(t, fmt.Sprintf("%+v, %T, chunks of %d", o, in, outer), job.Results, want[k])
					}
				}
			}
		})
	}
	invalid := 0
	for i := range w.Len() {
		_, err := (&batch.Job{Library: lib, Input: w, Options: batch.Options{WarmStart: warm}}).Read(i, &r)
		if (err != nil) != (want[1].Status()[i] == uint8(batch.Invalid)) {
			t.Fatalf("row %d is %v, batch says %v", i, batch.Status(want[1].Status()[i]), err)
		}
		if err != nil {
			invalid++
		}
	}
	if invalid < worlds*12 || invalid == w.Len() {
		t.Errorf("%d invalid rows", invalid)
	}
}

// TestCut: chunks cover every row once, fit, and worlds are not cut where they fit.
func TestCut(t *testing.T) {
	for _, p := range []int{1, 3, 63, 64, 100, 512} {
		w := &batch.Worlds{Shapes: make([]int32, 2), TemplateA: make([]int32, p)}
		for lo := range 200 {
			hi := lo + 3*p + 700
			for at := lo; at < hi; {
				n, room := cut(w, at, hi, 512)
				touched := (at+n-1)/p - at/p + 1
				if n < 1 || at+n > hi || room != touched*p || room > 512 || at+n < hi && (at+n)%p != 0 {
					t.Fatalf("%d templates, row %d of [%d, %d): %d rows, room for %d", p, at, lo, hi, n, room)
				}
				at += n
			}
		}
	}
}

// TestOrder: the order holds every row once, by key, and within a key as they came.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	var s sorter
	for _, n := range []int{1, 64, blockRows, blockRows + 1, 5*blockRows + 7, 100} {
		for _, keys := range []int{1, 5, 842} {
			s.begin(n, keys)
			for i := range s.keys {
				s.keys[i] = uint16(random.IntN(keys))
			}
			for lo := 0; lo < n; lo += blockRows {
				s.tally(lo, min(lo+blockRows, n))
			}
			if err := s.sort(); err != nil {
				t.Fatal(err)
			}
			want := make([]uint32, n)
			for i := range want {
				want[i] = uint32(i)
			}
			slices.SortStableFunc(want, func(a, b uint32) int { return int(s.keys[a]) - int(s.keys[b]) })
			if !slices.Equal(s.order, want) {
				t.Errorf("%d rows, %d keys: wrong order", n, keys)
			}
			if s.grouped() != (keys == 1) && n > 1 {
				t.Errorf("%d rows, %d keys: grouped is %v", n, keys, s.grouped())
			}
			slices.Sort(s.keys)
			s.begin(n, keys)
			for lo := 0; lo < n; lo += blockRows {
				s.tally(lo, min(lo+blockRows, n))
			}
			if !s.grouped() && n > keys*groupSize {
				t.Errorf("%d rows, %d keys, sorted: not grouped", n, keys)
			}
		}
	}
}

// TestSorted: mixed rows are sorted, rows of one class are not.
func TestSorted(t *testing.T) {
	b := open(t, Options{})
	for name, want := range map[string]bool{"mixed": true, "ellipsoids": false, "hull32": false} {
		lib, pairs := set(t, name, 0, 500)
		h := hold(t, b, lib, pairs).(*Held)
		if got := h.chunks[0].inputs.ordered; got != want {
			t.Errorf("%s: sorted is %v", name, got)
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
		for _, p := range []*float64{&r.PoseA.Position.X, &r.PoseA.Position.Y, &r.PoseB.Position.X,
			&r.PoseB.Position.Y} {
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
		rowcheck.Audit(t, z)
		if precision == batch.Single && !(rep.WorstGap <= 1e-6) {
			t.Errorf("worst gap %g", rep.WorstGap)
		}
		for i := range rows {
			da, dz := a.Results.Distance().At(i), z.Results.Distance().At(i)
			// Adding 700 rounds the positions to 2⁻⁴⁴.
			allowed := float64(a.Results.Gap()[i]+z.Results.Gap()[i]) + 8*0x1p-44
			if !(math.Abs(da-dz) <= allowed) {
				t.Errorf("%v, row %d: %.17g at the origin, %.17g away, allowed %g", precision, i, da, dz, allowed)
			}
		}
	}
}

// pathName is the name of a sub-test of a back end with these options.
func pathName(o Options) string {
	return fmt.Sprintf("%d rows, staged %t, unsorted %t, phases %t, proof %d", o.ChunkRows, o.staged, o.unsorted,
		o.phases, o.Proof)
}
