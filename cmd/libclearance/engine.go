package main

// #include "clearance.h"
import "C"

import (
	"context"
	"os"
	"unsafe"

	"clearance"
	"clearance/dispatch"
	"clearance/engine"
)

// maxWorkers bounds the threads that a caller may ask for.
const maxWorkers = 1 << 12

// checkWorkers returns an error if a caller asks for more threads than a machine has any use for.
func checkWorkers[T int32 | int64 | C.int32_t](n T) error {
	if n < 0 || n > maxWorkers {
		return argument("%d workers, want 1 to %d, or 0 for one per processor", n, maxWorkers)
	}
	return nil
}

//export clearance_engine_open
func clearance_engine_open(options *C.clearance_options, out *C.clearance_engine, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		if options == nil || out == nil {
			return argument("no options, or no place for the handle")
		}
		if err := checkWorkers(options.workers); err != nil {
			return err
		}
		list := []clearance.Option{clearance.WithBackend(text(options.backend)),
			clearance.WithDevice(text(options.device)), clearance.WithSIMD(text(options.simd)),
			clearance.WithWorkers(int(options.workers))}
		if n := int(options.probe_count); n > 0 && options.probe != nil {
			var command []string
			for _, word := range unsafe.Slice(options.probe, n) {
				command = append(command, text(word))
			}
			list = append(list, clearance.WithProbe(command...))
		}
		h, err := clearance.Open(list...)
		if err != nil {
			return err
		}
		handle := &engineHandle{Handle: h, run: dispatch.Options{Backend: text(options.backend), MaxRowErrors: 1,
			KeepUnreached: true}}
		handle.ctx, handle.cancel = context.WithCancel(context.Background())
		*out = C.clearance_engine(engines.put(handle))
		return nil
	}())
}

// engineDescription is what clearance_engine_describe writes.
type engineDescription struct {
	Backends []backendDescription `json:"backends"`
	Notes    []string             `json:"notes"`
}

type backendDescription struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Device string `json:"device"`
	Driver string `json:"driver"`
	Proof  string `json:"proof"` // see batch.Device
	Usable bool   `json:"usable"`
	Reason string `json:"reason"` // why it is not usable
}

//export clearance_engine_describe
func clearance_engine_describe(handle C.clearance_engine, out *C.char, size C.int64_t) C.int64_t {
	return writeJSON(out, size, func() (any, error) { return describeEngine(uint64(handle)) })
}

func describeEngine(handle uint64) (*engineDescription, error) {
	h, err := engines.get(handle)
	if err != nil {
		return nil, err
	}
	d := engineDescription{Backends: []backendDescription{}, Notes: append([]string{}, h.Notes()...)}
	for _, b := range h.Backends() {
		device := b.Device()
		d.Backends = append(d.Backends, backendDescription{b.Name(), device.Kind.String(), device.Name, device.Driver,
			device.Proof, device.Usable(), device.Reason})
	}
	return &d, nil
}

//export clearance_engine_close
func clearance_engine_close(handle C.clearance_engine, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		h, err := engines.take(uint64(handle))
		if err != nil {
			return err
		}
		return h.end()
	}())
}

//export clearance_try_device
func clearance_try_device(index, name *C.clearance_text, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		return engine.TryDevice(os.Stdout, []string{text(index), text(name)})
	}())
}
