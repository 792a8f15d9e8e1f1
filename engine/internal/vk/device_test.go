//go:build cgo && !(386 || arm || mips || mipsle)

package vk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clearance/tests/need"
)

// TestDevices checks that what a device says of itself is plausible by Vulkan's own
// guarantees (Vulkan 1.1 specification, table "Required Limits").
func TestDevices(t *testing.T) {
	in := openInstance(t)
	for i, d := range in.Devices() {
		t.Logf("%+v", d)
		if d.Index != i || d.Name == "" || d.API < MakeVersion(1, 0) {
			t.Errorf("device %d: %+v", i, d)
		}
		if d.Unusable != "" {
			continue
		}
		l := d.Limits
		atLeast := map[string][2]uint64{
			"MaxStorageBufferRange":   {l.MaxStorageBufferRange, 1 << 27},
			"MaxPushConstants":        {uint64(l.MaxPushConstants), 128},
			"MaxStorageBuffers":       {uint64(l.MaxStorageBuffers), 4},
			"MaxWorkGroupCount":       {uint64(l.MaxWorkGroupCount[0]), 65535},
			"MaxWorkGroupSize":        {uint64(l.MaxWorkGroupSize[0]), 128},
			"MaxWorkGroupInvocations": {uint64(l.MaxWorkGroupInvocations), 128},
			"MaxSharedMemory":         {uint64(l.MaxSharedMemory), 16384},
			"MaxAllocations":          {uint64(l.MaxAllocations), 4096},
			"MaxAllocationSize":       {l.MaxAllocationSize, 1 << 30},
			"SubgroupSize":            {uint64(l.SubgroupSize), 1},
			"SubgroupOperations":      {uint64(l.SubgroupOperations & 1), 1},
		}
		for name, v := range atLeast {
			if v[0] < v[1] {
				t.Errorf("%s: %s is %d, Vulkan guarantees %d", d.Name, name, v[0], v[1])
			}
		}
		for _, kind := range []MemoryKind{DeviceLocal, Upload, Readback} {
			if len(memoryCandidates(d.Memory, kind)) == 0 {
				t.Errorf("%s: no %v memory among %v", d.Name, kind, d.Memory)
			}
		}
		for _, m := range d.Memory {
			if m.Heap >= len(d.Heaps) || d.Heaps[m.Heap].Size == 0 {
				t.Errorf("%s: memory %+v of heaps %+v", d.Name, m, d.Heaps)
			}
		}
	}
}

// TestOpenDeviceErrors checks what cannot be opened.
func TestOpenDeviceErrors(t *testing.T) {
	in := openInstance(t)
	n := len(in.Devices())
	for _, i := range []int{-1, n, math.MaxInt} {
		if _, err := in.OpenDevice(i, DeviceOptions{}); !errors.Is(err, NoDevice) {
			t.Errorf("device %d of %d: %v", i, n, err)
		}
	}
	_, err := in.OpenDevice(0, DeviceOptions{Require: Float64, Disable: Float64})
	if !errors.Is(err, UnsupportedFeature) || !strings.Contains(err.Error(), "shaderFloat64") {
		t.Errorf("missing feature: %v", err)
	}
	ok(t, in.Close())
	if _, err := in.OpenDevice(0, DeviceOptions{}); !errors.Is(err, Closed) {
		t.Errorf("closed instance: %v", err)
	}
}

// TestValidationSpeaks breaks rules on purpose: without this, "no message" would prove
// nothing. The checks of this package are lifted first, as they see the breach before
// the layer does.
func TestValidationSpeaks(t *testing.T) {
	openInstance(t) // or skip
	for _, tt := range []struct {
		name, says string
		breach     func(d *Device, a *adder)
	}{
		{"offset", "VUID-", func(d *Device, a *adder) {
			if d.info.Limits.MinStorageBufferOffsetAlignment < 2 {
				t.Skip("SKIPPED: the device allows any offset")
			}
			d.info.Limits.MinStorageBufferOffsetAlignment = 1
			odd := a.dev[0].Slice(1, 4)
			a.s.Bind(a.p, odd, a.dev[1], a.dev[2])
		}},
		{"hazard", "SYNC-HAZARD", func(d *Device, a *adder) {
			a.s.Copy(a.dev[0], a.in[0])
			a.s.Copy(a.out, a.dev[0]) // no barrier between
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := must[*Instance](t)(Open(Options{Validation: true}))
			d := must[*Device](t)(in.OpenDevice(0, DeviceOptions{}))
			a := newAdder(t, d, 64)
			ok(t, a.s.Begin())
			tt.breach(d, a)
			ok(t, d.Close())
			ok(t, in.Close())
			all := strings.Join(in.Messages(), "\n")
			if !strings.Contains(all, tt.says) {
				t.Errorf("no message with %q: %q", tt.says, all)
			}
		})
	}
}

