package derive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"clearance/batch"
	"clearance/kernels"
	kernel "clearance/kernels/derive"
)

// BodyWidth is the number of a gradient with respect to the twist of a body: of the velocity of the position of its
// pose, then of its angular velocity, in world axes.
const BodyWidth = batch.BodyWidth

// Rollout is a rollout with its results, whose columns must be [Needs]. Rows are pairs of bodies of each world, or
// worlds, the row of the least of its pairs.
type Rollout struct {
	batch.RolloutRows
	Options batch.RolloutOptions
}

// RolloutVJP multiplies cotangents of the rows with their Jacobians from the left, and adds up the gradients of each
// body: gradients are [W,M,6]. Cotangents are those of the values alone, [N], or those of value, normal and witnesses,
// [N,10]. The gradients of a world are added in the order of its rows, A before B, so that they do not depend on the
// number of goroutines.
//
// A row is that of the parts that attain the least. Rows that bounds have ruled out, those beyond a largest distance
// and rows without an answer have no gradient. Cotangents of values alone take normal and witnesses as they are; the
// others polish the answers, see [Workspace.Exact]. Order zero is refused.
func (p *Pass) RolloutVJP(ctx context.Context, r *Rollout, cotangents, gradients []float64) error {
	if p.Mode == Zeroth {
		return errors.New("derive: rollouts have no estimates of order zero")
	}
	rows, err := p.checkRollout(r)
	if err != nil {
		return err
	}
	w, m := r.Worlds.Count(), r.Worlds.BodiesPerWorld()
	width := 1
	if len(cotangents) == AnswerWidth*rows.answers.N {
		width = AnswerWidth
	}
	if len(cotangents) != width*rows.answers.N || len(gradients) != BodyWidth*w*m {
		return fmt.Errorf("derive: arrays of %d and %d numbers for %d rows, %d worlds and %d bodies, want [N] or "+
			"[N,%d], and [W,M,%d]", len(cotangents), len(gradients), rows.answers.N, w, m, AnswerWidth, BodyWidth)
	}
	clear(gradients)
	call := kernel.Call{Cotangents: cotangents}
	if table := p.table(rows, &call); table != nil && width == AnswerWidth {
		defer call.StopWith(ctx)()
		return p.inBlocks(ctx, w, worldBlock, func(k *worker, lo, hi int) {
			if k.parts == nil {
				k.parts = newPartRows(p, k, r, rows, call, table)
			}
			k.parts.run(ctx, lo, hi, gradients)
		})
	}
	return p.inBlocks(ctx, w, worldBlock, func(k *worker, lo, hi int) {
		for world := lo; world < hi && ctx.Err() == nil; world++ {
			to := gradients[BodyWidth*m*world : BodyWidth*m*(world+1)]
			first, last := r.Range(world)
			for i := first; i < last; i++ {
				if g, ok := p.gradientOf(k, r, rows, world, i, cotangents[width*i:width*(i+1)]); ok {
					k.about.AddTo(to, g)
				}
			}
		}
	})
}

// gradientOf is the gradient of row i with respect to the poses of its parts; ok is false if it has none.
func (p *Pass) gradientOf(k *worker, r *Rollout, rows *rows, world, i int, cotangent []float64) (g Twists, ok bool) {
	var c Cotangent
	if len(cotangent) == 1 {
		c.Value = cotangent[0]
	} else {
		c = cotangentOf((*[AnswerWidth]float64)(cotangent))
	}
	if c == (Cotangent{}) || !r.read(k, rows, world, i) {
		return g, false
	}
	if len(cotangent) == 1 {
		g = k.reportedValue()
		for j := range g {
			g[j] *= c.Value
		}
		return g, true
	}
	d := k.w.Of(&k.r, &p.Options, p.FirstRow+uint64(i))
	return d.VJP(&c), true
}

// partRows are the rows of a rollout as pairs of parts, which the kernel of a goroutine takes by blocks.
type partRows struct {
	p          *Pass
	k          *worker
	r          *Rollout
	rows       *rows
	cotangents []float64
	gradients  []float64 // of a block

	first  int // row of the block
	world  int // of the row that was read last
	worlds [kernel.Block]int
	about  [kernel.Block]batch.RowParts
	has    [kernel.Block]bool // rows with a gradient
}

