package engine

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"unsafe"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
	"clearance/shaders"
)

// groupSize is the number of invocations of a work group: two subgroups of most GPUs, one
// of the largest.
const groupSize = 64

// maxBindings is the largest number of buffers of one shader.
const maxBindings = 11

// methods are those that have a pipeline.
var methods = []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak, batch.RTR}

// pipelines holds the compiled shaders. They are compiled when they are needed first,
// for the kinds of shapes of the library that needs them.
type pipelines struct {
	device *vk.Device

	mu      sync.Mutex
	fresh   bool // compiled since the cache was saved
	place   *vk.Pipeline
	certify map[kinds]*vk.Pipeline
	sketch  map[kinds]*vk.Pipeline
	depth   map[search]*vk.Pipeline
	lanes   int // see scratch
	rtr     map[search]*vk.Pipeline
	gjk     map[search]*vk.Pipeline
}

// search is what pipelines of gjk.comp, rtr.comp and depth.comp are made for.
type search struct {
	method batch.Method
	have   kinds
}

func (p *pipelines) init(d *vk.Device, lanes int) {
	p.device, p.lanes = d, lanes
	p.certify, p.sketch, p.depth = map[kinds]*vk.Pipeline{}, map[kinds]*vk.Pipeline{}, map[search]*vk.Pipeline{}
	p.gjk, p.rtr = map[search]*vk.Pipeline{}, map[search]*vk.Pipeline{}
}

// chain is the pipelines of one query in the order in which they run.
type chain struct {
	place, gjk     *vk.Pipeline
	rtr            *vk.Pipeline // nil where no pair is for the trust region method
	certify, depth *vk.Pipeline
	sketch         *vk.Pipeline // nil where no pair is for it
}

// methodFor is the method of the shaders for a question. The trust region method does not
// help to decide whether shapes meet, and auto takes it for pairs with an ellipsoid alone, see
// trust.glsl: without an ellipsoid in the library auto is gjk, so that nothing pays for it.
func methodFor(o *batch.Options, lib *library) batch.Method {
	switch {
	case o.Query == batch.Collide && (o.Method == batch.Auto || o.Method == batch.RTR), o.Method == batch.Auto && !lib.ellipsoids:
		return batch.GJK
	}
	return o.Method
}

// of returns the pipelines for a method and the kinds of a library.
func (p *pipelines) of(m batch.Method, have kinds) (c chain, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key, deep := search{m, have}, search{batch.GJK, have}
	if m == batch.RTR || m == batch.Auto {
		deep.method = m // the others find depths alike
	}
	c = chain{place: p.place, gjk: p.gjk[key], rtr: p.rtr[key], certify: p.certify[have], sketch: p.sketch[have], depth: p.depth[deep]}
	if c.place == nil {
		if c.place, err = p.compile("place", shaders.Place, 8, nil); err != nil {
			return chain{}, err
		}
		p.place = c.place
	}
	if c.gjk == nil {
		if c.gjk, err = p.compile("gjk", shaders.GJK, 5, map[uint32]uint32{1: uint32(m), 2: uint32(have)}); err != nil {
			return chain{}, err
		}
		p.gjk[key] = c.gjk
	}
	if c.rtr == nil && (m == batch.RTR || m == batch.Auto) {
		if c.rtr, err = p.compile("rtr", shaders.RTR, 9, map[uint32]uint32{1: uint32(m), 2: uint32(have)}); err != nil {
			return chain{}, err
		}
		p.rtr[key] = c.rtr
	}
	if c.certify == nil {
		if c.certify, err = p.compile("certify", shaders.Certify, 9, map[uint32]uint32{2: uint32(have)}); err != nil {
			return chain{}, err
		}
		p.certify[have] = c.certify
	}
	if c.sketch == nil && have.sketched() {
		spec := map[uint32]uint32{2: uint32(have), 3: uint32(sketchLanes(p.lanes)), 4: sketchVertices}
		if c.sketch, err = p.compile("sketch", shaders.Sketch, 9, spec); err != nil {
			return chain{}, err
		}
		p.sketch[have] = c.sketch
	}
	if c.depth == nil {
		spec := map[uint32]uint32{2: uint32(have), 3: uint32(p.lanes), 4: polytopeVertices}
		name, code := "depth", shaders.Depth
		if deep.method != batch.GJK {
			name, code, spec[1] = "surround", shaders.Surround, uint32(m)
		}
		if c.depth, err = p.compile(name, code, 11, spec); err != nil {
			return chain{}, err
		}
		p.depth[deep] = c.depth
	}
	return c, nil
}

// compile compiles a shader with values for its specialisation constants.
func (p *pipelines) compile(name string, code []byte, bindings int, spec map[uint32]uint32) (*vk.Pipeline, error) {
	all := map[uint32]uint32{0: groupSize}
	maps.Copy(all, spec)
	pipeline, err := p.device.NewPipeline(code, vk.PipelineOptions{
		Name: name, Bindings: bindings, PushConstantSize: int(unsafe.Sizeof(layout.QueryRecord{})), Spec: all,
	})
	if err == nil {
		p.fresh = true
	}
	return pipeline, err
}

// Warm compiles the shaders of all methods for libraries like these, so that no later
// call on one waits for that, and saves them, see [Options.CacheDir]. Libraries with
// shapes of the same kinds share their shaders.
func (b *Backend) Warm(ctx context.Context, libraries ...*batch.Library) error {
	if err := b.enter(); err != nil {
		return err
	}
	defer b.leave()
	for _, l := range libraries {
		packed, err := layout.Pack(l)
		if err != nil {
			return fmt.Errorf("engine: %w", err)
		}
		for _, m := range methods {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, err := b.pipelines.of(m, kindsOf(packed)); err != nil {
				return b.failed(err)
			}
		}
	}
	return b.save()
}
