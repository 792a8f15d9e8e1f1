package broadphase

import (
	"math/bits"

	"clearance/kernels"
)

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
