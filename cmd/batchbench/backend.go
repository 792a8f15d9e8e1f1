package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/engine"
)

// absent is a back end that is not there. It is listed, so that who asks for it by name
// is told why.
type absent struct {
	name string
	kind batch.DeviceKind
	why  string
}

func (a absent) Name() string                 { return a.name }
func (a absent) Device() batch.Device         { return batch.Device{Kind: a.kind, Reason: a.why} }
func (a absent) Check(o *batch.Options) error { return errors.New(a.why) }
func (a absent) Close() error                 { return nil }
func (a absent) Run(context.Context, *batch.Job, int, int, *batch.Results) error {
	return errors.New(a.why)
}

// vulkanName is the name of the Vulkan back end.
const vulkanName = "vulkan"

// openBackends returns a dispatcher over every back end, the preferred one first. Vulkan
// is not opened where another back end was asked for by name.
func openBackends(f *solveFlags) (*dispatch.Dispatcher, error) {
	c, err := cpu.New(cpu.Options{Workers: f.workers})
	if err != nil {
		return nil, err
	}
	var vulkan dispatch.Backend = absent{vulkanName, batch.DiscreteGPU, "not opened, since another back end was asked for"}
	if f.backend == vulkanName || f.backend == dispatch.Auto {
		vulkan = openVulkan(f.device)
	}
	return dispatch.New(vulkan, c, cpu.NewReference()), nil
}

// openVulkan opens a device, the best one for "".
func openVulkan(device string) dispatch.Backend {
	b, err := engine.Open(engine.Options{Device: device})
	if err != nil {
		return absent{vulkanName, batch.DiscreteGPU, strings.TrimPrefix(err.Error(), "engine: ")}
	}
	return b
}

// choose opens the back ends and returns the one that will serve the flags, with
// the dispatcher that owns it.
func (f *solveFlags) choose() (*dispatch.Dispatcher, dispatch.Backend, error) {
	d, err := openBackends(f)
	if err != nil {
		return nil, nil, err
	}
	names := []string{dispatch.Auto}
	for _, b := range d.Backends() {
		names = append(names, b.Name())
	}
	if !slices.Contains(names, f.backend) {
		return nil, nil, fmt.Errorf("--backend %q: want one of %s; 'batchbench devices' says which are usable", f.backend, strings.Join(names, ", "))
	}
	chosen, err := d.Choose(f.backend, &f.options)
	if err != nil {
		return nil, nil, err
	}
	return d, chosen[0], nil
}

// deviceText describes a device in one line.
func deviceText(d batch.Device) string {
	if d.Driver == "" {
		return d.Name
	}
	return d.Name + "; " + d.Driver
}

// listDevices describes every back end, usable or not, and every Vulkan device.
func listDevices() ([]deviceReport, error) {
	c, err := cpu.New(cpu.Options{})
	if err != nil {
		return nil, err
	}
	var list []deviceReport
	add := func(name, index string, d batch.Device) {
		r := deviceReport{Backend: name, Index: index, Kind: d.Kind.String(), Usable: d.Usable(), Why: d.Reason}
		if r.Usable {
			r.Device = deviceText(d)
		} else if d.Name != "" {
			r.Why = d.Name + ": " + r.Why
		}
		list = append(list, r)
	}
	devices, err := engine.Devices()
	if err != nil {
		add(vulkanName, "", absent{vulkanName, batch.DiscreteGPU, strings.TrimPrefix(err.Error(), "engine: ")}.Device())
	}
	for i, d := range devices {
		add(vulkanName, strconv.Itoa(i), d)
	}
	for _, b := range []dispatch.Backend{c, cpu.NewReference()} {
		add(b.Name(), "", b.Device())
	}
	return list, nil
}
