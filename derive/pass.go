package derive

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"clearance/batch"

	"gonum.org/v1/gonum/spatial/r3"
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

	// Solver, which estimates of order zero need, returns a solver of a row for one goroutine.
	Solver func(r *Row) Solver
}

// Check reports an option that is out of range, answers that cannot be differentiated, or columns that they lack.
func (p *Pass) Check(job *batch.Job) error {
	if err := p.Options.Check(); err != nil {
		return err
	}
	switch {
	case job.Library == nil || job.Input == nil || job.Results == nil:
		return errors.New("derive: the job lacks its library, input or results")
	case job.Input.Len() != job.Results.N:
		return fmt.Errorf("derive: %d pairs with %d answers", job.Input.Len(), job.Results.N)
	case job.Options.Query.Info().Boolean():
		return fmt.Errorf("derive: the query %v answers with a status, which has no derivative", job.Options.Query)
	case Needs&^job.Results.Columns != 0:
		return fmt.Errorf("derive: the answers lack the columns %v", Needs&^job.Results.Columns)
	case p.Mode == Zeroth && p.Solver == nil:
		return errors.New("derive: an estimate of order zero needs a solver")
	}
	return job.Results.CheckShape()
}

// Run stores the derivatives of the answers of a job, whose results it leaves as they are.
func (p *Pass) Run(ctx context.Context, job *batch.Job, out *Results) error {
	if out.N != job.Results.N {
		return fmt.Errorf("derive: results of %d rows for %d answers", out.N, job.Results.N)
	}
	return p.each(ctx, job, func(i int, d *Derivative) { out.put(i, d) })
}

// Widths of the arrays of products: of answers (value, normal, both witnesses) and of twists.
const (
	AnswerWidth = 10
	TwistWidth  = 12
)

// VJP multiplies cotangents of the answers [N,10] with the Jacobians from the left: the gradient with respect to the
// twists of both bodies goes to gradients, [N,12].
func (p *Pass) VJP(ctx context.Context, job *batch.Job, cotangents, gradients []float64) error {
	if err := checkProduct(job, cotangents, gradients); err != nil {
		return err
	}
	return p.each(ctx, job, func(i int, d *Derivative) {
		c := cotangentOf((*[AnswerWidth]float64)(cotangents[AnswerWidth*i:]))
		g := d.VJP(&c)
		copy(gradients[TwistWidth*i:], g[:])
	})
}

// JVP multiplies the Jacobians with twists of both bodies [N,12]: the tangents of the answers go to tangents, [N,10].
func (p *Pass) JVP(ctx context.Context, job *batch.Job, twists, tangents []float64) error {
	if err := checkProduct(job, tangents, twists); err != nil {
		return err
	}
	return p.each(ctx, job, func(i int, d *Derivative) {
		c := d.JVP((*Twists)(twists[TwistWidth*i:]))
		v := c.components()
		copy(tangents[AnswerWidth*i:], v[:])
	})
}

func checkProduct(job *batch.Job, answers, twists []float64) error {
	if job.Results == nil {
		return errors.New("derive: the job has no results")
	}
	if n := job.Results.N; len(answers) != AnswerWidth*n || len(twists) != TwistWidth*n {
		return fmt.Errorf("derive: arrays of %d and %d numbers for %d answers, want [N,%d] and [N,%d]", len(answers),
			len(twists), n, AnswerWidth, TwistWidth)
	}
	return nil
}

// blockRows is the number of rows that a goroutine takes at a time.
const blockRows = 256

// each differentiates all rows, in any order, by several goroutines.
func (p *Pass) each(ctx context.Context, job *batch.Job, store func(i int, d *Derivative)) error {
	if err := p.Check(job); err != nil {
		return err
	}
	n := job.Results.N
	workers := p.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(workers, (n+blockRows-1)/blockRows) {
		group.Go(func() {
			var w Workspace
			var row batch.Row
			var r Row
			for ctx.Err() == nil {
				hi := int(next.Add(blockRows))
				lo := hi - blockRows
				if lo >= n {
					return
				}
				for i := lo; i < min(hi, n) && ctx.Err() == nil; i++ {
					r.read(job, i, &row)
					d := p.derivative(&w, &r, p.FirstRow+uint64(i))
					store(i, &d)
				}
			}
		})
	}
	group.Wait()
	return ctx.Err()
}

func (p *Pass) derivative(w *Workspace, r *Row, index uint64) Derivative {
	if p.Mode == Zeroth && r.Answered {
		return w.ZerothOrder(r, &p.Options, index, p.Solver(r))
	}
	return w.Of(r, &p.Options, index)
}

// read takes row i of a job with its answer. Rows that are bounds by the question, beyond a cut-off, count as not
// answered.
func (r *Row) read(job *batch.Job, i int, row *batch.Row) {
	*r = Row{}
	status := batch.Status(job.Results.Status()[i])
	if status > batch.Penetrating {
		return
	}
	if _, err := job.Read(i, row); err != nil {
		return
	}
	out := job.Results
	lib := job.Library
	*r = Row{A: lib.Shape(row.ShapeA), B: lib.Shape(row.ShapeB), PoseA: row.PoseA, PoseB: row.PoseB, Answered: true,
		Value: out.Distance().At(i), Normal: at3(out.Normal(), i), WitnessA: at3(out.WitnessA(), i),
		WitnessB: at3(out.WitnessB(), i)}
	if gap := out.Gap(); gap != nil {
		r.Gap = float64(gap[i])
	}
	if job.Options.Query == batch.Growth {
		r.Growth, r.CenterA, r.CenterB = true, lib.GrowthCenter(row.ShapeA), lib.GrowthCenter(row.ShapeB)
	}
	if cutOff, ok := job.Options.EffectiveCutOff(); ok && r.Value-r.Gap > cutOff {
		r.Answered = false
	}
}

func at3(v *batch.Values, i int) r3.Vec {
	return r3.Vec{X: v.At(3 * i), Y: v.At(3*i + 1), Z: v.At(3*i + 2)}
}
