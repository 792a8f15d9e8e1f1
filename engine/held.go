package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
)

// maxFlights is the number of chunks of a held batch whose commands are kept; beyond it
// they are recorded anew in every run.
const maxFlights = 64

// ErrHeldClosed is the error of calls on a held batch after its Close.
var ErrHeldClosed = errors.New("engine: the held batch is closed")

// Held is a batch that stays on the device between calls, see [batch.Held]. Its commands
// are recorded once and submitted again as long as the question stays the same. A run of
// less than blockRows rows allocates nothing.
type Held struct {
	b       *Backend
	lock    chan struct{} // contains one token; the call that takes it may use the rest
	closed  bool
	library *library
	shapes  *batch.Library
	length  int
	period  int // templates and bodies of the worlds, 0: goes as a pair list
	bodies  int

	chunks  []heldChunk
	flights []flight
	work    [2]work
	derive  [2]derivation
	packer  packer
	blocks  []*vk.Block
	warm    bool // there is room for directions
}

// heldChunk is the inputs of rows [lo, lo+n).
type heldChunk struct {
	inputs inputs
	lo, n  int
}

var _ batch.Held = (*Held)(nil)

// Hold moves a batch to the device, to stay there until it is closed. Rows that are
// invalid are no error; their answers are.
func (b *Backend) Hold(ctx context.Context, lib *batch.Library, in batch.Input) (batch.Held, error) {
	if lib == nil || in == nil {
		return nil, errors.New("engine: nothing to hold: the library or the input is missing")
	}
	if err := checkShape(in); err != nil {
		return nil, err
	}
	if err := b.enter(); err != nil {
		return nil, err
	}
	defer b.leave()
	h := &Held{b: b, lock: make(chan struct{}, 1), shapes: lib, length: in.Len()}
	var err error
	if h.library, err = b.libraries.of(ctx, lib); err != nil {
		return nil, b.failed(err)
	}
	if err := h.fill(ctx, in); err != nil {
		h.free()
		return nil, b.failed(err)
	}
	h.lock <- struct{}{}
	return h, nil
}

// checkShape has the input check its columns, if it can.
func checkShape(in batch.Input) error {
	if c, ok := in.(interface{ CheckShape() error }); ok {
		return c.CheckShape()
	}
	return nil
}

// fill cuts the input into chunks, allocates them and writes them.
func (h *Held) fill(ctx context.Context, in batch.Input) error {
	w := asWorlds(in, 0, h.length, h.b.chunkRows)
	if w != nil {
		h.period, h.bodies = len(w.TemplateA), len(w.Shapes)
	}
	largest := 0
	for at := 0; at < h.length; {
		n, _ := cut(w, at, h.length, h.b.chunkRows)
		h.chunks = append(h.chunks, heldChunk{lo: at, n: n})
		largest = max(largest, n)
		at += n
	}
	h.flights = make([]flight, min(len(h.chunks), maxFlights))
	p := &h.packer
	p.library, p.shapes = h.library, h.shapes
	defer p.forget()
	for k := range h.chunks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := h.allocate(k); err != nil {
			return err
		}
		h.pointPacker(k, in, w)
		if err := p.all(k > 0); err != nil {
			return err
		}
	}
	if len(h.chunks) == 0 {
		return nil
	}
	plan := plan{b: h.b}
	h.work[0].plan(&plan, largest)
	if len(h.chunks) > 1 {
		h.work[1].plan(&plan, largest)
	}
	return h.keep(&plan)
}

// pointPacker sets the packer to a chunk of an input.
func (h *Held) pointPacker(k int, in batch.Input, w *batch.Worlds) {
	c, p := &h.chunks[k], &h.packer
	p.library, p.shapes, p.input, p.worlds, p.warm = h.library, h.shapes, in, w, nil
	p.in, p.lo, p.n, p.unsorted = &c.inputs, c.lo, c.n, h.b.options.unsorted
}

