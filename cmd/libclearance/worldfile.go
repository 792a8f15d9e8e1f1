package main

// #include "clearance.h"
import "C"

import (
	"context"

	"clearance/batch"
	"clearance/dataset"
	"clearance/dispatch"
	"clearance/internal/audit"
	"clearance/internal/score"
	"clearance/rollout"
	"clearance/rollout/sweep"
)

// worldFiles are files of worlds or motions that have been read: those of worlds have one way point.
var worldFiles = handles[*worldFile]{what: "file of worlds"}

type worldFile struct {
	batch.Motions      // of worlds T is 1
	allPairs      bool // the pairs are those to skip
}

//export clearance_worlds_write
func clearance_worlds_write(worlds *C.clearance_motions, path *C.clearance_text, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		if worlds == nil || worlds.worlds < 0 || worlds.places < 0 || worlds.templates < 0 || worlds.way_points < 1 {
			return argument("no worlds")
		}
		if worlds.way_points > 1 && worlds.all_pairs != 0 {
			return argument("files of motions list their pairs")
		}
		table, m, err := motionsOf(worlds)
		if err != nil {
			return err
		}
		if m.T > 1 {
			err = m.CheckBodies(table.Bodies)
		} else {
			err = worldsOf(m, worlds.all_pairs != 0).CheckBodies(table.Bodies)
		}
		if err != nil {
			return failure{codeArgument, err}
		}
		if m.T > 1 {
			err = dataset.WriteMotions(text(path), m, table.Bodies)
		} else {
			err = dataset.WriteRollout(text(path), worldsOf(m, worlds.all_pairs != 0), table.Bodies)
		}
		if err != nil {
			return failure{codeFile, err}
		}
		return nil
	}())
}

// worldsOf are motions of one way point as worlds, sharing the memory.
func worldsOf(m *batch.Motions, allPairs bool) *batch.Worlds {
	w := &batch.Worlds{M: m.M, Bodies: m.Bodies, Poses: m.Poses, AllPairs: allPairs}
	if allPairs {
		w.SkipA, w.SkipB = m.TemplateA, m.TemplateB
	} else {
		w.TemplateA, w.TemplateB = m.TemplateA, m.TemplateB
	}
	return w
}

//export clearance_worlds_read
func clearance_worlds_read(bodies C.clearance_bodies, path *C.clearance_text, about *C.clearance_motions,
	out *C.clearance_worldfile, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		table, err := bodyTables.get(uint64(bodies))
		switch {
		case err != nil:
			return err
		case about == nil || out == nil:
			return argument("no place for the sizes or the handle")
		}
		f, err := readWorlds(text(path), table.Bodies)
		if err != nil {
			return failure{codeFile, err}
		}
		*about = C.clearance_motions{worlds: C.int64_t(f.Count()), places: C.int64_t(f.M), way_points: C.int64_t(f.T),
			templates: C.int64_t(len(f.TemplateA)), per_world: flag(len(f.Bodies) > f.M), all_pairs: flag(f.allPairs)}
		*out = C.clearance_worldfile(worldFiles.put(f))
		return nil
	}())
}

// flag is a bool of the C interface.
func flag(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

// readWorlds reads a file of worlds or motions of bodies.
func readWorlds(path string, bodies *batch.Bodies) (*worldFile, error) {
	moving, err := dataset.HasWayPoints(path)
	if err != nil {
		return nil, err
	}
	if moving {
		m, err := dataset.ReadMotions(path, bodies)
		if err != nil {
			return nil, err
		}
		m.M, m.T = m.BodiesPerWorld(), m.WayPoints()
		return &worldFile{Motions: *m}, nil
	}
	w, err := dataset.ReadRollout(path, bodies)
	if err != nil {
		return nil, err
	}
	f := &worldFile{allPairs: w.AllPairs, Motions: batch.Motions{M: w.BodiesPerWorld(), T: 1, Bodies: w.Bodies,
		Poses: w.Poses, TemplateA: w.TemplateA, TemplateB: w.TemplateB}}
	if w.AllPairs {
		f.TemplateA, f.TemplateB = w.SkipA, w.SkipB
	}
	return f, nil
}

//export clearance_worlds_size
func clearance_worlds_size(path *C.clearance_text, about *C.clearance_motions, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		if text(path) == "" || about == nil {
			return argument("no file, or no place for the sizes")
		}
		if err := sizeOfWorlds(text(path), about); err != nil {
			return failure{codeFile, err}
		}
		return nil
	}())
}

