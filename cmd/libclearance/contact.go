package main

// #include "clearance.h"
import "C"

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/dispatch"
)

// startAlone begins a job of no engine.
func startAlone(do func(context.Context, *job) (dispatch.Report, error)) *job {
	ctx, cancel := context.WithCancel(context.Background())
	j := &job{cancel: cancel, ended: make(chan struct{})}
	j.total.Store(-1)
	go func() {
		defer close(j.ended)
		defer cancel()
		defer recovered(&j.err)
		j.report, j.err = do(ctx, j)
	}()
	return j
}

// contactError is an error of package contact: one of the arguments, but for those of a context.
func contactError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	code := codeArgument
	if errors.As(err, new(*contact.StillError)) {
		code = codeStill
	}
	return failure{code, errors.New(strings.TrimPrefix(err.Error(), "contact: "))}
}

// worldReport counts worlds by the statuses of answers: solved ones as separated.
func worldReport(worlds int, since time.Time) dispatch.Report {
	return dispatch.Report{Rows: worlds, Done: worlds, WorstGapRow: -1, Wall: time.Since(since)}
}

// countSolved counts worlds in a report, and has it name the fault of the first invalid one.
func countSolved(r *dispatch.Report, status []contact.Status, check func(world int) error) {
	for w, s := range status {
		switch s {
		case contact.Solved:
			r.Counts[batch.Separated]++
		case contact.Undecided:
			r.Counts[batch.Undecided]++
		case contact.Invalid:
			r.Counts[batch.Invalid]++
			if r.RowErrors == nil {
				r.RowErrors = []*batch.RowError{faultOf(check(w))}
			}
		}
	}
}

// countSmooth counts the worlds of a product with derivatives: those without one as undecided.
func countSmooth(r *dispatch.Report, smoothness []adjoint.Smoothness) {
	for _, s := range smoothness {
		if s == adjoint.None {
			r.Counts[batch.Undecided]++
		} else {
			r.Counts[batch.Separated]++
		}
	}
}

//export clearance_contact_solve
func clearance_contact_solve(list *C.clearance_array, count C.int64_t, waitMs C.int64_t, out *C.clearance_job,
	report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		a, err := arraysOf(list, count)
		if err != nil {
			return nil, err
		}
		p, o, s := problemOf(a)
		if err := a.check(); err != nil {
			return nil, err
		}
		if err := p.CheckShape(); err != nil {
			return nil, contactError(err)
		}
		if err := o.Check(); err != nil {
			return nil, contactError(err)
		}
		return startAlone(func(ctx context.Context, _ *job) (dispatch.Report, error) {
			since := time.Now()
			var answer contact.Solution
			if err := contact.Solve(ctx, p, o, &answer); err != nil {
				return dispatch.Report{}, contactError(err)
			}
			s.store(&answer)
			r := worldReport(p.Worlds, since)
			countSolved(&r, answer.Status, p.CheckWorld)
			return r, nil
		}), nil
	}()
	return settle(j, err, waitMs, out, report, e)
}

// faultOf is the fault of a world for a report; its text names body and contact.
func faultOf(err error) *batch.RowError {
	var w *contact.WorldError
	if !errors.As(err, &w) {
		return &batch.RowError{Reason: err.Error()}
	}
	return &batch.RowError{Row: w.World, Column: w.Column, Reason: strings.TrimPrefix(err.Error(), "contact: ")}
}

// solutionArrays are the columns of the caller that a solution is stored to; nil ones are not wanted.
type solutionArrays struct {
	impulse, velocity, residual, scale, primal, dual, complementarity, bound []float64
	sweeps, steps                                                            []int32
	status                                                                   []uint8
}

func (s *solutionArrays) store(from *contact.Solution) {
	copy(s.impulse, from.Impulse)
	copy(s.velocity, from.Velocity)
	copy(s.residual, from.Residual)
	copy(s.scale, from.Scale)
	copy(s.primal, from.Primal)
	copy(s.dual, from.Dual)
	copy(s.complementarity, from.Complementarity)
	copy(s.bound, from.Bound)
	copy(s.sweeps, from.Sweeps)
	copy(s.steps, from.Steps)
	for i := range s.status {
		s.status[i] = uint8(from.Status[i])
	}
}

// problemColumns takes a contact problem from the arrays of a call, without impulses to start from.
func problemColumns(a *arrays) *contact.Problem {
	w, b, c := a.size("worlds"), a.size("bodies"), a.size("contacts")
	wb, wc := product(w, b), product(w, c)
	real := func(name string, per, n int) []float64 { return needed[float64](a, name, product(per, n), false) }
	p := &contact.Problem{Worlds: w, Bodies: b, Contacts: c, Mass: real("mass", 1, wb), Inertia: real("inertia", 6, wb),
		Velocity: real("velocity", 6, wb), Count: needed[int32](a, "count", w, false),
		BodyA: needed[int32](a, "body_a", wc, false), BodyB: needed[int32](a, "body_b", wc, false),
		ArmA: real("arm_a", 3, wc), ArmB: real("arm_b", 3, wc), Frame: real("frame", 9, wc),
		Friction: real("friction", 1, wc)}
	p.Target = numbers[float64](a, "target", wc, false)
	p.Compliance = numbers[float64](a, "compliance", product(2, wc), false)
	return p
}

// problemOf takes a contact problem, the options and the columns of the solution from the arrays of a call.
func problemOf(a *arrays) (*contact.Problem, contact.Options, *solutionArrays) {
	p := problemColumns(a)
	w, wb, wc := p.Worlds, product(p.Worlds, p.Bodies), product(p.Worlds, p.Contacts)
	p.Warm = numbers[float64](a, "warm", product(3, wc), false)
	o := contact.Options{Model: enumOf(a, "model", contact.Models), Tolerance: a.number("tolerance", 0),
		Relaxation: a.number("relaxation", 0), Sweeps: limitOf(a.whole("max_sweeps", 0)),
		Steps: limitOf(a.whole("max_steps", 0)), Bound: a.whole("bound_wanted", 0) != 0,
		Workers: a.workers(), SIMD: a.text("simd")}
	out := func(name string, per, n int) []float64 { return numbers[float64](a, name, product(per, n), true) }
	s := &solutionArrays{impulse: out("impulse", 3, wc), velocity: out("solved_velocity", 6, wb),
		residual: out("residual", 1, w), scale: out("scale", 1, w), primal: out("primal", 1, w), dual: out("dual", 1,
			w), complementarity: out("complementarity", 1, w),
		bound: out("bound", 1, w), sweeps: numbers[int32](a, "sweeps", w, true),
		steps: numbers[int32](a, "steps", w, true), status: numbers[uint8](a, "status", w, true)}
	return p, o, s
}

// limitOf is a limit of the caller as an int.
func limitOf(n int64) int { return int(min(max(n, -1), math.MaxInt32)) }

//export clearance_bodies_mass
func clearance_bodies_mass(bodies C.clearance_bodies, body C.int64_t, density C.double, out *C.double,
	e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		table, err := bodyTables.get(uint64(bodies))
		if err != nil {
			return err
		}
		if body < 0 || int64(body) >= int64(table.Len()) || out == nil {
			return argument("body %d of %d, or no place for its mass", int64(body), table.Len())
		}
		m, err := contact.MassOfBody(table.Bodies, int32(body), float64(density))
		if err != nil {
			return contactError(err)
		}
		to := array[float64](out, 10)
		to[0], to[1], to[2], to[3] = m.Mass, m.Center.X, m.Center.Y, m.Center.Z
		copy(to[4:], m.Inertia[:])
		return nil
	}())
}
