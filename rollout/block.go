package rollout

import (
	"context"
	"fmt"
	"math"
	"slices"

	"clearance/batch"
	"clearance/internal/fault"
)

// blocks answers one block of worlds after the other.
func (b *Batch) blocks(ctx context.Context) error {
	worlds := b.worlds.Count()
	for lo := 0; lo < worlds; {
		hi := b.blockEnd(lo)
		err := ctx.Err()
		if err == nil {
			err = b.block(ctx, lo, hi)
			for ; isTooMany(err) && hi-lo > 1; err = b.block(ctx, lo, hi) {
				hi = lo + (hi-lo)/2
			}
		} else {
			err = fmt.Errorf("rollout: stopped after %d worlds: %w", b.first+lo, err)
		}
		if err != nil {
			b.fail(lo)
			return err
		}
		b.progress(hi)
		lo = hi
	}
	return nil
}

// progress notes that the worlds before the given one are answered. Of all pairs the unit is a world, since the
// number of rows is not known.
func (b *Batch) progress(worlds int) {
	total := b.rows()
	if b.sparse() {
		total = b.worlds.Count()
	}
	b.report.Done = worlds * (total / b.worlds.Count())
	if b.run.Progress != nil {
		b.run.Progress(b.report.Done, total)
	}
}

// fail makes all rows from a world on Undecided.
func (b *Batch) fail(world int) {
	if b.sparse() {
		b.failSparse(world)
		return
	}
	n := b.rows()
	first := world * (n / b.worlds.Count())
	if !b.run.KeepUnreached {
		b.results.FailRows(first, n)
	}
	for i := range b.statuses[first:n] {
		b.statuses[first+i] = uint8(batch.Undecided)
	}
}

// blockEnd returns the end of the block that begins at a world: as many worlds as have BlockPairs pairs of parts,
// at least one.
func (b *Batch) blockEnd(lo int) int {
	limit := int64(b.o.BlockPairs)
	if limit == 0 {
		limit = int64(b.blockPairs()) << b.larger
	}
	limit = min(limit, b.most)
	worlds := b.worlds.Count()
	if b.all != nil {
		return min(worlds, lo+b.all.worldsOf(limit, b.worlds.BodiesPerWorld()))
	}
	var pairs int64
	for w := lo; w < worlds; w++ {
		if pairs += b.pairsOf(w); pairs > limit && w > lo {
			return w
		}
		if b.worlds.Shared() {
			return min(worlds, lo+max(int(limit/max(pairs, 1)), 1))
		}
	}
	return worlds
}

// pairsOf returns the number of pairs of parts of a world; of all pairs an estimate, from the mean number of parts.
func (b *Batch) pairsOf(world int) (n int64) {
	if b.all != nil {
		bodies, parts := int64(0), int64(0)
		for k := range int32(b.worlds.BodiesPerWorld()) {
			if x := b.worlds.Body(world, k); x != batch.Absent {
				bodies, parts = bodies+1, parts+int64(len(b.bodies.Parts(x)))
			}
		}
		mean := float64(parts) / float64(max(bodies, 1))
		return int64(min(float64(b.all.perWorld(bodies))*mean*mean, math.MaxInt32))
	}
	for i, x := range b.templateA {
		x, y := b.worlds.Body(world, x), b.worlds.Body(world, b.templateB[i])
		if x != batch.Absent && y != batch.Absent {
			n += int64(len(b.bodies.Parts(x))) * int64(len(b.bodies.Parts(y)))
		}
	}
	return n
}

// tilesPerWorker is the number of tiles of a worker of a block: small ones, so that all workers end at about the same
// time, also where one of them shares its core with another process.
const tilesPerWorker = 16

// tileWorlds returns the number of worlds of a tile of a block of n worlds: whole calls of the kernels that cull.
func (b *Batch) tileWorlds(n int) int {
	if b.workers == 1 {
		return n
	}
	worlds := max(1, n/(b.workers*tilesPerWorker))
	if b.vectors != nil {
		worlds = (worlds + b.vectors.worlds - 1) / b.vectors.worlds * b.vectors.worlds
	}
	return worlds
}

