package main

// #include "clearance.h"
import "C"

import (
	"context"
	"time"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/dispatch"
)

//export clearance_contact_vjp
func clearance_contact_vjp(list *C.clearance_array, count C.int64_t, waitMs C.int64_t, out *C.clearance_job,
	report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		a, err := arraysOf(list, count)
		if err != nil {
			return nil, err
		}
		call := productOf(a)
		if err := a.check(); err != nil {
			return nil, err
		}
		if err := call.problem.CheckShape(); err != nil {
			return nil, contactError(err)
		}
		if err := checkMemory("gradients of contact problems", call.bytes()); err != nil {
			return nil, err
		}
		return startAlone(func(ctx context.Context, _ *job) (dispatch.Report, error) { return call.run(ctx) }), nil
	}()
	return settle(j, err, waitMs, out, report, e)
}

// problemProduct is a product of cotangents with the derivative of contact problems.
type problemProduct struct {
	problem                 *contact.Problem
	solution                contact.Solution
	model                   contact.Model
	workers                 int
	velocityBar, impulseBar []float64
	gradients               adjoint.Parameters // of the caller; nil columns are not wanted
	normal                  []float64
	margin, residual        []float64
	nearest                 []int32
	smoothness, mode        []uint8
}

// productOf takes the call from its arrays.
func productOf(a *arrays) *problemProduct {
	p := problemColumns(a)
	w, wb, wc := p.Worlds, product(p.Worlds, p.Bodies), product(p.Worlds, p.Contacts)
	c := &problemProduct{problem: p, model: enumOf(a, "model", contact.Models), workers: a.workers(),
		velocityBar: needed[float64](a, "velocity_bar", product(6, wb), false),
		impulseBar:  numbers[float64](a, "impulse_bar", product(3, wc), false)}
	c.solution.Impulse = needed[float64](a, "impulse", product(3, wc), false)
	c.solution.Residual = needed[float64](a, "residual", w, false)
	c.solution.Status = make([]contact.Status, max(w, 0))
	for i, s := range needed[uint8](a, "status", w, false) {
		c.solution.Status[i] = contact.Status(min(s, uint8(contact.Invalid)))
	}
	real := func(name string, per, n int) []float64 { return numbers[float64](a, name, product(per, n), true) }
	g := &c.gradients
	g.Velocity, g.Mass, g.Inertia = real("velocity_gradient", 6, wb), real("mass_gradient", 1, wb),
		real("inertia_gradient", 6, wb)
	g.ArmA, g.ArmB = real("arm_a_gradient", 3, wc), real("arm_b_gradient", 3, wc)
	g.Frame = real("frame_gradient", 9, wc)
	g.Target, g.Friction, g.Compliance = real("target_gradient", 1, wc), real("friction_gradient", 1, wc),
		real("compliance_gradient", 2, wc)
	c.normal = real("normal_gradient", 3, wc)
	c.margin, c.residual = real("margin", 1, w), real("adjoint_residual", 1, w)
	c.nearest = numbers[int32](a, "nearest", w, true)
	c.smoothness, c.mode = numbers[uint8](a, "smoothness", w, true), numbers[uint8](a, "mode", wc, true)
	return c
}

// bytes is the memory of the gradients, which are copied to the caller once the call has ended.
func (c *problemProduct) bytes() float64 {
	p := c.problem
	return float64(p.Worlds) * (8*(13*float64(p.Bodies)+22*float64(p.Contacts)+4) + float64(p.Contacts))
}

func (c *problemProduct) run(ctx context.Context) (dispatch.Report, error) {
	since := time.Now()
	var m adjoint.Problems
	var g adjoint.Gradient
	if err := m.VJP(ctx, c.problem, &c.solution, c.model, c.velocityBar, c.impulseBar, c.workers, &g); err != nil {
		return dispatch.Report{}, contactError(err)
	}
	to := &c.gradients
	for _, pair := range [][2][]float64{{to.Velocity, g.Velocity}, {to.Mass, g.Mass}, {to.Inertia, g.Inertia},
		{to.ArmA, g.ArmA}, {to.ArmB, g.ArmB}, {to.Frame, g.Frame}, {to.Target, g.Target}, {to.Friction, g.Friction},
		{to.Compliance, g.Compliance}, {c.normal, g.Normal}, {c.margin, g.Margin}, {c.residual, g.Residual}} {
		copy(pair[0], pair[1])
	}
	copy(c.nearest, g.Nearest)
	for i := range c.smoothness {
		c.smoothness[i] = uint8(g.Smoothness[i])
	}
	for i := range c.mode {
		c.mode[i] = uint8(g.Mode[i])
	}
	r := worldReport(c.problem.Worlds, since)
	countSmooth(&r, g.Smoothness)
	return r, nil
}
