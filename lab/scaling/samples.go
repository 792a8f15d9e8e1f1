package scaling

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"

	"clearance/internal/meter"

	"github.com/google/pprof/profile"
)

// samples are the samples of a CPU profile that are not of workers, by what the thread did.
type samples struct {
	own     int // code of a goroutine of the call, memory that it is the first to touch or that is cleared for it
	kernel  int // a system call of such a goroutine: files
	runtime int // the runtime of Go by itself: its monitor, scheduler and collector, and their system calls
}

func (s samples) all() int { return s.own + s.kernel + s.runtime }

// sample calls f until the calls took so much CPU time, and takes samples of it, 100 per second of CPU time. Before
// each call it calls clear, whose samples do not count.
func sample(least time.Duration, clear, f func() error) (samples, error) {
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		return samples{}, fmt.Errorf("scaling: %w", err)
	}
	var err error
	for used := time.Duration(0); used < least && err == nil; {
		var inside, outside time.Duration
		pprof.Do(context.Background(), pprof.Labels(meter.Label, "0"), func(context.Context) { err = clear() })
		if err == nil {
			inside, outside, err = meter.Measure(f)
			used += inside + outside
		}
	}
	pprof.StopCPUProfile()
	if err != nil {
		return samples{}, err
	}
	p, err := profile.Parse(&b)
	if err != nil {
		return samples{}, fmt.Errorf("scaling: %w", err)
	}
	return classify(p), nil
}

// classify counts the samples of a profile that are not of workers.
func classify(p *profile.Profile) (s samples) {
	for _, one := range p.Sample {
		if len(one.Label[meter.Label]) > 0 {
			continue
		}
		n := int(one.Value[0])
		switch leaf, others := frames(one); {
		case !others:
			s.runtime += n
		case isSystemCall(leaf):
			s.kernel += n
		default:
			s.own += n
		}
	}
	return s
}

// frames returns the innermost function of a sample, and whether any function is one of a goroutine that the runtime
// did not start for itself.
func frames(s *profile.Sample) (leaf string, others bool) {
	for _, at := range s.Location {
		for _, line := range at.Line {
			if line.Function == nil {
				continue
			}
			name := line.Function.Name
			if leaf == "" {
				leaf = name
			}
			others = others || !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "internal/runtime/")
		}
	}
	return leaf, others
}

// systemCalls are the functions whose next instruction is that after a system call, where samples of the kernel are.
var systemCalls = []string{"internal/runtime/syscall", "syscall.", "runtime.futex", "runtime.madvise",
	"runtime.sysMmap", "runtime.sysMunmap", "runtime.usleep", "runtime.osyield", "runtime.tgkill"}

func isSystemCall(function string) bool {
	for _, prefix := range systemCalls {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
