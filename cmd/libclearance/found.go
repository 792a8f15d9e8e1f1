package main

// #include "clearance.h"
import "C"

import (
	"context"
	"sync/atomic"

	"clearance/dispatch"
	"clearance/rollout"
)

// foundHandle is the answers of a step of all pairs by rows, whose number is not known before.
type foundHandle struct {
	scene   *sceneHandle
	results atomic.Pointer[rollout.Results] // nil until the job has ended without an error
}

var found = handles[*foundHandle]{what: "list of rows found"}

//export clearance_scene_find
func clearance_scene_find(handle C.clearance_rollout, poses *C.clearance_reals, place *C.clearance_found,
	waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		s, err := rolloutOf[*sceneHandle](handle)
		if err != nil {
			return nil, err
		}
		if !s.worlds.AllPairs || s.options.Reduce == rollout.ReduceWorld || place == nil {
			return nil, argument("the rows of this scene are not found but given, or no place for the answers")
		}
		in, err := s.at(poses)
		if err != nil {
			return nil, err
		}
		f := &foundHandle{scene: s}
		j, err = start(s.engine, s.rows, func(ctx context.Context, j *job) (dispatch.Report, error) {
			results, rep, err := s.batch.Find(ctx, in)
			if err == nil {
				f.results.Store(results)
			}
			return j.of(&rep), err
		})
		if err == nil {
			*place = C.clearance_found(found.put(f))
		}
		return j, err
	}()
	code := settle(j, err, waitMs, out, report, e)
	if err == nil && code != C.int32_t(codeOK) && code != C.int32_t(codeRunning) {
		found.take(uint64(*place))
	}
	return code
}

//export clearance_found_read
func clearance_found_read(handle C.clearance_found, offsets *C.int64_t, results *C.clearance_results,
	more *C.clearance_more, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		f, err := found.get(uint64(handle))
		if err != nil {
			return err
		}
		from := f.results.Load()
		if from == nil {
			return argument("the job has not ended, or ended with an error")
		}
		to, err := resultsOf(results, &f.scene.options.Options)
		if err != nil {
			return err
		}
		list := array[int64](offsets, len(from.Offsets))
		if to.N != from.N || more == nil || list == nil {
			return argument("results of %d rows, want %d, with the offsets of the worlds and the bodies", to.N, from.N)
		}
		written := &rollout.Results{Results: to, PartA: array[int32](more.part_a, to.N),
			PartB: array[int32](more.part_b, to.N), BodyA: array[int32](more.body_a, to.N),
			BodyB: array[int32](more.body_b, to.N)}
		if err := checkOverlap(append(spansOf([]span{spanOf("offsets", list, true)}, to),
			spansOfMore(written)...)); err != nil {
			return err
		}
		copy(list, from.Offsets)
		to.CopyRows(0, from.Results, 0, to.N, to.Columns)
		copy(to.Bits(), from.Bits())
		copy(written.PartA, from.PartA)
		copy(written.PartB, from.PartB)
		copy(written.BodyA, from.BodyA)
		copy(written.BodyB, from.BodyB)
		return nil
	}())
}

//export clearance_found_free
func clearance_found_free(handle C.clearance_found, e *C.clearance_error) C.int32_t {
	_, err := found.take(uint64(handle))
	return fail(e, err)
}
