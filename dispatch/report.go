package dispatch

import (
	"fmt"
	"slices"
	"time"

	"clearance/batch"
)

// A Report describes the outcome of a call.
type Report struct {
	Backend string // name of the back end; several names are joined by "+"
	Why     string // why it was selected, in one line

	Devices []batch.Device // those that share the rows

	Rows int // rows of the call
	Done int // rows that a back end answered, including Invalid ones

	// Counts is the number of rows of each status; the sum is Rows. Rows that were not
	// reached, Rows - Done of them, count as Undecided.
	Counts [batch.StatusCount]int

	// Solvers is the number of rows that each solver ended; the sum is Rows. All are 0
	// for a query of statuses alone without the method column.
	Solvers [batch.SolverCount]int

	// RowErrors lists the first Invalid rows, in order, at most Options.MaxRowErrors.
	RowErrors []*batch.RowError

	Iterations int64 // sum over all rows; 0 for a query of statuses alone without the column

	// WorstGap is the largest gap relative to the scale of its row (the size of the pair, or
	// the value of a growth factor above 1), over the rows to which the tolerance applies: those
	// decided and not beyond the cut-off. It is 0 for a query of statuses alone. Pairs of two
	// points, whose size is 0, are excluded. WorstGapRow is its row, -1 if there is none.
	WorstGap    float64
	WorstGapRow int

	// Spans lists which back end answered which rows, in order, at most maxSpans
	// entries. Shares has the sums. Declined rows are in Handovers.
	Spans     []Span
	Shares    []Share
	Failovers []Failover // back ends that failed
	Handovers []Handover // rows that a back end declined and another answered

	// Kernel is the time that devices spent computing, summed over the devices of back
	// ends that measure it; KernelRows is the number of rows of those back ends.
	Kernel     time.Duration
	KernelRows int

	BytesDown int64 // that back ends read of the memory of devices, of those that tell

	Wall time.Duration // from the call to the last answer

	maxRowErrors int // see Options.MaxRowErrors
}

// describe sets what the report says of the choice of the back ends.
func (r *Report) describe(c *Choice) { r.Backend, r.Why, r.Devices = c.Name(), c.Why, c.Devices() }

// A Span is a sequence of adjacent chunks answered by one back end.
type Span struct {
	Backend string
	Lo, Hi  int // rows
	Chunks  int
	Wall    time.Duration // sum over the chunks
}

// A Share is the part of a call that one back end answered.
type Share struct {
	Backend string
	Rows    int
	Chunks  int
	Wall    time.Duration // sum over the chunks
}

// maxSpans bounds the list of spans: if devices share the rows of a long stream, every chunk
// may be a span of its own.
const maxSpans = 1000

// A Failover records that a back end failed on a chunk and was not used again in the call.
type Failover struct {
	Backend string
	Lo, Hi  int // rows of the chunk, which the next back end answered, if there was one
	Err     error
}

// Declined returns the number of rows that a back end declined and another answered.
func (r *Report) Declined() (rows int) {
	for _, h := range r.Handovers {
		rows += h.Rows
	}
	return rows
}

// Rate returns the number of rows answered per second.
func (r *Report) Rate() float64 {
	if r.Wall <= 0 {
		return 0
	}
	return float64(r.Done) / r.Wall.Seconds()
}

// Err returns a *[RowsError] if any row has no answer, that is, if its status is Undecided
// or Invalid, and nil otherwise. It is for callers that need an answer for every row.
func (r *Report) Err() error {
	e := &RowsError{Undecided: r.Counts[batch.Undecided], Invalid: r.Counts[batch.Invalid]}
	if e.Undecided == 0 && e.Invalid == 0 {
		return nil
	}
	if len(r.RowErrors) > 0 {
		e.First = r.RowErrors[0]
	}
	return e
}

// A RowsError counts the rows of a call without an answer. All other rows are valid.
type RowsError struct {
	Undecided, Invalid int
	First              *batch.RowError // first invalid row, nil if there is none
}

func (e *RowsError) Error() string {
	s := fmt.Sprintf("rows without an answer: %d undecided, %d invalid", e.Undecided, e.Invalid)
	if e.First != nil {
		s += "; first: " + e.First.Error()
	}
	return s
}

// Unwrap returns the error of the first invalid row.
func (e *RowsError) Unwrap() error {
	if e.First == nil {
		return nil
	}
	return e.First
}

// handover adds h to the counts of the report.
func (rep *Report) handover(h Handover) {
	for i := range rep.Handovers {
		if o := &rep.Handovers[i]; o.From == h.From && o.To == h.To {
			o.Rows, o.Wall = o.Rows+h.Rows, o.Wall+h.Wall
			return
		}
	}
	rep.Handovers = append(rep.Handovers, h)
}

