package main

// #include "clearance.h"
import "C"

import (
	"context"
	"sync"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/derive"
	"clearance/dispatch"
)

// lastFeatures are those of the library that contact points were last asked of: steps ask one library again and again.
var lastFeatures struct {
	sync.Mutex
	table *contact.FeatureTable
}

// featuresOf are the features of the shapes of a library.
func featuresOf(l *batch.Library) *contact.FeatureTable {
	lastFeatures.Lock()
	defer lastFeatures.Unlock()
	if t := lastFeatures.table; t != nil && t.Library() == l {
		return t
	}
	lastFeatures.table = contact.NewFeatureTable(l)
	return lastFeatures.table
}

// pointsCall is a call about the contact points of pairs.
type pointsCall struct {
	handle  C.clearance_engine
	library C.clearance_library
	pairs   *C.clearance_pairs
	maxGap  C.double
	list    *C.clearance_array
	count   C.int64_t
}

// pointsColumns reads the columns of a call of n pairs, and returns what is done with the answers.
type pointsColumns func(a *arrays, n int) func(ctx context.Context, h *engineHandle, call *batch.Job) error

// start reads a call and starts a job that answers its pairs. bytes is the memory of a pair beside its answer.
func (c *pointsCall) start(bytes float64, columns pointsColumns) (j *job, err error) {
	defer recovered(&err)
	h, err := engines.get(uint64(c.handle))
	if err != nil {
		return nil, err
	}
	lib, err := libraries.get(uint64(c.library))
	if err != nil {
		return nil, err
	}
	in, warm, err := pairsOf(c.pairs)
	if err != nil {
		return nil, err
	}
	a, err := arraysOf(c.list, c.count)
	if err != nil {
		return nil, err
	}
	n := in.Len()
	answered := columns(a, n)
	a.spans = spansOfPairs(a.spans, in, warm)
	if err := a.check(); err != nil {
		return nil, err
	}
	o := contact.ManifoldOptions(float64(c.maxGap))
	if err := o.Check(); err != nil {
		return nil, failure{codeArgument, err}
	}
	if err := checkMemory("answers of pairs", float64(n)*(rowBytes(&o)+bytes)); err != nil {
		return nil, err
	}
	return start(h, work(lib, n), func(ctx context.Context, _ *job) (dispatch.Report, error) {
		call := &batch.Job{Library: lib, Input: in, Options: o, Results: batch.NewResults(n, &o)}
		rep, err := h.Dispatcher().Run(ctx, call, h.run)
		if err == nil {
			err = contactError(answered(ctx, h, call))
		}
		return rep, err
	})
}

//export clearance_contact_points
func clearance_contact_points(handle C.clearance_engine, library C.clearance_library, pairs *C.clearance_pairs,
	maxGap C.double, list *C.clearance_array, count C.int64_t, waitMs C.int64_t, out *C.clearance_job,
	report *C.clearance_report, e *C.clearance_error) C.int32_t {
	call := pointsCall{handle, library, pairs, maxGap, list, count}
	j, err := call.start(0, func(a *arrays, n int) func(context.Context, *engineHandle, *batch.Job) error {
		points := product(n, contact.MaxPoints)
		status := needed[uint8](a, "status", n, true)
		m := &contact.Manifolds{N: n, Count: needed[int32](a, "count", n, true),
			Normal: needed[float64](a, "normal", product(3, n), true), Lower: needed[float64](a, "lower", n, true),
			Position: needed[float64](a, "position", product(3, points), true),
			Gap:      needed[float64](a, "gap", points, true), ID: needed[uint64](a, "id", points, true),
			Status: make([]contact.ManifoldStatus, n)}
		return func(ctx context.Context, h *engineHandle, call *batch.Job) error {
			m.Features = featuresOf(call.Library)
			err := contact.BuildManifolds(ctx, call, 0, h.SIMD(), m)
			for i, s := range m.Status {
				status[i] = uint8(s)
			}
			return err
		}
	})
	return settle(j, err, waitMs, out, report, e)
}

//export clearance_contact_points_vjp
func clearance_contact_points_vjp(handle C.clearance_engine, library C.clearance_library, pairs *C.clearance_pairs,
	maxGap C.double, list *C.clearance_array, count C.int64_t, waitMs C.int64_t, out *C.clearance_job,
	report *C.clearance_report, e *C.clearance_error) C.int32_t {
	call := pointsCall{handle, library, pairs, maxGap, list, count}
	j, err := call.start(1, func(a *arrays, n int) func(context.Context, *engineHandle, *batch.Job) error {
		points := product(n, contact.MaxPoints)
		m := &contact.Manifolds{N: n, Count: needed[int32](a, "count", n, false),
			ID: needed[uint64](a, "id", points, false)}
		bar := &adjoint.ManifoldCotangents{Normal: numbers[float64](a, "normal_bar", product(3, n), false),
			Position: numbers[float64](a, "position_bar", product(3, points), false),
			Gap:      numbers[float64](a, "gap_bar", points, false)}
		twists, smooth := needed[float64](a, "twists", product(12, n), true), numbers[uint8](a, "smoothness", n, true)
		return func(ctx context.Context, _ *engineHandle, call *batch.Job) error {
			m.Features = featuresOf(call.Library)
			codes := make([]derive.Smoothness, n)
			err := adjoint.ManifoldsVJP(ctx, call, m, bar, 0, twists, codes)
			for i := range smooth {
				smooth[i] = uint8(codes[i])
			}
			return err
		}
	})
	return settle(j, err, waitMs, out, report, e)
}
