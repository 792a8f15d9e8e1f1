package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
)

// absent is a back end that this version does not hold. It is listed, so that who
// asks for it by name is told why there is no such device.
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

// openBackends returns a dispatcher over every back end, the preferred one first.
func openBackends(workers int) (*dispatch.Dispatcher, error) {
	c, err := cpu.New(cpu.Options{Workers: workers})
	if err != nil {
		return nil, err
	}
	vulkan := absent{"vulkan", batch.DiscreteGPU, "not built into this version yet; use --backend cpu"}
	return dispatch.New(vulkan, c, cpu.NewReference()), nil
}

// choose opens the back ends and returns the one that will serve the flags, with
// the dispatcher that owns it.
func (f *solveFlags) choose() (*dispatch.Dispatcher, dispatch.Backend, error) {
	d, err := openBackends(f.workers)
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

// listDevices describes every back end, usable or not.
func listDevices() ([]deviceReport, error) {
	d, err := openBackends(0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var list []deviceReport
	for _, b := range d.Backends() {
		device := b.Device()
		r := deviceReport{Backend: b.Name(), Kind: device.Kind.String(), Usable: device.Usable(), Why: device.Reason}
		if r.Usable {
			r.Device = deviceText(device)
		}
		list = append(list, r)
	}
	return list, nil
}
