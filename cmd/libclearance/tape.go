package main

// #include "clearance.h"
import "C"

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/cpu"
	"clearance/dispatch"
)

// taping is what the tapes of a simulation share: a simulation that makes their runs, and what repeats these. It
// outlives the simulation that it was made of, until the last tape is closed.
type taping struct {
	mu       sync.Mutex // of the simulation and of the repeater
	own      *simulationHandle
	repeater *adjoint.Repeater
	users    atomic.Int64 // the simulation, and its tapes
}

// release says that a user has gone.
func (t *taping) release() error {
	if t == nil || t.users.Add(-1) > 0 {
		return nil
	}
	return t.own.pairs.Close()
}

// tapeHandle is a run that was kept for its derivatives.
type tapeHandle struct {
	mu       sync.Mutex
	tape     *adjoint.Tape // nil after the handle was closed
	shared   *taping
	each     bool  // forces of each step
	recorded []int // numbers of the steps of the records, rising
}

var tapes = handles[*tapeHandle]{what: "tape"}

//export clearance_tape_run
func clearance_tape_run(handle C.clearance_simulation, list *C.clearance_array, count C.int64_t, made *C.int64_t,
	kept *C.clearance_tape, waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report,
	e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		h, err := simulations.get(uint64(handle))
		if err != nil {
			return nil, err
		}
		a, err := arraysOf(list, count)
		if err != nil {
			return nil, err
		}
		if made == nil || kept == nil {
			return nil, argument("no place for the number of steps made, or for the tape")
		}
		s, err := runStepsOf(h, a)
		if err != nil {
			return nil, err
		}
		return startAlone(func(ctx context.Context, j *job) (dispatch.Report, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.sim == nil {
				return dispatch.Report{}, simulations.missing()
			}
			rep, t, err := s.onTape(ctx, h, j, func(step int) { *made = C.int64_t(step) })
			if t != nil {
				*kept = C.clearance_tape(tapes.put(t))
			}
			return rep, contactError(err)
		}), nil
	}()
	return settle(j, err, waitMs, out, report, e)
}

// onTape makes the steps of a run on a simulation of the tape, and leaves h at the last state.
func (s *runSteps) onTape(ctx context.Context, h *simulationHandle, j *job, made func(int)) (rep dispatch.Report,
	t *tapeHandle, err error) {
	since := time.Now()
	rep = worldReport(product(h.worlds, s.steps), since)
	j.total.Store(int64(s.steps))
	made(0)
	h.listed, h.in = contact.Contacts{}, nil
	if h.taping == nil {
		if h.taping, err = h.newTaping(); err != nil {
			return rep, nil, err
		}
	}
	shared := h.taping
	shared.mu.Lock()
	defer shared.mu.Unlock()
	own := shared.own
	if err := own.sim.Restore(h.sim.State(), h.sim.Warm()); err != nil {
		return rep, nil, err
	}
	own.listed, own.in = contact.Contacts{}, nil
	t = &tapeHandle{shared: shared, each: s.each}
	var full error
	tape, err := shared.repeater.Run(ctx, own.sim, s.steps, s.force, func(step int) bool {
		made(step + 1)
		j.done.Store(int64(step + 1))
		own.count(&rep)
		if (step+1)%s.every == 0 {
			own.record(s.to, step/s.every)
			t.recorded = append(t.recorded, step+1)
			if s.listed {
				full = own.list(step / s.every)
			}
		}
		return full == nil
	})
	t.tape, h.listed, h.in = tape, own.listed, own.in
	err = errors.Join(err, full, h.sim.Restore(own.sim.State(), own.sim.Warm()))
	rep.Wall = time.Since(since)
	if err != nil {
		return rep, nil, err
	}
	shared.users.Add(1)
	return rep, t, nil
}

// newTaping is what the tapes of h share.
func (h *simulationHandle) newTaping() (*taping, error) {
	own, err := h.twin()
	if err != nil {
		return nil, err
	}
	t := &taping{own: own}
	t.users.Add(1)
	if t.repeater, err = adjoint.NewRepeater(own.sim); err != nil {
		return nil, errors.Join(contactError(err), t.release())
	}
	return t, nil
}

