package engine

import (
	"context"
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

// methods are those that have a pipeline.
var methods = []batch.Method{batch.GJK, batch.Nesterov, batch.Polyak}

// pipelines holds the compiled shaders. They are compiled when they are needed first.
type pipelines struct {
	device *vk.Device

	mu      sync.Mutex
	fresh   bool // compiled since the cache was saved
	place   *vk.Pipeline
	certify *vk.Pipeline
	gjk     [batch.MethodCount]*vk.Pipeline
}

// chain is the pipelines of one query in the order in which they run.
type chain struct{ place, gjk, certify *vk.Pipeline }

// of returns the pipelines for a method.
func (p *pipelines) of(m batch.Method) (chain, error) {
	if m == batch.Auto {
		m = batch.GJK
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := chain{p.place, p.gjk[m], p.certify}
	if c.place != nil && c.gjk != nil && c.certify != nil {
		return c, nil
	}
	if err := p.compile(m); err != nil {
		return chain{}, err
	}
	return chain{p.place, p.gjk[m], p.certify}, nil
}

// compile compiles what is missing for a method.
func (p *pipelines) compile(m batch.Method) error {
	for _, s := range []struct {
		to       **vk.Pipeline
		name     string
		code     []byte
		bindings int
		spec     map[uint32]uint32
	}{
		{&p.place, "place", shaders.Place, 8, map[uint32]uint32{0: groupSize}},
		{&p.gjk[m], "gjk", shaders.GJK, 5, map[uint32]uint32{0: groupSize, 1: uint32(m)}},
		{&p.certify, "certify", shaders.Certify, 7, map[uint32]uint32{0: groupSize}},
	} {
		if *s.to != nil {
			continue
		}
		pipeline, err := p.device.NewPipeline(s.code, vk.PipelineOptions{
			Name: s.name, Bindings: s.bindings, PushConstantSize: int(unsafe.Sizeof(batch.QueryRecord{})), Spec: s.spec,
		})
		if err != nil {
			return err
		}
		*s.to = pipeline
		p.fresh = true
	}
	return nil
}

// Warm compiles the shaders of all methods, so that no later call waits for that, and
// saves them, see [Options.CacheDir].
func (b *Backend) Warm(ctx context.Context) error {
	if err := b.enter(); err != nil {
		return err
	}
	defer b.leave()
	for _, m := range methods {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := b.pipelines.of(m); err != nil {
			return b.failed(err)
		}
	}
	return b.save()
}
