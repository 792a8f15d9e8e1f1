// Package score answers the pairs of a file and writes the answers to another, and describes those of worlds and
// motions, for the command line and the C interface: both write the same bytes. It makes the scenes of simulations of
// files of worlds, for the command line and the viewer.
package score

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"strconv"
	"strings"

	"clearance/batch"
	"clearance/contact"
	"clearance/dataset"
	"clearance/dispatch"
	"clearance/verify"
)

// Keys of the metadata that describes the query of a results file.
const (
	MetaQuery     = "query"
	MetaMethod    = "method"
	MetaTolerance = "tolerance"
	MetaCutOff    = "cutoff"
	MetaRows      = dataset.MetaRows // of a file that has answers of some rows
)

// Describe stores the query in the metadata of the file.
func Describe(w *dataset.ResultWriter, o *batch.Options, lib *batch.Library) error {
	if err := w.DescribeQuery(o.Query, lib); err != nil {
		return err
	}
	w.Describe(MetaMethod, o.Method.String())
	w.Describe(MetaTolerance, number(o.Tolerance))
	if o.HasCutOff {
		w.Describe(MetaCutOff, number(o.CutOff))
	}
	if o.Columns&batch.DerivedColumns != 0 {
		DescribeDerivative(w, &o.Derivative)
	}
	return nil
}

// MetaDerivative is the key of the metadata that has the mode of derivatives.
const MetaDerivative = "derivative"

// DescribeDerivative stores in the metadata of a file which derivatives it has.
func DescribeDerivative(w *dataset.ResultWriter, o *batch.Derivative) {
	w.Describe(MetaDerivative, o.Mode.String())
	if o.Mode != batch.ExactDerivative {
		w.Describe("epsilon", number(o.Epsilon))
		w.Describe("samples", strconv.Itoa(o.Samples))
		w.Describe("rings", strconv.Itoa(o.Rings))
		w.Describe("seed", strconv.FormatUint(o.Seed, 10))
	}
}

// A Check looks at the complete file of results, under the temporary path that it has before it gets its name. After
// an error there is no file.
type Check func(rep *dispatch.Report, path string) error

// Rows are the rows [Lo, Hi) of a source of Of rows, or the worlds of a file of Of worlds.
type Rows struct{ Lo, Hi, Of int }

// Len is their number.
func (r Rows) Len() int { return r.Hi - r.Lo }

// text is the range in metadata, see [MetaRows], where a world has so many rows, and a row one.
func (r Rows) text(each int) string { return fmt.Sprintf("%d:%d", r.Lo*each, r.Hi*each) }

// all reports whether they are all rows.
func (r Rows) all() bool { return r.Lo == 0 && r.Hi == r.Of }

// Run answers rows of a source into a results file, which appears under its name once it is complete and checked,
// if check is not nil. After an error there is no file. Results of a file of pairs carry its other columns; those of
// some of its rows do not, and such a file is refused.
func Run(ctx context.Context, d *dispatch.Dispatcher, lib *batch.Library, pairs dispatch.Source, rows Rows, path string,
	o batch.Options, run dispatch.Options, check Check) (dispatch.Report, error) {
	failed := dispatch.Report{WorstGapRow: -1}
	var extra *dataset.Extra
	if file, ok := pairs.(interface {
		Extra(...dataset.Option) (*dataset.Extra, error)
	}); ok {
		var err error
		if extra, err = file.Extra(); err != nil {
			return failed, err
		}
	}
	if extra != nil {
		defer extra.Close()
		if !rows.all() {
			return failed, fmt.Errorf("rows %d to %d of a file with other columns than those of pairs (%s), which "+
				"results of some rows cannot carry: ask for all rows, or for a file without them", rows.Lo, rows.Hi-1,
				strings.Join(extra.Names(), ", "))
		}
	}
	out, err := dataset.CreateResultsWith(path, o.Columns, o.Precision, int64(rows.Len()), extra)
	if err != nil {
		return failed, err
	}
	defer out.Abort()
	if err := Describe(out, &o, lib); err != nil {
		return failed, err
	}
	if !rows.all() {
		out.Describe(MetaRows, rows.text(1))
		if pairs, err = dispatch.Shard(pairs, rows.Lo, rows.Hi); err != nil {
			return failed, err
		}
		run.FirstRow, run.EstimateRows = rows.Lo, rows.Of // as of the whole
	}
	rep, err := d.RunStream(ctx, lib, pairs, o, out, run)
	if err != nil {
		return rep, err
	}
	if check != nil {
		complete, err := out.Complete()
		if err == nil {
			err = check(&rep, complete)
		}
		if err != nil {
			return rep, err
		}
	}
	// An interrupt after the last rows, too, leaves no file.
	if err := ctx.Err(); err != nil {
		return rep, err
	}
	return rep, out.Close()
}

