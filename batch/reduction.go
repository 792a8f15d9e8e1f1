package batch

import "fmt"

// Reduction says how the caller combines the answers of a batch, so that a back end may omit those that do not matter.
// The results of the job have marks then, in which the caller finds the rows that are [Omitted]; their columns hold
// anything.
// Consecutive rows form sets, and consecutive sets form groups. Of a group the caller wants the least distance with its
// bounds, the first row of the greatest status, and the number of sets that contain a contact.
//
// A back end that omits rows of a group cuts it into portions: whole sets, or consecutive rows of one set. Of each
// portion it stores
//
//   - all of its rows of a set, if one of these has no answer, or is [Undecided], [Invalid], or without a finite gap;
//   - of all other rows the first with the least distance, the first with the least distance − gap (of separated rows
//     at least the value at which shapes touch), the first with the least distance + gap, and the first of the
//     greatest status, if that is a contact. Without the distance column it is the first row of all.
//
// So a caller that goes through the rows in their order, and keeps the first of equals, has the same bits whether or
// not rows are omitted. A back end may omit none.
type Reduction struct {
	Sets   []int32 // set s is rows Sets[s] to Sets[s+1]-1; [S+1], from 0 to the number of rows, ascending
	Groups []int32 // group g is sets Groups[g] to Groups[g+1]-1; [G+1], from 0 to S, ascending

	Tally Tally // of the latest run, in the order of rows
}

// Tally is what is known of omitted rows. Their gaps are not among those of reports.
type Tally struct {
	Rows       int // that were omitted
	Counts     [StatusCount]int
	Solvers    [SolverCount]int // these and the iterations are not known of a query of statuses alone
	Iterations int64
	Portions   []Portion // that have contacts or iterations

	Bytes int64 // that the host read of a device's memory, for all rows
}

// Portion is what is known of the omitted rows of a portion of a group.
type Portion struct {
	Row        int32 // the first of the portion
	Contacts   int32 // sets that contain a contact, but none in a row that was stored
	Iterations int64 // if the iterations column was requested
}

// Reset empties a tally and keeps its memory.
func (t *Tally) Reset() { *t = Tally{Portions: t.Portions[:0]} }

// Add adds the tally of later rows.
func (t *Tally) Add(o *Tally) {
	t.Rows += o.Rows
	for i, n := range o.Counts {
		t.Counts[i] += n
	}
	for i, n := range o.Solvers {
		t.Solvers[i] += n
	}
	t.Iterations += o.Iterations
	t.Bytes += o.Bytes
	t.Portions = append(t.Portions, o.Portions...)
}

// check returns an error if a reduction is not one of n rows.
func (r *Reduction) check(n int, results *Results) error {
	if len(results.Marks) != n {
		return fmt.Errorf("batch: a reduction of %d rows, with marks of %d rows", n, len(results.Marks))
	}
	if columns := results.Columns; columns&ColBits != 0 {
		return fmt.Errorf("batch: a reduction with the column %v, which omitted rows would leave open", ColBits)
	}
	if err := checkEnds("sets", r.Sets, n); err != nil {
		return err
	}
	return checkEnds("groups", r.Groups, len(r.Sets)-1)
}

// checkEnds checks the ends of consecutive ranges from 0 to n.
func checkEnds(name string, ends []int32, n int) error {
	if len(ends) == 0 || ends[0] != 0 || int(ends[len(ends)-1]) != n {
		return fmt.Errorf("batch: the %s do not reach from 0 to %d", name, n)
	}
	for i, e := range ends[1:] {
		if e < ends[i] {
			return fmt.Errorf("batch: %s[%d] = %d is less than the one before, %d", name, i+1, e,
				ends[i])
		}
	}
	return nil
}
