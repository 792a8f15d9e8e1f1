package main

// #include "clearance.h"
import "C"

import (
	"context"
	"encoding/json"
	"unsafe"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom/hull"
	"clearance/internal/rowtrace"

	"gonum.org/v1/gonum/spatial/r3"
)

// optionsOf translates a query. The library stays valid though its handle is given back.
func optionsOf(q *C.clearance_query) (*batch.Library, batch.Options, error) {
	if q == nil {
		return nil, batch.Options{}, argument("no query")
	}
	lib, err := libraries.get(uint64(q.library))
	if err != nil {
		return nil, batch.Options{}, err
	}
	for _, c := range []struct {
		name         string
		value, count C.int32_t
	}{{"query", q.query, C.int32_t(batch.QueryCount)}, {"method", q.method, C.int32_t(batch.MethodCount)},
		{"precision", q.precision, C.int32_t(batch.PrecisionCount)},
		{"derivative", q.derivative, C.int32_t(batch.DerivativeModeCount)}} {
		if c.value < 0 || c.value >= c.count {
			return nil, batch.Options{}, argument("%s %d, want a code below %d", c.name, c.value, c.count)
		}
	}
	o := batch.Options{
		Query: batch.Query(q.query), Method: batch.Method(q.method), Precision: batch.Precision(q.precision),
		Columns: batch.Columns(q.columns), Tolerance: float64(q.tolerance), MaxIterations: int(q.max_iterations),
		HasCutOff: q.has_cut_off != 0,
		Derivative: batch.Derivative{Mode: batch.DerivativeMode(q.derivative), Epsilon: float64(q.epsilon),
			Samples: int(q.samples), Rings: int(q.rings), Seed: uint64(q.seed)},
	}
	if o.HasCutOff {
		o.CutOff = float64(q.cut_off)
	}
	if err := o.Check(); err != nil {
		if codeOf(err) == codeFailed {
			err = failure{codeArgument, err}
		}
		return nil, o, err
	}
	return lib, o, nil
}

// maxColumns is the largest number of result columns of a call: each column has a bit.
const maxColumns = 64

// resultsOf are the columns of the caller, in memory of the caller.
func resultsOf(r *C.clearance_results, o *batch.Options) (*batch.Results, error) {
	if r == nil || r.count < 0 || r.count > maxColumns || r.count > 0 && r.columns == nil {
		return nil, argument("no results, or more than %d columns", maxColumns)
	}
	if r.rows < 0 || r.rows > maxRows {
		return nil, argument("results of %d rows, want 0 to %d", r.rows, int64(maxRows))
	}
	out := batch.EmptyResults(int(r.rows), o.EffectiveColumns(), o.Precision)
	for _, c := range unsafe.Slice(r.columns, r.count) {
		if err := setColumn(out, c); err != nil {
			return nil, err
		}
	}
	if err := out.CheckShape(); err != nil {
		return nil, failure{codeArgument, err}
	}
	return out, nil
}

// setColumn gives a column of results the memory of the caller.
func setColumn(out *batch.Results, c C.clearance_column) error {
	if c.code >= maxColumns || out.Columns&(1<<c.code) == 0 {
		return argument("results have a column of the code %d, which the query does not name", uint32(c.code))
	}
	bit := batch.Columns(1) << c.code
	info := bit.Info()
	if want := info.Type.In(out.Precision); c._type != C.uint32_t(want) {
		return argument("column %s is given as %v, want %v", info.Name, batch.ElementType(c._type), want)
	}
	out.SetColumn(bit, batch.ValuesAt(info.Type.In(out.Precision), unsafe.Pointer(c.data), info.Width*out.N))
	return nil
}

// pairsOf are the pairs of the caller, in memory of the caller.
func pairsOf(p *C.clearance_pairs) (pairs *batch.Pairs, warm []float64, err error) {
	if p == nil {
		return nil, nil, argument("no pairs")
	}
	if p.rows < 0 || p.rows > maxRows {
		return nil, nil, argument("%d pairs, want 0 to %d", p.rows, int64(maxRows))
	}
	n := int(p.rows)
	pairs = &batch.Pairs{
		ShapeA: array[int32](p.shape_a, n), ShapeB: array[int32](p.shape_b, n),
		PositionA: array[float64](p.position_a, 3*n), PositionB: array[float64](p.position_b, 3*n),
		RotationA: array[float64](p.rotation_a, 4*n), RotationB: array[float64](p.rotation_b, 4*n),
	}
	if len(pairs.ShapeA) != n {
		return nil, nil, argument("column shape_a has no numbers, want %d", n)
	}
	if err := pairs.CheckShape(); err != nil {
		return nil, nil, failure{codeArgument, err}
	}
	return pairs, array[float64](p.warm_start, 3*n), nil
}

// spansOfPairs appends the memory of pairs.
func spansOfPairs(list []span, p *batch.Pairs, warm []float64) []span {
	return append(list, spanOf("shape_a", p.ShapeA, false), spanOf("shape_b", p.ShapeB, false),
		spanOf("position_a", p.PositionA, false), spanOf("position_b", p.PositionB, false),
		spanOf("rotation_a", p.RotationA, false), spanOf("rotation_b", p.RotationB, false),
		spanOf("warm_start", warm, false))
}

// questionOf returns an open engine, and the library and the options of a query.
func questionOf(handle C.clearance_engine, query *C.clearance_query) (*engineHandle, *batch.Library, batch.Options,
	error) {
	h, err := engines.get(uint64(handle))
	if err != nil {
		return nil, nil, batch.Options{}, err
	}
	lib, o, err := optionsOf(query)
	return h, lib, o, err
}

