package engine

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"clearance/engine/internal/vk"
)

// DeviceVariable is the environment variable that names a device where
// [Options.Device] does not.
const DeviceVariable = "CLEARANCE_DEVICE"

// Options configure the back end. The zero value is the default.
type Options struct {
	// Device is the index of a device, as in [Devices], or part of its name in any
	// case; "" is the value of CLEARANCE_DEVICE, and without one the best device.
	Device string

	// ChunkRows is the number of rows that are computed at a time, rounded up to a
	// multiple of 64 and cut to what the device allows; 0 is 262,144, or 16,384 on
	// software devices. No answer depends on it.
	ChunkRows int

	// Validation loads the Vulkan validation layer, see [Backend.Messages].
	Validation bool

	// Timeout is how long a chunk may take before the device counts as hung; 0 is
	// two minutes.
	Timeout time.Duration

	// CacheDir is the folder in which compiled shaders are kept between runs; "" is
	// clearance in the user's cache folder. A file that is damaged or of another
	// device counts as missing, and one that cannot be written costs time only.
	CacheDir string

	// NoCache keeps compiled shaders in memory only.
	NoCache bool

	// Probe, if not empty, is a command that tries a device in a process of its own, so that a driver that
	// crashes does not take this process with it. It runs once for each device and driver, before the device is
	// opened for the first time; two arguments are appended, with which the command calls [TryDevice]. The
	// verdict is kept in the cache folder.
	Probe []string

	// Proof is the arithmetic of proofs of single precision. Answers agree within their gaps, not in every bit.
	Proof Proof

	// For tests and benchmarks.
	staged    bool       // transfer data even where the host reaches the memory of the device
	budget    uint32     // limit on loop passes of an invocation, 0: loopLimit
	unsorted  bool       // do not sort the rows
	phases    bool       // search in phases on every device, see pipelines.phased
	reduceAll bool       // omit rows even where that saves nothing
	disable   vk.Feature // features that count as missing
	slow      bool       // double precision counts as slow
	generic   bool       // shaders for all kinds of shapes, whatever a library holds

	probeTimeout time.Duration // 0: the constant of this name
}

// Default sizes of a chunk. A GPU wants some hundred thousand invocations at a time; a
// software device wants its data to stay in the processor's cache.
const (
	defaultChunkRows  = 1 << 18
	softwareChunkRows = 1 << 14
	defaultTimeout    = 2 * time.Minute
)

func (o *Options) ensureDefaults() {
	if o.Device == "" {
		o.Device = os.Getenv(DeviceVariable)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
}

func (o *Options) validate() error {
	if o.ChunkRows < 0 || o.ChunkRows > 1<<30 {
		return fmt.Errorf("engine: chunks of %d rows, want 1 to 2^30, or 0 for the default", o.ChunkRows)
	}
	if o.Timeout < 0 {
		return fmt.Errorf("engine: timeout %v, want a time above 0, or 0 for the default", o.Timeout)
	}
	return nil
}

// CheckDevice reports that the device selected by name, or where that is "" by the environment
// variable CLEARANCE_DEVICE, does not exist. Whether it can be used is another matter, which
// [Open] reports. The name "all" needs one device at least.
func CheckDevice(device string) error {
	o := Options{Device: device}
	o.ensureDefaults()
	if o.Device == "" {
		return nil
	}
	instance, err := vk.Open(vk.Options{})
	if err != nil {
		return fmt.Errorf("engine: no Vulkan device %q (from the option, flag or %s): %w", o.Device, DeviceVariable,
			err)
	}
	defer instance.Close()
	devices := instance.Devices()
	if o.Device == "all" && len(devices) > 0 {
		return nil
	}
	_, err = find(devices, o.Device)
	return err
}

// choose returns the index of the device that is asked for: the first whose index or
// name is meant, or the best one for "", of which unusable says "".
func choose(devices []vk.DeviceInfo, device string, unusable func(*vk.DeviceInfo) string) (int, error) {
	if device == "" {
		order := make([]int, len(devices))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, k int) int { return slices.Compare(rank(&devices[i]), rank(&devices[k])) })
		for _, i := range order {
			if unusable(&devices[i]) == "" {
				return i, nil
			}
		}
		return 0, fmt.Errorf("engine: no usable Vulkan device: %s", list(devices, unusable))
	}
	i, err := find(devices, device)
	if err != nil {
		return 0, err
	}
	if why := unusable(&devices[i]); why != "" {
		return 0, fmt.Errorf("engine: Vulkan device %d, %s: %s", i, devices[i].Name, why)
	}
	return i, nil
}

// rank orders devices, the best first: hardware before software, then those with double precision, then by type.
func rank(d *vk.DeviceInfo) []int {
	return []int{int(constant(d.Type == vk.CPU)), int(constant(!d.Features.Has(vk.Float64))), int(d.Type)}
}

// find returns the index of the device with this index or a name that holds it.
func find(devices []vk.DeviceInfo, device string) (int, error) {
	i, err := strconv.Atoi(device)
	if err != nil {
		i = slices.IndexFunc(devices, func(d vk.DeviceInfo) bool {
			return strings.Contains(strings.ToLower(d.Name), strings.ToLower(device))
		})
	}
	if i < 0 || i >= len(devices) {
		return 0, fmt.Errorf("engine: no Vulkan device %q (from the option, flag or %s); there are: %s", device,
			DeviceVariable, list(devices, reason))
	}
	return i, nil
}

// reason says why a device cannot be used, "" if it can.
func reason(d *vk.DeviceInfo) string {
	switch {
	case d.Unusable != "":
		return d.Unusable
	case d.Limits.MaxStorageBuffers < maxBindings():
		return fmt.Sprintf("its shaders see %d buffers, %d are needed", d.Limits.MaxStorageBuffers, maxBindings())
	}
	return ""
}

func list(devices []vk.DeviceInfo, unusable func(*vk.DeviceInfo) string) string {
	var b strings.Builder
	for i := range devices {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%d: %s", i, devices[i].Name)
		if why := unusable(&devices[i]); why != "" {
			fmt.Fprintf(&b, " (%s)", why)
		}
	}
	return b.String()
}
