package engine

import (
	"math"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
)

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
