package broadphase

import (
	"math"
	"slices"

	"clearance/kernels"
)

const (
	lanes      = kernels.BoxLanes // boxes per leaf, and children of a node
	maxSpread  = 1.5              // ratio of spreads from which on a new order is made
	largeRatio = 16               // times the median extent: boxes that are kept apart in the order
	parallelBy = 1024 * lanes     // leaves below which a branch is built by one goroutine
)

var _ = [1]struct{}{}[kernels.BoxLevels-(maxBoxBits/3+1)] // levels of MaxBoxes

// block is the bounds of eight boxes, one per lane. A lane without a box has NaN, which compares as false.
type block struct {
	lo, hi [3][lanes]float64
}

// tree is a hierarchy of bounds without pointers. Its lowest level are the boxes in the order of their leaves, a block
// for each leaf. Of each level above, the lane i of block j has the bounds of block 8·j+i of the level below. The
// root is one block.
type tree struct {
	items  []item
	spread float64   // of the last order made, see place
	ids    []int32   // of the boxes, in the order of items; -1 where the last leaf has no box
	blocks []block   // of all levels, from the boxes up
	first  []int     // block of each level
	last   []int32   // the largest box of each leaf
	extent []float64 // scratch of largeExtent
}

// item is a box while the order is made.
type item struct {
	center [3]float64
	id     int32
}

// build makes the tree of checked boxes.
//
// The order is that of a k-d tree: a range is split where its centers extend farthest, at the largest power of two of
// leaves below their number, so that every branch is a node of the levels above. Only ranks decide, so the tree is as
// good for clusters of any scale. Boxes much larger than the median come last, in an order of their own; in a leaf
// with small boxes each of them would make the leaf large.
func (t *tree) build(b *Boxes, workers int) {
	n := b.Len()
	if n != len(t.items) || !(t.place(b) <= maxSpread*t.spread) {
		t.items = resized(t.items, n)
		small := t.order(b)
		t.split(t.items[:small], workers)
		t.split(t.items[small:], workers)
		t.number()
		t.spread = t.place(b)
	}
	t.bound()
}

// place copies the boxes in the order of the leaves, with the bounds of leaves, and returns the sum over all leaves and
// axes of how far the lower bounds extend, by which orders are compared: boxes that have moved little keep the order of
// the last call. The pairs do not depend on it.
func (t *tree) place(b *Boxes) (spread float64) {
	var none block
	for leaf := range t.leaves() {
		above, lane := &none, 0
		if len(t.first) > 1 {
			above, lane = t.whole(leaf), leaf%lanes
		}
		ids := (*[lanes]int32)(t.ids[lanes*leaf:])
		for axis := range 3 {
			spread += t.blocks[leaf].place(axis, ids, b.Lo[axis], b.Hi[axis], above, lane)
		}
	}
	return spread
}

// place copies the bounds of boxes along an axis into a leaf, and their union into a lane of the block above. It
// returns how far the lower bounds extend, 0 for infinitely far.
func (b *block) place(axis int, ids *[lanes]int32, los, his []float64, above *block, lane int) (spread float64) {
	least, most, last := math.Inf(1), math.Inf(-1), math.Inf(-1)
	for l, id := range ids {
		if id < 0 {
			b.lo[axis][l], b.hi[axis][l] = math.NaN(), math.NaN()
			continue
		}
		lo, hi := los[id], his[id]
		b.lo[axis][l], b.hi[axis][l] = lo, hi
		least, last, most = min(least, lo), max(last, lo), max(most, hi)
	}
	above.lo[axis][lane], above.hi[axis][lane] = least, most
	if spread = last - least; spread < math.Inf(1) { // else infinite, or NaN
		return spread
	}
	return 0
}

// number lists the boxes of the leaves.
func (t *tree) number() {
	t.levels(len(t.items))
	for i := range t.ids {
		t.ids[i] = -1
		if i < len(t.items) {
			t.ids[i] = t.items[i].id
		}
	}
	t.last = resized(t.last, t.leaves())
	for leaf := range t.last {
		t.last[leaf] = slices.Max(t.ids[lanes*leaf:][:lanes])
	}
}

