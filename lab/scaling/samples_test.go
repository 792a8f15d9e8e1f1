package scaling

import (
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"clearance/internal/meter"
)

var sink float64

// burn uses CPU time in code of ours.
func burn() {
	for i := range 30_000_000 {
		sink += math.Sqrt(float64(i))
	}
}

// Samples are those of the goroutine that is no worker, and of no other.
func TestSamples(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the CPU time of a thread is measured on Linux only")
	}
	s, err := sample(800*time.Millisecond, func() error { return nil }, func() error {
		var worker sync.WaitGroup
		worker.Go(func() {
			defer meter.Worker().End()
			burn()
		})
		worker.Wait()
		burn()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// About 40 samples are of workers and as many of the other goroutine: CPU time is what is sampled.
	if s.own < 8 || s.own > 100 || s.own < 3*(s.kernel+s.runtime) {
		t.Errorf("samples %+v, want most of them as own", s)
	}
}

func TestSystemCalls(t *testing.T) {
	for name, want := range map[string]bool{"internal/runtime/syscall/linux.Syscall6": true, "runtime.futex": true,
		"runtime.futexwakeup": true, "syscall.RawSyscall6": true, "runtime.memmove": false, "clearance.Open": false} {
		if got := isSystemCall(name); got != want {
			t.Errorf("isSystemCall(%q) = %v", name, got)
		}
	}
}

// A figure is divided by enough samples, and then the runtime does not count as one goroutine's.
func TestDivide(t *testing.T) {
	p := Point{Inside: 100, Outside: 10}
	p.divide(samples{own: 4, kernel: 2, runtime: 13})
	if got, want := p.rate(4), 1e9/(100./4+10); math.Abs(got-want) > 1e-6*want {
		t.Errorf("19 samples: %g rows/s, want %g", got, want)
	}
	p.divide(samples{own: 4, kernel: 2, runtime: 14})
	if p.Own != 2 || p.Kernel != 1 || p.Runtime != 7 {
		t.Errorf("%g, %g and %g ns, want 2, 1 and 7", p.Own, p.Kernel, p.Runtime)
	}
	if got, want := p.rate(4), 1e9/(107./4+3); math.Abs(got-want) > 1e-6*want {
		t.Errorf("20 samples: %g rows/s, want %g", got, want)
	}
}
