package engine

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
)

// Backend is the Vulkan back end on one device.
type Backend struct {
	options   Options
	instance  *vk.Instance
	device    *vk.Device
	info      vk.DeviceInfo
	direct    bool // the host reaches the device's own memory at full speed
	chunkRows int

	pipelines  pipelines
	scratch    scratch
	libraries  libraries
	workspaces chan *workspace // idle ones; a call takes one

	stats  counters
	broken atomic.Pointer[error] // why the device must not be used any more
	life   sync.RWMutex          // held for reading during every call and for writing by Close
	closed bool
}

// workspacesPerDevice is the number of calls that run at a time; each has two chunks under
// way, so the device is never idle.
const workspacesPerDevice = 2

// Open opens a device. The error says why there is none, or why not this one.
func Open(o Options) (*Backend, error) {
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	instance, err := vk.Open(vk.Options{Validation: o.Validation})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	b := &Backend{options: o, instance: instance}
	if err := b.open(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Backend) open() error {
	devices := b.instance.Devices()
	i, err := choose(devices, b.options.Device, b.options.unusable)
	if err != nil {
		return err
	}
	b.device,
		err = b.instance.OpenDevice(i, vk.DeviceOptions{Disable: b.options.disable,
		CacheFile: cacheFile(&b.options, &devices[i])})
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	b.info = devices[i]
	if err := b.options.checkProof(&b.info); err != nil {
		return err
	}
	b.configure()
	b.scratch.invocations = scratchInvocations(&b.info, b.chunkRows)
	b.pipelines.init(b.device, b.scratch.invocations)
	b.libraries.init(b)
	b.workspaces = make(chan *workspace, workspacesPerDevice)
	for range workspacesPerDevice {
		b.workspaces <- new(workspace)
	}
	return b.testArithmetic()
}

// configure sets what the options decide on a device, but for what pipelines are made with.
func (b *Backend) configure() {
	o := &b.options
	b.direct = b.info.Unified() && (b.info.Type == vk.Integrated || b.info.Type == vk.CPU) && !o.staged
	b.chunkRows = chunkRows(&b.info, o.ChunkRows)
	// Subgroups of a processor are small: little of their work is for rows that have ended, and phases gain nothing.
	b.pipelines.phased = o.phases || b.info.Type != vk.CPU
}

// testArithmetic runs the self-tests of what the pipelines are to compute with. A device that has double precision, and
// fails the test of two floats, proves in double precision.
func (b *Backend) testArithmetic() error {
	a := &b.pipelines.arithmetic
	a.float64 = b.options.features(&b.info).Has(vk.Float64)
	if a.float64 {
		if err := b.selfTest(); err != nil {
			return err
		}
	}
	if b.options.proofFor(&b.info) != ProofTwoFloats {
		return nil
	}
	fused, err := b.selfTestTwoFloats()
	if err != nil && (!a.float64 || b.options.Proof == ProofTwoFloats) {
		return err
	}
	a.twoFloats, a.fused = err == nil, fused
	return nil
}

// Proof returns the arithmetic that proves answers in single precision.
func (b *Backend) Proof() Proof {
	if b.pipelines.arithmetic.twoFloats {
		return ProofTwoFloats
	}
	return ProofFloat64
}

// chunkRows is the size of a chunk that the limits of a device allow.
func chunkRows(d *vk.DeviceInfo, want int) int {
	if want == 0 {
		want = defaultChunkRows
		if d.Type == vk.CPU {
			want = softwareChunkRows
		}
	}
	rows := uint64(want)
	rows = min(rows, d.Limits.MaxStorageBufferRange/maxRowBytes)
	rows = min(rows, uint64(d.Limits.MaxWorkGroupCount[0])*groupSize)
	for _, t := range d.Memory {
		// Four slots, and libraries, and others: a sixteenth of the heap for each.
		rows = min(rows, max(d.Heaps[t.Heap].Size, d.Limits.MaxAllocationSize)/16/rowBytes)
	}
	rows = min(rows, d.Limits.MaxAllocationSize/rowBytes)
	return int(max((rows+batch.BitsPerWord-1)/batch.BitsPerWord, 1)) * batch.BitsPerWord
}

// Name returns "vulkan".
func (b *Backend) Name() string { return backendName }

const backendName = "vulkan"

// Partial returns true: some rows are left to another back end.
func (b *Backend) Partial() bool { return true }

// CallsAtOnce returns how many calls a device is to be given at a time: while one waits for
// it, the host packs the next, and a large batch comes in several parts, so that rows
// which the device declines are finished while it goes on. A software device is given one:
// it is the processors that it computes on.
func (b *Backend) CallsAtOnce() int { return callsAtOnce(b.info.Type) }

func callsAtOnce(t vk.DeviceType) int {
	if t == vk.CPU {
		return 1
	}
	return workspacesPerDevice
}

// ChunkRows returns the number of rows that a call should have: enough chunks to keep
// two of them under way.
func (b *Backend) ChunkRows() int { return 8 * b.chunkRows }

// Device describes the device, and why it cannot be used any more if so.
func (b *Backend) Device() batch.Device {
	d := describe(&b.info)
	d.Proof = describeProof(b.Proof(), b.pipelines.arithmetic.float64)
	if err := b.broken.Load(); err != nil {
		d.Reason = (*err).Error()
	}
	return d
}

// Serves returns the table of what the shaders answer.
func (b *Backend) Serves() batch.Serves { return serves }

// Plan resolves options that have been checked. The error says what is not in the table.
func (b *Backend) Plan(o *batch.Options) (batch.Plan, error) { return planOf(o) }

// Messages returns what the validation layer has said since Open, nothing without
// [Options.Validation]. It works after Close as well.
func (b *Backend) Messages() []string { return b.instance.Messages() }

// ErrClosed is the error of calls after Close. It wraps [batch.ErrClosed].
var ErrClosed = fmt.Errorf("engine: %w", batch.ErrClosed)

// enter begins a call; leave ends it. The error is why there can be none.
func (b *Backend) enter() error {
	b.life.RLock()
	err := b.usable()
	if b.closed {
		err = ErrClosed
	}
	if err != nil {
		b.life.RUnlock()
	}
	return err
}

func (b *Backend) leave() { b.life.RUnlock() }

// Close waits for calls that are under way and frees everything. It may be called twice.
func (b *Backend) Close() error {
	b.life.Lock()
	defer b.life.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	var err error
	if b.device != nil {
		b.save() // a cache that cannot be written costs time only
		err = b.device.Close()
	}
	if e := b.instance.Close(); err == nil {
		err = e
	}
	return err
}

// Devices describes all Vulkan devices of this machine, in the order of their indices. probe is [Options.Probe].
func Devices(probe ...string) ([]batch.Device, error) {
	instance, err := vk.Open(vk.Options{})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	defer instance.Close()
	o := Options{Probe: probe}
	var out []batch.Device
	for _, d := range instance.Devices() {
		out = append(out, describe(&d))
		out[len(out)-1].Proof = describeProof(o.proofFor(&d), o.features(&d).Has(vk.Float64))
		out[len(out)-1].Reason = o.unusable(&d)
	}
	return out, nil
}

// describe describes a device, without its proof.
func describe(d *vk.DeviceInfo) batch.Device {
	kinds := map[vk.DeviceType]batch.DeviceKind{
		vk.Discrete: batch.DiscreteGPU, vk.Integrated: batch.IntegratedGPU, vk.Virtual: batch.VirtualGPU,
		vk.CPU: batch.SoftwareGPU,
	}
	kind, ok := kinds[d.Type]
	if !ok {
		kind = batch.VirtualGPU // "other": some accelerator
	}
	driver := strings.TrimSpace(d.DriverName + " " + d.DriverInfo)
	if driver != "" {
		driver += ", "
	}
	return batch.Device{Kind: kind, Name: d.Name, Driver: driver + "Vulkan " + d.API.String()}
}

// methods are those that have pipelines.
var methods = []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak, batch.RTR}

var precisions = []batch.Precision{batch.Single, batch.Double}

// serves is what the shaders answer.
var serves = batch.Serves{
	{Query: batch.Distance, Methods: methods, Precisions: precisions, Columns: layout.Served &^ batch.ColPoint},
	{Query: batch.Collide, Methods: methods, Precisions: precisions, Columns: layout.Served &^ batch.ColPoint},
	{Query: batch.Penetration, Methods: methods, Precisions: precisions, Columns: layout.Served &^ batch.ColPoint},
	{Query: batch.Growth, Methods: []batch.Method{batch.Auto}, Precisions: precisions,
		Columns: layout.Served},
}

// approved is the plan of a call: its options are checked, and in the table.
type approved struct{}

func planOf(o *batch.Options) (batch.Plan, error) {
	if err := serves.Check(backendName, o); err != nil {
		return nil, err
	}
	return approved{}, nil
}

// check reports options that make no sense, or that are not in the table, unless there is a plan of them.
func check(o *batch.Options, of batch.Plan) error {
	if _, ok := of.(approved); ok {
		return nil
	}
	if _, err := planOf(o); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	return o.Check()
}