// levels makes room for n boxes.
func (t *tree) levels(n int) {
	t.first = t.first[:0]
	blocks, of := 0, n
	for {
		of = (of + lanes - 1) / lanes
		t.first = append(t.first, blocks)
		blocks += of
		if of == 1 {
			break
		}
	}
	t.blocks = resized(t.blocks, blocks)
	t.ids = resized(t.ids, lanes*t.leaves())
}

// leaves is the number of leaves.
func (t *tree) leaves() int {
	if len(t.first) == 1 {
		return 1
	}
	return t.first[1]
}

// clear has no box in a lane.
func (b *block) clear(lane int) {
	for k := range 3 {
		b.lo[k][lane], b.hi[k][lane] = math.NaN(), math.NaN()
	}
}

// order fills the items, small boxes first, and returns their number, a multiple of lanes unless all are small.
func (t *tree) order(b *Boxes) (small int) {
	n := b.Len()
	limit := t.largeExtent(b)
	end := n
	for i := range n {
		it := item{id: int32(i)}
		extent := 0.0
		for k := range 3 {
			lo, hi := b.Lo[k][i], b.Hi[k][i]
			it.center[k] = middle(lo, hi)
			extent = max(extent, hi-lo)
		}
		if extent <= limit {
			t.items[small] = it
			small++
		} else {
			end--
			t.items[end] = it
		}
	}
	if small < n {
		small -= small % lanes
	}
	return small
}

// largeExtent returns the extent above which boxes are large: largeRatio times the median of a sample.
func (t *tree) largeExtent(b *Boxes) float64 {
	const sample = 256
	n := b.Len()
	if n <= 4*lanes {
		return math.Inf(1)
	}
	t.extent = t.extent[:0]
	step := max(1, n/sample)
	for i := 0; i < n; i += step {
		e := 0.0
		for k := range 3 {
			e = max(e, b.Hi[k][i]-b.Lo[k][i])
		}
		t.extent = append(t.extent, e)
	}
	slices.Sort(t.extent)
	return largeRatio * t.extent[len(t.extent)/2]
}

// middle returns a finite number between lo and hi, their mean if they are finite.
func middle(lo, hi float64) float64 {
	const most = math.MaxFloat64 / 4
	return max(-most, min(lo, most))/2 + max(-most, min(hi, most))/2
}

// split orders items into leaves.
func (t *tree) split(items []item, workers int) {
	for len(items) > lanes {
		leaves := (len(items) + lanes - 1) / lanes
		half := lanes
		for 2*half < leaves*lanes {
			half *= 2
		}
		nth(items, half, widest(items))
		if workers > 1 && leaves > parallelBy {
			t.splitBoth(items, half, workers)
			return
		}
		t.split(items[:half], 1)
		items = items[half:]
	}
}

// splitBoth orders both parts of items at once.
func (t *tree) splitBoth(items []item, half, workers int) {
	parallel(2, 2, func(i int) {
		if i == 0 {
			t.split(items[:half], workers/2)
		} else {
			t.split(items[half:], workers-workers/2)
		}
	})
}

// widest returns the axis along which the centers, or a sample of many, extend farthest.
func widest(items []item) int {
	const sample = 32
	step := max(1, len(items)/sample)
	lo, hi := items[0].center, items[0].center
	for i := step; i < len(items); i += step {
		c := &items[i].center
		for k := range 3 {
			lo[k], hi[k] = min(lo[k], c[k]), max(hi[k], c[k])
		}
	}
	axis := 0
	for k := 1; k < 3; k++ {
		if hi[k]-lo[k] > hi[axis]-lo[axis] {
			axis = k
		}
	}
	return axis
}

// bound computes the bounds of all levels above the leaves.
func (t *tree) bound() {
	for level := 1; level < len(t.first); level++ {
		below := t.blocks[t.first[level-1]:t.first[level]]
		above := t.blocks[t.first[level]:]
		for i := range below {
			if level > 1 { // else place has
				above[i/lanes].set(i%lanes, &below[i])
			}
		}
		for i := len(below); i%lanes != 0; i++ {
			above[i/lanes].clear(i % lanes)
		}
	}
}

