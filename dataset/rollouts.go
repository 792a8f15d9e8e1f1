package dataset

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"clearance/batch"
	"clearance/dataset/output"
	"clearance/dataset/table"
	"clearance/internal/memory"
)

// Keys of the metadata of results of rollouts.
const (
	metaReduce      = "reduce"
	metaMaxDistance = "max_distance"
	metaComplete    = "contacts_complete" // of worlds: whether contacts counts all of them
)

// rolloutValues are the columns of results of rollouts that those of pairs lack, and their values. The first world has
// the given number.
func rolloutValues(r *batch.RolloutResults, first int) (cols []table.Column, values []any) {
	add := func(name string, present bool, v any) {
		if present {
			cols, values = append(cols, table.Named(table.Rollouts, name)...), append(values, v)
		}
	}
	add(table.PartA, true, r.PartA)
	add(table.PartB, true, r.PartB)
	add(table.Pair, r.Pair != nil, r.Pair)
	add(table.Contacts, r.Contacts != nil, r.Contacts)
	add(table.Failed, r.Failed != nil, r.Failed)
	add(table.Any, r.Any != nil, r.Any)
	add(table.BodyA, r.BodyA != nil, r.BodyA)
	add(table.BodyB, r.BodyB != nil, r.BodyB)
	add(table.World, r.Offsets != nil, worldsOf(r.Offsets, first))
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
			return nil, fmt.Errorf("column %s, row %d: world %d, want one in ascending order below %d", table.World, i,
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
	cols    []table.Column

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
	n := int64(table.Len(f.held[0])/f.cols[0].Width) + int64(rows)
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
func (f *RolloutWriter) columns(r *batch.RolloutResults) (cols []table.Column, values []any) {
	for i, c := range table.Results(table.RealOf(r.Precision)) {
		if v := resultValues(r.Results, i, r.N); v != nil {
			cols, values = append(cols, c), append(values, v)
		}
	}
	others, more := rolloutValues(r, f.first+f.written)
	return append(cols, others...), append(values, more...)
}

// create creates the file, of so many rows.
func (f *RolloutWriter) create(rows int64) error {
	out, err := createOutput(output.Disk{}, f.path, f.cols, rows, nil)
	if err != nil {
		return err
	}
	f.w = &tableWriter{path: f.path, out: out, n: max(rows, 0)}
	out.Describe("status", codesText(batch.StatusCount))
	out.Describe(metaSolvers, batch.SolverNames())
	out.Describe(metaPrecision, f.precision.String())
	out.Describe(metaQuery, f.o.Query.String())
	out.Describe(metaValue, f.o.Query.Info().Value)
	out.Describe(metaReduce, f.o.Reduce.String())
	out.Describe(MetaWorlds, worldsText(f.worlds, f.meta))
	if f.o.Reduce == batch.ReduceWorld {
		out.Describe(metaComplete, strconv.FormatBool(f.complete))
	}
	if f.o.HasMaxDistance {
		out.Describe(metaMaxDistance, fmt.Sprint(f.o.MaxDistance))
	}
	describeOthers(out, f.meta)
	return nil
}

// worldsText is the metadata [MetaWorlds]: the number of worlds, or the range that the caller states in its place.
func worldsText(worlds int, meta map[string]string) string {
	if text, ok := meta[MetaWorlds]; ok {
		return text
	}
	return strconv.Itoa(worlds)
}

// describeOthers adds the metadata of the caller but for [MetaWorlds].
func describeOthers(out table.Sink, meta map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if key != MetaWorlds {
			out.Describe(key, meta[key])
		}
	}
}

// worldsOfMeta parses the metadata [MetaWorlds]: results of worlds [lo, hi), where a number alone stands for 0 to it.
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
		rows := table.Len(f.held[0]) / f.cols[0].Width
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
	return f.r, f.src.Metadata(), nil
}

