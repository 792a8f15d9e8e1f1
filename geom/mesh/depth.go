package mesh

import (
	"cmp"
	"math"
	"slices"

	"clearance/geom/hull"

	"gonum.org/v1/gonum/spatial/r3"
)

// leafFacets is the number of facets that a search for the nearest one looks at one by one.
const leafFacets = 4

// depths answers how deep points lie in a polyhedron, by a tree of boxes around its facets.
//
// The depth of a point inside is its distance from the nearest plane of a face. The projection onto that plane lies on
// the face itself, since each other plane is at least as far: so the facets in a box that is farther away than a plane
// found before need no look. Facets stand along a Morton curve, so those of a range are close together; the tree halves
// the range.
type depths struct {
	h      *hull.Hull
	facets []int32 // along the curve
	boxes  []box   // of the nodes: the children of node i are 2i+1 and 2i+2
	visits int     // facets looked at
	stack  []node
}

type box struct{ lo, hi r3.Vec }

// node is the range of facets below a node, and a lower bound of the square of their distance from a point.
type node struct {
	index, first, last int
	apart              float64
}

func newDepths(h *hull.Hull) *depths {
	d := &depths{h: h, facets: make([]int32, len(h.Facets))}
	all := around(h.Vertices)
	code := make([]uint32, len(h.Facets))
	for i, f := range h.Facets {
		d.facets[i] = int32(i)
		center := r3.Scale(1.0/3, r3.Add(h.Vertices[f[0]], r3.Add(h.Vertices[f[1]], h.Vertices[f[2]])))
		code[i] = morton(center, all)
	}
	slices.SortFunc(d.facets, func(a, b int32) int { return cmp.Or(cmp.Compare(code[a], code[b]), cmp.Compare(a, b)) })
	d.build(0, 0, len(d.facets))
	return d
}

// build makes the boxes of a node, whose facets are a range, and of those below it.
func (d *depths) build(index, first, last int) box {
	for len(d.boxes) <= index {
		d.boxes = append(d.boxes, box{})
	}
	var b box
	if last-first <= leafFacets {
		f := d.h.Facets[d.facets[first]]
		b = box{d.h.Vertices[f[0]], d.h.Vertices[f[0]]}
		for _, k := range d.facets[first:last] {
			for _, v := range d.h.Facets[k] {
				b = b.with(box{d.h.Vertices[v], d.h.Vertices[v]})
			}
		}
	} else {
		middle := (first + last) / 2
		b = d.build(2*index+1, first, middle).with(d.build(2*index+2, middle, last))
	}
	d.boxes[index] = b
	return b
}

// of returns the depth of a point, or a number at most enough if the depth is no greater than that.
func (d *depths) of(p r3.Vec, enough float64) float64 {
	least := math.Inf(1)
	d.stack = append(d.stack[:0], node{0, 0, len(d.facets), d.boxes[0].apart(p)})
	for len(d.stack) > 0 && least > enough {
		n := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if n.apart > least*least || least < 0 {
			continue
		}
		if n.last-n.first <= leafFacets {
			d.visits += n.last - n.first
			for _, f := range d.facets[n.first:n.last] {
				least = min(least, d.h.Offsets[f]-r3.Dot(d.h.Normals[f], p))
			}
			continue
		}
		middle := (n.first + n.last) / 2
		near := node{2*n.index + 1, n.first, middle, d.boxes[2*n.index+1].apart(p)}
		far := node{2*n.index + 2, middle, n.last, d.boxes[2*n.index+2].apart(p)}
		if far.apart < near.apart {
			near, far = far, near
		}
		d.stack = append(d.stack, far, near)
	}
	return least
}

// apart is the square of the distance of a point from the box.
func (b box) apart(p r3.Vec) float64 {
	x := max(b.lo.X-p.X, 0, p.X-b.hi.X)
	y := max(b.lo.Y-p.Y, 0, p.Y-b.hi.Y)
	z := max(b.lo.Z-p.Z, 0, p.Z-b.hi.Z)
	return x*x + y*y + z*z
}

func (b box) with(o box) box {
	return box{
		r3.Vec{X: min(b.lo.X, o.lo.X), Y: min(b.lo.Y, o.lo.Y), Z: min(b.lo.Z, o.lo.Z)},
		r3.Vec{X: max(b.hi.X, o.hi.X), Y: max(b.hi.Y, o.hi.Y), Z: max(b.hi.Z, o.hi.Z)},
	}
}

// around is the bounding box of points.
func around(points []r3.Vec) box {
	b := box{points[0], points[0]}
	for _, p := range points[1:] {
		b = b.with(box{p, p})
	}
	return b
}

// morton is the place of a point of a box along a Morton curve: the ten first binary digits of each coordinate in turn.
func morton(p r3.Vec, b box) uint32 {
	digits := func(x, lo, hi float64) uint32 {
		if !(hi > lo) {
			return 0
		}
		v := uint32(min(max((x-lo)/(hi-lo), 0), 1) * 1023)
		v = (v | v<<16) & 0x030000ff
		v = (v | v<<8) & 0x0300f00f
		v = (v | v<<4) & 0x030c30c3
		return (v | v<<2) & 0x09249249
	}
	return digits(p.X, b.lo.X, b.hi.X) | digits(p.Y, b.lo.Y, b.hi.Y)<<1 | digits(p.Z, b.lo.Z, b.hi.Z)<<2
}