// block answers worlds lo to hi.
func (b *Batch) block(ctx context.Context, lo, hi int) (err error) {
	defer fault.Recover(&err)
	size := b.tileWorlds(hi - lo)
	n := (hi - lo + size - 1) / size
	for len(b.tiles) < n {
		b.tiles = append(b.tiles, &tile{c: b})
	}
	tiles := b.tiles[:n]
	for i, t := range tiles {
		t.reset(lo+i*size, min(lo+(i+1)*size, hi))
	}
	if b.all != nil {
		b.all.workers = max(1, b.workers/n)
	}
	b.ctx = ctx
	defer func() { b.ctx = nil }()
	b.team.Run(n, b.cullTile)
	err = firstError(tiles)
	if err == nil {
		err = b.join(tiles, lo)
	}
	if err != nil {
		if !isTooMany(err) || hi-lo == 1 { // else the worlds are answered in smaller blocks
			b.noteErrors(tiles)
		}
		return err
	}
	b.adapt()
	if b.product != nil {
		err := b.product.block(ctx, b, tiles, lo, hi)
		b.noteErrors(tiles)
		return err
	}
	b.setReduction(tiles)
	err = b.solve(ctx, tiles)
	b.noteErrors(tiles)
	if err != nil {
		return err
	}
	b.team.Run(n, b.foldTile)
	if err := firstError(tiles); err != nil {
		return err
	}
	if b.sparse() {
		if err := b.storeSparse(tiles); err != nil {
			return err
		}
	}
	for _, t := range tiles {
		b.report.addCounts(&t.count)
		if b.all != nil {
			b.all.rows += t.count.rows
		}
	}
	return nil
}

