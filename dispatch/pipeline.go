package dispatch

import (
	"context"
	"errors"
	"sync"
)

// queuedChunks is the number of chunks that wait for the back end that takes declined
// rows: enough that a device goes on while the rows of an earlier chunk are finished, few
// enough that memory stays bounded.
const queuedChunks = 2

// window is the number of chunks of a call that exist at a time: those that back ends
// work on, those that wait for the rest of their rows, the one that is finished, and one
// to have ready.
func (w *crew) window() int { return w.calls() + queuedChunks + 2 }

// pipeline takes chunks from next until it returns nil, and has them
//
//	computed   by one goroutine for every chunk that the crew takes at a time,
//	finished   by one: rows that were declined go to another back end,
//	settled    in the order of the chunks, by the calling goroutine, and given to emit.
//
// After an error or the end of the context no chunk is begun; all that were begun are
// settled, and emit is given none from the first on that is not whole. The first error is
// returned. No goroutine outlives the call.
func (r *runner) pipeline(ctx context.Context, next func(context.Context) (*chunk, error), emit func(*chunk)) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &stages{runner: r, cancel: cancel, slots: make(chan struct{}, r.crew.window())}
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
		s.finish(ctx, computed, done)
	}()
	defer func() { // also when Progress panics
		cancel()
		for range done {
		}
	}()
	s.settle(done, emit)
	return s.err()
}

// stages is a pipeline at work. A stage reads its input to the end, whatever happens, so
// that the one before it never blocks for good.
type stages struct {
	*runner
	cancel context.CancelFunc
	slots  chan struct{} // one for every chunk that exists

	mu    sync.Mutex
	first error
}

// stop ends the pipeline. The first reason counts.
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

// feed hands out chunks in order.
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

// compute has the crew answer chunks.
func (s *stages) compute(ctx context.Context, todo <-chan *chunk, computed chan<- *chunk) {
	var wg sync.WaitGroup
	for _, m := range s.crew.enlist() {
		wg.Go(func() { s.work(ctx, m, todo, computed) })
	}
	wg.Wait()
}

// work answers chunks on a member, and on others when it fails. It ends early only where
// others go on.
func (s *stages) work(ctx context.Context, m *member, todo <-chan *chunk, computed chan<- *chunk) {
	for c := range todo {
		// After the last member has failed the context has ended, and m is not used.
		now := s.answer(ctx, m, c)
		if c.err != nil {
			s.stop(c.err)
		}
		computed <- c
		if now == nil || now == m {
			continue
		}
		if m = now; s.crew.surplus(m) {
			return
		}
	}
}

// finish has declined rows answered.
func (s *stages) finish(ctx context.Context, computed <-chan *chunk, done chan<- *chunk) {
	for c := range computed {
		if c.err == nil {
			if c.err = s.finishChunk(ctx, c); c.err != nil {
				s.stop(c.err)
			}
		}
		done <- c
	}
}

// settle closes chunks in order.
func (s *stages) settle(done <-chan *chunk, emit func(*chunk)) {
	early := map[int]*chunk{}
	next, whole := 0, true
	for c := range done {
		early[c.index] = c
		for c = early[next]; c != nil; c = early[next] {
			delete(early, next)
			next++
			s.runner.settle(c)
			if c.err == nil {
				s.progress()
			}
			if whole = whole && c.err == nil; whole && emit != nil {
				emit(c)
			}
			<-s.slots
		}
	}
}

// ended reports whether an error says that the context has ended.
func ended(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}
