package main

// #include "clearance.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"clearance/batch"
	"clearance/contact"
	"clearance/cpu"
	"clearance/dispatch"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// simulationHandle is a simulation with the back ends that answer its pairs. One run has it at a time.
type simulationHandle struct {
	mu     sync.Mutex
	sim    *contact.Simulation // nil after the handle was closed
	pairs  *dispatch.Dispatcher
	worlds int
	bodies int
	given  contact.StepOptions
	soft   float64 // the compliance of runs with a tape
	taping *taping // of runs with a tape, nil without any

	listed contact.Contacts // of the steps that the last run has recorded
	in     []int32          // the record of each of them
}

var simulations = handles[*simulationHandle]{what: "simulation"}

//export clearance_simulation_open
func clearance_simulation_open(bodies C.clearance_bodies, list *C.clearance_array, count C.int64_t,
	out *C.clearance_simulation, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		table, err := bodyTables.get(uint64(bodies))
		if err != nil {
			return err
		}
		if out == nil {
			return argument("no place for the handle")
		}
		a, err := arraysOf(list, count)
		if err != nil {
			return err
		}
		scene, state, o := simulationOf(a, table.Bodies)
		soft := a.number("tape_compliance", o.Compliance)
		if err := a.check(); err != nil {
			return err
		}
		h, err := newSimulation(scene, state, o)
		if err != nil {
			return err
		}
		h.soft = soft
		*out = C.clearance_simulation(simulations.put(h))
		return nil
	}())
}

// newSimulation makes a simulation whose pairs and contacts take the kernels of o.Solve.SIMD, or of the environment.
func newSimulation(scene *contact.Scene, state *contact.State, o contact.StepOptions) (*simulationHandle, error) {
	if err := scene.Check(); err != nil {
		return nil, contactError(err)
	}
	momenta(scene, state)
	b, err := cpu.New(cpu.Options{Workers: o.Solve.Workers, SIMD: o.Solve.SIMD})
	if err != nil {
		return nil, failure{codeArgument, err}
	}
	h := &simulationHandle{worlds: state.Worlds, bodies: len(scene.Body), pairs: dispatch.New(b),
		given: o}
	if h.sim, err = contact.NewSimulation(scene, state, h.pairs.Steps(""), o); err != nil {
		return nil, errors.Join(contactError(err), h.pairs.Close())
	}
	return h, nil
}

// simulationOf takes copies of the arrays of a call.
func simulationOf(a *arrays, table *batch.Bodies) (*contact.Scene, *contact.State, contact.StepOptions) {
	w, m := a.size("worlds"), a.size("bodies")
	wm := product(w, m)
	pairs := limitOf(a.whole("skips", 0))
	real := func(name string, n int) []float64 { return slices.Clone(needed[float64](a, name, n, false)) }
	ints := func(name string, n int) []int32 { return slices.Clone(needed[int32](a, name, n, false)) }
	scene := &contact.Scene{Bodies: table, Body: ints("body", m), Mass: real("mass", m),
		Inertia: real("inertia", product(6, m)), Center: real("center", product(3, m)), Friction: real("friction", m),
		Restitution: real("restitution", m)}
	if pairs > 0 {
		scene.SkipA, scene.SkipB = ints("skip_a", pairs), ints("skip_b", pairs)
	}
	scene.FrictionRule = enumOf(a, "friction_rule", contact.Rules)
	scene.RestitutionRule = enumOf(a, "restitution_rule", contact.Rules)
	scene.PartFriction, scene.PairFriction = surfacesOf(a, "friction")
	scene.PartRestitution, scene.PairRestitution = surfacesOf(a, "restitution")
	state := &contact.State{Worlds: w, Pose: real("pose", product(7, wm)), Velocity: real("velocity", product(3, wm)),
		Momentum: real("spin", product(3, wm))}
	o := contact.StepOptions{TimeStep: a.number("time_step", 0), MaxGap: a.number("max_gap", 0),
		Correction: a.number("correction", 0), RecoverySpeed: a.number("recovery_speed", 0),
		BounceSpeed: a.number("bounce_speed", 0), Contacts: limitOf(a.whole("contacts", 0)),
		Restitution: enumOf(a, "restitution_law", contact.RestitutionLaws),
		Compliance:  a.number("compliance", 0),
		Accept:      a.whole("accept", 0) != 0}
	if g := numbers[float64](a, "gravity", 3, false); g != nil {
		o.Gravity = r3.Vec{X: g[0], Y: g[1], Z: g[2]}
	}
	o.Solve = contact.Options{Model: enumOf(a, "model", contact.Models), Tolerance: a.number("tolerance", 0),
		Workers: a.workers(), SIMD: a.text("simd")}
	return scene, state, o
}