// sizeOfWorlds fills the sizes of a file of worlds or motions, whose worlds are not read.
func sizeOfWorlds(path string, about *C.clearance_motions) error {
	moving, err := dataset.HasWayPoints(path)
	if err != nil {
		return err
	}
	var f interface {
		Count() int
		BodiesPerWorld() int
		WayPoints() int
		RowsPerWorld() int
		Close() error
	}
	if moving {
		f, err = dataset.OpenMotions(path, nil)
	} else {
		none, _ := batch.NewLibrary(nil, nil)
		f, err = score.OpenWorlds(path, batch.BodiesOfShapes(none), false)
	}
	if err != nil {
		return err
	}
	*about = C.clearance_motions{worlds: C.int64_t(f.Count()), places: C.int64_t(f.BodiesPerWorld()),
		way_points: C.int64_t(f.WayPoints()), templates: C.int64_t(f.RowsPerWorld())}
	return f.Close()
}

//export clearance_worlds_copy
func clearance_worlds_copy(handle C.clearance_worldfile, bodies, first, second *C.int32_t, poses *C.double,
	e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		f, err := worldFiles.get(uint64(handle))
		if err != nil {
			return err
		}
		p := len(f.TemplateA)
		to := batch.Motions{Bodies: array[int32](bodies, len(f.Bodies)), TemplateA: array[int32](first, p),
			TemplateB: array[int32](second, p), Poses: array[float64](poses, len(f.Poses))}
		if len(to.Bodies) != len(f.Bodies) || len(to.TemplateA) != p || len(to.TemplateB) != p ||
			len(to.Poses) != len(f.Poses) {
			return argument("an array for the worlds is missing")
		}
		if err := checkOverlap([]span{spanOf("bodies", to.Bodies, true), spanOf("template_a", to.TemplateA, true),
			spanOf("template_b", to.TemplateB, true), spanOf("poses", to.Poses, true)}); err != nil {
			return err
		}
		copy(to.Bodies, f.Bodies)
		copy(to.TemplateA, f.TemplateA)
		copy(to.TemplateB, f.TemplateB)
		copy(to.Poses, f.Poses)
		return nil
	}())
}

//export clearance_worlds_free
func clearance_worlds_free(handle C.clearance_worldfile, e *C.clearance_error) C.int32_t {
	_, err := worldFiles.take(uint64(handle))
	return fail(e, err)
}

//export clearance_rollout_file
func clearance_rollout_file(handle C.clearance_engine, query *C.clearance_query, scene *C.clearance_scene, shapes,
	worlds *C.clearance_text, lo, hi C.int64_t, out *C.clearance_text, place *C.clearance_job,
	e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		from, to := text(worlds), text(out)
		h, bodies, options, err := questionOfWorlds(handle, query, scene, place, text(shapes), from, to, to)
		if err != nil {
			return err
		}
		all := scene.all_pairs != 0
		options.Columns = options.EffectiveColumns() &^ batch.ColBits // the status says the same
		if err := options.Check(); err != nil {
			return failure{codeArgument, err}
		}
		*place, err = startFile(h, func(ctx context.Context, j *job, run dispatch.Options) (dispatch.Report, error) {
			file, err := score.OpenWorlds(from, bodies, all)
			if err != nil {
				return dispatch.Report{}, err
			}
			defer file.Close()
			part, err := score.WorldsOf(int(lo), int(hi), file.Count())
			if err != nil {
				return dispatch.Report{}, err
			}
			stream := &rollout.Stream[*batch.Worlds]{Bodies: file.Bodies, Source: file, Lo: part.Lo, Hi: part.Hi}
			results := file.CreateRollout(to, &options, part)
			defer results.Abort()
			rep, err := rollout.RunStream(ctx, h.Dispatcher(), stream, options, run, results.Write)
			if err == nil { // after an interrupt there is no file
				err = results.Close()
			}
			return j.of(&rep), err
		})
		return err
	}())
}

