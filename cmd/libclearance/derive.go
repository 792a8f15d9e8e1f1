package main

// #include "clearance.h"
import "C"

import (
	"context"
	"io"
	"math"
	"time"

	"clearance/batch"
	"clearance/derive"
	"clearance/dispatch"
	"clearance/rollout"
)

//export clearance_derive
func clearance_derive(handle C.clearance_engine, query *C.clearance_query, pairs *C.clearance_pairs,
	results *C.clearance_results, derivatives *C.clearance_derivatives, waitMs C.int64_t, out *C.clearance_job,
	report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		h, lib, o, err := questionOf(handle, query)
		if err != nil {
			return nil, err
		}
		in, _, err := pairsOf(pairs)
		if err != nil {
			return nil, err
		}
		answers, err := resultsOf(results, &o)
		if err != nil {
			return nil, err
		}
		d, err := derivativesOf(derivatives, answers.N, derive.TwistWidth*answers.N, &o)
		if err != nil {
			return nil, err
		}
		if err := checkOverlap(d.spans(spansOfPairs(nil, in, nil), answers)); err != nil {
			return nil, err
		}
		of := &batch.Job{Library: lib, Input: in, Options: o, Results: answers}
		d.pass.Answers = h.Answers()
		if err := d.pass.Check(of); err != nil {
			return nil, failure{codeArgument, err}
		}
		return start(h, d.work(lib, answers.N), func(ctx context.Context, _ *job) (dispatch.Report, error) {
			begin := time.Now()
			err := d.run(ctx, of)
			return dispatch.Report{Rows: answers.N, Done: answers.N, WorstGapRow: -1, Wall: time.Since(begin)}, err
		})
	}()
	return settle(j, err, waitMs, out, report, e)
}

// derivation is what a call asks for, in memory of the caller.
type derivation struct {
	pass       derive.Pass
	cotangents []float64      // [N,10], nil for no product
	values     []float64      // [N], nil for no product
	gradients  []float64      // [N,12], of rollouts [W,M,6]
	twists     []float64      // [N,12], nil for no product
	tangents   []float64      // [N,10]
	smoothness *batch.Results // of that column alone, which may be nil
}

// derivativesOf are the arrays of n rows, with so many numbers of gradients.
func derivativesOf(c *C.clearance_derivatives, n, gradients int, o *batch.Options) (*derivation, error) {
	if c == nil || c.rows != C.int64_t(n) {
		return nil, argument("no derivatives, or not those of %d rows", n)
	}
	if err := checkWorkers(c.workers); err != nil {
		return nil, err
	}
	d := &derivation{
		pass:       derive.Pass{Options: o.Derivative, FirstRow: uint64(c.first_row), Workers: int(c.workers)},
		cotangents: array[float64](c.cotangents, derive.AnswerWidth*n),
		values:     array[float64](c.values, n),
		gradients:  array[float64](c.gradients, gradients),
		twists:     array[float64](c.twists, derive.TwistWidth*n),
		tangents:   array[float64](c.tangents, derive.AnswerWidth*n),
		smoothness: batch.EmptyResults(n, batch.ColSmoothness, batch.Double),
	}
	d.smoothness.SetColumn(batch.ColSmoothness, batch.Values{U8: array[uint8](c.smoothness, n)})
	switch {
	case c.cotangents != nil && c.values != nil:
		return nil, argument("gradients of cotangents and of values, want one of them")
	case n > 0 && (c.cotangents != nil || c.values != nil) != (c.gradients != nil),
		n > 0 && (c.twists == nil) != (c.tangents == nil):
		return nil, argument("a product needs both of its arrays")
	}
	return d, nil
}

// spans appends the memory of the call. The answers are read only.
func (d *derivation) spans(list []span, answers *batch.Results) []span {
	first := len(list)
	list = spansOf(list, answers)
	for i := first; i < len(list); i++ {
		list[i].written = false
	}
	return d.products(list)
}

// products appends the memory of the products and of the smoothness.
func (d *derivation) products(list []span) []span {
	list = append(list, spanOf("cotangents", d.cotangents, false), spanOf("values", d.values, false),
		spanOf("gradients", d.gradients, true), spanOf("twists", d.twists, false), spanOf("tangents", d.tangents, true))
	return spansOf(list, d.smoothness)
}

// asked are the products that the call wants.
func (d *derivation) asked() (list []batch.Product) {
	for _, p := range []batch.Product{{Kind: batch.VJP, Operands: d.cotangents, Results: d.gradients},
		{Kind: batch.ValueVJP, Operands: d.values, Results: d.gradients},
		{Kind: batch.JVP, Operands: d.twists, Results: d.tangents}} {
		if p.Operands != nil {
			list = append(list, p)
		}
	}
	return list
}

// work is the number of rows of a query that n rows may take as long as.
func (d *derivation) work(lib *batch.Library, n int) int {
	each := 1
	if d.pass.Mode == batch.ZerothDerivative {
		each = max(d.pass.Samples, 50)
	}
	return work(lib, int(min(float64(n)*float64(each), math.MaxInt32)))
}

// run fills the arrays. Each product is a pass of its own.
func (d *derivation) run(ctx context.Context, of *batch.Job) error {
	if d.smoothness.Column(batch.ColSmoothness).U8 != nil {
		if err := d.pass.Run(ctx, of, d.smoothness); err != nil {
			return err
		}
	}
	for _, p := range d.asked() {
		if err := d.pass.Multiply(ctx, of, &p); err != nil {
			return err
		}
	}
	return nil
}

