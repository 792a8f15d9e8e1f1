package rollout

import (
	"fmt"

	"clearance/batch"
	"clearance/internal/memory"
)

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
	b.team.run(len(tiles), b.storeTile)
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
