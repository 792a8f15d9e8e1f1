package vk

import "fmt"

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
