package main

import (
	"errors"
	"fmt"
	"strings"

	"clearance/dataset"
	"clearance/internal/memory"
)

// partBytes is the memory of the rows of a part, and what it takes of the disk: a run is saved before it holds much
// more. Tests alone change it.
var partBytes int64 = 256 << 20

// held is the memory of the rows that are in no part yet.
func (r *stepRun) held() float64 { return r.states.bytes() + r.problems.bytes() + r.contacts.bytes() }

// checkMemory returns an error if the rows of a part take more memory than there is. It looks before the first step.
// How many contacts a step has is known when it is made.
func (r *stepRun) checkMemory() error {
	row := r.rowBytes()
	r.most = float64(memory.Room(partBytes, 8))
	// A buffer grows by a quarter at a time, beside the one that it is copied from. A record of problems is made beside
	// those of the simulation and of the buffer, and forces are summed.
	record := float64(r.worlds) * (2*row + 8*6*float64(r.bodies))
	part := float64(r.worlds)*row + min(r.most, r.records(r.flags.steps)*row)
	what := fmt.Sprintf("a record of %d worlds of %d bodies", r.worlds, r.bodies)
	return memory.Check(what, record+2.25*part+r.savedBytes())
}

// savedBytes is the memory of what a saved run keeps of the contacts of the last solves, for as many contacts of each
// world as there is room for.
func (r *stepRun) savedBytes() float64 {
	const contact = 4 + 8 + 2*3*8 + 2*4 // pair, id, position and impulse, and the halves of the id
	return float64(r.worlds) * contact * float64(max(r.sim.Problem().Contacts, 1))
}

// checkSaved returns an error if there is no memory to save the run.
func (r *stepRun) checkSaved() error {
	return memory.Check(fmt.Sprintf("saving %d worlds of %d bodies", r.worlds, r.bodies), r.savedBytes())
}

// rowBytes is the memory of a row of states and of problems.
func (r *stepRun) rowBytes() float64 {
	n := rowBytes(r.states.specs)
	if r.problems != nil {
		n += rowBytes(r.problems.specs)
	}
	return n
}

// records is the number of world-steps that so many steps record, the first state included.
func (r *stepRun) records(steps int) float64 {
	return float64(steps/r.flags.every+1) * float64(r.worlds)
}

// checkDisk returns an error if the files of the run take more of a disk than is free beside the parts that are there:
// the parts to come, and the results that all parts are joined to before they are removed. Of contacts these are the
// ones that have been found.
func (r *stepRun) checkDisk() error {
	f := r.flags
	states := r.records(f.steps)
	parts := states
	switch {
	case r.parts > 0:
		parts -= r.records(r.step)
	case f.steps < f.saveEvery && states*r.rowBytes() <= r.most:
		parts = 0
	}
	outputs := []memory.Output{{What: fmt.Sprintf("parts of %.0f rows", parts), Path: r.part(partKinds[0], 0),
		Bytes: parts * r.rowBytes()}}
	add := func(flag, path string, rows float64, b *columnBuffer) error {
		if b == nil {
			return nil
		}
		bytes, err := dataset.DiskOfColumns(path, b.specs, int64(rows))
		outputs = append(outputs, memory.Output{What: fmt.Sprintf("--%s of %.0f rows", flag, rows), Path: path,
			Bytes: bytes})
		return err
	}
	err := errors.Join(add("out", f.out, states, r.states),
		add("problems", f.problems, states-float64(r.worlds), r.problems),
		add("contacts", f.contacts, float64(r.found), r.contacts))
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "dataset: "))
	}
	return memory.CheckDisks(outputs...)
}
