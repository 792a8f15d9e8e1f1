// Package derive differentiates answers with respect to the poses of both shapes: the signed distance or the
// growth distance, the normal and both witnesses. It takes the shapes, the poses and an answer of any back end
// ([Row]), and runs after the answers are final; no solver knows of it.
//
// # Convention
//
// Each body moves by a twist (v, ω) in world axes, v being the velocity of the position of its pose: a point x
// of the body moves with v + ω×(x - p). Twelve numbers, A then B ([Twists]). Lengths are metres, angles radians.
//
// # Method
//
// The answer satisfies a system of equations in the normal n and in the coordinates y of the witnesses within
// flat features (edges and faces); its derivatives follow by the implicit function theorem. With δ the signed
// distance, P = I - nnᵀ, H the Hessians of the support functions at n and -n, T bases of the features and
// v_a, v_b the velocities of the witnesses as points of their bodies,
//
//	(δP + H_A + H_B)·dn + T_A·y_A - T_B·y_B = P(v_b - v_a) + H_A(ω_A×n) + H_B(ω_B×n)
//	T_Aᵀ(dn - ω_A×n) = 0,  T_Bᵀ(dn - ω_B×n) = 0
//	da = v_a + H_A(dn - ω_A×n) + T_A·y_A,  db = v_b - H_B(dn - ω_B×n) + T_B·y_B,  dδ = n·(v_b - v_a)
//
// [RTR, eq. 12, 15] and [AGIMUS2023, Randomized Smoothing, eq. 14-19], rewritten in n, which stays regular
// through contact, and extended by the features, on which H is infinite. The matrix is symmetric, so that one
// inverse serves products from either side. Growth distances satisfy the same system with δ = 0 on the left.
//
// The normal of an answer is as exact as its gap allows: an error of the distance of the second order is one
// of the normal of the first. [Workspace.Exact] therefore first solves the system for n by Newton's method, with the
// same matrix, and verifies the result.
//
// # Layers and threads
//
// derive imports batch, geom, geom/hull, ref, internal/fault and kernels/derive. A [Workspace] belongs to one
// goroutine; all else is safe to share. Nothing here returns NaN: a row without a derivative has zeros, and its
// [Smoothness] says why.
package derive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"

	"clearance/batch"
	"clearance/internal/fault"
	"clearance/kernels"
	kernel "clearance/kernels/derive"
)

// Needs are the columns of answers that derivatives need. With the gap, rows that are bounds alone have no derivative.
const Needs = batch.ColDistance | batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB | batch.ColStatus

// Pass differentiates the answers of jobs. Rows are independent: the results do not depend on the number of
// goroutines, nor on how rows are cut into jobs as long as FirstRow counts them.
type Pass struct {
	Options

	// FirstRow is the number of row 0 of a job in the whole, which the noise is keyed by.
	FirstRow uint64

	// Workers is the number of goroutines; 0 is one per core.
	Workers int

	// Answers answers the displaced pairs of estimates of order zero, in double precision, many rows at a time. Nil is
	// [Reference], one pair after the other.
	Answers batch.Answers

	// SIMD is the variant of the kernels, as [clearance/cpu.Options] names it.
	SIMD string

	checked bool // rows with an answer are valid: a back end has checked them
}

// Check reports an option that is out of range, answers that cannot be differentiated, or columns that they lack.
func (p *Pass) Check(job *batch.Job) error {
	switch {
	case job.Library == nil || job.Input == nil || job.Results == nil:
		return errors.New("derive: the job lacks its library, input or results")
	case job.Input.Len() != job.Results.N:
		return fmt.Errorf("derive: %d pairs with %d answers", job.Input.Len(), job.Results.N)
	}
	if c, ok := job.Input.(interface{ CheckShape() error }); ok {
		if err := c.CheckShape(); err != nil {
			return fmt.Errorf("derive: %w", err)
		}
	}
	return p.check(newRows(job, 0, job.Results))
}

