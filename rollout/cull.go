package rollout

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/kernels"
)

// A tile is some worlds of a block: the pairs of parts that a solver must answer, and what is known of the rows.
// It belongs to one goroutine at a time.
type tile struct {
	c      *Batch
	lo, hi int // worlds
	place  *placement

	// Instances of parts that occur in a candidate, one after the other, and their poses, [7] each.
	shapes []int32
	poses  []float64

	// Candidates: pairs of parts to be solved, as instances, and their parts within their bodies.
	a, b         []int32
	partA, partB []int32

	rows   []openRow
	worlds []worldLeast // of the reduction, one for each world

	bodyA, bodyB []int32 // of all pairs: places of the pairs that rows refer to
	ends         []int   // of all pairs: end of the rows of each world

	lowers  []float64    // lower bounds of the rows of one world
	nearest int          // the row with the least of these, -1 for none
	bounds  [][2]float64 // lower and upper, of the pairs of parts of one row
	count   counts
	bad     []badPose // the first of them

	err error // of the broad phase, of the context, or too many candidates

	unseen int64 // pairs compared since the last check of the context

	instance, candidate int // first of the tile within the block
	firstRow            int // of sparse results
}

// openRow is a row with candidates.
type openRow struct {
	world, pair  int32
	first, count int32 // candidates
	least        least // of its culled pairs of parts
}

// badPose is an invalid pose.
type badPose struct{ world, place int }

// counts are what a call did with pairs of parts.
type counts struct {
	rows, absent, culledRows int64
	pairs, culled            int64
}

func (t *tile) reset(lo, hi int) {
	t.lo, t.hi = lo, hi
	t.shapes, t.poses = t.shapes[:0], t.poses[:0]
	t.a, t.b, t.partA, t.partB = t.a[:0], t.b[:0], t.partA[:0], t.partB[:0]
	t.rows, t.worlds, t.bad = t.rows[:0], t.worlds[:0], t.bad[:0]
	t.bodyA, t.bodyB, t.ends = t.bodyA[:0], t.bodyB[:0], t.ends[:0]
	t.count, t.err, t.unseen = counts{}, nil, 0
}

// pairsPerCheck is the number of pairs, of bodies or of parts, that are compared between two checks of the context: a
// few
// milliseconds.
const pairsPerCheck = 1 << 16

// goOn counts pairs that are about to be compared, and reports whether to go on.
func (t *tile) goOn(pairs int64) bool {
	if t.unseen += pairs; t.unseen >= pairsPerCheck && t.err == nil {
		t.unseen, t.err = 0, t.c.ctx.Err()
	}
	return t.err == nil
}

// cull finds the candidates of the worlds of the tile, and answers the rows that have none.
func (t *tile) cull() {
	if t.place.culler != nil { // for all worlds, so that the bits of a world do not depend on its tile
		n := t.c.vectors.worlds
		for w := t.lo; w < t.hi && t.goOn(int64(n)*t.c.vectors.all); w += n {
			t.cullByKernel(w, min(n, t.hi-w))
		}
		return
	}
	for w := t.lo; w < t.hi && t.goOn(int64(1+len(t.c.templateA))); w++ {
		t.cullWorld(w)
	}
}

// cullWorld is cull of one world.
func (t *tile) cullWorld(w int) {
	c := t.c
	t.place.place(w)
	t.noteInvalid(w)
	if c.reduce {
		t.worlds = append(t.worlds, noWorld())
	}
	if c.all != nil {
		t.cullAll(w)
		return
	}
	if !c.bounded {
		for p, a := range c.templateA {
			t.row(w, p, a, c.templateB[p], c.threshold)
		}
		return
	}
	beyond := t.balls()
	if c.stops && t.stop(w) {
		return
	}
	for p, lower := range t.lowers {
		if lower > beyond {
			t.culledByBalls(w, p, lower)
			continue
		}
		beyond = t.row(w, p, c.templateA[p], c.templateB[p], beyond)
	}
}

