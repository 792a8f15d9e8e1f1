//go:build cgo && !(386 || arm || mips || mipsle)

package vk

/*
#include "vkc.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Block is one allocation of memory. Devices allow few (Limits.MaxAllocations), so a
// block is large and cut into Buffers by an Arena or a Pool.
type Block struct {
	d        *Device
	c        *C.vkc_block
	owner    *owner
	size     uint64
	kind     MemoryKind
	flags    MemoryFlag
	mapping  []byte // nil unless the host can reach it
	closed   atomic.Bool
	imported bool
}

// pinned keeps the pins of imported memory reachable: a Pinner that is collected before
// Unpin ends the program, and a Device that nobody closes must not.
var pinned sync.Map

// Alloc allocates size bytes. It fails with OutOfDeviceMemory, also where the size is
// more than the device's limits allow, and with UnsupportedFeature if the device has no
// memory of that kind.
func (d *Device) Alloc(size uint64, kind MemoryKind) (*Block, error) {
	op := "allocate " + kind.String() + " memory"
	types := memoryCandidates(d.info.Memory, kind)
	if size == 0 || kind < 0 || kind >= kindCount {
		return nil, badCall(op, "%d bytes", size)
	}
	if len(types) == 0 {
		return nil, &Error{Cause: UnsupportedFeature, Op: op, Detail: d.info.Name + " has none"}
	}
	return d.alloc(op, size, kind, types, nil)
}

// Import makes memory of the process usable by the device without a copy: Upload and
// Readback in one. Address and length must be multiples of Limits.HostImportAlignment;
// AlignedBytes makes such. The memory is pinned until the block is freed. Needs feature
// HostImport, and fails with UnsupportedFeature where the driver does not take this memory.
func (d *Device) Import(mem []byte) (*Block, error) {
	const op = "import host memory"
	if !d.features.Has(HostImport) {
		return nil, &Error{Cause: UnsupportedFeature, Op: op, Detail: d.info.Name + " has no " + HostImport.String()}
	}
	align := max(d.info.Limits.HostImportAlignment, 1)
	address := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
	if len(mem) == 0 || uint64(len(mem))%align != 0 || address%align != 0 {
		return nil, badCall(op, "%d bytes at %#x: both must be multiples of %d", len(mem), address, align)
	}
	types := slices.DeleteFunc(memoryCandidates(d.info.Memory, Readback), func(i uint32) bool {
		return d.info.Memory[i].Flags&MemoryHostCoherent == 0 // flushing needs memory that Vulkan mapped
	})
	return d.alloc(op, uint64(len(mem)), Readback, types, mem)
}

// AlignedBytes returns size zero bytes, rounded up, of Go memory that can be imported.
func (d *Device) AlignedBytes(size int) []byte {
	align := max(int(d.info.Limits.HostImportAlignment), 1)
	size = (size + align - 1) / align * align
	raw := make([]byte, size+align)
	skip := (align - int(uintptr(unsafe.Pointer(&raw[0]))%uintptr(align))) % align
	return raw[skip : skip+size : skip+size]
}

// alloc tries the memory types in order. host, if not nil, is imported.
func (d *Device) alloc(op string, size uint64, kind MemoryKind, types []uint32, host []byte) (*Block, error) {
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.leave()
	fits := types[:0]
	largest := uint64(0)
	mappable := make([]uint8, 0, len(types))
	for _, t := range types {
		heap := d.info.Heaps[d.info.Memory[t].Heap].Size
		largest = max(largest, heap)
		if host != nil || size <= heap {
			fits = append(fits, t)
			m := uint8(0)
			if kind != DeviceLocal && d.info.Memory[t].Flags&MemoryHostVisible != 0 {
				m = 1
			}
			mappable = append(mappable, m)
		}
	}
	if host != nil && len(fits) == 0 {
		return nil, &Error{Cause: UnsupportedFeature, Op: op,
			Detail: d.info.Name + " has no coherent memory for the host"}
	}
	if limit := min(largest, d.info.Limits.MaxAllocationSize); len(fits) == 0 || size > limit {
		return nil, &Error{Cause: OutOfDeviceMemory, Op: op,
			Detail: fmt.Sprintf("%d bytes asked of %s, which allows at most %d a block", size, d.info.Name, limit)}
	}
	b := &Block{d: d, size: size, kind: kind, imported: host != nil}
	var pin *runtime.Pinner
	var pointer unsafe.Pointer
	unpin := func() {}
	if host != nil {
		pin = new(runtime.Pinner)
		pin.Pin(&host[0])
		pinned.Store(pin, nil)
		pointer = unsafe.Pointer(&host[0])
		unpin = func() {
			pinned.Delete(pin)
			pin.Unpin()
		}
	}
	var used C.uint32_t
	r := C.vkc_block_create(d.c, C.uint64_t(size), (*C.uint32_t)(&fits[0]), C.uint32_t(len(fits)),
		(*C.uint8_t)(&mappable[0]), pointer, &b.c, &used)
	if err := d.check(op, r, fmt.Sprintf("%d bytes of %s", size, d.info.Name)); err != nil {
		unpin()
		return nil, err
	}
	b.flags = d.info.Memory[fits[used]].Flags
	if b.c._map != nil {
		b.mapping = unsafe.Slice((*byte)(b.c._map), size)
	}
	c := b.c
	b.owner = d.own(func() {
		C.vkc_block_destroy(d.c, c)
		unpin()
	})
	return b, nil
}

// Size returns the size in bytes.
func (b *Block) Size() uint64 { return b.size }

// Kind returns what the block was allocated as.
func (b *Block) Kind() MemoryKind { return b.kind }

// Flags returns the properties of the memory that was got.
func (b *Block) Flags() MemoryFlag { return b.flags }

// Whole returns all of the block as a buffer.
func (b *Block) Whole() Buffer { return Buffer{b, 0, b.size} }

// Bytes returns the mapped memory, nil if the host cannot reach it or the block is
// closed. It must not be used after Close.
func (b *Block) Bytes() []byte {
	if b.closed.Load() {
		return nil
	}
	return b.mapping
}

// Close frees the block, once no recording uses it.
func (b *Block) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	b.d.life.RLock()
	defer b.d.life.RUnlock()
	b.owner.release() // after its device closed there is nothing left to free
	return nil
}

func (b *Block) handle() uint64 { return uint64(uintptr(unsafe.Pointer(b.c.buffer))) }

// address returns the block's device address.
func (b *Block) address() uint64 { return uint64(b.c.address) }

// flush makes the host's writes to [offset, offset+size) visible to work submitted later.
func (b *Block) flush(offset, size uint64) error {
	const op = "flush"
	if b.flags&MemoryHostCoherent != 0 {
		return nil
	}
	if err := b.d.enter(op); err != nil {
		return err
	}
	defer b.d.leave()
	if b.closed.Load() {
		return &Error{Cause: Closed, Op: op, Detail: "the block"}
	}
	lo, n := b.atoms(offset, size)
	return b.d.check(op, C.vkc_block_flush(b.d.c, b.c, C.uint64_t(lo), C.uint64_t(n)), "")
}

// invalidate makes what the device wrote to [offset, offset+size) visible to the host.
func (b *Block) invalidate(offset, size uint64) error {
	const op = "invalidate"
	coherent := C.int(0)
	if b.flags&MemoryHostCoherent != 0 {
		if C.vkc_fault_armed() == 0 {
			return nil
		}
		coherent = 1
	}
	if err := b.d.enter(op); err != nil {
		return err
	}
	defer b.d.leave()
	if b.closed.Load() {
		return &Error{Cause: Closed, Op: op, Detail: "the block"}
	}
	lo, n := b.atoms(offset, size)
	r := C.vkc_block_invalidate(b.d.c, b.c, C.uint64_t(lo), C.uint64_t(n), coherent, C.uint64_t(offset),
		C.uint64_t(size))
	return b.d.check(op, r, "")
}

// atoms widens a range to whole atoms, which flushing wants; to the end of the memory if
// the range reaches the last atom.
func (b *Block) atoms(offset, size uint64) (lo, n uint64) {
	atom := max(b.d.info.Limits.NonCoherentAtomSize, 1)
	lo = offset / atom * atom
	hi := (offset + size + atom - 1) / atom * atom
	if hi >= b.size {
		return lo, ^uint64(0) // VK_WHOLE_SIZE
	}
	return lo, hi - lo
}
