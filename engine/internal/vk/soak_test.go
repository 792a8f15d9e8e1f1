//go:build cgo && !(386 || arm || mips || mipsle)

package vk

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"clearance/engine/internal/soak"
	"clearance/tests/need"
)

// TestSoak submits from several goroutines that share a device while another makes
// garbage: pipelines, memory and streams come and go, every sum is checked, and no
// handle is left of a round. Half of the time is with the validation layer, half without,
// when memory must not grow: the layer itself keeps some kilobytes of every stream.
func TestSoak(t *testing.T) {
	limit := soak.Time(t, 5*time.Second, 2*time.Second) / 2
	t.Run("validation", func(t *testing.T) { soakDevice(t, openDevice(t, DeviceOptions{}), limit, false) })
	t.Run("memory", func(t *testing.T) {
		in, err := Open(Options{})
		if err != nil {
			need.Vulkan(t, err.Error())
		}
		soakDevice(t, must[*Device](t)(in.OpenDevice(0, DeviceOptions{})), limit, true)
		ok(t, in.Close())
		if live := LiveHandles(); len(live) > 0 {
			t.Errorf("handles left: %v", live)
		}
	})
}

func soakDevice(t *testing.T, d *Device, limit time.Duration, watchMemory bool) {
	t.Helper()
	defer soak.Garbage()()
	end := time.Now().Add(limit)
	base := fmt.Sprint(LiveHandles())
	var rounds, submits atomic.Int64
	resident := 0
	for phase := 0; time.Now().Before(end); phase++ {
		phaseEnd := time.Now().Add(min(time.Until(end), time.Second))
		var wg sync.WaitGroup
		for worker := range 3 {
			wg.Go(func() {
				for time.Now().Before(phaseEnd) && !t.Failed() {
					count := []int{1, 100, 3000}[worker]
					a := newAdder(t, d, count)
					for k := range 5 {
						seed := int(submits.Add(1) % 1000)
						a.fill(seed)
						a.record(float32(k))
						for range 3 {
							if err := a.s.Submit(); err != nil {
								t.Error(err)
								return
							}
							if err := a.s.Wait(context.Background(), time.Minute); err != nil {
								t.Error(err)
								return
							}
						}
						if n := a.wrong(seed, float32(k)); n > 0 {
							t.Errorf("%d of %d sums are wrong", n, count)
						}
					}
					a.close()
					rounds.Add(1)
				}
			})
		}
		wg.Wait()
		if now := fmt.Sprint(LiveHandles()); now != base {
			t.Fatalf("phase %d: handles %s became %s", phase, base, now)
		}
		if phase == 0 {
			resident = soak.ResidentMiB(t)
		}
		if m := d.in.Messages(); len(m) > 0 {
			t.Fatalf("phase %d: %d messages, the first: %s", phase, len(m), m[0])
		}
	}
	if grown := soak.ResidentMiB(t) - resident; watchMemory && resident > 0 && grown > 32 {
		t.Errorf("%d MiB more in memory than after the first phase", grown)
	}
	if rounds.Load() < 3 {
		t.Errorf("only %d rounds", rounds.Load())
	}
	t.Logf("%d rounds, %d recordings, %d MiB in memory at first, %d MiB at the end", rounds.Load(), submits.Load(),
		resident, soak.ResidentMiB(t))
}

// TestOpenClose opens and closes everything 50 times beside a goroutine that makes garbage.
func TestOpenClose(t *testing.T) {
	openInstance(t) // or skip; it stays open, so that several instances are tried too
	base := fmt.Sprint(LiveHandles())
	defer soak.Garbage()()
	n := 50
	if testing.Short() {
		n = 10
	}
	for i := range n {
		in, err := Open(Options{Validation: i%10 == 0})
		ok(t, err)
		if err := session(t, in); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		if i%2 == 0 { // what is left open goes with the instance
			must[*Stream](t)(must[*Device](t)(in.OpenDevice(0, DeviceOptions{})).NewStream(StreamOptions{}))
		}
		ok(t, in.Close())
		ok(t, in.Close())
		for _, m := range in.Messages() {
			t.Errorf("round %d: %s", i, m)
		}
		if now := fmt.Sprint(LiveHandles()); now != base {
			t.Fatalf("round %d: handles %s became %s", i, base, now)
		}
	}
}

// TestCloseBeside closes a device while other goroutines use it: they get Closed, or end
// their work, and nothing crashes.
func TestCloseBeside(t *testing.T) {
	in := openInstance(t)
	for range 5 {
		d := must[*Device](t)(in.OpenDevice(0, DeviceOptions{}))
		var wg sync.WaitGroup
		for range 3 {
			a := newAdder(t, d, 1000)
			a.fill(1)
			wg.Go(func() {
				for {
					if a.s.Begin() != nil {
						return
					}
					a.s.Bind(a.p, a.dev[:]...)
					a.s.Push(make([]byte, 8))
					a.s.Dispatch(10, 1, 1)
					if a.s.Submit() != nil || a.s.Wait(context.Background(), 0) != nil {
						return
					}
				}
			})
		}
		time.Sleep(20 * time.Millisecond)
		ok(t, d.Close())
		wg.Wait()
	}
}