func (p *Pass) check(r *rows) error {
	if err := p.Options.Check(); err != nil {
		return err
	}
	if _, err := kernel.Choose(p.SIMD); err != nil {
		return fmt.Errorf("derive: %w", err)
	}
	switch query, columns := r.job.Options.Query, r.answers.Columns; {
	case query.Info().Boolean():
		return fmt.Errorf("derive: the query %v answers with a status, which has no derivative", query)
	case Needs&^columns != 0:
		return fmt.Errorf("derive: the answers lack the columns %v", Needs&^columns)
	}
	return r.answers.CheckShape()
}

// Run stores the derivatives of the answers of a job in the columns of derivatives that out has: the results of the job
// themselves, or others of as many rows. No other column changes.
//
// The column d_distance without any other, of any mode but order zero, is the closed form in normal and witnesses as
// they are, which costs next to nothing. With other columns it is of the polished answer, see [Workspace.Exact].
func (p *Pass) Run(ctx context.Context, job *batch.Job, out *batch.Results) error {
	if err := p.Check(job); err != nil {
		return err
	}
	if out.N != job.Results.N {
		return fmt.Errorf("derive: results of %d rows for %d answers", out.N, job.Results.N)
	}
	return p.fill(ctx, p.answersOf(job), out)
}

func (p *Pass) fill(ctx context.Context, r *rows, out *batch.Results) error {
	if out.Columns&batch.DerivedColumns == batch.ColDDistance && p.Mode != Zeroth {
		to := out.Column(batch.ColDDistance)
		return p.rows(ctx, r, &kernel.Call{Out: out, Reported: true}, func(w *worker, i int) {
			g := w.reported(r, i)
			to.SetReals(i, g[:])
		})
	}
	return p.derivatives(ctx, r, &kernel.Call{Out: out}, func(i int, d *Derivative) { put(out, i, d) })
}

// Widths of the arrays of products: of answers (value, normal, both witnesses) and of twists.
const (
	AnswerWidth = batch.AnswerWidth
	TwistWidth  = batch.TwistWidth
)

// VJP multiplies cotangents of the answers [N,10] with the Jacobians from the left: the gradient with respect to the
// twists of both bodies goes to gradients, [N,12].
func (p *Pass) VJP(ctx context.Context, job *batch.Job, cotangents, gradients []float64) error {
	if err := p.checkProduct(job, cotangents, gradients); err != nil {
		return err
	}
	call := kernel.Call{Cotangents: cotangents, Gradients: gradients}
	return p.derivatives(ctx, p.answersOf(job), &call, func(i int, d *Derivative) {
		c := cotangentOf((*[AnswerWidth]float64)(cotangents[AnswerWidth*i:]))
		g := d.VJP(&c)
		copy(gradients[TwistWidth*i:], g[:])
	})
}

// JVP multiplies the Jacobians with twists of both bodies [N,12]: the tangents of the answers go to tangents, [N,10].
func (p *Pass) JVP(ctx context.Context, job *batch.Job, twists, tangents []float64) error {
	if err := p.checkProduct(job, tangents, twists); err != nil {
		return err
	}
	call := kernel.Call{Twists: twists, Tangents: tangents}
	return p.derivatives(ctx, p.answersOf(job), &call, func(i int, d *Derivative) {
		c := d.JVP((*Twists)(twists[TwistWidth*i:]))
		v := c.components()
		copy(tangents[AnswerWidth*i:], v[:])
	})
}

// Multiply computes products of the Jacobians of the answers of a job row by row; it does not sum by body.
func (p *Pass) Multiply(ctx context.Context, job *batch.Job, product *batch.Product) error {
	if err := product.Check(job.Input); err != nil {
		return fmt.Errorf("derive: %w", err)
	}
	switch {
	case product.Sums != nil:
		return errors.New("derive: sums by body are those of RolloutVJP")
	case product.Kind == batch.VJP:
		return p.VJP(ctx, job, product.Operands, product.Results)
	case product.Kind == batch.JVP:
		return p.JVP(ctx, job, product.Operands, product.Results)
	}
	out := batch.EmptyResults(job.Results.N, batch.ColDDistance, batch.Double)
	out.SetColumn(batch.ColDDistance, batch.Values{F64: product.Results})
	if err := p.Run(ctx, job, out); err != nil {
		return err
	}
	for i, c := range product.Operands {
		g := (*Twists)(product.Results[TwistWidth*i:])
		if *g == (Twists{}) {
			continue // no derivative, whatever the operand is
		}
		for k := range g {
			g[k] *= c
		}
	}
	return nil
}

