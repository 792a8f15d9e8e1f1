package engine

import (
	"math"
	"sort"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
)

// sums is the memory of sums by body of a chunk.
type sums struct {
	places, out mirror
	bytes       uint64 // of the output, 0: there are none
	chain       *chain // of the one pass
	record      layout.BodyRecord
	world       int // the first of the chunk

	// Of bodies of parts.
	selected vk.Buffer // by least.comp, for each row its set and its group, and for each set its slot
	least    *chain    // of that pass
	groups   layout.LeastRecord
	group    int // the first of the chunk

	list []uint32 // memory of places
}

// none returns the memory without sums.
func (s *sums) none() sums {
	return sums{places: s.places, out: s.out, selected: s.selected, list: s.list}
}

// words is the number of bytes of selected that a chunk takes.
func (s *sums) words() uint64 { return 4 * (2*uint64(s.groups.Rows) + uint64(s.groups.Sets)) }

// fits reports whether every world fits into a chunk, and all loops over the rows of a group and over the sets of a
// body are below the limit.
func (p *products) fits(chunkRows int) bool {
	const most = loopLimit / 4 // a group takes two loops over its rows and one over its sets
	s := p.Sums
	for g, first := range s.Groups[:len(s.Groups)-1] {
		if s.Sets[s.Groups[g+1]]-s.Sets[first] > most {
			return false
		}
	}
	for w := range len(s.Worlds) - 1 {
		first, end := s.Groups[s.Worlds[w]], s.Groups[s.Worlds[w+1]]
		if int(s.Sets[end]-s.Sets[first]) > chunkRows {
			return false
		}
		if end-first <= most {
			continue
		}
		degree := make([]int, s.PerWorld)
		for _, b := range s.Bodies[2*first : 2*end] {
			if degree[b]++; degree[b] > most {
				return false
			}
		}
	}
	return true
}

// rowsFrom returns the number of rows of the worlds from a row on that fit into a chunk, at least those of one world.
func (p *products) rowsFrom(at, chunkRows int) int {
	s := p.Sums
	end := sort.Search(len(s.Worlds), func(w int) bool { return s.RowsTo(w) > at+chunkRows }) - 1
	return s.RowsTo(end) - at
}

// rowsOf is the number of rows of a world, which has so many pairs if there is a template.
func (p *products) rowsOf(w int, pairs uint32) int64 {
	if p.Sums == nil {
		return int64(pairs)
	}
	return int64(p.Sums.RowsTo(w+1) - p.Sums.RowsTo(w))
}

// of makes the lists of a chunk of n rows from at on, which are whole worlds: for each body where the list of its sets
// begins and the lists, of set << 1 | side; the positions of the bodies; the groups, their rows and their bounds.
// Worlds without rows belong to the chunk before them, those at the beginning to the first one.
func (s *sums) of(p *batch.Sums, at, n int, r layout.DerivativeRecord) []uint32 {
	from := sort.Search(len(p.Worlds)-1, func(w int) bool { return p.RowsTo(w+1) > at })
	if at == 0 {
		from = 0
	}
	to := sort.Search(len(p.Worlds)-1, func(w int) bool { return p.RowsTo(w+1) > at+n })
	s.world, s.group = from, int(p.Worlds[from])
	groups := p.Groups[s.group : p.Worlds[to]+1]
	first, end := groups[0], groups[len(groups)-1]
	sets := p.Sets[first : end+1]
	s.groups = layout.LeastRecord{Groups: uint32(len(groups) - 1), Sets: uint32(end - first), Rows: r.Rows,
		Columns: r.Columns, Flags: r.Flags, LoopLimit: r.LoopLimit, CutOff: r.CutOff}
	s.record = layout.BodyRecord{Worlds: uint32(to - from), Bodies: uint32(p.PerWorld), LoopLimit: r.LoopLimit,
		Sets: s.groups.Sets, Rows: r.Rows}
	bodies := (to - from) * p.PerWorld
	list := append(s.list[:0], make([]uint32, bodies+1+2*len(sets)-2)...)
	// Where the list of each body ends, then, as the lists are filled from their ends, where it begins.
	body := func(w, set, side int) int { return (w-from)*p.PerWorld + int(p.Bodies[2*set+side]) }
	each := func(f func(w, set, side int)) {
		for w := to - 1; w >= from; w-- {
			for set := int(p.Groups[p.Worlds[w+1]]) - 1; set >= int(p.Groups[p.Worlds[w]]); set-- {
				f(w, set, 1)
				f(w, set, 0)
			}
		}
	}
	each(func(w, set, side int) { list[body(w, set, side)]++ })
	end32 := uint32(bodies + 1)
	for k := range bodies {
		end32 += list[k]
		list[k] = end32
	}
	list[bodies] = end32
	each(func(w, set, side int) {
		k := body(w, set, side)
		list[k]--
		list[list[k]] = uint32(set-int(first))<<1 | uint32(side)
	})
	s.record.Positions = uint32(len(list))
	for _, v := range p.Positions[3*from*p.PerWorld : 3*to*p.PerWorld] {
		list = appendReal(list, v)
	}
	s.groups.Members = uint32(len(list))
	for _, g := range groups {
		list = append(list, uint32(g-first))
	}
	for _, row := range sets {
		list = append(list, uint32(int(row)-at))
	}
	s.groups.Others = uint32(len(list))
	for _, v := range p.Others[2*s.group : 2*int(p.Worlds[to])] {
		list = appendReal(list, v)
	}
	s.list = list
	return list
}

// appendReal appends the words of a number.
func appendReal(list []uint32, v float64) []uint32 {
	bits := math.Float64bits(v)
	return append(list, uint32(bits), uint32(bits>>32))
}
