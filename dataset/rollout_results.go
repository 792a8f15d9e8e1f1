package dataset

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"clearance/batch"
	"clearance/internal/memory"
)

// Keys of the metadata of results of rollouts.
const (
	metaReduce      = "reduce"
	metaMaxDistance = "max_distance"
	metaComplete    = "contacts_complete" // of worlds: whether contacts counts all of them
)

// Columns of results of rollouts that those of pairs lack.
const (
	columnPartA    = "part_a"
	columnPartB    = "part_b"
	columnPair     = "pair"
	columnContacts = "contacts"
	columnFailed   = "failed"
	columnAny      = "any"
	columnBodyA    = "body_a"
	columnBodyB    = "body_b"
	columnWorld    = "world" // of each row of all pairs
)

// rolloutColumns are the columns of results of rollouts that those of pairs lack. The first world has the given number.
func rolloutColumns(r *batch.RolloutResults, first int) (cols []column, values []any) {
	add := func(name string, typ dtype, present bool, v any) {
		if present {
			cols, values = append(cols, column{name, 1, []dtype{typ}}), append(values, v)
		}
	}
	add(columnPartA, typeInt32, true, r.PartA)
	add(columnPartB, typeInt32, true, r.PartB)
	add(columnPair, typeInt32, r.Pair != nil, r.Pair)
	add(columnContacts, typeInt32, r.Contacts != nil, r.Contacts)
	add(columnFailed, typeInt32, r.Failed != nil, r.Failed)
	add(columnAny, typeUint8, r.Any != nil, r.Any)
	add(columnBodyA, typeInt32, r.BodyA != nil, r.BodyA)
	add(columnBodyB, typeInt32, r.BodyB != nil, r.BodyB)
	add(columnWorld, typeInt32, r.Offsets != nil, worldsOf(r.Offsets, first))
	return cols, values
}

// worldsOf returns the world of each row; the first world has the given number.
func worldsOf(offsets []int64, first int) []int32 {
	var worlds []int32
	for w := 1; w < len(offsets); w++ {
		for range offsets[w] - offsets[w-1] {
			worlds = append(worlds, int32(first+w-1))
		}
	}
	return worlds
}

// offsetsOf is the inverse of worldsOf.
func offsetsOf(worlds []int32, n int) ([]int64, error) {
	offsets := make([]int64, n+1)
	last := int32(0)
	for i, w := range worlds {
		if w < last || int(w) >= n {
			return nil, fmt.Errorf("column %s, row %d: world %d, want one in ascending order below %d", columnWorld, i,
				w, n)
		}
		last = w
		offsets[w+1]++
	}
	for w := range n {
		offsets[w+1] += offsets[w]
	}
	return offsets, nil
}

// RolloutWriter writes results of a rollout by ranges of worlds. The file appears under its name once Close has
// completed it; Abort drops it.
type RolloutWriter struct {
	path    string
	o       *batch.RolloutOptions
	worlds  int // of the whole
	first   int // number of the first world
	meta    map[string]string
	rows    int64 // of the whole, unknown if below 0
	written int   // worlds
	w       *tableWriter
	held    []any // columns that wait for their number of rows
	least   int64 // of the rows of the whole
	cols    []column

	// Of the results.
	precision batch.Precision
	complete  bool // contacts
}

// CreateRolloutResults begins a Parquet or NPZ file of results of a rollout of W worlds: the columns of
// [CreateResults] that the results have but bits, and part_a, part_b; of worlds also pair, contacts, failed and any; of
// all pairs body_a, body_b and the world of each row. The metadata states the query, the reduction, the largest
// distance, W, and of worlds whether contacts are complete, and has the given entries, [MetaWorlds] in place of W.
// rows is the number of rows of all worlds, or [UnknownRows]: an NPZ file states it before its first value, so that
// results of all pairs are held in memory for one until Close.
func CreateRolloutResults(path string, o *batch.RolloutOptions, worlds int, rows int64,
	meta map[string]string) *RolloutWriter {
	return &RolloutWriter{path: path, o: o, worlds: worlds, rows: rows, meta: meta}
}

