package dispatch

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"clearance/batch"
)

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
