package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
)

// Multiplies reports whether [Backend.Multiply] takes products of the derivatives of the options.
func (b *Backend) Multiplies(o *batch.Options) bool { return b.Derives(o, batch.ColDNormal) }

// Multiply answers the rows of a job, which stay on the device, and takes products of their Jacobians. It returns the
// rows that it declines, in rising order, whose results are zero; of sums by body, worlds in which there are such rows.
// Which rows are declined, and the products of the others, depend on each row alone.
func (b *Backend) Multiply(ctx context.Context, job *batch.Job, p *batch.Product) (declined []int, err error) {
	if err := b.enter(); err != nil {
		return nil, err
	}
	defer b.leave()
	own := *job
	own.Results, own.Reduction, own.Options.Columns = nil, nil, derivedNeeds
	if err := own.CheckInputForm(); err != nil {
		return nil, err
	}
	if err := check(&own.Options, nil); err != nil {
		return nil, err
	}
	if err := p.Check(own.Input); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if !b.Multiplies(&own.Options) {
		return nil, fmt.Errorf("engine: products of these derivatives: %w", batch.ErrNotAvailable)
	}
	c := call{
		b: b, ctx: ctx, job: &own, query: queryOf(&own.Options), number: b.stats.call(), chunkRows: b.chunkRows,
		derives: true, product: &products{Product: p},
		out: batch.EmptyResults(job.Input.Len(), derivedNeeds, job.Options.Precision),
	}
	n := job.Input.Len()
	if n == 0 {
		clear(p.Results)
		return nil, nil
	}
	c.worlds = asWorlds(job.Input, 0, n, c.chunkRows)
	switch {
	case p.Sums == nil:
	case !p.Sums.EveryRow():
		if !c.product.fits(c.chunkRows) {
			return upTo(len(p.Sums.Worlds) - 1), nil
		}
	default:
		if w := job.Input.(*batch.Worlds); !c.product.list(w, c.worlds != nil) {
			return upTo(w.Count()), nil
		}
	}
	if _, err := b.answer(&c, n); err != nil {
		return nil, err
	}
	return c.product.declined, nil
}

// upTo returns 0 to n-1.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// products is what a call with products has beside its answers.
type products struct {
	*batch.Product
	places   []uint32 // of sums by body: where the list of each body begins, and the lists, see body_gradients.comp
	declined []int
}

// list makes the lists of sums by body. It reports false if the worlds are not expanded on the device, or the lists
// exceed the limit on loop passes.
func (p *products) list(w *batch.Worlds, expanded bool) bool {
	if !expanded || w.Len() == 0 {
		return false
	}
	lists := make([][]uint32, w.BodiesPerWorld())
	for k, a := range w.TemplateA {
		b := w.TemplateB[k]
		lists[a] = append(lists[a], uint32(2*k))
		lists[b] = append(lists[b], uint32(2*k+1))
	}
	at := len(lists) + 1
	for _, l := range lists {
		p.places = append(p.places, uint32(at))
		at += len(l)
		if 8*len(l) > loopLimit {
			return false
		}
	}
	p.places = append(append(p.places, uint32(at)), slices.Concat(lists...)...)
	return true
}