// set sets a lane to the bounds of all boxes of another block.
func (b *block) set(lane int, of *block) {
	for k := range 3 {
		lo, hi := of.lo[k][0], of.hi[k][0]
		for l := 1; l < lanes; l++ { // comparisons with NaN are false
			if x := of.lo[k][l]; x < lo {
				lo = x
			}
			if x := of.hi[k][l]; x > hi {
				hi = x
			}
		}
		b.lo[k][lane], b.hi[k][lane] = lo, hi
	}
}

// nth reorders s so that the centers of s[:k] are at most, and those of s[k:] at least, that of s[k], along an axis:
// Hoare's selection. The pivots of long ranges are taken from a sample at pseudorandom places [Floyd1975], a little
// to that side of rank k on which more items are, so that two pivots leave few; so no order of the input is a bad
// one. The result depends on the input alone.
func nth(s []item, k, axis int) {
	seed := uint64(len(s))
	lo, hi := 0, len(s)-1
	for hi > lo {
		n := hi - lo + 1
		if n <= 12 {
			insertion(s[lo:hi+1], axis)
			return
		}
		p := median3(s[lo].center[axis], s[lo+n/2].center[axis], s[hi].center[axis])
		if n > 4*pivots {
			p = pivot(s[lo:hi+1], k-lo, axis, &seed)
		}
		i, j := partition(s, lo, hi, axis, p)
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
}

// partition reorders s[lo:hi+1] so that the centers of s[lo:i] are at most p, and those of s[j+1:hi+1] at least p, with
// j < i and p between: p is the center of one of them. Places to exchange are listed in blocks without branches on
// comparisons, which a processor cannot predict [Edelkamp2016].
func partition(s []item, lo, hi, axis int, p float64) (i, j int) {
	const block = 64
	var left, right [block]uint8
	i, j = lo, hi
	for j-i+1 >= 2*block {
		l, r := 0, 0
		for k := range block {
			left[l&(block-1)] = uint8(k)
			l += one(s[i+k].center[axis] >= p)
			right[r&(block-1)] = uint8(k)
			r += one(s[j-k].center[axis] <= p)
		}
		n := min(l, r)
		for k := range n {
			a, b := &s[i+int(left[k])], &s[j-int(right[k])]
			*a, *b = *b, *a
		}
		// What has no partner stays: the next block begins there.
		if l == n {
			i += block
		} else {
			i += int(left[n])
		}
		if r == n {
			j -= block
		} else {
			j -= int(right[n])
		}
	}
	for i <= j {
		for s[i].center[axis] < p {
			i++
		}
		for s[j].center[axis] > p {
			j--
		}
		if i <= j {
			s[i], s[j] = s[j], s[i]
			i++
			j--
		}
	}
	return i, j
}

// one returns 1 for true.
func one(b bool) (n int) {
	if b {
		n = 1
	}
	return n
}

// pivots is the size of a sample.
const pivots = 64

// pivot returns the center of a sampled item of a rank near k, beyond k as seen from the nearer end.
func pivot(s []item, k, axis int, seed *uint64) float64 {
	const margin = 6 // in ranks of the sample, of which 4 are a standard deviation
	var sample [pivots]float64
	for i := range sample {
		sample[i] = s[place(seed, 0, len(s))].center[axis]
	}
	slices.Sort(sample[:])
	rank := k * pivots / len(s)
	if 2*k < len(s) {
		rank += margin
	} else {
		rank -= margin
	}
	return sample[min(max(rank, 0), pivots-1)]
}

// place returns a pseudorandom index in [lo, lo+n), by the generator SplitMix64.
func place(seed *uint64, lo, n int) int {
	*seed += 0x9e3779b97f4a7c15
	z := *seed
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return lo + int((z^z>>31)%uint64(n))
}

func median3(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }

// insertion sorts s along an axis.
func insertion(s []item, axis int) {
	for i := 1; i < len(s); i++ {
		x, j := s[i], i
		for ; j > 0 && s[j-1].center[axis] > x.center[axis]; j-- {
			s[j] = s[j-1]
		}
		s[j] = x
	}
}
