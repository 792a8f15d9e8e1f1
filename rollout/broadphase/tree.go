package broadphase

import (
	"math"
	"slices"
	"sync"
)

const (
	leafBoxes  = 8              // boxes per leaf
	fanBits    = 2              // log2 of the number of children of a node
	fan        = 1 << fanBits   // number of children
	maxSpread  = 1.5            // ratio of spreads from which on a new order is made
	largeRatio = 16             // times the median extent: boxes that are kept apart in the order
	parallelBy = 2048 * fan     // leaves below which a branch is built by one goroutine
	maxLevels  = 28/fanBits + 2 // of MaxBoxes
)

// tree is a hierarchy of bounds without pointers. The boxes stand in the order of their leaves, leafBoxes to a leaf.
// levels[0] has the bounds of the leaves, and node i of level l+1 has those of nodes fan·i to fan·i+fan−1 of level l.
type tree struct {
	items  []item
	spread float64  // of the last order made, see place
	ids    []int32  // of the boxes, in the order of items
	boxes  []bounds // in the order of items
	levels [][]bounds
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
	if n != len(t.items) || n == 0 || !(t.place(b) <= maxSpread*t.spread) {
		t.items = resized(t.items, n)
		small := t.order(b)
		t.split(t.items[:small], workers)
		t.split(t.items[small:], workers)
		t.spread = t.place(b)
	}
	t.bound()
}

// place copies the boxes in their order and returns the sum over all leaves and axes of how far the centers extend,
// by which orders are compared: boxes that have moved little keep the order of the last call. The pairs do not depend
// on it.
func (t *tree) place(b *Boxes) (spread float64) {
	t.boxes, t.ids = resized(t.boxes, len(t.items)), resized(t.ids, len(t.items))
	for first := 0; first < len(t.items); first += leafBoxes {
		inf := math.Inf(1)
		lo, hi := [3]float64{inf, inf, inf}, [3]float64{-inf, -inf, -inf}
		for i := first; i < min(first+leafBoxes, len(t.items)); i++ {
			j := t.items[i].id
			t.ids[i] = j
			x0, y0, z0, x1, y1, z1 := b.Lo[0][j], b.Lo[1][j], b.Lo[2][j], b.Hi[0][j], b.Hi[1][j], b.Hi[2][j]
			t.boxes[i] = bounds{keyOf(x0), keyOf(y0), keyOf(z0), keyOf(x1), keyOf(y1), keyOf(z1)}
			for k, c := range [3]float64{middle(x0, x1), middle(y0, y1), middle(z0, z1)} {
				if c < lo[k] {
					lo[k] = c
				}
				if c > hi[k] {
					hi[k] = c
				}
			}
		}
		spread += hi[0] - lo[0] + (hi[1] - lo[1]) + (hi[2] - lo[2])
	}
	return spread
}

// order fills the items, small boxes first, and returns their number, a multiple of leafBoxes unless all are small.
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
		small -= small % leafBoxes
	}
	return small
}

// largeExtent returns the extent above which boxes are large: largeRatio times the median of a sample.
func (t *tree) largeExtent(b *Boxes) float64 {
	const sample = 256
	n := b.Len()
	if n <= 4*leafBoxes {
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
	for len(items) > leafBoxes {
		leaves := (len(items) + leafBoxes - 1) / leafBoxes
		half := leafBoxes
		for 2*half < leaves*leafBoxes {
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
	var wg sync.WaitGroup
	wg.Go(func() { t.split(items[:half], workers/2) })
	t.split(items[half:], workers-workers/2)
	wg.Wait()
}

// widest returns the axis along which the centers, or a sample of many, extend farthest.
func widest(items []item) int {
	const sample = 256
	step := max(1, len(items)/sample)
	lo, hi := items[0].center, items[0].center
	for i := 0; i < len(items); i += step {
		c := &items[i].center
		for k := range 3 {
			if c[k] < lo[k] {
				lo[k] = c[k]
			} else if c[k] > hi[k] {
				hi[k] = c[k]
			}
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

// bound computes the bounds of all levels from the boxes.
func (t *tree) bound() {
	below, per := t.boxes, leafBoxes
	for level := 0; ; level++ {
		if level == len(t.levels) {
			t.levels = append(t.levels, nil)
		}
		n := (len(below) + per - 1) / per
		nodes := resized(t.levels[level], n)
		for i := range nodes {
			of := below[per*i : min(per*i+per, len(below))]
			node := of[0]
			for j := 1; j < len(of); j++ {
				node.add(&of[j])
			}
			nodes[i] = node
		}
		t.levels[level] = nodes
		if n <= 1 {
			t.levels = t.levels[:level+1]
			return
		}
		below, per = nodes, fan
	}
}
