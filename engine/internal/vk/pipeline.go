//go:build cgo && !(386 || arm || mips || mipsle)

package vk

/*
#include <stdlib.h>
#include "vkc.h"
*/
import "C"

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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

// A cache file is a magic string, the identity of device and driver, a SHA-256 of all but
// itself, and the driver's bytes. The sum is ours because drivers trust their bytes beyond
// Vulkan's own header: a damaged file can crash them.
const cacheMagic = "clearance pipeline cache 1\n"

// cacheIdentity changes whenever the driver would have no use for the bytes.
func cacheIdentity(d *DeviceInfo) []byte {
	b := make([]byte, 0, 44)
	for _, v := range []uint32{d.VendorID, d.DeviceID, d.DriverVersion} {
		b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	b = append(b, d.CacheUUID[:]...)
	return append(b, d.UUID[:]...)
}

func encodeCache(d *DeviceInfo, data []byte) []byte {
	out := append([]byte(cacheMagic), cacheIdentity(d)...)
	h := sha256.New()
	h.Write(out)
	h.Write(data)
	out = h.Sum(out)
	return append(out, data...)
}

// decodeCache returns the driver's bytes, nil unless the file is whole and of this device.
func decodeCache(file []byte, d *DeviceInfo) []byte {
	head := append([]byte(cacheMagic), cacheIdentity(d)...)
	rest, ok := bytes.CutPrefix(file, head)
	if !ok || len(rest) < sha256.Size {
		return nil
	}
	sum, data := rest[:sha256.Size], rest[sha256.Size:]
	h := sha256.New()
	h.Write(head)
	h.Write(data)
	if !bytes.Equal(h.Sum(nil), sum) {
		return nil
	}
	return data
}

// writeCacheFile replaces the file in one step, unless it holds the same already.
func writeCacheFile(path string, d *DeviceInfo, data []byte) error {
	file := encodeCache(d, data)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, file) {
		return nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(file)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

const (
	spirvMagic      = 0x07230203
	spirvHeader     = 5 // words
	opCapability    = 17
	opMemoryModel   = 14 // ends the capabilities and extensions of a module (SPIR-V 2.4, logical layout)
	spirvMinVersion = 0x00010000
)

// spirvWords returns the module as words of this machine.
func spirvWords(b []byte) ([]uint32, error) {
	if len(b) < 4*spirvHeader || len(b)%4 != 0 {
		return nil, fmt.Errorf("%d bytes are no SPIR-V module", len(b))
	}
	var order binary.ByteOrder = binary.LittleEndian
	if order.Uint32(b) != spirvMagic {
		order = binary.BigEndian
	}
	if order.Uint32(b) != spirvMagic {
		return nil, errors.New("not SPIR-V: the magic number is missing")
	}
	words := make([]uint32, len(b)/4)
	for i := range words {
		words[i] = order.Uint32(b[4*i:])
	}
	if words[1] < spirvMinVersion {
		return nil, fmt.Errorf("SPIR-V version %#x is not known", words[1])
	}
	return words, nil
}

// capabilityFeatures maps SPIR-V capabilities to the features that allow them.
var capabilityFeatures = map[uint32]Feature{
	9:    Float16,
	10:   Float64,
	11:   Int64,
	12:   Int64Atomics,
	22:   Int16,
	39:   Int8,
	4433: Storage16, // StorageBuffer16BitAccess
	4448: Storage8,  // StorageBuffer8BitAccess
	5345: MemoryModel,
	5347: BufferAddress, // PhysicalStorageBufferAddresses
}

// spirvFeatures returns the features that the module's capabilities need.
func spirvFeatures(code []uint32) Feature {
	var need Feature
	for i := spirvHeader; i < len(code); {
		n, op := int(code[i]>>16), code[i]&0xffff
		if n == 0 || i+n > len(code) || op == opMemoryModel {
			break
		}
		if op == opCapability && n == 2 {
			need |= capabilityFeatures[code[i+1]]
		}
		i += n
	}
	return need
}
