package dispatch

import (
	"slices"
	"sync"

	"clearance/batch"
)

// member is a back end that takes part in a call.
type member struct {
	Backend
	failed  bool // not used again in this call
	workers int  // goroutines that run chunks on it
}

// calls is the number of chunks that run on the back end at a time.
func (m *member) calls() int {
	if q, ok := As[Queued](m.Backend); ok {
		return max(q.CallsAtOnce(), 1)
	}
	return 1
}

func (m *member) partial() bool { return partial(m.Backend) }

// partial reports whether a back end may decline rows.
func partial(b Backend) bool {
	p, ok := As[Partial](b)
	return ok && p.Partial()
}

// pool is the set of back ends of one call.
type pool struct {
	mu       sync.Mutex
	all      []*member // those that share the rows, then the spare ones, best first
	share    int       // number of members that share the rows
	declined []*member // those that answer declined rows, best first
	last     error     // of the member that failed last
	derive   Differentiator
	answers  batch.Answers // of pairs that derive asks about
	deriving bool          // some of the back ends compute derivatives
}

// newPool returns the back ends of a choice.
func newPool(c *Choice) *pool {
	p := &pool{share: len(c.Share), derive: c.derive, answers: c.answers, deriving: c.deriving}
	for _, b := range c.all() {
		p.all = append(p.all, &member{Backend: b})
	}
	if !slices.ContainsFunc(p.all, (*member).partial) {
		return p
	}
	for _, b := range c.declined {
		p.declined = append(p.declined, p.of(b))
	}
	return p
}

// of returns the member of a back end, a new one if there is none.
func (p *pool) of(b Backend) *member {
	for _, m := range p.all {
		if m.Backend == b {
			return m
		}
	}
	return &member{Backend: b}
}

// calls is the number of chunks that are computed at a time.
func (p *pool) calls() (n int) {
	for _, m := range p.all[:p.share] {
		n += m.calls()
	}
	return n
}

// workers returns one entry for each goroutine that runs chunks: the member that it uses.
func (p *pool) workers() (workers []*member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.all[:p.share] {
		m.workers = m.calls()
		for range m.workers {
			workers = append(workers, m)
		}
	}
	return workers
}

// replace records that a member has failed and returns the member that takes over, nil if
// all have failed. The caller is then a worker of that member.
func (p *pool) replace(failed *member, err error) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !failed.failed {
		failed.failed, p.last = true, err
	}
	failed.workers--
	for _, m := range p.all {
		if !m.failed {
			m.workers++
			return m
		}
	}
	return nil
}

// excess reports whether a member has more workers than it needs, and removes the calling
// one if so.
func (p *pool) excess(m *member) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.workers <= m.calls() {
		return false
	}
	m.workers--
	return true
}

// drop records that a member has failed on rows that another one declined.
func (p *pool) drop(m *member, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.failed, p.last = true, err
}

// dropped returns an error if a member has failed: that of the last member that failed.
func (p *pool) dropped(m *member) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.failed {
		return p.last
	}
	return nil
}
