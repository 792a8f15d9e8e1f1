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

// bodyDifferentiator takes the gradients of a rollout by body, from its answers.
type bodyDifferentiator interface {
	Needs() batch.Columns
	RolloutVJP(ctx context.Context, bodies *batch.Bodies, worlds *batch.Worlds, o *Options, results *Results,
		cotangents, gradients []float64) error
}

// gradients is what steps with gradients keep: a batch with the columns that derivatives need, and its results.
type gradients struct {
	mu      sync.Mutex
	batch   *Batch
	results *Results
}

// VJP answers a step, whose answers it keeps to itself, and multiplies cotangents of the rows with their Jacobians from
// the left: the gradients of a weighted sum of the answers with respect to the twists of the bodies, [W,M,6], go to to.
// Cotangents are those of the values alone, [R], or those of value, normal and witnesses, [R,10], of the R rows that
// results have. d says which derivatives are taken; order zero is refused. The columns of the options do not matter.
//
// A row has the gradient of the parts that attain it, moved to their bodies. Rows that bounds have ruled out and rows
// without an answer have none. The gradients of a world are added in the order of its rows, A before B: the same bits
// for any number of workers, and any size of blocks.
func (b *Batch) VJP(ctx context.Context, w *batch.Worlds, d batch.Derivative, cotangents, to []float64) (Report,
	error) {
	x, ok := b.d.Differentiator().(bodyDifferentiator)
	switch {
	case !ok:
		return Report{}, fmt.Errorf("rollout: gradients: %w: the dispatcher has no differentiator",
			batch.ErrNotAvailable)
	case b.sparse():
		return Report{}, errors.New("rollout: gradients of all pairs, whose number is not known before")
	}
	g := &b.gradients
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := b.openGradients(x.Needs()); err != nil {
		return Report{}, err
	}
	return g.batch.vjp(ctx, x, g.results, w, d, cotangents, to)
}

// vjp is VJP of a batch with the columns that derivatives need, in results of its own.
func (b *Batch) vjp(ctx context.Context, x bodyDifferentiator, results *Results, w *batch.Worlds, d batch.Derivative,
	cotangents, to []float64) (Report, error) {
	o := b.o
	o.Derivative = d
	p := b.newProducts(&o, w, cotangents, to)
	if p == nil {
		rep, err := b.Step(ctx, w, results)
		if err != nil {
			return rep, err
		}
		return rep, x.RolloutVJP(ctx, b.bodies, w, &o, results, cotangents, to)
	}
	clear(to)
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
func (b *Batch) newProducts(o *Options, w *batch.Worlds, cotangents, to []float64) *products {
	p := &products{kind: batch.VJP, derivative: o.Derivative, worlds: w, cotangents: cotangents, to: to}
	if len(cotangents) == b.rows() {
		p.kind = batch.ValueVJP
	}
	operand, _ := p.kind.Widths()
	options := b.parts.Options
	options.Derivative = o.Derivative
	if w == nil || len(cotangents) != operand*b.rows() || len(to) != batch.BodyWidth*w.Count()*w.BodiesPerWorld() ||
		o.NoDeviceReduction || o.Derivative.Check() != nil || !b.series.Multiplies(&options) {
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
	b.team.run(len(tiles), func(_, i int) { p.add(b, tiles[i], p.from[i][0], p.from[i][1], lo) })
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
			s.Bodies[2*set], s.Bodies[2*set+1] = firsts[r.pair], seconds[r.pair]
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

// group is a group of the sets before end, that of row i of the results, of which l is what is known of pairs that are
// no candidates.
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
func (b *Batch) complete(ctx context.Context, x bodyDifferentiator, o *Options, w *batch.Worlds, p *products) error {
	slices.Sort(p.left)
	m, per := w.BodiesPerWorld(), b.rows()/w.Count()
	operand, _ := p.kind.Widths()
	own, cotangents := *w, make([]float64, 0, operand*per*len(p.left))
	own.M, own.Poses = m, nil
	if !w.Shared() {
		own.Bodies = nil
	}
	for _, k := range p.left {
		own.Poses = append(own.Poses, w.Poses[7*m*k:7*m*(k+1)]...)
		if !w.Shared() {
			own.Bodies = append(own.Bodies, w.Bodies[m*k:m*(k+1)]...)
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
	if err := x.RolloutVJP(ctx, b.bodies, &own, o, job.Results, cotangents, gradients); err != nil {
		return err
	}
	for i, k := range p.left {
		copy(p.to[batch.BodyWidth*m*k:], gradients[batch.BodyWidth*m*i:batch.BodyWidth*m*(i+1)])
	}
	return nil
}
