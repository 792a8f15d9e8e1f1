package dispatch

import (
	"context"
	"fmt"
	"time"

	"clearance/batch"
)

// A Handover counts rows that one back end declined and another answered.
type Handover struct {
	From, To string
	Rows     int
	Wall     time.Duration
}

// completeChunk answers the declined rows of a chunk, and then takes the derivatives of its answers.
func (r *runner) completeChunk(ctx context.Context, c *chunk) error {
	if err := r.answerDeclined(ctx, c); err != nil || c.whole == nil {
		return err
	}
	return differentiate(ctx, r.pool, c)
}

// answerDeclined answers the declined rows of a chunk on other back ends, best first. Rows that
// all of them decline remain unanswered. An error is the error of the context.
func (r *runner) answerDeclined(ctx context.Context, c *chunk) error {
	for _, m := range r.pool.declined {
		rows := c.declinedRows()
		if len(rows) == 0 {
			return nil
		}
		if m == c.by || r.pool.dropped(m) != nil {
			continue
		}
		start := time.Now()
		sub := c.subset(rows)
		_, err := guard(ctx, m.Backend, sub, 0, len(rows), sub.Results, nil, &batch.Count{WorstGapRow: -1, Bad: -1})
		if err != nil && !ended(ctx, err) {
			lo, hi := c.base+c.lo, c.base+c.hi
			err = fmt.Errorf("dispatch: back end %s failed on %d rows of [%d, %d): %w", m.Name(), len(rows), lo, hi,
				err)
			c.failovers = append(c.failovers, Failover{m.Name(), lo, hi, err})
			r.pool.drop(m, err)
			continue
		}
		if answered := c.scatter(rows, sub.Results); answered > 0 {
			c.handovers = append(c.handovers, Handover{c.by.Name(), m.Name(), answered, time.Since(start)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// declinedRows lists the rows without an answer.
func (c *chunk) declinedRows() (rows []int) {
	m := c.out.Marks
	for i := m.Next(0, batch.Unanswered); i >= 0; i = m.Next(i+1, batch.Unanswered) {
		rows = append(rows, i)
	}
	return rows
}

// subset returns a job with the given rows of the chunk.
func (c *chunk) subset(rows []int) *batch.Job {
	o := c.job.Options
	if w := o.WarmStart; w != nil {
		o.WarmStart = make([]float64, 0, 3*len(rows))
		for _, i := range rows {
			o.WarmStart = append(o.WarmStart, w[3*(c.lo+i):3*(c.lo+i)+3]...)
		}
	}
	columns := o
	columns.Columns = c.out.Columns &^ batch.ColBits
	// A pair list for any form of input: back ends read its columns in bulk.
	pairs := batch.NewPairs(len(rows))
	var r batch.Row
	for k, i := range rows {
		c.job.Input.Row(c.lo+i, &r)
		pairs.SetRow(k, &r)
	}
	sub := &batch.Job{
		Library: c.job.Library, Options: o, Input: pairs,
		Results: batch.UnsetResults(len(rows), &columns),
	}
	sub.Results.Marks = make(batch.Marks, len(rows))
	return sub
}

// scatter stores the answers of a subset in their rows, counts them and returns their number.
func (c *chunk) scatter(rows []int, from *batch.Results) (answered int) {
	for k, i := range rows {
		if from.Marks[k] != batch.Answered {
			continue
		}
		answered++
		c.out.CopyRow(i, from, k, c.out.Columns)
		c.out.Marks[i] = batch.Answered
		c.count.Add(c.job, c.lo, c.out, i, i+1)
	}
	return answered
}
