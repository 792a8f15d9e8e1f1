package peers

import (
	"bufio"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// threadSeconds is the CPU time that the calling thread has used.
func threadSeconds() (float64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, err
	}
	return float64(t.Sec) + 1e-9*float64(t.Nsec), nil
}

// pin keeps the calling goroutine on one thread and that thread, with the processes
// that it starts from now on, on one core: the last that the program may use. It
// returns the core and what undoes it.
func pin() (core int, undo func(), err error) {
	runtime.LockOSThread()
	var old unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		runtime.UnlockOSThread()
		return 0, nil, err
	}
	const most = 8 * len(old) * 8 // bits of a set, at most
	for i := range most {
		if old.IsSet(i) {
			core = i
		}
	}
	var one unix.CPUSet
	one.Set(core)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		runtime.UnlockOSThread()
		return 0, nil, err
	}
	return core, func() {
		if unix.SchedSetaffinity(0, &old) == nil {
			runtime.UnlockOSThread() // else the thread ends with its goroutine
		}
	}, nil
}

// processor is the name of the processor.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
