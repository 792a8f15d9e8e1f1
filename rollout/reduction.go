package rollout

import (
	"slices"

	"clearance/batch"
)

// setReduction tells the back end how the answers of a block are combined, so that it may omit some, see
// [batch.Reduction]: the candidates of a row are a set, and the rows of a world, or each row by itself, are a group.
func (b *Batch) setReduction(tiles []*tile) {
	b.parts.Reduction = nil
	if b.o.NoDeviceReduction || !b.series.Reduces() {
		return
	}
	r := &b.sets
	r.Tally.Reset()
	r.Sets, r.Groups = append(r.Sets[:0], 0), append(r.Groups[:0], 0)
	for _, t := range tiles {
		world := int32(-1)
		for i := range t.rows {
			row := &t.rows[i]
			if row.count == 0 {
				continue
			}
			sets := int32(len(r.Sets) - 1)
			if (!b.reduce || row.world != world) && sets > 0 {
				r.Groups = append(r.Groups, sets)
			}
			world = row.world
			r.Sets = append(r.Sets, int32(t.candidate)+row.first+row.count)
		}
	}
	r.Groups = append(r.Groups, int32(len(r.Sets)-1))
	b.parts.Reduction = r
}

// omitted returns what is known of omitted candidates, from those of the tile on.
func (t *tile) omitted() []batch.Portion {
	if t.c.parts.Reduction == nil {
		return nil
	}
	portions := t.c.sets.Tally.Portions
	i, _ := slices.BinarySearchFunc(portions, t.candidate, func(p batch.Portion, k int) int { return int(p.Row) - k })
	return portions[i:]
}

// addOmitted adds what is known of the portions that begin with candidates of a row, and returns the portions after
// these.
func (t *tile) addOmitted(r *openRow, portions []batch.Portion) []batch.Portion {
	for len(portions) > 0 && int(portions[0].Row) < t.candidate+int(r.first+r.count) {
		r.least.iterations += portions[0].Iterations
		if t.c.reduce {
			t.worlds[int(r.world)-t.lo].contacts += portions[0].Contacts
		}
		portions = portions[1:]
	}
	return portions
}
