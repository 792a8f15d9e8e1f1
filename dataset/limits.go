package dataset

import (
	"fmt"
	"sync"
)

// DefaultMemory bounds the bytes that the reader of one file allocates on account of what the
// file declares: metadata, pages as they are stored, pages decompressed, dictionaries. Writers
// make pages of about 1 MiB, so a file of eight columns needs some tens of MiB.
const DefaultMemory = 512 << 20

// Option changes how a file is read.
type Option func(*limits)

// WithMemory sets the memory budget of a file in bytes, in place of [DefaultMemory].
func WithMemory(bytes int64) Option {
	return func(l *limits) { l.left = bytes }
}

// WithWorkers sets the number of goroutines that read a file, in place of one per processor.
func WithWorkers(n int) Option {
	return func(l *limits) { l.workers = n }
}

// limits is what is left of the memory budget of a file, and how many goroutines read it.
type limits struct {
	sync.Mutex
	left    int64
	workers int // 0: one per processor
}

func newLimits(opts []Option) *limits {
	l := &limits{left: DefaultMemory}
	for _, o := range opts {
		o(l)
	}
	return l
}

// take accounts for bytes about to be allocated.
func (l *limits) take(bytes int64, what string) error {
	l.Lock()
	defer l.Unlock()
	if bytes < 0 || bytes > l.left {
		return fmt.Errorf("%s needs %d bytes, %d are left of the memory budget of a file", what, bytes, l.left)
	}
	l.left -= bytes
	return nil
}

// grow returns a buffer of n bytes, b itself if that is large enough. Bytes that b had are
// given back.
func (l *limits) grow(b []byte, n int, what string) ([]byte, error) {
	if n <= cap(b) {
		return b[:n], nil
	}
	if err := l.take(int64(n-cap(b)), what); err != nil {
		return nil, err
	}
	return make([]byte, n), nil
}
