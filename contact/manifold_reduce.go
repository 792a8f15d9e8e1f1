package contact

import (
	"math"
	"slices"
)

// ties is the difference, relative to the size of the pair, below which two candidates count as equally deep, and
// relative to the best one as equally far: the first by ID is taken, so that rounding and small motions do not change
// which points are kept.
const ties = 1e-5

// reduce keeps at most four candidates, which are sorted by ID: the deepest, up to ties; the farthest from it; that of
// the largest triangle with both; the one farthest outside that triangle. Points closer than ties are one.
func (w *Workspace) reduce(size float64) {
	w.merge(ties * size)
	c := w.candidates
	if len(c) <= MaxPoints {
		return
	}
	var kept [MaxPoints]int
	resize(&w.values, len(c))
	pick := func() int { // the first of the largest values, up to ties
		most := slices.Max(w.values)
		return max(slices.IndexFunc(w.values, func(x float64) bool { return x >= most-ties*math.Abs(most) }), 0)
	}
	deepest := math.Inf(1)
	for i := range c {
		deepest = min(deepest, c[i].gap())
	}
	for i := range c {
		if c[i].gap() <= deepest+ties*size {
			kept[0] = i
			break
		}
	}
	p := c[kept[0]]
	for i := range c {
		x, y := c[i].x-p.x, c[i].y-p.y
		w.values[i] = math.Sqrt(x*x + y*y)
	}
	kept[1] = pick()
	q := c[kept[1]]
	for i := range c {
		w.values[i] = math.Abs(twice(&p, &q, &c[i]))
	}
	kept[2] = pick()
	r := c[kept[2]]
	orientation := math.Copysign(1, twice(&p, &q, &r))
	for i := range c { // twice the area that the point adds to the triangle
		s := &c[i]
		w.values[i] = -min(orientation*twice(&p, &q, s), orientation*twice(&q, &r, s), orientation*twice(&r, &p, s))
	}
	kept[3] = pick()
	n := 0
	for i := range c {
		for _, k := range kept {
			if i == k {
				c[n] = c[i]
				n++
				break
			}
		}
	}
	w.candidates = c[:n]
}

// twice is twice the signed area of a triangle in the tangent plane.
func twice(p, q, r *candidate) float64 { return (q.x-p.x)*(r.y-p.y) - (q.y-p.y)*(r.x-p.x) }

// merge makes one candidate of those that are closer than tolerance in the tangent plane: the deepest, with the first
// ID.
func (w *Workspace) merge(tolerance float64) {
	c := w.candidates
	tolerance *= tolerance
	n := 0
next:
	for i := range c {
		for k := range n {
			if x, y := c[i].x-c[k].x, c[i].y-c[k].y; x*x+y*y <= tolerance {
				if c[i].gap() < c[k].gap() {
					id := c[k].id
					c[k] = c[i]
					c[k].id = id
				}
				continue next
			}
		}
		if n != i {
			c[n] = c[i]
		}
		n++
	}
	w.candidates = c[:n]
}