// openRollout opens a file and checks which columns it has.
func openRollout(path string, opts []Option) (*rolloutFile, error) {
	cols := rolloutResultColumns()
	src, err := openTable(path, cols, opts)
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
func rolloutResultColumns() []table.Column {
	return append(table.Results(table.Float32, table.Float64), table.Optional(table.Rollouts)...)
}

// rolloutFile is a file of results of a rollout while it is read.
type rolloutFile struct {
	ResultReader
	cols []table.Column
	r    *batch.RolloutResults // of a file that is read as a whole
}

// column returns the index of a column, and whether the file has it.
func (f *rolloutFile) column(name string) (i int, ok bool) {
	i = slices.IndexFunc(f.cols, func(c table.Column) bool { return c.Name == name })
	_, ok = f.src.TypeOf(i)
	return i, ok
}

// checkColumns reports a column that the file must have, given the others.
func (f *rolloutFile) checkColumns() error {
	for _, c := range []struct{ name, with string }{ // with "": of every file
		{table.PartA, ""}, {table.PartB, ""},
		{table.Contacts, table.Pair}, {table.Failed, table.Pair}, {table.Any, table.Pair},
		{table.Pair, table.Contacts}, {table.Pair, table.Failed}, {table.Pair, table.Any},
		{table.BodyA, table.BodyB}, {table.BodyB, table.BodyA}, {table.BodyA, table.World},
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
		return fmt.Errorf("column %s is missing, want %s [N]%s", c.name, f.cols[i].TypeNames(), of)
	}
	return nil
}

// read reads all columns.
func (f *rolloutFile) read(opts []Option) error {
	if err := checkTable(f.path, f.src, f.cols); err != nil {
		return err
	}
	n, r := f.src.Rows(), f.r
	r.Results = batch.NewResults(0, &batch.Options{Columns: f.columns, Precision: f.precision})
	b := &resultBlock{RolloutResults: r}
	others := b.others()
	for i := range f.cols {
		if _, ok := f.src.TypeOf(i); !ok {
			continue
		}
		if err := readColumn(f.path, f.src, i, n*int64(f.cols[i].Width), b.column(f, i, others)); err != nil {
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
	v := r.Column(table.ResultBits[i])
	switch table.ResultBits[i].Info().Type.In(r.Precision) {
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
	meta := f.src.Metadata()
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
	if err := newLimits(opts).Take(8*(int64(count)+1), fmt.Sprintf("offsets of %d worlds", count)); err != nil {
		return wrong(MetaWorlds, err)
	}
	f.r.Offsets, err = offsetsOf(worlds, count)
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", f.path, err)
	}
	return nil
}

// A RolloutReader reads results of a rollout by ranges of worlds, see [ReadRolloutResults].
type RolloutReader struct {
	f      *rolloutFile
	lo, hi int // the worlds that the results are of
	block  *resultBlock
	first  int64 // row of the last range
}

// resultBlock is some rows of a file, of which those before next have been passed.
type resultBlock struct {
	*batch.RolloutResults
	worlds []int32 // of the rows, nil but for all pairs
	next   int
}

// blockRows is the number of rows of all pairs that are read at a time: how many a world has, the file does not say.
const blockRows = 1 << 15

// OpenRolloutResults opens a file of [WriteRolloutResults], or a folder of parts.
func OpenRolloutResults(path string, opts ...Option) (*RolloutReader, error) {
	f, err := openRollout(path, opts)
	if err != nil {
		return nil, err
	}
	r := &RolloutReader{f: f}
	if _, stated := f.src.Metadata()[MetaWorlds]; stated || r.AllPairs() {
		if r.lo, r.hi, err = worldsOfMeta(f.src.Metadata()); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("dataset: %s: %w", path, err)
		}
	}
	return r, nil
}

// Len returns the number of rows.
func (r *RolloutReader) Len() int64 { return r.f.Len() }

// Columns returns the columns of pairs that the file has.
func (r *RolloutReader) Columns() batch.Columns { return r.f.columns }

// Precision returns the precision of the columns.
func (r *RolloutReader) Precision() batch.Precision { return r.f.precision }

// Metadata returns the metadata of the file.
func (r *RolloutReader) Metadata() map[string]string { return r.f.Metadata() }

// Close closes the file.
func (r *RolloutReader) Close() error { return r.f.Close() }

// Reduced reports whether the file has a row per world.
func (r *RolloutReader) Reduced() bool { return r.has(table.Pair) }

// AllPairs reports whether the rows state their worlds, which have as many as are near one another.
func (r *RolloutReader) AllPairs() bool { return r.has(table.World) }

// Bodies reports whether the rows state their bodies.
func (r *RolloutReader) Bodies() bool { return r.has(table.BodyA) }

func (r *RolloutReader) has(name string) bool {
	_, ok := r.f.column(name)
	return ok
}

// Range returns the worlds [lo, hi) of a file of worlds that the results are of: 0 and their number but in results of
// some of them; 0 and 0 if the file does not say.
func (r *RolloutReader) Range() (lo, hi int) { return r.lo, r.hi }

// Worlds returns the results of worlds [lo, hi), by their numbers in the file of worlds, which have so many rows each,
// but where the rows state their worlds. Ranges ascend and do not overlap. Offsets, where there are some, are those of
// the range.
func (r *RolloutReader) Worlds(lo, hi, rows int) (*batch.RolloutResults, error) {
	if r.AllPairs() {
		return r.ofWorlds(lo, hi)
	}
	at := int64(lo-r.lo) * int64(rows)
	if n := int64(hi-lo) * int64(rows); at < r.f.next || hi < lo || at+n > r.Len() {
		return nil, beyond(r.f.path, lo, hi, rows, r.Len())
	}
	if err := r.f.skip(at - r.f.next); err != nil {
		return nil, err
	}
	b, err := r.f.block((hi - lo) * rows)
	if err != nil {
		return nil, err
	}
	r.first = at
	return b.RolloutResults, nil
}

// FirstRow returns the number of the first row of the last range.
func (r *RolloutReader) FirstRow() int64 { return r.first }

// beyond is the error of a file that does not have the results of worlds [lo, hi) of so many rows each.
func beyond(path string, lo, hi, rows int, has int64) error {
	return fmt.Errorf("dataset: %s: results of worlds %d to %d of %d rows each are asked for, the file has %d rows",
		path, lo, hi-1, rows, has)
}

// ofWorlds returns the rows whose worlds are those of a range.
func (r *RolloutReader) ofWorlds(lo, hi int) (*batch.RolloutResults, error) {
	if lo < r.lo || hi < lo || hi > r.hi {
		return nil, fmt.Errorf("dataset: %s: results of worlds %d to %d are asked for, the file has those of %d to %d",
			r.f.path, lo, hi-1, r.lo, r.hi-1)
	}
	type piece struct {
		of         *resultBlock
		begin, end int
	}
	var pieces []piece
	total := 0
	for {
		b := r.block
		if b == nil || b.next == b.N {
			n := int(min(blockRows, r.Len()-r.f.next))
			if n == 0 {
				break
			}
			var err error
			if b, err = r.f.block(n); err != nil {
				return nil, err
			}
			if err := b.ascends(r); err != nil {
				return nil, err
			}
			r.block = b
		}
		left := b.worlds[b.next:]
		begin := b.next + sort.Search(len(left), func(i int) bool { return int(left[i]) >= lo })
		end := b.next + sort.Search(len(left), func(i int) bool { return int(left[i]) >= hi })
		if b.next = end; end > begin {
			if total == 0 {
				r.first = r.f.next - int64(b.N-begin)
			}
			pieces = append(pieces, piece{b, begin, end})
			total += end - begin
		}
		if end < b.N {
			break
		}
	}
	out := r.f.newBlock(total)
	at := 0
	for _, p := range pieces {
		out.copy(at, p.of, p.begin, p.end)
		at += p.end - p.begin
	}
	for i := range out.worlds {
		out.worlds[i] -= int32(lo)
	}
	var err error
	out.Offsets, err = offsetsOf(out.worlds, hi-lo)
	return out.RolloutResults, err
}

// ascends returns an error if the worlds of a block are not in order, or not those of the results.
func (b *resultBlock) ascends(r *RolloutReader) error {
	last := int32(r.lo)
	if r.block != nil {
		last = r.block.worlds[r.block.N-1]
	}
	for i, w := range b.worlds {
		if w < last || int(w) >= r.hi {
			return fmt.Errorf("dataset: %s: column %s, row %d: world %d, want one in ascending order from %d to %d",
				r.f.path, table.World, r.f.next-int64(b.N)+int64(i), w, r.lo, r.hi-1)
		}
		last = w
	}
	return nil
}

// copy sets the rows from at on to rows [begin, end) of another block.
func (b *resultBlock) copy(at int, from *resultBlock, begin, end int) {
	for i := begin; i < end; i++ {
		b.CopyRow(at+i-begin, from.Results, i, b.Columns)
	}
	of := from.others()
	for name, to := range b.others() {
		if v := reflect.ValueOf(to).Elem(); !v.IsNil() {
			reflect.Copy(v.Slice(at, v.Len()), reflect.ValueOf(of[name]).Elem().Slice(begin, end))
		}
	}
}

// others are the columns of a block besides those of pairs, by name: pointers to slices, of those that the file lacks
// to nil.
func (b *resultBlock) others() map[string]any {
	return map[string]any{table.PartA: &b.PartA, table.PartB: &b.PartB, table.Pair: &b.Pair,
		table.Contacts: &b.Contacts, table.Failed: &b.Failed, table.Any: &b.Any, table.BodyA: &b.BodyA,
		table.BodyB: &b.BodyB, table.World: &b.worlds}
}

// column points to the slice of column i of a file; others are those of the block.
func (b *resultBlock) column(f *rolloutFile, i int, others map[string]any) any {
	if to := others[f.cols[i].Name]; to != nil {
		return to
	}
	return resultColumn(b.Results, i)
}

// newBlock returns room for n rows.
func (f *rolloutFile) newBlock(n int) *resultBlock {
	o := &batch.Options{Columns: f.columns, Precision: f.precision}
	b := &resultBlock{RolloutResults: &batch.RolloutResults{Results: batch.NewResults(n, o)}}
	for name, to := range b.others() {
		if _, ok := f.column(name); ok {
			v := reflect.ValueOf(to).Elem()
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
	}
	return b
}

// block reads the next n rows.
func (f *rolloutFile) block(n int) (*resultBlock, error) {
	b, first := f.newBlock(n), f.next
	others := b.others()
	dst := make([]any, len(f.cols))
	for i := range f.cols {
		if _, ok := f.src.TypeOf(i); !ok {
			continue
		}
		dst[i] = reflect.ValueOf(b.column(f, i, others)).Elem().Interface()
	}
	if err := notEnd(f.src.Read(dst)); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", f.path, err)
	}
	f.next += int64(n)
	return b, f.translate(b.Method(), first)
}

// skip passes over n rows.
func (f *rolloutFile) skip(n int64) error {
	if n == 0 {
		return nil
	}
	if err := f.src.Skip(n); err != nil {
		return fmt.Errorf("dataset: %s: %w", f.path, notEnd(err))
	}
	f.next += n
	return nil
}
