package main

// #include "clearance.h"
import "C"

import (
	"context"
	"fmt"
	"slices"
	"time"

	"clearance/contact"
)

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
		Parts: ints("parts", w), Energy: real("energy", w)}, needed[uint8](a, "status", w, written)}
	warm := &contact.Warm{Contacts: contacts, Count: ints("warm_count", w), Pair: ints("warm_pair", wc),
		ID: needed[uint64](a, "warm_id", wc, written), Position: real("warm_position", product(3, wc)),
		Impulse: real("warm_impulse", product(3, wc))}
	return state, warm
}

// list appends the contacts of a step to those of the records of the run.
func (h *simulationHandle) list(record int) error {
	n := h.sim.CountContacts()
	const bytes = 4*6 + 8*11 // of a contact
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
		ints := func(name string) []int32 { return numbers[int32](a, name, n, true) }
		real := func(name string, per int) []float64 { return numbers[float64](a, name, product(per, n), true) }
		to := contact.Contacts{World: ints("world"), BodyA: ints("body_a"), BodyB: ints("body_b"),
			PartA: ints("part_a"),
			PartB: ints("part_b"), Position: real("position", 3), Normal: real("normal", 3), Impulse: real("impulse",
				3),
			Gap: real("gap", 1), ID: numbers[uint64](a, "id", n, true)}
		record := ints("record")
		if err := a.check(); err != nil {
			return err
		}
		copy(record, in)
		copy(to.World, c.World)
		copy(to.BodyA, c.BodyA)
		copy(to.BodyB, c.BodyB)
		copy(to.PartA, c.PartA)
		copy(to.PartB, c.PartB)
		copy(to.Position, c.Position)
		copy(to.Normal, c.Normal)
		copy(to.Impulse, c.Impulse)
		copy(to.Gap, c.Gap)
		copy(to.ID, c.ID)
		if a.whole("recorded", 0) != 0 {
			h.listed, h.in = contact.Contacts{}, nil
		}
		return nil
	})
}