//export clearance_multiply
func clearance_multiply(handle C.clearance_engine, query *C.clearance_query, pairs *C.clearance_pairs,
	derivatives *C.clearance_derivatives, waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report,
	e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		h, lib, in, o, err := pairQuestionOf(handle, query, pairs)
		if err != nil {
			return nil, err
		}
		n := in.Len()
		d, err := unansweredOf(derivatives, n, derive.TwistWidth*n, &o)
		if err != nil {
			return nil, err
		}
		if err := checkOverlap(d.products(spansOfPairs(nil, in, o.WarmStart))); err != nil {
			return nil, err
		}
		return start(h, d.work(lib, n), func(ctx context.Context, _ *job) (dispatch.Report, error) {
			begin := time.Now()
			err := multiply(ctx, h, &batch.Job{Library: lib, Input: in, Options: o}, d.asked())
			return productReport(n, begin, err), err
		})
	}()
	return settle(j, err, waitMs, out, report, e)
}

// unansweredOf is derivativesOf of rows that the call answers.
func unansweredOf(c *C.clearance_derivatives, n, gradients int, o *batch.Options) (*derivation, error) {
	d, err := derivativesOf(c, n, gradients, o)
	switch {
	case err != nil:
		return nil, err
	case o.Query.Info().Boolean():
		return nil, argument("the query %v answers with a status, which has no derivative", o.Query)
	case c.smoothness != nil || c.first_row != 0:
		return nil, argument("products without answers have no smoothness, and begin with row 0")
	}
	return d, nil
}

// multiply takes products of the rows of a job.
func multiply(ctx context.Context, h *engineHandle, job *batch.Job, products []batch.Product) error {
	for _, p := range products {
		if _, err := h.Dispatcher().Multiply(ctx, job, &p, h.run); err != nil {
			return err
		}
	}
	return nil
}

// productReport is that of a call whose answers nobody sees.
func productReport(n int, begin time.Time, err error) dispatch.Report {
	r := dispatch.Report{Rows: n, WorstGapRow: -1, Wall: time.Since(begin)}
	if err == nil {
		r.Done = n
	}
	return r
}

// multiplier is a rollout of which gradients by body are taken.
type multiplier interface {
	io.Closer

	// multiplies prepares the gradients of a step at poses of the caller.
	multiplies(poses *C.clearance_reals, derivatives *C.clearance_derivatives, o batch.Derivative) (*job, error)
}

//export clearance_rollout_multiply
func clearance_rollout_multiply(handle C.clearance_rollout, query *C.clearance_query, poses *C.clearance_reals,
	derivatives *C.clearance_derivatives, waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report,
	e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		r, err := rolloutOf[multiplier](handle)
		if err != nil {
			return nil, err
		}
		_, o, err := optionsOf(query)
		if err != nil {
			return nil, err
		}
		return r.multiplies(poses, derivatives, o.Derivative)
	}()
	return settle(j, err, waitMs, out, report, e)
}

// gradientsOf are the cotangents or values of n rows and the gradients of so many poses.
func gradientsOf(c *C.clearance_derivatives, n, poses int, o *batch.Options, at []float64) (*derivation, error) {
	d, err := unansweredOf(c, n, derive.BodyWidth*poses, o)
	switch {
	case err != nil:
		return nil, err
	case c.twists != nil || c.gradients == nil:
		return nil, argument("rollouts have gradients alone, of cotangents or of values")
	}
	if err := checkOverlap(d.products([]span{spanOf("poses", at, false)})); err != nil {
		return nil, err
	}
	clear(d.gradients) // also those of no rows
	return d, nil
}

func (r *rolloutHandle) multiplies(poses *C.clearance_reals, derivatives *C.clearance_derivatives,
	o batch.Derivative) (*job, error) {
	in := r.worlds
	if in.Poses = array[float64](poses, r.numbers); len(in.Poses) != r.numbers {
		return nil, argument("no poses")
	}
	options := r.options
	options.Derivative = o
	n := in.Len()
	d, err := gradientsOf(derivatives, n, r.numbers/7, &options, in.Poses)
	if err != nil {
		return nil, err
	}
	products := d.asked()
	for i := range products {
		products[i].Sums = &batch.Sums{}
	}
	return start(r.engine, work(r.library, n), func(ctx context.Context, _ *job) (dispatch.Report, error) {
		begin := time.Now()
		err := multiply(ctx, r.engine, &batch.Job{Library: r.library, Input: &in, Options: options}, products)
		return productReport(n, begin, err), err
	})
}

func (s *sceneHandle) multiplies(poses *C.clearance_reals, derivatives *C.clearance_derivatives,
	o batch.Derivative) (*job, error) {
	in, err := s.at(poses)
	if err != nil {
		return nil, err
	}
	options := s.options.Options
	options.Derivative = o
	n := s.batch.Len()
	switch {
	case s.worlds.AllPairs && s.options.Reduce != rollout.ReduceWorld:
		return nil, argument("gradients of all pairs, whose number is not known before; want rows that are worlds")
	case o.Mode == batch.ZerothDerivative:
		return nil, argument("rollouts of scenes have no estimates of order zero")
	}
	d, err := gradientsOf(derivatives, n, s.numbers/7, &options, in.Poses)
	if err != nil {
		return nil, err
	}
	return start(s.engine, s.rows, func(ctx context.Context, j *job) (dispatch.Report, error) {
		products := d.asked()
		if len(products) == 0 { // there are no rows
			return dispatch.Report{WorstGapRow: -1}, nil
		}
		p := products[0]
		rep, err := s.batch.Multiply(ctx, in, nil, o,
			&batch.RolloutProduct{Kind: p.Kind, Operands: p.Operands, Results: p.Results})
		return j.of(&rep), err
	})
}
