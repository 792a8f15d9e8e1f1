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

// bySets reports whether sets say which rows count.
func (p *products) bySets() bool { return p.Sums != nil && !p.Sums.EveryRow() }

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
	if !p.bySets() {
		return int64(pairs)
	}
	return int64(p.Sums.RowsTo(w+1) - p.Sums.RowsTo(w))
}

// of makes the lists of a chunk of n rows from at on, which are whole worlds: for each body where the list of its sets
// begins and the lists, of set << 1 | side; the positions of the bodies; the groups, their rows and their bounds.
// Worlds without rows belong to the chunk before them, those at the beginning to the first one.
func (s *sums) of(p *batch.Sums, at, n int, r layout.DerivativeRecord) ([]uint32, error) {
	from := sort.Search(len(p.Worlds)-1, func(w int) bool { return p.RowsTo(w+1) > at })
	if at == 0 {
		from = 0
	}
	to := sort.Search(len(p.Worlds)-1, func(w int) bool { return p.RowsTo(w+1) > at+n })
	s.world, s.group = from, int(p.Worlds[from])
	first, groups := p.Groups[s.group], int(p.Worlds[to])-s.group
	sets := int(p.Groups[p.Worlds[to]] - first)
	s.groups = layout.LeastRecord{Groups: uint32(groups), Sets: uint32(sets), Rows: r.Rows,
		Columns: r.Columns, Flags: r.Flags, LoopLimit: r.LoopLimit, CutOff: r.CutOff}
	s.record = layout.BodyRecord{Worlds: uint32(to - from), Bodies: uint32(p.PerWorld), LoopLimit: r.LoopLimit,
		Sets: s.groups.Sets, Rows: r.Rows}
	l := lists{s: s, p: p, from: from, first: first, at: at, bodies: (to - from) * p.PerWorld}
	positions := l.bodies + 1 + 2*sets
	members := positions + 6*l.bodies
	others := members + groups + 1 + sets + 1
	words := others + 4*groups
	s.record.Positions, s.groups.Members, s.groups.Others = uint32(positions), uint32(members), uint32(others)
	if cap(s.list) < words {
		s.list = make([]uint32, words+words/4)
	}
	s.list = s.list[:words]
	s.list[l.bodies], s.list[members+groups], s.list[others-1] = uint32(positions), uint32(sets), uint32(n)
	return s.list, parallel(l.bodies, &l)
}

// lists are the lists of a chunk while they are made. Blocks of bodies are worlds.
type lists struct {
	s      *sums
	p      *batch.Sums
	from   int   // the first world
	first  int32 // the first set
	at     int   // the first row
	bodies int
}

func (l *lists) block(lo, hi int) error {
	m := l.p.PerWorld
	for w := (lo + m - 1) / m; w < (hi+m-1)/m; w++ {
		l.world(w)
	}
	return nil
}

// world makes the lists of a world, which is counted from the first one.
func (l *lists) world(w int) {
	s, p, m := l.s, l.p, l.p.PerWorld
	firstGroup, endGroup := int(p.Worlds[l.from+w]), int(p.Worlds[l.from+w+1])
	firstSet, endSet := int(p.Groups[firstGroup]), int(p.Groups[endGroup])
	heads := s.list[m*w : m*(w+1)]
	clear(heads)
	for _, b := range p.Bodies[2*firstSet : 2*endSet] {
		heads[b]++
	}
	end := uint32(l.bodies + 1 + 2*(firstSet-int(l.first)))
	for k := range heads { // where the list of each body ends; it is filled from there
		end += heads[k]
		heads[k] = end
	}
	for k := 2*endSet - 1; k >= 2*firstSet; k-- {
		b := p.Bodies[k]
		heads[b]--
		s.list[heads[b]] = uint32(k - 2*int(l.first))
	}
	to := s.list[int(s.record.Positions)+6*m*w:]
	for k, v := range p.Positions[3*m*(l.from+w) : 3*m*(l.from+w+1)] {
		putReal(to[2*k:], v)
	}
	members, starts := s.list[s.groups.Members:], s.list[s.groups.Members+s.groups.Groups+1:]
	for g := firstGroup; g < endGroup; g++ {
		members[g-s.group] = uint32(p.Groups[g] - l.first)
		for k, v := range p.Others[2*g : 2*g+2] {
			putReal(s.list[int(s.groups.Others)+4*(g-s.group)+2*k:], v)
		}
	}
	for k := firstSet; k < endSet; k++ {
		starts[k-int(l.first)] = uint32(int(p.Sets[k]) - l.at)
	}
}

// putReal stores the words of a number.
func putReal(to []uint32, v float64) {
	bits := math.Float64bits(v)
	to[0], to[1] = uint32(bits), uint32(bits>>32)
}
