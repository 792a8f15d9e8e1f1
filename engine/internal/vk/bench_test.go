//go:build cgo && !(386 || arm || mips || mipsle)

package vk

import (
	"context"
	"errors"
	"testing"
	"time"
)

// benchDevice opens the first usable device without validation.
func benchDevice(b *testing.B, o DeviceOptions) *Device {
	b.Helper()
	in, err := Open(Options{})
	switch {
	case errors.Is(err, NoLoader), errors.Is(err, NoDriver), errors.Is(err, NoDevice):
		b.Skip(err)
	case err != nil:
		b.Fatal(err)
	}
	b.Cleanup(func() { ok(b, in.Close()) })
	for _, info := range in.Devices() {
		if info.Unusable == "" {
			b.Log(info.Name)
			return must[*Device](b)(in.OpenDevice(info.Index, o))
		}
	}
	b.Skip("no device can be opened")
	return nil
}

// BenchmarkRecord records one dispatch with three copies and three barriers.
func BenchmarkRecord(b *testing.B) {
	a := newAdder(b, benchDevice(b, DeviceOptions{}), 1000)
	b.ReportAllocs()
	for b.Loop() {
		a.record(1)
	}
}

// BenchmarkSubmit submits a recording of next to no work and waits for it.
func BenchmarkSubmit(b *testing.B) {
	for _, v := range []struct {
		name    string
		disable Feature
	}{{"timeline", 0}, {"fence", TimelineSemaphore}} {
		b.Run(v.name, func(b *testing.B) {
			a := newAdder(b, benchDevice(b, DeviceOptions{Disable: v.disable}), 32)
			a.fill(1)
			a.record(1)
			b.ReportAllocs()
			for b.Loop() {
				ok(b, a.s.Submit())
				ok(b, a.s.Wait(context.Background(), time.Minute))
			}
		})
	}
}

// linkBytes is what BenchmarkLink moves at a time: far more than any cache holds, and small
// against the memory of any device.
const linkBytes = 64 << 20

// BenchmarkLink copies between memory that the host writes or reads and the device's own,
// one copy at a time from submit to the end of the wait: what a batch can at most get of
// the link. On devices that share the host's memory it is the speed of a copy.
func BenchmarkLink(b *testing.B) {
	for _, v := range []struct {
		name     string
		from, to MemoryKind
	}{{"up", Upload, DeviceLocal}, {"down", DeviceLocal, Readback}} {
		b.Run(v.name, func(b *testing.B) {
			d := benchDevice(b, DeviceOptions{})
			from := must[*Block](b)(d.Alloc(linkBytes, v.from)).Whole()
			to := must[*Block](b)(d.Alloc(linkBytes, v.to)).Whole()
			s := must[*Stream](b)(d.NewStream(StreamOptions{}))
			if bytes := from.Bytes(); bytes != nil {
				for i := range bytes {
					bytes[i] = byte(i)
				}
				ok(b, from.Flush())
			}
			b.SetBytes(linkBytes)
			for b.Loop() {
				ok(b, s.Begin())
				s.Copy(to, from)
				ok(b, s.Submit())
				ok(b, s.Wait(context.Background(), time.Minute))
			}
			ok(b, d.Close())
		})
	}
}
