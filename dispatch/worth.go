package dispatch

import (
	"math"
	"runtime"
	"time"

	"clearance/batch"
)

// worth is what a kind of device is assumed to take for a call: call, and for every row
// the time of the device, and of the host divided by its processors.
//
// The figures decide who is asked, never what is answered. Those of the CPU are from
// docs/performance.md: 1.4 µs a row on two processors for signed distances of the
// benchmark sets, a tenth of that for Boolean answers. Those of GPUs hold the fixed cost
// of staging, submitting and waiting, the link (some 180 bytes a row), and the time in
// which the host writes poses and reads columns; no GPU of each kind was measured, so
// they err on the side of the CPU, and a back end that knows better says so ([Estimator]).
type worth struct {
	call time.Duration
	row  float64 // ns, on the device
	host float64 // ns, on one processor
}

var worths = [batch.DeviceKindCount]worth{
	batch.DiscreteGPU:   {call: 300 * time.Microsecond, row: 20, host: 150},
	batch.IntegratedGPU: {call: 200 * time.Microsecond, row: 150, host: 100},
	batch.VirtualGPU:    {call: 400 * time.Microsecond, row: 50, host: 150},
	batch.CPU:           {call: 10 * time.Microsecond, host: 2800},
}

// collideShare is the part of the time of a distance on the CPU that a Boolean answer takes.
const collideShare = 0.1

// estimate is how long a back end is assumed to take for so many rows.
func estimate(b Backend, rows int, o *batch.Options) time.Duration {
	kind := b.Device().Kind
	if kind == batch.SoftwareGPU {
		return math.MaxInt64 // it emulates a GPU on the CPU, whose own back end always beats it
	}
	if e, ok := As[Estimator](b); ok {
		return e.Estimate(rows, o)
	}
	w := worths[kind]
	if kind == batch.CPU && o.Query == batch.Collide {
		w.host *= collideShare
	}
	return w.call + time.Duration(float64(rows)*(w.row+w.host/float64(runtime.NumCPU())))
}
