package main

// #include "clearance.h"
import "C"

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"clearance/batch"
	"clearance/dispatch"
)

// rolloutHandle is a batch of worlds that is held.
type rolloutHandle struct {
	engine  *engineHandle
	batch   *dispatch.Batch
	library *batch.Library
	worlds  batch.Worlds // without poses
	numbers int          // of the poses
	options batch.Options
}

// rollouts are those of shapes (*rolloutHandle) and of scenes (*sceneHandle).
var rollouts = handles[io.Closer]{what: "rollout"}

// Close ends the use of the rollout.
func (r *rolloutHandle) Close() error { return r.batch.Close() }

// rolloutOf returns an open rollout of a type.
func rolloutOf[T io.Closer](handle C.clearance_rollout) (T, error) {
	var none T
	r, err := rollouts.get(uint64(handle))
	if err != nil {
		return none, err
	}
	of, ok := r.(T)
	if !ok {
		return none, argument("the rollout is one of shapes where one of a scene is wanted, or the other way round")
	}
	return of, nil
}

//export clearance_rollout_open
func clearance_rollout_open(handle C.clearance_engine, query *C.clearance_query, worlds *C.clearance_worlds,
	out *C.clearance_rollout, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		h, lib, o, err := questionOf(handle, query)
		if err != nil {
			return err
		}
		if worlds == nil || worlds.worlds < 0 || worlds.bodies < 0 || worlds.templates < 0 || out == nil {
			return argument("no worlds, or no place for the handle")
		}
		w, m, p := int(worlds.worlds), int(worlds.bodies), int(worlds.templates)
		if err := checkWorlds(w, m, p, float64(p)*rowBytes(&o)); err != nil {
			return err
		}
		r := &rolloutHandle{engine: h, library: lib, options: o, numbers: 7 * w * m}
		in := &batch.Worlds{
			Shapes:    slices.Clone(array[int32](worlds.shapes, m)),
			TemplateA: slices.Clone(array[int32](worlds.template_a, p)),
			TemplateB: slices.Clone(array[int32](worlds.template_b, p)),
			Poses:     slices.Clone(array[float64](worlds.poses, r.numbers)),
		}
		if worlds.poses == nil { // those of no step: memory that is not written takes none
			in.Poses = make([]float64, r.numbers)
		}
		if len(in.Poses) != r.numbers || len(in.Shapes) != m || len(in.TemplateA) != p {
			return argument("an array of the worlds is missing")
		}
		r.worlds = *in
		r.worlds.Poses = nil
		if r.batch, err = h.Dispatcher().Hold(h.ctx, lib, in, o, h.run); err != nil {
			return err
		}
		*out = C.clearance_rollout(rollouts.put(r))
		return nil
	}())
}

// checkWorlds returns an error if w worlds of m bodies and p pairs are too many: lists of bodies and pairs, poses, and
// the results of a step, which the caller has, with so many bytes for each world.
func checkWorlds(w, m, p int, results float64) error {
	if m > math.MaxInt32 || p > math.MaxInt32 {
		return argument("%d bodies and %d pairs, want at most %d of each", m, p, math.MaxInt32)
	}
	bytes := 4*(float64(m)+2*float64(p)) + float64(w)*(8*7*float64(m)+results)
	if w > maxRows && bytes == 0 {
		return argument("%d worlds, want at most %d", w, int64(maxRows))
	}
	return checkMemory(fmt.Sprintf("%d worlds of %d bodies and %d pairs", w, m, p), bytes)
}

//export clearance_rollout_submit
func clearance_rollout_submit(handle C.clearance_rollout, poses *C.clearance_reals, results *C.clearance_results,
	waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		r, err := rolloutOf[*rolloutHandle](handle)
		if err != nil {
			return nil, err
		}
		to, err := resultsOf(results, &r.options)
		if err != nil {
			return nil, err
		}
		in := r.worlds
		if in.Poses = array[float64](poses, r.numbers); len(in.Poses) != r.numbers {
			return nil, argument("no poses")
		}
		var memory [16]span
		if err := checkOverlap(spansOf(append(memory[:0], spanOf("poses", in.Poses, false)), to)); err != nil {
			return nil, err
		}
		return start(r.engine, work(r.library, to.N), func(ctx context.Context, _ *job) (dispatch.Report, error) {
			return r.batch.Step(ctx, &in, to)
		})
	}()
	return settle(j, err, waitMs, out, report, e)
}

//export clearance_rollout_close
func clearance_rollout_close(handle C.clearance_rollout, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		r, err := rollouts.take(uint64(handle))
		if err != nil {
			return err
		}
		return r.Close()
	}())
}
