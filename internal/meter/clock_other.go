//go:build !linux

package meter

import (
	"errors"
	"time"
)

var errClock = errors.New("the CPU time of a thread is measured on Linux only")

func threadTime() (time.Duration, error) { return 0, errClock }

func processTime() (time.Duration, error) { return 0, errClock }