// pairQuestionOf is questionOf of pairs, whose first directions are in the options.
func pairQuestionOf(handle C.clearance_engine, query *C.clearance_query, pairs *C.clearance_pairs) (h *engineHandle,
	lib *batch.Library, in *batch.Pairs, o batch.Options, err error) {
	if h, lib, o, err = questionOf(handle, query); err == nil {
		in, o.WarmStart, err = pairsOf(pairs)
	}
	return h, lib, in, o, err
}

//export clearance_submit
func clearance_submit(handle C.clearance_engine, query *C.clearance_query, pairs *C.clearance_pairs,
	results *C.clearance_results, waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report,
	e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		h, lib, in, o, err := pairQuestionOf(handle, query, pairs)
		if err != nil {
			return nil, err
		}
		to, err := resultsOf(results, &o)
		if err != nil {
			return nil, err
		}
		var memory [32]span
		if err := checkOverlap(spansOf(spansOfPairs(memory[:0], in, o.WarmStart), to)); err != nil {
			return nil, err
		}
		return start(h, work(lib, to.N), func(ctx context.Context, _ *job) (dispatch.Report, error) {
			return h.Dispatcher().Run(ctx, &batch.Job{Library: lib, Input: in, Options: o, Results: to}, h.run)
		})
	}()
	return settle(j, err, waitMs, out, report, e)
}

// settle waits for a job that was started, and ends the call as clearance_submit says.
func settle(j *job, err error, waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report,
	e *C.clearance_error) C.int32_t {
	switch {
	case err != nil:
		return fail(e, err)
	case !j.wait(int64(waitMs)):
		if out == nil { // nobody could wait for it
			j.cancel()
			<-j.ended
			return fail(e, argument("no place for the job"))
		}
		*out = C.clearance_job(jobs.put(j))
		return C.int32_t(codeRunning)
	}
	if out != nil {
		*out = 0
	}
	putReport(report, j)
	return fail(e, j.err)
}

//export clearance_job_wait
func clearance_job_wait(handle C.clearance_job, waitMs C.int64_t, report *C.clearance_report,
	e *C.clearance_error) C.int32_t {
	j, err := jobs.get(uint64(handle))
	if err != nil {
		return fail(e, err)
	}
	if !j.wait(int64(waitMs)) {
		return C.int32_t(codeRunning)
	}
	if _, err := jobs.take(uint64(handle)); err != nil { // another thread has the answer
		return fail(e, err)
	}
	putReport(report, j)
	return fail(e, j.err)
}

//export clearance_job_progress
func clearance_job_progress(handle C.clearance_job, total *C.int64_t) C.int64_t {
	j, err := jobs.get(uint64(handle))
	if err != nil {
		return -1
	}
	if total != nil {
		*total = C.int64_t(j.total.Load())
	}
	return C.int64_t(j.done.Load())
}

//export clearance_job_cancel
func clearance_job_cancel(handle C.clearance_job, e *C.clearance_error) C.int32_t {
	j, err := jobs.get(uint64(handle))
	if err == nil {
		j.cancel()
	}
	return fail(e, err)
}

//export clearance_trace
func clearance_trace(query *C.clearance_query, pairs *C.clearance_pairs, row C.int64_t, out *C.char, size C.int64_t,
	needed *C.int64_t, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		lib, o, err := optionsOf(query)
		if err != nil {
			return err
		}
		in, warm, err := pairsOf(pairs)
		if err != nil {
			return err
		}
		if needed == nil {
			return argument("no place for the size of the trace")
		}
		o.WarmStart = warm
		job := &batch.Job{Library: lib, Input: in, Options: o}
		if err := job.CheckInput(); err != nil {
			return failure{codeArgument, err}
		}
		trace, err := rowtrace.Of(job, int(row))
		if err != nil {
			return failure{codeArgument, err}
		}
		data, err := json.Marshal(trace)
		if err != nil {
			return err
		}
		*needed = write(data, out, size)
		return nil
	}())
}

//export clearance_library_center
func clearance_library_center(library C.clearance_library, index C.int64_t, center *C.double,
	e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		l, err := libraries.get(uint64(library))
		if err != nil {
			return err
		}
		to := array[float64](center, 3)
		if index < 0 || int64(index) >= int64(l.Len()) || to == nil {
			return argument("shape %d of %d, or no place for its center", index, l.Len())
		}
		c := l.GrowthCenter(int32(index))
		to[0], to[1], to[2] = c.X, c.Y, c.Z
		return nil
	}())
}

//export clearance_hull
func clearance_hull(points *C.clearance_reals, count C.int64_t, triangles *C.int32_t, capacity C.int64_t,
	needed *C.int64_t, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		if count < 0 || count > hull.MaxPoints || needed == nil {
			return argument("a hull of %d points, want at most %d, and a place for the number of triangles",
				int64(count), hull.MaxPoints)
		}
		x := array[float64](points, 3*int(count))
		list := make([]r3.Vec, len(x)/3)
		for i := range list {
			list[i] = r3.Vec{X: x[3*i], Y: x[3*i+1], Z: x[3*i+2]}
		}
		h, err := hull.Build(list)
		if err != nil {
			return failure{codeArgument, err}
		}
		*needed = C.int64_t(len(h.Facets))
		if to := array[int32](triangles, 3*len(h.Facets)); to != nil && int(capacity) >= len(h.Facets) {
			for i, f := range h.Facets {
				to[3*i], to[3*i+1], to[3*i+2] = h.Index[f[0]], h.Index[f[1]], h.Index[f[2]]
			}
		}
		return nil
	}())
}