// surfacesOf takes the values of parts and pairs of a property.
func surfacesOf(a *arrays, name string) (parts []contact.PartValue, pairs []contact.PairValue) {
	n := a.length(name + "_part_values")
	of, values := numbers[int32](a, name+"_parts", 2*n, false), numbers[float64](a, name+"_part_values", n, false)
	for i := range min(len(values), len(of)/2) {
		parts = append(parts, contact.PartValue{Body: of[2*i], Part: of[2*i+1], Value: values[i]})
	}
	if len(of) != 2*len(values) {
		a.fail("arrays %s_parts and %s_part_values: one is missing", name, name)
	}
	n = a.length(name + "_pair_values")
	of, values = numbers[int32](a, name+"_pairs", 4*n, false), numbers[float64](a, name+"_pair_values", n, false)
	for i := range min(len(values), len(of)/4) {
		pairs = append(pairs, contact.PairValue{BodyA: of[4*i], PartA: of[4*i+1], BodyB: of[4*i+2],
			PartB: of[4*i+3], Value: values[i]})
	}
	if len(of) != 4*len(values) {
		a.fail("arrays %s_pairs and %s_pair_values: one is missing", name, name)
	}
	return parts, pairs
}

// momenta replaces angular velocities by momenta; those of a pose that is invalid, which costs its world only, are NaN.
func momenta(scene *contact.Scene, state *contact.State) {
	m := len(scene.Body)
	for k := range len(state.Pose) / 7 {
		q := state.Pose[7*k+3 : 7*k+7]
		rotation := quat.Number{Real: q[0], Imag: q[1], Jmag: q[2], Kmag: q[3]}
		if n := quat.Abs(rotation); n > 0 && !math.IsInf(n, 1) {
			rotation = quat.Scale(1/n, rotation)
			q[0], q[1], q[2], q[3] = rotation.Real, rotation.Imag, rotation.Jmag, rotation.Kmag
		}
		l := scene.Momentum(k%m, rotation, r3.Vec{X: state.Momentum[3*k], Y: state.Momentum[3*k+1],
			Z: state.Momentum[3*k+2]})
		state.Momentum[3*k], state.Momentum[3*k+1], state.Momentum[3*k+2] = l.X, l.Y, l.Z
	}
}

// records are the arrays of the caller that recorded steps go to: [R,W,…]. Nil ones are not wanted.
type records struct {
	pose, velocity, spin, energy, residual, scale []float64
	force                                         []float64 // of the contacts
	status                                        []uint8
	contacts, solves, parts                       []int32
}

//export clearance_simulation_run
func clearance_simulation_run(handle C.clearance_simulation, list *C.clearance_array, count C.int64_t,
	made *C.int64_t, waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report,
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
		if a.whole("held", 0) != 0 {
			s, err := heldStepsOf(h, a)
			if err != nil {
				return nil, err
			}
			return startAlone(func(ctx context.Context, _ *job) (dispatch.Report, error) {
				h.mu.Lock()
				defer h.mu.Unlock()
				if h.sim == nil {
					return dispatch.Report{}, simulations.missing()
				}
				return dispatch.Report{WorstGapRow: -1}, s.run(ctx)
			}), nil
		}
		s, err := runStepsOf(h, a)
		if err != nil {
			return nil, err
		}
		if made == nil {
			return nil, argument("no place for the number of steps made")
		}
		return startAlone(func(ctx context.Context, j *job) (dispatch.Report, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.sim == nil {
				return dispatch.Report{}, simulations.missing()
			}
			since := time.Now()
			rep := worldReport(product(h.worlds, s.steps), since)
			j.total.Store(int64(s.steps))
			*made = 0
			h.listed, h.in = contact.Contacts{}, nil
			var full error
			err := h.sim.Run(ctx, s.steps, s.force, func(step int) bool {
				*made = C.int64_t(step + 1)
				j.done.Store(int64(step + 1))
				h.count(&rep)
				if (step+1)%s.every == 0 {
					h.record(s.to, step/s.every)
					if s.listed {
						full = h.list(step / s.every)
					}
				}
				return full == nil
			})
			err = errors.Join(err, full)
			rep.Wall = time.Since(since)
			return rep, contactError(err)
		}), nil
	}()
	return settle(j, err, waitMs, out, report, e)
}

// runSteps are the steps of a run, and the arrays of the caller that it records to.
type runSteps struct {
	steps, every int
	force        []float64
	each         bool // forces of each step
	listed       bool // contacts
	to           *records
}

