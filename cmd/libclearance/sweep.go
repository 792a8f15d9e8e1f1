package main

// #include "clearance.h"
import "C"

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"clearance/batch"
	"clearance/derive"
	"clearance/dispatch"
	"clearance/rollout"
	"clearance/rollout/sweep"
)

// stateCounts are the places of the states of a sweep in the counts of a report.
var stateCounts = [...]batch.Status{batch.Separated, batch.Penetrating, batch.Undecided, batch.Invalid}

//export clearance_sweep
func clearance_sweep(handle C.clearance_engine, motions *C.clearance_motions, contacts *C.clearance_contacts,
	waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		h, err := engines.get(uint64(handle))
		if err != nil {
			return nil, err
		}
		motion, err := sweepOf(motions, contacts)
		if err != nil {
			return nil, err
		}
		return start(h, sweepRows(motion), func(ctx context.Context, j *job) (dispatch.Report, error) {
			rep, err := rollout.Sweep(ctx, h.Dispatcher(), motion, h.run)
			return reportOfSweep(&rep), err
		})
	}()
	return settle(j, err, waitMs, out, report, e)
}

//export clearance_sweep_derive
func clearance_sweep_derive(motions *C.clearance_motions, list *C.clearance_array, count C.int64_t, waitMs C.int64_t,
	out *C.clearance_job, report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		if motions == nil || motions.worlds < 0 || motions.places < 0 || motions.templates < 0 ||
			motions.way_points < 2 {
			return nil, argument("no motions along two way points or more")
		}
		table, in, err := motionsOf(motions)
		if err != nil {
			return nil, err
		}
		if err := checkWorkers(motions.workers); err != nil {
			return nil, err
		}
		a, err := arraysOf(list, count)
		if err != nil {
			return nil, err
		}
		f, gradients := firstContactsOf(a, product(derive.BodyWidth, len(in.Poses)/7))
		a.spans = append(a.spans, spanOf("bodies", in.Bodies, false), spanOf("poses", in.Poses, false))
		if err := a.check(); err != nil {
			return nil, err
		}
		workers := int(motions.workers)
		return startAlone(func(ctx context.Context, _ *job) (dispatch.Report, error) {
			begin := time.Now()
			if err := derive.ContactTimes(ctx, table.Bodies, in, f, gradients, workers); err != nil {
				return dispatch.Report{}, failure{codeArgument, err}
			}
			return productReport(len(f.World), begin, nil), nil
		}), nil
	}()
	return settle(j, err, waitMs, out, report, e)
}

// firstContactsOf takes rows of sweeps, and the gradients of so many numbers, from the arrays of a call.
func firstContactsOf(a *arrays, numbersOf int) (*derive.FirstContacts, []float64) {
	n := a.length("world")
	ints := func(name string) []int32 { return needed[int32](a, name, n, false) }
	f := &derive.FirstContacts{World: ints("world"), PlaceA: ints("place_a"), PlaceB: ints("place_b"),
		PartA: ints("part_a"), PartB: ints("part_b"), State: needed[uint8](a, "state", n, false),
		T1: needed[float64](a, "t1", n, false), Weights: numbers[float64](a, "weights", n, false),
		Time: numbers[float64](a, "time", n, true), Smoothness: numbers[uint8](a, "smoothness", n, true)}
	return f, numbers[float64](a, "gradients", numbersOf, true)
}

// sweepRows returns the rows of distances that a sweep may take as long as.
func sweepRows(job *rollout.SweepJob) int {
	evaluations := float64(job.Options.WithDefaults().MaxEvaluations)
	return pairsOfParts(job.Bodies, evaluations*float64(job.Results.N)*float64(job.Motions.WayPoints()-1))
}

