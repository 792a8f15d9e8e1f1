package engine

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
	"clearance/internal/testkit/rowcheck"
	"clearance/verify"
)

// TestFailures: whatever the device refuses, a call ends in a complete result of the CPU, or,
// where Vulkan was asked for by name, in an error that says what went wrong, with no
// row answered.
func TestFailures(t *testing.T) { eachPath(t, testFailures) }

// limitOf is the time limit of a device that is to fail by a cause.
func limitOf(cause error) time.Duration {
	if cause == vk.Timeout {
		return 300 * time.Millisecond // which the device takes to close
	}
	return time.Minute // the first chunk waits for the compiler of a software device
}

func testFailures(t *testing.T, o Options) {
	for _, f := range []struct {
		fault   vk.Fault
		cause   error
		forever bool // the device is of no use afterwards
	}{
		{vk.Fault{Call: "vkAllocateMemory", Times: -1, Result: vk.ErrorOutOfDeviceMemory}, vk.OutOfDeviceMemory, false},
		{vk.Fault{Call: "vkAllocateMemory", After: 1, Times: -1, Result: vk.ErrorOutOfHostMemory}, vk.OutOfHostMemory,
			false},
		{vk.Fault{Call: "vkCreateComputePipelines", Times: -1, Result: vk.ErrorOutOfDeviceMemory}, vk.OutOfDeviceMemory,
			false},
		{vk.Fault{Call: "vkQueueSubmit", Times: -1, Result: vk.ErrorDeviceLost}, vk.DeviceLost, true},
		{vk.Fault{Call: "vkQueueSubmit", After: 2, Result: vk.ErrorDeviceLost}, vk.DeviceLost, true},
		{vk.Fault{Call: "wait", After: 1, Times: -1, Result: vk.ErrorDeviceLost}, vk.DeviceLost, true},
		{vk.Fault{Call: "wait", Times: -1, Result: vk.ResultTimeout}, vk.Timeout, true},
	} {
		t.Run(f.fault.Call+" "+f.fault.Result.String(), func(t *testing.T) {
			b, c := openAlone(t, Options{ChunkRows: 128, Timeout: limitOf(f.cause), staged: o.staged}), processor(t)
			lib, pairs := set(t, "boxes", 0, 500)
			disarm := vk.Inject(f.fault)
			defer disarm()

			job := &batch.Job{Library: lib, Input: pairs}
			rep, err := dispatch.New(b, c).Run(t.Context(), job, dispatch.Options{Backend: b.Name(), ChunkRows: 512})
			if !errors.Is(err, f.cause) {
				t.Fatalf("error %v, want %v", err, f.cause)
			}
			if rep.Done != 0 || rep.Counts[batch.Undecided] != 500 {
				t.Errorf("%d rows done, statuses %v", rep.Done, rep.Counts)
			}
			if d := b.Device(); d.Usable() == f.forever || f.forever && !strings.Contains(d.Reason, f.cause.Error()) {
				t.Errorf("device: %+v", d)
			}
			disarm()

			// A hard GPU is what auto would take; the order of the list stands in for it.
			disarm = vk.Inject(f.fault)
			if !f.forever {
				b2 := first{b}
				job = &batch.Job{Library: lib, Input: pairs}
				rep, err = dispatch.New(b2, c).Run(t.Context(), job, dispatch.Options{ChunkRows: 512})
				if err != nil || rep.Done != 500 || rep.Counts[batch.Undecided] != 0 || len(rep.Failovers) != 1 ||
					!errors.Is(rep.Failovers[0].Err, f.cause) {
					t.Errorf("report %+v, error %v", rep, err)
				}
				rowcheck.Audit(t, job)
			}
			disarm()
			job = &batch.Job{Library: lib, Input: pairs}
			rep, err = dispatch.New(first{b}, c).Run(t.Context(), job, dispatch.Options{})
			if err != nil || rep.Done != 500 || rep.Counts[batch.Undecided] != 0 {
				t.Errorf("afterwards: report %+v, error %v", rep, err)
			}
			if used := rep.Spans[0].Backend; (used == b.Name()) == f.forever {
				t.Errorf("afterwards the rows went to %s", used)
			}
		})
	}
}

// first is the back end as if it were a GPU, so that auto takes it.
type first struct{ *Backend }

func (f first) Device() batch.Device {
	d := f.Backend.Device()
	d.Kind = batch.DiscreteGPU
	return d
}

// Estimate beats that of any other back end, on a machine of any size.
func (f first) Estimate(int, *batch.Options) time.Duration { return 0 }

// TestDeviceLostInTheMiddle: chunks answered before the loss stay, the CPU goes on.
func TestDeviceLostInTheMiddle(t *testing.T) { eachPath(t, testDeviceLostInTheMiddle) }

func testDeviceLostInTheMiddle(t *testing.T, o Options) {
	b, c := openAlone(t, Options{ChunkRows: 128, staged: o.staged}), processor(t)
	lib, pairs := set(t, "boxes", 0, 1000)
	run(t, &batch.Job{Library: lib, Input: pairs}, dispatch.Options{}, b, c) // library and memory are there
	disarm := vk.Inject(vk.Fault{Call: "vkQueueSubmit", After: 5, Times: -1, Result: vk.ErrorDeviceLost})
	defer disarm()
	job := &batch.Job{Library: lib, Input: pairs}
	rep, err := dispatch.New(first{b}, c).Run(t.Context(), job, dispatch.Options{ChunkRows: 128})
	if err != nil || rep.Done != 1000 || rep.Counts[batch.Undecided] != 0 || len(rep.Spans) != 2 ||
		rep.Spans[1].Lo != 640 {
		t.Errorf("report %+v, error %v", rep, err)
	}
	rowcheck.Audit(t, job)
}