// twin is another simulation at the state of h, with the compliance of runs with a tape.
func (h *simulationHandle) twin() (*simulationHandle, error) {
	b, err := cpu.New(cpu.Options{Workers: h.given.Solve.Workers, SIMD: h.given.Solve.SIMD})
	if err != nil {
		return nil, failure{codeArgument, err}
	}
	t := &simulationHandle{worlds: h.worlds, bodies: h.bodies, given: h.given, pairs: dispatch.New(b)}
	t.given.Compliance = h.soft
	if t.sim, err = contact.NewSimulation(h.sim.Scene(), h.sim.State(), t.pairs.Steps(""), t.given); err == nil {
		err = t.sim.Restore(h.sim.State(), h.sim.Warm())
	}
	if err != nil {
		return nil, errors.Join(err, t.pairs.Close())
	}
	return t, nil
}

//export clearance_tape_vjp
func clearance_tape_vjp(handle C.clearance_tape, list *C.clearance_array, count C.int64_t, waitMs C.int64_t,
	out *C.clearance_job, report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		h, err := tapes.get(uint64(handle))
		if err != nil {
			return nil, err
		}
		a, err := arraysOf(list, count)
		if err != nil {
			return nil, err
		}
		p, err := h.product(a)
		if err != nil {
			return nil, err
		}
		return startAlone(func(ctx context.Context, _ *job) (dispatch.Report, error) { return p.run(ctx) }), nil
	}()
	return settle(j, err, waitMs, out, report, e)
}

// tapeProduct is a product of cotangents with the derivative of a run.
type tapeProduct struct {
	of         *tapeHandle
	cotangents adjoint.RunCotangents
	gradient   *adjoint.RunGradient
	to         []gradientOf
	smoothness []uint8
}

// gradientOf is an array of the caller for a column of the gradient.
type gradientOf struct {
	to   []float64
	from *[]float64
}

// product takes a product from the arrays of a call.
func (h *tapeHandle) product(a *arrays) (*tapeProduct, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tape == nil {
		return nil, tapes.missing()
	}
	own, scene := h.shared.own, h.shared.own.sim.Scene()
	w, wb, t := own.worlds, product(own.worlds, own.bodies), product(h.tape.Steps(), own.worlds)
	in := func(name string, per int) []float64 {
		return numbers[float64](a, name, product(len(h.recorded), wb, per), false)
	}
	p := &tapeProduct{of: h, cotangents: adjoint.RunCotangents{At: h.recorded, Pose: in("pose_bar", 6),
		Velocity: in("velocity_bar", 3), Spin: in("spin_bar", 3), Impacts: enumOf(a, "impacts", adjoint.ImpactNames)},
		smoothness: numbers[uint8](a, "smoothness", t, true)}
	force := product(6, wb)
	if h.each {
		force = product(force, h.tape.Steps())
	}
	g := &adjoint.RunGradient{FromSpin: true}
	for _, c := range []struct {
		name string
		n    int
		from *[]float64
	}{{"pose_gradient", product(6, wb), &g.Pose}, {"velocity_gradient", product(3, wb), &g.Velocity},
		{"spin_gradient", product(3, wb), &g.Spin}, {"force_gradient", force, &g.Force},
		{"mass_gradient", wb, &g.Mass}, {"inertia_gradient", product(6, wb), &g.Inertia},
		{"gravity_gradient", product(3, w), &g.Gravity},
		{"friction_gradient", product(w, scene.FrictionSources()), &g.Friction},
		{"restitution_gradient", product(w, scene.RestitutionSources()), &g.Restitution},
		{"parts_gradient", product(w, product(6, adjoint.PartCount(scene))), &g.Parts}, {"margin", t, &g.Margin}} {
		p.to = append(p.to, gradientOf{numbers[float64](a, c.name, c.n, true), c.from})
	}
	p.gradient = g
	return p, a.check()
}

func (p *tapeProduct) run(ctx context.Context) (dispatch.Report, error) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.of.tape == nil {
		return dispatch.Report{}, tapes.missing()
	}
	p.of.shared.mu.Lock()
	defer p.of.shared.mu.Unlock()
	since := time.Now()
	if err := p.of.tape.VJP(ctx, &p.cotangents, p.gradient); err != nil {
		return dispatch.Report{}, contactError(err)
	}
	for _, c := range p.to {
		copy(c.to, *c.from)
	}
	rep := worldReport(len(p.gradient.Smoothness), since)
	for i, s := range p.gradient.Smoothness {
		if p.smoothness != nil {
			p.smoothness[i] = uint8(s)
		}
		if s == adjoint.None {
			rep.Counts[batch.Undecided]++
		} else {
			rep.Counts[batch.Separated]++
		}
	}
	return rep, nil
}

//export clearance_tape_close
func clearance_tape_close(handle C.clearance_tape, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		h, err := tapes.take(uint64(handle))
		if err != nil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.tape = nil
		return h.shared.release()
	}())
}
