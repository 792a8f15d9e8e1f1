package rollout

import (
	"fmt"
	"math"
	"slices"

	"clearance/batch"
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

// skips reports whether a pair of the world at place is left out, or is of two bodies that one place carries.
func (t *tile) skips(a, b int32) bool {
	return t.place.carrier[a] == t.place.carrier[b] || t.c.all.skips(a, b)
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
		if t.skips(a, b) {
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
			if a, b := int32(key>>32), int32(key); !t.skips(a, b) {
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
		if a, b := order[i-1], order[i]; !t.skips(a, b) {
			least, ok = min(least, p.upper(a, b)), true
		}
	}
	if ok {
		return least, true
	}
	for i, a := range near.at {
		for _, b := range near.at[i+1:] {
			if !t.skips(a, b) {
				return p.upper(a, b), true
			}
		}
	}
	return least, false
}

// sparse reports whether the results have a row for some of all pairs.
func (b *Batch) sparse() bool { return b.all != nil && !b.reduce }

// addBodies adds the columns of all pairs to the results.
func (b *Batch) addBodies() {
	r := b.results
	if r.BodyA == nil || len(r.BodyA) != r.N || len(r.BodyB) != r.N { // else they are the caller's
		r.BodyA, r.BodyB = make([]int32, r.N), make([]int32, r.N)
	}
	if b.sparse() {
		r.Offsets = make([]int64, b.worlds.Count()+1)
	}
	for i := range r.N {
		r.ResetOthers(i)
	}
}

// resetSparse removes all rows.
func (b *Batch) resetSparse() {
	b.grow(0)
	b.results.Offsets = resized(b.results.Offsets, b.worlds.Count()+1)
	clear(b.results.Offsets)
}

// failSparse ends the offsets at a world that has no rows for lack of an answer.
func (b *Batch) failSparse(world int) {
	offsets := b.results.Offsets
	for w := world; w < b.worlds.Count(); w++ {
		offsets[w+1] = offsets[world]
	}
}

// closeSparse keeps a row of which all is known, if it belongs to the results.
func (t *tile) closeSparse(r *openRow) {
	if !t.c.drops(&r.least) {
		t.rows = append(t.rows, *r)
	}
}

// drops reports whether a pair has no row: it is proved to be separated, and beyond the largest distance if there is
// one.
func (b *Batch) drops(l *least) bool {
	if l.status(b.boolean) != batch.Separated {
		return false
	}
	return b.threshold == 0 || l.lower > b.threshold
}

// storeSparse appends the rows of the tiles to the results, and the ends of their worlds.
func (b *Batch) storeSparse(tiles []*tile) error {
	at := b.results.N
	for _, t := range tiles {
		t.firstRow = at
		first := 0
		for w, end := range t.ends {
			for k := first; k < end; k++ {
				if !b.drops(&t.rows[k].least) {
					at++
				}
			}
			first = end
			b.results.Offsets[t.lo+w+1] = int64(at)
		}
	}
	if at > cap(b.results.PartA) {
		if err := memory.Check(fmt.Sprintf("results of %d rows", at), 2.25*float64(at)*rowBytes(&b.o)); err != nil {
			return fmt.Errorf("rollout: %w; ask for those within a smaller max_distance", err)
		}
	}
	before := b.results.N
	b.grow(at)
	b.team.Run(len(tiles), b.storeTile)
	err := firstError(tiles)
	if err != nil {
		b.grow(before)
	}
	return err
}

// storeSparse stores the rows of a tile from firstRow on.
func (t *tile) storeSparse() {
	c, row := t.c, t.firstRow
	s := &source{c.answers, t}
	for k := range t.rows {
		r := &t.rows[k]
		if !t.goOn(1) {
			return
		}
		if c.drops(&r.least) {
			continue
		}
		c.results.BodyA[row], c.results.BodyB[row] = t.bodyA[r.pair], t.bodyB[r.pair]
		c.store(row, &r.least, s)
		row++
	}
}

// grow sets the number of rows. New rows hold any values.
func (b *Batch) grow(n int) {
	r := b.results
	r.Resize(n)
	r.PartA, r.PartB = batch.Resize(r.PartA, n), batch.Resize(r.PartB, n)
	r.BodyA, r.BodyB = batch.Resize(r.BodyA, n), batch.Resize(r.BodyB, n)
	if status := r.Status(); status != nil {
		b.statuses = status
	} else {
		b.statuses = batch.Resize(b.statuses, n)
	}
}
