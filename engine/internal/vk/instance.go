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

// The bits of Go and C are the same; an index out of range here stops the build.
var (
	_ = [1]struct{}{}[C.VKC_F_FLOAT64^Float64]
	_ = [1]struct{}{}[C.VKC_F_ROBUST_ACCESS^RobustAccess]
	_ = [1]struct{}{}[C.VKC_F_STATISTICS^Statistics]
	_ = [1]struct{}{}[C.VKC_F_TIMELINE^TimelineSemaphore]
	_ = [1]struct{}{}[C.VKC_F_HOST_IMPORT^HostImport]
	_ = [1]struct{}{}[C.VKC_F_SUBGROUP_SIZE^SubgroupSize]
	_ = [1]struct{}{}[C.VKC_F_DEVICE_ADDRESS^BufferAddress]
	_ = [1]struct{}{}[C.VKC_STAGE_TRANSFER^StageTransfer]
	_ = [1]struct{}{}[C.VKC_STAGE_COMPUTE^StageCompute]
	_ = [1]struct{}{}[C.VKC_STAGE_INDIRECT^StageIndirect]
	_ = [1]struct{}{}[C.VKC_STAGE_HOST^StageHost]
	_ = [1]struct{}{}[C.VKC_QUEUE_TRANSFER^TransferQueue]
	_ = [1]struct{}{}[C.VK_TIMEOUT-ResultTimeout]
	_ = [1]struct{}{}[C.VK_NOT_READY-ResultNotReady]
	_ = [1]struct{}{}[C.VK_ERROR_OUT_OF_HOST_MEMORY-ErrorOutOfHostMemory]
	_ = [1]struct{}{}[C.VK_ERROR_OUT_OF_DEVICE_MEMORY-ErrorOutOfDeviceMemory]
	_ = [1]struct{}{}[C.VK_ERROR_INITIALIZATION_FAILED-ErrorInitialization]
	_ = [1]struct{}{}[C.VK_ERROR_DEVICE_LOST-ErrorDeviceLost]
	_ = [1]struct{}{}[C.VK_ERROR_MEMORY_MAP_FAILED-ErrorMemoryMapFailed]
	_ = [1]struct{}{}[C.VK_ERROR_LAYER_NOT_PRESENT-ErrorLayerNotPresent]
	_ = [1]struct{}{}[C.VK_ERROR_EXTENSION_NOT_PRESENT-ErrorExtension]
	_ = [1]struct{}{}[C.VK_ERROR_FEATURE_NOT_PRESENT-ErrorFeature]
	_ = [1]struct{}{}[C.VK_ERROR_INCOMPATIBLE_DRIVER-ErrorIncompatible]
	_ = [1]struct{}{}[C.VK_ERROR_TOO_MANY_OBJECTS-ErrorTooManyObjects]
	_ = [1]struct{}{}[C.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT^MemoryDeviceLocal]
	_ = [1]struct{}{}[C.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT^MemoryHostVisible]
	_ = [1]struct{}{}[C.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT^MemoryHostCoherent]
	_ = [1]struct{}{}[C.VK_MEMORY_PROPERTY_HOST_CACHED_BIT^MemoryHostCached]
	_ = [1]struct{}{}[C.VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT^memoryLazy]
	_ = [1]struct{}{}[C.VK_MEMORY_PROPERTY_PROTECTED_BIT^memoryProtected]
)

