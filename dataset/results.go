package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"clearance/batch"
	"clearance/dataset/output"
	"clearance/dataset/table"
	"clearance/geom"
)

// A ResultReader reads a file of results in chunks.
type ResultReader struct {
	tableReader
	columns   batch.Columns
	precision batch.Precision
	solvers   *solverCodes // nil: the codes are those of this version
}

// OpenResults opens a Parquet or NPZ file of results, which may hold any of the
// result columns. Other columns are not read.
func OpenResults(path string, opts ...Option) (*ResultReader, error) {
	cols := table.Results(table.Float32, table.Float64)
	src, err := openTableWith(path, cols, table.Leniency{Extra: true}, opts)
	if err != nil {
		return nil, err
	}
	r := &ResultReader{tableReader: tableReader{path: path, src: src}}
	if err := errors.Join(r.describe(cols), r.readMetadata()); err != nil {
		_ = src.Close()
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return r, nil
}

// describe determines the columns and the precision of the file.
func (r *ResultReader) describe(cols []table.Column) error {
	first := -1
	for i, bit := range table.ResultBits {
		t, ok := r.src.TypeOf(i)
		if !ok {
			continue
		}
		r.columns |= bit
		if bit.Info().Type != batch.Real {
			continue
		}
		p := batch.Single
		if t == table.Float64 {
			p = batch.Double
		}
		if first >= 0 && p != r.precision {
			return fmt.Errorf("column %s is %s, column %s is not", cols[i].Name, t, cols[first].Name)
		}
		first, r.precision = i, p
	}
	if s, ok := r.src.Metadata()[metaPrecision]; ok {
		p, err := batch.ParsePrecision(s)
		if err != nil {
			return err
		}
		if first >= 0 && p != r.precision {
			return fmt.Errorf("metadata says precision %s, column %s is %s", p, cols[first].Name,
				table.RealOf(r.precision))
		}
		r.precision = p
	}
	return nil
}

// Len returns the number of rows that the file declares.
func (r *ResultReader) Len() int64 { return r.src.Rows() }

// Columns returns the columns of the file.
func (r *ResultReader) Columns() batch.Columns { return r.columns }

// Precision returns the precision of the columns or, if no column has one, that of the
// metadata, or else single.
func (r *ResultReader) Precision() batch.Precision { return r.precision }

// Metadata returns the metadata of the file, such as "query".
func (r *ResultReader) Metadata() map[string]string { return r.src.Metadata() }

// Next fills the first rows of dst, whose columns and precision must be those of
// the file, and returns their number, at most dst.N. At the end of the file it
// returns 0 and io.EOF.
func (r *ResultReader) Next(dst *batch.Results) (int, error) {
	if dst.Columns != r.columns || dst.Precision != r.precision {
		return 0, fmt.Errorf("dataset: %s holds columns (%v) in %s precision, not (%v) in %s",
			r.path, r.columns, r.precision, dst.Columns, dst.Precision)
	}
	if err := dst.CheckShape(); err != nil {
		return 0, err
	}
	first := r.next
	n, err := r.advance(dst.N, len(table.ResultBits), func(i, n int) any {
		return resultValues(dst, i, n)
	})
	if err == nil && dst.Method() != nil {
		err = r.translate(dst.Method()[:n], first)
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// translate replaces the codes of solvers, from a row on, by those of this version.
func (r *ResultReader) translate(codes []uint8, first int64) error {
	if r.solvers == nil {
		return nil
	}
	if i, code := r.solvers.translate(codes); i >= 0 {
		return fmt.Errorf("dataset: %s: row %d, column method: code %d is %.60q, which this version does not know",
			r.path, first+int64(i), code, r.solvers.names[code])
	}
	return nil
}

// Close closes the file.
func (r *ResultReader) Close() error { return r.src.Close() }

// resultValues is the first n rows of column i, nil if not in use.
func resultValues(r *batch.Results, i, n int) any {
	bit := table.ResultBits[i]
	if r.Columns&bit == 0 {
		return nil
	}
	n *= bit.Info().Width
	switch v := r.Column(bit).Any().(type) {
	case []float32:
		return v[:n]
	case []float64:
		return v[:n]
	case []uint8:
		return v[:n]
	case []uint16:
		return v[:n]
	}
	return emptyOf(bit.Info().Type.In(r.Precision))
}

// emptyOf returns a slice without values of an element type.
func emptyOf(t batch.ElementType) any {
	switch t {
	case batch.Float32:
		return []float32{}
	case batch.Float64:
		return []float64{}
	case batch.Uint8:
		return []uint8{}
	}
	return []uint16{}
}

// A ResultWriter writes a file of results. Close completes the file; Abort discards it.
type ResultWriter struct {
	tableWriter
	columns   batch.Columns
	precision batch.Precision
}

// CreateResults creates a Parquet or NPZ file of exactly n rows of the given columns, where 0
// stands for [batch.AllColumns].
func CreateResults(path string, columns batch.Columns, precision batch.Precision, n int64) (*ResultWriter, error) {
	return createResults(output.Disk{}, path, columns, precision, n, nil)
}

// CreateResultsWith is [CreateResults] of a file that carries the columns of extra, if that is not nil, too.
func CreateResultsWith(path string, columns batch.Columns, precision batch.Precision, n int64,
	extra *Extra) (*ResultWriter, error) {
	return createResults(output.Disk{}, path, columns, precision, n, extra)
}

func createResults(fs output.FS, path string, columns batch.Columns, precision batch.Precision,
	n int64, extra *Extra) (*ResultWriter, error) {
	if columns == 0 {
		columns = batch.AllColumns
	}
	if bad := columns &^ table.ResultColumns; bad != 0 {
		return nil, fmt.Errorf("dataset: %s: files have no column %v; the status column says what bits do", path, bad)
	}
	if precision >= batch.PrecisionCount {
		return nil, fmt.Errorf("dataset: %s: unknown %s", path, precision)
	}
	var cols []table.Column
	for i, c := range table.Results(table.RealOf(precision)) {
		if columns&table.ResultBits[i] != 0 {
			cols = append(cols, c)
		}
	}
	if extra != nil {
		if err := extra.matches(path); err != nil {
			return nil, err
		}
	}
	out, err := createOutput(fs, path, cols, n, extra)
	if err != nil {
		return nil, err
	}
	w := &ResultWriter{tableWriter{path: path, out: out, n: n}, columns, precision}
	w.Describe("status", codesText(batch.StatusCount))
	if columns&batch.ColMethod != 0 {
		w.Describe(metaSolvers, batch.SolverNames())
	}
	if columns&batch.ColSmoothness != 0 {
		w.Describe(batch.ColSmoothness.Info().Name, codesText(batch.SmoothnessCount))
	}
	w.Describe(metaPrecision, precision.String())
	return w, nil
}

// codesText lists the codes below count with their names: "0=separated,1=touching,…".
func codesText[T interface {
	~uint8
	fmt.Stringer
}](count T) string {
	var s []string
	for c := range count {
		s = append(s, fmt.Sprintf("%d=%s", uint8(c), c))
	}
	return strings.Join(s, ",")
}

// DescribeQuery sets the entries of the metadata that say which query the file answers and what its
// distance column holds. For each attribute that the query uses, an entry has the values of the library that
// are not the default, as a JSON object by the index of the shape. It returns an error for a query that no back end
// serves.
func (w *ResultWriter) DescribeQuery(q batch.Query, l *batch.Library) error {
	if err := (&batch.Options{Query: q}).Check(); err != nil {
		return fmt.Errorf("dataset: %s: %w", w.path, err)
	}
	w.Describe(metaQuery, q.String())
	w.Describe(metaValue, q.Info().Value)
	for _, a := range q.Info().Attributes {
		text, err := statedText(l, a)
		if err != nil {
			return fmt.Errorf("dataset: %s: %w", w.path, err)
		}
		w.Describe(a.Info().Plural, text)
	}
	return nil
}

// Describe sets an entry of the metadata, such as the tolerance. In NPZ files it is an array of no
// dimension that holds the text. It must be called before Close.
func (w *ResultWriter) Describe(key, value string) { w.out.Describe(key, value) }

// Write appends all rows of r, whose columns and precision must be those that
// the file was created with.
func (w *ResultWriter) Write(r *batch.Results) error {
	if r.Columns != w.columns || r.Precision != w.precision {
		return fmt.Errorf("dataset: %s takes columns (%v) in %s precision, not (%v) in %s",
			w.path, w.columns, w.precision, r.Columns, r.Precision)
	}
	if err := r.CheckShape(); err != nil {
		return err
	}
	var vals []any
	for i := range table.ResultBits {
		if v := resultValues(r, i, r.N); v != nil {
			vals = append(vals, v)
		}
	}
	return w.append(vals, r.N)
}

// Keys of the metadata that this package reads.
const (
	metaQuery     = "query"
	metaValue     = "value" // what the distance column holds
	metaPrecision = "precision"
	metaSolvers   = "solvers"      // names of the codes of the method column
	oldSolvers    = "method_codes" // the same in files of earlier versions
)

// readMetadata checks the query that the file answers, and reads the names of its solvers.
func (r *ResultReader) readMetadata() error {
	meta := r.src.Metadata()
	if s, ok := meta[metaQuery]; ok {
		q, err := batch.ParseQuery(s)
		if err != nil { // whose text may be long
			return fmt.Errorf("metadata %s: unknown query %.60q, want one of %v", metaQuery, s, batch.AnsweredQueries())
		}
		if err := (&batch.Options{Query: q}).Check(); err != nil {
			return fmt.Errorf("metadata %s: %w", metaQuery, err)
		}
	}
	for _, key := range []string{metaSolvers, oldSolvers} {
		if s, ok := meta[key]; ok {
			codes, err := parseSolvers(s)
			if err != nil {
				return fmt.Errorf("metadata %s: %w", key, err)
			}
			r.solvers = codes
			return nil
		}
	}
	return nil
}

// solverCodes translates the codes of a file into those of this version, by name.
type solverCodes struct {
	names [256]string
	codes [256]uint8
	known [256]bool
}

// parseSolvers reads the table of codes and names. A code that the table lacks stays as it is.
func parseSolvers(table string) (*solverCodes, error) {
	s := &solverCodes{}
	for code := range s.codes {
		s.codes[code], s.known[code] = uint8(code), true
	}
	for item := range strings.SplitSeq(table, ",") {
		number, name, ok := strings.Cut(item, "=")
		code, err := strconv.ParseUint(number, 10, 8)
		if !ok || err != nil || name == "" {
			return nil, fmt.Errorf("%.60q is not code=name, with a code of at most 255", item)
		}
		if s.names[code] != "" {
			return nil, fmt.Errorf("code %d occurs twice", code)
		}
		solver, err := batch.ParseSolver(name)
		s.names[code], s.codes[code], s.known[code] = name, uint8(solver), err == nil
	}
	return s, nil
}

// translate replaces the codes of a column. It returns the first index whose solver this version
// does not know, with its code, or -1.
func (s *solverCodes) translate(column []uint8) (unknown int, code uint8) {
	for i, c := range column {
		if !s.known[c] {
			return i, c
		}
		column[i] = s.codes[c]
	}
	return -1, 0
}

// statedText writes the values of an attribute that are not the default.
func statedText(l *batch.Library, a geom.Attribute) (string, error) {
	values := map[int32]any{}
	for i := range int32(l.Len()) {
		if v, ok := l.Stated(a, i); ok {
			values[i] = numberOrList(v)
		}
	}
	text, err := json.Marshal(values)
	return string(text), err
}

// Keys of the metadata of results of sweeps.
const (
	metaStates    = "states"
	metaWayPoints = "way_points"
)

// sweepValues points to the slices of the values of table.Sweeps.
func sweepValues(r *batch.SweepResults) []any {
	return []any{&r.State, &r.Lower, &r.Upper, &r.Closest, &r.T0, &r.T1, &r.PartA, &r.PartB, &r.Evaluations}
}

// SweepWriter writes results of a sweep by ranges of worlds. Close completes the file; Abort drops it.
type SweepWriter struct{ tableWriter }

// CreateSweepResults begins a Parquet or NPZ file of results of a sweep of W worlds through T way points: the columns
// state, lower, upper, closest, t0, t1, part_a, part_b and evaluations of [batch.SweepResults]. rows is the number of
// rows of all worlds. The metadata states the codes of the states, W and T, and has the given entries, [MetaWorlds] in
// place of W.
func CreateSweepResults(path string, worlds, wayPoints int, rows int64, meta map[string]string) (*SweepWriter, error) {
	out, err := createOutput(output.Disk{}, path, table.Sweeps, rows, nil)
	if err != nil {
		return nil, err
	}
	out.Describe(metaQuery, "sweep")
	out.Describe(metaStates, codesText(batch.SweepStateCount))
	out.Describe(MetaWorlds, worldsText(worlds, meta))
	out.Describe(metaWayPoints, fmt.Sprint(wayPoints))
	describeOthers(out, meta)
	return &SweepWriter{tableWriter{path: path, out: out, n: rows}}, nil
}

// Write appends the results of the next worlds.
func (w *SweepWriter) Write(r *batch.SweepResults) error {
	at := sweepValues(r)
	values := make([]any, len(at))
	for i, p := range at {
		values[i] = reflect.ValueOf(p).Elem().Interface()
	}
	return w.append(values, r.N)
}

// WriteSweepResults writes the results of a sweep to a Parquet or NPZ file, see [CreateSweepResults].
func WriteSweepResults(path string, r *batch.SweepResults, worlds, wayPoints int, meta map[string]string) error {
	w, err := CreateSweepResults(path, worlds, wayPoints, int64(r.N), meta)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := w.Write(r); err != nil {
		return err
	}
	return w.Close()
}

// ReadSweepResults reads a file of [WriteSweepResults], and its metadata.
func ReadSweepResults(path string, opts ...Option) (*batch.SweepResults, map[string]string, error) {
	src, err := openTable(path, table.Sweeps, opts)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	if err := checkTable(path, src, table.Sweeps); err != nil {
		return nil, nil, err
	}
	n := src.Rows()
	r := &batch.SweepResults{N: int(n)}
	for i, to := range sweepValues(r) {
		if err := readColumn(path, src, i, n, to); err != nil {
			return nil, nil, err
		}
	}
	return r, src.Metadata(), nil
}

// A SweepReader reads results of a sweep by ranges of worlds, see [ReadSweepResults].
type SweepReader struct {
	path   string
	src    table.Source
	lo, hi int
	next   int64
}

// OpenSweepResults opens a file of [WriteSweepResults], or a folder of parts.
func OpenSweepResults(path string, opts ...Option) (*SweepReader, error) {
	src, err := openTable(path, table.Sweeps, opts)
	if err != nil {
		return nil, err
	}
	r := &SweepReader{path: path, src: src}
	if _, stated := src.Metadata()[MetaWorlds]; stated {
		if r.lo, r.hi, err = worldsOfMeta(src.Metadata()); err != nil {
			return nil, errors.Join(fmt.Errorf("dataset: %s: %w", path, err), src.Close())
		}
	}
	return r, nil
}

// Len returns the number of rows.
func (r *SweepReader) Len() int64 { return r.src.Rows() }

// Metadata returns the metadata of the file.
func (r *SweepReader) Metadata() map[string]string { return r.src.Metadata() }

// Range returns the worlds that the results are of, see [RolloutReader.Range].
func (r *SweepReader) Range() (lo, hi int) { return r.lo, r.hi }

// Close closes the file.
func (r *SweepReader) Close() error { return r.src.Close() }

// Worlds returns the results of worlds [lo, hi), by their numbers in the file of motions, which have so many rows each.
// Ranges ascend and do not overlap.
func (r *SweepReader) Worlds(lo, hi, rows int) (*batch.SweepResults, error) {
	at, n := int64(lo-r.lo)*int64(rows), (hi-lo)*rows
	if at < r.next || n < 0 || at+int64(n) > r.Len() {
		return nil, beyond(r.path, lo, hi, rows, r.Len())
	}
	out := batch.NewSweepResults(n)
	columns := sweepValues(out)
	dst := make([]any, len(columns))
	for i, to := range columns {
		dst[i] = reflect.ValueOf(to).Elem().Interface()
	}
	err := r.src.Skip(at - r.next)
	if err == nil {
		err = r.src.Read(dst)
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", r.path, notEnd(err))
	}
	r.next = at + int64(n)
	return out, nil
}