func (p *Pass) checkProduct(job *batch.Job, answers, twists []float64) error {
	if err := p.Check(job); err != nil {
		return err
	}
	if n := job.Results.N; len(answers) != AnswerWidth*n || len(twists) != TwistWidth*n {
		return fmt.Errorf("derive: arrays of %d and %d numbers for %d answers, want [N,%d] and [N,%d]", len(answers),
			len(twists), n, AnswerWidth, TwistWidth)
	}
	return nil
}

// rows are answers: row i is that of row first + i of a job.
type rows struct {
	job     *batch.Job
	first   int
	answers *batch.Results
	valid   bool // rows with an answer are valid: a back end has checked them

	cutOff    float64
	hasCutOff bool

	partial bool // the derivatives of rows that are marked as omitted are there
}

// done reports whether the derivatives of row i are there.
func (r *rows) done(i int) bool { return r.partial && r.answers.Marks[i] == batch.Omitted }

// answersOf are those of a job.
func (p *Pass) answersOf(job *batch.Job) *rows {
	r := newRows(job, 0, job.Results)
	r.valid = p.checked
	return r
}

func newRows(job *batch.Job, first int, answers *batch.Results) *rows {
	r := &rows{job: job, first: first, answers: answers}
	r.cutOff, r.hasCutOff = job.Options.EffectiveCutOff()
	return r
}

// worker is the memory of one goroutine.
type worker struct {
	w      Workspace
	row    batch.Row
	r      Row
	d      Derivative
	full   [10]Twists
	kernel *kernel.Solver // closed with the goroutine
	parts  *partRows

	about batch.RowParts // of rollouts
}

func (w *worker) close() {
	if w.kernel != nil {
		w.kernel.Close()
	}
}

// blockRows is the number of rows that a goroutine takes at a time.
const blockRows = kernel.Block

// derivatives differentiates all rows, in any order, by several goroutines. The kernel stores what the call asks for
// of the rows that it serves; the others are stored one by one.
func (p *Pass) derivatives(ctx context.Context, r *rows, call *kernel.Call, store func(i int, d *Derivative)) error {
	if p.Mode == Zeroth && p.Answers != nil {
		return p.zeroth(ctx, r, store)
	}
	one := func(w *worker, i int) {
		if r.done(i) {
			return
		}
		w.read(r, i)
		if number := p.FirstRow + uint64(i); p.Mode == Zeroth && w.r.Answered {
			w.d = w.w.ZerothOrder(&w.r, &p.Options, number, Reference(&w.r))
		} else {
			w.d = w.w.Of(&w.r, &p.Options, number)
		}
		store(i, &w.d)
	}
	return p.rows(ctx, r, call, one)
}

// rows takes all rows, in any order, by several goroutines: those that the kernel declines by one.
func (p *Pass) rows(ctx context.Context, r *rows, call *kernel.Call, one func(w *worker, i int)) error {
	table := p.table(r, call)
	if table == nil {
		return p.each(ctx, r, one)
	}
	defer call.StopWith(ctx)()
	return p.inBlocks(ctx, r.answers.N, blockRows, func(w *worker, lo, hi int) {
		if w.kernel == nil {
			w.kernel = kernel.NewSolver(table, call)
		}
		for _, i := range w.kernel.Run(lo, hi) {
			if ctx.Err() != nil {
				return
			}
			one(w, int(i))
		}
	})
}

// table sets the rows and the mode of a call, and returns the library as the kernel reads it, nil if all rows are left
// to Go.
func (p *Pass) table(r *rows, call *kernel.Call) *kernels.Shapes {
	call.Job, call.First, call.Answers, call.Valid = r.job, r.first, r.answers, r.valid
	call.Derivative, call.FirstNumber = p.Options, p.FirstRow
	variant, err := kernel.Choose(p.SIMD)
	if err != nil || variant == kernels.Off || !call.Serves() {
		return nil
	}
	call.Variant = variant
	return kernels.ShapesOf(r.job.Library)
}

