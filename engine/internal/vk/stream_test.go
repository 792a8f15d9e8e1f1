//go:build cgo && !(386 || arm || mips || mipsle)

package vk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"clearance/internal/testkit"
	"clearance/tests/need"
)

// TestRecordingErrors records what is not allowed: Submit says which call it was, and the
// stream works again afterwards.
func TestRecordingErrors(t *testing.T) {
	d := openDevice(t, DeviceOptions{})
	a := newAdder(t, d, 64)
	plain := must[*Pipeline](t)(d.NewPipeline(doubleOrSkip(t, d), PipelineOptions{Bindings: 1}))
	closed := must[*Block](t)(d.Alloc(256, Upload))
	ok(t, closed.Close())
	gone := must[*Pipeline](t)(d.NewPipeline(addSPIRV, PipelineOptions{Bindings: 3, PushConstantSize: 8,
		Spec: map[uint32]uint32{0: 1}}))
	ok(t, gone.Close())
	limit := d.info.Limits.MaxWorkGroupCount
	bind := func() { a.s.Bind(a.p, a.dev[:]...) }
	push := func() { a.s.Push(make([]byte, 8)) }
	for _, tt := range []struct {
		name   string
		record func()
		cause  Cause
		says   string
	}{
		{"dispatch alone", func() { a.s.Dispatch(1, 1, 1) }, BadCall, "Bind a pipeline first"},
		{"push alone", push, BadCall, "Bind a pipeline first"},
		{"no push", func() { bind(); a.s.Dispatch(1, 1, 1) }, BadCall, "push constants"},
		{"push lost", func() { bind(); push(); bind(); a.s.Dispatch(1, 1, 1) }, BadCall, "push constants"},
		{"short push", func() { bind(); a.s.Push(make([]byte, 4)) }, BadCall, "PushConstantSize"},
		{"push to none", func() { a.s.Bind(plain, a.dev[0]); a.s.Push(nil) }, BadCall, "push constants"},
		{"few buffers", func() { a.s.Bind(a.p, a.dev[0]) }, BadCall, "1 buffers for the 3 bindings"},
		{"empty buffer", func() { a.s.Bind(plain, Buffer{}) }, BadCall, "empty"},
		{"empty range", func() { a.s.Bind(plain, a.dev[0].Slice(0, 0)) }, BadCall, "binding 0"},
		{"closed block", func() { a.s.Bind(plain, closed.Whole()) }, Closed, "block"},
		{"closed pipeline", func() { a.s.Bind(gone, a.dev[:]...) }, Closed, "pipeline"},
		{"many groups", func() {
			bind()
			push()
			a.s.Dispatch(1, limit[1],
				uint32(min(uint64(limit[2])+1, math.MaxUint32)))
		}, BadCall, "work groups"},
		{"copy sizes", func() { a.s.Copy(a.dev[0], a.dev[1].Slice(0, 8)) }, BadCall, "copy"},
		{"copy overlap", func() { a.s.Copy(a.dev[0].Slice(0, 16), a.dev[0].Slice(8, 16)) }, BadCall, "overlap"},
		{"fill bytes", func() { a.s.Fill(a.dev[0].Slice(0, 7), 0) }, BadCall, "multiples of 4"},
		{"indirect counts", func() { bind(); push(); a.s.DispatchIndirect(a.dev[0].Slice(0, 8)) }, BadCall, "counts"},
		{"barrier", func() { a.s.Barrier(0, StageCompute) }, BadCall, "barrier"},
		{"slot", func() { a.s.Timestamp(2) }, BadCall, "slot"},
		{"slot twice", func() { a.s.Timestamp(0); a.s.Timestamp(0) }, BadCall, "slot"},
		{"first of two", func() { a.s.Timestamp(9); a.s.Fill(Buffer{}, 0) }, BadCall, "timestamp"},
	} {
		if tt.name == "many groups" && limit[2] == math.MaxUint32 {
			continue // cannot be exceeded
		}
		ok(t, a.s.Begin())
		tt.record()
		if err := a.s.Submit(); !errors.Is(err, tt.cause) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want %v and %q", tt.name, err, tt.cause, tt.says)
		}
		if err := a.s.Submit(); !errors.Is(err, BadCall) {
			t.Errorf("%s: the second Submit returned %v", tt.name, err)
		}
	}
	a.s.Dispatch(1, 1, 1)
	if err := a.s.Submit(); !errors.Is(err, BadCall) || !strings.Contains(err.Error(), "dispatch: ") {
		t.Errorf("dispatch without Begin: %v", err)
	}
	if _, err := a.s.Times(); !errors.Is(err, BadCall) {
		t.Errorf("times of nothing: %v", err)
	}
	ok(t, a.s.Wait(context.Background(), 0)) // nothing is in flight
	a.fill(1)
	a.record(1)
	ok(t, a.s.Submit())
	ok(t, a.s.Wait(context.Background(), time.Minute))
	if n := a.wrong(1, 1); n > 0 {
		t.Errorf("%d wrong sums after the errors", n)
	}
	a.s.Dispatch(1, 1, 1) // recorded too late
	if err := a.s.Submit(); !errors.Is(err, BadCall) {
		t.Errorf("dispatch after Submit: %v", err)
	}
	ok(t, a.s.Submit()) // the recording of before is still there
	ok(t, a.s.Wait(context.Background(), time.Minute))
	if _, err := d.NewStream(StreamOptions{Timestamps: -1}); !errors.Is(err, BadCall) {
		t.Errorf("negative timestamps: %v", err)
	}
}

