package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// queuedChunks is the capacity of the queue of computed chunks: enough that a device computes
// while the declined rows of an earlier chunk are answered, few enough to bound memory.
const queuedChunks = 2

// window is the number of chunks of a call that exist at a time: those that are computed,
// those in the queue, the one whose declined rows are answered, and the next one.
func (p *pool) window() int { return p.calls() + queuedChunks + 2 }

// pipeline takes chunks from next until it returns nil. They are
//
//	computed   by one goroutine for each chunk that the pool computes at a time,
//	completed  by one goroutine: declined rows are answered by another back end,
//	settled    in their order by the calling goroutine, and passed to emit.
//
// After an error or the end of the context no chunk is started; all chunks that were started
// are settled, and emit receives only those before the first incomplete one. pipeline
// returns the first error. No goroutine outlives the call.
func (r *runner) pipeline(ctx context.Context, next func(context.Context) (*chunk, error), emit func(*chunk)) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &stages{runner: r, cancel: cancel, slots: make(chan struct{}, r.pool.window())}
	todo := make(chan *chunk)
	computed := make(chan *chunk, queuedChunks)
	done := make(chan *chunk)
	go func() {
		defer close(todo)
		s.feed(ctx, next, todo)
	}()
	go func() {
		defer close(computed)
		s.compute(ctx, todo, computed)
	}()
	go func() {
		defer close(done)
		s.complete(ctx, computed, done)
	}()
	defer func() { // also when Progress panics
		cancel()
		for range done {
		}
	}()
	s.settle(done, emit)
	return s.err()
}

// stages is a running pipeline. Every stage reads its input to the end, also after an error,
// so that the stage before it cannot block forever.
type stages struct {
	*runner
	cancel context.CancelFunc
	slots  chan struct{} // one element per chunk in existence

	mu    sync.Mutex
	first error
}

// stop ends the pipeline. The first error is kept.
func (s *stages) stop(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = err
	}
	s.cancel()
}

func (s *stages) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

// feed sends chunks in order.
func (s *stages) feed(ctx context.Context, next func(context.Context) (*chunk, error), todo chan<- *chunk) {
	for k := 0; ; k++ {
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
		}
		if err := ctx.Err(); err != nil {
			s.stop(err)
			return
		}
		c, err := next(ctx)
		if err != nil {
			s.stop(err)
			return
		}
		if c == nil {
			return
		}
		c.index = k
		todo <- c
	}
}

// compute answers chunks on the pool.
func (s *stages) compute(ctx context.Context, todo <-chan *chunk, computed chan<- *chunk) {
	var wg sync.WaitGroup
	for _, m := range s.pool.workers() {
		wg.Go(func() { s.work(ctx, m, todo, computed) })
	}
	wg.Wait()
}

// work answers chunks on a member, and on another one after a failure. It returns before the
// end of todo only if the member has other workers.
func (s *stages) work(ctx context.Context, m *member, todo <-chan *chunk, computed chan<- *chunk) {
	for c := range todo {
		// If all members have failed, stop has ended the context, and m is not used again.
		now := s.answer(ctx, m, c)
		if c.err != nil {
			s.stop(c.err)
		}
		computed <- c
		if now == nil || now == m {
			continue
		}
		if m = now; s.pool.excess(m) {
			return
		}
	}
}

// complete answers declined rows.
func (s *stages) complete(ctx context.Context, computed <-chan *chunk, done chan<- *chunk) {
	for c := range computed {
		if c.err == nil {
			if c.err = s.completeChunk(ctx, c); c.err != nil {
				s.stop(c.err)
			}
		}
		done <- c
	}
}

// settle settles chunks in order.
func (s *stages) settle(done <-chan *chunk, emit func(*chunk)) {
	early := map[int]*chunk{}
	next, complete := 0, true
	for c := range done {
		early[c.index] = c
		for c = early[next]; c != nil; c = early[next] {
			delete(early, next)
			next++
			s.runner.settle(c)
			if c.err == nil {
				s.progress()
			}
			if complete = complete && c.err == nil; complete && emit != nil {
				emit(c)
			}
			<-s.slots
		}
	}
}

// ended reports whether an error is that of the context.
func ended(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// member is a back end that takes part in a call.
type member struct {
	planned
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
	members  []*member // those that share the rows, then the spare ones, best first
	share    int       // number of members that share the rows
	fallback []*member // those that answer declined rows, best first
	last     error     // of the member that failed last
	*plan
}

// newPool returns the back ends of a choice.
func newPool(c *Choice) *pool {
	p := &pool{share: len(c.Share), plan: &c.plan}
	for _, b := range c.all {
		p.members = append(p.members, &member{planned: b})
	}
	if !slices.ContainsFunc(p.members, (*member).partial) {
		return p
	}
	for _, b := range c.declined {
		p.fallback = append(p.fallback, p.of(b))
	}
	return p
}

// of returns the member of a back end, a new one if there is none.
func (p *pool) of(b planned) *member {
	for _, m := range p.members {
		if m.Backend == b.Backend {
			return m
		}
	}
	return &member{planned: b}
}

// calls is the number of chunks that are computed at a time.
func (p *pool) calls() (n int) {
	for _, m := range p.members[:p.share] {
		n += m.calls()
	}
	return n
}

// workers returns one entry for each goroutine that runs chunks: the member that it uses.
func (p *pool) workers() (workers []*member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.members {
		m.workers = 0 // those of an earlier job of a series, after a failure
	}
	for _, m := range p.members[:p.share] {
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
	for _, m := range p.members {
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
