package meter

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the CPU time that the calling thread has used.
func threadTime() (time.Duration, error) { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

// processTime is the CPU time that the process has used.
func processTime() (time.Duration, error) { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

func clock(id int32) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
