package rollout

import (
	"testing"
	"time"
)

// TestTeamWaitsAfterPanic: a panic on the caller's goroutine leaves run only when the other goroutines have ended.
func TestTeamWaitsAfterPanic(t *testing.T) {
	started, ended := make(chan struct{}), false
	defer func() {
		if recover() == nil || !ended {
			t.Errorf("the panic left, and the other goroutine had ended: %t", ended)
		}
	}()
	newTeam(2).run(2, func(worker, i int) {
		if worker == 0 {
			<-started
			panic("a fault")
		}
		close(started)
		time.Sleep(20 * time.Millisecond)
		ended = true
	})
}
