package batch

// DeviceKind says what a back end computes on, best first.
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

// Device describes what a back end computes on.
type Device struct {
	Kind   DeviceKind
	Name   string // as the driver or the system calls it
	Driver string // driver and version, or the instruction set

	// Reason says in one line why the device cannot be used and what to do about
	// it; "" means that it can.
	Reason string
}

// Usable reports whether work can be given to the device.
func (d *Device) Usable() bool { return d.Reason == "" }
