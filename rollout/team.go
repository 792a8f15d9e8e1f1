package rollout

import (
	"sync"
	"sync/atomic"

	"clearance/internal/fault"
	"clearance/internal/meter"
)

// team runs functions on several goroutines. It starts them without an allocation, since what they run is kept.
type team struct {
	starts []func() // of each goroutine but the caller's
	wg     sync.WaitGroup

	n     int
	f     func(worker, i int)
	next  atomic.Int64
	fault fault.Keeper
}

func newTeam(workers int) *team {
	t := &team{}
	for w := 1; w < workers; w++ {
		t.starts = append(t.starts, func() {
			defer t.wg.Done()
			t.work(w)
		})
	}
	return t
}

// run runs f(worker, 0) to f(worker, n-1). A panic of f is raised on this goroutine, when no other works on.
func (t *team) run(n int, f func(worker, i int)) {
	t.n, t.f = n, f
	t.next.Store(0)
	for _, start := range t.starts[:max(0, min(n-1, len(t.starts)))] {
		t.wg.Add(1)
		go start()
	}
	t.work(0)
	t.wg.Wait()
	t.f = nil
	t.fault.Raise()
}

func (t *team) work(worker int) {
	defer meter.Worker().End()
	defer t.fault.Keep()
	for i := int(t.next.Add(1) - 1); i < t.n && !t.fault.Kept(); i = int(t.next.Add(1) - 1) {
		t.f(worker, i)
	}
}