// TestLeaksShow leaks a pipeline, in a process of its own: LiveHandles and the layer must
// both say so.
func TestLeaksShow(t *testing.T) {
	const child = "CLEARANCE_VK_TEST_LEAK"
	openInstance(t) // or skip
	if os.Getenv(child) == "" {
		exe := must[string](t)(os.Executable())
		cmd := exec.Command(exe, "-test.run=^TestLeaksShow$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		for _, want := range []string{"pipeline:1", "VUID-vkDestroyDevice"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("no %q in the output (%v):\n%s", want, err, out)
			}
		}
		return
	}
	in := must[*Instance](t)(Open(Options{Validation: true}))
	d := must[*Device](t)(in.OpenDevice(0, DeviceOptions{}))
	a := newAdder(t, d, 64)
	delete(d.children, a.p.owner)
	ok(t, in.Close())
	t.Log(LiveHandles(), in.Messages())
}

// TestPipelineErrors checks what NewPipeline refuses.
func TestPipelineErrors(t *testing.T) {
	d := openDevice(t, DeviceOptions{Disable: Float64 | SubgroupSize | FullSubgroups})
	tooMany := int(d.info.Limits.MaxStorageBuffers) + 1
	for _, tt := range []struct {
		name  string
		code  []byte
		o     PipelineOptions
		cause Cause
		says  string
	}{
		{"empty", nil, PipelineOptions{}, BadCall, "SPIR-V"},
		{"text", bytes.Repeat([]byte("void main"), 12), PipelineOptions{Name: "text"}, BadCall, "pipeline text"},
		{"cut", addSPIRV[:len(addSPIRV)-1], PipelineOptions{}, BadCall, "SPIR-V"},
		{"bindings", addSPIRV, PipelineOptions{Bindings: tooMany}, BadCall, "bindings"},
		{"negative", addSPIRV, PipelineOptions{Bindings: -1}, BadCall, "bindings"},
		{"push", addSPIRV, PipelineOptions{PushConstantSize: 6}, BadCall, "multiple of 4"},
		{"much push", addSPIRV, PipelineOptions{PushConstantSize: 1 << 20}, BadCall, "at most"},
		{"float64", doubleSPIRV, PipelineOptions{Bindings: 1}, UnsupportedFeature, "shaderFloat64"},
		{"subgroup", addSPIRV, PipelineOptions{SubgroupSize: 8}, UnsupportedFeature, "subgroupSizeControl"},
		{"full subgroups", addSPIRV, PipelineOptions{FullSubgroups: true}, UnsupportedFeature, "computeFullSubgroups"},
	} {
		if _, err := d.NewPipeline(tt.code, tt.o); !errors.Is(err, tt.cause) || !strings.Contains(err.Error(),
			tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestBigEndianSPIRV checks that modules of either byte order are read.
func TestBigEndianSPIRV(t *testing.T) {
	swapped := bytes.Clone(doubleSPIRV)
	for i := 0; i < len(swapped); i += 4 {
		binary.BigEndian.PutUint32(swapped[i:], binary.LittleEndian.Uint32(doubleSPIRV[i:]))
	}
	for _, code := range [][]byte{doubleSPIRV, swapped} {
		words := must[[]uint32](t)(spirvWords(code))
		if got := spirvFeatures(words); got != Float64 {
			t.Errorf("double.spv needs %v", got)
		}
	}
}

// FuzzSPIRV checks that no bytes crash the reader of capabilities.
func FuzzSPIRV(f *testing.F) {
	f.Add(addSPIRV)
	f.Add(doubleSPIRV)
	f.Add(doubleSPIRV[:24])
	f.Fuzz(func(t *testing.T, b []byte) {
		words, err := spirvWords(b)
		if err == nil && spirvFeatures(words)&^(featureEnd-1) != 0 {
			t.Error("a feature that does not exist")
		}
	})
}

// TestSubgroupSize compiles with each subgroup size that the device allows.
func TestSubgroupSize(t *testing.T) {
	d := openDevice(t, DeviceOptions{})
	if !d.Features().Has(SubgroupSize) {
		t.Skip("SKIPPED: the device has no subgroupSizeControl")
	}
	l := d.info.Limits
	for size := l.MinSubgroupSize; size <= l.MaxSubgroupSize; size *= 2 {
		p, err := d.NewPipeline(addSPIRV, PipelineOptions{
			Bindings: 3, PushConstantSize: 8, SubgroupSize: size,
			FullSubgroups: d.Features().Has(FullSubgroups), Spec: map[uint32]uint32{0: size},
		})
		if err != nil {
			t.Errorf("subgroups of %d: %v", size, err)
		} else {
			ok(t, p.Close())
		}
	}
	if _, err := d.NewPipeline(addSPIRV, PipelineOptions{SubgroupSize: 2 * l.MaxSubgroupSize}); !errors.Is(err,
		BadCall) {
		t.Errorf("too large a subgroup: %v", err)
	}
}

// TestPipelineCache checks that the cache comes back in the next session, and that
// a damaged file does no harm.
func TestPipelineCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "cache.bin")
	in := openInstance(t)
	use := func() {
		t.Helper()
		d := must[*Device](t)(in.OpenDevice(0, DeviceOptions{CacheFile: file}))
		a := newAdder(t, d, 64)
		a.fill(5)
		a.record(1)
		ok(t, a.s.Submit())
		ok(t, a.s.Wait(context.Background(), time.Minute))
		if n := a.wrong(5, 1); n > 0 {
			t.Errorf("%d wrong sums", n)
		}
		ok(t, d.SaveCache())
		ok(t, d.Close())
	}
	use()
	info := in.Devices()[0]
	data := must[[]byte](t)(os.ReadFile(file))
	if decodeCache(data, &info) == nil {
		t.Fatalf("the file of %d bytes is not read back", len(data))
	}
	use()
	for i := 0; i < len(data); i += 1 + len(data)/97 {
		bad := bytes.Clone(data)
		bad[i] ^= 1
		if decodeCache(bad, &info) != nil {
			t.Errorf("a change at byte %d of %d goes unnoticed", i, len(data))
		}
		if decodeCache(data[:i], &info) != nil {
			t.Errorf("a file cut at byte %d of %d goes unnoticed", i, len(data))
		}
	}
	other := info
	other.DriverVersion++
	if decodeCache(data, &other) != nil {
		t.Error("the cache of another driver is taken")
	}
	ok(t, os.WriteFile(file, []byte("not a cache"), 0o644))
	use()
	left := must[[]string](t)(filepath.Glob(filepath.Dir(file) + "/*"))
	if len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
	d := must[*Device](t)(in.OpenDevice(0, DeviceOptions{CacheFile: filepath.Join(file, "below a file")}))
	if err := d.SaveCache(); err == nil {
		t.Error("no error for a file that cannot be written")
	}
}

// FuzzCache checks that only what was written is read.
func FuzzCache(f *testing.F) {
	info := DeviceInfo{VendorID: 1, DeviceID: 2}
	f.Add(encodeCache(&info, []byte("data")))
	f.Fuzz(func(t *testing.T, file []byte) {
		if data := decodeCache(file, &info); data != nil && !bytes.Equal(encodeCache(&info, data), file) {
			t.Error("read what was not written")
		}
	})
}

// TestCommittedSPIRV compiles the shaders of the tests anew and compares.
func TestCommittedSPIRV(t *testing.T) {
	glslc, err := exec.LookPath("glslc")
	if err != nil {
		need.Vulkan(t, "glslc is not installed, so testdata/*.spv is not compared with its source")
	}
	for name, committed := range map[string][]byte{"add": addSPIRV, "double": doubleSPIRV} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(glslc, "--target-env=vulkan1.1", "-O", "-o", "-",
				"testdata/"+name+".comp").Output()
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(out, committed) {
				return
			}
			// Another release of the compiler may write other code; then the interface must be the same.
			a, b := must[[]uint32](t)(spirvWords(out)), must[[]uint32](t)(spirvWords(committed))
			if a[2] == b[2] || spirvFeatures(a) != spirvFeatures(b) { // word 2 is the compiler's version
				t.Fatalf("stale: run glslc --target-env=vulkan1.1 -O -o testdata/%s.spv testdata/%[1]s.comp", name)
			}
			t.Skip("SKIPPED: the committed code was written by another glslc; only its interface was compared")
		})
	}
}