// AtLeast says that there will be so many rows, of a number that is not known: a disk without room for them is an error
// of the first write.
func (f *RolloutWriter) AtLeast(rows int64) { f.least = rows }

// From makes the first world that is written number first, as where results are those of some worlds of a file: rows of
// all pairs count from it.
func (f *RolloutWriter) From(first int) { f.first = first }

// UnknownRows stands for a number of rows that is not known before the last is written.
const UnknownRows = -1

// Write appends the results of the next worlds, and keeps no reference to them. All have the same columns.
func (f *RolloutWriter) Write(r *batch.RolloutResults) error {
	cols, values := f.columns(r)
	if f.cols == nil {
		f.cols, f.precision, f.complete = cols, r.Precision, r.ContactsComplete
		format, err := outputFormat(f.path)
		if err == nil {
			err = checkDisk(f.path, cols, f.least, format)
		}
		if err != nil {
			return err
		} else if f.rows < 0 && format == formatNPZ {
			f.held = make([]any, len(cols))
			for i, v := range values {
				f.held[i] = reflect.MakeSlice(reflect.TypeOf(v), 0, 0).Interface()
			}
		} else if err := f.create(f.rows); err != nil {
			return err
		}
	}
	f.written += worldsIn(r)
	if f.held != nil {
		if err := f.checkHeld(r.N); err != nil {
			return err
		}
		for i, v := range values {
			f.held[i] = reflect.AppendSlice(reflect.ValueOf(f.held[i]), reflect.ValueOf(v)).Interface()
		}
		return nil
	}
	if f.rows < 0 {
		f.w.n += int64(r.N)
	}
	return f.w.append(values, r.N)
}

// checkHeld returns an error if there is no memory for so many rows more, or no room on the disk for all.
func (f *RolloutWriter) checkHeld(rows int) error {
	n := int64(lenOf(f.held[0])/f.cols[0].width) + int64(rows)
	if err := checkDisk(f.path, f.cols, n, formatNPZ); err != nil {
		return err
	}
	// Columns grow by a quarter at a time, beside those that there are.
	what := fmt.Sprintf("%d rows of an NPZ file of all pairs", n)
	if err := memory.Check(what, 1.25*diskBytes(f.cols, n, formatNPZ)); err != nil {
		return fmt.Errorf("dataset: cannot write %s: %w; write a Parquet file or a folder", f.path, err)
	}
	return nil
}

// worldsIn is the number of worlds of results of all pairs; others state no number of worlds in their rows.
func worldsIn(r *batch.RolloutResults) int { return max(len(r.Offsets)-1, 0) }

// columns are the columns of results of the next worlds, and their values.
func (f *RolloutWriter) columns(r *batch.RolloutResults) (cols []column, values []any) {
	for i, c := range resultColumns(precisionType(r.Precision)) {
		if v := resultValues(r.Results, i, r.N); v != nil {
			cols, values = append(cols, c), append(values, v)
		}
	}
	others, more := rolloutColumns(r, f.first+f.written)
	return append(cols, others...), append(values, more...)
}

// create creates the file, of so many rows.
func (f *RolloutWriter) create(rows int64) error {
	out, err := createOutput(osFS{}, f.path, f.cols, rows, nil)
	if err != nil {
		return err
	}
	f.w = &tableWriter{path: f.path, out: out, n: max(rows, 0)}
	out.describe("status", codesText(batch.StatusCount))
	out.describe(metaSolvers, batch.SolverNames())
	out.describe(metaPrecision, f.precision.String())
	out.describe(metaQuery, f.o.Query.String())
	out.describe(metaValue, f.o.Query.Info().Value)
	out.describe(metaReduce, f.o.Reduce.String())
	out.describe(MetaWorlds, worldsText(f.worlds, f.meta))
	if f.o.Reduce == batch.ReduceWorld {
		out.describe(metaComplete, strconv.FormatBool(f.complete))
	}
	if f.o.HasMaxDistance {
		out.describe(metaMaxDistance, fmt.Sprint(f.o.MaxDistance))
	}
	describeOthers(out, f.meta)
	return nil
}