// TestGarbage: a driver that changes a byte of what is read back is found out by the
// audit, or the row has no status any more and another back end answers it.
func TestGarbage(t *testing.T) { eachPath(t, testGarbage) }

func testGarbage(t *testing.T, o Options) {
	b, c := openAlone(t, Options{ChunkRows: 1024, staged: o.staged}), processor(t)
	lib, pairs := set(t, "boxes", 0, 512)
	clean := &batch.Job{Library: lib, Input: pairs}
	run(t, clean, dispatch.Options{}, b, c)
	row := 0 // that the device answers
	for clean.Results.Status()[row] != uint8(batch.Separated) {
		row++
	}
	l := placementOf(clean.Results, 512)
	for what, at := range map[string]struct {
		column batch.Columns
		byte   uint32
		caught bool
	}{
		"distance":  {batch.ColDistance, 4*uint32(row) + 2, true},
		"witness":   {batch.ColWitnessA, 12*uint32(row) + 2, true},
		"normal":    {batch.ColNormal, 12*uint32(row) + 3, true},
		"no status": {batch.ColStatus, 4 * uint32(row), false},
	} {
		word, _ := l.at(at.column)
		disarm := vk.Inject(vk.Fault{Call: "readback", Offset: uint64(4*word + at.byte), Mask: 0xfe})
		job := &batch.Job{Library: lib, Input: pairs}
		rep := run(t, job, dispatch.Options{}, b, c)
		disarm()
		report, err := verify.Audit(t.Context(), job, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if caught := report.Wrong() == 1; caught != at.caught {
			t.Errorf("%s: the audit refutes %d rows", what, report.Wrong())
		}
		if !at.caught && (b.Stats().Declined.Unknown != 1 || rep.Counts[batch.Undecided] != 0) {
			t.Errorf("%s: declined %+v, statuses %v", what, b.Stats().Declined, rep.Counts)
		}
	}
}

// TestCancel: a call ends soon after its context, with the rows answered until then, and
// leaves the back end in order.
func TestCancel(t *testing.T) { eachPath(t, testCancel) }

func testCancel(t *testing.T, o Options) {
	b, c := openAlone(t, Options{ChunkRows: 64, staged: o.staged}), processor(t)
	lib, pairs := set(t, "boxes", 0, 2000)
	ctx, cancel := context.WithCancel(t.Context())
	job := &batch.Job{Library: lib, Input: canceller{pairs, 700, cancel}}
	rep, err := dispatch.New(b, c).Run(ctx, job, dispatch.Options{Backend: b.Name()})
	if !errors.Is(err, context.Canceled) || rep.Done == 0 || rep.Done > 800 {
		t.Errorf("%d rows done, error %v", rep.Done, err)
	}
	job = &batch.Job{Library: lib, Input: pairs}
	if rep := run(t, job, dispatch.Options{}, b, c); rep.Counts[batch.Undecided] != 0 {
		t.Errorf("afterwards: %v", rep.Counts)
	}
	rowcheck.Audit(t, job)
}

// canceller ends a context when a row is read.
type canceller struct {
	batch.Input
	row    int
	cancel func()
}

func (c canceller) Row(i int, r *batch.Row) {
	if i == c.row {
		c.cancel()
	}
	c.Input.Row(i, r)
}

// TestPanic: an input that panics is an error of the call, and costs nothing else.
func TestPanic(t *testing.T) {
	b := openAlone(t, Options{})
	lib, pairs := set(t, "boxes", 0, 200)
	job := &batch.Job{Library: lib, Input: canceller{pairs, 100, func() { panic("no such row") }}}
	if _, err := dispatch.New(b).Run(t.Context(), job, dispatch.Options{}); err == nil || !strings.Contains(err.Error(),
		"no such row") {
		t.Errorf("error %v", err)
	}
	run(t, &batch.Job{Library: lib, Input: pairs}, dispatch.Options{}, b, processor(t))
}

// TestLoopsThatEndEarly: where a driver ends loops before their time, as drivers on the CPU
// do after 65,535 passes, the rows are declined and not answered by what the loops had come
// to. The budget that keeps rows from it is lifted here, and large hulls are scanned.
func TestLoopsThatEndEarly(t *testing.T) {
	b, c := open(t, Options{budget: math.MaxUint32}), processor(t)
	if !b.direct {
		t.Skip("the device's memory is not mapped: cells cannot be taken away")
	}
	g := rand.New(rand.NewPCG(13, 14))
	lib := hullLibrary(t, g, 3, 5000)
	k, err := b.libraries.of(t.Context(), lib)
	if err != nil {
		t.Fatal(err)
	}
	clear(k.cells.Bytes()[:4*lib.Len()])
	b.libraries.release(k)
	pairs := scattered(g, lib, 64)
	job := &batch.Job{Library: lib, Input: pairs}
	rep := run(t, job, dispatch.Options{}, b, c)
	rowcheck.Audit(t, job)
	want := &batch.Job{Library: lib, Input: pairs}
	run(t, want, dispatch.Options{}, c)
	compare(t, job, job.Results, want.Results)
	if d := b.Stats().Declined; d.Budget != int64(rep.Declined()) || d.Budget == 0 &&
		b.info.Name[:min(8, len(b.info.Name))] == "llvmpipe" {
		t.Errorf("declined %+v of %d rows", d, pairs.Len())
	}
}
