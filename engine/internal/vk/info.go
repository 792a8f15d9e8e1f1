package vk

import (
	"fmt"
	"strings"
	"time"
)

// A DeviceType says what kind of device it is. Smaller is usually faster.
type DeviceType int

// The types, in the order in which to prefer them.
const (
	Discrete DeviceType = iota
	Integrated
	Virtual
	CPU
	Other
)

// String returns the type in a word.
func (t DeviceType) String() string {
	switch t {
	case Discrete:
		return "discrete"
	case Integrated:
		return "integrated"
	case Virtual:
		return "virtual"
	case CPU:
		return "cpu"
	}
	return "other"
}

// A Version is a Vulkan version as Vulkan packs it.
type Version uint32

// MakeVersion packs a version.
func MakeVersion(major, minor uint32) Version { return Version(major<<22 | minor<<12) }

// String returns major.minor.patch.
func (v Version) String() string {
	return fmt.Sprintf("%d.%d.%d", v>>22&0x7f, v>>12&0x3ff, v&0xfff)
}

// A Feature is a set of optional abilities of a device.
type Feature uint32

// The features. All that a device has are enabled when it is opened, except RobustAccess and Statistics,
// which cost time and must be required.
const (
	Float64           Feature = 1 << iota // shaderFloat64
	Int64                                 // shaderInt64
	Int16                                 // shaderInt16
	Int8                                  // shaderInt8
	Float16                               // shaderFloat16
	Storage16                             // storageBuffer16BitAccess
	Storage8                              // storageBuffer8BitAccess
	ScalarLayout                          // scalarBlockLayout
	TimelineSemaphore                     // timelineSemaphore; fences are used without
	BufferAddress                         // bufferDeviceAddress
	Int64Atomics                          // shaderBufferInt64Atomics
	MemoryModel                           // vulkanMemoryModel, with its device scope
	SubgroupSize                          // subgroupSizeControl, for compute
	FullSubgroups                         // computeFullSubgroups
	HostImport                            // VK_EXT_external_memory_host
	RobustAccess                          // robustBufferAccess
	Statistics                            // VK_KHR_pipeline_executable_properties: statistics of compiled pipelines
	featureEnd
)

var featureNames = [...]string{
	"shaderFloat64", "shaderInt64", "shaderInt16", "shaderInt8", "shaderFloat16", "storageBuffer16BitAccess",
	"storageBuffer8BitAccess", "scalarBlockLayout", "timelineSemaphore", "bufferDeviceAddress",
	"shaderBufferInt64Atomics", "vulkanMemoryModel", "subgroupSizeControl", "computeFullSubgroups",
	"external_memory_host", "robustBufferAccess", "pipelineExecutableInfo",
}

// Has reports whether all features of g are in f.
func (f Feature) Has(g Feature) bool { return f&g == g }

// String lists Vulkan's names of the features, separated by commas.
func (f Feature) String() string {
	var names []string
	for i, name := range featureNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if rest := f &^ (featureEnd - 1); rest != 0 {
		names = append(names, fmt.Sprintf("unknown %#x", uint32(rest)))
	}
	return strings.Join(names, ", ")
}

// Limits are what a device allows, as it states it.
type Limits struct {
	MaxStorageBufferRange           uint64 // bytes one binding may cover
	MaxPushConstants                uint32 // bytes
	MaxStorageBuffers               uint32 // bindings of one pipeline
	MaxWorkGroupCount               [3]uint32
	MaxWorkGroupSize                [3]uint32
	MaxWorkGroupInvocations         uint32
	MaxSharedMemory                 uint32 // bytes of one work group
	MinStorageBufferOffsetAlignment uint64
	NonCoherentAtomSize             uint64
	MaxAllocations                  uint32  // blocks alive at one time
	MaxAllocationSize               uint64  // bytes of one block
	TimestampPeriod                 float64 // nanoseconds a tick
	TimestampValidBits              uint32  // 0: no timestamps
	HostImportAlignment             uint64  // of address and size, 0 without HostImport
	SubgroupSize                    uint32
	MinSubgroupSize                 uint32 // 0 without SubgroupSize, as the next
	MaxSubgroupSize                 uint32
	SubgroupOperations              uint32 // VkSubgroupFeatureFlagBits available to compute shaders
}

// FloatControls says what a device promises about rounding, denormals, and signed zeros,
// infinities and NaNs. It needs Vulkan 1.2; a shader asks with an execution mode.
type FloatControls struct {
	RoundToNearest32, RoundToNearest64 bool
	DenormPreserve32, DenormPreserve64 bool
	DenormFlush32                      bool
	SignedZeroInfNan32                 bool
	SignedZeroInfNan64                 bool
}

// MemoryFlag is a set of VkMemoryPropertyFlagBits.
type MemoryFlag uint32

