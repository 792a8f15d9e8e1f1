package rollout

import (
	"math"
	"slices"
)

// worldBox is a box along the axes of the world.
type worldBox struct{ lo, hi [3]float64 }

// box returns the box of the body at place k: of its parts, and of its bounding ball, whichever is less along an axis.
//
// It is enlarged by the slack of the body. That covers 128 units of rounding of all coordinates, of which placing the
// parts takes less than 40 (see placement), and the sums here less than 8.
func (p *placement) box(k int32) *worldBox {
	b := &p.boxes[k]
	if p.boxedIn[k] == p.epoch {
		return b
	}
	p.boxedIn[k] = p.epoch
	center := [3]float64{p.x[k], p.y[k], p.z[k]}
	parts := p.of(k)
	for axis := range 3 {
		lo, hi := math.Inf(1), math.Inf(-1)
		for j := range parts {
			l, h := parts[j].along(axis)
			lo, hi = min(lo, l), max(hi, h)
		}
		b.lo[axis] = max(lo, center[axis]-p.radius[k]) - p.slack[k]
		b.hi[axis] = min(hi, center[axis]+p.radius[k]) + p.slack[k]
	}
	return b
}

// lowerOfWorldBoxes bounds the distance of the contents of two boxes from below.
func lowerOfWorldBoxes(a, b *worldBox) float64 {
	sum := 0.0
	for axis := range 3 {
		gap := max(a.lo[axis]-b.hi[axis], b.lo[axis]-a.hi[axis], 0)
		sum += gap * gap
	}
	return math.Sqrt(sum) * roundDown
}

// boxes computes the boxes of the bodies of a world.
func (t *tile) boxes() {
	p, near := t.place, &t.place.near
	n := len(near.at)
	for axis := range 3 {
		near.lo[axis], near.hi[axis] = resized(near.lo[axis], n), resized(near.hi[axis], n)
	}
	near.boxes.Resize(n)
	for i, k := range near.at {
		b := p.box(k)
		for axis := range 3 {
			near.lo[axis][i], near.hi[axis][i] = b.lo[axis], b.hi[axis]
		}
	}
}

// along returns the interval of a part along an axis of the world.
func (p *placedPart) along(axis int) (lo, hi float64) {
	if p.unbounded {
		return math.Inf(-1), math.Inf(1)
	}
	row := p.axes[3*axis : 3*axis+3]
	e := math.Abs(row[0])*p.half.X + math.Abs(row[1])*p.half.Y + math.Abs(row[2])*p.half.Z
	c := [3]float64{p.box.X, p.box.Y, p.box.Z}[axis]
	return c - e, c + e
}

// within finds the pairs of bodies whose boxes are within a distance d along every axis, so that every other pair is
// farther apart than d.
func (t *tile) within(d float64) {
	near := &t.place.near
	half := d / 2 * roundUp
	for axis := range 3 {
		for i := range near.at {
			near.boxes.Lo[axis][i] = math.Nextafter(near.lo[axis][i]-half, math.Inf(-1))
			near.boxes.Hi[axis][i] = math.Nextafter(near.hi[axis][i]+half, math.Inf(1))
		}
	}
	near.finder.SIMD, near.finder.Workers = t.c.variant, t.c.all.workers
	if near.finder.MaxPairs == 0 {
		near.finder.MaxPairs = t.c.all.most
	}
	found, err := near.finder.Find(&near.boxes)
	if err != nil {
		t.err = err
		return
	}
	near.pairs = near.pairs[:0]
	for i, a := range near.at {
		for _, j := range found.Of(i) {
			near.pairs = append(near.pairs, pairKey(a, near.at[j]))
		}
	}
}

// firstDistance is the first distance at which the nearest pair of a world is looked for: small against the bodies.
func (t *tile) firstDistance() float64 {
	p, near := t.place, &t.place.near
	sum, n := 0.0, 0
	for _, k := range near.at {
		if r := p.radius[k]; !math.IsInf(r, 1) {
			sum += r
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return sum / float64(n) / 8
}

// upperInOrder returns an upper bound of the least distance of a world, from bodies that follow one another along x,
// or, if all of these pairs are left out, from any other. There is none if every pair of the world is left out.
func (t *tile) upperInOrder() (least float64, ok bool) {
	p, near := t.place, &t.place.near
	least = math.Inf(1)
	order := slices.Clone(near.at)
	slices.SortFunc(order, func(a, b int32) int {
		switch {
		case p.x[a] < p.x[b]:
			return -1
		case p.x[a] > p.x[b]:
			return 1
		}
		return int(a - b)
	})
	for i := 1; i < len(order); i++ {
		if a, b := order[i-1], order[i]; !t.c.all.skips(a, b) {
			least, ok = min(least, p.upper(a, b)), true
		}
	}
	if ok {
		return least, true
	}
	for i, a := range near.at {
		for _, b := range near.at[i+1:] {
			if !t.c.all.skips(a, b) {
				return p.upper(a, b), true
			}
		}
	}
	return least, false
}