// balls bounds the rows of the world at place from below by the balls that contain the bodies, -Inf for rows without
// bodies. It returns the distance beyond which a row cannot matter: the largest distance asked for, and of a reduction
// the least upper bound, unless that is a contact: contacts are counted.
func (t *tile) balls() (beyond float64) {
	c, p := t.c, t.place
	t.lowers = resized(t.lowers, len(c.templateA))
	least, at := math.Inf(1), -1
	tb := c.templateB[:len(t.lowers)]
	for i, a := range c.templateA[:len(t.lowers)] {
		b := tb[i]
		if !p.answered(a, b) {
			t.lowers[i] = math.Inf(-1)
			continue
		}
		lower := p.lower(a, b)
		t.lowers[i] = lower
		if lower < least {
			least, at = lower, i
		}
	}
	t.nearest = at
	if !c.reduce || !c.valued || at < 0 {
		return c.threshold
	}
	beyond = min(c.threshold, max(t.upper(at), 0))
	for i, lower := range t.lowers {
		if lower < beyond && p.answered(c.templateA[i], tb[i]) {
			beyond = min(beyond, max(t.upper(i), 0))
		}
	}
	return beyond
}

// upper bounds a row of the world at place from above.
func (t *tile) upper(pair int) float64 {
	return t.place.upper(t.c.templateA[pair], t.c.templateB[pair])
}

// culledByBalls answers a row that the balls of its bodies prove to be beyond what matters.
func (t *tile) culledByBalls(world, pair int, lower float64) {
	c, p := t.c, t.place
	pairs := p.count[c.templateA[pair]] * p.count[c.templateB[pair]]
	t.count.rows++
	t.count.culledRows++
	t.count.pairs += pairs
	t.count.culled += pairs
	if !c.reduce {
		c.putCulled(world*len(c.templateA)+pair, lower, t.upper(pair))
		return
	}
	// An upper bound of any row is one of the world: that of the row with the least lower bound is enough.
	upper := math.Inf(1)
	if pair == t.nearest {
		upper = t.upper(pair)
	}
	t.worlds[world-t.lo].cull(lower, upper)
}

// noteInvalid remembers the invalid poses of a world.
func (t *tile) noteInvalid(world int) {
	for _, k := range t.place.used {
		if t.place.state[k] == invalid && len(t.bad) < t.c.run.MaxRowErrors {
			t.bad = append(t.bad, badPose{world, int(k)})
		}
	}
}

// row culls the pairs of parts of a row: of the bodies at places a and b. It returns the distance beyond which the rows
// after it cannot matter: of the least of a world, an upper bound of this row too.
func (t *tile) row(world, pair int, a, b int32, beyond float64) float64 {
	c, p := t.c, t.place
	if !t.goOn(1) {
		return beyond
	}
	t.count.rows++
	if !p.answered(a, b) {
		none := p.state[a] == absent || p.state[b] == absent || p.carrier[a] == p.carrier[b]
		t.rowWithoutBodies(world, pair, none)
		return beyond
	}
	r := openRow{world: int32(world), pair: int32(pair), first: int32(len(t.a)), least: noLeast()}
	t.count.pairs += p.count[a] * p.count[b]
	switch {
	case c.bounded:
		if least := t.parts(&r, a, b, beyond); c.reduce && c.valued {
			beyond = min(beyond, max(least, 0))
		}
	case t.room(world, p.count[a]*p.count[b]):
		for i := range p.table.Parts(p.body[a]) {
			if !t.goOn(int64(len(p.table.Parts(p.body[b])))) {
				return beyond
			}
			for j := range p.table.Parts(p.body[b]) {
				t.candidateOf(a, b, i, j)
			}
		}
	}
	t.endRow(&r)
	return beyond
}

