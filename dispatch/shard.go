package dispatch

import (
	"fmt"
	"io"

	"clearance/batch"
)

// Shard returns the rows [lo, hi) of a source. A source that ends before hi is an error. The answers and the report are
// those of the rows in the whole if Options.FirstRow is lo and Options.EstimateRows the number of rows of the whole.
func Shard(source Source, lo, hi int) (Source, error) {
	if n := sourceRows(source); lo < 0 || hi < lo || n != UnknownRows && hi > n {
		return nil, fmt.Errorf("dispatch: rows %d to %d of %d", lo, hi, n)
	}
	return &shard{source: source, lo: lo, hi: hi}, nil
}

type shard struct {
	source Source
	lo, hi int
}

// Len returns the number of rows of the shard.
func (s *shard) Len() int { return s.hi - s.lo }

// CheckShape checks the whole.
func (s *shard) CheckShape() error { return checkShape(s.source) }

// RowsPerWorld is that of the source, if the shard begins with a world.
func (s *shard) RowsPerWorld() int {
	w, ok := s.source.(interface{ RowsPerWorld() int })
	if !ok || w.RowsPerWorld() == 0 || s.lo%w.RowsPerWorld() != 0 {
		return 0
	}
	return w.RowsPerWorld()
}

// Rows returns rows of the shard.
func (s *shard) Rows(lo, hi int, used batch.Input) (batch.Input, error) {
	hi = min(hi, s.Len())
	if lo >= hi {
		return batch.NewPairs(0), nil
	}
	in, err := s.source.Rows(s.lo+lo, s.lo+hi, used)
	if err == nil && in != nil && in.Len() < hi-lo {
		err = fmt.Errorf("dispatch: the source ends before row %d, want rows up to %d: %w", s.lo+hi, s.hi,
			io.ErrUnexpectedEOF)
	}
	return in, err
}