// ToEnd as the end of a range of rows stands for the end of the file.
const ToEnd = -1

// Files answers the rows [lo, hi) of a file of pairs, see Run. Columns of 0 stand for those of the query that files
// hold. The answers have the bits that they have in the results of the whole file.
func Files(ctx context.Context, d *dispatch.Dispatcher, lib *batch.Library, pairs string, lo, hi int, out string,
	o batch.Options, run dispatch.Options, check Check) (dispatch.Report, error) {
	failed := dispatch.Report{WorstGapRow: -1}
	if o.Columns == 0 {
		o.Columns = o.EffectiveColumns()
	}
	o.Columns &^= batch.ColBits // the status says the same
	if err := Different(pairs, out); err != nil {
		return failed, err
	}
	in, err := dataset.OpenPairs(pairs)
	if err != nil {
		return failed, err
	}
	defer in.Close()
	rows, err := within(in, lo, hi)
	if err != nil {
		return failed, err
	}
	return Run(ctx, d, lib, in, rows, out, o, run, check)
}

// within returns the rows [lo, hi) of a file of pairs, or an error if it does not have them.
func within(in *dataset.PairReader, lo, hi int) (Rows, error) {
	return rangeOf("rows", lo, hi, int(min(in.Len(), math.MaxInt)), "pairs")
}

// rangeOf returns the rows or worlds [lo, hi) of a file of n pairs or worlds, or an error if it does not have them. hi
// may be [ToEnd].
func rangeOf(what string, lo, hi, n int, of string) (Rows, error) {
	if hi == ToEnd {
		hi = n
	}
	if lo < 0 || hi < lo || hi > n {
		return Rows{}, fmt.Errorf("%s %d to %d of a file of %d %s", what, lo, hi, n, of)
	}
	return Rows{Lo: lo, Hi: hi, Of: n}, nil
}

// Different returns an error if the results would replace a file that they are made from, or lie in its folder.
func Different(in, out string) error {
	a, err := os.Stat(in)
	if err != nil {
		return err
	}
	if b, err := os.Stat(out); err == nil && os.SameFile(a, b) {
		return fmt.Errorf("%s is the input %s; give the results another name", out, in)
	}
	return dataset.CheckBeside(in, out)
}

// Columns of results in an audit.
const (
	// AuditColumns claim something of a pair; what the others hold is judged together with one of these.
	AuditColumns = batch.ColStatus | batch.ColDistance
	// ProofColumns prove a distance from both sides.
	ProofColumns = batch.ColDistance | batch.ColGap | batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB
)

// audited is the number of rows that an audit of results with some columns has proved or refuted: without columns that
// prove distances it is none.
func audited(found *verify.Report, columns batch.Columns) int {
	if columns&AuditColumns == 0 || columns&batch.ColDistance != 0 && ProofColumns&^columns != 0 {
		return 0
	}
	return found.Rows - found.Unproved
}

// auditRows is the number of rows that are audited at a time.
const auditRows = 1 << 16

// Whole as the place of rows in a results file says that the file has these rows and no others.
const Whole = -1

