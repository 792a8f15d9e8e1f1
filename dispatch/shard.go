package dispatch

import (
	"fmt"
	"io"

	"clearance/batch"
)

// Shard returns the rows [lo, hi) of a source, which must be at its first row. The rows before lo are read and
// dropped. A source that ends before hi is an error. The answers and the report are those of the rows in the whole if
// Options.FirstRow is lo and Options.EstimateRows the number of rows of the whole.
func Shard(source Source, lo, hi int) (Source, error) {
	if n := sourceRows(source); lo < 0 || hi < lo || n != UnknownRows && hi > n {
		return nil, fmt.Errorf("dispatch: rows %d to %d of %d", lo, hi, n)
	}
	return &shard{source: source, lo: lo, hi: hi}, nil
}

type shard struct {
	source Source
	lo, hi int
	next   int // row of the source
}

// Len returns the number of rows of the shard.
func (s *shard) Len() int { return s.hi - s.lo }

// Next reads rows of the shard.
func (s *shard) Next(dst *batch.Pairs) (int, error) {
	if err := s.skip(); err != nil {
		return 0, err
	}
	if s.next == s.hi {
		return 0, io.EOF
	}
	return s.read(dst.Slice(0, min(dst.Len(), s.hi-s.next)), s.hi)
}

// skip reads and drops the rows before the shard.
func (s *shard) skip() error {
	if s.next >= s.lo {
		return nil
	}
	dropped, empty := batch.NewPairs(min(s.lo-s.next, DefaultChunkRows)), 0
	for s.next < s.lo {
		n, err := s.read(dropped.Slice(0, min(dropped.Len(), s.lo-s.next)), s.lo)
		if err != nil {
			return err
		}
		if empty++; n > 0 {
			empty = 0
		}
		if empty == maxEmptyReads {
			return fmt.Errorf("dispatch: source: %w", io.ErrNoProgress)
		}
	}
	return nil
}

// read reads rows before the row end. The end of the source before it is an error.
func (s *shard) read(dst *batch.Pairs, end int) (int, error) {
	n, err := s.source.Next(dst)
	if n < 0 || n > dst.Len() {
		return 0, fmt.Errorf("dispatch: source yielded %d rows, want 0 to %d", n, dst.Len())
	}
	s.next += n
	if err == io.EOF {
		if err = nil; s.next < end {
			err = fmt.Errorf("dispatch: the source ends before row %d, want rows up to %d: %w", s.next, s.hi,
				io.ErrUnexpectedEOF)
		}
	}
	return n, err
}
