//go:build cgo && !(386 || arm || mips || mipsle)

package vk

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"time"

	"clearance/tests/need"
)

//go:embed testdata/add.spv
var addSPIRV []byte

//go:embed testdata/double.spv
var doubleSPIRV []byte

// openInstance opens Vulkan with the validation layer. At the end of the test it closes
// it and fails the test on any message and any handle left.
func openInstance(t testing.TB) *Instance {
	t.Helper()
	return openInstanceOf(t, 0)
}

// openInstanceOf is openInstance for devices treated as of a version at most.
func openInstanceOf(t testing.TB, version Version) *Instance {
	t.Helper()
	before := LiveHandles()
	if len(before) > 0 {
		t.Fatalf("a test before this one left handles: %v", before)
	}
	in, err := Open(Options{AppName: "vk tests", Validation: true, MaxVersion: version})
	switch {
	case errors.Is(err, NoLoader), errors.Is(err, NoDriver), errors.Is(err, NoDevice),
		errors.Is(err, UnsupportedFeature):
		need.Vulkan(t, err.Error())
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		for _, m := range in.Messages() {
			t.Errorf("validation: %s", m)
		}
		if live := LiveHandles(); len(live) > 0 {
			t.Errorf("handles left: %v", live)
		}
	})
	return in
}

// openDevice opens the first usable device.
func openDevice(t testing.TB, o DeviceOptions) *Device {
	t.Helper()
	in := openInstance(t)
	for _, info := range in.Devices() {
		if info.Unusable != "" {
			continue
		}
		d, err := in.OpenDevice(info.Index, o)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	need.Vulkan(t, "no device can be opened")
	return nil
}

// must returns v and fails the test on an error.
func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const addGroup = 32 // invocations of a work group of add.comp in these tests

// adder is add.comp with its buffers and a stream, for count numbers.
type adder struct {
	t      testing.TB
	count  int
	p      *Pipeline
	s      *Stream
	blocks []*Block
	in     [2]Buffer // upload
	dev    [3]Buffer // device
	out    Buffer    // readback
}

const addBias = 0.25

func newAdder(t testing.TB, d *Device, count int) *adder {
	t.Helper()
	a := &adder{t: t, count: count}
	a.p = must[*Pipeline](t)(d.NewPipeline(addSPIRV, PipelineOptions{
		Name: "add", Bindings: 3, PushConstantSize: 8,
		Spec: map[uint32]uint32{0: addGroup, 1: math.Float32bits(addBias)},
	}))
	a.s = must[*Stream](t)(d.NewStream(StreamOptions{Timestamps: 2}))
	size := uint64(4 * count)
	part := func(kind MemoryKind, n uint64) []Buffer {
		const align = 256 // no device needs more
		step := (size + align - 1) / align * align
		b := must[*Block](t)(d.Alloc(n*step, kind))
		a.blocks = append(a.blocks, b)
		var out []Buffer
		for i := range n {
			out = append(out, b.Whole().Slice(i*step, size))
		}
		return out
	}
	copy(a.in[:], part(Upload, 2))
	copy(a.dev[:], part(DeviceLocal, 3))
	a.out = part(Readback, 1)[0]
	return a
}

// record records the round trip with the scale given.
func (a *adder) record(scale float32) {
	a.t.Helper()
	ok(a.t, a.s.Begin())
	a.s.Timestamp(0)
	a.s.Copy(a.dev[0], a.in[0])
	a.s.Copy(a.dev[1], a.in[1])
	a.s.Barrier(StageTransfer, StageCompute)
	a.s.Bind(a.p, a.dev[:]...)
	push := binary.LittleEndian.AppendUint32(nil, uint32(a.count))
	push = binary.LittleEndian.AppendUint32(push, math.Float32bits(scale))
	a.s.Push(push)
	a.s.Dispatch(uint32(a.count+addGroup-1)/addGroup, 1, 1)
	a.s.Barrier(StageCompute, StageTransfer)
	a.s.Copy(a.out, a.dev[2])
	a.s.Timestamp(1)
}

// fill writes the inputs: numbers whose sum no other seed has.
func (a *adder) fill(seed int) {
	for k, b := range a.in {
		mem := b.Bytes()
		for i := range a.count {
			binary.LittleEndian.PutUint32(mem[4*i:], math.Float32bits(float32((k+1)*i+seed)))
		}
		ok(a.t, b.Flush())
	}
}

// wrong returns the number of outputs that are not as they should be.
func (a *adder) wrong(seed int, scale float32) int {
	a.t.Helper()
	ok(a.t, a.out.Invalidate())
	n := 0
	mem := a.out.Bytes()
	for i := range a.count {
		got := math.Float32frombits(binary.LittleEndian.Uint32(mem[4*i:]))
		if got != scale*float32(3*i+2*seed)+addBias {
			n++
		}
	}
	return n
}

func (a *adder) close() {
	a.t.Helper()
	ok(a.t, a.s.Close())
	ok(a.t, a.p.Close())
	for _, b := range a.blocks {
		ok(a.t, b.Close())
	}
}

// TestRoundTrip adds two buffers on the device, with each way of waiting.
func TestRoundTrip(t *testing.T) {
	for _, tt := range []struct {
		name    string
		disable Feature
	}{{"all features", 0}, {"fences", TimelineSemaphore}, {"no optional feature", featureEnd - 1}} {
		t.Run(tt.name, func(t *testing.T) {
			d := openDevice(t, DeviceOptions{Disable: tt.disable})
			a := newAdder(t, d, 1000)
			a.fill(7)
			a.record(2)
			for range 3 { // the recording can be submitted again
				clear(a.out.Bytes())
				ok(t, a.s.Submit())
				ok(t, a.s.Wait(context.Background(), 0))
				if n := a.wrong(7, 2); n > 0 {
					t.Errorf("%d of %d sums are wrong", n, a.count)
				}
			}
			times := must[[]time.Duration](t)(a.s.Times())
			if times[0] != 0 || times[1] <= 0 || times[1] > time.Minute {
				t.Errorf("timestamps %v", times)
			}
			a.fill(3)
			a.record(-1)
			ok(t, a.s.Submit())
			ok(t, a.s.Wait(context.Background(), time.Minute))
			if n := a.wrong(3, -1); n > 0 {
				t.Errorf("%d of %d sums of the second recording are wrong", n, a.count)
			}
			a.close()
			a.close() // may be called twice
		})
	}
}

// TestTicks checks timestamps that wrap around.
func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		from, to uint64
		bits     uint32
		period   float64
		want     time.Duration
	}{
		{100, 350, 64, 1, 250},
		{100, 350, 36, 2.5, 625},
		{1<<36 - 10, 20, 36, 1, 30},
		{0xff00000000000000 | (1<<36 - 10), 20, 36, 1, 30}, // bits beyond the valid ones mean nothing
		{^uint64(0), 1, 64, 1, 2},
	} {
		if got := ticks(tt.from, tt.to, &Limits{TimestampValidBits: tt.bits,
			TimestampPeriod: tt.period}); got != tt.want {
			t.Errorf("%d to %d with %d bits: %v, want %v", tt.from, tt.to, tt.bits, got, tt.want)
		}
	}
}

