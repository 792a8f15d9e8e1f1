package engine

import (
	"sync"
	"time"

	"clearance/internal/layout"
)

// Stats counts what a back end has done since Open.
type Stats struct {
	Calls  int64
	Rows   int64
	Chunks int64

	// Refined counts rows that double precision went on from on the device, since
	// single precision had not come near enough. The others it only proved.
	Refined int64

	// Depths counts rows that were answered by separating axes or an expanding polytope:
	// those whose cores overlap and whose depth was asked for, and those that could not be
	// told from touching. They count as Refined, too. Those that turned out separated are
	// not among them.
	Depths int64

	// Sketched counts those of them whose polytope was expanded in single precision, so that double
	// precision only proved the depth, of calls that ask for more than statuses.
	Sketched int64

	// Declined counts rows left to another back end, by why.
	Declined DeclinedRows

	// Bytes that the host wrote for the device and read back from it, for rows; libraries
	// are not counted. Where the two share their memory they cross no link.
	BytesUp, BytesDown int64

	// Device times, as far as the device tells them: moving input in, placing pairs,
	// searching in single precision, polishing the directions that the trust region method
	// found, certifying in double precision, expanding polytopes in single and in double
	// precision, moving answers out.
	Upload, Place, Solve, Polish, Certify, Sketch, Deepen, Download time.Duration
}

// DeclinedRows counts rows that were declined.
type DeclinedRows struct {
	Kind    int64 // no shader for a kind of shape
	Overlap int64 // the cores overlap, and the polytope filled its memory or rounding kept it from growing
	Gap     int64 // the bounds stayed too wide
	Budget  int64 // more vertices than one invocation may look at
	Unknown int64 // the device gave no status, or none that means anything
}

// Sum is the number of all of them.
func (d DeclinedRows) Sum() int64 { return d.Kind + d.Overlap + d.Gap + d.Budget + d.Unknown }

// tally counts rows of a chunk.
type tally struct {
	rows     int64
	refined  int64
	deepened int64
	sketched int64
	declined [layout.DeclinedCount]int64
}

func (t *tally) add(o tally) {
	t.rows += o.rows
	t.refined += o.refined
	t.deepened += o.deepened
	t.sketched += o.sketched
	for i, n := range o.declined {
		t.declined[i] += n
	}
}

// counters are the Stats of a back end.
type counters struct {
	mu    sync.Mutex
	stats Stats
}

// Stats returns what the back end has done since Open.
func (b *Backend) Stats() Stats {
	b.stats.mu.Lock()
	defer b.stats.mu.Unlock()
	return b.stats.stats
}

// call counts a call and returns its number, from 1.
func (c *counters) call() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Calls++
	return c.stats.Calls
}

// sent counts bytes that were written for the device.
func (c *counters) sent(bytes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.BytesUp += int64(bytes)
}

// chunk adds a chunk of which so many bytes were read. times are the timestamps, nil if
// there are none.
func (c *counters) chunk(t tally, bytes uint64, times []time.Duration) (kernel time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.stats
	s.Chunks++
	s.Rows += t.rows
	s.BytesDown += int64(bytes)
	s.Refined += t.refined
	s.Depths += t.deepened
	s.Sketched += t.sketched
	s.Declined.Unknown += t.declined[0]
	s.Declined.Kind += t.declined[layout.DeclinedKind]
	s.Declined.Overlap += t.declined[layout.DeclinedOverlap]
	s.Declined.Gap += t.declined[layout.DeclinedGap]
	s.Declined.Budget += t.declined[layout.DeclinedBudget]
	if times == nil {
		return 0
	}
	span := func(from, to int) time.Duration { return max(times[to]-times[from], 0) }
	s.Upload += span(stampStart, stampUploaded)
	s.Place += span(stampUploaded, stampPlaced)
	s.Solve += span(stampPlaced, stampSolved)
	s.Polish += span(stampSolved, stampPolished)
	s.Certify += span(stampPolished, stampCertified)
	s.Sketch += span(stampCertified, stampSketched)
	s.Deepen += span(stampSketched, stampDeepened)
	s.Download += span(stampDeepened, stampEnd)
	return span(stampUploaded, stampDeepened)
}
