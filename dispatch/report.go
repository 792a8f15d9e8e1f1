package dispatch

import (
	"fmt"
	"slices"
	"time"

	"clearance/batch"
)

// Report says what became of a call.
type Report struct {
	Backend string // who was chosen, joined by "+" where several shared the rows
	Why     string // in a line

	Rows int // rows asked
	Done int // rows that a back end answered, Invalid ones included

	// Counts has the number of rows of each status; they add up to Rows. Rows that
	// were not reached are among the Undecided, Rows - Done of them.
	Counts [batch.StatusCount]int

	// Solvers has the number of rows that each solver ended; they add up to Rows. All are
	// 0 where a Boolean query does not ask for the method column.
	Solvers [batch.SolverCount]int

	// RowErrors are the first errors of single rows, in the order of the rows.
	RowErrors []*batch.RowError

	Iterations int64 // sum over all rows; 0 where a Boolean query does not ask for them

	// WorstGap is the largest gap relative to the size of its pair over the rows
	// that were promised one: those decided, and not beyond the cut-off. It is 0 for
	// the collide query, and pairs of two points, which have no size, are left out.
	// WorstGapRow is its row, -1 if there is none.
	WorstGap    float64
	WorstGapRow int

	// Spans says which back end answered which rows, in order, for the first
	// maxSpans of them; Shares adds them up. Rows declined are in Handovers.
	Spans     []Span
	Shares    []Share
	Failovers []Failover // back ends that failed
	Handovers []Handover // rows that a back end declined and another answered

	// Kernel is the time in which devices computed, as far as back ends measure it,
	// summed over devices; KernelRows is the number of rows given to those that do.
	Kernel     time.Duration
	KernelRows int

	Wall time.Duration // from the call to the last answer
}

// Span is a run of neighbouring chunks answered by one back end.
type Span struct {
	Backend string
	Lo, Hi  int // rows
	Chunks  int
	Wall    time.Duration // sum over the chunks
}

// Share is what one back end answered of a call.
type Share struct {
	Backend string
	Rows    int
	Chunks  int
	Wall    time.Duration // sum over the chunks
}

// maxSpans bounds the list of spans: where devices share the rows of a long stream, every
// chunk may be a span of its own.
const maxSpans = 1000

// Failover says that a back end failed on a chunk and was not used again in the call.
type Failover struct {
	Backend string
	Lo, Hi  int // rows of the chunk, answered by the next back end if there was one
	Err     error
}

// Declined is the number of rows that a back end left to another.
func (r *Report) Declined() (rows int) {
	for _, h := range r.Handovers {
		rows += h.Rows
	}
	return rows
}

// Rate returns answers a second.
func (r *Report) Rate() float64 {
	if r.Wall <= 0 {
		return 0
	}
	return float64(r.Done) / r.Wall.Seconds()
}

// Err returns nil if every row was decided, else a *[RowsError].
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

// RowsError counts the rows of a call that have no answer. The other rows are good.
type RowsError struct {
	Undecided, Invalid int
	First              *batch.RowError // first invalid row; nil if there is none
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

// handover adds to the counts of the report.
func (rep *Report) handover(h Handover) {
	for i := range rep.Handovers {
		if o := &rep.Handovers[i]; o.From == h.From && o.To == h.To {
			o.Rows, o.Wall = o.Rows+h.Rows, o.Wall+h.Wall
			return
		}
	}
	rep.Handovers = append(rep.Handovers, h)
}

// span notes that a back end has answered the chunk of rows [lo, hi).
func (rep *Report) span(backend string, lo, hi int, wall time.Duration) {
	i := slices.IndexFunc(rep.Shares, func(s Share) bool { return s.Backend == backend })
	if i < 0 {
		i, rep.Shares = len(rep.Shares), append(rep.Shares, Share{Backend: backend})
	}
	share := &rep.Shares[i]
	share.Rows, share.Chunks, share.Wall = share.Rows+hi-lo, share.Chunks+1, share.Wall+wall
	if n := len(rep.Spans); n > 0 && rep.Spans[n-1].Backend == backend && rep.Spans[n-1].Hi == lo {
		s := &rep.Spans[n-1]
		s.Hi, s.Chunks, s.Wall = hi, s.Chunks+1, s.Wall+wall
		return
	}
	if len(rep.Spans) < maxSpans {
		rep.Spans = append(rep.Spans, Span{Backend: backend, Lo: lo, Hi: hi, Chunks: 1, Wall: wall})
	}
}

// account adds the answers of a chunk.
func (r *runner) account(c *chunk) {
	rep, o, out := r.report, &c.job.Options, c.out
	cutOff, hasCutOff := o.EffectiveCutOff()
	minSize := c.job.Library.MinPairSize()
	for i, s := range out.Status {
		rep.Counts[s]++
		if batch.Status(s) == batch.Invalid {
			r.noteInvalid(c, c.lo+i)
		}
		if out.Iterations != nil {
			rep.Iterations += int64(out.Iterations[i])
		}
		if out.Method != nil {
			rep.Solvers[out.Method[i]]++
		}
		if s >= uint8(batch.Undecided) || o.Query == batch.Collide {
			continue
		}
		// Most rows cannot be the worst whatever their size is.
		if gap := float64(out.Gap[i]); gap > rep.WorstGap*minSize {
			if hasCutOff && out.Distance.At(i) > cutOff {
				continue
			}
			c.job.Input.Row(c.lo+i, &r.row)
			size := c.job.Library.PairSize(r.row.ShapeA, r.row.ShapeB)
			if g := gap / size; size > 0 && g > rep.WorstGap {
				rep.WorstGap, rep.WorstGapRow = g, c.base+c.lo+i
			}
		}
	}
}

// noteInvalid lists the error of row i of the chunk's job, as far as there is room.
func (r *runner) noteInvalid(c *chunk, i int) {
	if len(r.report.RowErrors) >= r.o.MaxRowErrors {
		return
	}
	e := &batch.RowError{Row: i, Column: "status", Reason: "the solver found the question ill-posed"}
	if _, err := c.job.Read(i, &r.row); err != nil {
		if re, ok := err.(*batch.RowError); ok {
			e = re
		}
	}
	e.Row += c.base
	r.report.RowErrors = append(r.report.RowErrors, e)
}
