package dispatch

import (
	"context"
	"errors"
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
