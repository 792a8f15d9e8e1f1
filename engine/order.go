package engine

import (
	"math/bits"

	"clearance/geom"
	"clearance/internal/layout"
)

// classesOf gives every shape of a library a class: its kind and, where it has vertices,
// their number to a power of two. Rows of one pair of classes take much the same way
// through the shaders. Classes that no shape has are left out.
func classesOf(packed *layout.Packed) (class []uint8, count int) {
	var number [int(geom.KindCount) * 33]uint8 // 0: not used
	raw := func(r *layout.ShapeRecord) int { return int(r.Kind)*33 + bits.Len32(r.VertexCount) }
	for i := range packed.Shapes {
		number[raw(&packed.Shapes[i])] = 1
	}
	for i := range number {
		if number[i] != 0 {
			count++
			number[i] = uint8(count)
		}
	}
	class = make([]uint8, len(packed.Shapes))
	for i := range packed.Shapes {
		class[i] = number[raw(&packed.Shapes[i])] - 1
	}
	return class, count
}

// sorter brings rows of one key together by counting, stable, block by block so that
// all processors can work on it and the result depends on none of them.
type sorter struct {
	keyCount int
	keys     []uint16 // [n] of each row
	places   []uint32 // [blocks, keyCount] counts, then where the next row of the block goes
	changes  []int    // [blocks] how often the key changes from one row to the next
	order    []uint32 // [n]
}

// begin makes room for n rows.
func (s *sorter) begin(n, keyCount int) {
	s.keyCount = keyCount
	if cap(s.keys) < n {
		s.keys = make([]uint16, n)
		s.order = make([]uint32, n)
	}
	s.keys, s.order = s.keys[:n], s.order[:n]
	blocks := (n + blockRows - 1) / blockRows
	if cap(s.places) < blocks*keyCount {
		s.places = make([]uint32, blocks*keyCount)
	}
	if cap(s.changes) < blocks {
		s.changes = make([]int, blocks)
	}
	s.places, s.changes = s.places[:blocks*keyCount], s.changes[:blocks]
	clear(s.places)
	clear(s.changes)
}

// tally counts the keys of a block, which have been set.
func (s *sorter) tally(lo, hi int) {
	k := lo / blockRows
	places := s.places[k*s.keyCount : (k+1)*s.keyCount]
	last := s.keys[lo]
	for _, key := range s.keys[lo:hi] {
		places[key]++
		if key != last {
			s.changes[k]++
			last = key
		}
	}
}

// grouped reports whether equal keys stand together already: runs are of a work group's
// size on average, so there is nothing to gain.
func (s *sorter) grouped() bool {
	sum := 0
	for _, c := range s.changes {
		sum += c
	}
	return sum*groupSize <= len(s.keys)
}

// sort fills order once all blocks are tallied.
func (s *sorter) sort() error {
	blocks := len(s.changes)
	at := uint32(0)
	for key := range s.keyCount {
		for k := range blocks {
			p := &s.places[k*s.keyCount+key]
			at, *p = at+*p, at
		}
	}
	return parallel(len(s.keys), (*scatter)(s))
}

// scatter is the last step of a sorter: rows go to their places.
type scatter sorter

func (s *scatter) block(lo, hi int) error {
	k := lo / blockRows
	places := s.places[k*s.keyCount : (k+1)*s.keyCount]
	for i := lo; i < hi; i++ {
		p := &places[s.keys[i]]
		s.order[*p] = uint32(i)
		*p++
	}
	return nil
}
