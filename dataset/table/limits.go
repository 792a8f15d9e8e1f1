package table

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"sync"

	"clearance/internal/fault"
	"clearance/internal/memory"
)

// DefaultMemory is the memory budget of a file, unless its reader is given another.
const DefaultMemory = 512 << 20

// DefaultLimits returns the limits of a reader without options.
func DefaultLimits() *Limits { return &Limits{Left: DefaultMemory} }

// Limits are the rest of the memory budget of a file, and the number of goroutines that read it.
type Limits struct {
	sync.Mutex
	Left    int64
	Workers int // 0: one per processor
}

// Take accounts for bytes about to be allocated.
func (l *Limits) Take(bytes int64, what string) error {
	l.Lock()
	defer l.Unlock()
	if bytes < 0 || bytes > l.Left {
		return fmt.Errorf("%s needs %d bytes, %d are left of the memory budget of a file", what, bytes, l.Left)
	}
	l.Left -= bytes
	return nil
}

// Grow returns a buffer of n bytes, b itself if that is large enough. Bytes that b had are
// given back.
func (l *Limits) Grow(b []byte, n int, what string) ([]byte, error) {
	if n <= cap(b) {
		return b[:n], nil
	}
	if err := l.Take(int64(n-cap(b)), what); err != nil {
		return nil, err
	}
	return make([]byte, n), nil
}

// Growing reads n values into a slice that grows with what has been read.
func Growing[T any](n int64, to *[]T, read func(part []T) error) error {
	const step = 3 << 16 // whole rows of 1, 3 or 4 values
	*to = []T{}
	for at := int64(0); at < n; at = int64(len(*to)) {
		more := int(min(n-at, max(1, at/4/step)*step)) // as slices grow
		*to = slices.Grow(*to, more)[:int(at)+more]
		if err := read((*to)[at:]); err != nil {
			return err
		}
	}
	return nil
}

// CheckMemory returns an error if a slice of n values takes more memory than there is: it grows by a quarter at a time,
// and has its values twice meanwhile. What a file declares may be a thousand times its own size.
func CheckMemory[T any](what string, n int64) error {
	return memory.Check(what, 2.25*float64(n)*float64(reflect.TypeFor[T]().Size()))
}

// PartBytes is about what a worker reads, writes or encodes at a time: small beside a chunk of rows, so that all
// workers end together, and large beside a system call.
const PartBytes = 1 << 18

// WorkersOr is the number of workers to use where n are asked for, and 0 stands for one per processor.
func WorkersOr(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// Parallel calls f(0) to f(n-1) by at most so many workers and waits for them. Calls begin in order; after an error no
// further one begins. It returns the error of the lowest index, which does not depend on the number of workers. A panic
// is an error.
func Parallel(workers, n int, f func(i int) error) error {
	return fault.Each(context.Background(), workers, n, func(i int) (err error) {
		defer Caught(&err)
		return f(i)
	})
}

// Caught converts a panic, which the Parquet library raises on some failed writes, to an error.
func Caught(err *error) {
	if v := recover(); v != nil {
		if e, ok := v.(error); ok {
			*err = e
		} else {
			*err = fmt.Errorf("%v", v)
		}
	}
}

// OpenRegular opens a regular file and returns its size. What kind of file it is is asked
// before it is opened, for opening a FIFO waits for its writer.
func OpenRegular(path string) (*os.File, int64, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, 0, fmt.Errorf("%s is not a regular file", path)
	}
	return f, info.Size(), nil
}
