package vk

import "time"

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
