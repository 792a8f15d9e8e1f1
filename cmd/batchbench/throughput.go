package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/dispatch"
	"clearance/engine"
	"clearance/internal/console"
	"clearance/verify"

	"github.com/spf13/cobra"
)

// distinctRows is the number of different pairs in a batch. Longer batches repeat them, since
// placing a pair takes longer than answering it.
const distinctRows = 1 << 17

// minCalls is the minimum number of calls for a median.
const minCalls = 3

// throughputFlags are the flags of `throughput`.
type throughputFlags struct {
	solveFlags
	sets                   []string
	sizes                  []string
	beside                 string
	meshes                 []string
	seed                   uint64
	separated, penetrating bool
	time                   time.Duration
	link                   []float64 // MB/s up and down, empty if unknown
	json                   string

	rows []int // sizes, as numbers
}

func newThroughput(e *env) *cobra.Command {
	var f throughputFlags
	c := &cobra.Command{
		Use:   "throughput",
		Short: "time a call for batches of several sizes",
		Long: `Measures the time of calls of several sizes, from an empty batch to millions of pairs, in
the kernels and end to end, on one back end and on a second one. Answers are not checked;
'run' does that on the same sets.

` + setsText(),
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return throughput(c.Context(), e, &f) },
	}
	fs := c.Flags()
	fs.StringSliceVar(&f.sizes, "sizes", []string{"0", "1", "1e3", "1e4", "1e5", "1e6"}, "pairs per call")
	fs.StringSliceVar(&f.sets, "set", []string{"mixed"}, "sets of the pairs; all: "+strings.Join(generate.Names(),
		", "))
	fs.StringSliceVar(&f.meshes, "mesh", nil, "mesh file (OBJ, STL, PLY) or directory for the set mesh; may be "+
		"repeated")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the sets")
	fs.BoolVar(&f.separated, "separated", false, "only separated pairs")
	fs.BoolVar(&f.penetrating, "penetrating", false, "only penetrating pairs")
	c.MarkFlagsMutuallyExclusive("separated", "penetrating")
	fs.DurationVar(&f.time, "time", time.Second, fmt.Sprintf("time for each size of each set; at least %d calls are "+
		"made", minCalls))
	fs.Float64SliceVar(&f.link, "link", nil, "bandwidth of the link to the device and back, in MB/s, such as "+
		"25000,24000; the report then has the least share of a call that the transfers take")
	fs.StringVar(&f.beside, "beside", "cpu", "second back end, measured beside a Vulkan device; cpu, ref or none")
	fs.StringVar(&f.json, "json", "", "write the report as JSON to this file; - is standard output, in place of the "+
		"table")
	f.solveFlags.add(fs)
	return c
}

// check parses the sizes and returns an error for a flag out of range.
func (f *throughputFlags) check() error {
	for _, s := range f.sizes {
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || !(v >= 0 && v <= maxCallRows) || v != math.Trunc(v) {
			return fmt.Errorf("--sizes: %q is not a number of pairs, want integers from 0 to %d, such as 1000 or 1e6",
				s, maxCallRows)
		}
		if err := checkCall("--sizes", int(v)); err != nil {
			return err
		}
		f.rows = append(f.rows, int(v))
	}
	if len(f.rows) == 0 {
		return fmt.Errorf("--sizes is empty; want numbers of pairs, such as 1e3,1e6")
	}
	if f.time <= 0 {
		return fmt.Errorf("--time %v: want a time above 0", f.time)
	}
	positive := func(v float64) bool { return v > 0 && v <= math.MaxFloat64 }
	if n := len(f.link); n != 0 && (n != 2 || !positive(f.link[0]) || !positive(f.link[1])) {
		return fmt.Errorf("--link %v: want two bandwidths above 0, up and down, in MB/s", f.link)
	}
	if err := checkSets("--set", f.sets); err != nil {
		return err
	}
	if err := checkBeside(f.beside); err != nil {
		return err
	}
	return f.solveFlags.check()
}

