package engine

import (
	"strings"
	"sync"
	"time"

	"clearance/internal/layout"
)

// Stats counts what a back end has done since Open.
type Stats struct {
	Calls  int64
	Rows   int64
	Chunks int64

	// Refined counts the answered rows for which double precision continued the search on the device, because
	// single precision had not come near enough. For the others it only proved the result.
	Refined int64

	// Depths counts the rows answered by separating axes or an expanding polytope, except those that turned out to
	// be separated: rows whose cores intersect and whose depth is wanted, and rows that could not be distinguished
	// from touching. They count as Refined, too.
	Depths int64

	// FoundInFloat32 counts those of Depths whose polytope was expanded in single precision, so that double precision
	// only proved the depth. Calls that want the status alone do not report it.
	FoundInFloat32 int64

	// Derived counts the rows whose derivatives the device computed, of calls with columns of derivatives; those of the
	// other rows are left to the host.
	Derived int64

	// Declined counts the rows left to another back end, by reason.
	Declined DeclinedRows

	// Bytes that the host wrote for the device and read back from it, for rows; libraries are not counted. Where the
	// two share their memory, these bytes cross no link.
	BytesUp, BytesDown int64

	// Times are device times, as far as the device measures them.
	Times Times
}

// Times are device times: of the passes in the order of their table, then of the transfers.
type Times [len(passes) + 2]time.Duration

// Names of the transfers.
const (
	UploadTime   = "upload"
	DownloadTime = "download"
)

// Names of the times, in their order.
var timeNames = func() (names [len(Times{})]string) {
	for i := range passes {
		names[i] = passes[i].name
	}
	names[len(passes)], names[len(passes)+1] = UploadTime, DownloadTime
	return names
}()

// Of returns the sum of the times of a shader's passes, or of a transfer. It panics if there is none of the name.
func (t *Times) Of(name string) (sum time.Duration) {
	found := false
	for i, own := range timeNames {
		if shader, _, _ := strings.Cut(own, "-"); shader == name {
			sum += t[i]
			found = true
		}
	}
	if !found {
		panic("engine: no pass is called " + name)
	}
	return sum
}

// add adds what the timestamps of a chunk say, nil if there are none, and returns the time of all passes.
func (t *Times) add(stamps []time.Duration) (kernel time.Duration) {
	if stamps == nil {
		return 0
	}
	last := stamps[stampStart]
	for i, at := range stamps[stampUploaded:] {
		if at < 0 { // not a pass of this chunk
			continue
		}
		span := max(at-last, 0)
		last = at
		switch slot := i + stampUploaded; slot {
		case stampUploaded:
			t[len(passes)] += span
		case stampEnd:
			t[len(passes)+1] += span
		default:
			t[slot-stampPasses] += span
			kernel += span
		}
	}
	return kernel
}

// DeclinedRows counts rows that were declined, by reason.
type DeclinedRows struct {
	Kind   int64 // the device has no shader for a kind of shape
	Depth  int64 // the cores intersect, and the polytope filled its memory or rounding stopped its expansion
	Gap    int64 // the bounds stayed too wide
	Budget int64 // the support functions exceed the limit on loop passes of an invocation
	// The device has no double precision, and proofs in sums of two floats were not sufficient; in double precision,
	// and for growth distances, that is every row.
	Precision int64
	Unknown   int64 // the device returned no valid status
}

// Sum returns the number of all declined rows.
func (d DeclinedRows) Sum() int64 {
	return d.Kind + d.Depth + d.Gap + d.Budget + d.Precision + d.Unknown
}

// tally counts rows of a chunk.
type tally struct {
	rows           int64
	refined        int64
	depths         int64
	foundInFloat32 int64
	derived        int64
	declined       [layout.DeclinedCount]int64
}

func (t *tally) add(o tally) {
	t.rows += o.rows
	t.refined += o.refined
	t.depths += o.depths
	t.foundInFloat32 += o.foundInFloat32
	t.derived += o.derived
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

// call counts a call and returns its number, starting with 1.
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

// declineAll counts rows that the device cannot answer for lack of double precision.
func (c *counters) declineAll(rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Rows += int64(rows)
	c.stats.Declined.Precision += int64(rows)
}

// chunk adds a chunk of which so many bytes were read. times are the timestamps, nil if there are none. It returns the
// time in which the device ran the shaders.
func (c *counters) chunk(t tally, bytes uint64, times []time.Duration) (kernel time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.stats
	s.Chunks++
	s.Rows += t.rows
	s.BytesDown += int64(bytes)
	s.Refined += t.refined
	s.Depths += t.depths
	s.FoundInFloat32 += t.foundInFloat32
	s.Derived += t.derived
	s.Declined.Unknown += t.declined[0]
	s.Declined.Kind += t.declined[layout.DeclinedKind]
	s.Declined.Depth += t.declined[layout.DeclinedIntersecting]
	s.Declined.Gap += t.declined[layout.DeclinedGap]
	s.Declined.Budget += t.declined[layout.DeclinedLoops]
	s.Declined.Precision += t.declined[layout.DeclinedPrecision]
	return s.Times.add(times)
}