// allocate makes room for the inputs of a chunk. Chunks of worlds share the templates and,
// where they are of one length, the order of the first.
func (h *Held) allocate(k int) error {
	c := &h.chunks[k]
	n := uint64(c.n)
	plan := plan{b: h.b}
	plan.input(&c.inputs.warm, 0)
	if h.period == 0 {
		plan.input(&c.inputs.poses, 2*n*poseBytes)
		plan.input(&c.inputs.templates, n*templateBytes)
		plan.input(&c.inputs.order, n*orderBytes)
		return h.keep(&plan)
	}
	plan.input(&c.inputs.poses, n/uint64(h.period)*uint64(h.bodies)*poseBytes)
	if k == 0 {
		plan.input(&c.inputs.templates, uint64(h.period)*templateBytes)
		plan.input(&c.inputs.order, n*orderBytes)
		return h.keep(&plan)
	}
	first := &h.chunks[0]
	c.inputs.templates = mirror{host: first.inputs.templates.host, device: first.inputs.templates.device}
	if c.n == first.n {
		c.inputs.order = mirror{host: first.inputs.order.host, device: first.inputs.order.device}
		c.inputs.ordered, c.inputs.first, c.inputs.rows = first.inputs.ordered, first.inputs.first, first.inputs.rows
	} else {
		plan.input(&c.inputs.order, n*orderBytes)
	}
	return h.keep(&plan)
}

// keep allocates the planned memory until Close.
func (h *Held) keep(p *plan) error {
	blocks, err := p.allocate()
	h.blocks = append(h.blocks, blocks...)
	return err
}

// Len returns the number of rows.
func (h *Held) Len() int { return h.length }

// enter waits until no other call uses the batch; leave ends the use.
func (h *Held) enter(ctx context.Context) error {
	select {
	case <-h.lock:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := ErrHeldClosed
	if !h.closed {
		err = h.b.enter()
	}
	if err != nil {
		h.lock <- struct{}{}
	}
	return err
}

func (h *Held) leave() {
	h.packer.forget()
	h.b.leave()
	h.lock <- struct{}{}
}

// Update reads the poses of in anew. After an error some may be old and some new.
func (h *Held) Update(ctx context.Context, in batch.Input) error {
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.leave()
	w, err := h.match(in)
	if err != nil {
		return err
	}
	for k := range h.chunks {
		if err := ctx.Err(); err != nil {
			return err
		}
		h.pointPacker(k, in, w)
		if err := h.packer.moved(); err != nil {
			return h.b.failed(err)
		}
	}
	return nil
}

// match reports an input of another form or size than that which is held.
func (h *Held) match(in batch.Input) (*batch.Worlds, error) {
	if in == nil {
		return nil, errors.New("engine: update of a held batch without an input")
	}
	if err := checkShape(in); err != nil {
		return nil, err
	}
	if n := in.Len(); n != h.length {
		return nil, fmt.Errorf("engine: update of a held batch of %d rows with an input of %d; hold it anew", h.length,
			n)
	}
	if h.period == 0 {
		return nil, nil
	}
	w, ok := in.(*batch.Worlds)
	if !ok || len(w.TemplateA) != h.period || len(w.Shapes) != h.bodies {
		return nil, fmt.Errorf("engine: the held batch has worlds of %d bodies and %d pairs; update it with such, or "+
			"hold the new one", h.bodies, h.period)
	}
	return w, nil
}

// Run answers all rows, see [batch.Held].
func (h *Held) Run(ctx context.Context, o *batch.Options, out *batch.Results) error {
	_, err := h.run(ctx, o, nil, out)
	return err
}

// RunMeasured is Run with the options of a job, which are not checked again if it has a plan; kernel is as in
// [Backend.RunMeasured].
func (h *Held) RunMeasured(ctx context.Context, job *batch.Job, out *batch.Results) (kernel time.Duration, err error) {
	return h.run(ctx, &job.Options, job.Plan, out)
}

func (h *Held) run(ctx context.Context, o *batch.Options, plan batch.Plan, out *batch.Results) (kernel time.Duration,
	err error) {
	if err := h.check(o, plan, out); err != nil {
		return 0, err
	}
	if err := h.enter(ctx); err != nil {
		return 0, err
	}
	defer h.leave()
	h.b.stats.call()
	chain, err := h.b.pipelines.forQuery(o, h.library)
	if err != nil {
		return 0, h.b.failed(err)
	}
	if chain == nil {
		h.b.stats.declineAll(h.length)
		return 0, nil
	}
	if err := h.roomForDirections(o); err != nil {
		return 0, h.b.failed(err)
	}
	query := queryOf(o)
	defer func() { // also after a panic, of the context for one
		for i := range h.flights {
			if e := h.b.failed(h.flights[i].drain(h.b)); e != nil && !errors.Is(err, e) {
				err = errors.Join(err, e)
			}
		}
	}()
	for k := 0; k < len(h.chunks)+2 && err == nil; k++ {
		// Two chunks are under way, each with its half of the work memory.
		if k >= 2 {
			f := &h.flights[(k-2)%len(h.flights)]
			var t time.Duration
			t, err = f.collect(ctx, h.b, out, f.lo, nil)
			kernel += t
		}
		if k < len(h.chunks) && err == nil {
			err = h.start(ctx, k, chain, &query, o, out)
		}
	}
	return kernel, h.b.failed(err)
}

// start hands a chunk to the device.
func (h *Held) start(ctx context.Context, k int, chain *chain, q *layout.QueryRecord, o *batch.Options,
	out *batch.Results) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &h.chunks[k]
	if o.WarmStart != nil {
		h.pointPacker(k, nil, nil)
		h.packer.warm = o.WarmStart
		if err := h.packer.directions(); err != nil {
			return err
		}
	}
	f := &h.flights[k%len(h.flights)]
	l := placementOf(out, c.n)
	var der *derivation
	if h.b.derives(o, out) {
		var err error
		if der, err = h.derive[k%2].of(h.b, o, q, h.library, &l, out); err != nil {
			return err
		}
	}
	return f.start(h.b, h.library, chain, *q, l, &c.inputs, &h.work[k%2], der, nil, c.lo)
}