// firstError is the error of the first tile that has one.
func firstError(tiles []*tile) error {
	for _, t := range tiles {
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

// maxLarger bounds the growth of blocks: 2³ times as many pairs of parts.
const maxLarger = 3

// adapt has the next block be larger where culling leaves few pairs, so that back ends are called less often.
func (b *Batch) adapt() {
	switch n, standard := len(b.input.TemplateA), b.blockPairs(); {
	case n > standard:
		b.larger = 0
	case n < standard/16 && b.larger < maxLarger:
		b.larger++
	}
}

func isTooMany(err error) bool {
	_, ok := err.(*tooManyError)
	return ok
}

// join forms the input of the back end, of a block that begins at a world.
func (b *Batch) join(tiles []*tile, world int) error {
	if len(tiles) == 1 {
		t := tiles[0]
		t.instance, t.candidate = 0, 0
		b.input = batch.Worlds{Shapes: t.shapes, Poses: t.poses, TemplateA: t.a, TemplateB: t.b}
		return nil
	}
	in := &b.joined
	instances, candidates := 0, 0
	for _, t := range tiles {
		t.instance, t.candidate = instances, candidates
		instances += len(t.shapes)
		candidates += len(t.a)
	}
	if int64(candidates) > b.most || instances > maxCandidates {
		return &tooManyError{b.first + world, b.most}
	}
	in.Shapes, in.Poses = resized(in.Shapes, instances), resized(in.Poses, 7*instances)
	in.TemplateA, in.TemplateB = resized(in.TemplateA, candidates), resized(in.TemplateB, candidates)
	b.team.Run(len(tiles), b.joinTile)
	b.input = *in
	return nil
}

// copyTo copies the instances and the candidates of a tile to those of the block.
func (t *tile) copyTo(in *batch.Worlds) {
	copy(in.Shapes[t.instance:], t.shapes)
	copy(in.Poses[7*t.instance:], t.poses)
	for k := range t.a {
		in.TemplateA[t.candidate+k] = t.a[k] + int32(t.instance)
		in.TemplateB[t.candidate+k] = t.b[k] + int32(t.instance)
	}
}

// resized returns a slice of n elements of any value, with room to grow.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

// solve has a back end answer the candidates of the block.
func (b *Batch) solve(ctx context.Context, tiles []*tile) error {
	n := len(b.input.TemplateA)
	if b.answers == nil || b.answers.N < n {
		b.answers = batch.UnsetResults(n+n/4, &b.parts.Options)
	}
	if n == 0 {
		return nil
	}
	b.answers.Marks = nil
	if b.parts.Reduction != nil {
		b.marks = resized(b.marks, n)
		b.answers.Marks = b.marks
	}
	b.answers.SliceTo(&b.view, 0, n)
	b.parts.Results = &b.view
	rep, err := b.series.Run(ctx, &b.parts)
	b.report.add(rep)
	if b.parts.Reduction != nil {
		b.report.Omitted += int64(b.sets.Tally.Rows)
	}
	for _, e := range rep.RowErrors {
		b.noteRow(tiles, e)
	}
	return err
}

// fold combines the answers of the candidates of a tile, and checks the context as culling does.
func (t *tile) fold(from *batch.Results) {
	s := &source{from, t}
	omitted := t.omitted()
	for i := range t.rows {
		r := &t.rows[i]
		if !t.goOn(1) {
			return
		}
		for k, end := r.first, r.first+r.count; k < end; {
			stop := min(end, k+pairsPerCheck)
			if !t.goOn(int64(stop - k)) {
				return
			}
			for ; k < stop; k++ {
				if at := s.at(k); from.Marks == nil || from.Marks[at] != batch.Omitted {
					r.least.solved(k, at, from, t.c.touch)
				}
			}
		}
		omitted = t.addOmitted(r, omitted)
		switch {
		case t.c.reduce:
			t.worlds[int(r.world)-t.lo].add(&r.least, r.pair, t.c.boolean)
			continue
		case t.c.all != nil:
			continue
		}
		t.c.store(int(r.world)*len(t.c.templateA)+int(r.pair), &r.least, s)
	}
	for i := range t.worlds {
		t.storeWorld(t.lo+i, &t.worlds[i], s)
	}
}

// storeWorld stores the answer of a world.
func (t *tile) storeWorld(world int, w *worldLeast, s *source) {
	c, out := t.c, t.c.results
	k := c.store(world, &w.least, s)
	if !c.valued && !w.invalid && w.contactPair >= 0 {
		k = max(k, 0) // the contact may be proved by bounds
	}
	out.Contacts[world], out.Failed[world], out.Any[world] = w.contacts, w.failures, w.any()
	switch {
	case k < 0:
	case !c.valued:
		t.storePair(world, w.contactPair)
	default:
		t.storePair(world, w.bestPair)
	}
}

// storePair stores the pair that attains the least of a world.
func (t *tile) storePair(world int, pair int32) {
	out := t.c.results
	if t.c.all == nil {
		out.Pair[world] = pair
		return
	}
	out.BodyA[world], out.BodyB[world] = t.bodyA[pair], t.bodyB[pair]
}

// noteErrors lists the bad input of a block in the report: by world, first its poses, by place, then its pairs of
// parts. Both lists are ascending and as long as the report may be, so that it does not depend on the blocks.
func (b *Batch) noteErrors(tiles []*tile) {
	pairs := b.badPairs
	before := func(world int) {
		for ; len(pairs) > 0 && pairs[0].World < world; pairs = pairs[1:] {
			b.note(pairs[0])
		}
	}
	for _, t := range tiles {
		for _, bad := range t.bad {
			before(bad.world)
			b.note(b.badPose(bad))
		}
	}
	before(math.MaxInt)
	b.badPairs = b.badPairs[:0]
}

// note adds an error, whose world counts from that of the batch, to the report.
func (b *Batch) note(e *RowError) {
	e.World += b.first
	b.report.note(e, b.run.MaxRowErrors)
}

// badPose is the error of an invalid pose.
func (b *Batch) badPose(bad badPose) *RowError {
	e := &RowError{World: bad.world, Body: bad.place, Pair: -1, Column: "poses", Reason: "invalid"}
	k := int32(bad.place)
	if err := b.bodies.CheckPose(b.worlds.Body(bad.world, k), b.worlds.Pose(bad.world, k)); err != nil {
		e.Reason = err.(*batch.RowError).Reason
	}
	return e
}

// noteRow notes an invalid pair of parts, a row of the input of the back end.
func (b *Batch) noteRow(tiles []*tile, row *batch.RowError) {
	for _, t := range tiles {
		k := row.Row - t.candidate
		if k < 0 || k >= len(t.a) {
			continue
		}
		i, _ := slices.BinarySearchFunc(t.rows, int32(k), func(r openRow, k int32) int {
			return int(r.first + r.count - 1 - k)
		})
		r := &t.rows[i]
		e := &RowError{World: int(r.world), Pair: int(r.pair), Body: -1, Column: row.Column, Reason: row.Reason}
		if b.all != nil {
			e.Pair = -1
			e.Reason = fmt.Sprintf("bodies %d and %d: %s", t.bodyA[r.pair], t.bodyB[r.pair], row.Reason)
		}
		b.badPairs = append(b.badPairs, e)
		return
	}
}
