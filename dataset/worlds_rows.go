package dataset

import (
	"fmt"
	"math"
	"slices"

	"clearance/batch"
)

// WorldRows are the pairs of a file of worlds of shapes, read by ranges: row w·P + p is pair p of world w. They are a
// source of a stream, see package dispatch.
type WorldRows struct {
	r     *WorldReader[*batch.Worlds]
	rows  int
	split *batch.Worlds // the world at which the last range ended in its middle, nil for none
	at    int           // its number
}

// OpenWorldRows opens a file of [ReadWorlds].
func OpenWorldRows(path string) (*WorldRows, error) {
	r, err := OpenWorlds(path)
	if err != nil {
		return nil, err
	}
	if per := r.RowsPerWorld(); per > 0 && r.Count() > math.MaxInt/per {
		_ = r.Close()
		return nil, wrong(path, fmt.Errorf("%d worlds of %d pairs are too many", r.Count(), per))
	}
	return &WorldRows{r: r, rows: r.Count() * r.RowsPerWorld()}, nil
}

// Len returns the number of pairs.
func (s *WorldRows) Len() int { return s.rows }

// RowsPerWorld returns the number of pairs of a world.
func (s *WorldRows) RowsPerWorld() int { return s.r.RowsPerWorld() }

// Close closes the file.
func (s *WorldRows) Close() error { return s.r.Close() }

// Rows returns rows [lo, hi) of the file, fewer where it ends, in the form of [batch.Worlds.Rows]. Ranges ascend.
func (s *WorldRows) Rows(lo, hi int, used batch.Input) (batch.Input, error) {
	per := max(s.RowsPerWorld(), 1)
	if hi = min(hi, s.rows); lo >= hi {
		none, err := s.r.Worlds(s.r.next, s.r.next)
		if err != nil {
			return nil, err
		}
		return none, nil
	}
	first, end := lo/per, (hi+per-1)/per
	from, held := first, s.split
	if held != nil && s.at == first {
		from++
	} else {
		held = nil
	}
	worlds, err := s.r.Worlds(from, end)
	if err != nil {
		return nil, err
	}
	if held != nil {
		worlds.Poses = slices.Concat(held.Poses, worlds.Poses)
	}
	s.split = nil
	if hi%per != 0 {
		s.split, s.at = worlds.Slice(end-1-first, end-first), end-1
	}
	return worlds.Rows(lo-first*per, hi-first*per, used)
}