func throughput(ctx context.Context, e *env, f *throughputFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := checkOutputs(meshInputs(f.meshes), []namedFile{{"json", f.json}}); err != nil {
		return err
	}
	h, chosen, err := f.choose(dispatch.UnknownRows)
	if err != nil {
		return err
	}
	defer h.Close()
	o := &f.options
	report := &throughputReport{
		Program: "batchbench throughput", Version: console.Version(), Date: console.Now(), Platform: console.Platform(),
		Cores:    runtime.NumCPU(),
		Backends: []backendReport{{chosen.Name(), devicesText(chosen.Devices())}},
		Query:    o.Query.String(), Method: o.Method.String(), Precision: o.Precision.String(),
		Tolerance: verify.Number(o.Tolerance),
		Columns:   columnList(o.Columns), Seed: f.seed, Separated: f.separated, Penetrating: f.penetrating,
		Clock: throughputClock,
	}
	beside, err := f.besideOf(h.Dispatcher(), chosen, f.beside)
	if err != nil {
		return err
	}
	if beside != nil {
		report.Backends = append(report.Backends, backendReport{beside.Name(), devicesText(beside.Devices())})
	}
	for _, set := range f.sets {
		lib, pairs, err := f.pairs(ctx, h.Dispatcher(), set)
		if err != nil {
			return err
		}
		bar := e.Progress(set, int64(len(f.rows)*len(report.Backends)))
		for _, rows := range f.rows {
			for _, b := range report.Backends {
				p, err := f.point(ctx, h.Dispatcher(), b.Name, lib, pairs.Slice(0, rows))
				if err != nil {
					return err
				}
				p.Set = set
				report.Points = append(report.Points, *p)
				bar.Add(1)
			}
		}
		bar.Done()
	}
	if f.json != "-" {
		if err := report.print(e.Stdout); err != nil {
			return err
		}
	}
	if f.json == "" {
		return nil
	}
	return console.WriteJSON(e.Stdout, f.json, report)
}

// pairs returns the pairs of a set for the largest size.
func (f *throughputFlags) pairs(ctx context.Context, d *dispatch.Dispatcher, set string) (*batch.Library, *batch.Pairs,
	error) {
	gen, err := openSet(set, f.seed, f.meshes)
	if err != nil {
		return nil, nil, err
	}
	n := 1
	for _, rows := range f.rows {
		n = max(n, rows)
	}
	all := batch.NewPairs(n)
	have := 0
	for first := int64(0); have < min(n, distinctRows); {
		some := batch.NewPairs(min(n, distinctRows))
		if err := fillRows(ctx, gen, some, first); err != nil {
			return nil, nil, err
		}
		first += int64(some.Len())
		keep, err := f.keep(ctx, d, gen.Library(), some)
		if err != nil {
			return nil, nil, err
		}
		var r batch.Row
		for i := 0; i < some.Len() && have < n; i++ {
			if keep(i) {
				some.Row(i, &r)
				all.SetRow(have, &r)
				have++
			}
		}
		if first > 100*distinctRows {
			return nil, nil, fmt.Errorf("set %s has hardly any %s", set, pairsText(f.separated, f.penetrating))
		}
	}
	var r batch.Row
	for i := have; i < n; i++ {
		all.Row(i%have, &r)
		all.SetRow(i, &r)
	}
	return gen.Library(), all, nil
}

// keep returns a function that selects the pairs to measure.
func (f *throughputFlags) keep(ctx context.Context, d *dispatch.Dispatcher, lib *batch.Library,
	pairs *batch.Pairs) (func(i int) bool, error) {
	if !f.separated && !f.penetrating {
		return func(int) bool { return true }, nil
	}
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Collide,
		Columns: batch.ColStatus}}
	if _, err := d.Run(ctx, job, dispatch.Options{Backend: "cpu"}); err != nil {
		return nil, err
	}
	return func(i int) bool { return (batch.Status(job.Results.Status()[i]) == batch.Separated) == f.separated }, nil
}

