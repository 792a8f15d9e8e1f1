package rollout

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns the processor time of this process, by which benchmarks are compared on a machine with other
// jobs.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
