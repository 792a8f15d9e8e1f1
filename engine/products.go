package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
)

// Multiplies reports whether [Backend.Multiply] takes products of the derivatives of the options.
func (b *Backend) Multiplies(o *batch.Options) bool { return b.Derives(o, batch.ColDNormal) }

// Multiply answers the rows of a job, which stay on the device, and takes products of their Jacobians. It returns the
// rows that it leaves to the host, in rising order, whose results are zero; of sums by body, worlds in which there are
// such rows. Which rows are left, and the products of the others, depend on each row alone.
func (b *Backend) Multiply(ctx context.Context, job *batch.Job, p *batch.Product) (left []int, err error) {
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
	return c.product.left, nil
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
	places []uint32 // of sums by body: where the list of each body begins, and the lists, see body_gradients.comp
	left   []int
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
				p.left = append(p.left, d.first+i)
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
			p.left = append(p.left, first+w)
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
