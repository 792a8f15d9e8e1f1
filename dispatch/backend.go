package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"clearance/batch"
)

// A Backend computes answers on one device.
type Backend interface {
	// Name returns the name by which callers select the back end: "cpu", "vulkan",
	// "ref". If there are several devices of a kind, a colon and the device follow, as in
	// "vulkan:1".
	Name() string

	// Device describes the device and, if it cannot be used, gives the reason.
	Device() batch.Device

	// Serves returns the table of queries, methods and precisions that the back end answers. The
	// dispatcher gives it no others.
	Serves() batch.Serves

	// Plan resolves options that have been checked: it is asked once a call, and its plan is in the jobs of
	// Run. The error says that the back end does not support them: by its table, as [batch.Serves.Check] has
	// it, or for a reason of its own.
	Plan(o *batch.Options) (batch.Plan, error)

	// Run answers rows [lo, hi) of the job's input into rows [0, hi-lo) of out. It
	// ignores job.Results. out has at least the requested columns and the status column.
	// Run does not write the bits column.
	//
	// The job has been checked as a whole; rows have not. The back end reads them with
	// [batch.Job.Read] and stores Invalid for those that it refuses. Every row is written
	// exactly once and completely, and its answer depends on that row alone. It is then marked as
	// answered in out.Marks, if these are not nil, which [batch.Results.Put] does.
	//
	// When ctx is done, Run stops soon and returns ctx.Err(); the rows written until then
	// are valid. Any other error means that the device failed; its rows are discarded.
	// No goroutine outlives Run.
	//
	// Run may be called by several goroutines at once.
	Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error

	// Close frees the device. No other method may be called after it.
	Close() error
}

// Partial is implemented by back ends that may decline rows: Run leaves the mark of a
// declined row as it was, [batch.Unanswered]. The dispatcher passes
// declined rows to another back end, even if this one was selected by name. A back end
// without this method that does not mark a row has failed.
type Partial interface {
	Partial() bool
}

// Measured is implemented by back ends that measure the time on their device.
type Measured interface {
	// RunMeasured is Run. kernel is the time that the device spent in the solvers,
	// without transfers, 0 if it was not measured.
	RunMeasured(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) (kernel time.Duration, err error)
}

// Reducer is implemented by back ends that can omit rows, see [batch.Reduction].
type Reducer interface {
	// RunReduced is RunMeasured. It may omit rows if the job has a reduction: their mark is then [batch.Omitted], and
	// they are added to the tally, with the bytes read of the device's memory.
	RunReduced(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results, tally *batch.Tally) (
		kernel time.Duration, err error)
}

// Deriving is implemented by back ends that compute derivatives of rows that they answer.
type Deriving interface {
	// Derives reports whether Run also fills the columns of derivatives among the columns of a call with the options
	// o. out then has them, with a smoothness for each row, batch.NotDerived before Run; rows that keep it are left to
	// the [Differentiator]. The derivatives of a row, and whether they are left, depend on that row alone.
	Derives(o *batch.Options, columns batch.Columns) bool
}

// Counting is implemented by back ends whose workers count the rows that they answer, while their columns are in the
// cache. The dispatcher counts the rows of the others, and those of calls that end early.
type Counting interface {
	// RunCounted is Run, and adds the rows to the count. out has the columns of [batch.Options.Counted].
	RunCounted(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results, count *batch.Count) error
}

// Chunked is implemented by back ends that prefer a chunk size of their own.
type Chunked interface {
	ChunkRows() int // the default in place of [DefaultChunkRows]
}

// Queued is implemented by back ends whose device would be idle between chunks if it
// were given one at a time.
type Queued interface {
	CallsAtOnce() int // number of chunks in progress at a time
}

// Estimator is implemented by back ends that estimate the time of a call themselves. For
// all others it is estimated from the kind of their device.
type Estimator interface {
	// Estimate returns the estimated time of a call with the given number of rows. It
	// depends on its arguments and the device alone, not on measurements, so that the
	// same call always runs on the same back end.
	Estimate(rows int, o *batch.Options) time.Duration
}

// Holder is implemented by back ends that can keep a batch in device memory between
// calls, see [Dispatcher.Hold].
type Holder interface {
	Hold(ctx context.Context, lib *batch.Library, in batch.Input) (batch.Held, error)
}

// CullingKernels is implemented by back ends whose kernels compare bounds of bodies in many worlds at once, which
// package rollout does before it asks a back end. No answer depends on them.
type CullingKernels interface {
	// CullWorlds returns the number of worlds that a culler takes at a time, 0 if there are no kernels.
	CullWorlds() int

	// NewCuller returns a culler for one goroutine, nil if there are no pairs. It keeps a reference to c.
	NewCuller(c *batch.Culling) batch.Culler

	// SIMD returns the instruction set of the kernels, which the broad phase uses as well, "off" for none.
	SIMD() string
}

