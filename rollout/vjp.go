package rollout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"clearance/batch"
)

// differentiator takes products of the Jacobians of the rows of a rollout, from its answers.
type differentiator interface {
	Needs() batch.Columns
	RolloutProduct(ctx context.Context, rows batch.RolloutRows, o *batch.RolloutOptions, p *batch.RolloutProduct,
		answers batch.Answers) error
}

// gradients is what steps with gradients keep: a batch with the columns that derivatives need, and its results.
type gradients struct {
	mu      sync.Mutex
	batch   *Batch
	results *Results
}

// Multiply takes a product of the Jacobians of the rows of a step with vectors. d says which derivatives are taken; the
// columns of the options do not matter.
//
// answers are those of the step at the poses of w, with the columns that derivatives need and the precision of the
// batch; no step is made then, and the batch may be in use or closed. Without them the batch answers the step and keeps
// the answers to itself, on the device where there is one: gradients of bodies alone.
//
// A row has the gradient of the parts that attain it, moved to their bodies. Rows that bounds have ruled out and rows
// without an answer have none. The gradients of a world are added in the order of its rows, A before B: the same bits
// for any number of workers, and any size of blocks.
func (b *Batch) Multiply(ctx context.Context, w *batch.Worlds, answers *Results, d batch.Derivative,
	p *batch.RolloutProduct) (Report, error) {
	x, ok := b.d.Differentiator().(differentiator)
	if !ok {
		return Report{}, fmt.Errorf("rollout: gradients: %w: the dispatcher has no differentiator",
			batch.ErrNotAvailable)
	}
	o := b.o
	o.Derivative = d
	if answers != nil {
		o.Columns = x.Needs() & answers.Columns // of which the differentiator says what is missing
		return Report{Rows: answers.N}, b.multiply(ctx, x, w, answers, &o, p)
	}
	switch {
	case b.sparse():
		return Report{}, errors.New("rollout: gradients of all pairs, whose number is not known before")
	case p.ByRow || p.Smoothness != nil || p.Kind != batch.VJP && p.Kind != batch.ValueVJP:
		return Report{}, errors.New("rollout: a product without answers that is no gradient of bodies")
	}
	g := &b.gradients
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := b.openGradients(x.Needs()); err != nil {
		return Report{}, err
	}
	return g.batch.stepMultiplied(ctx, x, g.results, w, d, p)
}

// multiply takes a product from answers.
func (b *Batch) multiply(ctx context.Context, x differentiator, w *batch.Worlds, answers *Results, o *Options,
	p *batch.RolloutProduct) error {
	return x.RolloutProduct(ctx, batch.RolloutRows{Bodies: b.bodies, Worlds: w, Results: answers}, o, p,
		b.d.Answers(b.run.Backend))
}

// stepMultiplied is Multiply without answers, of a batch with the columns that derivatives need, in results of its own.
func (b *Batch) stepMultiplied(ctx context.Context, x differentiator, results *Results, w *batch.Worlds,
	d batch.Derivative, product *batch.RolloutProduct) (Report, error) {
	o := b.o
	o.Derivative = d
	p := b.newProducts(&o, w, product)
	if p == nil {
		rep, err := b.Step(ctx, w, results)
		if err != nil {
			return rep, err
		}
		return rep, b.multiply(ctx, x, w, results, &o, product)
	}
	clear(p.to)
	b.product = p
	defer func() { b.product = nil }()
	rep, err := b.Step(ctx, w, results)
	rep.Counts = [batch.StatusCount]int{} // nobody has seen the answers
	if err != nil || len(p.left) == 0 {
		return rep, err
	}
	return rep, b.complete(ctx, x, &o, w, p)
}

// openGradients makes the batch of steps with gradients with the first of them.
func (b *Batch) openGradients(needs batch.Columns) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := &b.gradients
	if b.closed {
		return errClosed
	}
	if g.batch != nil {
		return nil
	}
	job := &Job{Bodies: b.bodies, Worlds: b.worlds, Options: b.o}
	job.Options.Columns = needs
	of, err := newBatch(b.d, job, b.run)
	if err == nil {
		err = of.makeResults()
	}
	if err == nil {
		g.batch, g.results = of, of.results
	}
	return err
}

// products is a step with gradients whose answers stay with the back end.
type products struct {
	kind       batch.ProductKind
	derivative batch.Derivative
	worlds     *batch.Worlds
	cotangents []float64 // of the rows of the step
	to         []float64 // [W,M,6]
	left       []int     // worlds that the back end leaves

	sums     batch.Sums // of a block
	operands []float64
	from     [][2]int // the first set and the first group of each tile
}

// newProducts returns the products of a step, nil if the back end does not take them, or the arrays are refused.
func (b *Batch) newProducts(o *Options, w *batch.Worlds, product *batch.RolloutProduct) *products {
	p := &products{kind: product.Kind, derivative: o.Derivative, worlds: w, cotangents: product.Operands,
		to: product.Results}
	options := b.parts.Options
	options.Derivative = o.Derivative
	if w == nil || product.Check(b.rows(), w.Count()*w.BodiesPerWorld()) != nil || o.NoDeviceReduction ||
		o.Derivative.Check() != nil || !b.series.Multiplies(&options) {
		return nil
	}
	return p
}