// point times calls of one size on one back end.
func (f *throughputFlags) point(ctx context.Context, d *dispatch.Dispatcher, backend string, lib *batch.Library,
	pairs *batch.Pairs) (*throughputPoint, error) {
	job := &batch.Job{Library: lib, Input: pairs, Options: f.options}
	o := dispatch.Options{Backend: backend}
	if _, err := d.Run(ctx, job, o); err != nil { // allocates the results, and warms up
		return nil, err
	}
	p := &throughputPoint{Backend: backend, Rows: pairs.Len()}
	var walls, kernels []float64
	before, device := f.stats(d, backend)
	for elapsed := time.Duration(0); len(walls) < minCalls || elapsed < f.time; {
		rep, err := d.Run(ctx, job, o)
		if err != nil {
			return nil, err
		}
		elapsed += rep.Wall
		walls = append(walls, rep.Wall.Seconds())
		if rep.KernelRows == p.Rows && p.Rows > 0 {
			kernels = append(kernels, rep.Kernel.Seconds())
		}
		p.Declined = rep.Declined()
	}
	p.Calls = len(walls)
	if device {
		after, _ := f.stats(d, backend)
		p.moved((after.BytesUp-before.BytesUp)/int64(p.Calls), (after.BytesDown-before.BytesDown)/int64(p.Calls),
			median(walls), f.link)
	}
	p.Seconds, p.Spread = verify.Number(median(walls)), verify.Number(quartileSpread(walls))
	p.PairsPerSecond = verify.Number(float64(p.Rows) / median(walls))
	if len(kernels) == len(walls) {
		seconds := verify.Number(median(kernels))
		rate := verify.Number(float64(p.Rows) / float64(seconds))
		p.KernelSeconds, p.KernelPerSec = &seconds, &rate
	}
	return p, nil
}

// stats returns the sum of the counters of the Vulkan devices of a back end; ok is false if
// it has none.
func (f *throughputFlags) stats(d *dispatch.Dispatcher, backend string) (sum engine.Stats, ok bool) {
	chosen, err := d.Choose(backend, &f.options, dispatch.UnknownRows)
	if err != nil {
		return sum, false
	}
	for _, b := range chosen.Share {
		if e, is := dispatch.As[*engine.Backend](b); is {
			s := e.Stats()
			sum.BytesUp += s.BytesUp
			sum.BytesDown += s.BytesDown
			ok = true
		}
	}
	return sum, ok
}

// throughputClock describes what the times of `throughput` include.
const throughputClock = "end to end, from pairs in host memory to answers in host memory, results and library reused " +
	"from call to call; kernel: the solvers alone, by the clock of the device"

// throughputReport is the report of `throughput --json`.
type throughputReport struct {
	Program     string            `json:"program"`
	Version     string            `json:"version"`
	Date        string            `json:"date"`
	Platform    string            `json:"platform"`
	Cores       int               `json:"cores"`
	Backends    []backendReport   `json:"backends"`
	Query       string            `json:"query"`
	Method      string            `json:"method"`
	Precision   string            `json:"precision"`
	Tolerance   verify.Number     `json:"tolerance"`
	Columns     []string          `json:"columns"`
	Seed        uint64            `json:"seed"`
	Separated   bool              `json:"separated"`   // only separated pairs
	Penetrating bool              `json:"penetrating"` // only penetrating pairs
	Clock       string            `json:"clock"`
	Points      []throughputPoint `json:"points"`
}

// backendReport is a back end and its device.
type backendReport struct {
	Name   string `json:"backend"`
	Device string `json:"device"`
}