// multiply returns d with room for the products of a chunk of rows from lo on, and writes its operands.
func (d *derivation) multiply(b *Backend, c *call, l *placement, lo int) (*derivation, error) {
	d.record, d.sums = recordOf(&c.job.Options, &c.query, l), d.sums.none()
	d.columns, d.product, d.first = d.columns[:0], c.product, lo
	operand, result := c.product.Kind.Widths()
	first, operands, products := lo, l.n, l.n
	places := c.product.places
	var err error
	switch s := &d.sums; {
	case c.product.Sums == nil:
	case !c.product.Sums.EveryRow():
		if s.least, err = b.pipelines.forLeast(); err != nil {
			return nil, err
		}
		if places, err = s.of(c.product.Sums, lo, l.n, d.record); err != nil {
			return nil, err
		}
		first, operands, products = s.group, int(s.groups.Groups), int(s.groups.Sets)
		d.record.Sets = s.groups.Sets
	default:
		w := c.job.Input.(*batch.Worlds)
		s.world = lo / len(w.TemplateA)
		s.record = layout.BodyRecord{Worlds: uint32(l.n / len(w.TemplateA)), Bodies: uint32(w.BodiesPerWorld()),
			Pairs: uint32(len(w.TemplateA)), LoopLimit: c.query.LoopLimit}
	}
	d.sums.bytes = 4 * 13 * uint64(d.sums.record.Worlds) * uint64(d.sums.record.Bodies)
	d.flags = uint32(2 * result * products)
	d.bytes = 4 * uint64(2*result*products+products)
	if d.sums.bytes > 0 {
		if d.sums.chain, err = b.pipelines.forBodies(); err != nil {
			return nil, err
		}
	}
	mode := c.job.Options.Derivative.Mode
	if d.chain, err = b.pipelines.forProducts(c.library.have, mode, c.product.Kind); err != nil {
		return nil, err
	}
	if err := d.reserve(b, 8*uint64(operand*operands), 4*uint64(len(places))); err != nil {
		return nil, err
	}
	copy(recordsIn[float64](d.operands.host.Bytes()), c.product.Operands[operand*first:operand*(first+operands)])
	copy(recordsIn[uint32](d.sums.places.host.Bytes()), places)
	if err := d.operands.wrote(8 * uint64(operand*operands)); err != nil {
		return nil, err
	}
	return d, d.sums.places.wrote(4 * uint64(len(places)))
}

// moved is what the host reads of products: those of rows, or sums by body.
func (d *derivation) moved() (*mirror, uint64) {
	if d.sums.bytes > 0 {
		return &d.sums.out, d.sums.bytes
	}
	return &d.out, d.bytes
}

// takeProducts stores products and lists the rows, or worlds, that are left to the host. It returns the number of the
// others.
func (d *derivation) takeProducts() (derived int64, err error) {
	from, bytes := d.moved()
	if err := from.host.Slice(0, bytes).Invalidate(); err != nil {
		return 0, err
	}
	p := d.product
	words := recordsIn[uint32](from.host.Bytes())
	if d.sums.bytes == 0 {
		_, width := p.Kind.Widths()
		copy(p.Results[width*d.first:], recordsIn[float64](from.host.Bytes())[:width*int(d.record.Rows)])
		for i, code := range words[d.flags:][:d.record.Rows] {
			if code >= uint32(batch.SmoothnessCount) {
				p.declined = append(p.declined, d.first+i)
				clear(p.Results[width*(d.first+i):][:width])
			} else {
				derived++
			}
		}
		return derived, nil
	}
	r := &d.sums.record
	bodies, first := int(r.Bodies), d.sums.world
	n := int(r.Worlds) * bodies
	copy(p.Results[batch.BodyWidth*bodies*first:], recordsIn[float64](from.host.Bytes())[:batch.BodyWidth*n])
	derived = int64(d.record.Rows)
	for w := range int(r.Worlds) {
		flags := words[12*n+bodies*w:][:bodies]
		if slices.ContainsFunc(flags, func(f uint32) bool { return f != 0 }) {
			p.declined = append(p.declined, first+w)
			clear(p.Results[batch.BodyWidth*bodies*(first+w):][:batch.BodyWidth*bodies])
			derived -= p.rowsOf(first+w, r.Pairs)
		}
	}
	return derived, nil
}