// Label returns a back end under another name. Its optional methods are those of b.
func Label(b Backend, name string) Backend { return labelled{b, name} }

type labelled struct {
	Backend
	name string
}

func (l labelled) Name() string   { return l.name }
func (l labelled) inner() Backend { return l.Backend }

// As returns a back end as a T, for example an [Estimator], if it implements T, also
// through [Label].
func As[T any](b Backend) (T, bool) {
	for {
		if t, ok := b.(T); ok {
			return t, true
		}
		w, ok := b.(interface{ inner() Backend })
		if !ok {
			var none T
			return none, false
		}
		b = w.inner()
	}
}

// Absent returns a back end that is not available. In the list of a dispatcher it gives the
// reason to callers that select it by name.
func Absent(name string, kind batch.DeviceKind, why string) Backend {
	return absent{name, kind, why}
}

type absent struct {
	name string
	kind batch.DeviceKind
	why  string
}

func (a absent) Name() string                            { return a.name }
func (a absent) Device() batch.Device                    { return batch.Device{Kind: a.kind, Reason: a.why} }
func (a absent) Serves() batch.Serves                    { return nil }
func (a absent) Plan(*batch.Options) (batch.Plan, error) { return nil, errors.New(a.why) }
func (a absent) Close() error                            { return nil }
func (a absent) Run(context.Context, *batch.Job, int, int, *batch.Results) error {
	return errors.New(a.why)
}

// UnknownRows is the length of a batch whose length is unknown, as of some streams.
const UnknownRows = -1

// manyRows is the assumed length of a batch of unknown length: only the cost per row counts.
const manyRows = 1 << 30

// A Choice is the selection of back ends for a call.
type Choice struct {
	// Share lists the back ends that share the rows, usually one.
	Share []Backend

	// Spare lists the back ends that take over if all of Share fail, best first. It is
	// empty if back ends were selected by name.
	Spare []Backend

	Why string // the reason, in one line

	plan
}

// plan is what a call resolves of its options, once: nothing below asks again.
type plan struct {
	all      []planned     // Share, then Spare
	declined []planned     // answer rows that one of these declines, best first
	primary  batch.Options // that back ends see: without the columns of derivatives, with those that they need
	columns  batch.Columns // of the caller
	needed   batch.Columns // of a chunk: those of the caller, and those from which the report is counted

	derive   Differentiator // of calls with columns of derivatives, else nil
	answers  batch.Answers  // of other pairs that it asks about
	deriving bool           // some of the back ends compute derivatives as well
}

// planned is a back end with its plan of the call.
type planned struct {
	Backend
	plan    batch.Plan
	derives bool // it computes the derivatives that are asked for
}

// set sets the back ends that share the rows, and the spare ones.
func (c *Choice) set(share, spare []planned) {
	c.all = slices.Concat(share, spare)
	c.Share, c.Spare = backendsOf(share), backendsOf(spare)
}

func backendsOf(list []planned) (backends []Backend) {
	for _, p := range list {
		backends = append(backends, p.Backend)
	}
	return backends
}

// Name returns the names of the back ends that share the rows, joined by "+".
func (c *Choice) Name() string {
	var names []string
	for _, b := range c.Share {
		names = append(names, b.Name())
	}
	return strings.Join(names, "+")
}

// Devices returns the devices of the back ends that share the rows.
func (c *Choice) Devices() []batch.Device {
	var list []batch.Device
	for _, b := range c.Share {
		list = append(list, b.Device())
	}
	return list
}

// Choose selects the back ends for a call with options o and the given number of rows,
// which may be [UnknownRows].
//
// A name selects the back ends of that name or, if there is none, those named "name:…";
// names joined by "+" select all of theirs. "" and [Auto] select the back end with the
// shortest estimated time and all back ends like it: those with the same name, without the
// device, on devices with the same description. Vulkan drivers that run on the CPU come
// last. Estimates are declared, not measured ([Estimator]), so the same call always runs
// on the same back end.
//
// The error wraps [ErrNoBackend] and gives the reason for each rejected back end. For a query
// that no back end serves it wraps [batch.ErrNotAvailable] instead.
func (d *Dispatcher) Choose(backend string, o *batch.Options, rows int) (*Choice, error) {
	if err := d.check(o); err != nil {
		return nil, err
	}
	return d.choose(backend, o, rows)
}

