package engine

import (
	"math"
	"math/bits"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/layout"
)

// packer writes the rows of a chunk into memory that the device reads. A row that is
// refused is marked, and the device answers it as invalid: a pair that cannot be has no
// shape, a pose that cannot be has a zero quaternion, a direction that cannot be is
// infinite.
//
// A pair list goes as one world whose pairs have two bodies each. Worlds go as they
// are: the bodies of the worlds that the chunk touches, and one template for all.
type packer struct {
	library *library
	shapes  *batch.Library
	input   batch.Input
	worlds  *batch.Worlds // the input as worlds, nil: as a pair list
	warm    []float64     // [N,3], nil: none
	lo, n   int           // rows of the input

	unsorted bool // rows stay in their order

	in        *inputs
	posesOnly bool
	keys      []uint16 // [P] of the templates of worlds
	sorter    sorter
}

// asWorlds returns the input in the form of worlds if rows [lo, hi) are to go in that
// form: a world fits into a chunk, and there are fewer bodies to move than in a list.
func asWorlds(in batch.Input, lo, hi, chunkRows int) *batch.Worlds {
	w, ok := in.(*batch.Worlds)
	if !ok || len(w.TemplateA) == 0 {
		return nil
	}
	p := len(w.TemplateA)
	if p > chunkRows || len(w.Shapes) > 2*p || hi-lo < p/4 {
		return nil
	}
	return w
}

// cut returns how many rows the chunk at row at has, and the number of rows for which it
// needs room. Chunks of worlds end where a world ends.
func cut(w *batch.Worlds, at, hi, chunkRows int) (n, room int) {
	if w == nil {
		n = min(hi-at, chunkRows)
		return n, n
	}
	p := len(w.TemplateA)
	first := at % p
	n = min(hi-at, chunkRows/p*p-first)
	return n, (first + n + p - 1) / p * p
}

// forget drops the references to memory of the caller.
func (p *packer) forget() {
	p.library, p.shapes, p.input, p.worlds, p.warm = nil, nil, nil, nil, nil
}

// all writes everything. Templates and order of a chunk before stay good if same is set:
// it is of the same call.
func (p *packer) all(same bool) error {
	in := p.in
	if p.worlds == nil {
		in.first, in.period, in.bodies = 0, p.n, 0
		p.begin(p.n)
		if err := p.listed(false); err != nil {
			return err
		}
		if err := p.arrange(); err != nil {
			return err
		}
		return p.directions()
	}
	w := p.worlds
	period, first := len(w.TemplateA), p.lo%len(w.TemplateA)
	arranged := same && first == in.first && in.rows == p.n
	in.first, in.period, in.bodies, in.rows = first, period, len(w.Shapes), p.n
	if !same {
		if err := p.template(); err != nil {
			return err
		}
	}
	if err := p.moved(); err != nil {
		return err
	}
	if !arranged {
		p.begin(p.n)
		if p.sorting() {
			if err := parallel(p.n, (*templateKeys)(p)); err != nil {
				return err
			}
		}
		if err := p.arrange(); err != nil {
			return err
		}
	}
	return p.directions()
}

// moved writes the poses.
func (p *packer) moved() error {
	if p.worlds == nil {
		return p.listed(true)
	}
	n := p.touched() * len(p.worlds.Shapes)
	if err := parallel(n, (*bodies)(p)); err != nil {
		return err
	}
	return p.in.poses.wrote(uint64(n) * poseBytes)
}

// touched is the number of worlds that the chunk has rows of.
func (p *packer) touched() int {
	period := len(p.worlds.TemplateA)
	return (p.lo%period + p.n + period - 1) / period
}

// listed writes the rows of a pair list: poses, and templates and keys unless posesOnly.
func (p *packer) listed(posesOnly bool) error {
	p.posesOnly = posesOnly
	if err := parallel(p.n, (*listRows)(p)); err != nil {
		return err
	}
	if err := p.in.poses.wrote(2 * uint64(p.n) * poseBytes); err != nil || posesOnly {
		return err
	}
	return p.in.templates.wrote(uint64(p.n) * templateBytes)
}

// sorting reports whether rows differ in class at all.
func (p *packer) sorting() bool { return p.library.classes > 1 && !p.unsorted }

func (p *packer) begin(n int) {
	if p.sorting() {
		p.sorter.begin(n, p.library.classes*p.library.classes+1)
	}
}

// key is the key by which pairs of shapes are sorted; invalid pairs come last.
func (p *packer) key(a, b uint32) uint16 {
	if a == layout.NoShape {
		return uint16(p.library.classes * p.library.classes)
	}
	return uint16(int(p.library.class[a])*p.library.classes + int(p.library.class[b]))
}

// arrange writes the order, if there is anything to gain from one.
func (p *packer) arrange() error {
	p.in.ordered = p.sorting() && !p.sorter.grouped()
	if !p.in.ordered {
		return p.in.order.wrote(0)
	}
	if err := p.sorter.sort(); err != nil {
		return err
	}
	copy(recordsIn[uint32](p.in.order.host.Bytes()), p.sorter.order)
	return p.in.order.wrote(uint64(p.n) * orderBytes)
}

