// Package broadphase finds all pairs of intersecting axis-aligned boxes.
//
// The answer is exact: a pair is reported if and only if the closed boxes have a common point, compared in float64
// without rounding. Boxes may be infinite in any direction. The same boxes give the same pairs in the same order,
// whatever the number of workers.
//
// A [Finder] builds a bounding volume hierarchy over the boxes and joins it with itself. The hierarchy was chosen by
// measurement against sort and sweep and against a grid: lab/notebook/broadphase.md.
package broadphase

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"

	"clearance/internal/fault"
	"clearance/kernels"
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
	// SIMD is the instruction set of the kernel, as [kernels.Choose] returns it: "" is none, which is Go. No answer
	// depends on it.
	SIMD string

	// Workers is the number of goroutines; 0 is one per processor. No answer depends on it.
	Workers int

	// MaxPairs is the largest number of pairs; 0 is [DefaultMaxPairs].
	MaxPairs int

	tree  tree
	tasks []search
	pairs Pairs
	total atomic.Int64
}

// DefaultMaxPairs is the default of [Finder.MaxPairs]: about 12 GiB of memory while they are found.
const DefaultMaxPairs = 1 << 30

// TooManyPairsError is the error of boxes that meet in more pairs than allowed.
type TooManyPairsError struct{ Max int }

func (e *TooManyPairsError) Error() string {
	return fmt.Sprintf("broadphase: more than %d pairs of boxes meet", e.Max)
}

const (
	tasksPerWorker = 8
	minTaskLeaves  = 64 // below that, starting a goroutine costs more than the work
)

// Find returns all pairs of boxes that meet. They are valid until the next call. The error is that of [Boxes.Check], a
// *[TooManyPairsError], or one about an instruction set that this machine cannot run.
func (f *Finder) Find(b *Boxes) (*Pairs, error) {
	if f.SIMD != "" && !kernels.Runs(f.SIMD) {
		_, err := kernels.Choose(f.SIMD)
		return nil, fmt.Errorf("broadphase: %w", err)
	}
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
	if !f.search(workers, int64(most)) {
		return nil, &TooManyPairsError{Max: most}
	}
	f.collect(workers)
	return &f.pairs, nil
}

// search finds the rows of all boxes, one task per range of leaves, and puts the length of row i into offset i+1. It
// reports whether there are at most the given number of pairs.
func (f *Finder) search(workers int, most int64) bool {
	leaves := f.tree.leaves()
	tasks := min(workers*tasksPerWorker, (leaves+minTaskLeaves-1)/minTaskLeaves)
	if workers == 1 {
		tasks = 1
	}
	for len(f.tasks) < tasks {
		f.tasks = append(f.tasks, search{})
	}
	f.tasks = f.tasks[:tasks]
	for i := range f.tasks {
		f.tasks[i].lo, f.tasks[i].hi = i*leaves/tasks, (i+1)*leaves/tasks
	}
	f.total.Store(0)
	if tasks == 1 { // without the closure, which would be allocated
		f.task(0, most)
	} else {
		parallel(workers, tasks, func(i int) { f.task(i, most) })
	}
	return f.total.Load() <= most
}

// task finds the rows of the leaves of a task.
func (f *Finder) task(i int, most int64) {
	s := &f.tasks[i]
	s.leaf, s.used = s.lo, 0
	for counted := 0; s.leaf < s.hi; counted = s.used {
		s.run(f.SIMD, &f.tree, f.pairs.Offset)
		if f.total.Add(int64(s.used-counted)) > most {
			return
		}
	}
}

// parallel calls f for 0 to n−1 on the given number of goroutines. A panic of f is raised on this one.
func parallel(workers, n int, f func(i int)) {
	err := fault.Each(context.Background(), workers, n, func(i int) error {
		f(i)
		return nil
	})
	if err != nil {
		panic(err)
	}
}

// collect puts the rows in the order of their boxes.
func (f *Finder) collect(workers int) {
	offset := f.pairs.Offset
	for i := range len(offset) - 1 {
		offset[i+1] += offset[i]
	}
	f.pairs.Partner = resized(f.pairs.Partner, int(offset[len(offset)-1]))
	if len(f.tasks) == 1 {
		f.place(0)
		return
	}
	parallel(workers, len(f.tasks), f.place)
}

