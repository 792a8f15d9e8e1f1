package main

// #include "clearance.h"
import "C"

import (
	"context"
	"errors"
	"io/fs"

	"clearance/batch"
	"clearance/dataset"
	"clearance/dispatch"
	"clearance/internal/score"
)

//export clearance_score
func clearance_score(handle C.clearance_engine, query *C.clearance_query, shapes, pairs *C.clearance_text,
	lo, hi C.int64_t, out *C.clearance_text, audit C.int32_t, place *C.clearance_job, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		h, err := engines.get(uint64(handle))
		switch {
		case err != nil:
			return err
		case query == nil || place == nil || text(pairs) == "" || text(out) == "":
			return argument("no query, no files, or no place for the job")
		}
		if library := text(shapes); library != "" {
			if err := checkOutput(text(out), append(dataset.MeshFiles(library), library)...); err != nil {
				return err
			}
		}
		lib, o, err := questionOfFiles(query, text(shapes))
		if err != nil {
			return err
		}
		part := filePart{text(pairs), int(lo), int(hi)}
		to, check := text(out), audit != 0
		*place, err = startFile(h, func(ctx context.Context, j *job, run dispatch.Options) (dispatch.Report, error) {
			return scoreFiles(ctx, h, j, run, lib, part, to, o, check)
		})
		return err
	}())
}

// startFile starts a job that answers a file and reports its progress by rows. Its errors are those of the file.
func startFile(h *engineHandle, do func(context.Context, *job, dispatch.Options) (dispatch.Report, error)) (
	C.clearance_job, error) {
	j, err := start(h, inlineRows+1, func(ctx context.Context, j *job) (dispatch.Report, error) {
		run := h.run
		run.Progress = func(done, total int) {
			j.done.Store(int64(done))
			j.total.Store(int64(total))
		}
		rep, err := do(ctx, j, run)
		if err != nil && ctx.Err() == nil && codeOf(err) == codeFailed {
			err = failure{codeFile, err}
		}
		return rep, err
	})
	if err != nil {
		return 0, err
	}
	return C.clearance_job(jobs.put(j)), nil
}

// checkOutput returns an error if results would replace a file that they are made from. Reading the files says what is
// missing.
func checkOutput(out string, inputs ...string) error {
	for _, in := range inputs {
		if err := score.Different(in, out); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failure{codeFile, err}
		}
	}
	return nil
}

// filePart names the rows [lo, hi) of a file; hi may be score.ToEnd.
type filePart struct {
	path   string
	lo, hi int
}

//export clearance_pairs_rows
func clearance_pairs_rows(pairs *C.clearance_text, rows *C.int64_t, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		if text(pairs) == "" || rows == nil {
			return argument("no file, or no place for the number of rows")
		}
		in, err := dataset.OpenPairs(text(pairs))
		if err != nil {
			return failure{codeFile, err}
		}
		*rows = C.int64_t(in.Len())
		return in.Close()
	}())
}

// questionOfFiles returns the options of a query, and its library or that of a file.
func questionOfFiles(query *C.clearance_query, shapes string) (*batch.Library, batch.Options, error) {
	q := *query
	if shapes != "" { // the codes are checked with any library
		lib, err := dataset.ReadLibrary(shapes)
		if err != nil {
			return nil, batch.Options{}, failure{codeFile, err}
		}
		n := libraries.put(lib)
		defer libraries.take(n)
		q.library = C.clearance_library(n)
	}
	return optionsOf(&q)
}

//export clearance_audit
func clearance_audit(handle C.clearance_engine, query *C.clearance_query, shapes, pairs *C.clearance_text,
	lo, hi C.int64_t, results *C.clearance_text, at C.int64_t, place *C.clearance_job,
	e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		h, err := engines.get(uint64(handle))
		switch {
		case err != nil:
			return err
		case query == nil || place == nil || text(pairs) == "" || text(results) == "":
			return argument("no query, no files, or no place for the job")
		}
		lib, o, err := questionOfFiles(query, text(shapes))
		if err != nil {
			return err
		}
		part, answers := filePart{text(pairs), int(lo), int(hi)}, text(results)
		*place, err = startFile(h, func(ctx context.Context, j *job, _ dispatch.Options) (dispatch.Report, error) {
			rows, err := auditFiles(ctx, j, lib, part, answers, int(at), o)
			return dispatch.Report{Rows: rows, Done: rows, WorstGapRow: -1}, err
		})
		return err
	}())
}

// scoreFiles scores rows of a file and, if asked to, audits the answers: each row counts twice in the progress then.
func scoreFiles(ctx context.Context, h *engineHandle, j *job, run dispatch.Options, lib *batch.Library, from filePart,
	to string, o batch.Options, check bool) (dispatch.Report, error) {
	var audit score.Check // before the file gets its name: after an interrupt there is none
	if check {
		told := run.Progress
		run.Progress = func(done, total int) { told(done, 2*total) }
		audit = func(rep *dispatch.Report, complete string) error {
			j.done.Store(int64(rep.Rows))
			_, err := auditFiles(ctx, j, lib, from, complete, score.Whole, o)
			return err
		}
	}
	return score.Files(ctx, h.Dispatcher(), lib, from.path, from.lo, from.hi, to, o, run, audit)
}

// auditFiles audits the answers of rows of a file, counts them in the job, and returns their number.
func auditFiles(ctx context.Context, j *job, lib *batch.Library, from filePart, results string, at int,
	o batch.Options) (rows int, err error) {
	found, proved, err := score.Audit(ctx, lib, from.path, from.lo, from.hi, results, at, o, 0,
		func(rows int) { j.done.Add(int64(rows)) })
	if err != nil {
		return 0, err
	}
	j.audited, j.refuted = int64(proved), int64(found.Wrong())
	return found.Rows, nil
}
