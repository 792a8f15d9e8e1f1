//go:build !linux

package peers

import (
	"errors"
	"runtime"
)

var errClock = errors.New("peers are measured on Linux only: the CPU time of a thread is taken from " +
	"CLOCK_THREAD_CPUTIME_ID")

func threadSeconds() (float64, error) { return 0, errClock }

func pin() (core int, undo func(), err error) { return 0, nil, errClock }

func processor() string { return runtime.GOARCH }