// check returns an error if the options are invalid; for a query that no back end serves, that.
func (d *Dispatcher) check(o *batch.Options) error {
	err := o.Check()
	if err == nil {
		return nil
	}
	if unserved := d.unserved(o.Query); unserved != nil {
		return unserved
	}
	return err
}

// choose makes the plan of a call, whose options have been checked.
func (d *Dispatcher) choose(backend string, o *batch.Options, rows int) (*Choice, error) {
	derive, err := d.differentiatorOf(o)
	if err != nil {
		return nil, err
	}
	primary := primaryOf(derive, o)
	c, err := d.selectBackends(backend, &primary, rows)
	if err != nil {
		if unserved := d.unserved(o.Query); unserved != nil {
			return nil, unserved
		}
		return nil, err
	}
	d.resolve(c, derive, o, &primary)
	return c, nil
}

// resolve sets what the back ends of a choice do for a caller's options.
func (d *Dispatcher) resolve(c *Choice, derive Differentiator, o, primary *batch.Options) {
	c.primary, c.columns = *primary, o.EffectiveColumns()
	c.needed = primary.Counted() | primary.EffectiveColumns()
	if derive == nil {
		return
	}
	c.derive, c.answers = derive, d.answersBy(c)
	for i := range c.all {
		p := &c.all[i]
		x, ok := As[Deriving](p.Backend)
		p.derives = ok && x.Derives(primary, c.columns&batch.DerivedColumns)
		c.deriving = c.deriving || p.derives
	}
	if c.deriving {
		c.needed |= batch.ColSmoothness
	}
}

// selectBackends selects the back ends.
func (d *Dispatcher) selectBackends(backend string, o *batch.Options, rows int) (*Choice, error) {
	if rows < 0 {
		rows = manyRows
	}
	if backend == "" || backend == Auto {
		c, err := d.best(o, rows)
		if err == nil {
			c.declined = c.all
		}
		return c, err
	}
	c, err := d.named(backend, o)
	if err != nil || !slices.ContainsFunc(c.Share, partial) {
		return c, err
	}
	// If there is no back end for them, declined rows are undecided.
	if best, err := d.best(o, rows); err == nil {
		c.declined = best.all
	}
	return c, nil
}

