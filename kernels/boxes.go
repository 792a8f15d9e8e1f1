//go:build cgo

package kernels

// #include "boxes/api.h"
import "C"

import (
	"unsafe"

	"clearance/batch"
	"clearance/kernels/boxes"
)

// CullLanes is the number of worlds that a [Culler] takes at a time.
const CullLanes = C.CLR_CULL_LANES

// A Culler is a [batch.Culler].
type Culler struct {
	variant string
	c       *C.clr_cull
	place   []int32
	a, b    []int32
	bodies  []float64
	first   []int32 // part of each body, and the end
	parts   []float64
	boxed   []int32
	scratch []float64
	open    []int32
	out     *C.clr_culled
}

// NewCuller returns a culler of a variant that [Choose] returned, nil if there are no pairs.
func NewCuller(variant string, in *batch.Culling) *Culler {
	places, bodies, a, b := in.Places, in.Bodies, in.A, in.B
	if variant == "" || len(a) == 0 {
		return nil
	}
	u := &Culler{variant: variant, c: new(C.clr_cull), out: new(C.clr_culled), place: places, a: a, b: b}
	u.c.places, u.c.pairs, u.c.stride = C.int64_t(len(places)), C.int64_t(len(a)), C.int64_t(in.Stride)
	u.c.threshold, u.c.valued = C.double(in.Threshold), flag(in.Valued)
	for i := range bodies {
		x := &bodies[i]
		u.bodies = append(u.bodies, x.Center[0], x.Center[1], x.Center[2], x.Radius, x.Magnitude, x.Far,
			x.Inner[0], x.Inner[1], x.Inner[2], x.Inradius, x.Slack, number(x.Center == x.Inner), number(x.Plane))
	}
	u.addParts(bodies, in.Boxed)
	u.scratch = make([]float64, C.CLR_CULL_BALLS*len(places)+CullLanes*len(a)+
		CullLanes*C.CLR_CULL_PART_COLUMNS*int(u.c.parts)+int(u.c.bounds))
	u.open = make([]int32, 2*CullLanes*len(a))
	return u
}

// number is 1 for true.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// addParts adds the parts of the bodies of the pairs that boxes may cull.
func (u *Culler) addParts(bodies []batch.CullBody, boxed []bool) {
	used, items := make([]bool, len(bodies)), 0
	u.boxed = make([]int32, len(u.a))
	for p, yes := range boxed {
		if yes {
			a, b := u.a[p], u.b[p]
			used[a], used[b] = true, true
			n := len(bodies[a].Parts) * len(bodies[b].Parts)
			u.boxed[p] = int32(n)
			items += n
		}
	}
	u.first = append(u.first, 0)
	for i := range bodies {
		if used[i] {
			for _, x := range bodies[i].Parts {
				u.parts = append(u.parts, x.Center[0], x.Center[1], x.Center[2], x.Radius, x.Inradius, x.Slack,
					x.Box[0], x.Box[1], x.Box[2], x.Half[0], x.Half[1], x.Half[2])
				u.parts = append(u.parts, x.Axes[:]...)
			}
		}
		u.first = append(u.first, int32(len(u.parts)/C.CLR_CULL_PART_VALUES))
	}
	u.c.parts = C.int64_t(u.first[len(bodies)])
	if items > 0 {
		u.c.bounds = C.int64_t(3 * CullLanes * (items + 1)) // and of one vector that is not full
	} else {
		u.parts = []float64{0} // which has an address
	}
}

// Run culls [CullLanes] worlds, whose poses are given. It returns the set of worlds whose poses are all valid, with
// quaternions of norms near 1; of the others nothing is known.
func (u *Culler) Run(poses []float64) (valid uint) {
	_ = poses[CullLanes*int(u.c.stride)-1]
	Enter(Culling, u.variant)
	return boxes.Cull(u.variant, unsafe.Pointer(u.c), poses, u.place, u.a, u.b, u.bodies, u.first, u.parts, u.boxed,
		u.scratch, u.open, unsafe.Pointer(u.out))
}

// World returns what the last Run found of a world. It is valid until the next one.
func (u *Culler) World(l int) batch.Culled {
	open := unsafe.Slice((*batch.CullOpen)(unsafe.Pointer(&u.open[2*l*len(u.a)])), u.out.count[l])
	return batch.Culled{Open: open, Upper: float64(u.out.upper[l]), Beyond: float64(u.out.beyond[l]),
		Least: float64(u.out.least[l])}
}

// Parts returns the bounds of the pairs of parts of an open pair: of each part of the first body those with the parts
// of the second. They are valid until the next Run.
func (u *Culler) Parts(o batch.CullOpen) batch.CullBounds {
	n, room := int(u.boxed[o.Pair]), int(u.c.bounds)/3
	first := len(u.scratch) - 3*room + int(o.First)
	column := func(k int) []float64 { return u.scratch[first+k*room:][:n] }
	return batch.CullBounds{Balls: column(0), Boxes: column(1), Upper: column(2)}
}

var ( // the constants of the headers
	_ = [1]struct{}{}[BoxLanes-C.CLR_ROWS_LANES]
	_ = [1]struct{}{}[BoxLevels-C.CLR_ROWS_LEVELS]
	_ = [1]struct{}{}[BoxSorted-C.CLR_ROWS_SORTED]
	_ = [1]struct{}{}[BoxSpare-C.CLR_ROWS_SPARE]
)

// A BoxSearch is a search of the broad phase by a kernel. It belongs to one goroutine at a time.
type BoxSearch struct{ c C.clr_rows }

// Need returns the numbers of rows and of leaves for lack of which the last Run stopped, zeros if it did not.
func (s *BoxSearch) Need() (rows, leaves int) { return int(s.c.need), int(s.c.need_leaves) }

// Run finds the rows of the boxes of leaves from the given one on to the end, behind used numbers of rows, by a variant
// that this machine [Runs]. It returns how far it came.
func (s *BoxSearch) Run(variant string, a *BoxArrays, leaf, end, used int) (nextLeaf, nowUsed int) {
	c := &s.c
	for level, first := range a.First {
		c.first[level] = C.int64_t(first)
	}
	c.levels, c.leaf, c.end = C.int64_t(len(a.First)), C.int64_t(leaf), C.int64_t(end)
	c.used, c.room, c.leaves = C.int64_t(used), C.int64_t(len(a.Rows)-BoxSpare), C.int64_t(len(a.Near)-BoxSpare)
	Enter(BroadPhase, variant)
	boxes.Rows(variant, unsafe.Pointer(c), a.Blocks, a.IDs, a.Last, a.Near, a.Next, a.Lanes, a.Rows, a.Length)
	return int(c.leaf), int(c.used)
}