// place copies the rows of a task to their places, and sorts those that are not.
func (f *Finder) place(task int) {
	s, offset := &f.tasks[task], f.pairs.Offset
	at := 0
	for _, id := range f.tree.ids[lanes*s.lo : lanes*s.hi] {
		if id < 0 {
			break
		}
		row := f.pairs.Partner[offset[id]:offset[id+1]]
		copy(row, s.rows[at:])
		if at += len(row); len(row) > sorted {
			slices.Sort(row)
		}
	}
}

// Boxes are n closed axis-aligned boxes, as one array per axis and side: box i is the set of points p with
// Lo[k][i] ≤ p[k] ≤ Hi[k][i] for the axes k = 0, 1, 2. Bounds may be infinite.
type Boxes struct {
	Lo, Hi [3][]float64 // [n] each
}

// MaxBoxes is the largest number of boxes of a call.
const MaxBoxes = 1 << maxBoxBits

const maxBoxBits = 28

// NewBoxes returns n boxes that all are the origin.
func NewBoxes(n int) *Boxes {
	b := new(Boxes)
	b.Resize(n)
	return b
}

// Resize sets the number of boxes. It reuses the memory; the boxes keep no particular values.
func (b *Boxes) Resize(n int) {
	for k := range 3 {
		b.Lo[k], b.Hi[k] = resized(b.Lo[k], n), resized(b.Hi[k], n)
	}
}

// Len returns the number of boxes.
func (b *Boxes) Len() int { return len(b.Lo[0]) }

// Set sets box i to the bounds lo and hi.
func (b *Boxes) Set(i int, lo, hi [3]float64) {
	for k := range 3 {
		b.Lo[k][i], b.Hi[k][i] = lo[k], hi[k]
	}
}

// BoxError is the error of a box that is not one.
type BoxError struct {
	Box    int // index
	Axis   int // 0, 1, 2
	Lo, Hi float64
}

func (e *BoxError) Error() string {
	return fmt.Sprintf("broadphase: box %d: from %g to %g along %c, want numbers in ascending order", e.Box, e.Lo, e.Hi,
		"xyz"[e.Axis])
}

// Check returns an error if the arrays differ in length, or a *[BoxError] for the first box with a NaN or with a lower
// bound above the upper one.
func (b *Boxes) Check() error {
	n := b.Len()
	if n > MaxBoxes {
		return fmt.Errorf("broadphase: %d boxes, want at most %d", n, MaxBoxes)
	}
	for k := range 3 {
		if len(b.Lo[k]) != n || len(b.Hi[k]) != n {
			return fmt.Errorf("broadphase: %d lower and %d upper bounds along %c, want %d", len(b.Lo[k]), len(b.Hi[k]),
				"xyz"[k], n)
		}
	}
	for i := range n {
		for k := range 3 {
			if !(b.Lo[k][i] <= b.Hi[k][i]) {
				return &BoxError{Box: i, Axis: k, Lo: b.Lo[k][i], Hi: b.Hi[k][i]}
			}
		}
	}
	return nil
}

// Meet reports whether boxes i and j have a common point.
func (b *Boxes) Meet(i, j int) bool {
	return b.Lo[0][i] <= b.Hi[0][j] && b.Lo[0][j] <= b.Hi[0][i] &&
		b.Lo[1][i] <= b.Hi[1][j] && b.Lo[1][j] <= b.Hi[1][i] &&
		b.Lo[2][i] <= b.Hi[2][j] && b.Lo[2][j] <= b.Hi[2][i]
}

// resized returns a slice of length n, in the memory of s if that suffices.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

// A search finds rows for the boxes of a range of leaves: for each box, in the order of the tree, the boxes of higher
// index that it meets. It belongs to one goroutine at a time.
type search struct {
	lo, hi int     // leaves
	leaf   int     // the first whose boxes have no row yet
	rows   []int32 // one after the other
	used   int     // numbers of rows

	near, next, lanes []int32 // scratch: leaves, and lanes of them

	kernel kernels.BoxSearch
}

const (
	sorted   = kernels.BoxSorted // the longest row that a search sorts
	spare    = kernels.BoxSpare  // numbers behind the end of an array
	minRoom  = 1 << 12
	fullMask = 1<<lanes - 1
)

