//go:build cgo && !(386 || arm || mips || mipsle)

package vk

import (
	"testing"
	"time"
)

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
