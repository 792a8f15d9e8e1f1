package engine

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"unsafe"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/geom"
	"clearance/internal/layout"
	"clearance/shaders"
)

// groupSize is the number of invocations of a work group.
const groupSize = layout.GroupSize

// maxBindings is the largest number of buffers of one shader.
const maxBindings = 13

// pipelines holds the compiled shaders. Each is compiled when it is first needed, for the kinds of shapes in a library.
type pipelines struct {
	device *vk.Device

	mu      sync.Mutex
	fresh   bool            // compiled since the cache was saved
	input   [2]*vk.Pipeline // of growth distances in place 1
	prove   map[listedProof]*vk.Pipeline
	certify map[proof]*vk.Pipeline

	arithmetic     arithmetic
	inputTwoFloats *vk.Pipeline
	proveTwoFloats map[proof]*vk.Pipeline // by kinds and whether the query is Boolean
	boxAxes        *vk.Pipeline

	epaFloat32  map[kinds]*vk.Pipeline
	certificate map[search]*vk.Pipeline
	depth       map[kinds]*vk.Pipeline
	invocations int // see scratch
	trustRegion map[search]*vk.Pipeline
	gjk         map[search]*vk.Pipeline
	gjkRest     map[search]*vk.Pipeline
	phased      bool // what a few steps do not end continues in a pass of its own, where the method permits

	growth, growthProve, growthCertify map[kinds]*vk.Pipeline

	reduce *vk.Pipeline
}

// search is what pipelines of gjk.comp, trust_region.comp and depth_certificate.comp are compiled for.
type search struct {
	method batch.Method
	have   kinds
}

// proof is what pipelines of prove.comp and certify.comp are compiled for, so that each lacks what its queries cannot
// reach.
type proof struct {
	have    kinds
	boolean bool // the query is for a status alone
	fine    bool // the tolerance is below fineTolerance
}

// listedProof is what pipelines of prove.comp are compiled for.
type listedProof struct {
	proof
	list bool // they take the rows that two floats do not prove
}

// constants returns the specialisation constants for these kinds.
func (p proof) constants(have kinds) map[uint32]uint32 {
	return map[uint32]uint32{2: uint32(have), 5: constant(p.boolean), 6: constant(p.fine)}
}

// fineTolerance is the tolerance relative to the size of a pair below which search directions have to be exact to their
// last digits, see searchDirection in gjk_float64.glsl.
const fineTolerance = 1e-7

func proofFor(o *batch.Options, have kinds) proof {
	return proof{have, o.Query == batch.Collide, o.SolverTolerance(1) < fineTolerance}
}

func (p *pipelines) init(d *vk.Device, invocations int) {
	p.device, p.invocations = d, invocations
	p.prove = map[listedProof]*vk.Pipeline{}
	p.proveTwoFloats = map[proof]*vk.Pipeline{}
	p.certify, p.epaFloat32, p.depth = map[proof]*vk.Pipeline{}, map[kinds]*vk.Pipeline{}, map[kinds]*vk.Pipeline{}
	p.certificate = map[search]*vk.Pipeline{}
	p.gjk, p.gjkRest, p.trustRegion = map[search]*vk.Pipeline{}, map[search]*vk.Pipeline{}, map[search]*vk.Pipeline{}
	p.growth, p.growthProve = map[kinds]*vk.Pipeline{}, map[kinds]*vk.Pipeline{}
	p.growthCertify = map[kinds]*vk.Pipeline{}
}

// chain holds the pipelines of one query, see the stages in package shaders. Where the device has no double precision,
// those from prove to depth are nil, and so are all where it cannot answer the query.
type chain struct {
	input, gjk     *vk.Pipeline
	gjkRest        *vk.Pipeline // the second phase of gjk, nil where there is one
	prove          *vk.Pipeline
	boxAxes        *vk.Pipeline // nil where there is no box
	trustRegion    *vk.Pipeline // nil where the method applies to no pair
	certify, depth *vk.Pipeline
	epaFloat32     *vk.Pipeline // nil where it applies to no pair
	certificate    *vk.Pipeline // of local minima, nil without trustRegion
	proveTwoFloats *vk.Pipeline // nil where double precision proves all rows; else input takes two floats as well

	// Of growth distances, which take input and these alone; nil for other queries.
	growth, growthProve, growthCertify *vk.Pipeline
}

// methodFor returns the method of the shaders for a query. Boolean queries do not use the trust region method. auto
// uses it for pairs with an ellipsoid only, see trust_region.glsl: without an ellipsoid in the library auto is gjk, so
// that other libraries pay nothing for it.
func methodFor(o *batch.Options, lib *library) batch.Method {
	switch {
	case o.Query.Info().Boolean() && (o.Method == batch.Auto || o.Method == batch.RTR), o.Method == batch.Auto &&
		!lib.ellipsoids:
		return batch.GJK
	}
	return o.Method
}