func doubleOrSkip(t *testing.T, d *Device) []byte {
	t.Helper()
	if !d.Features().Has(Float64) {
		t.Skip("SKIPPED: the device has no shaderFloat64")
	}
	return doubleSPIRV
}

// TestDouble runs a shader that needs an optional feature.
func TestDouble(t *testing.T) {
	d := openDevice(t, DeviceOptions{})
	p := must[*Pipeline](t)(d.NewPipeline(doubleOrSkip(t, d), PipelineOptions{Bindings: 1}))
	b := must[*Block](t)(d.Alloc(64*8, Upload))
	for i := range 64 {
		binary.LittleEndian.PutUint64(b.Bytes()[8*i:], math.Float64bits(math.Pi*float64(i)))
	}
	ok(t, b.Whole().Flush())
	s := must[*Stream](t)(d.NewStream(StreamOptions{}))
	ok(t, s.Begin())
	s.Bind(p, b.Whole())
	s.Dispatch(1, 1, 1)
	ok(t, s.Submit())
	ok(t, s.Wait(context.Background(), time.Minute))
	for i := range 64 {
		if got := math.Float64frombits(binary.LittleEndian.Uint64(b.Bytes()[8*i:])); got != 2*math.Pi*float64(i) {
			t.Errorf("row %d: %v", i, got)
		}
	}
}

// TestIndirect lets the device decide how many work groups run.
func TestIndirect(t *testing.T) {
	d := openDevice(t, DeviceOptions{})
	a := newAdder(t, d, 10*addGroup)
	counts := must[*Block](t)(d.Alloc(16, DeviceLocal))
	a.fill(2)
	ok(t, a.s.Begin())
	a.s.Copy(a.dev[0], a.in[0])
	a.s.Copy(a.dev[1], a.in[1])
	a.s.Fill(a.dev[2], 0)
	a.s.Fill(counts.Whole(), 1)
	a.s.Barrier(StageTransfer, StageTransfer)
	a.s.Fill(counts.Whole().Slice(0, 4), 7)
	a.s.Barrier(StageTransfer, StageCompute|StageIndirect)
	a.s.Bind(a.p, a.dev[:]...)
	a.s.Push(append(binary.LittleEndian.AppendUint32(nil, uint32(a.count)), 0, 0, 0x80, 0x3f))
	a.s.DispatchIndirect(counts.Whole())
	a.s.Barrier(StageCompute, StageTransfer)
	a.s.Copy(a.out, a.dev[2])
	ok(t, a.s.Submit())
	ok(t, a.s.Wait(context.Background(), time.Minute))
	if n := a.wrong(2, 1); n != 3*addGroup {
		t.Errorf("%d numbers were not computed, want the last %d", n, 3*addGroup)
	}
}

