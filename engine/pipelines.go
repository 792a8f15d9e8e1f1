package engine

import (
	"sync"
	"unsafe"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/shaders"
)

// groupSize is the number of invocations of a work group: two subgroups of most GPUs, one
// of the largest.
const groupSize = 64

// maxBindings is the largest number of buffers of one shader.
const maxBindings = 8

// pipelines holds the compiled shaders. They are compiled when they are needed first.
type pipelines struct {
	device *vk.Device

	mu      sync.Mutex
	place   *vk.Pipeline
	certify *vk.Pipeline
	gjk     [batch.MethodCount]*vk.Pipeline
}

// chain is the pipelines of one query in the order in which they run.
type chain struct{ place, gjk, certify *vk.Pipeline }

// of returns the pipelines for a method.
func (p *pipelines) of(m batch.Method) (c chain, err error) {
	if m == batch.Auto {
		m = batch.GJK
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.compile(&err, &p.place, "place", shaders.Place, 8, nil)
	p.compile(&err, &p.gjk[m], "gjk", shaders.GJK, 4, map[uint32]uint32{1: uint32(m)})
	p.compile(&err, &p.certify, "certify", shaders.Certify, 6, nil)
	return chain{p.place, p.gjk[m], p.certify}, err
}

func (p *pipelines) compile(err *error, to **vk.Pipeline, name string, code []byte, bindings int, spec map[uint32]uint32) {
	if *err != nil || *to != nil {
		return
	}
	constants := map[uint32]uint32{0: groupSize}
	for k, v := range spec {
		constants[k] = v
	}
	*to, *err = p.device.NewPipeline(code, vk.PipelineOptions{
		Name: name, Bindings: bindings, PushConstantSize: int(unsafe.Sizeof(batch.QueryRecord{})), Spec: constants,
	})
}
