package main

import (
	"fmt"
	"strconv"
	"strings"

	"clearance/internal/score"
)

// rowsFlag is the flag --rows: rows lo to hi of a file, hi not included.
type rowsFlag struct {
	given  bool
	lo, hi int
}

func (r *rowsFlag) Type() string { return "lo:hi" }

func (r *rowsFlag) String() string {
	if !r.given {
		return ""
	}
	return fmt.Sprintf("%d:%d", r.lo, r.hi)
}

func (r *rowsFlag) Set(s string) error {
	lo, hi, both := strings.Cut(s, ":")
	a, errA := strconv.Atoi(lo)
	b, errB := strconv.Atoi(hi)
	if !both || errA != nil || errB != nil || a < 0 || b < a {
		return fmt.Errorf("%q, want two row numbers lo:hi, lo at most hi", s)
	}
	*r = rowsFlag{true, a, b}
	return nil
}

// of returns the rows of a file of n: all without the flag.
func (r *rowsFlag) of(n int) (score.Rows, error) {
	if !r.given {
		return score.Rows{Hi: n, Of: n}, nil
	}
	if r.hi > n {
		return score.Rows{}, fmt.Errorf("--rows %v: the file has %d rows", r, n)
	}
	return score.Rows{Lo: r.lo, Hi: r.hi, Of: n}, nil
}

// meta is what results state of the rows that they are of.
func (r *rowsFlag) meta() map[string]string {
	if !r.given {
		return nil
	}
	return map[string]string{score.MetaRows: r.String()}
}

// worlds returns the worlds of the rows, of worlds of that many pairs each: all without the flag.
func (r *rowsFlag) worlds(worlds, pairs int) (lo, hi int, err error) {
	if !r.given {
		return 0, worlds, nil
	}
	if pairs == 0 {
		return 0, 0, fmt.Errorf("--rows %v: the worlds have no list of pairs, so their rows have no numbers", r)
	}
	if r.lo%pairs != 0 || r.hi%pairs != 0 {
		return 0, 0, fmt.Errorf("--rows %v: each world has %d rows, want multiples of it", r, pairs)
	}
	if r.hi > worlds*pairs {
		return 0, 0, fmt.Errorf("--rows %v: the file has %d rows", r, worlds*pairs)
	}
	return r.lo / pairs, r.hi / pairs, nil
}
