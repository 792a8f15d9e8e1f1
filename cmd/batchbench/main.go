// Command batchbench runs, scores and checks batches of convex pair queries.
//
// Without a subcommand it runs the main job: seeded sets of all kinds of pairs, every answer
// audited and a sample compared with the reference solvers, as a table.
//
// Results and reports go to standard output, everything else to standard error.
// Progress is shown on a terminal only. Exit codes:
//
//	0    everything was done and every answer is good
//	1    wrong or undecided answers were found
//	2    bad input or usage, or a file that cannot be read or written
//	3    no usable back end
//	130  interrupted; no incomplete file is left
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"clearance/batch"
	"clearance/dataset"
	"clearance/dispatch"
	"clearance/internal/console"
	"clearance/internal/memory"
	"clearance/kernels"
)

func main() {
	deviceProbe = probeCommand()
	console.Main(program, newRoot, atProgress)
}

const program = "batchbench"

// Exit codes, see the package comment.
const (
	exitGood        = console.ExitGood
	exitWrong       = console.ExitWrong
	exitBadInput    = console.ExitBadInput
	exitNoBackend   = console.ExitNoBackend
	exitInterrupted = console.ExitInterrupted
)

// atProgress is set by tests alone, see [console.Env].
var atProgress func(ctx context.Context, what string, done int)

// run runs one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	e := &env{Program: program, Stdout: stdout, Stderr: stderr}
	return e.Run(ctx, newRoot(e), args)
}

// env is the environment of a command.
type env = console.Env

// newRoot returns the command tree. Without a subcommand it runs the main job.
func newRoot(e *env) *cobra.Command {
	root := newRun(e)
	root.Use = "batchbench"
	root.Short = "batches of convex pair queries: run, score, check"
	root.Long = `batchbench answers millions of convex pair queries in one call and checks every answer.

Without a subcommand it runs the main job ('batchbench run'): seeded sets of all
kinds of pairs on the best device available, every answer audited from the shapes
alone, a sample solved again by the reference, the measurements in one table.

Exit codes: 0 good, 1 wrong or undecided answers found, 2 bad input or usage,
3 no usable back end, 130 interrupted.`
	root.AddCommand(newRun(e), newScore(e), newRollout(e), newSweep(e), newDerive(e), newContact(e), newStep(e),
		newVerify(e), newGenerate(e), newDevices(e), newTryDevice(e), newFit(e), newThroughput(e), newView(e),
		newDecompose(e), newConvert(e), newVersion(e))
	return root
}

func newVersion(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  console.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(e.Stdout, "batchbench %s (%s)\n", console.Version(), console.Platform())
			return err
		},
	}
}

// Largest values of flags: more is a slip of the keyboard, and would fail for want of memory or
// in an overflow.
const (
	maxRounds     = 10_000
	maxWorkers    = 1 << 12
	maxIterations = 1<<31 - 1
	maxPairs      = 1 << 40
	maxCallRows   = 1 << 28 // rows that one call holds in memory
)

// choice is a flag whose value is one of several names.
type choice[T fmt.Stringer] struct {
	value *T
	parse func(string) (T, error)
}

func (c choice[T]) String() string {
	if c.value == nil {
		return ""
	}
	return (*c.value).String()
}

func (c choice[T]) Type() string { return "name" }

func (c choice[T]) Set(s string) error {
	v, err := c.parse(s)
	if err != nil {
		return plainError(err)
	}
	*c.value = v
	return nil
}

// backendFlags are the flags of the back end.
type backendFlags struct {
	backend string
	device  string
	workers int
	simd    string
}

// add registers the flags on fs.
func (f *backendFlags) add(fs *pflag.FlagSet) {
	f.addWorkers(fs)
	fs.StringVar(&f.backend, "backend", dispatch.Auto, "auto, cpu, ref or vulkan, or vulkan:0+vulkan:1 to share the "+
		"rows; 'batchbench devices' lists which are usable")
	fs.StringVar(&f.device, "device", "", "Vulkan device, by index or part of its name, or all; default: that of "+
		"$CLEARANCE_DEVICE, else the best")
	fs.StringVar(&f.simd, "simd", "", "kernels of the CPU back end: avx512, avx2, neon, portable or off; default: "+
		"$CLEARANCE_SIMD, else the best")
}

func (f *backendFlags) addWorkers(fs *pflag.FlagSet) {
	fs.IntVar(&f.workers, "workers", 0, "goroutines on the CPU; 0 is one per core")
}

// checkKernels returns an error for kernels that this machine does not have, before files are read: those of the flag
// --simd or, without one, of the environment.
func checkKernels(name string) error {
	_, err := kernels.Named(name, "--simd")
	return err
}

// callBytes is the memory of a pair of a call that is measured: itself, and its answers twice.
const callBytes = 400

