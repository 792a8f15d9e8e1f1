package audit

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"clearance/batch"
	"clearance/internal/memory"
	"clearance/rollout"
)

// DefaultPairs is the number of pairs of parts that the audit of a rollout has the reference solve: whole worlds, at
// even distances.
const DefaultPairs = 20_000

// Sample says what the reference looks at. It does not depend on the ranges by which files are read.
type Sample struct {
	Pairs    int64 // of parts, but that worlds are solved whole; of sweeps the number of rows
	Seed     uint64
	Workers  int            // of the checks from the shapes alone; 0 is GOMAXPROCS
	Progress func(rows int) // if not nil, is called with the number of rows since the last call
}

// All is a sample of everything.
const All = math.MaxInt64

func (s *Sample) told(rows int) {
	if s.Progress != nil {
		s.Progress(rows)
	}
}

// worldPairs is the largest number of pairs of parts of a world that are in memory at a time, some 300 bytes each.
const worldPairs = 1 << 22

// Checked returns the worlds of a source, or an error where one has more pairs of parts than the reference could solve.
func (s *Sample) Checked(bodies *batch.Bodies, of rollout.Source[*batch.Worlds]) rollout.Source[*batch.Worlds] {
	return &checkedWorlds{of, bodies, s}
}

type checkedWorlds struct {
	rollout.Source[*batch.Worlds]
	bodies *batch.Bodies
	sample *Sample
}

func (c *checkedWorlds) Worlds(lo, hi int) (*batch.Worlds, error) {
	w, err := c.Source.Worlds(lo, hi)
	if err == nil {
		err = c.sample.check(&rollout.Job{Bodies: c.bodies, Worlds: w}, lo)
	}
	return w, err
}

// check returns an error if a world, the first of which has a number, has more pairs of parts than the reference could
// solve.
func (s *Sample) check(job *rollout.Job, first int) error {
	w := job.Worlds
	most := memory.Room(worldPairs, 512)
	if s.Pairs < worldPairs {
		most = min(most, 50*max(s.Pairs, DefaultPairs))
	}
	for world := range w.Count() {
		if n := partPairs(job, world); n > most {
			return fmt.Errorf("audit: world %d has %d pairs of parts, which the reference would solve", first+world, n)
		}
		if w.Shared() { // the same in all worlds
			break
		}
	}
	return nil
}

// order yields all of n worlds once, from anywhere on and by steps of about the golden ratio of their number, so that
// the first of them are spread over the whole.
func (s *Sample) order(n int) iter.Seq[int] {
	return func(yield func(world int) bool) {
		if n == 0 {
			return
		}
		world, step := rand.New(rand.NewPCG(s.Seed, 0)).IntN(n), 1+int(float64(n)/math.Phi)
		for divisor(step, n) != 1 {
			step++
		}
		for range n {
			if !yield(world) {
				return
			}
			world = (world + step) % n
		}
	}
}

// divisor is the greatest common divisor.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// chosen are numbers in ascending order, of worlds or of rows, or all of them.
type chosen struct {
	all  bool
	list []int
}

// worldsOf chooses among n worlds, the first in their order that have the pairs of parts of the sample together.
func (s *Sample) worldsOf(n int, pairs func(world int) int64) chosen {
	if s.Pairs == All {
		return chosen{all: true}
	}
	var c chosen
	total := int64(0)
	for world := range s.order(n) {
		if total >= s.Pairs {
			break
		}
		c.list = append(c.list, world)
		total += pairs(world)
	}
	slices.Sort(c.list)
	return c
}

// rowsOf chooses among n rows, the first in their order.
func (s *Sample) rowsOf(n int) chosen {
	if s.Pairs >= int64(n) {
		return chosen{all: true}
	}
	return s.worldsOf(n, func(int) int64 { return 1 })
}

// within yields the numbers in [lo, hi), relative to lo.
func (c *chosen) within(lo, hi int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if c.all {
			for i := range hi - lo {
				if !yield(i) {
					return
				}
			}
			return
		}
		for _, k := range c.list[sort.SearchInts(c.list, lo):] {
			if k >= hi || !yield(k-lo) {
				return
			}
		}
	}
}

// of are the numbers in [lo, hi), relative to lo.
func (c *chosen) of(lo, hi int) chosen {
	if c.all {
		return *c
	}
	return chosen{list: slices.Collect(c.within(lo, hi))}
}

// mostFindings is the number of refuted rows that a report describes: those with the least numbers.
const mostFindings = 5

// findings describe the first refuted rows.
type findings struct {
	First []string `json:"first,omitempty"` // of the refuted rows

	rows []int
}

// keep adds a row, in the order of the rows.
func (f *findings) keep(row int, text string) {
	at, _ := slices.BinarySearchFunc(f.rows, row, func(a, b int) int { return cmp.Or(cmp.Compare(a, b), -1) })
	if at == mostFindings {
		return
	}
	f.rows, f.First = slices.Insert(f.rows, at, row), slices.Insert(f.First, at, text)
	if len(f.rows) > mostFindings {
		f.rows, f.First = f.rows[:mostFindings], f.First[:mostFindings]
	}
}

func (f *findings) merge(o *findings) {
	for i, row := range o.rows {
		f.keep(row, o.First[i])
	}
}
