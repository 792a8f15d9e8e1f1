package batch

// DeviceKind is the kind of a device, best first.
type DeviceKind uint8

// Kinds of device.
const (
	DiscreteGPU DeviceKind = iota
	IntegratedGPU
	VirtualGPU
	SoftwareGPU // a Vulkan driver that runs on the CPU
	CPU
	DeviceKindCount
)

var deviceKindNames = [DeviceKindCount]string{"discrete", "integrated", "virtual", "software", "cpu"}

func (k DeviceKind) String() string { return name(deviceKindNames[:], uint8(k), "device") }

// Device describes the device of a back end.
type Device struct {
	Kind   DeviceKind
	Name   string // as reported by the driver or the system
	Driver string // driver and version, or the instruction set

	// Proof is the arithmetic that proves answers in single precision: "double precision", "two floats", or
	// "two floats, no double precision"; "" where there is no choice.
	Proof string

	// Reason states in one line why the device cannot be used and what to do about it;
	// "" if it can be used.
	Reason string
}

// Usable reports whether the device can be used.
func (d *Device) Usable() bool { return d.Reason == "" }
