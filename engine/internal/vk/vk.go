// Package vk is the thin layer between the engine and Vulkan: compute only, Vulkan 1.1
// and newer, opened at run time.
//
// Layers. C code in this folder builds every Vulkan structure and owns every handle; the
// Go code holds opaque pointers to C objects and does the checking. The loader is opened
// with dlopen, so the binary starts without Vulkan; the part of the ABI in use is
// declared in abi.h, so it builds without Vulkan headers, and a test compares abi.h with
// the official ones. The bindings of github.com/vulkan-go/vulkan are not used, not even
// for constants: their calls that take slices of structures or strings free memory while
// Vulkan reads it, they stop at Vulkan 1.1.88, and the constants that remain are few.
// Nothing here depends on when the garbage collector runs: there is no finalizer, no Go
// pointer stays in C after a call (host memory to import is pinned), and what is not
// closed lives until its Device or Instance is.
//
// Objects. An [Instance] lists devices and opens them. A [Device] allocates blocks of
// memory ([Block], cut into ranges called [Buffer] by an [Arena] or a [Pool]), compiles
// a [Pipeline] from SPIR-V, and makes streams. A [Stream] records commands, submits them
// and waits for them; several streams are several submissions in flight.
//
// Threads. Every method may be called from any goroutine. Methods of one Stream, and of
// one Arena, must not run at the same time, except that closing is always allowed.
// Bytes of mapped memory are plain memory: a program that shares them synchronises accesses, with the
// device by Wait.
//
// Lifetimes. Close of anything may be called twice. Closing a Block, Pipeline or Stream
// that a recording still uses takes effect when that Stream records anew or is closed.
// Closing a Device waits for the work on it and closes all that belongs to it; closing an
// Instance closes its devices. If work on a device does not end, Close returns a Timeout
// error and frees nothing, since the device still writes to the memory.
//
// Errors. Every error is an [*Error] with a [Cause], which errors.Is finds:
//
//	if errors.Is(err, vk.DeviceLost) { … }
//
// Two are left to the context package: what the context of a Wait ended with. After
// DeviceLost every call on that device returns DeviceLost; close it and open it again.
//
// Without cgo, and on 32-bit systems, the package builds and Open returns NoCgo.
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

// A Cause is why a call failed. It is an error itself, to be used with errors.Is.
type Cause int

// The causes. Each Error carries exactly one.
const (
	// VulkanError is any result of a Vulkan call without a cause of its own; Result says which.
	VulkanError Cause = iota
	// NoCgo: the program was built without cgo, so it cannot call Vulkan.
	NoCgo
	// NoLoader: the Vulkan loader library is not installed.
	NoLoader
	// NoDriver: the loader found no usable driver.
	NoDriver
	// NoDevice: the drivers found no device, or the device asked for does not exist.
	NoDevice
	// OutOfHostMemory: the driver could not allocate memory of the process.
	OutOfHostMemory
	// OutOfDeviceMemory: the device has no memory of that size left.
	OutOfDeviceMemory
	// DeviceLost: the device failed. What was on it is gone; open it again.
	DeviceLost
	// Timeout: work did not end in the time allowed.
	Timeout
	// UnsupportedFeature: the device, driver or loader lacks something that was asked for; Detail names it.
	UnsupportedFeature
	// Closed: the object, or the one it belongs to, was closed before.
	Closed
	// BadCall: the arguments break a rule or a limit of the device; Detail says which.
	BadCall
)

var causeTexts = [...]string{
	VulkanError:        "Vulkan call failed",
	NoCgo:              "built without cgo",
	NoLoader:           "no Vulkan loader",
	NoDriver:           "no Vulkan driver",
	NoDevice:           "no Vulkan device",
	OutOfHostMemory:    "out of host memory",
	OutOfDeviceMemory:  "out of device memory",
	DeviceLost:         "device lost",
	Timeout:            "timeout",
	UnsupportedFeature: "not supported",
	Closed:             "already closed",
	BadCall:            "bad call",
}

var causeAdvice = [...]string{
	NoCgo:    "build for a 64-bit system with CGO_ENABLED=1 and a C compiler, or use the CPU back end",
	NoLoader: "install the Vulkan loader (Debian and Ubuntu: libvulkan1) or use the CPU back end",
	NoDriver: "install a Vulkan driver (Debian and Ubuntu: mesa-vulkan-drivers, or the vendor's), check " +
		"VK_DRIVER_FILES, or use the CPU back end",
	NoDevice: "check that the GPU is visible to this process, install mesa-vulkan-drivers for a software " +
		"device, or use the CPU back end",
	OutOfHostMemory:   "free memory or use smaller batches",
	OutOfDeviceMemory: "use smaller chunks, or close other programs that use the device",
	DeviceLost: "close the device and open it again; if it happens again, look for driver resets in the " +
		"system log",
	Timeout: "allow more time or use smaller chunks; if it happens again, close the device",
}