// worldsText is what results of so many worlds state of them, unless the entries of the caller have a range.
func worldsText(worlds int, meta map[string]string) string {
	if text, ok := meta[MetaWorlds]; ok {
		return text
	}
	return strconv.Itoa(worlds)
}

// describeOthers states the entries of the caller but that of [worldsText].
func describeOthers(out sink, meta map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if key != MetaWorlds {
			out.describe(key, meta[key])
		}
	}
}

// worldsOfMeta is the inverse of worldsText: worlds [lo, hi) of a file, from 0 on where the results are of all.
func worldsOfMeta(meta map[string]string) (lo, hi int, err error) {
	text := meta[MetaWorlds]
	begin, end, isRange := strings.Cut(text, ":")
	if !isRange {
		begin, end = "0", begin
	}
	first, errLo := strconv.ParseInt(begin, 10, 32)
	last, errHi := strconv.ParseInt(end, 10, 32)
	if errLo != nil || errHi != nil || first < 0 || last < first {
		return 0, 0, fmt.Errorf("metadata %s: %.60q, want the number of worlds, or a range lo:hi of them", MetaWorlds,
			text)
	}
	return int(first), int(last), nil
}

// Complete writes all of the file but its name and returns the temporary path under which it can be read until Close
// or Abort. Nothing can be written afterwards.
func (f *RolloutWriter) Complete() (path string, err error) {
	if f.held != nil {
		rows := lenOf(f.held[0]) / f.cols[0].width
		if err := f.create(int64(rows)); err != nil {
			return "", err
		}
		if err := f.w.append(f.held, rows); err != nil {
			return "", err
		}
		f.held = nil
	}
	if f.w == nil {
		return "", fmt.Errorf("dataset: %s: no results were written", f.path)
	}
	return f.w.Complete()
}

// Close completes the file and gives it its name.
func (f *RolloutWriter) Close() error {
	if _, err := f.Complete(); err != nil {
		return err
	}
	return f.w.Close()
}

// Abort drops the file, unless it has been completed.
func (f *RolloutWriter) Abort() {
	if f.w != nil {
		f.w.Abort()
	}
}

// WriteRolloutResults writes the results of a rollout of W worlds to a Parquet or NPZ file, see
// [CreateRolloutResults].
func WriteRolloutResults(path string, r *batch.RolloutResults, o *batch.RolloutOptions, worlds int,
	meta map[string]string) error {
	w := CreateRolloutResults(path, o, worlds, int64(r.N), meta)
	defer w.Abort()
	if err := w.Write(r); err != nil {
		return err
	}
	return w.Close()
}

// ReadRolloutResults reads a file of [WriteRolloutResults], and its metadata. Codes of solvers are translated by the
// names in the metadata. An option bounds the memory of Offsets, whose length only the metadata state.
func ReadRolloutResults(path string, opts ...Option) (*batch.RolloutResults, map[string]string, error) {
	f, err := openRollout(path, opts)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	f.r = &batch.RolloutResults{}
	if err := f.read(opts); err != nil {
		return nil, nil, err
	}
	return f.r, f.src.metadata(), nil
}

// openRollout opens a file and checks which columns it has.
func openRollout(path string, opts []Option) (*rolloutFile, error) {
	cols := rolloutResultColumns()
	src, err := openTable(path, cols, false, opts)
	if err != nil {
		return nil, err
	}
	f := &rolloutFile{ResultReader: ResultReader{tableReader: tableReader{path: path, src: src}}, cols: cols}
	if err := errors.Join(f.describe(cols), f.readMetadata(), f.checkColumns()); err != nil {
		return nil, errors.Join(fmt.Errorf("dataset: %s: %w", path, err), src.Close())
	}
	return f, nil
}

