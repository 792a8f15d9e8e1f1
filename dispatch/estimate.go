package dispatch

import (
	"math"
	"runtime"
	"time"

	"clearance/batch"
)

// cost is the assumed cost of a call on a kind of device: a fixed cost, and per row the time
// on the device and the time on the host, which is divided by the number of processors.
//
// Costs determine which back end is selected, never an answer. Those of the CPU were
// measured with depths in Go: 1.4 µs per row on two processors for signed distances of the
// benchmark sets, and a tenth of that for Boolean queries (docs/notebook/peers.md). Those of GPUs cover staging,
// submission and waiting, the link (about 180 bytes per row), and the time that the host
// needs to write poses and to read columns. GPUs of each kind were not measured, so the
// costs are biased in favour of the CPU; a back end with better figures is an [Estimator].
type cost struct {
	call time.Duration
	row  float64 // ns, on the device
	host float64 // ns, on one processor
}

var costs = [batch.DeviceKindCount]cost{
	batch.DiscreteGPU:   {call: 300 * time.Microsecond, row: 20, host: 150},
	batch.IntegratedGPU: {call: 200 * time.Microsecond, row: 150, host: 100},
	batch.VirtualGPU:    {call: 400 * time.Microsecond, row: 50, host: 150},
	batch.CPU:           {call: 10 * time.Microsecond, host: 2800},
}

// collideShare is the time of a Boolean query on the CPU relative to that of a distance query.
const collideShare = 0.1

// estimate returns the estimated time of a call with the given number of rows.
func estimate(b Backend, rows int, o *batch.Options) time.Duration {
	kind := b.Device().Kind
	if kind == batch.SoftwareGPU {
		return math.MaxInt64 // it emulates a GPU on the CPU, where the CPU back end is always faster
	}
	if e, ok := As[Estimator](b); ok {
		return e.Estimate(rows, o)
	}
	c := costs[kind]
	if kind == batch.CPU && o.StatusAlone() {
		c.host *= collideShare
	}
	return c.call + time.Duration(float64(rows)*(c.row+c.host/float64(runtime.NumCPU())))
}