// Audit audits the answers of the rows [lo, hi) of a file of pairs, from the shapes alone. They are the rows of a
// results file from at on. o are the options that the answers have to meet; the columns are taken from the file.
// progress, if not nil, is called with the number of rows since the last call. proved is the number of rows that the
// audit proved or refuted.
func Audit(ctx context.Context, lib *batch.Library, pairs string, lo, hi int, results string, at int, o batch.Options,
	workers int, progress func(rows int)) (found *verify.Report, proved int, err error) {
	in, err := dataset.OpenPairs(pairs)
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	from, err := dataset.OpenResults(results)
	if err != nil {
		return nil, 0, err
	}
	defer from.Close()
	rows, err := within(in, lo, hi)
	if err != nil {
		return nil, 0, err
	}
	n, have := rows.Hi-rows.Lo, int(from.Len())
	if at == Whole && have != n || at > 0 && at > have-n || n > have {
		return nil, 0, fmt.Errorf("%d pairs of %s have answers from row %d of %s on, which holds %d rows", n, pairs,
			max(at, 0), results, have)
	}
	source, err := dispatch.Shard(in, rows.Lo, rows.Hi)
	if err != nil {
		return nil, 0, err
	}
	o.Columns, o.Precision = from.Columns(), from.Precision()
	if err := Skip(from, at); err != nil {
		return nil, 0, err
	}
	total := new(verify.Report)
	err = chunks(lib, source, from, n, o, auditRows, func(job *batch.Job, first int64) error {
		audit, err := verify.Audit(ctx, job, verify.Options{Workers: workers, FirstRow: rows.Lo + int(first), Seed: 1,
			Progress: progress})
		if err == nil {
			total.Merge(audit)
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return total, audited(total, o.Columns), nil
}

// Skip passes over the next n rows of results: a reader has no range, so that they are read and dropped.
func Skip(results *dataset.ResultReader, n int) error {
	if n <= 0 {
		return nil
	}
	dropped := batch.NewResults(min(n, auditRows), &batch.Options{Columns: results.Columns(),
		Precision: results.Precision()})
	for n > 0 {
		k := min(n, auditRows)
		if err := Fill(k, func(at int) (int, error) { return results.Next(dropped.Slice(at, k)) }); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// Chunks calls f with the pairs of a source and their results, so many rows at a time and in order, and with the first
// of these rows. The options have the columns and the precision of the results. The job is valid until f returns.
func Chunks(lib *batch.Library, pairs dispatch.Source, results *dataset.ResultReader, o batch.Options, most int64,
	f func(job *batch.Job, first int64) error) error {
	return chunks(lib, pairs, results, int(results.Len()), o, most, f)
}

// chunks is Chunks of the next rows of results.
func chunks(lib *batch.Library, pairs dispatch.Source, results *dataset.ResultReader, rows int, o batch.Options,
	most int64, f func(job *batch.Job, first int64) error) error {
	r := batch.NewResults(int(min(int64(rows), most)), &o)
	var p batch.Input
	for first := int64(0); first < int64(rows); first += most {
		n := int(min(int64(rows)-first, most))
		var err error
		if p, err = pairs.Rows(int(first), int(first)+n, p); err != nil {
			return err
		}
		if err := Fill(n, func(at int) (int, error) { return results.Next(r.Slice(at, n)) }); err != nil {
			return err
		}
		if err := f(&batch.Job{Library: lib, Input: p, Options: o, Results: r.Slice(0, n)}, first); err != nil {
			return err
		}
	}
	return nil
}

// Fill calls next, with the number of rows so far, until it has yielded n rows.
func Fill(n int, next func(at int) (int, error)) error {
	for at := 0; at < n; {
		k, err := next(at)
		if errors.Is(err, io.EOF) || (err == nil && k == 0) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		at += k
	}
	return nil
}

// WorldSource is worlds of a file of bodies, or of shapes, which are bodies of one part.
type WorldSource struct {
	*dataset.WorldReader[*batch.Worlds]
	Bodies   *batch.Bodies
	allPairs bool // whatever pairs the file lists
}

// OpenWorlds opens a file of worlds of bodies of a table or, where the file lists shapes, of its library.
func OpenWorlds(path string, bodies *batch.Bodies, allPairs bool) (*WorldSource, error) {
	has, err := dataset.HasBodies(path)
	if err != nil {
		return nil, err
	}
	s := &WorldSource{Bodies: bodies, allPairs: allPairs}
	if has {
		s.WorldReader, err = dataset.OpenRollout(path, bodies)
	} else {
		s.Bodies = batch.BodiesOfShapes(bodies.Library())
		s.WorldReader, err = dataset.OpenWorlds(path)
	}
	return s, err
}

// RowsPerWorld is the number of pairs of a world, 0 of all pairs.
func (s *WorldSource) RowsPerWorld() int {
	if s.allPairs {
		return 0
	}
	return s.WorldReader.RowsPerWorld()
}

// Worlds returns worlds [lo, hi).
func (s *WorldSource) Worlds(lo, hi int) (*batch.Worlds, error) {
	w, err := s.WorldReader.Worlds(lo, hi)
	if err != nil {
		return nil, err
	}
	if s.allPairs {
		w.AllPairs, w.TemplateA, w.TemplateB = true, nil, nil
	}
	return w, w.CheckBodies(s.Bodies)
}

// WorldsOf returns the worlds [lo, hi) of a file of n, or an error if it does not have them. hi may be [ToEnd].
func WorldsOf(lo, hi, n int) (Rows, error) { return rangeOf("worlds", lo, hi, n, "worlds") }

// Meta is the metadata of results of worlds with so many pairs each: the worlds and rows that they are of. All pairs,
// whose number is given as 0, have no numbers of rows. Results of all worlds state nothing.
func (r Rows) Meta(pairs int) map[string]string {
	switch {
	case r.all():
		return nil
	case pairs == 0:
		return map[string]string{dataset.MetaWorlds: r.text(1)}
	}
	return map[string]string{MetaRows: r.text(pairs), dataset.MetaWorlds: r.text(1)}
}

// CreateRollout begins a file of results of a range of worlds of a source, with the options as metadata. Rows of all
// pairs have the numbers of their worlds in the file.
func (s *WorldSource) CreateRollout(path string, o *batch.RolloutOptions, r Rows) *dataset.RolloutWriter {
	rows := int64(r.Len()) * int64(s.RowsPerWorld())
	switch {
	case o.Reduce == batch.ReduceWorld:
		rows = int64(r.Len())
	case s.RowsPerWorld() == 0:
		rows = dataset.UnknownRows
	}
	meta := map[string]string{MetaMethod: o.Method.String(), MetaTolerance: number(o.Tolerance)}
	maps.Copy(meta, r.Meta(s.RowsPerWorld()))
	w := dataset.CreateRolloutResults(path, o, r.Len(), rows, meta)
	w.From(r.Lo)
	if rows == dataset.UnknownRows && o.EveryPair() {
		w.AtLeast(int64(r.Len()) * s.pairs())
	}
	return w
}

// pairs is the number of pairs that every world has at least, of all pairs.
func (s *WorldSource) pairs() int64 {
	n := int64(0)
	for _, body := range s.SharedList() {
		if body >= 0 {
			n++
		}
	}
	return max(n*(n-1)/2-int64(s.Skips()), 0)
}

// CreateSweep begins a file of results of a range of worlds of motions, with both tolerances as metadata.
func CreateSweep(path string, from *dataset.WorldReader[*batch.Motions], tolerance, timeTolerance float64, r Rows) (
	*dataset.SweepWriter, error) {
	meta := map[string]string{MetaTolerance: number(tolerance), "time_tolerance": number(timeTolerance)}
	maps.Copy(meta, r.Meta(from.RowsPerWorld()))
	return dataset.CreateSweepResults(path, r.Len(), from.WayPoints(), int64(r.Len())*int64(from.RowsPerWorld()), meta)
}

// number is a float as metadata have it.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Simulation returns the scene of a simulation of worlds, which were read from a file over a file of shapes: of the
// pairs of the worlds, with the physics that the file of shapes states, completed by defaults. The state is at rest.
// Errors name one of the files.
func Simulation(shapes, worlds string, bodies *batch.Bodies, w *batch.Worlds, defaults batch.Physics) (*contact.Scene,
	*contact.State, error) {
	file, err := dataset.ReadScene(shapes)
	if err != nil {
		return nil, nil, err
	}
	if !file.Listed || bodies.Len() != file.Bodies.Len() {
		file.Physics = nil
	}
	if bodies.Len() != file.Bodies.Len() {
		file.Surfaces = nil
	}
	list := w.Bodies
	if list == nil {
		list = w.Shapes
	}
	m := w.BodiesPerWorld()
	for i, b := range list {
		if b < 0 || b != list[i%m] {
			return nil, nil, fmt.Errorf("%s: world %d, body %d: the worlds of a simulation all have the same bodies, "+
				"without gaps", worlds, i/m, i%m)
		}
	}
	scene, err := contact.NewScene(bodies, list[:m:m], file.Physics, defaults)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %s", shapes, strings.TrimPrefix(err.Error(), "contact: scene: "))
	}
	if err := scene.SetPairs(file.Surfaces); err != nil {
		return nil, nil, fmt.Errorf("%s: %s", shapes, strings.TrimPrefix(err.Error(), "contact: scene: "))
	}
	scene.SkipA, scene.SkipB = w.SkipA, w.SkipB
	if !w.AllPairs {
		scene.SkipA, scene.SkipB = complement(m, w.TemplateA, w.TemplateB)
	}
	return scene, &contact.State{Worlds: w.Count(), Pose: w.Poses}, nil
}

// complement lists the pairs of m bodies that are not in a list.
func complement(m int, a, b []int32) (skipA, skipB []int32) {
	listed := map[[2]int32]bool{}
	for i := range a {
		listed[[2]int32{min(a[i], b[i]), max(a[i], b[i])}] = true
	}
	for j := range int32(m) {
		for i := range j {
			if !listed[[2]int32{i, j}] {
				skipA, skipB = append(skipA, i), append(skipB, j)
			}
		}
	}
	return skipA, skipB
}
