//go:build cgo && !(386 || arm || mips || mipsle)

package vk

import (
	"context"
	"testing"
	"time"
)

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