// unserved returns the error of a query that none of the usable back ends serves. Whether one is usable is for sift to
// tell.
func (d *Dispatcher) unserved(q batch.Query) error {
	var names []string
	for _, b := range d.backends {
		if device := b.Device(); !device.Usable() {
			continue
		}
		if b.Serves().Query(q) {
			return nil
		}
		names = append(names, b.Name())
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("dispatch: query %v: %w: none of the back ends %s supports it",
		q, batch.ErrNotAvailable, strings.Join(names, ", "))
}

// named returns the back ends of a list of names.
func (d *Dispatcher) named(list string, o *batch.Options) (*Choice, error) {
	c := &Choice{Why: "selected by name"}
	var share []planned
	for _, name := range strings.Split(list, "+") {
		all := d.called(name)
		if len(all) == 0 {
			return nil, fmt.Errorf("dispatch: %w is named %q, want one of %v", ErrNoBackend, name, d.names())
		}
		usable, reasons := sift(all, o)
		if len(usable) == 0 {
			return nil, noneUsable(reasons)
		}
		for _, p := range usable {
			if !slices.Contains(backendsOf(share), p.Backend) {
				share = append(share, p)
			}
		}
	}
	c.set(share, nil)
	return c, nil
}

// called returns the back ends of a name.
func (d *Dispatcher) called(name string) (all []Backend) {
	for _, b := range d.backends {
		if b.Name() == name {
			all = append(all, b)
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, b := range d.backends {
		if baseName(b) == name {
			all = append(all, b)
		}
	}
	return all
}

// baseName is the name of a back end without its device.
func baseName(b Backend) string {
	name, _, _ := strings.Cut(b.Name(), ":")
	return name
}

func (d *Dispatcher) names() (names []string) {
	for _, b := range d.backends {
		names = append(names, b.Name())
	}
	return names
}

// sift returns the back ends that can run a call, with their plans, and the reasons why the others cannot.
func sift(all []Backend, o *batch.Options) (usable []planned, reasons []string) {
	for _, b := range all {
		device := b.Device()
		if !device.Usable() {
			reasons = append(reasons, b.Name()+": "+device.Reason)
			continue
		}
		plan, err := b.Plan(o)
		switch {
		case errors.Is(err, batch.ErrNotAvailable): // it names the back end
			reasons = append(reasons, err.Error())
		case err != nil:
			reasons = append(reasons, b.Name()+": "+err.Error())
		default:
			usable = append(usable, planned{Backend: b, plan: plan})
		}
	}
	return usable, reasons
}

func noneUsable(reasons []string) error {
	return fmt.Errorf("dispatch: %w (%s)", ErrNoBackend, strings.Join(reasons, "; "))
}

// best ranks the usable back ends by their estimated time.
func (d *Dispatcher) best(o *batch.Options, rows int) (*Choice, error) {
	usable, reasons := sift(d.backends, o)
	if len(usable) == 0 {
		if len(reasons) == 0 {
			return nil, fmt.Errorf("dispatch: %w", ErrNoBackend)
		}
		return nil, noneUsable(reasons)
	}
	var groups []group
	for _, b := range usable {
		i := slices.IndexFunc(groups, func(g group) bool { return alike(g.members[0].Backend, b.Backend) })
		if i < 0 {
			i, groups = len(groups), append(groups, group{})
		}
		groups[i].members = append(groups[i].members, b)
	}
	for i := range groups {
		g := &groups[i]
		g.time = estimate(g.members[0].Backend, (rows+len(g.members)-1)/len(g.members), o)
	}
	slices.SortStableFunc(groups, func(a, b group) int {
		switch {
		case a.time < b.time:
			return -1
		case a.time > b.time:
			return 1
		}
		return 0
	})
	c := &Choice{Why: why(groups, rows)}
	var spare []planned
	for _, g := range groups[1:] {
		spare = append(spare, g.members...)
	}
	c.set(groups[0].members, spare)
	return c, nil
}

// group is a set of back ends that are alike.
type group struct {
	members []planned
	time    time.Duration // estimated
}

// alike reports whether two back ends should give the same bits, by the descriptions of
// their devices: then it does not matter which of them answers a row.
func alike(a, b Backend) bool {
	x, y := a.Device(), b.Device()
	return baseName(a) == baseName(b) && x.Kind == y.Kind && x.Name == y.Name && x.Driver == y.Driver
}

// why describes the ranking of the groups in one line.
func why(groups []group, rows int) string {
	var s strings.Builder
	for i, g := range groups {
		if i > 0 {
			s.WriteString(", ")
		}
		c := Choice{Share: backendsOf(g.members)}
		fmt.Fprintf(&s, "%s %s", c.Name(), estimateText(g.time))
	}
	if rows == manyRows {
		return "estimated for very many rows: " + s.String()
	}
	return fmt.Sprintf("estimated for %d rows: %s", rows, s.String())
}

func estimateText(d time.Duration) string {
	if d == math.MaxInt64 {
		return "never before others"
	}
	if d > time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond / 10).String()
}

// cost is the assumed cost of a call on a kind of device: a fixed cost, and per row the time
// on the device and the time on the host, which is divided by the number of processors.
//
// Costs determine which back end is selected, never an answer. Those of the CPU were
// measured with depths in Go: 1.4 µs per row on two processors for signed distances of the
// benchmark sets, and a tenth of that for Boolean queries (lab/notebook/peers.md). Those of GPUs cover staging,
// submission and waiting, the link (about 180 bytes per row), and the time that the host
// needs to write poses and to read columns. GPUs of each kind were not measured, so the
// costs are biased in favour of the CPU; a back end with better figures is an [Estimator].
type cost struct {
	call time.Duration
	row  float64 // ns, on the device
	host float64 // ns, on one processor
}

var costs = [batch.DeviceKindCount]cost{
	batch.DiscreteGPU:   {call: 300 * time.Microsecond, row: 20, host: 150},
	batch.IntegratedGPU: {call: 200 * time.Microsecond, row: 150, host: 100},
	batch.VirtualGPU:    {call: 400 * time.Microsecond, row: 50, host: 150},
	batch.CPU:           {call: 10 * time.Microsecond, host: 2800},
}

// collideShare is the time of a Boolean query on the CPU relative to that of a distance query.
const collideShare = 0.1

// estimate returns the estimated time of a call with the given number of rows.
func estimate(b Backend, rows int, o *batch.Options) time.Duration {
	kind := b.Device().Kind
	if kind == batch.SoftwareGPU {
		return math.MaxInt64 // it emulates a GPU on the CPU, where the CPU back end is always faster
	}
	if e, ok := As[Estimator](b); ok {
		return e.Estimate(rows, o)
	}
	c := costs[kind]
	if kind == batch.CPU && o.StatusAlone() {
		c.host *= collideShare
	}
	return c.call + time.Duration(float64(rows)*(c.row+c.host/float64(runtime.NumCPU())))
}