// throughputPoint is one size of one set on one back end. Times are medians of the calls.
type throughputPoint struct {
	Set            string         `json:"set"`
	Backend        string         `json:"backend"`
	Rows           int            `json:"pairs"`
	Calls          int            `json:"calls"`
	Seconds        verify.Number  `json:"seconds"` // per call, end to end
	Spread         verify.Number  `json:"spread"`  // half the interquartile range over the median
	PairsPerSecond verify.Number  `json:"pairs_per_second"`
	KernelSeconds  *verify.Number `json:"kernel_seconds"` // null where the back end has no device clock
	KernelPerSec   *verify.Number `json:"kernel_pairs_per_second"`
	Declined       int            `json:"declined"`   // rows per call that the back end declined
	BytesUp        *int64         `json:"bytes_up"`   // per call, to the device; null if there is none
	BytesDown      *int64         `json:"bytes_down"` // and back
	LinkShare      *verify.Number `json:"link_share"` // see moved; null without --link
}

// moved records the bytes per call. LinkShare is the time that they take at the bandwidths of
// the link (MB/s up and down), one direction after the other, relative to that of the call.
func (p *throughputPoint) moved(up, down int64, call float64, link []float64) {
	p.BytesUp, p.BytesDown = &up, &down
	if len(link) == 2 && p.Rows > 0 {
		share := verify.Number((float64(up)/link[0] + float64(down)/link[1]) / 1e6 / call)
		p.LinkShare = &share
	}
}

// pairsText describes the pairs that are measured.
func pairsText(separated, penetrating bool) string {
	switch {
	case separated:
		return "separated pairs"
	case penetrating:
		return "penetrating pairs"
	}
	return "all pairs"
}

// print writes the report as text.
func (r *throughputReport) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "batchbench %s, %s, %s\n", r.Version, r.Date, r.Platform)
	for _, back := range r.Backends {
		fmt.Fprintf(&b, "%s: %s\n", back.Name, back.Device)
	}
	fmt.Fprintf(&b, "query %s, method %s, precision %s%s, seed %d, %s\n", r.Query, r.Method, r.Precision,
		toleranceText(r.Tolerance, r.Query), r.Seed, pairsText(r.Separated, r.Penetrating))
	fmt.Fprintf(&b, "clock: %s\n\n", r.Clock)
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	width := len("set")
	for i := range r.Points {
		width = max(width, len(r.Points[i].Set))
	}
	fmt.Fprintf(tw, "%-*s\tpairs/call\tby\tcalls\tcall\tspread\tpairs/s\tkernel\tkernel/s\tdeclined\tB/pair "+
		"up\tdown\tlink\t\n", width, "set")
	for i := range r.Points {
		p := &r.Points[i]
		rate, kernel, kernelRate, up, down, link := "-", "-", "-", "-", "-", "-"
		if p.Rows > 0 {
			rate = perSecond(float64(p.PairsPerSecond))
		}
		if p.KernelSeconds != nil {
			kernel, kernelRate = seconds(*p.KernelSeconds), perSecond(float64(*p.KernelPerSec))
		}
		if p.BytesUp != nil && p.Rows > 0 {
			up, down = fmt.Sprintf("%.0f", float64(*p.BytesUp)/float64(p.Rows)),
				fmt.Sprintf("%.0f", float64(*p.BytesDown)/float64(p.Rows))
		}
		if p.LinkShare != nil {
			link = fmt.Sprintf("%.0f %%", 100*float64(*p.LinkShare))
		}
		fmt.Fprintf(tw, "%-*s\t%s\t%s\t%s\t%s\t±%.0f%%\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", width, p.Set,
			thousands(p.Rows), p.Backend,
			thousands(p.Calls), seconds(p.Seconds), 100*float64(p.Spread), rate, kernel, kernelRate,
			thousands(p.Declined), up, down, link)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// seconds formats a time with three significant digits.
func seconds(s verify.Number) string {
	v := float64(s)
	for _, unit := range []struct {
		size float64
		name string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}} {
		if v >= unit.size {
			return fmt.Sprintf("%.3g %s", v/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.0f ns", v*1e9)
}