// block takes the gradients of worlds lo to hi, whose candidates are in the tiles.
func (p *products) block(ctx context.Context, b *Batch, tiles []*tile, lo, hi int) error {
	if len(b.input.TemplateA) == 0 {
		return nil
	}
	m := p.worlds.BodiesPerWorld()
	p.list(b, tiles, lo, hi)
	job := b.parts
	job.Results, job.Reduction, job.Options.Derivative = nil, nil, p.derivative
	out := batch.Product{Kind: p.kind, Sums: &p.sums, Operands: p.operands,
		Results: p.to[batch.BodyWidth*m*lo : batch.BodyWidth*m*hi]}
	left, err := b.series.Multiply(ctx, &job, &out)
	for _, w := range left {
		p.left = append(p.left, lo+w)
	}
	for _, t := range tiles {
		b.report.addCounts(&t.count)
	}
	return err
}

// list makes the sums of worlds lo to hi, and their operands.
func (p *products) list(b *Batch, tiles []*tile, lo, hi int) {
	s, m := &p.sums, p.worlds.BodiesPerWorld()
	p.from = p.from[:0]
	sets, groups := 0, 0
	for _, t := range tiles {
		p.from = append(p.from, [2]int{sets, groups})
		sets += len(t.rows)
		if b.reduce {
			groups += t.hi - t.lo
		} else {
			groups += len(t.rows)
		}
	}
	operand, _ := p.kind.Widths()
	s.Sets, s.Groups, s.Worlds = resized(s.Sets, sets+1), resized(s.Groups, groups+1), resized(s.Worlds, hi-lo+1)
	s.Sets[0], s.Groups[0], s.Worlds[0] = 0, 0, 0
	s.Others, s.Bodies, s.PerWorld = resized(s.Others, 2*groups), resized(s.Bodies, 2*sets), m
	s.Positions, p.operands = resized(s.Positions, 3*m*(hi-lo)), resized(p.operands, operand*groups)
	b.team.Run(len(tiles), func(_, i int) { p.add(b, tiles[i], p.from[i][0], p.from[i][1], lo) })
}

// add adds the rows of a tile, which are in the order of their worlds and pairs: each is a set, and a group by itself
// or with the others of its world. set and group are the first of the tile, lo is the first world of the block.
func (p *products) add(b *Batch, t *tile, set, group, lo int) {
	s, m := &p.sums, p.worlds.BodiesPerWorld()
	firsts, seconds := b.templateA, b.templateB
	if b.all != nil {
		firsts, seconds = t.bodyA, t.bodyB
	}
	rows := t.rows
	for w := t.lo; w < t.hi; w++ {
		for k := range m {
			copy(s.Positions[3*(m*(w-lo)+k):], p.worlds.Poses[7*(m*w+k):][:3])
		}
		n := 0
		for ; n < len(rows) && int(rows[n].world) == w; n++ {
			r := &rows[n]
			s.Sets[set+1] = int32(t.candidate) + r.first + r.count
			s.Bodies[2*set] = p.worlds.Carrier(w, firsts[r.pair])
			s.Bodies[2*set+1] = p.worlds.Carrier(w, seconds[r.pair])
			set++
			if !b.reduce {
				p.group(group, set, w*len(b.templateA)+int(r.pair), &r.least)
				group++
			}
		}
		if b.reduce {
			l := t.worlds[w-t.lo].least
			for k := range rows[:n] {
				l.lower, l.upper = min(l.lower, rows[k].least.lower), min(l.upper, rows[k].least.upper)
			}
			p.group(group, set, w, &l)
			group++
		}
		s.Worlds[w-lo+1] = int32(group)
		rows = rows[n:]
	}
}

// group closes the group of result row i at the set end; l bounds its culled pairs.
func (p *products) group(group, end, i int, l *least) {
	s := &p.sums
	s.Groups[group+1] = int32(end)
	s.Others[2*group], s.Others[2*group+1] = l.lower, l.upper
	if l.invalid {
		s.Others[2*group], s.Others[2*group+1] = math.Inf(-1), math.Inf(-1)
	}
	operand, _ := p.kind.Widths()
	copy(p.operands[operand*group:operand*(group+1)], p.cotangents[operand*i:])
}

// complete takes the gradients of the worlds that the back end has left, from their answers.
func (b *Batch) complete(ctx context.Context, x differentiator, o *Options, w *batch.Worlds, p *products) error {
	slices.Sort(p.left)
	m, per := w.BodiesPerWorld(), b.rows()/w.Count()
	operand, _ := p.kind.Widths()
	own, cotangents := *w, make([]float64, 0, operand*per*len(p.left))
	own.M, own.Poses = m, nil
	if len(w.Bodies) > m {
		own.Bodies = nil
	}
	if len(w.Carriers) > m {
		own.Carriers = nil
	}
	for _, k := range p.left {
		own.Poses = append(own.Poses, w.Poses[7*m*k:7*m*(k+1)]...)
		if len(w.Bodies) > m {
			own.Bodies = append(own.Bodies, w.Bodies[m*k:m*(k+1)]...)
		}
		if len(w.Carriers) > m {
			own.Carriers = append(own.Carriers, w.Carriers[m*k:m*(k+1)]...)
		}
		cotangents = append(cotangents, p.cotangents[operand*per*k:operand*per*(k+1)]...)
	}
	job := &Job{Bodies: b.bodies, Worlds: &own, Options: *o}
	job.Options.Derivative = batch.Derivative{}
	run := b.run
	run.Progress = nil
	if _, err := Run(ctx, b.d, job, run); err != nil {
		return err
	}
	gradients := make([]float64, batch.BodyWidth*m*len(p.left))
	product := &batch.RolloutProduct{Kind: p.kind, Operands: cotangents, Results: gradients}
	if err := b.multiply(ctx, x, &own, job.Results, o, product); err != nil {
		return err
	}
	for i, k := range p.left {
		copy(p.to[batch.BodyWidth*m*k:], gradients[batch.BodyWidth*m*i:batch.BodyWidth*m*(i+1)])
	}
	return nil
}