// each calls f for all rows, in any order, by several goroutines. It returns the error of the context.
func (p *Pass) each(ctx context.Context, r *rows, f func(w *worker, i int)) error {
	return p.inBlocks(ctx, r.answers.N, blockRows, func(w *worker, lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			f(w, i)
		}
	})
}

// inBlocks calls f for blocks of 0 to n-1, in any order, by several goroutines.
func (p *Pass) inBlocks(ctx context.Context, n, block int, f func(w *worker, lo, hi int)) error {
	workers := p.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return fault.Blocks(ctx, workers, n, block, func(_ int, blocks iter.Seq2[int, int]) {
		w := new(worker)
		w.w.ctx = ctx
		defer w.close()
		for lo, hi := range blocks {
			f(w, lo, hi)
		}
	})
}

// Differentiator takes the derivatives of queries, as package dispatch calls it.
type Differentiator struct {
	Workers int    // goroutines of a call; 0 is one per core
	SIMD    string // variant of the kernels, as [clearance/cpu.Options] names it
}

// Needs returns the columns of answers that derivatives need, with the gap.
func (*Differentiator) Needs() batch.Columns { return Needs | batch.ColGap }

// Differentiate fills the columns of derivatives of out, whose row 0 has the answer of row lo of the job, and is row
// number in the whole. answers, which estimates of order zero need, may be nil: see [Pass.Answers].
func (d *Differentiator) Differentiate(ctx context.Context, job *batch.Job, lo, number int, out *batch.Results,
	answers batch.Answers) error {
	p, r := d.pass(job, number, answers), newRows(job, lo, out)
	r.valid = true
	if err := p.check(r); err != nil {
		return err
	}
	return p.fill(ctx, r, out)
}

// Multiply takes products of the Jacobians of the answers of a job, whose first row has the number in the whole. A back
// end has answered the rows.
func (d *Differentiator) Multiply(ctx context.Context, job *batch.Job, number int, product *batch.Product,
	answers batch.Answers) error {
	p := d.pass(job, number, answers)
	p.checked = true
	return p.Multiply(ctx, job, product)
}

// RolloutProduct takes a product of the Jacobians of the rows of a rollout, see [Pass.RolloutProduct].
func (d *Differentiator) RolloutProduct(ctx context.Context, rows batch.RolloutRows, o *batch.RolloutOptions,
	product *batch.RolloutProduct, answers batch.Answers) error {
	p := &Pass{Options: o.Derivative, Workers: d.Workers, SIMD: d.SIMD, Answers: answers}
	return p.RolloutProduct(ctx, &Rollout{rows, *o}, product)
}

// Complete is Differentiate for the rows whose smoothness is [batch.NotDerived]; the others have their derivatives.
func (d *Differentiator) Complete(ctx context.Context, job *batch.Job, lo, number int, out *batch.Results,
	answers batch.Answers) error {
	smoothness := out.Column(batch.ColSmoothness).U8
	if !slices.Contains(smoothness, uint8(batch.NotDerived)) {
		return nil
	}
	known := *out
	known.Marks = make(batch.Marks, out.N)
	for i, s := range smoothness {
		switch {
		case Smoothness(s) != batch.NotDerived:
			known.Marks[i] = batch.Omitted
		case out.Marks == nil || out.Marks[i] == batch.Answered:
			known.Marks[i] = batch.Answered
		}
	}
	p, r := d.pass(job, number, answers), newRows(job, lo, &known)
	r.valid, r.partial = true, true
	if err := p.check(r); err != nil {
		return err
	}
	return p.derivatives(ctx, r, &kernel.Call{Out: out}, func(i int, d *Derivative) { put(out, i, d) })
}

// pass is that of a query, whose first row has the number in the whole.
func (d *Differentiator) pass(job *batch.Job, number int, answers batch.Answers) *Pass {
	return &Pass{Options: job.Options.Derivative, FirstRow: uint64(number), Workers: d.Workers, SIMD: d.SIMD,
		Answers: answers}
}