// endRow ends a row whose pairs of parts are culled or candidates.
func (t *tile) endRow(r *openRow) {
	if r.count = int32(len(t.a)) - r.first; r.count == 0 {
		t.culledRow(r)
		return
	}
	t.rows = append(t.rows, *r)
}

// keptBounds is the number of pairs of parts of two bodies whose bounds are kept; those of others are computed twice.
const keptBounds = 1 << 16

// parts culls the pairs of parts of two bodies that are beyond the given distance, or beyond the least of this row, of
// which it returns an upper bound. Bodies of many parts are compared by their boxes first.
func (t *tile) parts(r *openRow, a, b int32, beyond float64) (least float64) {
	p := t.place
	if p.count[a]*p.count[b] > maxBoxedParts {
		if lower := lowerOfWorldBoxes(p.box(a), p.box(b)); lower > beyond {
			upper := p.upper(a, b)
			r.least.cull(lower, upper)
			t.count.culled += p.count[a] * p.count[b]
			return upper
		}
	}
	p.of(a) // which may move the parts of the other
	bs := p.of(b)
	as := p.of(a)
	t.bounds = t.bounds[:0]
	least = math.Inf(1)
	for i := range as {
		if !t.goOn(int64(len(bs))) {
			return least
		}
		for j := range bs {
			upper := upperOfParts(&as[i], &bs[j])
			if len(t.bounds) < keptBounds {
				t.bounds = append(t.bounds, [2]float64{lowerOfBalls(&as[i], &bs[j]), upper})
			}
			least = min(least, upper)
		}
	}
	if t.c.valued {
		beyond = min(beyond, max(least, 0))
	}
	for k := range len(as) * len(bs) {
		i, j := k/len(bs), k%len(bs)
		if j == 0 && !t.goOn(int64(len(bs))) {
			return least
		}
		var bound [2]float64
		if k < len(t.bounds) {
			bound = t.bounds[k]
		} else {
			bound = [2]float64{lowerOfBalls(&as[i], &bs[j]), upperOfParts(&as[i], &bs[j])}
		}
		lower := bound[0]
		if lower <= beyond {
			lower = max(lower, lowerOfBoxes(&as[i], &bs[j]))
		}
		if lower > beyond {
			t.cullPart(r, lower, bound[1])
		} else if !t.keepPart(r, a, b, i, j) {
			return least
		}
	}
	return least
}

// cullPart culls a pair of parts of a row.
func (t *tile) cullPart(r *openRow, lower, upper float64) {
	r.least.cull(lower, upper)
	t.count.culled++
}

// keepPart makes a pair of parts of a row a candidate, if there is room.
func (t *tile) keepPart(r *openRow, a, b int32, i, j int) bool {
	if !t.room(int(r.world), 1) {
		return false
	}
	t.candidateOf(a, b, i, j)
	return true
}

// maxCandidates bounds the candidates of a block, and their instances, which indices of 32 bits count.
const maxCandidates = math.MaxInt32 - 2*batch.MaxParts

// candidateBytes is about the memory of a candidate: its indices in a tile and in the block, and its answer.
const candidateBytes = 160

// room reports whether that many more candidates of a world, with the parts of their bodies, fit into the tile, and
// notes the error of a world for which they do not.
func (t *tile) room(world int, more int64) bool {
	if int64(len(t.a))+more <= t.c.most && len(t.shapes) <= maxCandidates {
		return true
	}
	if t.err == nil {
		t.err = &tooManyError{t.c.first + world, t.c.most}
	}
	return false
}

// tooManyError is the error of a block with more candidates than can be counted.
type tooManyError struct {
	world int
	most  int64
}

func (e *tooManyError) Error() string {
	return fmt.Sprintf("rollout: world %d has more than %d pairs of parts that bounds do not rule out; ask for those "+
		"within a max_distance, or for fewer pairs of bodies in more worlds", e.world, e.most)
}

