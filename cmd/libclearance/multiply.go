package main

// #include "clearance.h"
import "C"

import (
	"context"
	"io"
	"time"

	"clearance/batch"
	"clearance/derive"
	"clearance/dispatch"
	"clearance/rollout"
)

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
