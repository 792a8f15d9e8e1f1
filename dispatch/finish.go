package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clearance/batch"
)

// Handover counts rows that one back end declined and another answered.
type Handover struct {
	From, To string
	Rows     int
	Wall     time.Duration
}

// finish has the rows that back end b declined answered by the other back ends, best
// first, each row once. Rows that nobody takes stay pending. The error is that of
// the context.
func (r *runner) finish(ctx context.Context, b Backend, lo int, out *batch.Results) error {
	from := b.Name()
	for k := 0; k < len(r.others); {
		rows := pendingRows(out.Status)
		if len(rows) == 0 {
			return nil
		}
		other := r.others[k]
		if other == b {
			k++
			continue
		}
		start := time.Now()
		sub := r.subset(lo, rows, out)
		err := guard(ctx, other, sub, 0, len(rows), sub.Results, nil)
		if err != nil && !(ctx.Err() != nil && errors.Is(err, ctx.Err())) {
			err = fmt.Errorf("dispatch: back end %s failed on %d rows of [%d, %d): %w", other.Name(), len(rows), r.base+lo, r.base+lo+out.N, err)
			r.report.Failovers = append(r.report.Failovers, Failover{other.Name(), r.base + lo, r.base + lo + out.N, err})
			r.others = append(r.others[:k:k], r.others[k+1:]...)
			continue
		}
		answered := scatter(out, rows, sub.Results)
		r.handover(from, other.Name(), answered, time.Since(start))
		if err != nil {
			return err
		}
		k++
	}
	return nil
}

// handover adds to the counts of the report.
func (r *runner) handover(from, to string, rows int, wall time.Duration) {
	if rows == 0 {
		return
	}
	for i := range r.report.Handovers {
		if h := &r.report.Handovers[i]; h.From == from && h.To == to {
			h.Rows, h.Wall = h.Rows+rows, h.Wall+wall
			return
		}
	}
	r.report.Handovers = append(r.report.Handovers, Handover{From: from, To: to, Rows: rows, Wall: wall})
}

// pendingRows lists the rows that have no status.
func pendingRows(status []uint8) (rows []int) {
	for i, s := range status {
		if s >= uint8(batch.StatusCount) {
			rows = append(rows, i)
		}
	}
	return rows
}

// subset is the job of some rows of the chunk that begins at row lo.
func (r *runner) subset(lo int, rows []int, out *batch.Results) *batch.Job {
	o := r.job.Options
	if w := o.WarmStart; w != nil {
		o.WarmStart = make([]float64, 0, 3*len(rows))
		for _, i := range rows {
			o.WarmStart = append(o.WarmStart, w[3*(lo+i):3*(lo+i)+3]...)
		}
	}
	columns := o
	columns.Columns = out.Columns &^ batch.ColBits
	sub := &batch.Job{
		Library: r.job.Library, Options: o,
		Input:   &subset{in: r.job.Input, lo: lo, rows: rows},
		Results: batch.NewResults(len(rows), &columns),
	}
	for i := range sub.Results.Status {
		sub.Results.Status[i] = pending
	}
	return sub
}

// subset is the input that consists of some rows of another.
type subset struct {
	in   batch.Input
	lo   int
	rows []int // relative to lo
}

func (s *subset) Len() int                { return len(s.rows) }
func (s *subset) Row(i int, r *batch.Row) { s.in.Row(s.lo+s.rows[i], r) }

// scatter stores the answers of a subset in their rows and returns how many there are.
func scatter(out *batch.Results, rows []int, from *batch.Results) (answered int) {
	for k, i := range rows {
		s := from.Status[k]
		if s >= uint8(batch.StatusCount) {
			continue
		}
		answered++
		out.Status[i] = s
		copyFloats(&out.Distance, &from.Distance, i, k, 1)
		copyFloats(&out.Normal, &from.Normal, i, k, 3)
		copyFloats(&out.WitnessA, &from.WitnessA, i, k, 3)
		copyFloats(&out.WitnessB, &from.WitnessB, i, k, 3)
		if out.Gap != nil {
			out.Gap[i] = from.Gap[k]
		}
		if out.Iterations != nil {
			out.Iterations[i] = from.Iterations[k]
		}
	}
	return answered
}

// copyFloats copies row k of a column of n numbers a row to row i of another.
func copyFloats(to, from *batch.Floats, i, k, n int) {
	if to.F64 != nil {
		copy(to.F64[n*i:n*i+n], from.F64[n*k:])
	}
	if to.F32 != nil {
		copy(to.F32[n*i:n*i+n], from.F32[n*k:])
	}
}