// runStepsOf takes a run from the arrays of a call.
func runStepsOf(h *simulationHandle, a *arrays) (*runSteps, error) {
	w, wm := h.worlds, product(h.worlds, h.bodies)
	s := &runSteps{steps: a.size("step_count"), every: max(a.size("every"), 1)}
	if s.steps < 0 {
		return nil, argument("a negative number of steps")
	}
	s.force = numbers[float64](a, "force", product(6, wm), false)
	if each := numbers[float64](a, "forces", product(s.steps, 6, wm), false); each != nil {
		if s.force != nil {
			return nil, argument("force and forces, want one of them")
		}
		s.force, s.each = each, true
	}
	s.listed = a.whole("list_contacts", 0) != 0
	n := s.steps / s.every
	real := func(name string, per int) []float64 { return numbers[float64](a, name, product(n, per), true) }
	s.to = &records{pose: real("pose", product(7, wm)), velocity: real("velocity", product(3, wm)),
		spin: real("spin", product(3, wm)), energy: real("energy", w), residual: real("residual", w),
		scale:    real("scale", w),
		force:    real("contact_force", product(6, wm)),
		status:   numbers[uint8](a, "status", product(n, w), true),
		contacts: numbers[int32](a, "contacts", product(n, w), true),
		solves:   numbers[int32](a, "solves", product(n, w), true),
		parts:    numbers[int32](a, "parts", product(n, w), true)}
	return s, a.check()
}

// count counts the worlds of a step: advanced ones as separated.
func (h *simulationHandle) count(rep *dispatch.Report) {
	for _, s := range h.sim.State().Status {
		switch {
		case s.Advances():
			rep.Counts[batch.Separated]++
		case s == contact.StepInvalid:
			rep.Counts[batch.Invalid]++
		default:
			rep.Counts[batch.Undecided]++
		}
	}
}

// record stores the state of a step as record k.
func (h *simulationHandle) record(r *records, k int) {
	st := h.sim.State()
	w := st.Worlds
	put := func(to, from []float64) {
		if to != nil {
			copy(to[k*len(from):], from)
		}
	}
	put(r.pose, st.Pose)
	put(r.velocity, st.Velocity)
	put(r.energy, st.Energy)
	if n := 6 * w * h.bodies; r.force != nil {
		_ = h.sim.ContactForces(r.force[k*n : (k+1)*n]) // whose length is right
	}
	if r.spin != nil {
		to := r.spin[k*len(st.Momentum):]
		for i := range w * h.bodies {
			v := h.sim.Spin(i/h.bodies, i%h.bodies)
			to[3*i], to[3*i+1], to[3*i+2] = v.X, v.Y, v.Z
		}
	}
	count := func(to, from []int32) {
		if to != nil {
			copy(to[k*w:], from)
		}
	}
	count(r.contacts, st.Contacts)
	count(r.solves, st.Solves)
	count(r.parts, st.Parts)
	for i, s := range st.Status {
		if r.status != nil {
			r.status[k*w+i] = uint8(s)
		}
		if r.residual != nil {
			r.residual[k*w+i] = h.sim.Residual(i)
		}
		if r.scale != nil {
			r.scale[k*w+i] = h.sim.Scale(i)
		}
	}
}

//export clearance_simulation_close
func clearance_simulation_close(handle C.clearance_simulation, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		h, err := simulations.take(uint64(handle))
		if err != nil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.sim = nil
		err = h.taping.release()
		h.taping = nil
		return errors.Join(err, h.pairs.Close())
	}())
}

// use calls f with a simulation that is open, and the arrays of a call, of which f takes all.
func use(handle C.clearance_simulation, list *C.clearance_array, count C.int64_t, e *C.clearance_error,
	f func(h *simulationHandle, a *arrays) error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		h, err := simulations.get(uint64(handle))
		if err != nil {
			return err
		}
		a, err := arraysOf(list, count)
		if err != nil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.sim == nil {
			return simulations.missing()
		}
		return f(h, a)
	}())
}

// heldSteps are steps of a simulation whose state goes to arrays of the caller.
type heldSteps struct {
	h     *simulationHandle
	steps int64
	limit time.Duration // of a call without a job; 0 for none
	force []float64
	to    records
	made  []int64 // by each world
	last  bool    // the scalar of a quaternion
}

