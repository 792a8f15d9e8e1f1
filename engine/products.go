package engine

import (
	"context"
	"fmt"
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
	if err := own.CheckInput(); err != nil {
		return nil, err
	}
	if err := check(&own.Options); err != nil {
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
	c.worlds = asWorlds(job.Input, 0, n, c.chunkRows)
	if p.Bodies && !c.product.list(job.Input.(*batch.Worlds), c.worlds != nil) {
		for w := range job.Input.(*batch.Worlds).Count() {
			left = append(left, w)
		}
		return left, nil
	}
	if _, err := b.answer(&c, n); err != nil {
		return nil, err
	}
	return c.product.left, nil
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

// sums is the memory of sums by body of a chunk.
type sums struct {
	places, out mirror
	bytes       uint64 // of the output
	chain       *chain // of the one pass
	record      layout.BodyRecord
}

// multiply returns d with room for the products of a chunk of rows from lo on, and writes its operands.
func (d *derivation) multiply(b *Backend, c *call, l *placement, lo int) (*derivation, error) {
	d.record = recordOf(&c.job.Options, &c.query, l)
	d.columns, d.product, d.first = d.columns[:0], c.product, lo
	operand, result := c.product.Kind.Widths()
	d.flags = uint32(2 * result * l.n)
	d.bytes = 4 * uint64(2*result*l.n+l.n)
	words, places := uint64(0), uint64(0)
	var err error
	if c.product.Bodies {
		if d.sums.chain, err = b.pipelines.forBodies(); err != nil {
			return nil, err
		}
		w := c.job.Input.(*batch.Worlds)
		d.sums.record = layout.BodyRecord{Worlds: uint32(l.n / len(w.TemplateA)), Bodies: uint32(w.BodiesPerWorld()),
			Pairs: uint32(len(w.TemplateA)), LoopLimit: c.query.LoopLimit}
		words = 13 * uint64(d.sums.record.Worlds) * uint64(d.sums.record.Bodies)
		places = uint64(len(c.product.places))
	}
	d.sums.bytes = 4 * words
	mode := c.job.Options.Derivative.Mode
	if d.chain, err = b.pipelines.forProducts(c.library.have, mode, c.product.Kind); err != nil {
		return nil, err
	}
	if err := d.reserve(b, 8*uint64(operand*l.n), 4*places); err != nil {
		return nil, err
	}
	copy(recordsIn[float64](d.operands.host.Bytes()), c.product.Operands[operand*lo:operand*(lo+l.n)])
	copy(recordsIn[uint32](d.sums.places.host.Bytes()), c.product.places)
	if err := d.operands.wrote(8 * uint64(operand*l.n)); err != nil {
		return nil, err
	}
	return d, d.sums.places.wrote(4 * places)
}

// moved is what the host reads of products: those of rows, or sums by body.
func (d *derivation) moved() (*mirror, uint64) {
	if d.product != nil && d.product.Bodies {
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
	if !p.Bodies {
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
	bodies, first := int(r.Bodies), d.first/int(r.Pairs)
	n := int(r.Worlds) * bodies
	copy(p.Results[batch.BodyWidth*bodies*first:], recordsIn[float64](from.host.Bytes())[:batch.BodyWidth*n])
	for w := range int(r.Worlds) {
		flags := words[12*n+bodies*w:][:bodies]
		if slices.ContainsFunc(flags, func(f uint32) bool { return f != 0 }) {
			p.left = append(p.left, first+w)
			clear(p.Results[batch.BodyWidth*bodies*(first+w):][:batch.BodyWidth*bodies])
		} else {
			derived += int64(r.Pairs)
		}
	}
	return derived, nil
}

// fillProducts prepares the memory on the device: what the shaders do not write must look left to the host.
func (d *derivation) fillProducts(s *vk.Stream, direct bool) {
	s.Fill(d.out.device.Slice(4*uint64(d.flags), d.bytes-4*uint64(d.flags)), ^uint32(0))
	if d.sums.bytes > 0 {
		s.Fill(d.sums.out.device.Slice(0, d.sums.bytes), ^uint32(0))
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
