package clearance

import (
	"strconv"
	"strings"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine"
)

// vulkanName is the name of the back end that [engine.Open] opens.
const vulkanName = "vulkan"

// AllDevices, given to [WithDevice], selects every Vulkan device that is hardware, or, if
// there is none, every Vulkan driver that runs on the CPU.
const AllDevices = "all"

// openVulkan opens the selected Vulkan devices. A device that cannot be opened is in the
// list as well, with the reason; note repeats the reason for [Handle.Notes], "" if there is
// none.
func openVulkan(c *config) (list []dispatch.Backend, note string) {
	why := ""
	for _, want := range vulkanDevices(c) {
		device, name := want, vulkanName+":"+want
		if want == c.device {
			name = vulkanName
		}
		if want == AllDevices {
			all, err := openAll(c)
			if err == nil {
				list = append(list, all...)
				continue
			}
			list, why = append(list, absent(vulkanName, err)), reason(err)
			continue
		}
		b, err := engine.Open(engine.Options{Device: device, Probe: c.probe})
		switch {
		case err != nil:
			list, why = append(list, absent(name, err)), reason(err)
		case name != vulkanName:
			list = append(list, dispatch.Label(b, name))
		default:
			list = append(list, b)
		}
	}
	if len(list) == 0 {
		return []dispatch.Backend{dispatch.Absent(vulkanName, batch.DiscreteGPU,
			"not opened, since another back end was selected")}, ""
	}
	if why != "" {
		note = "no Vulkan device is used: " + why
	}
	return list, note
}

// vulkanDevices lists the devices to open, as [engine.Options] name them, one entry for each
// time that a device is selected.
func vulkanDevices(c *config) (devices []string) {
	spec := c.run.Backend
	if spec == "" || spec == dispatch.Auto {
		return []string{c.device}
	}
	for name := range strings.SplitSeq(spec, "+") {
		family, device, named := strings.Cut(name, ":")
		switch {
		case family != vulkanName:
		case named:
			devices = append(devices, device)
		default:
			devices = append(devices, c.device)
		}
	}
	return devices
}

// openAll opens every hardware device, or, if there is none, every software device.
func openAll(c *config) ([]dispatch.Backend, error) {
	devices, err := engine.Devices(c.probe...)
	if err != nil {
		return nil, err
	}
	var hard, soft []int
	for i, d := range devices {
		switch {
		case !d.Usable():
		case d.Kind == batch.SoftwareGPU:
			soft = append(soft, i)
		default:
			hard = append(hard, i)
		}
	}
	if len(hard) == 0 {
		hard = soft
	}
	var list []dispatch.Backend
	for _, i := range hard {
		b, err := engine.Open(engine.Options{Device: strconv.Itoa(i), Probe: c.probe})
		if err != nil {
			for _, b := range list {
				b.Close()
			}
			return nil, err
		}
		list = append(list, dispatch.Label(b, vulkanName+":"+strconv.Itoa(i)))
	}
	if len(list) == 0 {
		b, err := engine.Open(engine.Options{Probe: c.probe}) // its error gives the reason
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

func absent(name string, err error) dispatch.Backend {
	return dispatch.Absent(name, batch.DiscreteGPU, reason(err))
}

// reason is the message of an error of package engine, without the name of the package.
func reason(err error) string { return strings.TrimPrefix(err.Error(), "engine: ") }