// heldStepsOf takes the arrays of a call.
func heldStepsOf(h *simulationHandle, a *arrays) (*heldSteps, error) {
	w, wm := h.worlds, product(h.worlds, h.bodies)
	s := &heldSteps{h: h, steps: a.whole("step_count", 1), last: a.whole("scalar_last", 0) != 0,
		force: numbers[float64](a, "force", product(6, wm), false)}
	real := func(name string, n int) []float64 { return numbers[float64](a, name, n, true) }
	ints := func(name string) []int32 { return numbers[int32](a, name, w, true) }
	s.to = records{pose: real("pose", product(7, wm)), velocity: real("velocity", product(3, wm)),
		spin: real("spin", product(3, wm)), energy: real("energy", w), residual: real("residual", w),
		force: real("contact_force", product(6, wm)), status: numbers[uint8](a, "status", w, true),
		contacts: ints("contacts"), solves: ints("solves"), parts: ints("parts")}
	s.made = numbers[int64](a, "steps", w, true)
	limit := a.whole("limit_ms", 0)
	if s.steps < 0 || limit < 0 {
		a.fail("%d steps in %d ms", s.steps, limit)
	}
	s.limit = time.Duration(min(limit, maxLimit)) * time.Millisecond
	return s, a.check()
}

// run makes the steps. After an interrupt the arrays are as they were.
func (s *heldSteps) run(ctx context.Context) error {
	for range s.steps {
		if err := s.h.sim.Step(ctx, s.force); err != nil {
			return contactError(err)
		}
	}
	s.h.record(&s.to, 0)
	copy(s.made, s.h.sim.State().Steps)
	if s.last {
		for k := range len(s.to.pose) / 7 {
			q := s.to.pose[7*k+3 : 7*k+7]
			q[0], q[1], q[2], q[3] = q[1], q[2], q[3], q[0]
		}
	}
	if s.steps > 0 {
		return contactError(s.h.sim.Still(0))
	}
	return nil
}

//export clearance_simulation_step
func clearance_simulation_step(handle C.clearance_simulation, list *C.clearance_array, count C.int64_t,
	e *C.clearance_error) C.int32_t {
	return use(handle, list, count, e, func(h *simulationHandle, a *arrays) error {
		s, err := heldStepsOf(h, a)
		if err != nil {
			return err
		}
		ctx := context.Background()
		if s.limit > 0 { // the caller, which may be interrupted, goes on with a job
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, s.limit)
			defer cancel()
		}
		return s.run(ctx)
	})
}

// maxLimit is the longest limit of a call in milliseconds, a day.
const maxLimit = 24 * 60 * 60 * 1000

//export clearance_simulation_reset
func clearance_simulation_reset(handle C.clearance_simulation, list *C.clearance_array, count C.int64_t,
	e *C.clearance_error) C.int32_t {
	return use(handle, list, count, e, func(h *simulationHandle, a *arrays) error {
		n := a.length("which")
		nm := product(n, h.bodies)
		which := needed[int32](a, "which", n, false)
		real := func(name string, per int) []float64 {
			return slices.Clone(needed[float64](a, name, product(per, nm), false))
		}
		state := &contact.State{Worlds: n, Pose: real("pose", 7), Velocity: real("velocity", 3),
			Momentum: real("spin", 3)}
		if err := a.check(); err != nil {
			return err
		}
		momenta(h.sim.Scene(), state)
		return contactError(h.sim.Reset(which, state))
	})
}

//export clearance_simulation_state
func clearance_simulation_state(handle C.clearance_simulation, list *C.clearance_array, count C.int64_t,
	contacts *C.int64_t, e *C.clearance_error) C.int32_t {
	return use(handle, list, count, e, func(h *simulationHandle, a *arrays) error {
		if contacts == nil {
			return argument("no place for the number of contacts")
		}
		warm := h.sim.Warm()
		*contacts = C.int64_t(warm.Contacts)
		if count == 0 {
			return nil
		}
		state, to := stateArrays(h, a, warm.Contacts, true)
		if err := a.check(); err != nil {
			return err
		}
		st := h.sim.State()
		copy(state.Pose, st.Pose)
		copy(state.Velocity, st.Velocity)
		copy(state.Momentum, st.Momentum)
		copy(state.Steps, st.Steps)
		copy(state.Contacts, st.Contacts)
		copy(state.Solves, st.Solves)
		copy(state.Parts, st.Parts)
		copy(state.Energy, st.Energy)
		for i, s := range st.Status {
			state.codes[i] = uint8(s)
		}
		state.still[0] = int64(warm.Still)
		copy(to.Count, warm.Count)
		copy(to.Pair, warm.Pair)
		copy(to.ID, warm.ID)
		copy(to.Position, warm.Position)
		copy(to.Impulse, warm.Impulse)
		return nil
	})
}