//export clearance_sweep_file
func clearance_sweep_file(handle C.clearance_engine, options *C.clearance_motions, shapes, motions *C.clearance_text,
	lo, hi C.int64_t, out *C.clearance_text, place *C.clearance_job, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		from, to := text(motions), text(out)
		h, bodies, o, err := questionOfMotions(handle, options, place, text(shapes), from, to, to)
		if err != nil {
			return err
		}
		*place, err = startFile(h, func(ctx context.Context, _ *job, run dispatch.Options) (dispatch.Report, error) {
			file, err := dataset.OpenMotions(from, bodies)
			if err != nil {
				return dispatch.Report{}, err
			}
			defer file.Close()
			part, err := score.WorldsOf(int(lo), int(hi), file.Count())
			if err != nil {
				return dispatch.Report{}, err
			}
			stream := &rollout.Stream[*batch.Motions]{Bodies: bodies, Source: file, Lo: part.Lo, Hi: part.Hi}
			results, err := score.CreateSweep(to, file, o.Tolerance, o.TimeTolerance, part)
			if err != nil {
				return dispatch.Report{}, err
			}
			defer results.Abort()
			rep, err := rollout.SweepStream(ctx, h.Dispatcher(), stream, o, run, results.Write)
			if err == nil {
				err = results.Close()
			}
			return reportOfSweep(&rep), err
		})
		return err
	}())
}

// questionOfWorlds returns what a call asks about a file of worlds and a file of their results, which is out as well if
// the call writes it.
func questionOfWorlds(handle C.clearance_engine, query *C.clearance_query, scene *C.clearance_scene,
	place *C.clearance_job, shapes, worlds, results, out string) (*engineHandle, *batch.Bodies, rollout.Options,
	error) {
	var none rollout.Options
	h, _, o, err := questionOf(handle, query)
	switch {
	case err != nil:
		return nil, nil, none, err
	case scene == nil || place == nil || worlds == "" || results == "":
		return nil, nil, none, argument("no scene, no files, or no place for the job")
	}
	if err := checkWorkers(scene.workers); err != nil {
		return nil, nil, none, err
	}
	bodies, err := bodiesOf(scene.table, shapes, worlds, out)
	if err != nil {
		return nil, nil, none, err
	}
	return h, bodies, sceneOptions(scene, o), nil
}

// questionOfMotions is questionOfWorlds for a file of motions.
func questionOfMotions(handle C.clearance_engine, options *C.clearance_motions, place *C.clearance_job, shapes, motions,
	results, out string) (*engineHandle, *batch.Bodies, sweep.Options, error) {
	var none sweep.Options
	h, err := engines.get(uint64(handle))
	switch {
	case err != nil:
		return nil, nil, none, err
	case options == nil || place == nil || motions == "" || results == "":
		return nil, nil, none, argument("no options, no files, or no place for the job")
	}
	bodies, err := bodiesOf(options.table, shapes, motions, out)
	if err != nil {
		return nil, nil, none, err
	}
	o, err := sweepOptions(options)
	return h, bodies, o, err
}

// bodiesOf are the bodies of a table or, without one, those of shapes.json. It returns an error if the results would
// replace a file that they are made from.
func bodiesOf(table C.clearance_bodies, shapes, worlds, out string) (*batch.Bodies, error) {
	if table != 0 {
		t, err := bodyTables.get(uint64(table))
		if err != nil {
			return nil, err
		}
		return t.Bodies, checkOutput(out, worlds)
	}
	if err := checkOutput(out, append(dataset.MeshFiles(shapes), shapes, worlds)...); err != nil {
		return nil, err
	}
	bodies, err := dataset.ReadBodies(shapes)
	if err != nil {
		return nil, failure{codeFile, err}
	}
	return bodies, nil
}

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
