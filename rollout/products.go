package rollout

import (
	"context"
	"math"
	"slices"

	"clearance/batch"
)

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
	p.begin(b, lo, hi, m)
	for _, t := range tiles {
		p.add(b, t)
	}
	for w := len(p.sums.Worlds); w <= hi-lo; w++ {
		p.sums.Worlds = append(p.sums.Worlds, p.groups())
	}
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

func (p *products) begin(b *Batch, lo, hi, m int) {
	s := &p.sums
	s.Sets, s.Groups, s.Worlds = append(s.Sets[:0], 0), append(s.Groups[:0], 0), append(s.Worlds[:0], 0)
	s.Others, s.Bodies, s.PerWorld = s.Others[:0], s.Bodies[:0], m
	s.Positions, p.operands = s.Positions[:0], p.operands[:0]
	for i := lo * m; i < hi*m; i++ {
		s.Positions = append(s.Positions, p.worlds.Poses[7*i:7*i+3]...)
	}
}

func (p *products) groups() int32 { return int32(len(p.sums.Groups) - 1) }

// add adds the rows of a tile, which are in the order of their worlds and pairs: each is a set, and a group by itself
// or with the others of its world.
func (p *products) add(b *Batch, t *tile) {
	i := 0
	for w := t.lo; w < t.hi; w++ {
		first := i
		for i < len(t.rows) && int(t.rows[i].world) == w {
			i++
		}
		rows := t.rows[first:i]
		for k := range rows {
			p.set(b, t, &rows[k])
			if !b.reduce {
				p.group(w*len(b.templateA)+int(rows[k].pair), &rows[k].least)
			}
		}
		if b.reduce {
			l := t.worlds[w-t.lo].least
			for k := range rows {
				l.lower, l.upper = min(l.lower, rows[k].least.lower), min(l.upper, rows[k].least.upper)
			}
			p.group(w, &l)
		}
		p.sums.Worlds = append(p.sums.Worlds, p.groups())
	}
}

// set adds the candidates of a row.
func (p *products) set(b *Batch, t *tile, r *openRow) {
	s := &p.sums
	s.Sets = append(s.Sets, int32(t.candidate)+r.first+r.count)
	if b.all != nil {
		s.Bodies = append(s.Bodies, t.bodyA[r.pair], t.bodyB[r.pair])
	} else {
		s.Bodies = append(s.Bodies, b.templateA[r.pair], b.templateB[r.pair])
	}
}

// group ends the group of row i of the results, of which l is what is known of pairs that are no candidates.
func (p *products) group(i int, l *least) {
	s := &p.sums
	s.Groups = append(s.Groups, int32(len(s.Sets)-1))
	lower, upper := l.lower, l.upper
	if l.invalid {
		lower, upper = math.Inf(-1), math.Inf(-1)
	}
	s.Others = append(s.Others, lower, upper)
	operand, _ := p.kind.Widths()
	p.operands = append(p.operands, p.cotangents[operand*i:operand*(i+1)]...)
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
