package rollout

import (
	"fmt"
	"math"
	"slices"

	"clearance/internal/memory"
	"clearance/rollout/broadphase"
)

// allPairs is what a batch of all pairs has in place of templates.
type allPairs struct {
	skip    []uint64 // keys of the pairs to leave out, ascending
	full    bool     // no bound applies: every pair is asked
	workers int      // goroutines of the broad phase of a world
	most    int      // pairs of a world that there is memory for
	rows    int64    // pairs of bodies of the call that were not ruled out by the broad phase
}

// maxAllPairs is the largest number of pairs of a world where no bound applies.
const maxAllPairs = 1 << 28

// pairBytes is about the memory of a pair of bodies of a world: in the broad phase, and as a row that is open.
const pairBytes = 256

// pairKey orders pairs of places, whichever is first.
func pairKey(a, b int32) uint64 {
	if a > b {
		a, b = b, a
	}
	return uint64(a)<<32 | uint64(b)
}

// setAllPairs prepares the batch for all pairs.
func (b *Batch) setAllPairs() error {
	w, m := b.worlds, b.worlds.BodiesPerWorld()
	b.all = &allPairs{most: int(memory.Room(broadphase.DefaultMaxPairs, pairBytes))}
	for i, x := range w.SkipA {
		b.all.skip = append(b.all.skip, pairKey(x, w.SkipB[i]))
	}
	slices.Sort(b.all.skip)
	b.all.skip = slices.Compact(b.all.skip)
	b.used = make([]int32, m)
	for k := range b.used {
		b.used[k] = int32(k)
	}
	o := &b.o
	bounded := !o.NoCulling && o.Query.Info().SignedDistance
	b.all.full = !bounded || math.IsInf(threshold(o), 1) && o.Reduce != ReduceWorld
	most := min(int64(b.all.most), maxAllPairs)
	if pairs := int64(m) * int64(m-1) / 2; b.all.full && pairs > most {
		return fmt.Errorf("rollout: all %d pairs of %d bodies, more than %d: ask for those within a max_distance, or "+
			"for the least of a world", pairs, m, most)
	}
	return nil
}

// skips reports whether a pair is left out.
func (a *allPairs) skips(x, y int32) bool {
	if len(a.skip) == 0 {
		return false
	}
	_, found := slices.BinarySearch(a.skip, pairKey(x, y))
	return found
}

// worldsOf is the number of worlds of a block of about the given number of pairs.
func (a *allPairs) worldsOf(limit int64, m int) int {
	return int(max(1, limit/max(a.perWorld(int64(m)), 1)))
}

// perWorld is about the number of pairs of a world of m bodies.
func (a *allPairs) perWorld(m int64) int64 {
	all := m * (m - 1) / 2
	if a.full {
		return all
	}
	return min(all, 8*m)
}

// neighbors is the memory of the broad phase of a goroutine.
type neighbors struct {
	finder broadphase.Finder
	boxes  broadphase.Boxes
	lo, hi [3][]float64 // of the bodies, before they are enlarged
	at     []int32      // places with a body, ascending
	bad    []int32      // places with an invalid pose
	pairs  []uint64     // found, ascending
}

// cullAll finds the rows of a world among all pairs of its bodies.
func (t *tile) cullAll(world int) {
	c, p := t.c, t.place
	near := &p.near
	near.at, near.bad = near.at[:0], near.bad[:0]
	for _, k := range p.used {
		switch p.state[k] {
		case placed:
			near.at = append(near.at, k)
		case invalid:
			near.bad = append(near.bad, k)
		}
	}
	near.pairs = near.pairs[:0]
	beyond := c.threshold
	if c.all.full {
		for i, a := range near.at {
			if !t.goOn(int64(len(near.at) - i)) {
				return
			}
			for _, b := range near.at[i+1:] {
				near.pairs = append(near.pairs, pairKey(a, b))
			}
		}
	} else {
		beyond = t.candidatesOfWorld(world)
	}
	t.pairsOfBad(world)
	for _, key := range near.pairs {
		a, b := int32(key>>32), int32(key)
		if !t.goOn(1) {
			return
		}
		if c.all.skips(a, b) {
			continue
		}
		if !c.all.full && t.culledBodies(world, a, b, beyond) {
			continue
		}
		t.bodyA, t.bodyB = append(t.bodyA, a), append(t.bodyB, b)
		beyond = t.row(world, len(t.bodyA)-1, a, b, beyond)
	}
	t.ends = append(t.ends, len(t.rows))
}

// pairsOfBad adds the pairs of the bodies with an invalid pose, in order.
func (t *tile) pairsOfBad(world int) {
	near := &t.place.near
	if len(near.bad) == 0 {
		return
	}
	bad := int64(len(near.bad))
	if pairs := bad*int64(len(near.at)) + bad*(bad-1)/2; pairs > maxAllPairs {
		t.err = fmt.Errorf("rollout: world %d: %d bodies with an invalid pose are in %d of all pairs, more than %d",
			t.c.first+world, bad, pairs, maxAllPairs)
		return
	}
	for i, a := range near.bad {
		for _, b := range near.at {
			near.pairs = append(near.pairs, pairKey(a, b))
		}
		for _, b := range near.bad[i+1:] {
			near.pairs = append(near.pairs, pairKey(a, b))
		}
	}
	slices.Sort(near.pairs)
}

// candidatesOfWorld finds the pairs whose boxes are within the distance beyond which no row matters, and returns it.
//
// For the least of a world that distance is an upper bound of the least. It is found by enlarging the boxes until a
// pair of candidates is proved to be no farther apart than that: then no other pair is nearer.
func (t *tile) candidatesOfWorld(world int) (beyond float64) {
	c, near := t.c, &t.place.near
	t.boxes()
	if !c.reduce || !c.valued {
		t.within(c.threshold)
		return c.threshold
	}
	d, least, all := max(t.firstDistance(), 1e-9), math.Inf(1), false
	for {
		d = min(d, c.threshold)
		t.within(d)
		for _, key := range near.pairs {
			if a, b := int32(key>>32), int32(key); !c.all.skips(a, b) {
				least = min(least, t.place.upper(a, b))
			}
		}
		all = len(near.pairs) == len(near.at)*(len(near.at)-1)/2
		if t.err != nil || least <= d || d >= c.threshold || all {
			break
		}
		d = min(4*d, least)
	}
	if all {
		d = c.threshold
	}
	beyond = min(d, max(least, 0))
	if !all { // what is not a candidate is beyond d
		upper, asked := math.Inf(1), least < math.Inf(1)
		if !asked {
			upper, asked = t.upperInOrder()
		}
		if asked {
			t.worlds[world-t.lo].cull(d, upper)
		}
	}
	return beyond
}

// culledBodies answers a pair that the balls of its bodies prove to be beyond what matters, and reports whether they
// do.
func (t *tile) culledBodies(world int, a, b int32, beyond float64) bool {
	c, p := t.c, t.place
	if p.state[a]|p.state[b] != placed {
		return false
	}
	lower := p.lower(a, b)
	if !(lower > beyond) {
		return false
	}
	pairs := int64(len(p.table.Parts(p.body[a]))) * int64(len(p.table.Parts(p.body[b])))
	t.count.rows++
	t.count.culledRows++
	t.count.pairs += pairs
	t.count.culled += pairs
	if c.reduce {
		t.worlds[world-t.lo].cull(lower, p.upper(a, b))
	}
	return true
}
