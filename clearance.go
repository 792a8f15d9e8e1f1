// Package clearance answers batches of collision queries between pairs of convex shapes:
// whether two shapes are in contact, the signed distance between them, the contact normal
// and the witness points. Every answer carries a bound on its own error.
//
// [Open] a [Handle] once, build a [batch.Library] of shapes, and run any number of
// queries. The pairs of a query are a list ([batch.Pairs]) or a rollout ([batch.Worlds]).
// Lengths are in metres, quaternions are (w, x, y, z), normals point from A to B in the
// world frame, and results have the order of their input rows.
//
// # Results and reports
//
// A query returns results, a report and an error. The error is not nil only if the call as
// a whole failed: invalid options, a cancelled context, a closed handle, or no back end
// that works. A row without an answer is not an error. Its status is Invalid (the input of
// that row is invalid) or Undecided (the error bound stayed above the tolerance), the
// [dispatch.Report] counts it, and all other rows are valid. Callers that need an answer
// for every row check [dispatch.Report.Err].
//
// If a call fails, the rows that it did not reach are Undecided. A failure never looks
// like "no contact".
//
// # Back ends
//
// Open opens the Vulkan device and the CPU. By default each call runs on the back end with
// the shortest estimated time: the CPU for small batches, a GPU, if there is one, for large
// ones. The answers of two back ends agree within their error bounds but not in every bit;
// use [WithBackend] where batches of every size must give the same bits.
//
// # Concurrency
//
// A Handle may be used by several goroutines at once. No goroutine outlives a call.
package clearance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"clearance/batch"
	"clearance/cpu"
	"clearance/derive"
	"clearance/dispatch"
	"clearance/engine"
	"clearance/rollout"
	"clearance/rollout/sweep"
)

// An Option configures [Open].
type Option func(*config)

type config struct {
	cpu    cpu.Options
	device string
	probe  []string
	run    dispatch.Options
}

// WithBackend selects a back end by name: "vulkan", "cpu" or "ref". "vulkan:1" is the
// Vulkan device of that index, and "vulkan:0+vulkan:1" shares the rows of each call between
// two devices. Open fails if a back end selected by name is not available. The default,
// "auto", selects the back end with the shortest estimated time for each call, and another
// one if that fails.
func WithBackend(name string) Option { return func(c *config) { c.run.Backend = name } }

// WithDevice selects the Vulkan device by index or by part of its name. [AllDevices] selects
// all of them, which then share the rows of each call. The default is the device named by
// the environment variable CLEARANCE_DEVICE, or else the best one.
func WithDevice(device string) Option { return func(c *config) { c.device = device } }

// WithProbe names a command, with arguments, that tries a Vulkan device in a process of its own before it is opened for
// the first time. A driver that crashes then costs the device and not the program: the CPU answers. The command calls
// [engine.TryDevice] with the two arguments that are appended; the command line does so as "batchbench try-device". The
// verdict is remembered for each device and driver. By default devices are opened directly.
func WithProbe(command ...string) Option { return func(c *config) { c.probe = command } }

// WithSIMD selects the kernels of the CPU back end, of culling and the broad phase in rollouts, and of derivatives:
// "avx512", "avx2", "neon" or "portable", or "off" for Go alone. The default is the value of the environment variable
// CLEARANCE_SIMD, or else the best kernels that the processor supports. See [Handle.SIMD] for contacts.
func WithSIMD(variant string) Option { return func(c *config) { c.cpu.SIMD = variant } }

// WithWorkers sets the number of goroutines of the CPU back end. The default is one per
// processor.
func WithWorkers(n int) Option { return func(c *config) { c.cpu.Workers = n } }

// WithChunkRows sets the number of rows that a back end processes at a time. It affects no
// answer.
func WithChunkRows(n int) Option { return func(c *config) { c.run.ChunkRows = n } }

// WithMaxRowErrors sets the largest number of row errors that a report lists. The default
// is 16; the counts of the report are complete in any case.
func WithMaxRowErrors(n int) Option { return func(c *config) { c.run.MaxRowErrors = n } }

// WithProgress sets a function that is called after every chunk with the number of rows
// answered and the number of rows in total, -1 if that is unknown. See [dispatch.Options].
func WithProgress(f func(done, total int)) Option {
	return func(c *config) { c.run.Progress = f }
}

// A Handle runs queries on the back ends of this machine.
type Handle struct {
	dispatcher *dispatch.Dispatcher
	run        dispatch.Options
	simd       string
	notes      []string
}

