//go:build cgo && !(386 || arm || mips || mipsle)

package vk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// inject arms a fault until the end of the test.
func inject(t *testing.T, f Fault) (disarm func()) {
	t.Helper()
	disarm = Inject(f)
	t.Cleanup(disarm)
	return disarm
}

// TestOpenFaults checks what each failure on the way to a device becomes.
func TestOpenFaults(t *testing.T) {
	openInstance(t) // there is Vulkan, or the test is skipped
	for _, tt := range []struct {
		fault Fault
		cause Cause
		says  string
	}{
		{Fault{Call: "dlopen"}, NoLoader, "libvulkan1"},
		{Fault{Call: "vkCreateInstance", Result: ErrorIncompatible}, NoDriver, "mesa-vulkan-drivers"},
		{Fault{Call: "vkCreateInstance", Result: ErrorInitialization}, NoDriver, "VK_ERROR_INITIALIZATION_FAILED"},
		{Fault{Call: "vkCreateInstance", Result: ErrorOutOfHostMemory}, OutOfHostMemory, "free memory"},
		{Fault{Call: "vkCreateInstance", Result: ErrorLayerNotPresent}, UnsupportedFeature, "vulkan-validationlayers"},
		{Fault{Call: "vkCreateInstance", Result: ErrorFeature}, UnsupportedFeature, "update it"},
		{Fault{Call: "vkEnumeratePhysicalDevices", Result: ErrorInitialization}, NoDevice, "CPU back end"},
		{Fault{Call: "vkEnumeratePhysicalDevices", Result: Success}, NoDevice, "CPU back end"},
		{Fault{Call: "vkEnumeratePhysicalDevices", Result: ErrorOutOfDeviceMemory}, OutOfDeviceMemory, "list devices"},
		{Fault{Call: "vkEnumeratePhysicalDevices", Result: -13}, VulkanError, "VK_ERROR_UNKNOWN"},
	} {
		disarm := inject(t, tt.fault)
		before := LiveHandles()
		in, err := Open(Options{})
		disarm()
		if in != nil || !errors.Is(err, tt.cause) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: got %v, %v; want cause %v and %q", tt.fault, in, err, tt.cause, tt.says)
		}
		if after := LiveHandles(); fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("%+v: handles %v became %v", tt.fault, before, after)
		}
	}
}

// TestNoDriverInstalled makes the real loader find no driver.
func TestNoDriverInstalled(t *testing.T) {
	openInstance(t)
	t.Setenv("VK_DRIVER_FILES", "/nonexistent.json")
	t.Setenv("VK_ICD_FILENAMES", "/nonexistent.json")
	in, err := Open(Options{})
	if in != nil || !errors.Is(err, NoDriver) {
		t.Errorf("got %v, %v", in, err)
	}
}

// session opens a device and makes a round trip on it, closing all there is.
func session(t *testing.T, in *Instance) (err error) {
	t.Helper()
	d, err := in.OpenDevice(0, DeviceOptions{})
	if err != nil {
		return err
	}
	defer func() {
		if e := d.Close(); err == nil {
			err = e
		}
	}()
	p, err := d.NewPipeline(addSPIRV, PipelineOptions{Bindings: 3, PushConstantSize: 8,
		Spec: map[uint32]uint32{0: 1, 1: 0}})
	if err != nil {
		return err
	}
	s, err := d.NewStream(StreamOptions{Timestamps: 1})
	if err != nil {
		return err
	}
	pool := d.NewPool(Unified, 64) // a block for each buffer
	if !d.info.Unified() {
		pool = d.NewPool(Upload, 64)
	}
	var buffers [3]Buffer
	for i := range buffers {
		if buffers[i], err = pool.Take(64); err != nil {
			return err
		}
	}
	if err := s.Begin(); err != nil {
		return err
	}
	s.Bind(p, buffers[:]...)
	s.Push([]byte{16, 0, 0, 0, 0, 0, 0x80, 0x3f})
	s.Dispatch(16, 1, 1)
	s.Timestamp(0)
	if err := s.Submit(); err != nil {
		return err
	}
	if err := s.Wait(context.Background(), time.Minute); err != nil {
		return err
	}
	if _, err := s.Times(); err != nil {
		return err
	}
	return buffers[2].Invalidate()
}

// TestEveryCallFails lets each call of a whole session fail in turn, with each result:
// the cause is right, nothing leaks, nothing crashes, and the next session works.
func TestEveryCallFails(t *testing.T) {
	in := openInstance(t)
	results := map[Result]Cause{
		ErrorOutOfHostMemory: OutOfHostMemory, ErrorOutOfDeviceMemory: OutOfDeviceMemory,
		ErrorDeviceLost: DeviceLost, ErrorTooManyObjects: VulkanError,
	}
	skip := map[string]bool{"dlopen": true, "vkCreateInstance": true, "vkEnumeratePhysicalDevices": true,
		"readback": true}
	base := fmt.Sprint(LiveHandles())
	for _, call := range FaultPoints() {
		if skip[call] {
			continue // before or beside this session
		}
		for result, cause := range results {
			disarm := inject(t, Fault{Call: call, Result: result})
			err := session(t, in)
			disarm()
			if !errors.Is(err, cause) {
				t.Errorf("%s returns %v: got %v, want %v", call, result, err, cause)
			}
			if now := fmt.Sprint(LiveHandles()); now != base {
				t.Errorf("%s returns %v: handles %s became %s", call, result, base, now)
			}
		}
	}
	if err := session(t, in); err != nil {
		t.Errorf("after all faults: %v", err)
	}
}