// TestAtoms checks the ranges that are flushed where memory is not coherent.
func TestAtoms(t *testing.T) {
	b := &Block{d: &Device{info: DeviceInfo{Limits: Limits{NonCoherentAtomSize: 64}}}, size: 1000}
	for _, tt := range []struct{ offset, size, lo, n uint64 }{
		{0, 1, 0, 64}, {64, 64, 64, 64}, {63, 2, 0, 128}, {100, 0, 64, 64},
		{900, 50, 896, 64}, {900, 100, 896, ^uint64(0)}, {0, 1000, 0, ^uint64(0)}, {960, 1, 960, ^uint64(0)},
	} {
		if lo, n := b.atoms(tt.offset, tt.size); lo != tt.lo || n != tt.n {
			t.Errorf("%d bytes at %d: got %d at %d, want %d at %d", tt.size, tt.offset, n, lo, tt.n, tt.lo)
		}
	}
}

// TestPool checks a pool on the device: placement, reuse, growth, misuse.
func TestPool(t *testing.T) {
	d := openDevice(t, DeviceOptions{})
	p := d.NewPool(Upload, 4096)
	align := alignment(&d.info.Limits)
	var taken []Buffer
	for i := range 100 {
		b := must[Buffer](t)(p.Take(uint64(1 + i)))
		if b.Offset()%align != 0 || b.Size() != uint64(1+i) || len(b.Bytes()) != 1+i {
			t.Fatalf("buffer %d: %+v", i, b)
		}
		for j := range b.Bytes() {
			b.Bytes()[j] = byte(i)
		}
		taken = append(taken, b)
	}
	for i, b := range taken {
		for _, v := range b.Bytes() {
			if v != byte(i) {
				t.Fatalf("buffer %d was overwritten", i)
			}
		}
	}
	big := must[Buffer](t)(p.Take(100000))
	total, used := p.Size()
	if total < 100000+100*100/2 || used < 100000+100*100/2 || used > total {
		t.Errorf("size %d, used %d", total, used)
	}
	ok(t, p.Put(big))
	if p.Put(big) == nil {
		t.Error("put twice")
	}
	if p.Put(Buffer{}) == nil || p.Put(Buffer{block: &Block{}, size: 4}) == nil {
		t.Error("put what is not of the pool")
	}
	if _, err := p.Take(0); err == nil {
		t.Error("took nothing")
	}
	for _, b := range taken {
		ok(t, p.Put(b))
	}
	if b := must[Buffer](t)(p.Take(1)); b != taken[0] {
		t.Errorf("the first place is not used again: %+v, %+v", b, taken[0])
	}
	ok(t, p.Trim())
	if n := LiveHandles()["memory"]; n != 1 {
		t.Errorf("%d blocks after Trim, want the one in use", n)
	}
	ok(t, p.Close())
	ok(t, p.Close())
	if n := LiveHandles()["memory"]; n != 0 {
		t.Errorf("%d blocks after Close", n)
	}
}
