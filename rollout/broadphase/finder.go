package broadphase

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Pairs are pairs of boxes: box i meets the boxes Partner[Offset[i]] to Partner[Offset[i+1]−1], which are those with an
// index above i, in ascending order.
type Pairs struct {
	Offset  []int64 // [n+1]
	Partner []int32 // [Offset[n]]
}

// Len returns the number of pairs.
func (p *Pairs) Len() int { return len(p.Partner) }

// Of returns the boxes with an index above i that box i meets.
func (p *Pairs) Of(i int) []int32 { return p.Partner[p.Offset[i]:p.Offset[i+1]] }

// A Finder finds pairs, in memory that it keeps for the next call. The zero value is ready. A Finder is used by one
// goroutine at a time.
type Finder struct {
	// Workers is the number of goroutines; 0 is one per processor. No answer depends on it.
	Workers int

	// MaxPairs is the largest number of pairs; 0 is [DefaultMaxPairs].
	MaxPairs int

	tree  tree
	found []hits // per task
	pairs Pairs
	total atomic.Int64
}

// DefaultMaxPairs is the default of [Finder.MaxPairs]: 12 GiB of memory while they are found.
const DefaultMaxPairs = 1 << 30

// TooManyPairsError is the error of boxes that meet in more pairs than allowed.
type TooManyPairsError struct{ Max int }

func (e *TooManyPairsError) Error() string {
	return fmt.Sprintf("broadphase: more than %d pairs of boxes meet", e.Max)
}

// pair is two box indices.
type pair struct{ a, b int32 }

// hits are the pairs of one task.
type hits struct{ pairs []pair }

const (
	tasksPerWorker = 8
	minTaskLeaves  = 64   // below that, starting a goroutine costs more than the work
	allowedAtOnce  = 4096 // pairs that a task may find before it asks whether there are too many
)

// Find returns all pairs of boxes that meet. They are valid until the next call. The error is that of [Boxes.Check], or
// a *[TooManyPairsError].
func (f *Finder) Find(b *Boxes) (*Pairs, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	n := b.Len()
	f.pairs.Offset = resized(f.pairs.Offset, n+1)
	clear(f.pairs.Offset)
	f.pairs.Partner = f.pairs.Partner[:0]
	if n < 2 {
		return &f.pairs, nil
	}
	workers := f.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	f.tree.build(b, workers)
	most := f.MaxPairs
	if most <= 0 {
		most = DefaultMaxPairs
	}
	if !f.join(b, workers, int64(most)) {
		return nil, &TooManyPairsError{Max: most}
	}
	f.collect(workers)
	return &f.pairs, nil
}

// join finds the pairs, one task per range of leaves. It reports whether there are at most the given number.
func (f *Finder) join(b *Boxes, workers int, most int64) bool {
	leaves := len(f.tree.levels[0])
	tasks := min(workers*tasksPerWorker, (leaves+minTaskLeaves-1)/minTaskLeaves)
	if workers == 1 {
		tasks = 1
	}
	for len(f.found) < tasks {
		f.found = append(f.found, hits{})
	}
	f.found = f.found[:tasks]
	f.total.Store(0)
	if tasks == 1 { // without the closure, which would be allocated
		f.task(b, 0, leaves, &f.found[0], most)
		return f.total.Load() <= most
	}
	parallel(workers, tasks, func(task int) {
		f.task(b, task*leaves/tasks, (task+1)*leaves/tasks, &f.found[task], most)
	})
	return f.total.Load() <= most
}

// task finds the pairs of leaves lo to hi.
func (f *Finder) task(b *Boxes, lo, hi int, h *hits, most int64) {
	h.pairs = h.pairs[:0]
	counted := 0
	for leaf := lo; leaf < hi; leaf++ {
		h.pairs = f.tree.joinLeaf(b, leaf, h.pairs)
		if more := len(h.pairs) - counted; more >= allowedAtOnce {
			counted = len(h.pairs)
			if f.total.Add(int64(more)) > most {
				return
			}
		}
	}
	f.total.Add(int64(len(h.pairs) - counted))
}

// parallel calls f for 0 to n−1 on the given number of goroutines.
func parallel(workers, n int, f func(i int)) {
	workers = min(workers, n)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	wg.Wait()
}

// collect puts the pairs found into rows by their first box: count, then fill, then sort each row.
func (f *Finder) collect(workers int) {
	offset := f.pairs.Offset
	n := len(offset) - 1
	for t := range f.found {
		for _, p := range f.found[t].pairs {
			offset[p.a+1]++
		}
	}
	for i := range n {
		offset[i+1] += offset[i]
	}
	f.pairs.Partner = resized(f.pairs.Partner, int(offset[n]))
	partner := f.pairs.Partner
	for t := range f.found {
		for _, p := range f.found[t].pairs {
			partner[offset[p.a]] = p.b
			offset[p.a]++
		}
	}
	// Each offset now is that of the next row.
	copy(offset[1:], offset[:n])
	offset[0] = 0
	if workers == 1 || n < minSortedRows {
		f.sortRows(0, n)
		return
	}
	parallel(workers, (n+minSortedRows-1)/minSortedRows, func(i int) {
		f.sortRows(i*minSortedRows, min(n, (i+1)*minSortedRows))
	})
}

// minSortedRows is the number of rows that a goroutine sorts at a time.
const minSortedRows = 4096

// sortRows sorts rows lo to hi.
func (f *Finder) sortRows(lo, hi int) {
	for r := lo; r < hi; r++ {
		sortRow(f.pairs.Partner[f.pairs.Offset[r]:f.pairs.Offset[r+1]])
	}
}

// sortRow sorts the partners of one box.
func sortRow(s []int32) {
	if len(s) > 16 {
		slices.Sort(s)
		return
	}
	for i := 1; i < len(s); i++ {
		x, j := s[i], i
		for ; j > 0 && s[j-1] > x; j-- {
			s[j] = s[j-1]
		}
		s[j] = x
	}
}