// forQuery returns the pipelines for a query on a library. It compiles those that are missing.
func (p *pipelines) forQuery(o *batch.Options, lib *library) (c chain, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	method, proved, growth := methodFor(o, lib), proofFor(o, lib.have), o.Query.Info().Growth()
	switch {
	case p.arithmetic.twoFloats && o.Precision == batch.Single && !growth:
		c, err = p.ofTwoFloats(method, proved)
	case !p.arithmetic.float64:
		return chain{}, nil
	case growth:
		return p.forGrowth(lib.have)
	default:
		c, err = p.of(method, proved, false)
	}
	if err == nil && lib.boxes && c.prove != nil {
		c.boxAxes, err = p.ofBoxAxes()
	}
	if err != nil {
		return chain{}, err
	}
	return c, nil
}

// forGrowth returns the pipelines for growth distances.
func (p *pipelines) forGrowth(have kinds) (c chain, err error) {
	if c.input, err = p.inputFor(true); err != nil {
		return chain{}, err
	}
	if c.growth = p.growth[have]; c.growth == nil {
		if c.growth, err = p.compile("growth", shaders.Growth, 5, map[uint32]uint32{2: uint32(have)}); err != nil {
			return chain{}, err
		}
		p.growth[have] = c.growth
	}
	some := have.withoutPowers()
	if c.growthProve = p.growthProve[some]; c.growthProve == nil && p.phased {
		spec := map[uint32]uint32{2: uint32(some)}
		if c.growthProve, err = p.compile("growth_prove", shaders.GrowthProve, 9, spec); err != nil {
			return chain{}, err
		}
		p.growthProve[some] = c.growthProve
	}
	if c.growthCertify = p.growthCertify[have]; c.growthCertify == nil {
		spec := map[uint32]uint32{2: uint32(have), 9: constant(p.phased)}
		if c.growthCertify, err = p.compile("growth_certify", shaders.GrowthCertify, 9, spec); err != nil {
			return chain{}, err
		}
		p.growthCertify[have] = c.growthCertify
	}
	return c, nil
}

// inputFor returns the first stage of growth distances, or of all other queries.
func (p *pipelines) inputFor(growth bool) (input *vk.Pipeline, err error) {
	place := 0
	if growth {
		place = 1
	}
	if input = p.input[place]; input == nil {
		input, err = p.compile("input", shaders.Input, 8, map[uint32]uint32{1: uint32(place)})
		p.input[place] = input
	}
	return input, err
}

// searchFor returns the search in single precision, and its second phase, nil where there is one.
func (p *pipelines) searchFor(key search) (gjk, rest *vk.Pipeline, err error) {
	spec := map[uint32]uint32{1: uint32(key.method), 2: uint32(key.have), 9: constant(p.phases(key.method))}
	if gjk = p.gjk[key]; gjk == nil {
		if gjk, err = p.compile("gjk", shaders.GJK, 7, spec); err != nil {
			return nil, nil, err
		}
		p.gjk[key] = gjk
	}
	if rest = p.gjkRest[key]; rest == nil && p.phases(key.method) {
		spec[9] = 2
		if rest, err = p.compile("gjk-rest", shaders.GJK, 7, spec); err != nil {
			return nil, nil, err
		}
		p.gjkRest[key] = rest
	}
	return gjk, rest, nil
}

// phases reports whether the search in single precision takes two phases. The state of methods with momentum is larger
// than a SearchStateRecord.
func (p *pipelines) phases(m batch.Method) bool {
	return p.phased && m != batch.Nesterov && m != batch.Polyak
}

// of returns the pipelines for a method, and the query and the kinds of shapes of a proof. With list, a stage before
// prove.comp lists the rows that it is to take.
func (p *pipelines) of(m batch.Method, proved proof, list bool) (c chain, err error) {
	have := proved.have
	input, err := p.inputFor(false)
	if err != nil {
		return chain{}, err
	}
	key := search{m, have}
	c = chain{input: input, prove: p.prove[listedProof{proved, list}], trustRegion: p.trustRegion[key],
		certify: p.certify[proved], epaFloat32: p.epaFloat32[have], certificate: p.certificate[key],
		depth: p.depth[have]}
	if c.gjk, c.gjkRest, err = p.searchFor(key); err != nil {
		return chain{}, err
	}
	if c.trustRegion == nil && (m == batch.RTR || m == batch.Auto) {
		if c.trustRegion, err = p.compile("trust_region", shaders.TrustRegion, 11,
			map[uint32]uint32{1: uint32(m), 2: uint32(have)}); err != nil {
			return chain{}, err
		}
		p.trustRegion[key] = c.trustRegion
	}
	if c.prove == nil {
		spec := proved.constants(have.withoutPowers())
		name := "prove"
		if spec[10] = constant(list); list {
			name = "prove-rest"
		}
		if c.prove, err = p.compile(name, shaders.Prove, 11, spec); err != nil {
			return chain{}, err
		}
		p.prove[listedProof{proved, list}] = c.prove
	}
	if c.certify == nil {
		spec := proved.constants(have)
		if c.certify, err = p.compile("certify", shaders.Certify, 10, spec); err != nil {
			return chain{}, err
		}
		p.certify[proved] = c.certify
	}
	if c.epaFloat32 == nil && have.polytopes() {
		spec := map[uint32]uint32{2: uint32(have), 3: uint32(float32Invocations(p.invocations)), 4: float32Vertices}
		if c.epaFloat32, err = p.compile("epa_float32", shaders.EPAFloat32, 9, spec); err != nil {
			return chain{}, err
		}
		p.epaFloat32[have] = c.epaFloat32
	}
	spec := map[uint32]uint32{2: uint32(have), 3: uint32(p.invocations), 4: float64Vertices}
	if c.depth == nil {
		if c.depth, err = p.compile("depth", shaders.Depth, 11, spec); err != nil {
			return chain{}, err
		}
		p.depth[have] = c.depth
	}
	if c.certificate == nil && c.trustRegion != nil {
		spec[1] = uint32(m)
		if c.certificate, err = p.compile("depth_certificate", shaders.DepthCertificate, 11, spec); err != nil {
			return chain{}, err
		}
		p.certificate[key] = c.certificate
	}
	return c, nil
}

