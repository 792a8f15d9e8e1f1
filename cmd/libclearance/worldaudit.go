package main

// #include "clearance.h"
import "C"

import (
	"context"

	"clearance/dispatch"
	"clearance/internal/audit"
)

//export clearance_rollout_audit
func clearance_rollout_audit(handle C.clearance_engine, query *C.clearance_query, scene *C.clearance_scene, shapes,
	worlds *C.clearance_text, lo, hi C.int64_t, results *C.clearance_text, place *C.clearance_job,
	e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		from, answers := text(worlds), text(results)
		h, bodies, options, err := questionOfWorlds(handle, query, scene, place, text(shapes), from, answers, "")
		if err != nil {
			return err
		}
		files := &audit.RolloutFiles{AllPairs: scene.all_pairs != 0, Options: options, Files: audit.Files{
			Bodies: bodies, Worlds: from, Results: answers, Lo: int(lo), Hi: int(hi), Within: true}}
		if err := files.Options.Check(); err != nil {
			return failure{codeArgument, err}
		}
		workers := int(scene.workers)
		*place, err = startFile(h, func(ctx context.Context, j *job, _ dispatch.Options) (dispatch.Report, error) {
			r, err := files.Audit(ctx, sampleOfAll(j, workers))
			if err != nil {
				return dispatch.Report{}, err
			}
			looked := r.Pairs
			if files.Options.Reduce != 0 {
				looked = r.Worlds
			}
			j.audited, j.refuted = int64(max(looked-r.Unaudited, 0)), int64(r.Wrong())
			return auditReport(r.Rows), nil
		})
		return err
	}())
}

//export clearance_sweep_audit
func clearance_sweep_audit(handle C.clearance_engine, options *C.clearance_motions, shapes, motions *C.clearance_text,
	lo, hi C.int64_t, results *C.clearance_text, place *C.clearance_job, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		from, answers := text(motions), text(results)
		h, bodies, o, err := questionOfMotions(handle, options, place, text(shapes), from, answers, "")
		if err != nil {
			return err
		}
		files := &audit.SweepFiles{Options: o, Files: audit.Files{Bodies: bodies, Worlds: from, Results: answers,
			Lo: int(lo), Hi: int(hi), Within: true}}
		*place, err = startFile(h, func(ctx context.Context, j *job, _ dispatch.Options) (dispatch.Report, error) {
			r, err := files.Audit(ctx, sampleOfAll(j, o.Workers))
			if err != nil {
				return dispatch.Report{}, err
			}
			j.audited, j.refuted = int64(r.Sample-r.Unproved), int64(r.Refuted)
			return auditReport(r.Rows), nil
		})
		return err
	}())
}

// sampleOfAll has the reference look at every answer, whose rows are the progress of a job.
func sampleOfAll(j *job, workers int) *audit.Sample {
	return &audit.Sample{Pairs: audit.All, Seed: 1, Workers: workers,
		Progress: func(rows int) { j.done.Add(int64(rows)) }}
}

// auditReport is the report of an audit of so many rows.
func auditReport(rows int) dispatch.Report {
	return dispatch.Report{Rows: rows, Done: rows, WorstGapRow: -1}
}
