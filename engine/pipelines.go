package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// maxBindings returns the largest number of buffers of one pass.
var maxBindings = sync.OnceValue(func() (most uint32) {
	for i := range passes {
		most = max(most, uint32(len(passes[i].shader().Buffers)))
	}
	return most
})

// maxConstants is how many specialisation constants a shader may have, besides the size of a work group.
const maxConstants = 6

// pipelines holds the compiled shaders. Each is compiled when it is first needed, for the values of its specialisation
// constants.
type pipelines struct {
	device      *vk.Device
	arithmetic  arithmetic
	invocations int  // see scratch
	phased      bool // rows that need more than a few steps continue in a pass of their own, where the method permits

	mu       sync.Mutex
	fresh    bool // compiled since the cache was saved
	compiled map[compilation]*vk.Pipeline
	chains   map[question]*chain
}

// compilation is the key of a compiled pipeline.
type compilation struct {
	pass      int
	constants [maxConstants]uint32 // in the order of the shader
}

// chain is the passes that rows take, in order.
type chain struct{ steps []step }

// step is a pass of a chain.
type step struct {
	pass     int
	pipeline *vk.Pipeline
	buffers  []shaders.Buffer // by binding
}

func (p *pipelines) init(d *vk.Device, invocations int) {
	p.device, p.invocations = d, invocations
	p.compiled, p.chains = map[compilation]*vk.Pipeline{}, map[question]*chain{}
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

// ask returns the question that a query puts to a library, by a method of the shaders.
func (p *pipelines) ask(o *batch.Options, m batch.Method, have kinds, boxes bool) question {
	info := o.Query.Info()
	growth := o.Query == batch.Growth
	twoFloats := p.arithmetic.twoFloats && o.Precision == batch.Single && !growth
	// The state of methods with momentum is larger than a SearchStateRecord.
	phases := p.phased && m != batch.Nesterov && m != batch.Polyak
	q := question{method: m, have: have, boolean: o.Query == batch.Collide, fused: p.arithmetic.fused,
		fine: o.SolverTolerance(1) < fineTolerance, invocations: p.invocations}
	q.let(growthDistance, signedDistance, growth)
	q.let(provedInTwoFloats, provedInDouble, twoFloats)
	q.let(inPhases, inOnePhase, phases)
	q.let(hasDouble, 0, p.arithmetic.float64)
	q.let(forDepth, 0, info.Depth)
	q.let(withBoxes, 0, boxes)
	q.let(withHulls, 0, have.polytopes())
	q.let(byDirection, 0, m == batch.RTR || m == batch.Auto)
	return q
}

// forQuery returns the passes for a query on a library, nil if the device cannot answer it. It compiles what is
// missing.
func (p *pipelines) forQuery(o *batch.Options, lib *library) (*chain, error) {
	q := p.ask(o, methodFor(o, lib), lib.have, lib.boxes)
	if q.holds&(hasDouble|provedInTwoFloats) == 0 {
		return nil, nil
	}
	return p.chain(q)
}

// forReduction returns the pass that reduces answers.
func (p *pipelines) forReduction() (*chain, error) { return p.chain(question{holds: reduced}) }

// forDerivatives returns the pass that differentiates answers of pairs of these kinds.
func (p *pipelines) forDerivatives(have kinds, m batch.DerivativeMode) (*chain, error) {
	return p.chain(question{holds: differentiated, have: have, gumbel: m == batch.GumbelDerivative})
}

// forProducts is forDerivatives for products.
func (p *pipelines) forProducts(have kinds, m batch.DerivativeMode, k batch.ProductKind) (*chain, error) {
	return p.chain(question{holds: differentiated, have: have, gumbel: m == batch.GumbelDerivative, product: k})
}

// forLeast returns the pass that selects the rows whose products are summed.
func (p *pipelines) forLeast() (*chain, error) { return p.chain(question{holds: selected}) }

// forBodies returns the pass that adds up products by body.
func (p *pipelines) forBodies() (*chain, error) { return p.chain(question{holds: summed}) }

// chain returns the passes for a question.
func (p *pipelines) chain(q question) (*chain, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.chains[q]; ok {
		return c, nil
	}
	c := new(chain)
	for i := range passes {
		if !q.takes(&passes[i]) {
			continue
		}
		s, err := p.compile(i, &q)
		if err != nil {
			return nil, err
		}
		c.steps = append(c.steps, s)
	}
	p.chains[q] = c
	return c, nil
}

// anyKinds is the value of KINDS in the sources.
const anyKinds = kinds(1<<32 - 1)

// compile returns a pass compiled for a question.
func (p *pipelines) compile(pass int, q *question) (step, error) {
	row := &passes[pass]
	shader := row.shader()
	key := compilation{pass: pass}
	spec := map[uint32]uint32{0: groupSize}
	for i, c := range shader.Constants {
		key.constants[i] = q.constant(row, c.Name)
		if c.Name != "KINDS" || kinds(key.constants[i]) != anyKinds {
			spec[c.ID] = key.constants[i]
		}
	}
	s := step{pass: pass, pipeline: p.compiled[key], buffers: shader.Buffers}
	if s.pipeline != nil {
		return s, nil
	}
	pushed := unsafe.Sizeof(layout.QueryRecord{})
	switch row.rows {
	case groupRows:
		pushed = unsafe.Sizeof(layout.LeastRecord{})
	case bodyRows:
		pushed = unsafe.Sizeof(layout.BodyRecord{})
	case derivedRows:
		pushed = unsafe.Sizeof(layout.DerivativeRecord{})
	case portions:
		pushed = unsafe.Sizeof(layout.ReductionRecord{})
	}
	var err error
	s.pipeline, err = p.device.NewPipeline(shader.Code, vk.PipelineOptions{
		Name: row.name, Bindings: len(shader.Buffers), PushConstantSize: int(pushed), Spec: spec,
	})
	if err != nil {
		return s, err
	}
	p.fresh = true
	p.compiled[key] = s.pipeline
	return s, nil
}

// warm compiles the pipelines of all queries, precisions and tolerances for a method.
func (p *pipelines) warm(m batch.Method, have kinds) error {
	if p.arithmetic.float64 {
		if _, err := p.forReduction(); err != nil {
			return err
		}
	}
	lib := &library{have: have, ellipsoids: true, boxes: have&(1<<geom.KindBox) != 0}
	for _, row := range serves {
		if !slices.Contains(row.Methods, m) {
			continue
		}
		for _, precision := range row.Precisions {
			for _, tolerance := range []float64{1, fineTolerance / 8} {
				o := batch.Options{Query: row.Query, Method: m, Precision: precision, Tolerance: tolerance}
				if _, err := p.forQuery(&o, lib); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// warmDerivatives compiles the pipelines of the derivatives of a mode.
func (p *pipelines) warmDerivatives(m batch.DerivativeMode, have kinds) error {
	if !p.arithmetic.float64 || !derivedModes[m] {
		return nil
	}
	for _, k := range []batch.ProductKind{batch.NoProduct, batch.VJP, batch.ValueVJP, batch.JVP} {
		if _, err := p.forProducts(have, m, k); err != nil {
			return err
		}
	}
	if _, err := p.forLeast(); err != nil {
		return err
	}
	_, err := p.forBodies()
	return err
}

// Warm compiles the shaders of all queries and methods for libraries with the same kinds of shapes as these, so that no
// later call waits for the compiler, and saves them, see [Options.CacheDir]. Those of derivatives are left to
// [Backend.WarmDerivatives].
func (b *Backend) Warm(ctx context.Context, libraries ...*batch.Library) error {
	return warmAll(ctx, b, libraries, methods, b.pipelines.warm)
}

// WarmDerivatives is Warm for the shaders of derivatives of some modes: the columns, and the products. Modes that the
// host takes have none.
func (b *Backend) WarmDerivatives(ctx context.Context, modes []batch.DerivativeMode,
	libraries ...*batch.Library) error {
	return warmAll(ctx, b, libraries, modes, b.pipelines.warmDerivatives)
}

// warmAll compiles pipelines for each library and each of some settings, and saves them.
func warmAll[T any](ctx context.Context, b *Backend, libraries []*batch.Library, settings []T,
	warm func(T, kinds) error) error {
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
		for _, s := range settings {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := warm(s, have); err != nil {
				return b.failed(err)
			}
		}
	}
	return b.save()
}

// cacheFile returns the file in which the compiled shaders of a device are kept, one for each device, driver and
// version of the shaders; "" means none. Package vk checks its contents when it reads it.
func cacheFile(o *Options, d *vk.DeviceInfo) string {
	dir := cacheDir(o)
	if o.NoCache || dir == "" {
		return ""
	}
	h := sha256.New()
	for _, s := range shaders.All() {
		fmt.Fprintf(h, "%d\n", len(s.Code))
		h.Write(s.Code)
	}
	return filepath.Join(dir, fmt.Sprintf("pipelines-%x-%x-%.8x", d.UUID, d.DriverVersion, h.Sum(nil)))
}

// cacheDir returns the cache folder, "" for a process without a home.
func cacheDir(o *Options) string {
	if o.CacheDir != "" {
		return o.CacheDir
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(user, "clearance")
}

// save writes the cache file if there are new compiled shaders.
func (b *Backend) save() error {
	b.pipelines.mu.Lock()
	defer b.pipelines.mu.Unlock()
	if !b.pipelines.fresh {
		return nil
	}
	if err := b.device.SaveCache(); err != nil {
		return fmt.Errorf("engine: %w; set CacheDir to a folder that can be written, or NoCache", err)
	}
	b.pipelines.fresh = false
	return nil
}

// Compiled is a pipeline as a driver's compiler left it.
type Compiled struct {
	Stage      string            // the name of its pass: of its source, and after a hyphen of the variant
	Constants  map[uint32]uint32 // specialisation constants by id
	Statistics map[string]uint64 // by the driver's names: registers, spills, instructions and such
}

// Compiler compiles the pipelines of queries and reads what the driver says of their code. It runs nothing: a driver
// that compiles for a GPU which is not there is sufficient.
type Compiler struct {
	instance  *vk.Instance
	device    *vk.Device
	info      vk.DeviceInfo
	pipelines pipelines
}

// OpenCompiler opens the device that o.Device selects. The driver needs VK_KHR_pipeline_executable_properties.
func OpenCompiler(o Options) (*Compiler, error) {
	o.ensureDefaults()
	instance, err := vk.Open(vk.Options{})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	c := &Compiler{instance: instance}
	devices := instance.Devices()
	i, err := choose(devices, o.Device, func(*vk.DeviceInfo) string { return "" })
	if err == nil {
		c.device, err = instance.OpenDevice(i, vk.DeviceOptions{Require: vk.Float64 | vk.Statistics})
	}
	if err != nil {
		instance.Close()
		return nil, fmt.Errorf("engine: %w", err)
	}
	c.info = devices[i]
	c.pipelines.init(c.device, defaultInvocations)
	c.pipelines.arithmetic = arithmetic{float64: true, twoFloats: o.proofFor(&c.info) == ProofTwoFloats, fused: true}
	c.pipelines.phased = o.phases || c.info.Type != vk.CPU
	return c, nil
}

// Device describes the device.
func (c *Compiler) Device() batch.Device { return describe(&c.info) }

// Compile returns the pipelines that answer a query on a library, in the order in which rows pass them.
func (c *Compiler) Compile(l *batch.Library, o *batch.Options) ([]Compiled, error) {
	if err := check(o, nil); err != nil {
		return nil, err
	}
	packed, err := layout.Pack(l)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	chain, err := c.pipelines.forQuery(o, describeLibrary(packed, kindsOf(packed)))
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	var out []Compiled
	for _, s := range chain.steps {
		statistics, err := s.pipeline.Statistics()
		if err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
		out = append(out, Compiled{passes[s.pass].name, s.pipeline.Options().Spec, statistics})
	}
	return out, nil
}

// Close frees everything.
func (c *Compiler) Close() error { return c.instance.Close() }

// Serves returns the table of the queries, methods and precisions that have pipelines.
func (c *Compiler) Serves() batch.Serves { return serves }

// Chunk is the memory of a chunk before its first pass, by the names of the buffers in the shaders.
type Chunk struct {
	Buffers map[string][]byte
	Query   []byte // the push constants

	place placement
}

// ChunkOf returns the memory for the rows of a pair list, without scratch memory of polytopes.
func ChunkOf(l *batch.Library, pairs *batch.Pairs, o *batch.Options) (*Chunk, error) {
	single, err := layout.Pack(l)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	double := layout.Pack64(l, single)
	n := pairs.Len()
	poses, templates := make([]layout.PoseRecord, 2*n), make([]layout.TemplateRecord, n)
	p := packer{shapes: l}
	var r batch.Row
	for i := range n {
		pairs.Row(i, &r)
		putPose(&poses[2*i], r.PoseA)
		putPose(&poses[2*i+1], r.PoseB)
		templates[i] = p.record(uint32(2*i), uint32(2*i+1), r.ShapeA, r.ShapeB)
	}
	q := queryOf(o)
	place := placementOf(&batch.Results{Precision: o.Precision, Columns: o.EffectiveColumns()}, n)
	place.putIn(&q)
	(&inputs{period: n}).putIn(&q)
	columns := make([]byte, place.bytes)
	for i := range columns {
		columns[i] = 0xff // no status, see writePacked in store.glsl
	}
	q.DepthRows = uint32(max(n, 1))
	c := &Chunk{Query: bytesOf([]layout.QueryRecord{q}), place: place}
	c.Buffers = map[string][]byte{
		"Shapes": bytesOf(single.Shapes), "Vertices": bytesOf(single.Vertices), "Shapes64": bytesOf(double.Shapes),
		"Vertices64": bytesOf(double.Vertices), "Cells": bytesOf(single.Cells), "Poses": bytesOf(poses),
		"Templates": bytesOf(templates), "Order": nil, "Warm": nil, "Columns": columns,
		"Counts": make([]byte, countBytes), "Continued": make([]byte, uint64(n)*slotBytes),
		"Stationary": make([]byte, 2*uint64(n)*slotBytes), "Unproved": make([]byte, uint64(n)*slotBytes),
		"Indices": make([]byte, uint64(n)*indexBytes), "States": make([]byte, uint64(n)*stateBytes),
		"Pairs": make([]byte, uint64(n)*pairBytes), "Searches": make([]byte, uint64(n)*searchBytes),
		"Remainders": make([]byte, uint64(n)*restBytes),
		"Depths":     make([]byte, uint64(n)*depthBytes),
	}
	return c, nil
}

// Listed returns the number of rows in the list that a pass takes; ok is false for a pass that takes all rows.
func (c *Chunk) Listed(name string) (n int, ok bool) {
	for i := range passes {
		if list, ok := passes[i].rows.list(); ok && passes[i].name == name {
			return int(recordsIn[uint32](c.Buffers["Counts"])[layout.ListWords*list+layout.ListRows]), true
		}
	}
	return 0, false
}

// Translation returns the relative position of a row after its first pass: the origin of B in the frame of A.
func (c *Chunk) Translation(row int) (t [3]float64) {
	p := &recordsIn[layout.PairRecord](c.Buffers["Pairs"])[row]
	for k := range t {
		t[k] = float64(p.Translation[k]) + float64(p.TranslationLow[k])
	}
	return t
}

// Distance returns the distance of a row in the columns.
func (c *Chunk) Distance(row int) float64 {
	word, _ := c.place.at(batch.ColDistance)
	at := c.Buffers["Columns"][4*word:]
	if c.place.double {
		return recordsIn[float64](at)[row]
	}
	return float64(recordsIn[float32](at)[row])
}
