package dispatch

import (
	"sync"

	"clearance/batch"
)

// member is a back end in one call.
type member struct {
	Backend
	failed  bool // it is not used again in this call
	workers int  // goroutines that give it chunks
}

// calls is the number of chunks that the back end is given at a time.
func (m *member) calls() int {
	if q, ok := As[Queued](m.Backend); ok {
		return max(q.CallsAtOnce(), 1)
	}
	return 1
}

func (m *member) partial() bool {
	p, ok := As[Partial](m.Backend)
	return ok && p.Partial()
}

// crew is the back ends of one call.
type crew struct {
	mu    sync.Mutex
	all   []*member // those that share the rows, then the spare ones, best first
	share int       // how many share the rows
	rest  []*member // those that take rows which another declines, best first
	last  error     // of the member that failed last
}

// newCrew returns the back ends of a choice.
func (d *Dispatcher) newCrew(c *Choice, o *batch.Options, rows int) *crew {
	w := &crew{share: len(c.Share)}
	for _, b := range append(c.Share[:len(c.Share):len(c.Share)], c.Spare...) {
		w.all = append(w.all, &member{Backend: b})
	}
	for _, m := range w.all {
		if !m.partial() {
			continue
		}
		// An error says that there is nobody, and declined rows stay undecided.
		if rest, err := d.Choose(Auto, o, rows); err == nil {
			for _, b := range append(rest.Share[:len(rest.Share):len(rest.Share)], rest.Spare...) {
				w.rest = append(w.rest, w.of(b))
			}
		}
		break
	}
	return w
}

// of returns the member of a back end, a new one if it has none.
func (w *crew) of(b Backend) *member {
	for _, m := range w.all {
		if m.Backend == b {
			return m
		}
	}
	return &member{Backend: b}
}

// calls is the number of chunks under way at a time.
func (w *crew) calls() (n int) {
	for _, m := range w.all[:w.share] {
		n += m.calls()
	}
	return n
}

// enlist lists a member for each goroutine that is to give chunks to it.
func (w *crew) enlist() (workers []*member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.all[:w.share] {
		m.workers = m.calls()
		for range m.workers {
			workers = append(workers, m)
		}
	}
	return workers
}

// replace notes that a member has failed, and returns who does its work, nil if nobody
// is left. The caller is then one of that member's workers.
func (w *crew) replace(failed *member, err error) *member {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !failed.failed {
		failed.failed, w.last = true, err
	}
	failed.workers--
	for _, m := range w.all {
		if !m.failed {
			m.workers++
			return m
		}
	}
	return nil // and the call ends
}

// surplus dismisses a worker if its member has more of them than it wants.
func (w *crew) surplus(m *member) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.workers <= m.calls() {
		return false
	}
	m.workers--
	return true
}

// drop notes that a member has failed on rows that another declined.
func (w *crew) drop(m *member, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m.failed, w.last = true, err
}

// dropped returns an error if a member has failed: that of the last one that did.
func (w *crew) dropped(m *member) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.failed {
		return w.last
	}
	return nil
}