// grow makes room for that many more numbers of rows, and for that many leaves.
func (s *search) grow(more, leaves int) {
	if n := s.used + more; n > len(s.rows)-spare {
		rows := make([]int32, max(n, 2*s.used, minRoom)+spare)
		copy(rows, s.rows[:min(s.used, len(s.rows))])
		s.rows = rows
	}
	if leaves > len(s.near)-spare {
		n := max(leaves, 2*len(s.near), minRoom) + spare
		s.near, s.next, s.lanes = make([]int32, n), make([]int32, n), make([]int32, n)
	}
}

// run finds rows by the kernel of an instruction set, or in Go for "", until the search ends or has found so many that
// more memory is needed.
func (s *search) run(simd string, t *tree, offset []int64) {
	if simd == "" {
		s.scan(t, offset)
		return
	}
	s.grow(s.kernel.Need())
	s.leaf, s.used = s.kernel.Run(simd, &kernels.BoxArrays{First: t.first, Blocks: &t.blocks[0].lo[0][0], IDs: t.ids,
		Last: t.last, Near: s.near, Next: s.next, Lanes: s.lanes, Rows: s.rows, Length: offset[1:]},
		s.leaf, s.hi, s.used)
}

// scan is the search in Go, of one leaf; rows.h of kernels/boxes describes it.
func (s *search) scan(t *tree, offset []int64) {
	s.near = append(s.near[:0], 0)
	for level := len(t.first) - 1; level > 0; level-- {
		s.next = s.next[:0]
		for _, i := range s.near {
			for m := t.blocks[t.first[level]+int(i)].meets(t.whole(s.leaf), s.leaf%lanes); m != 0; m &= m - 1 {
				s.next = append(s.next, lanes*i+int32(bits.TrailingZeros(m)))
			}
		}
		s.near, s.next = s.next, s.near
	}
	own, ids := &t.blocks[s.leaf], t.ids[lanes*s.leaf:][:lanes]
	s.lanes = s.lanes[:0]
	for _, i := range s.near { // boxes of this leaf that meet the other as a whole, and of lower index than some there
		m := uint(fullMask)
		if len(t.first) > 1 {
			m = own.meets(t.whole(int(i)), int(i)%lanes)
		}
		for l, id := range ids {
			if id >= t.last[i] {
				m &^= 1 << l
			}
		}
		s.lanes = append(s.lanes, int32(m))
	}
	s.rows = s.rows[:s.used]
	for l, id := range ids {
		if id < 0 {
			break
		}
		for k, i := range s.near {
			if s.lanes[k]>>l&1 == 0 {
				continue
			}
			for m := t.blocks[i].meets(own, l); m != 0; m &= m - 1 {
				if with := t.ids[lanes*int(i)+bits.TrailingZeros(m)]; with > id {
					s.rows = append(s.rows, with)
				}
			}
		}
		row := s.rows[s.used:]
		if len(row) <= sorted {
			sortRow(row)
		}
		offset[id+1] = int64(len(row))
		s.used = len(s.rows)
	}
	s.leaf++
}

// whole returns the block with the bounds of a leaf, in lane leaf%8.
func (t *tree) whole(leaf int) *block { return &t.blocks[t.first[1]+leaf/lanes] }

// meets returns the lanes whose boxes have a common point with a box, a lane of another block.
func (b *block) meets(with *block, lane int) (m uint) {
	x0, y0, z0 := with.lo[0][lane], with.lo[1][lane], with.lo[2][lane]
	x1, y1, z1 := with.hi[0][lane], with.hi[1][lane], with.hi[2][lane]
	for l := range lanes {
		if b.lo[0][l] <= x1 && x0 <= b.hi[0][l] && b.lo[1][l] <= y1 && y0 <= b.hi[1][l] && b.lo[2][l] <= z1 &&
			z0 <= b.hi[2][l] {
			m |= 1 << l
		}
	}
	return m
}

// sortRow sorts a short row.
func sortRow(s []int32) {
	for i := 1; i < len(s); i++ {
		x, j := s[i], i
		for ; j > 0 && s[j-1] > x; j-- {
			s[j] = s[j-1]
		}
		s[j] = x
	}
}