// fillProducts prepares the memory on the device: what the shaders do not write must look left to the host.
func (d *derivation) fillProducts(s *vk.Stream, direct bool) {
	s.Fill(d.out.device.Slice(4*uint64(d.flags), d.bytes-4*uint64(d.flags)), ^uint32(0))
	if d.sums.groups.Sets > 0 { // those of sets of which no row counts
		s.Fill(d.out.device.Slice(0, 4*uint64(d.flags)), 0)
	}
	if d.sums.bytes > 0 {
		s.Fill(d.sums.out.device.Slice(0, d.sums.bytes), ^uint32(0))
	}
	if n := d.sums.words(); n > 0 {
		s.Fill(d.sums.selected.Slice(0, n), ^uint32(0))
	}
	if direct {
		return
	}
	for _, m := range []*mirror{&d.operands, &d.sums.places} {
		if m.fresh > 0 {
			s.Copy(m.device.Slice(0, m.fresh), m.host.Slice(0, m.fresh))
		}
	}
}

// derivation is what derivatives.comp needs for a chunk: the memory of the columns of derivatives.
type derivation struct {
	blocks []*vk.Block
	out    mirror
	bytes  uint64 // of the output

	chain   *chain // of the one pass
	record  layout.DerivativeRecord
	columns []derivedColumn

	// Of products.
	product  *products // nil: there are columns
	operands mirror
	first    int    // row of the call at which the chunk begins
	flags    uint32 // the first word of the smoothness
	sums     sums

	// While the columns are taken down.
	memory []byte
	to     *batch.Results
	base   int
	counts []int64 // derived rows of each block
}

// derivedColumn is a column of the output and the word at which it begins.
type derivedColumn struct {
	*layout.Column
	at uint32
}

// Derives reports whether calls fill columns of derivatives of the options: exact ones of signed distances, and those
// with Gumbel smoothing over all vertices, on devices with double precision. The derivative of the distance alone is a
// closed form of columns that the host has.
func (b *Backend) Derives(o *batch.Options, columns batch.Columns) bool {
	info, d := o.Query.Info(), &o.Derivative
	mode := derivedModes[d.Mode] && (d.Mode != batch.GumbelDerivative || d.Rings == 0)
	return b.pipelines.arithmetic.float64 && info.SignedDistance && !info.Boolean() &&
		mode && columns&batch.DerivedColumns&^batch.ColDDistance != 0
}

// derivedModes are those of derivatives.comp.
var derivedModes = [batch.DerivativeModeCount]bool{batch.ExactDerivative: true, batch.GumbelDerivative: true}

// derivedNeeds are the columns of answers that derivatives take.
const derivedNeeds = batch.ColDistance | batch.ColGap | batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB |
	batch.ColStatus

// derives reports whether a call fills the columns of derivatives of its results.
func (b *Backend) derives(o *batch.Options, out *batch.Results) bool {
	const needs = derivedNeeds | batch.ColSmoothness
	return out.Columns&needs == needs && b.Derives(o, out.Columns)
}

// derivedShare is what calls with derivatives divide the rows of a chunk by: their columns take eight times the memory
// of a row.
const derivedShare = 8

// derivedRows is the number of rows of a chunk with derivatives.
func (b *Backend) derivedRows() int {
	return max(b.chunkRows/derivedShare/batch.BitsPerWord, 1) * batch.BitsPerWord
}

// of returns d with room for the derivatives of a chunk whose answers stand as l says. It returns nil if they exceed
// the largest buffer, as those of a held batch may: all are then left to the host.
func (d *derivation) of(b *Backend, o *batch.Options, q *layout.QueryRecord, lib *library, l *placement,
	out *batch.Results) (*derivation, error) {
	d.product, d.sums, d.record = nil, d.sums.none(), recordOf(o, q, l)
	d.record.Derived = uint32(out.Columns & batch.DerivedColumns)
	d.columns = d.columns[:0]
	words, rows := 0, l.n+l.n&1
	for i := range layout.DerivedColumns {
		if c := &layout.DerivedColumns[i]; out.Columns&c.Code != 0 {
			d.columns = append(d.columns, derivedColumn{c, uint32(words)})
			words += rows * c.Words(l.double)
		}
	}
	d.bytes = 4 * uint64(words)
	if d.bytes > b.info.Limits.MaxStorageBufferRange {
		return nil, nil
	}
	var err error
	if d.chain, err = b.pipelines.forDerivatives(lib.have, o.Derivative.Mode); err != nil {
		return nil, err
	}
	return d, d.reserve(b, 0, 0)
}