// TestImport lets the device work on memory of the process.
func TestImport(t *testing.T) {
	d := openDevice(t, DeviceOptions{})
	if !d.Features().Has(HostImport) {
		t.Skip("SKIPPED: the device cannot import host memory")
	}
	mem := d.AlignedBytes(1000)
	b, err := d.Import(mem)
	if errors.Is(err, UnsupportedFeature) {
		t.Skip("SKIPPED: the driver does not take this memory")
	}
	ok(t, err)
	if _, err := d.Import(mem[1:]); !errors.Is(err, BadCall) {
		t.Errorf("unaligned memory: %v", err)
	}
	s := must[*Stream](t)(d.NewStream(StreamOptions{}))
	ok(t, s.Begin())
	s.Fill(b.Whole().Slice(0, 800), 0x01020304)
	ok(t, s.Submit())
	ok(t, s.Wait(context.Background(), time.Minute))
	ok(t, b.Whole().Invalidate())
	for i, v := range mem[:1000] {
		want := byte(4 - i%4)
		if i >= 800 {
			want = 0
		}
		if v != want {
			t.Fatalf("byte %d is %d, want %d", i, v, want)
		}
	}
	ok(t, s.Close())
	ok(t, b.Close())
}

// TestAllocLimits checks sizes that no device has.
func TestAllocLimits(t *testing.T) {
	d := openDevice(t, DeviceOptions{})
	for _, size := range []uint64{1 << 50, math.MaxUint64} {
		if _, err := d.Alloc(size, DeviceLocal); !errors.Is(err, OutOfDeviceMemory) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if _, err := d.Alloc(0, Upload); !errors.Is(err, BadCall) {
		t.Errorf("0 bytes: %v", err)
	}
	for kind := range kindCount {
		b, err := d.Alloc(1<<16, kind)
		if kind == Unified && !d.info.Unified() {
			if !errors.Is(err, UnsupportedFeature) {
				t.Errorf("unified memory on a device without: %v", err)
			}
			continue
		}
		ok(t, err)
		if mapped := b.Bytes() != nil; mapped != (kind != DeviceLocal) {
			t.Errorf("%v: mapped is %v", kind, mapped)
		}
		if d.Features().Has(BufferAddress) &&
			(b.Whole().Address() == 0 || b.Whole().Slice(256, 16).Address() != b.Whole().Address()+256) {
			t.Errorf("%v: address %#x", kind, b.Whole().Address())
		}
		if err := b.Whole().Flush(); (err != nil) != (kind == DeviceLocal) {
			t.Errorf("%v: flush: %v", kind, err)
		}
		ok(t, b.Close())
		ok(t, b.Close())
		if b.Bytes() != nil {
			t.Errorf("%v: bytes of a closed block", kind)
		}
	}
	if s := fmt.Sprint(LiveHandles()["memory"]); s != "0" {
		t.Errorf("%s allocations left", s)
	}
}

// TestStatistics: the driver's statistics of a pipeline need the feature, which is not on unless required.
func TestStatistics(t *testing.T) {
	in := openInstance(t)
	d, err := in.OpenDevice(0, DeviceOptions{})
	ok(t, err)
	if d.Features().Has(Statistics) {
		t.Error("statistics are on without being required")
	}
	p := must[*Pipeline](t)(d.NewPipeline(addSPIRV, PipelineOptions{Bindings: 3, PushConstantSize: 8}))
	if _, err := p.Statistics(); !errors.Is(err, UnsupportedFeature) {
		t.Errorf("without the feature: %v", err)
	}
	if !in.Devices()[0].Features.Has(Statistics) {
		return
	}
	d, err = in.OpenDevice(0, DeviceOptions{Require: Statistics})
	ok(t, err)
	p = must[*Pipeline](t)(d.NewPipeline(addSPIRV, PipelineOptions{Bindings: 3, PushConstantSize: 8}))
	statistics, err := p.Statistics()
	ok(t, err)
	if len(statistics) == 0 {
		t.Error("the driver has no statistics")
	}
	ok(t, p.Close())
	if _, err := p.Statistics(); !errors.Is(err, Closed) {
		t.Errorf("of a closed pipeline: %v", err)
	}
}
