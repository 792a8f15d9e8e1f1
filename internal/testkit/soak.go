package testkit

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// SoakTime is how long a test is to run that soaks the engine: what CLEARANCE_SOAK says ("120s"), else usual, or short
// under -short.
func SoakTime(t *testing.T, usual, short time.Duration) time.Duration {
	t.Helper()
	if s := os.Getenv("CLEARANCE_SOAK"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("CLEARANCE_SOAK: %v", err)
		}
		return d
	}
	if testing.Short() {
		return short
	}
	return usual
}

// Garbage allocates hard, with the collector running all the time, until stop is called.
func Garbage() (stop func()) {
	old := debug.SetGCPercent(5)
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		var keep [64][]byte
		for i := 0; !done.Load(); i++ {
			keep[i%len(keep)] = make([]byte, 1<<(i%16))
		}
	})
	return func() {
		done.Store(true)
		wg.Wait()
		debug.SetGCPercent(old)
	}
}

// ResidentMiB is the memory of the process after a collection, 0 where the system does not
// tell. Handles are counted elsewhere; this sees what a driver or C forgets.
func ResidentMiB(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var total, resident int
	if _, err := fmt.Sscan(string(data), &total, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize() >> 20
}
