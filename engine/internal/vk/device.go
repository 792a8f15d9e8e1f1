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