// Open opens the back ends of this machine. It fails if a back end or a device selected by
// name does not exist, or the back end is not available; [Handle.Notes] reports what else is not.
func Open(options ...Option) (*Handle, error) {
	var c config
	for _, o := range options {
		o(&c)
	}
	if err := engine.CheckDevice(c.device); err != nil {
		return nil, fmt.Errorf("%w: %s: %s", dispatch.ErrNoBackend, vulkanName, reason(err))
	}
	processor, err := cpu.New(c.cpu)
	if err != nil {
		return nil, err
	}
	list, note := openVulkan(&c)
	h := &Handle{dispatcher: dispatch.New(append(list, processor, cpu.NewReference())...), run: c.run,
		simd: processor.SIMD()}
	h.dispatcher.SetDifferentiator(&derive.Differentiator{Workers: c.cpu.Workers, SIMD: h.simd})
	if note != "" {
		h.notes = append(h.notes, note)
	}
	if _, err := h.dispatcher.Choose(c.run.Backend, new(batch.Options), dispatch.UnknownRows); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// SIMD returns the variant of the kernels in use, or "off". Options of package contact and a [derive.Pass] take it.
func (h *Handle) SIMD() string { return h.simd }

// Distance computes the signed distance of every pair in single precision, with all
// columns. The distance of a penetrating pair is minus its penetration depth.
//
// Rows without an answer are not an error; the report counts them.
func (h *Handle) Distance(ctx context.Context, lib *batch.Library, in batch.Input) (*batch.Results, dispatch.Report,
	error) {
	return h.query(ctx, lib, in, batch.Distance)
}

// Penetration computes the penetration depth of the pairs that penetrate, as a negative
// distance. Of all other pairs it only proves that they are separated.
//
// Rows without an answer are not an error; the report counts them.
func (h *Handle) Penetration(ctx context.Context, lib *batch.Library, in batch.Input) (*batch.Results, dispatch.Report,
	error) {
	return h.query(ctx, lib, in, batch.Penetration)
}

// Collide decides which pairs are in contact. The results have the columns status and bits.
//
// Rows without an answer are not an error; the report counts them.
func (h *Handle) Collide(ctx context.Context, lib *batch.Library, in batch.Input) (*batch.Results, dispatch.Report,
	error) {
	return h.query(ctx, lib, in, batch.Collide)
}

// Growth computes the growth distance of every pair in single precision, with all columns: the factor by
// which both shapes, scaled about their centers, just touch. It is below 1 for penetrating pairs.
//
// Rows without an answer are not an error; the report counts them.
func (h *Handle) Growth(ctx context.Context, lib *batch.Library, in batch.Input) (*batch.Results, dispatch.Report,
	error) {
	return h.query(ctx, lib, in, batch.Growth)
}

func (h *Handle) query(ctx context.Context, lib *batch.Library, in batch.Input, q batch.Query) (*batch.Results,
	dispatch.Report, error) {
	job := &batch.Job{Library: lib, Input: in, Options: batch.Options{Query: q}}
	report, err := h.Run(ctx, job)
	return job.Results, report, err
}

// Run runs a job with its own options: any query, method, precision, tolerance and set of
// columns. If job.Results is nil, Run allocates them. Rows without an answer are not an
// error; the report counts them.
func (h *Handle) Run(ctx context.Context, job *batch.Job) (dispatch.Report, error) {
	return h.dispatcher.Run(ctx, job, h.run)
}

// Answers returns a function that answers jobs as Run. A [derive.Pass] asks it for the pairs of estimates of order
// zero.
func (h *Handle) Answers() batch.Answers { return h.dispatcher.Answers(h.run.Backend) }

// RunStream reads rows from source, such as a file of pairs opened with package dataset, and writes
// their results to sink in the same order. Neither has to fit in memory. See
// [dispatch.Dispatcher.RunStream].
func (h *Handle) RunStream(ctx context.Context, lib *batch.Library, source dispatch.Source, o batch.Options,
	sink dispatch.Sink) (dispatch.Report, error) {
	return h.dispatcher.RunStream(ctx, lib, source, o, sink, h.run)
}

// Hold prepares a batch for repeated runs of one query while the poses change. On a Vulkan
// device the library and the pairs stay in device memory; only poses and results are
// transferred. With [batch.Worlds] the poses are those of the bodies, otherwise those of
// the pairs.
//
//	for each step {
//		change the poses in worlds
//		b.Update(ctx, worlds)
//		results, report, err := b.Run(ctx)
//	}
//
// Close the batch before the handle.
func (h *Handle) Hold(ctx context.Context, lib *batch.Library, in batch.Input, o batch.Options) (*dispatch.Batch,
	error) {
	return h.dispatcher.Hold(ctx, lib, in, o, h.run)
}

// Rollout answers a query between bodies of several convex parts in many worlds: see package
// [clearance/rollout]. It rules out pairs that are proved to lie beyond MaxDistance, and reduces the
// answers to one per world if the options say so.
//
// Rows and worlds without an answer are not an error; the report counts them.
func (h *Handle) Rollout(ctx context.Context, bodies *batch.Bodies, worlds *batch.Worlds, o rollout.Options) (
	*rollout.Results, rollout.Report, error) {
	job := &rollout.Job{Bodies: bodies, Worlds: worlds, Options: o}
	report, err := rollout.Run(ctx, h.dispatcher, job, h.run)
	return job.Results, report, err
}

// Sweep finds the first contact of every pair of bodies along their motions, and proves lower bounds of the distance of
// those that stay free of contact: see [rollout.Sweep].
//
// Rows without an answer are not an error; the report counts them.
func (h *Handle) Sweep(ctx context.Context, bodies *batch.Bodies, motions *batch.Motions, o sweep.Options) (
	*rollout.SweepResults, rollout.SweepReport, error) {
	job := &rollout.SweepJob{Bodies: bodies, Motions: motions, Options: o}
	report, err := rollout.Sweep(ctx, h.dispatcher, job, h.run)
	return job.Results, report, err
}

// HoldRollout prepares a rollout for repeated runs while the poses change. All memory that a run needs is kept.
// Use it as [Handle.Hold], and close it before the handle.
func (h *Handle) HoldRollout(bodies *batch.Bodies, worlds *batch.Worlds, o rollout.Options) (*rollout.Batch,
	error) {
	return rollout.Hold(h.dispatcher, bodies, worlds, o, h.run)
}

// Backends returns the back ends of this machine, Vulkan devices first, whether usable or
// not; the method Device of a [dispatch.Backend] gives the reason.
func (h *Handle) Backends() []dispatch.Backend { return h.dispatcher.Backends() }

// Notes returns one line for each limitation of this machine, for example why a Vulkan
// device cannot be used. Limitations cost speed, not correctness.
func (h *Handle) Notes() []string { return slices.Clone(h.notes) }

// Dispatcher returns the dispatcher that runs the calls, for callers that choose the back
// end or other [dispatch.Options] per call. It is closed with the handle.
func (h *Handle) Dispatcher() *dispatch.Dispatcher { return h.dispatcher }

// Close waits for calls in progress and closes the back ends. Later calls fail with
// [dispatch.ErrClosed].
func (h *Handle) Close() error { return h.dispatcher.Close() }

// vulkanName is the name of the back end that [engine.Open] opens.
const vulkanName = "vulkan"

// AllDevices, given to [WithDevice], selects every Vulkan device that is hardware, or, if
// there is none, every Vulkan driver that runs on the CPU.
const AllDevices = "all"

// openVulkan opens the selected Vulkan devices. A device that cannot be opened is in the
// list as well, with the reason; note repeats the reason for [Handle.Notes], "" if there is
// none.
func openVulkan(c *config) (list []dispatch.Backend, note string) {
	why := ""
	for _, want := range vulkanDevices(c) {
		device, name := want, vulkanName+":"+want
		if want == c.device {
			name = vulkanName
		}
		if want == AllDevices {
			all, err := openAll(c)
			if err == nil {
				list = append(list, all...)
				continue
			}
			list, why = append(list, absent(vulkanName, err)), reason(err)
			continue
		}
		b, err := engine.Open(engine.Options{Device: device, Probe: c.probe})
		switch {
		case err != nil:
			list, why = append(list, absent(name, err)), reason(err)
		case name != vulkanName:
			list = append(list, dispatch.Label(b, name))
		default:
			list = append(list, b)
		}
	}
	if len(list) == 0 {
		return []dispatch.Backend{dispatch.Absent(vulkanName, batch.DiscreteGPU,
			"not opened, since another back end was selected")}, ""
	}
	if why != "" {
		note = "no Vulkan device is used: " + why
	}
	return list, note
}

// vulkanDevices lists the devices to open, as [engine.Options] name them, one entry for each
// time that a device is selected.
func vulkanDevices(c *config) (devices []string) {
	spec := c.run.Backend
	if spec == "" || spec == dispatch.Auto {
		return []string{c.device}
	}
	for name := range strings.SplitSeq(spec, "+") {
		family, device, named := strings.Cut(name, ":")
		switch {
		case family != vulkanName:
		case named:
			devices = append(devices, device)
		default:
			devices = append(devices, c.device)
		}
	}
	return devices
}

// openAll opens every hardware device, or, if there is none, every software device.
func openAll(c *config) ([]dispatch.Backend, error) {
	devices, err := engine.Devices(c.probe...)
	if err != nil {
		return nil, err
	}
	var hard, soft []int
	for i, d := range devices {
		switch {
		case !d.Usable():
		case d.Kind == batch.SoftwareGPU:
			soft = append(soft, i)
		default:
			hard = append(hard, i)
		}
	}
	if len(hard) == 0 {
		hard = soft
	}
	var list []dispatch.Backend
	for _, i := range hard {
		b, err := engine.Open(engine.Options{Device: strconv.Itoa(i), Probe: c.probe})
		if err != nil {
			for _, b := range list {
				b.Close()
			}
			return nil, err
		}
		list = append(list, dispatch.Label(b, vulkanName+":"+strconv.Itoa(i)))
	}
	if len(list) == 0 {
		b, err := engine.Open(engine.Options{Probe: c.probe}) // its error gives the reason
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

func absent(name string, err error) dispatch.Backend {
	return dispatch.Absent(name, batch.DiscreteGPU, reason(err))
}

// reason is the message of an error of package engine, without the name of the package.
func reason(err error) string { return strings.TrimPrefix(err.Error(), "engine: ") }