// TestManyBinds fills the pools of descriptor sets: a driver may refuse a set at any time,
// and the stream gets another pool.
func TestManyBinds(t *testing.T) {
	const outOfPool = Result(-1000069000)
	d := openDevice(t, DeviceOptions{})
	a := newAdder(t, d, 64)
	a.fill(4)
	record := func() {
		ok(t, a.s.Begin())
		a.s.Copy(a.dev[0], a.in[0])
		a.s.Copy(a.dev[1], a.in[1])
		a.s.Barrier(StageTransfer, StageCompute)
		for range 100 {
			a.s.Bind(a.p, a.dev[:]...)
			a.s.Push(append(binary.LittleEndian.AppendUint32(nil, uint32(a.count)), 0, 0, 0x80, 0x3f))
			a.s.Dispatch(2, 1, 1)
			a.s.Barrier(StageCompute, StageCompute)
		}
		a.s.Barrier(StageCompute, StageTransfer)
		a.s.Copy(a.out, a.dev[2])
	}
	pools := func() int { return LiveHandles()["descriptor pool"] }
	record()
	first := pools() // 1 or more, as the driver likes
	if first == 0 {
		t.Fatal("100 sets without a pool")
	}
	inject(t, Fault{Call: "vkAllocateDescriptorSets", After: 99, Result: outOfPool})
	record()
	if n := pools(); n != first+1 {
		t.Errorf("%d pools after one more was full, want %d", n, first+1)
	}
	ok(t, a.s.Submit())
	ok(t, a.s.Wait(context.Background(), time.Minute))
	if n := a.wrong(4, 1); n > 0 {
		t.Errorf("%d wrong sums", n)
	}
	record() // in the pools of before
	if n := pools(); n != first+1 {
		t.Errorf("%d pools the next time, want %d", n, first+1)
	}
	ok(t, a.s.Submit())
	ok(t, a.s.Wait(context.Background(), time.Minute))
	inject(t, Fault{Call: "vkAllocateDescriptorSets", Times: -1, Result: outOfPool})
	record()
	if err := a.s.Submit(); err == nil || !strings.Contains(err.Error(), "VK_ERROR_OUT_OF_POOL_MEMORY") {
		t.Errorf("all pools full: %v", err)
	}
}

// TestSubmitAfter chains upload, compute and download over three streams, with and
// without semaphores, several times in flight.
func TestSubmitAfter(t *testing.T) {
	for _, disable := range []Feature{0, TimelineSemaphore} {
		d := openDevice(t, DeviceOptions{Disable: disable})
		a := newAdder(t, d, 5000)
		var up, down *Stream
		up = must[*Stream](t)(d.NewStream(StreamOptions{Queue: TransferQueue}))
		down = must[*Stream](t)(d.NewStream(StreamOptions{Queue: TransferQueue}))
		submitEmpty(t, a.s, down) // never submitted: nothing to wait for
		for seed := range 10 {
			a.fill(seed)
			ok(t, up.Begin())
			up.Copy(a.dev[0], a.in[0])
			up.Copy(a.dev[1], a.in[1])
			ok(t, up.Submit())
			ok(t, a.s.Begin())
			a.s.Barrier(StageTransfer, StageCompute)
			a.s.Bind(a.p, a.dev[:]...)
			a.s.Push(append(binary.LittleEndian.AppendUint32(nil, uint32(a.count)), 0, 0, 0x80, 0x3f))
			a.s.Dispatch(uint32(a.count+addGroup-1)/addGroup, 1, 1)
			ok(t, a.s.Submit(up))
			ok(t, down.Begin())
			down.Barrier(StageCompute, StageTransfer)
			down.Copy(a.out, a.dev[2])
			ok(t, down.Submit(a.s, up))
			ok(t, down.Wait(context.Background(), time.Minute))
			if n := a.wrong(seed, 1); n > 0 {
				t.Errorf("seed %d: %d wrong sums", seed, n)
			}
			ok(t, a.s.Wait(context.Background(), time.Minute))
			ok(t, up.Wait(context.Background(), time.Minute))
		}
		if err := up.Submit(up); !errors.Is(err, BadCall) {
			t.Errorf("a stream after itself: %v", err)
		}
		if err := up.Submit(make([]*Stream, maxAfter+1)...); !errors.Is(err, BadCall) {
			t.Errorf("after too many: %v", err)
		}
		// A stream that another waits for may be closed at any time.
		ok(t, up.Submit())
		ok(t, down.Submit(up))
		ok(t, up.Close())
		ok(t, down.Wait(context.Background(), time.Minute))
		ok(t, down.Close())
		if err := a.s.Submit(up); !errors.Is(err, Closed) && disable == 0 {
			t.Errorf("after a closed stream: %v", err)
		}
		ok(t, d.in.Close())
	}
}

// submitEmpty submits an empty recording after the streams given, and waits for it.
func submitEmpty(t *testing.T, s *Stream, after ...*Stream) {
	t.Helper()
	ok(t, s.Begin())
	ok(t, s.Submit(after...))
	ok(t, s.Wait(context.Background(), time.Minute))
}

// TestCloseInUse closes memory and pipeline while the device works with them: the
// work ends well, and they go with the recording.
func TestCloseInUse(t *testing.T) {
	d := openDevice(t, DeviceOptions{})
	a := newAdder(t, d, 100000)
	a.fill(9)
	a.record(1)
	ok(t, a.s.Submit())
	ok(t, a.p.Close())
	for _, b := range a.blocks[:2] { // all but what is read below
		ok(t, b.Close())
	}
	if n := LiveHandles()["memory"]; n != 3 {
		t.Errorf("%d allocations while in use, want 3", n)
	}
	ok(t, a.s.Wait(context.Background(), time.Minute))
	if n := a.wrong(9, 1); n > 0 {
		t.Errorf("%d wrong sums", n)
	}
	ok(t, a.s.Submit()) // what was recorded still holds them
	ok(t, a.s.Wait(context.Background(), time.Minute))
	ok(t, a.s.Begin())
	if live := LiveHandles(); live["memory"] != 1 || live["pipeline"] != 0 {
		t.Errorf("after Begin: %v", live)
	}
	if err := a.s.Begin(); err != nil { // while recording: starts anew
		t.Error(err)
	}
}