// sweepOf reads the motions and the columns of the caller.
func sweepOf(m *C.clearance_motions, c *C.clearance_contacts) (*rollout.SweepJob, error) {
	if m == nil || c == nil || m.worlds < 0 || m.places < 0 || m.templates < 0 || m.way_points < 2 {
		return nil, argument("no motions along two way points or more, or no place for the contacts")
	}
	table, in, err := motionsOf(m)
	if err != nil {
		return nil, err
	}
	rows := product(int(m.worlds), int(m.templates))
	if rows < 0 || rows > maxRows || c.rows != C.int64_t(rows) {
		return nil, argument("%d worlds of %d pairs, and contacts of %d rows: too many, or not as many rows as worlds "+
			"times pairs", int64(m.worlds), int64(m.templates), int64(c.rows))
	}
	job := &rollout.SweepJob{Bodies: table.Bodies, Motions: in, Results: contactsOf(c)}
	if job.Options, err = sweepOptions(m); err != nil {
		return nil, err
	}
	if err := in.CheckBodies(table.Bodies); err != nil {
		return nil, failure{codeArgument, err}
	}
	if job.Results.N != in.Len() {
		return nil, argument("contacts of %d rows, want %d", job.Results.N, in.Len())
	}
	r := job.Results
	return job, checkOverlap([]span{spanOf("bodies", in.Bodies, false), spanOf("template_a", in.TemplateA, false),
		spanOf("template_b", in.TemplateB, false), spanOf("poses", in.Poses, false), spanOf("state", r.State, true),
		spanOf("lower", r.Lower, true), spanOf("upper", r.Upper, true), spanOf("closest", r.Closest, true),
		spanOf("t0", r.T0, true), spanOf("t1", r.T1, true), spanOf("part_a", r.PartA, true),
		spanOf("part_b", r.PartB, true), spanOf("evaluations", r.Evaluations, true)})
}

// motionsOf are the table and the motions of the caller, in memory of the caller.
func motionsOf(m *C.clearance_motions) (*bodyTable, *batch.Motions, error) {
	table, err := bodyTables.get(uint64(m.table))
	if err != nil {
		return nil, nil, err
	}
	w, places, t, p := int(m.worlds), int(m.places), int(m.way_points), int(m.templates)
	numbers := product(7, w, t, places)
	if numbers < 0 || numbers > maxRows {
		return nil, nil, argument("%d worlds of %d bodies and %d way points: too many", w, places, t)
	}
	n := places
	if m.per_world != 0 {
		n *= w
	}
	if err := checkMemory(fmt.Sprintf("%d worlds of %d bodies", w, places), float64(w)*float64(places)); err != nil {
		return nil, nil, err
	}
	in := &batch.Motions{M: places, T: t, Bodies: array[int32](m.bodies, n),
		TemplateA: array[int32](m.template_a, p), TemplateB: array[int32](m.template_b, p),
		Poses: array[float64](m.poses, numbers)}
	if len(in.Bodies) != n || len(in.TemplateA) != p || len(in.TemplateB) != p || len(in.Poses) != numbers {
		return nil, nil, argument("an array of the motions is missing")
	}
	return table, in, nil
}

// sweepOptions are the options of the caller.
func sweepOptions(m *C.clearance_motions) (sweep.Options, error) {
	if err := checkWorkers(m.workers); err != nil {
		return sweep.Options{}, err
	}
	o := sweep.Options{TimeTolerance: float64(m.time_tolerance), Tolerance: float64(m.tolerance),
		MaxEvaluations: int(m.max_evaluations), Workers: int(m.workers), HasMaxDistance: m.has_max_distance != 0}
	if o.HasMaxDistance {
		o.MaxDistance = float64(m.max_distance)
	}
	if err := o.Check(); err != nil {
		return o, failure{codeArgument, err}
	}
	return o, nil
}

// contactsOf are the columns of the caller, in memory of the caller.
func contactsOf(c *C.clearance_contacts) *rollout.SweepResults {
	n := int(c.rows)
	reals := func(p *C.double) []float64 { return array[float64](p, n) }
	ints := func(p *C.int32_t) []int32 { return array[int32]((*byte)(unsafe.Pointer(p)), n) }
	return &rollout.SweepResults{N: n, State: array[uint8](c.state, n), Lower: reals(c.lower), Upper: reals(c.upper),
		Closest: reals(c.closest), T0: reals(c.t0), T1: reals(c.t1), PartA: ints(c.part_a), PartB: ints(c.part_b),
		Evaluations: ints(c.evaluations)}
}

// reportOfSweep is the report of a sweep in the form of that of a pair list.
func reportOfSweep(r *rollout.SweepReport) dispatch.Report {
	d := dispatch.Report{Backend: r.Backend, Why: r.Why, Rows: r.Rows, Done: r.Rows, Iterations: r.Evaluations,
		Wall: r.Wall, WorstGapRow: -1}
	for state, status := range stateCounts {
		d.Counts[status] = r.States[state]
	}
	d.RowErrors = rowErrors(r.RowErrors)
	return d
}