// rolloutResultColumns are all columns that a file may have.
func rolloutResultColumns() []column {
	all := &batch.RolloutResults{Pair: []int32{}, Contacts: []int32{}, Failed: []int32{}, Any: []uint8{},
		BodyA: []int32{}, BodyB: []int32{}, Offsets: []int64{0}}
	others, _ := rolloutColumns(all, 0)
	return append(resultColumns(typeFloat32, typeFloat64), others...)
}

// rolloutFile is a file of results of a rollout while it is read.
type rolloutFile struct {
	ResultReader
	cols []column
	r    *batch.RolloutResults // of a file that is read as a whole
}

// column returns the index of a column, and whether the file has it.
func (f *rolloutFile) column(name string) (i int, ok bool) {
	i = slices.IndexFunc(f.cols, func(c column) bool { return c.name == name })
	_, ok = f.src.typeOf(i)
	return i, ok
}

// checkColumns reports a column that the file must have, given the others.
func (f *rolloutFile) checkColumns() error {
	for _, c := range []struct{ name, with string }{
		{columnPartA, ""}, {columnPartB, ""},
		{columnContacts, columnPair}, {columnFailed, columnPair}, {columnAny, columnPair},
		{columnPair, columnContacts}, {columnPair, columnFailed}, {columnPair, columnAny},
		{columnBodyA, columnBodyB}, {columnBodyB, columnBodyA}, {columnBodyA, columnWorld},
	} {
		with := c.with == ""
		if !with {
			_, with = f.column(c.with)
		}
		i, has := f.column(c.name)
		if !with || has {
			continue
		}
		of := ""
		if c.with != "" {
			of = " besides " + c.with
		}
		return fmt.Errorf("column %s is missing, want %s [N]%s", c.name, f.cols[i].types(), of)
	}
	return nil
}

// read reads all columns.
func (f *rolloutFile) read(opts []Option) error {
	if err := checkTable(f.path, f.src, f.cols); err != nil {
		return err
	}
	n, r := f.src.rows(), f.r
	r.Results = batch.NewResults(0, &batch.Options{Columns: f.columns, Precision: f.precision})
	b := &resultBlock{RolloutResults: r}
	others := b.others()
	for i := range f.cols {
		if _, ok := f.src.typeOf(i); !ok {
			continue
		}
		if err := readColumn(f.path, f.src, i, n*int64(f.cols[i].width), b.column(f, i, others)); err != nil {
			return err
		}
	}
	r.N = int(n)
	err := f.translate(r.Method(), 0)
	if err == nil {
		err = f.readWorlds(b.worlds, opts)
	}
	return err
}

// resultColumn points to the slice of column i of those of package batch.
func resultColumn(r *batch.Results, i int) any {
	v := r.Column(columnBits[i])
	switch columnBits[i].Info().Type.In(r.Precision) {
	case batch.Float32:
		return &v.F32
	case batch.Float64:
		return &v.F64
	case batch.Uint8:
		return &v.U8
	}
	return &v.U16
}

// readWorlds reads what the metadata say of the worlds.
func (f *rolloutFile) readWorlds(worlds []int32, opts []Option) error {
	meta := f.src.metadata()
	wrong := func(key string, err error) error {
		return fmt.Errorf("dataset: %s: metadata %s: %w", f.path, key, err)
	}
	if s, ok := meta[metaComplete]; ok {
		complete, err := strconv.ParseBool(s)
		if err != nil {
			return wrong(metaComplete, fmt.Errorf("%.60q, want true or false", s))
		}
		f.r.ContactsComplete = complete
	}
	if worlds == nil {
		return nil
	}
	_, count, err := worldsOfMeta(meta)
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", f.path, err)
	}
	if err := newLimits(opts).take(8*(int64(count)+1), fmt.Sprintf("offsets of %d worlds", count)); err != nil {
		return wrong(MetaWorlds, err)
	}
	f.r.Offsets, err = offsetsOf(worlds, count)
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", f.path, err)
	}
	return nil
}
