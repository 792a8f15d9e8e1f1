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