// TestMemoryFallsBack checks that a full heap leads to the next type of memory.
func TestMemoryFallsBack(t *testing.T) {
	d := openDevice(t, DeviceOptions{})
	types := len(memoryCandidates(d.info.Memory, Readback))
	inject(t, Fault{Call: "vkAllocateMemory", Result: ErrorOutOfDeviceMemory, Times: types})
	if _, err := d.Alloc(4096, Readback); !errors.Is(err, OutOfDeviceMemory) {
		t.Errorf("all %d types full: %v", types, err)
	}
	if b, err := d.Alloc(4096, Readback); err != nil {
		t.Errorf("after the fault: %v", err)
	} else {
		ok(t, b.Close())
	}
}

// TestDeviceLost checks that a lost device stays lost, and that opening it again works.
func TestDeviceLost(t *testing.T) {
	for _, call := range []string{"vkQueueSubmit", "wait"} {
		t.Run(call, func(t *testing.T) {
			d := openDevice(t, DeviceOptions{})
			a := newAdder(t, d, 100)
			a.fill(1)
			a.record(1)
			inject(t, Fault{Call: call, After: 2, Result: ErrorDeviceLost})
			var err error
			rounds := 0
			for ; err == nil && rounds < 10; rounds++ {
				if err = a.s.Submit(); err == nil {
					err = a.s.Wait(context.Background(), time.Minute)
				}
			}
			if rounds != 3 || !errors.Is(err, DeviceLost) || !d.Lost() {
				t.Fatalf("round %d: %v, lost %v", rounds, err, d.Lost())
			}
			_, allocErr := d.Alloc(64, Upload)
			_, streamErr := d.NewStream(StreamOptions{})
			_, pipelineErr := d.NewPipeline(addSPIRV, PipelineOptions{})
			for what, err := range map[string]error{
				"submit": a.s.Submit(), "wait": a.s.Wait(context.Background(), 0), "begin": a.s.Begin(),
				"alloc": allocErr, "stream": streamErr, "pipeline": pipelineErr, "save": nil,
			} {
				if what != "save" && !errors.Is(err, DeviceLost) {
					t.Errorf("%s on a lost device: %v", what, err)
				}
			}
			a.close()
			ok(t, d.Close())
			again := must[*Device](t)(d.in.OpenDevice(d.info.Index, DeviceOptions{}))
			b := newAdder(t, again, 100)
			b.fill(1)
			b.record(1)
			ok(t, b.s.Submit())
			ok(t, b.s.Wait(context.Background(), time.Minute))
			if n := b.wrong(1, 1); n > 0 {
				t.Errorf("%d wrong sums on the device opened again", n)
			}
		})
	}
}

// TestEndlessWork checks every way to wait for work that does not end.
func TestEndlessWork(t *testing.T) {
	for _, disable := range []Feature{0, TimelineSemaphore} {
		t.Run(fmt.Sprint("without ", disable), func(t *testing.T) {
			d := openDevice(t, DeviceOptions{Disable: disable, CloseTimeout: 20 * time.Millisecond})
			a := newAdder(t, d, 100)
			a.fill(1)
			a.record(1)
			disarm := inject(t, Fault{Call: "wait", Times: -1, Result: ResultTimeout})
			ok(t, a.s.Submit())
			start := time.Now()
			err := a.s.Wait(context.Background(), 120*time.Millisecond)
			if took := time.Since(start); !errors.Is(err, Timeout) || took < 120*time.Millisecond ||
				took > 10*time.Second {
				t.Errorf("after %v: %v", took, err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
			defer cancel()
			if err := a.s.Wait(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("context with deadline: %v", err)
			}
			if err := a.s.Begin(); !errors.Is(err, BadCall) {
				t.Errorf("Begin in flight: %v", err)
			}
			if err := a.s.Submit(); !errors.Is(err, BadCall) {
				t.Errorf("Submit in flight: %v", err)
			}
			before := fmt.Sprint(LiveHandles())
			for what, close := range map[string]func() error{"stream": a.s.Close, "device": d.Close,
				"instance": d.in.Close} {
				if err := close(); !errors.Is(err, Timeout) {
					t.Errorf("close %s: %v", what, err)
				}
			}
			if now := fmt.Sprint(LiveHandles()); now != before {
				t.Errorf("handles %s became %s while the device still worked", before, now)
			}
			disarm()
			ok(t, a.s.Wait(context.Background(), time.Minute))
			if n := a.wrong(1, 1); n > 0 {
				t.Errorf("%d wrong sums", n)
			}
			a.close()
		})
	}
}

// TestCorruptReadback checks that exactly the byte asked for changes.
func TestCorruptReadback(t *testing.T) {
	d := openDevice(t, DeviceOptions{})
	a := newAdder(t, d, 100)
	a.fill(1)
	a.record(1)
	inject(t, Fault{Call: "readback", After: 1, Offset: 4*17 + 2, Mask: 0x40})
	for round, want := range []int{0, 1, 0} {
		ok(t, a.s.Submit())
		ok(t, a.s.Wait(context.Background(), time.Minute))
		if n := a.wrong(1, 1); n != want {
			t.Errorf("round %d: %d wrong sums, want %d", round, n, want)
		}
	}
}

// TestInjectUnknown checks that a misspelt call does not pass as a test without faults.
func TestInjectUnknown(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Inject(Fault{Call: "vkCreateInstanc"})
}