// candidateOf adds a pair of parts of the bodies at two places to the candidates.
func (t *tile) candidateOf(a, b int32, i, j int) {
	t.a = append(t.a, t.instanceOf(a)+int32(i))
	t.b = append(t.b, t.instanceOf(b)+int32(j))
	t.partA, t.partB = append(t.partA, int32(i)), append(t.partB, int32(j))
}

// instanceOf returns the first instance of the parts of the body at a place.
func (t *tile) instanceOf(k int32) int32 {
	p := t.place
	if p.instance[k] >= 0 {
		return p.instance[k]
	}
	first := int32(len(t.shapes))
	p.instance[k] = first
	for i, part := range p.table.Parts(p.body[k]) {
		pose := p.table.PartPose(p.body[k], i, p.pose[k])
		t.shapes = append(t.shapes, part.Shape)
		t.poses = appendPose(t.poses, &pose)
	}
	return first
}

func appendPose(to []float64, p *geom.Pose) []float64 {
	v, q := p.Position, p.Rotation
	return append(to, v.X, v.Y, v.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
}

// rowWithoutBodies answers a row with an absent body or an invalid pose.
func (t *tile) rowWithoutBodies(world, pair int, absent bool) {
	r := openRow{world: int32(world), pair: int32(pair), first: int32(len(t.a)), least: noLeast()}
	if absent {
		t.count.absent++
	} else {
		r.least.invalid = true
	}
	t.closeRow(&r)
}

// culledRow answers a row without candidates.
func (t *tile) culledRow(r *openRow) {
	t.count.culledRows++
	t.closeRow(r)
}

// closeRow stores a row of which all is known, or adds it to its world.
func (t *tile) closeRow(r *openRow) {
	switch {
	case t.c.reduce:
		t.worlds[int(r.world)-t.lo].add(&r.least, r.pair, t.c.boolean)
		return
	case t.c.all != nil:
		t.closeSparse(r)
		return
	}
	t.c.store(int(r.world)*len(t.c.templateA)+int(r.pair), &r.least, nil)
}

// stop answers a world of a Boolean query in which the balls within two bodies prove a contact, so that no row of it
// needs a solver. A world with a row that is invalid is left to the rows.
func (t *tile) stop(world int) bool {
	c, p, contact := t.c, t.place, -1
	for _, k := range p.used {
		if p.state[k] == invalid {
			return false
		}
	}
	for i, lower := range t.lowers {
		a, b := c.templateA[i], c.templateB[i]
		switch {
		case lower > 0 || !p.answered(a, b):
		case math.IsInf(p.radius[a], 1) && math.IsInf(p.radius[b], 1):
			return false // perhaps two half-spaces
		case contact < 0 && t.upper(i) < 0:
			contact = i
		}
	}
	if contact < 0 {
		return false
	}
	for i, a := range c.templateA {
		b := c.templateB[i]
		t.count.rows++
		if !p.answered(a, b) {
			t.count.absent++
			continue
		}
		t.count.culledRows++
		t.count.pairs += p.count[a] * p.count[b]
		t.count.culled += p.count[a] * p.count[b]
	}
	w := &t.worlds[world-t.lo]
	w.pairs, w.contact, w.contactPair, w.contacts = 1, batch.Penetrating, int32(contact), 1
	return true
}

// vectors is culling by the kernels of a back end: one body at each place, the same in all worlds, and one row for each
// world.
type vectors struct {
	kernels dispatch.CullingKernels
	worlds  int // that a culler takes at a time
	batch.Culling
	parts []int64 // pairs of parts of each pair
	all   int64   // their sum
}

// maxCullPairs limits the pairs that are culled by kernels, which take about a hundred bytes of memory for each.
const maxCullPairs = 1 << 20

// Boxes are compared by kernels for pairs of at most maxBoxedParts pairs of parts. The bodies have at most maxCullParts
// parts in all, each of which takes 1.3 kB for the worlds of a call, and the pairs maxCullItems pairs of parts, of
// 0.2 kB.
const (
	maxBoxedParts = 16
	maxCullParts  = 1 << 12
	maxCullItems  = 1 << 16
)

// setVectors prepares culling by kernels, where there are any and the rollout has the form for it.
func (b *Batch) setVectors() {
	if b.kernels == nil || !b.bounded || !b.reduce || b.stops || b.all != nil ||
		len(b.templateA) == 0 || !b.worlds.Shared() ||
		len(b.templateA) > maxCullPairs || len(b.used) > maxCullPairs || b.worlds.Count() < b.kernels.CullWorlds() {
		return
	}
	v := &vectors{kernels: b.kernels, worlds: b.kernels.CullWorlds(), Culling: batch.Culling{
		Stride: 7 * b.worlds.BodiesPerWorld(), Threshold: b.threshold, Valued: b.valued}}
	parts, items := 0, 0
	index := make([]int32, b.worlds.BodiesPerWorld())
	for i, k := range b.used {
		body := b.worlds.Body(0, k)
		if body == batch.Absent {
			return
		}
		index[k] = int32(i)
		v.Places = append(v.Places, b.worlds.Carrier(0, k))
		bounds := b.bodies.Bounds(body)
		in := &b.bodies.PartBounds(body)[bounds.Inner]
		x := batch.CullBody{
			Center: array(bounds.Center), Radius: bounds.Radius, Magnitude: bounds.Magnitude,
			Far: batch.MaxLength - bounds.Offset, Inner: array(in.Center), Inradius: in.Inradius, Slack: in.Slack,
			Parts: cullParts(b.bodies.PartBounds(body)),
		}
		if x.Plane = isPlane(b.bodies.PartBounds(body)); x.Plane {
			x.Center, x.Radius, x.Inner = array(in.Center), in.Radius, array(column(&in.Axes, 2))
		}
		v.Bodies = append(v.Bodies, x)
		parts += len(v.Bodies[i].Parts)
	}
	for p, x := range b.templateA {
		y := b.templateB[p]
		if b.worlds.Carrier(0, x) == b.worlds.Carrier(0, y) { // a row without an answer
			return
		}
		v.A, v.B = append(v.A, index[x]), append(v.B, index[y])
		n := int64(len(b.bodies.Parts(b.worlds.Body(0, x)))) * int64(len(b.bodies.Parts(b.worlds.Body(0, y))))
		v.parts, v.all = append(v.parts, n), v.all+n
		known := len(v.Bodies[index[x]].Parts) > 0 && len(v.Bodies[index[y]].Parts) > 0
		boxed := known && n <= maxBoxedParts && parts <= maxCullParts && items+int(n) <= maxCullItems
		if v.Boxed = append(v.Boxed, boxed); boxed {
			items += int(n)
		}
	}
	b.vectors = v
}

// cullParts returns the bounds of the parts of a body, nil if it has more than kernels compare or a part has no bounds.
func cullParts(bounds []batch.PartBounds) []batch.CullPart {
	if len(bounds) > maxBoxedParts {
		return nil
	}
	var parts []batch.CullPart
	for i := range bounds {
		b := &bounds[i]
		if b.Unbounded {
			return nil
		}
		parts = append(parts, batch.CullPart{Center: array(b.Center), Radius: b.Radius, Inradius: b.Inradius,
			Slack: b.Slack, Box: array(b.Box), Half: array(b.Half), Axes: b.Axes})
	}
	return parts
}

// cullingKernels returns the kernels of culling of a dispatcher: those of its first back end that has any, nil if none
// has.
func cullingKernels(d *dispatch.Dispatcher) dispatch.CullingKernels {
	for _, b := range d.Backends() {
		if k, ok := dispatch.As[dispatch.CullingKernels](b); ok && k.CullWorlds() > 0 {
			return k
		}
	}
	return nil
}

// variantOf returns the instruction set of the broad phase, "" for none. It is what the first back end that implements
// [dispatch.CullingKernels] was opened with, "off" included. Without such a back end the environment variable or the
// processor decides.
func variantOf(d *dispatch.Dispatcher) (string, error) {
	for _, b := range d.Backends() {
		if k, ok := dispatch.As[dispatch.CullingKernels](b); ok {
			return kernels.Choose(k.SIMD())
		}
	}
	name, err := kernels.Named("", "")
	if err != nil {
		return "", fmt.Errorf("rollout: %w", err)
	}
	return kernels.Choose(name)
}

func array(v r3.Vec) [3]float64 { return [3]float64{v.X, v.Y, v.Z} }

// culler returns a culler for one goroutine, nil if there is none.
func (v *vectors) culler() batch.Culler {
	if v == nil {
		return nil
	}
	return v.kernels.NewCuller(&v.Culling)
}

// cullByKernel culls n worlds from w on by a kernel, at most as many as it takes at a time; of fewer the last one is
// repeated. Worlds with an invalid pose, or one whose quaternion has to be scaled first, are culled one by one.
func (t *tile) cullByKernel(w, n int) {
	v, p := t.c.vectors, t.place
	stride := v.Stride
	poses := t.c.worlds.Poses[w*stride : (w+n)*stride]
	if n < v.worlds {
		p.padded = append(p.padded[:0], poses...)
		for range v.worlds - n {
			p.padded = append(p.padded, poses[(n-1)*stride:]...)
		}
		poses = p.padded
	}
	valid := p.culler.Run(poses)
	for l := range n {
		if valid>>l&1 == 0 {
			t.cullWorld(w + l)
			continue
		}
		known := p.culler.World(l)
		t.cullKnown(w+l, &known)
	}
}

// cullKnown culls a world of which a kernel found the pairs of bodies that may matter.
func (t *tile) cullKnown(world int, known *batch.Culled) {
	c, v, p := t.c, t.c.vectors, t.place
	t.worlds = append(t.worlds, noWorld())
	p.begin()
	parts, beyond := v.all, known.Beyond
	for _, open := range known.Open {
		parts -= v.parts[open.Pair]
		if open.First >= 0 {
			beyond = t.knownRow(world, open, beyond)
			continue
		}
		a, b := c.templateA[open.Pair], c.templateB[open.Pair]
		p.placeOnce(world, a)
		p.placeOnce(world, b)
		beyond = t.row(world, int(open.Pair), a, b, beyond)
	}
	if culled := int64(len(v.A) - len(known.Open)); culled > 0 {
		t.count.rows += culled
		t.count.culledRows += culled
		t.count.pairs += parts
		t.count.culled += parts
		t.worlds[world-t.lo].cull(known.Least, known.Upper)
	}
}

// knownRow culls the pairs of parts of a row of which a kernel has the bounds: tile.parts without their computation.
func (t *tile) knownRow(world int, open batch.CullOpen, beyond float64) float64 {
	c, p := t.c, t.place
	a, b := c.templateA[open.Pair], c.templateB[open.Pair]
	p.take(world, a)
	p.take(world, b)
	bounds := p.culler.Parts(open)
	t.count.rows++
	t.count.pairs += int64(len(bounds.Upper))
	r := openRow{world: int32(world), pair: open.Pair, first: int32(len(t.a)), least: noLeast()}
	if c.valued {
		beyond = min(beyond, max(slices.Min(bounds.Upper), 0))
	}
	parts := len(p.table.Parts(p.body[b]))
	for k, lower := range bounds.Balls {
		if lower <= beyond {
			lower = max(lower, bounds.Boxes[k])
		}
		if lower > beyond {
			t.cullPart(&r, lower, bounds.Upper[k])
		} else if !t.keepPart(&r, a, b, k/parts, k%parts) {
			return beyond
		}
	}
	t.endRow(&r)
	return beyond
}
