package peers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"clearance/batch"
	"clearance/verify"
)

// Options of a measurement.
type Options struct {
	Sets      []string
	Questions []Question
	Rows      int // pairs of each set; a third overlaps
	Rounds    int
	Seed      uint64

	// Progress, if not nil, is called when a contestant has answered a question of a
	// set; total is how often that happens at most.
	Progress func(done, total int)
}

// calibration is how often every configuration runs before the best is chosen; the
// first run, which warms caches and memory up, does not count.
const calibration = 3

// Measure runs the contestants, the first of which is ours, and returns the report
// without its date and program. Contestants are closed by the caller. Call it, and
// start the drivers, within [WithPinned], so that all run on the same core.
func Measure(ctx context.Context, contestants []Contestant, o Options) (*Report, error) {
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := &Report{Setting: settingOf(&o), Clock: Clock}
	for _, c := range contestants {
		r.Contestants = append(r.Contestants, c.Info())
	}
	m := &measurement{o: &o, contestants: contestants, dead: make([]error, len(contestants))}
	for _, name := range o.Sets {
		set, err := NewSet(ctx, name, o.Seed, o.Rows, dir)
		if err != nil {
			return nil, fmt.Errorf("set %s: %w", name, err)
		}
		tables, err := m.set(ctx, set)
		if err != nil {
			return nil, err
		}
		r.Tables = append(r.Tables, tables...)
	}
	return r, nil
}

// WithPinned calls f with the calling goroutine, and the processes that f starts,
// pinned to one core.
func WithPinned(f func(core int) error) error {
	core, undo, err := pin()
	if err != nil {
		return err
	}
	defer undo()
	return f(core)
}

type measurement struct {
	o           *Options
	contestants []Contestant
	dead        []error // of contestants that are of no more use
	done        int
}

// set measures all questions on a set.
func (m *measurement) set(ctx context.Context, set *Set) ([]Table, error) {
	refused := make([]error, len(m.contestants))
	for i, c := range m.contestants {
		if m.dead[i] == nil {
			refused[i] = m.note(i, c.Shapes(set))
		}
	}
	var tables []Table
	for k := range m.o.Questions {
		q := &m.o.Questions[k]
		part, truth, err := set.Part(ctx, q)
		if err != nil {
			return nil, err
		}
		t := Table{Set: set.Name, Question: q.Name, Rows: part.Pairs.Len(), Entries: make([]Entry, len(m.contestants))}
		for i, c := range m.contestants {
			t.Entries[i] = Entry{Name: c.Info().Name}
			err := cmp.Or(refused[i], m.dead[i])
			if err == nil {
				err = m.note(i, m.choose(c, q, part, &t.Entries[i]))
			}
			if err != nil {
				t.Entries[i].Missing = err.Error()
			}
		}
		if err := m.rounds(ctx, q, truth, &t); err != nil {
			return nil, err
		}
		t.compare()
		tables = append(tables, t)
	}
	return tables, nil
}

// note remembers an error after which a contestant is of no more use.
func (m *measurement) note(i int, err error) error {
	if err != nil && !errors.Is(err, ErrUnsupported) {
		m.dead[i] = err
	}
	return err
}

// choose gives the contestant its pairs and finds its fastest configuration.
func (m *measurement) choose(c Contestant, q *Question, part *Part, e *Entry) error {
	if err := c.Pairs(part); err != nil {
		return err
	}
	names, err := c.Configurations(q)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%w: the library has no such query", ErrUnsupported)
	}
	e.Configuration, e.Tried, err = fastest(c, q, names, part.Pairs.Len())
	return err
}

// fastest tries configurations of a contestant on the pairs that it has, and returns the fastest, "" if there is none.
// Times are those of a question about so many pairs.
func fastest(c Contestant, q *Question, names []string, pairs int) (best string, tried []Tried, err error) {
	least := math.Inf(1)
	for _, name := range names {
		took := math.Inf(1)
		for k := range calibration {
			s, err := c.Run(q, name)
			if err != nil {
				return "", tried, err
			}
			if k > 0 {
				took = min(took, s)
			}
		}
		tried = append(tried, Tried{name, nsAPair(took, pairs)})
		if took < least {
			least, best = took, name
		}
	}
	return best, tried, nil
}

// rounds runs everyone once a round, in a new order each time. Before the clock
// starts the same run is done once without it, so that nobody pays for the caches and
// the predictions that the one before has left.
func (m *measurement) rounds(ctx context.Context, q *Question, truth []Truth, t *Table) error {
	n := len(m.contestants)
	order := rand.New(rand.NewPCG(m.o.Seed, 0))
	for range m.o.Rounds {
		for _, i := range order.Perm(n) {
			e := &t.Entries[i]
			if e.Missing != "" {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			_, err := m.contestants[i].Run(q, e.Configuration)
			s := 0.0
			if err == nil {
				s, err = m.contestants[i].Run(q, e.Configuration)
			}
			if m.note(i, err) != nil {
				e.Missing = err.Error()
				continue
			}
			e.add(s, t.Rows)
		}
	}
	for i, c := range m.contestants {
		e := &t.Entries[i]
		if e.Missing == "" {
			if err := m.note(i, e.judge(c, q, truth)); err != nil {
				e.Missing = err.Error()
			}
		}
		if e.Missing != "" {
			e.Rounds = nil
		}
		m.done++
		if m.o.Progress != nil {
			m.o.Progress(m.done, n*len(m.o.Sets)*len(m.o.Questions))
		}
	}
	return nil
}

// judge fills in what follows from the rounds and the answers of the last of them.
func (e *Entry) judge(c Contestant, q *Question, truth []Truth) error {
	answers, err := c.Answers()
	if err != nil {
		return err
	}
	a, err := Score(q, answers, truth)
	if err != nil {
		return err
	}
	e.Accuracy = &a
	e.summarize()
	return nil
}

func floats(v []verify.Number) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = float64(v[i])
	}
	return out
}

// Ours returns this module as contestants: in single precision, and in double.
func Ours(version string) ([]Contestant, error) {
	var list []Contestant
	for _, p := range []batch.Precision{batch.Single, batch.Double} {
		c, err := NewOurs(version, p, "")
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}