// checkCall returns an error if a call of so many pairs takes more memory than there is.
func checkCall(flag string, pairs int) error {
	if err := memory.Check(fmt.Sprintf("a call of %d pairs", pairs), callBytes*float64(pairs)); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// check returns an error for a value out of range.
func (f *backendFlags) check() error {
	if err := checkKernels(f.simd); err != nil {
		return err
	}
	if f.workers < 0 || f.workers > maxWorkers {
		return fmt.Errorf("--workers %d: want 1 to %d, or 0 for one per core", f.workers, maxWorkers)
	}
	if f.backend == "" { // verify has no such flag
		return nil
	}
	return checkBackend(f.backend)
}

// solveFlags are the flags of the query and of the back end.
type solveFlags struct {
	backendFlags
	options batch.Options
	cutoff  float64
	columns []string
}

// methodText explains the names of the methods.
const methodText = "auto selects the fastest solver for every pair: a closed form, separating axes, " +
	"Newton's method or RTR for smooth shapes, GJK for others; depths are computed by separating axes or EPA, " +
	"those of smooth shapes also by RTR with auto or rtr; rtr on other shapes is gjk. " +
	"The column method has the solver that ended each row"

// add registers all flags but --columns on fs.
func (f *solveFlags) add(fs *pflag.FlagSet) {
	o := &f.options
	f.addQuestion(fs)
	f.backendFlags.add(fs)
	fs.Var(choice[batch.Method]{&o.Method, batch.ParseMethod}, "method",
		"auto, gjk, nesterov, polyak or rtr; "+methodText)
	fs.Var(choice[batch.Precision]{&o.Precision, batch.ParsePrecision}, "precision", "single or double")
	fs.IntVar(&o.MaxIterations, "max-iterations", 0, "limit of the evaluations of the support function per solver, "+
		"beyond which a pair is undecided; 0 is the default of the method")
}

// addColumns registers the flag --columns.
func (f *solveFlags) addColumns(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.columns, "columns", nil, "columns to write: "+strings.Join(fileColumns(),
		", ")+"; default all but method and derivatives (collide: status)")
}

// addQuestion registers the flags that define a correct answer.
func (f *solveFlags) addQuestion(fs *pflag.FlagSet) {
	o := &f.options
	fs.Var(choice[batch.Query]{&o.Query, batch.ParseQuery}, "query", orList(batch.AnsweredQueries()))
	fs.Float64Var(&o.Tolerance, "tolerance", 0, "largest gap relative to the size of a pair, of growth to "+
		"max(1, factor); 0 is the default of the precision")
	fs.Float64Var(&f.cutoff, "cutoff", math.Inf(1), "distance in metres, of growth a factor; pairs beyond it are "+
		"only proved to be so")
}

// orList joins names as "a, b or c".
func orList(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// check completes the options and returns an error for a value out of range.
func (f *solveFlags) check() error {
	o := &f.options
	if err := f.backendFlags.check(); err != nil {
		return err
	}
	if o.MaxIterations > maxIterations {
		return fmt.Errorf("--max-iterations %d: want at most %d", o.MaxIterations, maxIterations)
	}
	if f.cutoff != math.Inf(1) {
		o.CutOff, o.HasCutOff = f.cutoff, true
	}
	var err error
	if o.Columns, err = parseColumns(f.columns, o.Query); err != nil {
		return err
	}
	if o.Columns == 0 {
		// The bits repeat the status, and files have no column for them.
		o.Columns = o.EffectiveColumns() &^ batch.ColBits
	}
	return plainError(o.Check())
}

// plainError removes the package name from an error about a flag.
func plainError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "batch: "))
}

// everyColumn holds the columns that results files can contain, whatever their query.
var everyColumn = batch.FileColumns | batch.ExtraColumns | batch.DerivedColumns

// fileColumns lists the names of the columns that a results file can contain.
func fileColumns() []string { return columnList(everyColumn) }

// columnList lists the names of a set of columns.
func columnList(set batch.Columns) []string {
	var names []string
	for _, c := range set.Each() {
		names = append(names, c.Info().Name)
	}
	return names
}

// parseColumns is the inverse of columnList; no names are the empty set, and
// "all" is every column that a file of the query can contain.
func parseColumns(names []string, q batch.Query) (batch.Columns, error) {
	var set batch.Columns
	for _, name := range names {
		name = strings.TrimSpace(name)
		if name == "all" {
			set |= q.FileColumns()
			continue
		}
		bit, err := batch.ParseColumn(name)
		if err != nil || bit&everyColumn == 0 {
			return 0, fmt.Errorf("--columns: unknown column %q, want all or some of %s", name,
				strings.Join(fileColumns(), ", "))
		}
		set |= bit
	}
	return set, nil
}

// elsewhere has, by flags of rollouts and sweeps that commands of pairs do not have, the commands that have them.
var elsewhere = map[string][]string{
	"all-pairs": {"rollout"}, "reduce": {"rollout"}, "no-culling": {"rollout"},
	"max-distance":   {"rollout", "sweep"},
	"time-tolerance": {"sweep"}, "max-evaluations": {"sweep"},
}