//export clearance_simulation_set_state
func clearance_simulation_set_state(handle C.clearance_simulation, list *C.clearance_array, count C.int64_t,
	e *C.clearance_error) C.int32_t {
	return use(handle, list, count, e, func(h *simulationHandle, a *arrays) error {
		n := a.whole("warm_contacts", 0)
		if n < 0 || n > 1<<31-1 {
			return argument("warm_contacts %d, want 0 to %d", n, 1<<31-1)
		}
		state, warm := stateArrays(h, a, int(n), false)
		if err := a.check(); err != nil {
			return err
		}
		if n := state.still[0]; n < 0 || n > math.MaxInt {
			return argument("still %d, want a number of steps", n)
		}
		warm.Still = int(state.still[0])
		for _, c := range state.codes {
			state.Status = append(state.Status, contact.StepStatus(c))
		}
		return contactError(h.sim.Restore(&state.State, warm))
	})
}

// wholeState is a state whose statuses are codes of the caller.
type wholeState struct {
	contact.State
	codes []uint8
	still []int64 // of one number, see contact.Warm
}

// stateArrays are the arrays of a state of all worlds, and of what the next solves start from.
func stateArrays(h *simulationHandle, a *arrays, contacts int, written bool) (*wholeState, *contact.Warm) {
	w := h.sim.State().Worlds
	wm, wc := product(w, h.bodies), product(w, contacts)
	real := func(name string, n int) []float64 { return needed[float64](a, name, n, written) }
	ints := func(name string, n int) []int32 { return needed[int32](a, name, n, written) }
	state := &wholeState{contact.State{Worlds: w, Pose: real("pose", product(7, wm)),
		Velocity: real("velocity", product(3, wm)), Momentum: real("momentum", product(3, wm)),
		Steps: needed[int64](a, "steps", w, written), Contacts: ints("contacts", w), Solves: ints("solves", w),
		Parts: ints("parts", w), Energy: real("energy", w)}, needed[uint8](a, "status", w, written),
		needed[int64](a, "still", 1, written)}
	warm := &contact.Warm{Contacts: contacts, Count: ints("warm_count", w), Pair: ints("warm_pair", wc),
		ID: needed[uint64](a, "warm_id", wc, written), Position: real("warm_position", product(3, wc)),
		Impulse: real("warm_impulse", product(3, wc))}
	return state, warm
}

// list appends the contacts of a step to those of the records of the run.
func (h *simulationHandle) list(record int) error {
	n := h.sim.CountContacts()
	bytes := 4.0 // of a contact: the number of its record
	for _, k := range contact.ContactColumns {
		bytes += float64(k.Bytes())
	}
	// Appending may take twice the memory, beside the columns that it copies.
	if err := checkMemory(fmt.Sprintf("contacts of %d steps", record+1), 3*bytes*float64(len(h.in)+n)); err != nil {
		return err
	}
	h.sim.AppendContacts(&h.listed)
	h.in = append(h.in, slices.Repeat([]int32{int32(record)}, n)...)
	return nil
}

//export clearance_simulation_contacts
func clearance_simulation_contacts(handle C.clearance_simulation, list *C.clearance_array, count C.int64_t,
	found *C.int64_t, e *C.clearance_error) C.int32_t {
	return use(handle, list, count, e, func(h *simulationHandle, a *arrays) error {
		if found == nil {
			return argument("no place for the number of contacts")
		}
		c, in := &h.listed, h.in
		if a.whole("recorded", 0) == 0 {
			c = new(contact.Contacts)
			h.sim.AppendContacts(c)
			in = make([]int32, c.Len())
		}
		n := c.Len()
		*found = C.int64_t(n)
		if int(count) <= 1 {
			return a.check()
		}
		var to contact.Contacts
		for _, k := range contact.ContactColumns {
			switch {
			case k.Ints != nil:
				*k.Ints(&to) = numbers[int32](a, k.Name, product(k.Width, n), true)
			case k.Reals != nil:
				*k.Reals(&to) = numbers[float64](a, k.Name, product(k.Width, n), true)
			default:
				*k.IDs(&to) = numbers[uint64](a, k.Name, product(k.Width, n), true)
			}
		}
		record := numbers[int32](a, "record", n, true)
		if err := a.check(); err != nil {
			return err
		}
		copy(record, in)
		for _, k := range contact.ContactColumns {
			switch {
			case k.Ints != nil:
				copy(*k.Ints(&to), *k.Ints(c))
			case k.Reals != nil:
				copy(*k.Reals(&to), *k.Reals(c))
			default:
				copy(*k.IDs(&to), *k.IDs(c))
			}
		}
		if a.whole("recorded", 0) != 0 {
			h.listed, h.in = contact.Contacts{}, nil
		}
		return nil
	})
}
