package main

// #include "clearance.h"
import "C"

import (
	"context"
	"time"

	"clearance/contact"
	"clearance/contact/system"
	"clearance/dispatch"
)

//export clearance_system_solve
func clearance_system_solve(list *C.clearance_array, count C.int64_t, waitMs C.int64_t, out *C.clearance_job,
	report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		a, err := arraysOf(list, count)
		if err != nil {
			return nil, err
		}
		p, d, o := systemOf(a)
		w, wc := p.Worlds, product(p.Worlds, p.Contacts)
		p.Warm = numbers[float64](a, "warm", product(3, wc), false)
		real := func(name string, n int) []float64 { return numbers[float64](a, name, n, true) }
		impulse, velocity := real("impulse", product(3, wc)), real("solved_velocity", product(w, p.Velocities))
		residuals := [6][]float64{real("residual", w), real("scale", w), real("primal", w), real("dual", w),
			real("complementarity", w), real("bound", w)}
		steps, status := numbers[int32](a, "steps", w, true), numbers[uint8](a, "status", w, true)
		if err := checkSystem(a, p, d); err != nil {
			return nil, err
		}
		return startAlone(func(ctx context.Context, _ *job) (dispatch.Report, error) {
			since := time.Now()
			var s system.Solution
			solve, check := func() error { return system.Solve(ctx, p, o, &s) }, p.CheckWorld
			if d != nil {
				d.Warm = p.Warm
				solve, check = func() error { return system.SolveDelassus(ctx, d, o, &s) }, d.CheckWorld
			}
			if err := solve(); err != nil {
				return dispatch.Report{}, contactError(err)
			}
			copy(impulse, s.Impulse)
			copy(velocity, s.Velocity)
			for i, from := range [6][]float64{s.Residual, s.Scale, s.Primal, s.Dual, s.Complementarity, s.Bound} {
				copy(residuals[i], from)
			}
			copy(steps, s.Steps)
			for i := range status {
				status[i] = uint8(s.Status[i])
			}
			r := worldReport(w, since)
			countSolved(&r, s.Status, check)
			return r, nil
		}), nil
	}()
	return settle(j, err, waitMs, out, report, e)
}

//export clearance_system_vjp
func clearance_system_vjp(list *C.clearance_array, count C.int64_t, waitMs C.int64_t, out *C.clearance_job,
	report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		a, err := arraysOf(list, count)
		if err != nil {
			return nil, err
		}
		p, d, o := systemOf(a)
		w, n, wc := p.Worlds, p.Velocities, product(p.Worlds, p.Contacts)
		s := &system.Solution{Impulse: needed[float64](a, "impulse", product(3, wc), false),
			Residual: needed[float64](a, "residual", w, false), Status: make([]contact.Status, max(w, 0))}
		for i, code := range needed[uint8](a, "status", w, false) {
			s.Status[i] = contact.Status(min(code, uint8(contact.Invalid)))
		}
		velocityBar := needed[float64](a, "velocity_bar", product(w, n), false)
		impulseBar := numbers[float64](a, "impulse_bar", product(3, wc), false)
		real := func(name string, n int) []float64 { return numbers[float64](a, name, n, true) }
		to := [10][]float64{real("target_gradient", wc), real("friction_gradient", wc),
			real("compliance_gradient", product(2, wc)), real("margin", w), real("adjoint_residual", w),
			real("offset_gradient", product(3, wc))}
		if d == nil {
			to[6], to[7] = real("velocity_gradient", product(w, n)), real("mass_gradient", product(w, product(n, n)))
			to[8] = real("jacobian_gradient", product(product(3, wc), n))
		} else {
			to[9] = real("delassus_gradient", product(w, product(n, n)))
		}
		nearest, smoothness := numbers[int32](a, "nearest", w, true), numbers[uint8](a, "smoothness", w, true)
		mode := numbers[uint8](a, "mode", wc, true)
		if err := checkSystem(a, p, d); err != nil {
			return nil, err
		}
		return startAlone(func(ctx context.Context, _ *job) (dispatch.Report, error) {
			since := time.Now()
			var g system.Gradient
			var of system.DelassusGradient
			var err error
			if d == nil {
				err = system.VJP(ctx, p, s, o, velocityBar, impulseBar, &g)
			} else {
				err = system.VJPDelassus(ctx, d, s, o, velocityBar, impulseBar, &of)
				g.Report, g.Offset, g.Target, g.Friction, g.Compliance = of.Report, of.Free, of.Target, of.Friction,
					of.Compliance
			}
			if err != nil {
				return dispatch.Report{}, contactError(err)
			}
			for i, from := range [10][]float64{g.Target, g.Friction, g.Compliance, g.Margin, g.Residual, g.Offset,
				g.Velocity, g.Mass, g.Jacobian, of.Matrix} {
				copy(to[i], from)
			}
			copy(nearest, g.Nearest)
			r := worldReport(w, since)
			countSmooth(&r, g.Smoothness)
			for i := range smoothness {
				smoothness[i] = uint8(g.Smoothness[i])
			}
			for i := range mode {
				mode[i] = uint8(g.Mode[i])
			}
			return r, nil
		}), nil
	}()
	return settle(j, err, waitMs, out, report, e)
}

// systemOf takes the problems of systems and the options from the arrays of a call. With Delassus matrices they are d,
// and p has their sizes alone.
func systemOf(a *arrays) (p *system.Problem, d *system.Delassus, o system.Options) {
	w, c := a.size("worlds"), a.size("contacts")
	wc := product(w, c)
	o = system.Options{Model: enumOf(a, "model", contact.Models), Tolerance: a.number("tolerance", 0),
		Steps: int(a.whole("max_steps", 0)), Bound: a.whole("bound_wanted", 0) != 0, Workers: a.workers()}
	count, friction := needed[int32](a, "count", w, false), needed[float64](a, "friction", wc, false)
	target := numbers[float64](a, "target", wc, false)
	compliance := numbers[float64](a, "compliance", product(2, wc), false)
	if _, ok := a.of["delassus"]; ok {
		n := product(3, c)
		d = &system.Delassus{Worlds: w, Contacts: c, Count: count, Friction: friction, Target: target,
			Compliance: compliance, Matrix: needed[float64](a, "delassus", product(w, product(n, n)), false),
			Free: needed[float64](a, "offset", product(3, wc), false)}
		return &system.Problem{Worlds: w, Velocities: n, Contacts: c}, d, o
	}
	n := a.size("velocities")
	return &system.Problem{Worlds: w, Velocities: n, Contacts: c, Count: count, Friction: friction, Target: target,
		Compliance: compliance, Mass: needed[float64](a, "mass", product(w, product(n, n)), false),
		Velocity: needed[float64](a, "velocity", product(w, n), false),
		Jacobian: needed[float64](a, "jacobian", product(product(3, wc), n), false),
		Offset:   numbers[float64](a, "offset", product(3, wc), false)}, nil, o
}

// checkSystem checks the arrays, the sizes and the memory of a call.
func checkSystem(a *arrays, p *system.Problem, d *system.Delassus) error {
	if err := a.check(); err != nil {
		return err
	}
	check := p.CheckShape
	if d != nil {
		check = d.CheckShape
	}
	if err := check(); err != nil {
		return contactError(err)
	}
	w, n, c := float64(p.Worlds), float64(p.Velocities), float64(p.Contacts)
	return checkMemory("contact problems of systems", 8*w*(n*n+3*c*n+2*n+8*c+4))
}