func (c Cause) Error() string { return c.String() }

// String returns the cause in a few words.
func (c Cause) String() string {
	if c < 0 || int(c) >= len(causeTexts) {
		return fmt.Sprintf("cause %d", int(c))
	}
	return causeTexts[c]
}

// An Error is a failed call.
type Error struct {
	Cause  Cause
	Op     string // what was being done: "open", "submit", …
	Result Result // of the Vulkan call, Success if there was none
	Detail string // names, sizes, limits; may be empty
}

// Error says what was done, why it failed and what to do about it.
func (e *Error) Error() string {
	s := "vulkan: " + e.Op + ": " + e.Cause.String()
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Result != Success {
		s += " (" + e.Result.String() + ")"
	}
	if int(e.Cause) < len(causeAdvice) && causeAdvice[e.Cause] != "" {
		s += "; " + causeAdvice[e.Cause]
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// A Result is a VkResult.
type Result int32

// The results that have a cause of their own or that tests inject.
const (
	Success                Result = 0
	ResultNotReady         Result = 1
	ResultTimeout          Result = 2
	ErrorOutOfHostMemory   Result = -1
	ErrorOutOfDeviceMemory Result = -2
	ErrorInitialization    Result = -3
	ErrorDeviceLost        Result = -4
	ErrorMemoryMapFailed   Result = -5
	ErrorLayerNotPresent   Result = -6
	ErrorExtension         Result = -7
	ErrorFeature           Result = -8
	ErrorIncompatible      Result = -9
	ErrorTooManyObjects    Result = -10
)

var resultNames = map[Result]string{
	Success: "VK_SUCCESS", ResultNotReady: "VK_NOT_READY", ResultTimeout: "VK_TIMEOUT",
	3: "VK_EVENT_SET", 4: "VK_EVENT_RESET", 5: "VK_INCOMPLETE",
	ErrorOutOfHostMemory: "VK_ERROR_OUT_OF_HOST_MEMORY", ErrorOutOfDeviceMemory: "VK_ERROR_OUT_OF_DEVICE_MEMORY",
	ErrorInitialization: "VK_ERROR_INITIALIZATION_FAILED", ErrorDeviceLost: "VK_ERROR_DEVICE_LOST",
	ErrorMemoryMapFailed: "VK_ERROR_MEMORY_MAP_FAILED", ErrorLayerNotPresent: "VK_ERROR_LAYER_NOT_PRESENT",
	ErrorExtension: "VK_ERROR_EXTENSION_NOT_PRESENT", ErrorFeature: "VK_ERROR_FEATURE_NOT_PRESENT",
	ErrorIncompatible: "VK_ERROR_INCOMPATIBLE_DRIVER", ErrorTooManyObjects: "VK_ERROR_TOO_MANY_OBJECTS",
	-11: "VK_ERROR_FORMAT_NOT_SUPPORTED", -12: "VK_ERROR_FRAGMENTED_POOL", -13: "VK_ERROR_UNKNOWN",
	-1000069000: "VK_ERROR_OUT_OF_POOL_MEMORY", -1000072003: "VK_ERROR_INVALID_EXTERNAL_HANDLE",
	-1000257000: "VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS", -1000174001: "VK_ERROR_NOT_PERMITTED",
}

// String returns Vulkan's name of the result.
func (r Result) String() string {
	if s, ok := resultNames[r]; ok {
		return s
	}
	return fmt.Sprintf("VkResult %d", int32(r))
}

// cause is the cause that a failed result means wherever it comes from.
func (r Result) cause() Cause {
	switch r {
	case ErrorOutOfHostMemory:
		return OutOfHostMemory
	case ErrorOutOfDeviceMemory:
		return OutOfDeviceMemory
	case ErrorDeviceLost:
		return DeviceLost
	case ResultTimeout:
		return Timeout
	case ErrorLayerNotPresent, ErrorExtension, ErrorFeature:
		return UnsupportedFeature
	case ErrorIncompatible:
		return NoDriver
	}
	return VulkanError
}

// check turns a result into an error, nil for success.
func check(op string, r Result, detail string) error {
	if r == Success {
		return nil
	}
	return &Error{Cause: r.cause(), Op: op, Result: r, Detail: detail}
}

func badCall(op, format string, args ...any) error {
	return &Error{Cause: BadCall, Op: op, Detail: fmt.Sprintf(format, args...)}
}
