package main

// #include "clearance.h"
import "C"

import (
	"context"
	"unsafe"

	"clearance/batch"
	"clearance/dataset/stream"
	"clearance/dispatch"
)

var streams = handles[*stream.Stream]{what: "stream"}

// maxBatch is the largest number of rows of a batch of a stream.
const maxBatch = 1 << 24

//export clearance_stream
func clearance_stream(handle C.clearance_engine, query *C.clearance_query, in, out unsafe.Pointer, rows C.int64_t,
	place *C.clearance_answers, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		h, lib, o, err := questionOf(handle, query)
		switch {
		case err != nil:
			return err
		case in == nil || out == nil || place == nil:
			return argument("no stream, or no place for the stream")
		case rows < 1 || rows > maxBatch:
			return argument("batches of %d rows, want 1 to %d", rows, maxBatch)
		}
		s, err := stream.Exchange(h.ctx, lib, in, out, o, int(rows), h.solve)
		if err != nil {
			return failure{codeArgument, err}
		}
		*place = C.clearance_answers(streams.put(s))
		return nil
	}())
}

// solve answers a batch of a stream whose first row is given.
func (e *engineHandle) solve(ctx context.Context, job *batch.Job, first int) (dispatch.Report, error) {
	if err := e.begin(); err != nil {
		return dispatch.Report{}, err
	}
	defer e.jobs.Done()
	run := e.run
	run.FirstRow = first
	rep, err := e.Dispatcher().Run(ctx, job, run)
	if err != nil && e.ctx.Err() != nil { // the cause of a cancellation
		err = engines.missing()
	}
	return rep, err
}

//export clearance_stream_report
func clearance_stream_report(handle C.clearance_answers, report *C.clearance_report, e *C.clearance_error) C.int32_t {
	s, err := streams.get(uint64(handle))
	if err == nil {
		putReport(report, &job{report: s.Report()})
	}
	return fail(e, err)
}

//export clearance_stream_forget
func clearance_stream_forget(handle C.clearance_answers, e *C.clearance_error) C.int32_t {
	s, err := streams.take(uint64(handle))
	if err == nil {
		s.Release()
	}
	return fail(e, err)
}