// TestAfterClose checks every method of what is closed.
func TestAfterClose(t *testing.T) {
	d := openDevice(t, DeviceOptions{})
	a := newAdder(t, d, 64)
	other := must[*Stream](t)(d.NewStream(StreamOptions{}))
	pool := d.NewPool(Upload, 1<<12)
	must[Buffer](t)(pool.Take(100))
	ok(t, other.Close())
	if err := other.Begin(); !errors.Is(err, Closed) {
		t.Errorf("Begin of a closed stream: %v", err)
	}
	ok(t, d.Close())
	ok(t, d.Close())
	ok(t, pool.Close())
	_, allocErr := d.Alloc(64, Upload)
	_, streamErr := d.NewStream(StreamOptions{})
	_, pipelineErr := d.NewPipeline(addSPIRV, PipelineOptions{})
	_, takeErr := pool.Take(4)
	a.s.Dispatch(1, 1, 1)
	for what, err := range map[string]error{
		"begin": a.s.Begin(), "submit": a.s.Submit(), "wait": a.s.Wait(context.Background(), 0),
		"alloc": allocErr, "stream": streamErr, "pipeline": pipelineErr, "pool": takeErr,
	} {
		if !errors.Is(err, Closed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	a.close()
}

// TestOldVersions makes the round trip on a device treated as of each version: the layer
// speaks if a structure, function or feature of a later one is used.
func TestOldVersions(t *testing.T) {
	for minor := range uint32(4) {
		t.Run(fmt.Sprint("1.", minor), func(t *testing.T) {
			in := openInstanceOf(t, MakeVersion(1, minor))
			info := in.Devices()[0]
			if info.API >= MakeVersion(1, minor+1) {
				t.Fatalf("the device is of Vulkan %v", info.API)
			}
			if minor == 0 {
				if _, err := in.OpenDevice(0, DeviceOptions{}); !errors.Is(err, UnsupportedFeature) ||
					!strings.Contains(info.Unusable, "1.1 is needed") {
					t.Errorf("unusable %q, %v", info.Unusable, err)
				}
				return
			}
			if minor == 1 && (info.Features&(TimelineSemaphore|BufferAddress|Int8|SubgroupSize) != 0 ||
				info.DriverName != "") {
				t.Errorf("Vulkan 1.1 with %v, driver %q", info.Features, info.DriverName)
			}
			d := must[*Device](t)(in.OpenDevice(0, DeviceOptions{}))
			a := newAdder(t, d, 1000)
			a.fill(7)
			a.record(2)
			ok(t, a.s.Submit())
			ok(t, a.s.Wait(context.Background(), time.Minute))
			if n := a.wrong(7, 2); n > 0 {
				t.Errorf("%d of %d sums are wrong", n, a.count)
			}
		})
	}
}

// TestSoak submits from several goroutines that share a device while another makes
// garbage: pipelines, memory and streams come and go, every sum is checked, and no
// handle is left of a round. Half of the time is with the validation layer, half without,
// when memory must not grow: the layer itself keeps some kilobytes of every stream.
func TestSoak(t *testing.T) {
	limit := testkit.SoakTime(t, 5*time.Second, 2*time.Second) / 2
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
	defer testkit.Garbage()()
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
			resident = testkit.ResidentMiB(t)
		}
		if m := d.in.Messages(); len(m) > 0 {
			t.Fatalf("phase %d: %d messages, the first: %s", phase, len(m), m[0])
		}
	}
	if grown := testkit.ResidentMiB(t) - resident; watchMemory && resident > 0 && grown > 32 {
		t.Errorf("%d MiB more in memory than after the first phase", grown)
	}
	if rounds.Load() < 3 {
		t.Errorf("only %d rounds", rounds.Load())
	}
	t.Logf("%d rounds, %d recordings, %d MiB in memory at first, %d MiB at the end", rounds.Load(), submits.Load(),
		resident, testkit.ResidentMiB(t))
}

// TestOpenClose opens and closes everything 50 times beside a goroutine that makes garbage.
func TestOpenClose(t *testing.T) {
	openInstance(t) // or skip; it stays open, so that several instances are tried too
	base := fmt.Sprint(LiveHandles())
	defer testkit.Garbage()()
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
