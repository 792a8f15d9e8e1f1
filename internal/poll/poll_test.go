package poll

import (
	"context"
	"testing"
)

// TestStopped stops at the first step of a context that has ended, within every steps of one that ends, and never
// without one.
func TestStopped(t *testing.T) {
	var none Poll
	background := Of(context.Background())
	for range 3 * every {
		if none.Stopped() || background.Stopped() {
			t.Fatal("stopped without a context that ends")
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := Of(ctx)
	for range every + 7 {
		if p.Stopped() {
			t.Fatal("stopped before the end")
		}
	}
	cancel()
	steps := 0
	for ; !p.Stopped(); steps++ {
	}
	if steps > every {
		t.Errorf("%d steps after the end, want at most %d", steps, every)
	}
	ended := Of(ctx)
	if !ended.Stopped() {
		t.Error("the first step of a context that has ended is not stopped")
	}
}
