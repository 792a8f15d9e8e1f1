package engine

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"clearance/engine/internal/vk"
)

// TestSelfTest: a device whose numbers or records are off in one byte is refused, with its
// name and what is wrong, and leaves nothing behind.
func TestSelfTest(t *testing.T) {
	eachPath(t, func(t *testing.T, o Options) {
		openAlone(t, o)
		echo := uint64(4 * len(newTestData().echo()))
		for what, f := range map[string]struct {
			fault vk.Fault
			want  string
		}{
			"a sum":                {vk.Fault{Call: "readback", Mask: 1}, " + "},
			"a product":            {vk.Fault{Call: "readback", Offset: 56*7 + 16, Mask: 1}, " * "},
			"a contract":           {vk.Fault{Call: "readback", Offset: 56*9 + 24 + 6, Mask: 0x10}, "at once"},
			"a quotient":           {vk.Fault{Call: "readback", Offset: 56*11 + 32, Mask: 0x80}, " / "},
			"a root":               {vk.Fault{Call: "readback", Offset: 56*(testRows-1) + 40, Mask: 0x80}, " root "},
			"a quotient of a root": {vk.Fault{Call: "readback", Offset: 56*13 + 48, Mask: 0x80}, "inverse root"},
			"a record":             {vk.Fault{Call: "readback", After: 1, Offset: echo - 1, Mask: 0x40}, "word"},
		} {
			o.Validation, o.CacheDir = true, testCache
			refused(t, what, o, f.fault, f.want)
		}
	})
}

// refused fails the test unless a device with a fault is refused by its self-test, with an error that says what is
// wrong.
func refused(t *testing.T, what string, o Options, fault vk.Fault, want string) {
	t.Helper()
	disarm := vk.Inject(fault)
	b, err := Open(o)
	disarm()
	if err == nil {
		b.Close()
		t.Errorf("%s: the device was not refused", what)
		return
	}
	for _, part := range []string{"self-test", want, "CPU back end"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %q does not say %q", what, err, part)
		}
	}
}

// TestSelfTestFailures: what the device refuses during the self-test is the error of Open.
func TestSelfTestFailures(t *testing.T) {
	open(t, Options{}) // or skip
	for _, f := range []struct {
		fault vk.Fault
		cause error
	}{
		{vk.Fault{Call: "vkAllocateMemory", Times: -1, Result: vk.ErrorOutOfDeviceMemory}, vk.OutOfDeviceMemory},
		{vk.Fault{Call: "vkCreateComputePipelines", Result: vk.ErrorOutOfHostMemory}, vk.OutOfHostMemory},
		{vk.Fault{Call: "vkQueueSubmit", Result: vk.ErrorDeviceLost}, vk.DeviceLost},
		{vk.Fault{Call: "wait", Result: vk.ResultTimeout}, vk.Timeout},
	} {
		disarm := vk.Inject(f.fault)
		b, err := Open(Options{Timeout: 40 * time.Millisecond, CacheDir: testCache}) // less than one slice of a wait
		disarm()
		if !errors.Is(err, f.cause) || !strings.Contains(err.Error(), "self-test") {
			t.Errorf("%+v: error %v", f.fault, err)
		}
		if err == nil {
			b.Close()
		}
	}
}

// TestSelfTestData: the operands reach what they are to reach.
func TestSelfTestData(t *testing.T) {
	d := newTestData()
	rounded, inexact := 0, 0
	for _, n := range d.numbers {
		if math.FMA(n[0], n[1], n[2]) != 0 {
			inexact++ // a fused multiplication and addition shows
		}
		if s := n[0] + n[1]; s-n[0] != n[1] || s-n[1] != n[0] {
			rounded++
		}
		for _, v := range []float64{n[0], n[1], n[2], n[0] / n[1]} {
			if a := math.Abs(v); !(a > 1e-300 && a < 1e300) {
				t.Errorf("operand %g", v)
			}
		}
	}
	if inexact < testRows*9/10 || rounded < testRows/2 {
		t.Errorf("%d of %d products and %d sums are rounded", inexact, testRows, rounded)
	}
	seen := map[uint32]bool{}
	for _, w := range d.echo() {
		if seen[w] && w != 0 {
			t.Errorf("word %#x is there twice", w)
		}
		seen[w] = true
	}
	var results [testRows][7]float64
	if d.check(results[:], d.echo()) == nil {
		t.Error("zeros pass")
	}
}

// TestOpenFailures: no loader, no driver, no device: Open says which.
func TestOpenFailures(t *testing.T) {
	open(t, Options{}) // or skip
	for _, f := range []struct {
		fault vk.Fault
		cause error
		want  string
	}{
		{vk.Fault{Call: "dlopen", Times: -1}, vk.NoLoader, "libvulkan1"},
		{vk.Fault{Call: "vkCreateInstance", Result: vk.ErrorIncompatible}, vk.NoDriver, "mesa-vulkan-drivers"},
		{vk.Fault{Call: "vkEnumeratePhysicalDevices", Result: vk.ErrorInitialization}, vk.NoDevice, "GPU"},
		{vk.Fault{Call: "vkEnumeratePhysicalDevices", Result: vk.Success}, vk.NoDevice, "GPU"},
		{vk.Fault{Call: "vkCreateDevice", Result: vk.ErrorOutOfHostMemory}, vk.OutOfHostMemory, "memory"},
	} {
		disarm := vk.Inject(f.fault)
		b, err := Open(Options{CacheDir: testCache})
		disarm()
		if !errors.Is(err, f.cause) || !strings.Contains(err.Error(), f.want) {
			t.Errorf("%+v: error %v", f.fault, err)
		}
		if err == nil {
			b.Close()
		}
	}
}
