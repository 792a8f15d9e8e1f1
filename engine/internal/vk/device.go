//go:build cgo && !(386 || arm || mips || mipsle)

package vk

/*
#include <stdlib.h>
#include "vkc.h"
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// maxBindings is the room for bindings in vkc_cmd_bind.
const maxBindings = 64

// defaultCloseTimeout is generous: a driver's own watchdog resets a device after 2 to 10 s.
const defaultCloseTimeout = 10 * time.Second

// Device is an open device.
type Device struct {
	in       *Instance
	info     DeviceInfo
	features Feature
	options  DeviceOptions

	// life is held for reading during every call on c and for writing while closing.
	life sync.RWMutex
	c    *C.vkc_device
	lost atomic.Bool

	queues [2]*sync.Mutex // one a queue; the same twice if the queues are one

	childrenMu sync.Mutex
	children   map[*owner]struct{} // blocks and pipelines
	streams    map[*Stream]struct{}
	streamed   atomic.Bool // there was a stream
}

// OpenDevice opens device i of Devices with all its features but RobustAccess and Statistics.
func (in *Instance) OpenDevice(i int, o DeviceOptions) (*Device, error) {
	in.mu.RLock()
	defer in.mu.RUnlock()
	const op = "open device"
	if in.c == nil {
		return nil, &Error{Cause: Closed, Op: op, Detail: "the instance"}
	}
	if i < 0 || i >= len(in.infos) {
		return nil, &Error{Cause: NoDevice, Op: op, Detail: fmt.Sprintf("index %d of %d devices", i, len(in.infos))}
	}
	info := in.infos[i]
	if info.Unusable != "" {
		return nil, &Error{Cause: UnsupportedFeature, Op: op, Detail: fmt.Sprintf("%s: %s", info.Name, info.Unusable)}
	}
	if missing := o.Require &^ (info.Features &^ o.Disable); missing != 0 {
		return nil, &Error{Cause: UnsupportedFeature, Op: op, Detail: fmt.Sprintf("%s has no %v", info.Name, missing)}
	}
	if o.CloseTimeout <= 0 {
		o.CloseTimeout = defaultCloseTimeout
	}
	d := &Device{
		in: in, info: info, options: o,
		features: info.Features&^(o.Disable|RobustAccess|Statistics) | o.Require,
		children: map[*owner]struct{}{}, streams: map[*Stream]struct{}{},
	}
	cache := readCacheFile(o.CacheFile, &info)
	r := Result(C.vkc_device_create(in.c, C.uint32_t(i), &in.raw[i], C.uint32_t(d.features),
		unsafe.Pointer(unsafe.SliceData(cache)), C.size_t(len(cache)), &d.c))
	if err := check(op, r, info.Name); err != nil {
		return nil, err
	}
	d.queues[ComputeQueue] = new(sync.Mutex)
	d.queues[TransferQueue] = d.queues[ComputeQueue]
	if info.TransferQueue {
		d.queues[TransferQueue] = new(sync.Mutex)
	}
	in.devicesMu.Lock()
	in.devices[d] = struct{}{}
	in.devicesMu.Unlock()
	return d, nil
}

// Info describes the device.
func (d *Device) Info() DeviceInfo { return d.info }

// Features returns the features that are enabled.
func (d *Device) Features() Feature { return d.features }

// Lost reports whether the device was lost.
func (d *Device) Lost() bool { return d.lost.Load() }

// enter starts a call on the device; leave ends it.
func (d *Device) enter(op string) error {
	d.life.RLock()
	var err error
	switch {
	case d.c == nil:
		err = &Error{Cause: Closed, Op: op, Detail: "the device"}
	case d.lost.Load():
		err = &Error{Cause: DeviceLost, Op: op, Detail: d.info.Name}
	default:
		return nil
	}
	d.life.RUnlock()
	return err
}

func (d *Device) leave() { d.life.RUnlock() }

// check turns a result into an error and remembers a lost device.
func (d *Device) check(op string, r C.VkResult, detail string) error {
	if Result(r) == ErrorDeviceLost {
		d.lost.Store(true)
		if detail == "" {
			detail = d.info.Name
		}
	}
	return check(op, Result(r), detail)
}

// own registers what destroy frees, at the latest when the device closes.
func (d *Device) own(destroy func()) *owner {
	o := &owner{}
	o.refs.Store(1)
	o.free = func() {
		destroy()
		d.childrenMu.Lock()
		delete(d.children, o)
		d.childrenMu.Unlock()
	}
	d.childrenMu.Lock()
	d.children[o] = struct{}{}
	d.childrenMu.Unlock()
	return o
}

// SaveCache writes compiled pipelines to DeviceOptions.CacheFile, for the next run. It
// does nothing without one. The file is replaced in one step, so several processes may share it.
func (d *Device) SaveCache() error {
	const op = "save pipeline cache"
	if d.options.CacheFile == "" {
		return nil
	}
	if err := d.enter(op); err != nil {
		return err
	}
	defer d.leave()
	var size C.size_t
	if err := d.check(op, C.vkc_cache_data(d.c, &size, nil), ""); err != nil {
		return err
	}
	data := make([]byte, size)
	if size > 0 {
		r := C.vkc_cache_data(d.c, &size, unsafe.Pointer(&data[0]))
		if r == C.VK_INCOMPLETE { // it grew meanwhile; what came is valid
			r = C.VK_SUCCESS
		}
		if err := d.check(op, r, ""); err != nil {
			return err
		}
	}
	if err := writeCacheFile(d.options.CacheFile, &d.info, data[:size]); err != nil {
		return &Error{Cause: BadCall, Op: op, Detail: err.Error()}
	}
	return nil
}

// Close waits for work in flight, frees everything that belongs to the device and closes
// it. If work does not end within DeviceOptions.CloseTimeout it returns a Timeout error
// and frees nothing; it may be called again.
func (d *Device) Close() error {
	d.life.Lock()
	defer d.life.Unlock()
	if d.c == nil {
		return nil
	}
	if err := d.drain(); err != nil {
		return err
	}
	for s := range d.streams {
		s.destroy()
	}
	for o := range d.children {
		o.kill()
	}
	C.vkc_device_destroy(d.c)
	d.c = nil
	d.in.devicesMu.Lock()
	delete(d.in.devices, d)
	d.in.devicesMu.Unlock()
	return nil
}

// drain waits until nothing of the device is in use. life is held for writing.
func (d *Device) drain() error {
	end := time.Now().Add(d.options.CloseTimeout)
	for s := range d.streams {
		if err := s.await("close", time.Until(end)); err != nil && !d.lost.Load() {
			return err
		}
	}
	if !d.streamed.Load() {
		return nil // a driver that only compiles, for a device that is not there, cannot wait
	}
	// All work was submitted by streams, so this returns at once, and on a lost device too.
	if r := d.waitIdle(); r != Success && r != ErrorDeviceLost {
		return check("close", r, d.info.Name)
	}
	return nil
}

// waitIdle waits for all queues, to which nobody submits meanwhile.
func (d *Device) waitIdle() Result {
	for i, queue := range d.queues {
		if i == 0 || queue != d.queues[0] {
			queue.Lock()
			defer queue.Unlock()
		}
	}
	return Result(C.vkc_device_wait_idle(d.c))
}

// An owner counts the users of a C object: its creator, and each stream whose
// recording uses it. It is freed when none is left, or when its device is closed.
type owner struct {
	refs atomic.Int32
	once sync.Once
	free func()
}

// retain adds a user; it fails if none is left.
func (o *owner) retain() bool {
	for {
		n := o.refs.Load()
		if n <= 0 {
			return false
		}
		if o.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (o *owner) release() {
	if o.refs.Add(-1) == 0 {
		o.kill()
	}
}

func (o *owner) kill() { o.once.Do(o.free) }

// LiveHandles counts the Vulkan objects and C structures that exist in the process, by
// name, without those of which there are none. It is empty when all is closed.
func LiveHandles() map[string]int {
	live := map[string]int{}
	for kind := range C.int(C.VKC_LIVE_COUNT) {
		if n := C.vkc_live(kind); n != 0 {
			live[C.GoString(C.vkc_live_name(kind))] = int(n)
		}
	}
	return live
}

func readCacheFile(path string, info *DeviceInfo) []byte {
	if path == "" {
		return nil
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return decodeCache(file, info)
}

// FaultPoints returns the calls at which a fault can be injected.
func FaultPoints() []string {
	var names []string
	for i := range C.int(C.VKC_AT_COUNT) {
		names = append(names, C.GoString(C.vkc_fault_name(i)))
	}
	return names
}

// Inject arms a fault, one a call point; a later one at the same point replaces it. The
// function returned disarms the point; it may be called twice. Inject panics on a
// point that does not exist: only tests call it.
func Inject(f Fault) (disarm func()) {
	for i, name := range FaultPoints() {
		if name != f.Call {
			continue
		}
		if f.Times == 0 {
			f.Times = 1
		}
		if f.Mask == 0 {
			f.Mask = 0xff
		}
		C.vkc_fault_set(C.int(i), C.int64_t(f.After), C.int64_t(f.Times), C.VkResult(f.Result), C.uint64_t(f.Offset),
			C.uint8_t(f.Mask))
		return sync.OnceFunc(func() { C.vkc_fault_set(C.int(i), 0, 0, 0, 0, 0) })
	}
	panic(badCall("inject fault", "no call %q; there are %s", f.Call, strings.Join(FaultPoints(), ", ")))
}

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