// ofBoxAxes returns the pipeline for pairs of boxes, which all libraries with boxes share.
func (p *pipelines) ofBoxAxes() (*vk.Pipeline, error) {
	if p.boxAxes == nil {
		var err error
		if p.boxAxes, err = p.compile("box_axes", shaders.BoxAxes, 10, nil); err != nil {
			return nil, err
		}
	}
	return p.boxAxes, nil
}

// ofTwoFloats returns the pipelines of `of`, with proofs in sums of two floats before those in double precision.
func (p *pipelines) ofTwoFloats(m batch.Method, proved proof) (c chain, err error) {
	if p.arithmetic.float64 {
		if c, err = p.of(m, proved, true); err != nil {
			return chain{}, err
		}
	} else if c.gjk, c.gjkRest, err = p.searchFor(search{m, proved.have}); err != nil {
		return chain{}, err
	}
	fused := constant(p.arithmetic.fused)
	if p.inputTwoFloats == nil {
		p.inputTwoFloats, err = p.compile("input_two_floats", shaders.InputTwoFloats, 9, map[uint32]uint32{7: fused})
		if err != nil {
			return chain{}, err
		}
	}
	proved.fine = false
	if p.proveTwoFloats[proved] == nil {
		spec := map[uint32]uint32{2: uint32(proved.have), 5: constant(proved.boolean), 7: fused,
			8: constant(!p.arithmetic.float64)}
		if p.proveTwoFloats[proved], err = p.compile("prove_two_floats", shaders.ProveTwoFloats, 13, spec); err != nil {
			return chain{}, err
		}
	}
	c.input, c.proveTwoFloats = p.inputTwoFloats, p.proveTwoFloats[proved]
	return c, nil
}

const reduceName = "reduce"

// forReduction returns the pipeline that reduces answers.
func (p *pipelines) forReduction() (*vk.Pipeline, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ofReduction()
}

func (p *pipelines) ofReduction() (*vk.Pipeline, error) {
	if p.reduce == nil {
		var err error
		if p.reduce, err = p.compile(reduceName, shaders.Reduce, 3, nil); err != nil {
			return nil, err
		}
	}
	return p.reduce, nil
}

// constant is the value of a specialisation constant that says yes or no.
func constant(v bool) uint32 {
	if v {
		return 1
	}
	return 0
}

// compile compiles a shader with values for its specialisation constants.
func (p *pipelines) compile(name string, code []byte, bindings int, spec map[uint32]uint32) (*vk.Pipeline, error) {
	all := map[uint32]uint32{0: groupSize}
	maps.Copy(all, spec)
	pushed := unsafe.Sizeof(layout.QueryRecord{})
	if name == reduceName {
		pushed = unsafe.Sizeof(layout.ReductionRecord{})
	}
	pipeline, err := p.device.NewPipeline(code, vk.PipelineOptions{
		Name: name, Bindings: bindings, PushConstantSize: int(pushed), Spec: all,
	})
	if err == nil {
		p.fresh = true
	}
	return pipeline, err
}

// warm compiles the pipelines of a method for every query and tolerance, and the others with the first one.
func (p *pipelines) warm(m batch.Method, have kinds) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, boolean := range []bool{false, true} {
		if p.arithmetic.twoFloats {
			if _, err := p.ofTwoFloats(m, proof{have, boolean, false}); err != nil {
				return err
			}
		}
	}
	if !p.arithmetic.float64 {
		return nil
	}
	if _, err := p.forGrowth(have); err != nil {
		return err
	}
	if _, err := p.ofReduction(); err != nil {
		return err
	}
	if have&(1<<geom.KindBox) != 0 {
		if _, err := p.ofBoxAxes(); err != nil {
			return err
		}
	}
	for _, boolean := range []bool{false, true} {
		for _, fine := range []bool{false, true} {
			if _, err := p.of(m, proof{have, boolean, fine}, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// Warm compiles the shaders of all queries and methods for libraries with the same kinds of shapes as these, so that no
// later call waits for the compiler, and saves them, see [Options.CacheDir].
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
		have := b.kindsFor(packed)
		for _, m := range methods {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := b.pipelines.warm(m, have); err != nil {
				return b.failed(err)
			}
		}
	}
	return b.save()
}
