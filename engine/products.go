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
	if n == 0 {
		clear(p.Results)
		return nil, nil
	}
	c.worlds = asWorlds(job.Input, 0, n, c.chunkRows)
	switch {
	case p.Sums != nil:
		if !c.product.fits(c.chunkRows) {
			return upTo(len(p.Sums.Worlds) - 1), nil
		}
	case p.Bodies:
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
	case c.product.Sums != nil:
		if s.least, err = b.pipelines.forLeast(); err != nil {
			return nil, err
		}
		if places, err = s.of(c.product.Sums, lo, l.n, d.record); err != nil {
			return nil, err
		}
		first, operands, products = s.group, int(s.groups.Groups), int(s.groups.Sets)
		d.record.Sets = s.groups.Sets
	case c.product.Bodies:
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
