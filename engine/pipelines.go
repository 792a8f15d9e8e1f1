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
