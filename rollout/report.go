package rollout

import (
	"fmt"
	"time"

	"clearance/batch"
	"clearance/dispatch"
)

// A Report describes the outcome of a call.
type Report struct {
	Backend string // name of the back end; several names are joined by "+"
	Why     string // why it was selected, in one line

	Worlds int // worlds of the call
	Rows   int // pairs of bodies in worlds: W·P; of all pairs those that the broad phase does not rule out
	Done   int // rows of the results that were reached; worlds, where the rows are some of all pairs

	// Counts is the number of rows of the results of each status: pairs of bodies, or worlds.
	Counts [batch.StatusCount]int

	// AbsentRows is the number of pairs of bodies with an absent one. CulledRows is the number of the others
	// that no solver was asked about: separated, not the least, or in a world whose contact bounds prove.
	AbsentRows, CulledRows int64

	// PartPairs is the number of pairs of parts of the other rows, Solved the number of those that a back end
	// answered.
	PartPairs, Solved int64

	// Omitted is the number of those that a device answered and did not return, since the results do not depend on
	// them. BytesDown is the number of bytes that it returned, 0 for back ends without a device.
	Omitted, BytesDown int64

	Solvers    [batch.SolverCount]int // pairs of parts solved, by the solver that ended them
	Iterations int64                  // sum over all pairs of parts

	// RowErrors lists the first rows with bad input, in order, at most as many as dispatch.Options says.
	RowErrors []*RowError

	Failovers []dispatch.Failover // back ends that failed, with rows of blocks of pairs of parts
	Declined  int                 // pairs of parts that a back end declined and another answered

	Kernel time.Duration // that devices measured
	Wall   time.Duration // from the call to the last answer
}

// A RowError is the error of a body or of a pair of bodies in one world. All other worlds are answered.
type RowError struct {
	World  int
	Body   int // place in the world, -1 if the error is that of a pair
	Pair   int // index of the pair, -1 if the error is that of a body
	Column string
	Reason string
}

func (e *RowError) Error() string {
	if e.Body >= 0 {
		return fmt.Sprintf("world %d, body %d, column %s: %s", e.World, e.Body, e.Column, e.Reason)
	}
	return fmt.Sprintf("world %d, pair %d, column %s: %s", e.World, e.Pair, e.Column, e.Reason)
}

// Err returns an error if any row of the results has no answer, and nil otherwise.
func (r *Report) Err() error {
	undecided, bad := r.Counts[batch.Undecided], r.Counts[batch.Invalid]
	if undecided == 0 && bad == 0 {
		return nil
	}
	if len(r.RowErrors) > 0 {
		return fmt.Errorf("rows without an answer: %d undecided, %d invalid; first: %w", undecided, bad, r.RowErrors[0])
	}
	return fmt.Errorf("rows without an answer: %d undecided, %d invalid", undecided, bad)
}

// note adds an error to the first ones.
func (r *Report) note(e *RowError, most int) {
	if len(r.RowErrors) < most {
		r.RowErrors = append(r.RowErrors, e)
	}
}

// rowErrors is the number of errors of rows that a report lists.
func rowErrors(most int) int {
	if most == 0 {
		return 16
	}
	return most
}

// merge adds the report of the worlds that follow.
func (r *Report) merge(next *Report, rowErrors int) {
	r.Backend, r.Why = next.Backend, next.Why
	r.Worlds, r.Rows, r.Done = r.Worlds+next.Worlds, r.Rows+next.Rows, r.Done+next.Done
	for s, n := range next.Counts {
		r.Counts[s] += n
	}
	for s, n := range next.Solvers {
		r.Solvers[s] += n
	}
	r.AbsentRows, r.CulledRows = r.AbsentRows+next.AbsentRows, r.CulledRows+next.CulledRows
	r.PartPairs, r.Solved = r.PartPairs+next.PartPairs, r.Solved+next.Solved
	r.Omitted, r.BytesDown = r.Omitted+next.Omitted, r.BytesDown+next.BytesDown
	r.Iterations, r.Declined = r.Iterations+next.Iterations, r.Declined+next.Declined
	for _, e := range next.RowErrors {
		r.note(e, rowErrors)
	}
	r.Failovers = append(r.Failovers, next.Failovers...)
	r.Kernel, r.Wall = r.Kernel+next.Kernel, r.Wall+next.Wall
}

// add adds the report of a block of pairs of parts.
func (r *Report) add(d *dispatch.Report) {
	r.Backend, r.Why = d.Backend, d.Why
	for s, n := range d.Solvers {
		r.Solvers[s] += n
	}
	r.Iterations += d.Iterations
	r.Failovers = append(r.Failovers, d.Failovers...)
	r.Declined += d.Declined()
	r.Kernel += d.Kernel
	r.BytesDown += d.BytesDown
}

// addCounts adds what a tile did.
func (r *Report) addCounts(c *counts) {
	r.AbsentRows += c.absent
	r.CulledRows += c.culledRows
	r.PartPairs += c.pairs
	r.Solved += c.pairs - c.culled
}
