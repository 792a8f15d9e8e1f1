//go:build cgo && !(386 || arm || mips || mipsle)

package vk

/*
#include "vkc.h"
*/
import "C"

import "unsafe"

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