// newPartRows sets the kernel of k, which takes the rows.
func newPartRows(p *Pass, k *worker, r *Rollout, rows *rows, call kernel.Call, table *kernels.Shapes) *partRows {
	x := &partRows{p: p, k: k, r: r, rows: rows, cotangents: call.Cotangents,
		gradients: make([]float64, TwistWidth*kernel.Block)}
	job := *rows.job
	job.Input = x
	call.Job, call.Gradients, call.OfBlock = &job, x.gradients, true
	k.kernel = kernel.NewSolver(table, &call)
	return x
}

// Len returns the number of rows.
func (x *partRows) Len() int { return x.rows.answers.N }

// Row reads the parts of a row, in rising order of the rows of a run. A row that has none gets an index that the
// kernel declines.
func (x *partRows) Row(i int, row *batch.Row) {
	for _, end := x.r.Range(x.world); i >= end; _, end = x.r.Range(x.world) {
		x.world++
	}
	j := i - x.first
	x.worlds[j] = x.world
	if x.has[j] = x.r.parts(x.rows, x.world, i, &x.about[j]); !x.has[j] {
		*row = batch.Row{ShapeA: -1, ShapeB: -1}
		return
	}
	*row = x.about[j].Row
}

// run adds up the gradients of worlds [lo, hi), row by row.
func (x *partRows) run(ctx context.Context, lo, hi int, gradients []float64) {
	k, width := x.k, BodyWidth*x.r.Worlds.BodiesPerWorld()
	begin, _ := x.r.Range(lo)
	_, end := x.r.Range(hi - 1)
	x.world = lo
	for x.first = begin; x.first < end && ctx.Err() == nil; x.first += kernel.Block {
		last := min(x.first+kernel.Block, end)
		for _, left := range k.kernel.Run(x.first, last) {
			i, j := int(left), int(left)-x.first
			var g Twists
			g, x.has[j] = x.p.gradientOf(k, x.r, x.rows, x.worlds[j], i, x.cotangents[AnswerWidth*i:AnswerWidth*(i+1)])
			copy(x.gradients[TwistWidth*j:], g[:])
		}
		for j := range last - x.first {
			if x.has[j] {
				x.about[j].AddTo(gradients[width*x.worlds[j]:][:width], Twists(x.gradients[TwistWidth*j:][:TwistWidth]))
			}
		}
	}
}

// worldBlock is the number of worlds that a goroutine takes at a time.
const worldBlock = 16

func (p *Pass) checkRollout(r *Rollout) (*rows, error) {
	switch {
	case r.Bodies == nil || r.Worlds == nil || r.Results == nil || r.Results.Results == nil:
		return nil, errors.New("derive: the rollout lacks its bodies, worlds or results")
	}
	if err := r.Worlds.CheckBodies(r.Bodies); err != nil {
		return nil, err
	}
	n := r.Worlds.Len()
	switch {
	case r.Options.Reduce == batch.ReduceWorld:
		n = r.Worlds.Count()
	case r.Worlds.AllPairs:
		n = r.Results.N
		if len(r.Results.Offsets) != r.Worlds.Count()+1 || len(r.Results.BodyA) != n || len(r.Results.BodyB) != n {
			return nil, errors.New("derive: the results of all pairs lack their bodies")
		}
	}
	if err := r.Results.Check(n, &r.Options); err != nil {
		return nil, err
	}
	job := &batch.Job{Library: r.Bodies.Library(), Options: r.Options.Options}
	if r.Options.HasMaxDistance && !r.Options.HasCutOff && r.Options.Query.Info().CutOff == batch.CallersCutOff {
		job.Options.CutOff, job.Options.HasCutOff = r.Options.MaxDistance, true
	}
	rows := newRows(job, 0, r.Results.Results)
	return rows, p.check(rows)
}

// read takes row i with its parts and its answer; false if it has none.
func (r *Rollout) read(k *worker, rows *rows, world, i int) bool {
	if !r.parts(rows, world, i, &k.about) {
		return false
	}
	k.row = k.about.Row
	k.take(rows, i)
	return k.r.usable()
}

// parts finds the parts of row i; false if it has no answer.
func (r *Rollout) parts(rows *rows, world, i int, p *batch.RowParts) bool {
	return batch.Status(rows.answers.Status()[i]) <= batch.Penetrating && r.Parts(world, i, p)
}