// pointElsewhere has the flags of rollouts and sweeps, and the query sweep, refused with the names of the commands
// that have them, which begin with prefix.
func pointElsewhere(c *cobra.Command, prefix string) {
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		var commands []string
		var unknown *pflag.NotExistError
		var value *pflag.InvalidValueError
		what := ""
		switch {
		case errors.As(err, &unknown):
			commands, what = elsewhere[unknown.GetSpecifiedName()], unknown.GetSpecifiedName()
		case errors.As(err, &value) && value.GetFlag().Name == "query" && value.GetValue() == sweepName:
			commands, what = []string{"sweep"}, "query sweep"
		}
		if len(commands) == 0 {
			return c.Root().FlagErrorFunc()(c, err)
		}
		return fmt.Errorf("--%s belongs to another command: see '%s'", what,
			prefix+strings.Join(commands, "' or '"+prefix))
	})
}

// columnBuffer collects rows of columns until they are written.
type columnBuffer struct {
	specs  []dataset.ColumnSpec
	values []any // of each column: *[]float64, *[]int32 or *[]uint8
	rows   int
}

func newColumnBuffer(specs []dataset.ColumnSpec) *columnBuffer {
	b := &columnBuffer{specs: specs}
	for _, s := range specs {
		switch {
		case s.Codes:
			b.values = append(b.values, new([]uint8))
		case s.Ints:
			b.values = append(b.values, new([]int32))
		default:
			b.values = append(b.values, new([]float64))
		}
	}
	return b
}

// bytes is the memory of the rows, without what is kept for more.
func (b *columnBuffer) bytes() float64 {
	if b == nil {
		return 0
	}
	return rowBytes(b.specs) * float64(b.rows)
}

// rowBytes is the memory of a row of columns, and what it takes in an NPZ file.
func rowBytes(specs []dataset.ColumnSpec) (n float64) {
	for _, s := range specs {
		switch {
		case s.Codes:
			n += float64(s.Width)
		case s.Ints:
			n += 4 * float64(s.Width)
		default:
			n += 8 * float64(s.Width)
		}
	}
	return n
}

// add appends rows: a slice for each column.
func (b *columnBuffer) add(rows int, values ...any) {
	b.rows += rows
	for i, v := range values {
		switch to := b.values[i].(type) {
		case *[]uint8:
			*to = append(*to, v.([]uint8)...)
		case *[]int32:
			*to = append(*to, v.([]int32)...)
		case *[]float64:
			*to = append(*to, v.([]float64)...)
		}
	}
}

// reset forgets the rows.
func (b *columnBuffer) reset() {
	b.rows = 0
	for _, v := range b.values {
		switch to := v.(type) {
		case *[]uint8:
			*to = (*to)[:0]
		case *[]int32:
			*to = (*to)[:0]
		case *[]float64:
			*to = (*to)[:0]
		}
	}
}

// slices are the columns as they are written.
func (b *columnBuffer) slices() []any {
	list := make([]any, len(b.values))
	for i, v := range b.values {
		switch of := v.(type) {
		case *[]uint8:
			list[i] = *of
		case *[]int32:
			list[i] = *of
		case *[]float64:
			list[i] = *of
		}
	}
	return list
}

// write writes all rows as a file with texts, pairs of a key and a value.
func (b *columnBuffer) write(path string, texts ...string) error {
	return writeColumns(path, b.specs, int64(b.rows), texts, func(out *dataset.ColumnWriter) error {
		return out.Write(b.rows, b.slices()...)
	})
}

// writeColumns writes a file of n rows, which write appends.
func writeColumns(path string, specs []dataset.ColumnSpec, n int64, texts []string,
	write func(out *dataset.ColumnWriter) error) error {
	out, err := dataset.CreateColumns(path, specs, n)
	if err != nil {
		return err
	}
	defer out.Abort()
	for i := 0; i+1 < len(texts); i += 2 {
		out.Describe(texts[i], texts[i+1])
	}
	if err := write(out); err != nil {
		return err
	}
	return out.Close()
}

// tableSlices are the columns of a table in the order of specs.
func tableSlices(path string, t *dataset.ColumnTable, specs []dataset.ColumnSpec) ([]any, error) {
	list := make([]any, len(specs))
	for i, s := range specs {
		if !t.Has(s.Name) {
			return nil, fmt.Errorf("%s: column %s is missing", path, s.Name)
		}
		switch {
		case s.Codes:
			list[i] = t.Codes(s.Name)
		case s.Ints:
			list[i] = t.Ints(s.Name)
		default:
			list[i] = t.Reals(s.Name)
		}
	}
	return list, nil
}

// checkColumnFile returns an error for an output that is no file of a format of columns. It is called before the work.
func checkColumnFile(flag, path string) error {
	if ext := filepath.Ext(path); path != "" && ext != ".npz" && ext != ".parquet" {
		return fmt.Errorf("--%s %s: want a file .parquet or .npz", flag, path)
	}
	return nil
}