// directions writes the directions to start with.
func (p *packer) directions() error {
	if p.warm == nil {
		return p.in.warm.wrote(0)
	}
	if err := parallel(p.n, (*directions)(p)); err != nil {
		return err
	}
	return p.in.warm.wrote(uint64(p.n) * warmBytes)
}

// template writes the templates of the worlds and their keys.
func (p *packer) template() error {
	w := p.worlds
	period := len(w.TemplateA)
	if cap(p.keys) < period {
		p.keys = make([]uint16, period)
	}
	p.keys = p.keys[:period]
	if err := parallel(period, (*templates)(p)); err != nil {
		return err
	}
	return p.in.templates.wrote(uint64(period) * templateBytes)
}

// The loops of a packer.
type (
	listRows     packer // rows of a pair list
	bodies       packer // poses of worlds
	templates    packer // templates of worlds
	templateKeys packer // keys of the rows of worlds
	directions   packer // directions of rows
)

func (l *listRows) block(lo, hi int) error {
	p := (*packer)(l)
	poses := recordsIn[layout.PoseRecord](p.in.poses.host.Bytes())
	records := recordsIn[layout.TemplateRecord](p.in.templates.host.Bytes())
	var r batch.Row
	for i := lo; i < hi; i++ {
		p.input.Row(p.lo+i, &r)
		putPose(&poses[2*i], r.PoseA)
		putPose(&poses[2*i+1], r.PoseB)
		if l.posesOnly {
			continue
		}
		t := p.record(uint32(2*i), uint32(2*i+1), r.ShapeA, r.ShapeB)
		records[i] = t
		if p.sorting() {
			p.sorter.keys[i] = p.key(t.ShapeA, t.ShapeB)
		}
	}
	if !l.posesOnly && p.sorting() {
		p.sorter.tally(lo, hi)
	}
	return nil
}

func (p *packer) record(bodyA, bodyB uint32, shapeA, shapeB int32) layout.TemplateRecord {
	t := layout.TemplateRecord{BodyA: bodyA, BodyB: bodyB, ShapeA: uint32(shapeA), ShapeB: uint32(shapeB)}
	if !p.shapes.CheckPair(shapeA, shapeB) {
		t.ShapeA = layout.NoShape
	}
	return t
}

func (l *templates) block(lo, hi int) error {
	p := (*packer)(l)
	w := p.worlds
	records := recordsIn[layout.TemplateRecord](p.in.templates.host.Bytes())
	for i := lo; i < hi; i++ {
		a, b := w.TemplateA[i], w.TemplateB[i]
		t := p.record(uint32(a), uint32(b), w.Shapes[a], w.Shapes[b])
		records[i] = t
		p.keys[i] = p.key(t.ShapeA, t.ShapeB)
	}
	return nil
}

func (l *templateKeys) block(lo, hi int) error {
	p := (*packer)(l)
	at := (p.in.first + lo) % p.in.period
	for i := lo; i < hi; i++ {
		p.sorter.keys[i] = p.keys[at]
		if at++; at == p.in.period {
			at = 0
		}
	}
	p.sorter.tally(lo, hi)
	return nil
}

func (l *bodies) block(lo, hi int) error {
	p := (*packer)(l)
	records := recordsIn[layout.PoseRecord](p.in.poses.host.Bytes())
	from := p.lo / len(p.worlds.TemplateA) * len(p.worlds.Shapes)
	for i := lo; i < hi; i++ {
		putPose(&records[i], p.worlds.PoseAt(from+i))
	}
	return nil
}

// putPose writes a pose, or the mark of one that is refused.
func putPose(to *layout.PoseRecord, p geom.Pose) {
	if !batch.CheckPose(&p) {
		*to = layout.PoseRecord{}
		return
	}
	to.Position = [3]float64{p.Position.X, p.Position.Y, p.Position.Z}
	to.Rotation = [4]float64{p.Rotation.Real, p.Rotation.Imag, p.Rotation.Jmag, p.Rotation.Kmag}
}

func (l *directions) block(lo, hi int) error {
	p := (*packer)(l)
	to := recordsIn[[3]float32](p.in.warm.host.Bytes())
	for i := lo; i < hi; i++ {
		w := p.warm[3*(p.lo+i):][:3]
		to[i] = direction(w[0], w[1], w[2])
	}
	return nil
}

// direction scales a vector so that float32 can hold it, whatever its length. One that
// is not finite becomes infinite.
func direction(x, y, z float64) [3]float32 {
	m := max(math.Abs(x), math.Abs(y), math.Abs(z)) // NaN if one is
	switch {
	case m == 0:
		return [3]float32{}
	case !(m <= math.MaxFloat64):
		return [3]float32{float32(math.Inf(1))}
	}
	return [3]float32{float32(x / m), float32(y / m), float32(z / m)}
}

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