// RolloutProduct takes a product of the Jacobians of the rows of a rollout. Gradients of bodies in modes other than
// order zero are those of [Pass.RolloutVJP]; all else is taken row by row, of the parts as pairs of shapes.
func (p *Pass) RolloutProduct(ctx context.Context, r *Rollout, product *batch.RolloutProduct) error {
	rows, err := p.checkRollout(r)
	if err != nil {
		return err
	}
	n, m := rows.answers.N, r.Worlds.BodiesPerWorld()
	if err := product.Check(n, r.Worlds.Count()*m); err != nil {
		return fmt.Errorf("derive: %w", err)
	}
	cotangents := product.Kind == batch.VJP || product.Kind == batch.ValueVJP
	if cotangents && !product.ByRow && product.Smoothness == nil && p.Mode != Zeroth {
		return p.RolloutVJP(ctx, r, product.Operands, product.Results)
	}
	about, job := r.asPairs(rows)
	if s := product.Smoothness; s != nil {
		out := batch.EmptyResults(n, batch.ColSmoothness, job.Options.Precision)
		out.SetColumn(batch.ColSmoothness, batch.Values{U8: s})
		if err := p.Run(ctx, job, out); err != nil {
			return err
		}
	}
	switch {
	case cotangents && !product.ByRow && p.Mode != Zeroth:
		return p.RolloutVJP(ctx, r, product.Operands, product.Results)
	case cotangents:
		return p.gradientsOf(ctx, r, about, job, product)
	case product.Kind == batch.JVP:
		return p.tangentsOf(ctx, r, about, job, product)
	}
	return nil
}

// asPairs returns the rows as pairs of shapes with their answers, and what they are about. A row without parts is
// undecided.
func (r *Rollout) asPairs(rows *rows) ([]batch.RowParts, *batch.Job) {
	n := rows.answers.N
	about, pairs, answers := make([]batch.RowParts, n), batch.NewPairs(n), *rows.answers
	status := slices.Clone(answers.Status())
	for world := range r.Worlds.Count() {
		first, last := r.Range(world)
		for i := first; i < last; i++ {
			if r.parts(rows, world, i, &about[i]) {
				pairs.SetRow(i, &about[i].Row)
			} else {
				about[i], status[i] = batch.RowParts{}, uint8(batch.Undecided)
			}
		}
	}
	answers.SetColumn(batch.ColStatus, batch.Values{U8: status})
	job := *rows.job
	job.Input, job.Results = pairs, &answers
	return about, &job
}

// gradientsOf takes gradients row by row, and adds them by body unless they stay apart.
func (p *Pass) gradientsOf(ctx context.Context, r *Rollout, about []batch.RowParts, job *batch.Job,
	product *batch.RolloutProduct) error {
	of := batch.Product{Kind: product.Kind, Operands: product.Operands, Results: product.Results}
	if !product.ByRow {
		of.Results = make([]float64, TwistWidth*len(about))
	}
	if err := p.Multiply(ctx, job, &of); err != nil {
		return err
	}
	if product.ByRow {
		for i := range about {
			about[i].ToBodies((*[TwistWidth]float64)(of.Results[TwistWidth*i:]))
		}
		return nil
	}
	clear(product.Results)
	for world, width := 0, BodyWidth*r.Worlds.BodiesPerWorld(); world < r.Worlds.Count(); world++ {
		first, last := r.Range(world)
		for i := first; i < last; i++ {
			if g := Twists(of.Results[TwistWidth*i:][:TwistWidth]); g != (Twists{}) {
				about[i].AddTo(product.Results[width*world:][:width], g)
			}
		}
	}
	return nil
}

// tangentsOf takes the tangents of the rows along twists of the bodies.
func (p *Pass) tangentsOf(ctx context.Context, r *Rollout, about []batch.RowParts, job *batch.Job,
	product *batch.RolloutProduct) error {
	twists := make([]float64, TwistWidth*len(about))
	for world, width := 0, BodyWidth*r.Worlds.BodiesPerWorld(); world < r.Worlds.Count(); world++ {
		first, last := r.Range(world)
		for i := first; i < last; i++ {
			if batch.Status(job.Results.Status()[i]) <= batch.Penetrating {
				t := about[i].Twists(product.Operands[width*world:][:width])
				copy(twists[TwistWidth*i:], t[:])
			}
		}
	}
	return p.JVP(ctx, job, twists, product.Results)
}
