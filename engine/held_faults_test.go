package engine

import (
	"errors"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
	"clearance/verify"
)

// TestHeldFaults: failures of the device end a call on a held batch with their cause. What
// is not forever is over when it is over.
func TestHeldFaults(t *testing.T) {
	for _, f := range []struct {
		fault vk.Fault
		cause error
	}{
		{vk.Fault{Call: "vkAllocateMemory", Times: -1, Result: vk.ErrorOutOfDeviceMemory}, vk.OutOfDeviceMemory},
		{vk.Fault{Call: "vkAllocateMemory", After: 1, Result: vk.ErrorOutOfHostMemory}, vk.OutOfHostMemory},
	} {
		t.Run("hold: "+f.fault.Call+" "+f.fault.Result.String(), func(t *testing.T) {
			b := openAlone(t, Options{ChunkRows: 256})
			lib, worlds := stackOf(t, "boxes", 9, 0)
			disarm := vk.Inject(f.fault)
			defer disarm()
			if _, err := b.Hold(t.Context(), lib, worlds); !errors.Is(err, f.cause) {
				t.Errorf("error %v", err)
			}
			disarm()
			h := hold(t, b, lib, worlds)
			out := unanswered(h.Len(), new(batch.Options))
			if err := h.Run(t.Context(), new(batch.Options), out); err != nil {
				t.Fatal(err)
			}
			sameAll(t, "afterwards", out, direct(t, b, lib, worlds, batch.Options{}))
		})
	}
	for _, f := range []struct {
		fault   vk.Fault
		cause   error
		forever bool
	}{
		{vk.Fault{Call: "vkQueueSubmit", After: 1, Times: -1, Result: vk.ErrorDeviceLost}, vk.DeviceLost, true},
		{vk.Fault{Call: "wait", After: 1, Times: -1, Result: vk.ErrorDeviceLost}, vk.DeviceLost, true},
		{vk.Fault{Call: "wait", Times: -1, Result: vk.ResultTimeout}, vk.Timeout, true},
		{vk.Fault{Call: "vkBeginCommandBuffer", After: 1, Result: vk.ErrorOutOfHostMemory}, vk.OutOfHostMemory, false},
		{vk.Fault{Call: "vkCreateComputePipelines", Result: vk.ErrorOutOfDeviceMemory}, vk.OutOfDeviceMemory, false},
	} {
		t.Run("run: "+f.fault.Call+" "+f.fault.Result.String(), func(t *testing.T) {
			b := openAlone(t, Options{ChunkRows: 256, Timeout: limitOf(f.cause)})
			lib, worlds := stackOf(t, "boxes", 9, 0)
			h := hold(t, b, lib, worlds)
			out := unanswered(h.Len(), new(batch.Options))
			disarm := vk.Inject(f.fault)
			defer disarm()
			if err := h.Run(t.Context(), new(batch.Options), out); !errors.Is(err, f.cause) {
				t.Errorf("error %v", err)
			}
			disarm()
			if d := b.Device(); d.Usable() == f.forever {
				t.Errorf("device %+v", d)
			}
			err := h.Run(t.Context(), new(batch.Options), out)
			if f.forever && !errors.Is(err, f.cause) || !f.forever && err != nil {
				t.Errorf("afterwards %v", err)
			}
			if !f.forever {
				sameAll(t, "afterwards", out, direct(t, b, lib, worlds, batch.Options{}))
			}
		})
	}
}

// TestHeldGarbage: a byte that the driver changes on the way back is found out by the
// audit, and the next run is good.
func TestHeldGarbage(t *testing.T) {
	b, c := openAlone(t, Options{}), processor(t)
	lib, all := set(t, "boxes", 0, 300)
	whole := &batch.Job{Library: lib, Input: all}
	run(t, whole, dispatch.Options{}, c)
	apart := batch.NewPairs(count(whole.Results, batch.Separated)) // which the device ends
	var r batch.Row
	n := 0
	for i, s := range whole.Results.Status() {
		if s == uint8(batch.Separated) {
			all.Row(i, &r)
			apart.SetRow(n, &r)
			n++
		}
	}
	h := hold(t, b, lib, apart)
	job := &batch.Job{Library: lib, Input: apart}
	for k, wrong := range []int{0, 1, 0} {
		job.Results = unanswered(n, &job.Options)
		disarm := func() {}
		if wrong > 0 {
			disarm = vk.Inject(vk.Fault{Call: "readback", Offset: 4*7 + 2 /* of the distance */, Mask: 0xfe})
		}
		err := h.Run(t.Context(), &job.Options, job.Results)
		disarm()
		if err != nil {
			t.Fatal(err)
		}
		report, err := verify.Audit(t.Context(), job, verify.Options{})
		if err != nil || n < 100 {
			t.Fatalf("%d rows, error %v", n, err)
		}
		if report.Wrong() != wrong {
			t.Errorf("run %d: the audit refutes %d rows, want %d", k, report.Wrong(), wrong)
		}
	}
}