// The flags of a memory type.
const (
	MemoryDeviceLocal  MemoryFlag = 1
	MemoryHostVisible  MemoryFlag = 2
	MemoryHostCoherent MemoryFlag = 4
	MemoryHostCached   MemoryFlag = 8
	memoryLazy         MemoryFlag = 16
	memoryProtected    MemoryFlag = 32
	memoryVendor       MemoryFlag = ^MemoryFlag(63) // device-coherent (AMD), RDMA-capable (NVIDIA) and what comes
)

// MemoryHeap is one pool of physical memory.
type MemoryHeap struct {
	Size        uint64
	DeviceLocal bool
}

// MemoryType is one way to use a heap.
type MemoryType struct {
	Flags MemoryFlag
	Heap  int
}

// DeviceInfo describes a device. It never changes.
type DeviceInfo struct {
	Index         int // in the list of devices of the instance
	Name          string
	Type          DeviceType
	API           Version
	DriverName    string // "" before Vulkan 1.2, as the next
	DriverInfo    string // the driver's version in words
	DriverVersion uint32 // as the vendor packs it
	VendorID      uint32
	DeviceID      uint32
	UUID          [16]byte
	CacheUUID     [16]byte // changes when compiled pipelines of before are of no use
	Features      Feature
	Floats        FloatControls
	Limits        Limits
	Heaps         []MemoryHeap
	Memory        []MemoryType
	TransferQueue bool   // there is a queue of its own for copies
	Unusable      string // why the device cannot be opened, "" if it can
}

// Unified reports whether the host can reach the device's own memory: Alloc with Unified works.
func (d *DeviceInfo) Unified() bool { return len(memoryCandidates(d.Memory, Unified)) > 0 }

// Options say how to open Vulkan. The zero value is the default.
type Options struct {
	// AppName is shown to drivers and tools; "" is "clearance".
	AppName string
	// Validation loads VK_LAYER_KHRONOS_validation, with synchronisation validation, and
	// collects what it says. It costs an order of magnitude of speed.
	Validation bool
	// MaxVersion treats devices of a newer Vulkan as if they offered this one, so that the
	// paths for old drivers can be tested; 0 is the newest this package knows.
	MaxVersion Version
}

// DeviceOptions say how to open a device. The zero value is the default.
type DeviceOptions struct {
	// Require lists features without which opening fails with UnsupportedFeature.
	Require Feature
	// Disable lists features to leave off even where the device has them, so that the
	// paths without them can be tested.
	Disable Feature
	// CacheFile is where compiled pipelines are kept between runs, "" for nowhere. A
	// missing, damaged or foreign file counts as empty. SaveCache writes it.
	CacheFile string
	// CloseTimeout is how long Close waits for work in flight; 0 is 10 seconds.
	CloseTimeout time.Duration
}

// PipelineOptions describe the interface of a compute shader.
type PipelineOptions struct {
	Name             string // for errors
	Entry            string // "" is "main"
	Bindings         int    // storage buffers: bindings 0 to Bindings-1 of set 0
	PushConstantSize int    // bytes, a multiple of 4
	// Spec gives 32-bit specialisation constants by id: integers, booleans as 0 or 1,
	// float32 as their bits.
	Spec          map[uint32]uint32
	SubgroupSize  uint32 // 0 leaves it to the driver; otherwise needs feature SubgroupSize
	FullSubgroups bool   // needs feature FullSubgroups; the work group's x size is a multiple of the subgroup's
}

// A QueueKind says which queue of the device a stream uses.
type QueueKind int

const (
	// ComputeQueue runs shaders and copies.
	ComputeQueue QueueKind = iota
	// TransferQueue only copies and fills, beside the shaders. Where DeviceInfo.TransferQueue
	// is false it is the compute queue.
	TransferQueue
)

// StreamOptions describe a stream. The zero value is the default.
type StreamOptions struct {
	Queue      QueueKind
	Timestamps int // number of slots for Timestamp
}

// A Stage is a set of places where device memory is used, for barriers.
type Stage uint32

// The stages.
const (
	StageTransfer Stage = 1 << iota // Copy, Fill
	StageCompute                    // Dispatch and what its shader reads and writes
	StageIndirect                   // the group counts that DispatchIndirect reads
	StageHost                       // the host's reads after Wait
	stageEnd
)

// Fault is a failure to inject, for tests. It applies to the whole process.
type Fault struct {
	// Call is the point of failure: one of FaultPoints. "wait" is the wait for a
	// submission; "readback" is Buffer.Invalidate, which succeeds and finds a byte changed.
	Call string
	// After is how many calls succeed first.
	After int
	// Times is how many calls fail then; 0 is one, negative is all.
	Times int
	// Result is what the call returns. At "dlopen" any value means not found;
	// Success from vkEnumeratePhysicalDevices means no device; ResultTimeout from
	// "wait" comes after the time allowed.
	Result Result
	// Offset and Mask: at "readback", the byte at Offset of the buffer is XORed with Mask
	// (0 is 0xff). A buffer shorter than that is left alone and does not count.
	Offset uint64
	Mask   byte
}