// convertInfo turns what C read into what Go shows.
func convertInfo(index int, c *C.vkc_info) DeviceInfo {
	l := &c.limits
	d := DeviceInfo{
		Index:         index,
		Name:          C.GoString(&c.name[0]),
		Type:          convertType(c._type),
		API:           Version(c.api_version),
		DriverName:    C.GoString(&c.driver_name[0]),
		DriverInfo:    C.GoString(&c.driver_info[0]),
		DriverVersion: uint32(c.driver_version),
		VendorID:      uint32(c.vendor_id),
		DeviceID:      uint32(c.device_id),
		UUID:          *(*[16]byte)(unsafe.Pointer(&c.device_uuid)),
		CacheUUID:     *(*[16]byte)(unsafe.Pointer(&c.cache_uuid)),
		Features:      Feature(c.features),
		TransferQueue: c.transfer_family >= 0,
		Limits: Limits{
			MaxStorageBufferRange: uint64(l.maxStorageBufferRange),
			MaxPushConstants:      uint32(l.maxPushConstantsSize),
			MaxStorageBuffers: min(uint32(l.maxPerStageDescriptorStorageBuffers),
				uint32(l.maxDescriptorSetStorageBuffers), maxBindings),
			MaxWorkGroupCount:               triple(l.maxComputeWorkGroupCount),
			MaxWorkGroupSize:                triple(l.maxComputeWorkGroupSize),
			MaxWorkGroupInvocations:         uint32(l.maxComputeWorkGroupInvocations),
			MaxSharedMemory:                 uint32(l.maxComputeSharedMemorySize),
			MinStorageBufferOffsetAlignment: uint64(l.minStorageBufferOffsetAlignment),
			NonCoherentAtomSize:             uint64(l.nonCoherentAtomSize),
			MaxAllocations:                  uint32(l.maxMemoryAllocationCount),
			MaxAllocationSize:               maxAllocation(c),
			TimestampPeriod:                 float64(l.timestampPeriod),
			TimestampValidBits:              uint32(c.timestamp_bits),
			HostImportAlignment:             uint64(c.host_import_alignment),
			SubgroupSize:                    uint32(c.subgroup_size),
			MinSubgroupSize:                 uint32(c.min_subgroup),
			MaxSubgroupSize:                 uint32(c.max_subgroup),
		},
		Floats: FloatControls{
			RoundToNearest32:   c.float_controls&C.VKC_C_RTE32 != 0,
			RoundToNearest64:   c.float_controls&C.VKC_C_RTE64 != 0,
			DenormPreserve32:   c.float_controls&C.VKC_C_DENORM_PRESERVE32 != 0,
			DenormPreserve64:   c.float_controls&C.VKC_C_DENORM_PRESERVE64 != 0,
			DenormFlush32:      c.float_controls&C.VKC_C_DENORM_FLUSH32 != 0,
			SignedZeroInfNan32: c.float_controls&C.VKC_C_SIGNED_ZERO_INF_NAN32 != 0,
			SignedZeroInfNan64: c.float_controls&C.VKC_C_SIGNED_ZERO_INF_NAN64 != 0,
		},
	}
	if c.subgroup_stages&C.VK_SHADER_STAGE_COMPUTE_BIT != 0 {
		d.Limits.SubgroupOperations = uint32(c.subgroup_operations)
	}
	for _, h := range c.memory.memoryHeaps[:c.memory.memoryHeapCount] {
		d.Heaps = append(d.Heaps, MemoryHeap{Size: uint64(h.size),
			DeviceLocal: h.flags&C.VK_MEMORY_HEAP_DEVICE_LOCAL_BIT != 0})
	}
	for _, t := range c.memory.memoryTypes[:c.memory.memoryTypeCount] {
		d.Memory = append(d.Memory, MemoryType{Flags: MemoryFlag(t.propertyFlags), Heap: int(t.heapIndex)})
	}
	switch {
	case d.API < MakeVersion(1, 1):
		d.Unusable = "its driver offers Vulkan " + d.API.String() + ", 1.1 is needed"
	case c.compute_family < 0:
		d.Unusable = "it has no queue for compute"
	}
	return d
}

func convertType(t C.int32_t) DeviceType {
	switch t {
	case C.VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
		return Discrete
	case C.VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
		return Integrated
	case C.VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
		return Virtual
	case C.VK_PHYSICAL_DEVICE_TYPE_CPU:
		return CPU
	}
	return Other
}

func triple(c [3]C.uint32_t) [3]uint32 { return [3]uint32{uint32(c[0]), uint32(c[1]), uint32(c[2])} }

// maxAllocation is the largest block: memory and the buffer over it. Vulkan 1.3 states
// the latter apart.
func maxAllocation(c *C.vkc_info) uint64 {
	n := uint64(c.max_allocation)
	if c.max_buffer > 0 {
		n = min(n, uint64(c.max_buffer))
	}
	return n
}
