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

//export clearance_contact_points_vjp
func clearance_contact_points_vjp(handle C.clearance_engine, library C.clearance_library, pairs *C.clearance_pairs,
	maxGap C.double, list *C.clearance_array, count C.int64_t, waitMs C.int64_t, out *C.clearance_job,
	report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		h, err := engines.get(uint64(handle))
		if err != nil {
			return nil, err
		}
		lib, err := libraries.get(uint64(library))
		if err != nil {
			return nil, err
		}
		in, warm, err := pairsOf(pairs)
		if err != nil {
			return nil, err
		}
		a, err := arraysOf(list, count)
		if err != nil {
			return nil, err
		}
		n := in.Len()
		points := product(n, contact.MaxPoints)
		m := &contact.Manifolds{N: n, Count: needed[int32](a, "count", n, false),
			ID: needed[uint64](a, "id", points, false)}
		bar := &adjoint.ManifoldCotangents{Normal: numbers[float64](a, "normal_bar", product(3, n), false),
			Position: numbers[float64](a, "position_bar", product(3, points), false),
			Gap:      numbers[float64](a, "gap_bar", points, false)}
		twists, smooth := needed[float64](a, "twists", product(12, n), true), numbers[uint8](a, "smoothness", n, true)
		a.spans = spansOfPairs(a.spans, in, warm)
		if err := a.check(); err != nil {
			return nil, err
		}
		o := contact.ManifoldOptions(float64(maxGap))
		if err := o.Check(); err != nil {
			return nil, failure{codeArgument, err}
		}
		if err := checkMemory("answers of pairs", float64(n)*(rowBytes(&o)+1)); err != nil {
			return nil, err
		}
		return start(h, work(lib, n), func(ctx context.Context, _ *job) (dispatch.Report, error) {
			call := &batch.Job{Library: lib, Input: in, Options: o, Results: batch.NewResults(n, &o)}
			rep, err := h.Dispatcher().Run(ctx, call, h.run)
			if err != nil {
				return rep, err
			}
			m.Features = featuresOf(lib)
			codes := make([]derive.Smoothness, n)
			err = adjoint.ManifoldsVJP(ctx, call, m, bar, 0, twists, codes)
			for i := range smooth {
				smooth[i] = uint8(codes[i])
			}
			return rep, contactError(err)
		})
	}()
	return settle(j, err, waitMs, out, report, e)
}