// recordOf is what the shader is told of answers that stand as l says.
func recordOf(o *batch.Options, q *layout.QueryRecord, l *placement) layout.DerivativeRecord {
	epsilon := math.Float64bits(o.Derivative.Epsilon)
	return layout.DerivativeRecord{Rows: uint32(l.n), Columns: uint32(l.columns),
		Flags: l.flags() | q.Flags&layout.FlagCutOff, LoopLimit: q.LoopLimit,
		CutOff: [2]uint32{q.Exact[2], q.Exact[3]}, Epsilon: [2]uint32{uint32(epsilon), uint32(epsilon >> 32)}}
}

// reserve makes room for the output, and for so many bytes of operands and of lists of sums.
func (d *derivation) reserve(b *Backend, operands, places uint64) error {
	if d.blocks != nil && d.bytes <= d.out.host.Size() && operands <= d.operands.host.Size() &&
		places <= d.sums.places.host.Size() && d.sums.bytes <= d.sums.out.host.Size() &&
		d.sums.words() <= d.sums.selected.Size() {
		return nil
	}
	free(d.blocks)
	d.blocks = nil
	p := plan{b: b}
	p.output(&d.out, max(d.bytes, d.out.host.Size()))
	p.input(&d.operands, max(operands, d.operands.host.Size()))
	p.input(&d.sums.places, max(places, d.sums.places.host.Size()))
	p.output(&d.sums.out, max(d.sums.bytes, d.sums.out.host.Size(), 4))
	p.device(&d.sums.selected, max(d.sums.words(), d.sums.selected.Size(), 4))
	var err error
	if d.blocks, err = p.allocate(); err != nil {
		d.out, d.operands, d.sums.places, d.sums.out = mirror{}, mirror{}, mirror{}, mirror{}
		d.sums.selected = vk.Buffer{}
	}
	return err
}

// fill prepares the memory on the device: a row that the shader does not write must not look derived.
func (d *derivation) fill(s *vk.Stream) {
	last := &d.columns[len(d.columns)-1]
	s.Fill(d.out.device.Slice(4*uint64(last.at), d.bytes-4*uint64(last.at)), math.MaxUint32)
}

// take copies the derivatives to rows of out that begin at base, but for the smoothness of rows that the shader left to
// the host, and returns the number of the others.
func (d *derivation) take(out *batch.Results, base int) (derived int64, err error) {
	if err := d.out.host.Slice(0, d.bytes).Invalidate(); err != nil {
		return 0, err
	}
	n := int(d.record.Rows)
	d.memory, d.to, d.base = d.out.host.Bytes(), out, base
	defer func() { d.memory, d.to = nil, nil }()
	d.counts = make([]int64, (n+blockRows-1)/blockRows)
	if err := parallel(n, d); err != nil {
		return 0, err
	}
	for _, k := range d.counts {
		derived += k
	}
	return derived, nil
}

func (d *derivation) block(lo, hi int) error {
	for _, c := range d.columns {
		from, to := d.memory[4*c.at:], d.to.Column(c.Code)
		first, last, dest := c.Width*lo, c.Width*hi, c.Width*(d.base+lo)
		switch {
		case to.F64 != nil:
			copy(to.F64[dest:], recordsIn[float64](from)[first:last])
		case to.F32 != nil:
			copy(to.F32[dest:], recordsIn[float32](from)[first:last])
		default:
			d.counts[lo/blockRows] = takeSmoothness(to.U8[dest:], recordsIn[uint32](from)[first:last])
		}
	}
	return nil
}

// takeSmoothness stores the codes of rows that are derived, and counts them.
func takeSmoothness(to []uint8, words []uint32) (derived int64) {
	for i, w := range words {
		if w < uint32(batch.SmoothnessCount) {
			to[i] = uint8(w)
			derived++
		}
	}
	return derived
}

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