// span records that a back end has answered the chunk of rows [lo, hi).
func (rep *Report) span(backend string, lo, hi int, wall time.Duration) {
	rep.share(Share{Backend: backend, Rows: hi - lo, Chunks: 1, Wall: wall})
	rep.addSpan(Span{Backend: backend, Lo: lo, Hi: hi, Chunks: 1, Wall: wall})
}

// share adds s to the share of its back end.
func (rep *Report) share(s Share) {
	i := slices.IndexFunc(rep.Shares, func(o Share) bool { return o.Backend == s.Backend })
	if i < 0 {
		rep.Shares = append(rep.Shares, s)
		return
	}
	o := &rep.Shares[i]
	o.Rows, o.Chunks, o.Wall = o.Rows+s.Rows, o.Chunks+s.Chunks, o.Wall+s.Wall
}

// addSpan adds the span after the last one, and to it if it goes on there.
func (rep *Report) addSpan(s Span) {
	if n := len(rep.Spans); n > 0 && rep.Spans[n-1].Backend == s.Backend && rep.Spans[n-1].Hi == s.Lo {
		o := &rep.Spans[n-1]
		o.Hi, o.Chunks, o.Wall = s.Hi, o.Chunks+s.Chunks, o.Wall+s.Wall
		return
	}
	if len(rep.Spans) < maxSpans {
		rep.Spans = append(rep.Spans, s)
	}
}

// account adds the counts of a chunk: of the rows with an answer, of those that were omitted, and of those without,
// which are Undecided by no solver.
func (r *runner) account(c *chunk, unanswered int) {
	rep, count, t := r.report, &c.count, &c.tally
	addAll(rep.Counts[:], count.Statuses[:])
	addAll(rep.Counts[:], t.Counts[:])
	rep.Counts[batch.Undecided] += unanswered
	if c.out.Iterations() != nil {
		rep.Iterations += count.Iterations + t.Iterations
	}
	if c.out.Method() != nil {
		addAll(rep.Solvers[:], count.Solvers[:])
		addAll(rep.Solvers[:], t.Solvers[:])
		rep.Solvers[batch.SolverNone] += unanswered
	}
	if count.WorstGap > rep.WorstGap {
		rep.WorstGap, rep.WorstGapRow = count.WorstGap, c.base+count.WorstGapRow
	}
	for _, row := range count.Invalid {
		r.noteInvalid(c, row)
	}
}

// noteInvalid records the error of row i of the chunk's job, up to the limit.
func (r *runner) noteInvalid(c *chunk, i int) {
	if len(r.report.RowErrors) >= r.o.MaxRowErrors {
		return
	}
	e := &batch.RowError{Row: i, Column: "status", Reason: "the solver found the query ill-posed"}
	if _, err := c.job.Read(i, &r.row); err != nil {
		if re, ok := err.(*batch.RowError); ok {
			e = re
		}
	}
	e.Row += c.base
	r.report.RowErrors = append(r.report.RowErrors, e)
}

// Merge adds the report of the rows after those of r. Their row numbers count from the first row of the whole, see
// Options.FirstRow. The reports of consecutive parts, merged in order, are the report of one call with the same chunks,
// but for Wall, which is their sum, and the limit of RowErrors, which is that of the first part. r is at first the
// report of the first part.
func (r *Report) Merge(next *Report) {
	r.Rows, r.Done = r.Rows+next.Rows, r.Done+next.Done
	addAll(r.Counts[:], next.Counts[:])
	addAll(r.Solvers[:], next.Solvers[:])
	for _, e := range next.RowErrors {
		if len(r.RowErrors) < r.maxRowErrors {
			r.RowErrors = append(r.RowErrors, e)
		}
	}
	r.Iterations += next.Iterations
	if next.WorstGapRow >= 0 && (r.WorstGapRow < 0 || next.WorstGap > r.WorstGap) {
		r.WorstGap, r.WorstGapRow = next.WorstGap, next.WorstGapRow
	}
	for _, s := range next.Shares {
		r.share(s)
	}
	for _, s := range next.Spans {
		r.addSpan(s)
	}
	r.Failovers = append(r.Failovers, next.Failovers...)
	for _, h := range next.Handovers {
		r.handover(h)
	}
	r.Kernel, r.KernelRows = r.Kernel+next.Kernel, r.KernelRows+next.KernelRows
	r.BytesDown += next.BytesDown
	r.Wall += next.Wall
}

// newReport returns the report of no rows.
func newReport(o *Options) Report { return Report{WorstGapRow: -1, maxRowErrors: o.MaxRowErrors} }

func addAll(to, from []int) {
	for i, n := range from {
		to[i] += n
	}
}
