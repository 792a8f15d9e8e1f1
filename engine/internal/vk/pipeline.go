//go:build cgo && !(386 || arm || mips || mipsle)

package vk

/*
#include <stdlib.h>
#include "vkc.h"
*/
import "C"

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"unsafe"
)

// Pipeline is a compiled compute shader.
type Pipeline struct {
	d       *Device
	c       *C.vkc_pipeline
	owner   *owner
	options PipelineOptions
	closed  atomic.Bool
}

// NewPipeline compiles SPIR-V. It fails with UnsupportedFeature where the shader declares
// a capability that the device does not have, and with BadCall where spirv is no SPIR-V.
func (d *Device) NewPipeline(spirv []byte, o PipelineOptions) (*Pipeline, error) {
	op := "compile pipeline"
	if o.Name != "" {
		op += " " + o.Name
	}
	code, err := d.checkPipeline(op, spirv, &o)
	if err != nil {
		return nil, err
	}
	spec := make([]uint32, 0, 2*len(o.Spec)+1)
	ids := slices.Sorted(maps.Keys(o.Spec))
	spec = append(spec, ids...)
	for _, id := range ids {
		spec = append(spec, o.Spec[id])
	}
	spec = append(spec, 0) // so that there is a first element
	entry := C.CString(o.Entry)
	defer C.free(unsafe.Pointer(entry))
	full := C.int(0)
	if o.FullSubgroups {
		full = 1
	}
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.leave()
	p := &Pipeline{d: d, options: o}
	r := C.vkc_pipeline_create(d.c, (*C.uint32_t)(&code[0]), C.size_t(4*len(code)), entry,
		C.uint32_t(o.Bindings), C.uint32_t(o.PushConstantSize), (*C.uint32_t)(&spec[0]), C.uint32_t(len(ids)),
		C.uint32_t(o.SubgroupSize), full, &p.c)
	if err := d.check(op, r, ""); err != nil {
		return nil, err
	}
	c := p.c
	p.owner = d.own(func() { C.vkc_pipeline_destroy(d.c, c) })
	return p, nil
}

// checkPipeline holds the options to the limits and returns the code as words.
func (d *Device) checkPipeline(op string, spirv []byte, o *PipelineOptions) ([]uint32, error) {
	l := &d.info.Limits
	if o.Entry == "" {
		o.Entry = "main"
	}
	switch {
	case o.Bindings < 0 || o.Bindings > int(l.MaxStorageBuffers):
		return nil, badCall(op, "%d bindings, %s allows %d", o.Bindings, d.info.Name, l.MaxStorageBuffers)
	case o.PushConstantSize < 0 || o.PushConstantSize%4 != 0 || o.PushConstantSize > int(l.MaxPushConstants):
		return nil, badCall(op, "%d bytes of push constants: want a multiple of 4, at most %d", o.PushConstantSize,
			l.MaxPushConstants)
	case o.SubgroupSize != 0 && !d.features.Has(SubgroupSize):
		return nil, &Error{Cause: UnsupportedFeature, Op: op, Detail: SubgroupSize.String()}
	case o.FullSubgroups && !d.features.Has(FullSubgroups):
		return nil, &Error{Cause: UnsupportedFeature, Op: op, Detail: FullSubgroups.String()}
	case o.SubgroupSize != 0 && (o.SubgroupSize < l.MinSubgroupSize || o.SubgroupSize > l.MaxSubgroupSize ||
		o.SubgroupSize&(o.SubgroupSize-1) != 0):
		return nil, badCall(op, "subgroups of %d: want a power of two from %d to %d", o.SubgroupSize, l.MinSubgroupSize,
			l.MaxSubgroupSize)
	}
	code, err := spirvWords(spirv)
	if err != nil {
		return nil, &Error{Cause: BadCall, Op: op, Detail: err.Error()}
	}
	if missing := spirvFeatures(code) &^ d.features; missing != 0 {
		return nil, &Error{Cause: UnsupportedFeature, Op: op, Detail: fmt.Sprintf("%v, which the shader uses, on %s",
			missing, d.info.Name)}
	}
	return code, nil
}

// Options returns what the pipeline was made with.
func (p *Pipeline) Options() PipelineOptions { return p.options }

// Statistics returns what the driver says of the compiled code, by its names for it: registers, instructions and
// such, integers all. The device needs the feature Statistics.
func (p *Pipeline) Statistics() (map[string]uint64, error) {
	const op = "read statistics of a pipeline"
	if !p.d.features.Has(Statistics) {
		return nil, &Error{Cause: UnsupportedFeature, Op: op, Detail: Statistics.String()}
	}
	if err := p.d.enter(op); err != nil {
		return nil, err
	}
	defer p.d.leave()
	if p.closed.Load() {
		return nil, &Error{Cause: Closed, Op: op, Detail: "the pipeline"}
	}
	var n C.uint32_t
	if err := p.d.check(op, C.vkc_pipeline_statistics(p.d.c, p.c, &n, nil), ""); err != nil {
		return nil, err
	}
	list := make([]C.VkPipelineExecutableStatisticKHR, max(n, 1))
	if err := p.d.check(op, C.vkc_pipeline_statistics(p.d.c, p.c, &n, &list[0]), ""); err != nil {
		return nil, err
	}
	out := map[string]uint64{}
	for _, s := range list[:n] {
		if s.format == C.VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR {
			out[C.GoString(&s.name[0])] = *(*uint64)(unsafe.Pointer(&s.value))
		}
	}
	return out, nil
}

// Close frees the pipeline, once no recording uses it.
func (p *Pipeline) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	p.d.life.RLock()
	defer p.d.life.RUnlock()
	p.owner.release()
	return nil
}
