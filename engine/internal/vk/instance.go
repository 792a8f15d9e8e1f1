//go:build cgo && !(386 || arm || mips || mipsle)

package vk

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include "vkc.h"
*/
import "C"

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"unsafe"
)

// Instance is a connection to Vulkan.
type Instance struct {
	mu       sync.RWMutex // guards the C objects against Close
	c        *C.vkc_instance
	log      *C.vkc_log // nil without validation
	raw      []C.vkc_info
	infos    []DeviceInfo
	messages []string // after Close

	devicesMu sync.Mutex
	devices   map[*Device]struct{}
}

// Open loads Vulkan and lists its devices, of which there is at least one. It fails with
// NoLoader, NoDriver, NoDevice, or UnsupportedFeature for want of a loader of Vulkan 1.1
// or of the validation layer.
func Open(o Options) (*Instance, error) {
	var why [512]C.char
	if C.vkc_loader(&why[0], C.size_t(len(why))) == 0 {
		return nil, &Error{Cause: NoLoader, Op: "open", Detail: C.GoString(&why[0])}
	}
	if o.AppName == "" {
		o.AppName = "clearance"
	}
	if o.MaxVersion == 0 || o.MaxVersion > C.VKC_NEWEST {
		o.MaxVersion = C.VKC_NEWEST
	}
	name := C.CString(o.AppName)
	defer C.free(unsafe.Pointer(name))
	in := &Instance{devices: map[*Device]struct{}{}}
	if o.Validation {
		if in.log = C.vkc_log_new(); in.log == nil {
			return nil, &Error{Cause: OutOfHostMemory, Op: "open"}
		}
	}
	if r := Result(C.vkc_instance_create(name, C.uint32_t(o.MaxVersion), in.log, &in.c)); r != Success {
		C.vkc_log_free(in.log)
		return nil, openError(r)
	}
	if err := in.list(); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// openError explains a failure of vkc_instance_create.
func openError(r Result) error {
	e := &Error{Cause: r.cause(), Op: "open", Result: r}
	switch r {
	case ErrorFeature:
		e.Detail = "the loader knows only Vulkan 1.0, 1.1 is needed: update it"
	case ErrorLayerNotPresent:
		e.Detail = "VK_LAYER_KHRONOS_validation: install it (Debian and Ubuntu: vulkan-validationlayers) or open " +
			"without Validation"
	case ErrorExtension:
		e.Detail = "VK_EXT_debug_utils: update the loader and the layers, or open without Validation"
	case ErrorInitialization:
		e.Cause = NoDriver
	}
	return e
}

// list fills in the devices.
func (in *Instance) list() error {
	r := Result(C.vkc_instance_enumerate(in.c))
	if r == ErrorInitialization || r == Success && in.c.gpu_count == 0 {
		return &Error{Cause: NoDevice, Op: "list devices", Result: r}
	}
	if err := check("list devices", r, ""); err != nil {
		return err
	}
	in.raw = make([]C.vkc_info, in.c.gpu_count)
	for i := range in.raw {
		C.vkc_info_get(in.c, C.uint32_t(i), &in.raw[i])
		in.infos = append(in.infos, convertInfo(i, &in.raw[i]))
	}
	return nil
}

// Devices describes all devices, usable or not, in the order of the loader.
func (in *Instance) Devices() []DeviceInfo { return slices.Clone(in.infos) }

// Messages returns what the validation layer said, since Open: warnings and errors, one
// string each, nothing without validation. It works after Close as well, which is when
// leaks show.
func (in *Instance) Messages() []string {
	in.mu.RLock()
	defer in.mu.RUnlock()
	if in.log == nil {
		return slices.Clone(in.messages)
	}
	return in.readLog()
}

func (in *Instance) readLog() []string {
	var out []string
	for i := range C.vkc_log_count(in.log) {
		out = append(out, C.GoString(C.vkc_log_text(in.log, i)))
	}
	if n := C.vkc_log_dropped(in.log); n > 0 {
		out = append(out, fmt.Sprintf("%d more messages were not kept", int(n)))
	}
	return out
}

// Close closes all devices and the connection. If a device cannot be closed (see
// [Device.Close]) nothing else is, and Close may be called again.
func (in *Instance) Close() error {
	in.devicesMu.Lock()
	open := slices.Collect(maps.Keys(in.devices))
	in.devicesMu.Unlock()
	for _, d := range open {
		if err := d.Close(); err != nil {
			return err
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.c == nil {
		return nil
	}
	in.devicesMu.Lock()
	n := len(in.devices)
	in.devicesMu.Unlock()
	if n > 0 {
		return badCall("close", "%d devices were opened while the instance was being closed; close it again", n)
	}
	C.vkc_instance_destroy(in.c)
	in.c = nil
	if in.log != nil {
		in.messages = in.readLog()
		C.vkc_log_free(in.log)
		in.log = nil
	}
	return nil
}
