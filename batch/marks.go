package batch

import "bytes"

// Marks say, beside the status column, what a call has done with each row: [N], codes [Unanswered], [Answered] and
// [Omitted]. The dispatcher hands back ends results with marks, all of them Unanswered; [Results.Put] and
// [Results.PutFailure] mark the row. Rows left Unanswered are declined or were not reached: their columns hold anything
// until the dispatcher fills them. Methods of nil marks do nothing, so that back ends can be called without.
type Marks []uint8

// Codes of marks.
const (
	Unanswered uint8 = iota
	Answered         // the columns of the row hold its answer, or say that it is Invalid
	Omitted          // answered, but not stored, since a [Reduction] does not need the row
)

// Set marks rows lo to hi.
func (m Marks) Set(lo, hi int, code uint8) {
	if m != nil {
		fill(m[lo:hi], code)
	}
}

// Count returns the number of rows with a mark.
func (m Marks) Count(code uint8) int { return bytes.Count(m, byteCodes[code:code+1]) }

// Next returns the first row from i on with a mark, -1 if there is none.
func (m Marks) Next(i int, code uint8) int {
	if k := bytes.IndexByte(m[i:], code); k >= 0 {
		return i + k
	}
	return -1
}

// NextRun returns the first rows from i on that have a mark, [lo, hi); lo is -1 if there are none.
func (m Marks) NextRun(i int, code uint8) (lo, hi int) {
	if lo = m.Next(i, code); lo < 0 {
		return -1, -1
	}
	for hi = lo + 1; hi < len(m) && m[hi] == code; hi++ {
	}
	return lo, hi
}