// check reports a question that makes no sense, as [batch.Job.Check] does.
func (h *Held) check(o *batch.Options, plan batch.Plan, out *batch.Results) error {
	if o == nil || out == nil {
		return errors.New("engine: run of a held batch without options or results")
	}
	if err := check(o, plan); err != nil {
		return err
	}
	if w := o.WarmStart; w != nil && len(w) != 3*h.length {
		return fmt.Errorf("engine: column warm_start holds %d numbers, want %d for %d pairs", len(w), 3*h.length,
			h.length)
	}
	if out.N != h.length {
		return fmt.Errorf("engine: results of %d rows for a held batch of %d", out.N, h.length)
	}
	if out.Precision != o.Precision {
		return fmt.Errorf("engine: results in %v precision for a query in %v", out.Precision, o.Precision)
	}
	if missing := (o.EffectiveColumns()&^batch.ColBits | batch.ColStatus) &^ out.Columns; missing != 0 {
		return fmt.Errorf("engine: results lack the columns %v", missing)
	}
	return out.CheckShape()
}

// roomForDirections allocates memory for directions when they are given first.
func (h *Held) roomForDirections(o *batch.Options) error {
	if o.WarmStart == nil || h.warm {
		return nil
	}
	for k := range h.chunks {
		c := &h.chunks[k]
		plan := plan{b: h.b}
		plan.input(&c.inputs.warm, uint64(c.n)*warmBytes)
		if err := h.keep(&plan); err != nil {
			return err
		}
	}
	h.warm = true
	return nil
}

// Close waits until no call uses the batch and frees the memory. It may be called twice.
func (h *Held) Close() error {
	<-h.lock
	defer func() { h.lock <- struct{}{} }()
	if h.closed {
		return nil
	}
	h.closed = true
	return h.free()
}

// free gives everything back.
func (h *Held) free() error {
	var first error
	for i := range h.flights {
		if s := h.flights[i].stream; s != nil {
			if err := s.Close(); err != nil && first == nil {
				first = fmt.Errorf("engine: held batch: %w", err)
			}
		}
	}
	free(h.blocks)
	for i := range h.derive {
		free(h.derive[i].blocks)
	}
	h.b.libraries.release(h.library)
	return first
}
