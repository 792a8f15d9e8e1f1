// Package parquet reads and writes tables as Parquet files. The schema, the metadata, decoding but of plain pages, and
// the columns that results carry are those of arrow-go. Written here, with what that gains in the head of each file,
// are checks of what a file declares, plain pages, and encoding.
package parquet

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"clearance/dataset/table"
)

// Pages are decoded whole, so their size bounds the memory of a reader. Writers
// make pages of about 1 MiB; more than these is refused.
const (
	MaxPacked   = 64 << 20
	MaxUnpacked = 256 << 20
)

// Table is a source of the columns of a Parquet file.
//
// It reads the leaf columns with their repetition levels, not Arrow records:
// fixed-size and plain lists are the same in the file, columns advance a page at
// a time whatever the size of the row groups, and damage is met in this goroutine,
// where a panic of the library can be turned into an error.
type Table struct {
	path string
	f    *os.File
	size int64
	r    *file.Reader
	cols []*leaf // nil where the file lacks the column
	meta map[string]string

	workers int
}

// leaf is the position in one leaf column.
type leaf struct {
	table.Column
	index  int // among the leaves
	typ    table.Type
	repeat bool // is a list
	nulls  bool // may hold nulls

	group int   // next row group to open
	left  int64 // values left in the open one
	row   int64 // first row of the open one
	chunk file.ColumnChunkReader

	sparse bool   // the open row group has lists that are null
	levels levels // of such a row group

	source *pageReader // of the open row group
	page   plainValues // of the page at this place, none if the library reads it
	taken  int64       // values that the library has yielded, of those that it got from source
	form   rowForm
	parts  []plainPart // of a call

	pages    pageBuffers
	rep, def []int16
	buf      any // values of the physical type, where it is not that of the destination
}

// Open opens a Parquet file of columns within a memory budget.
func Open(path string, cols []table.Column, l *table.Limits, may table.Leniency) (*Table, error) {
	t, err := openFile(path, l)
	if err == nil {
		err = t.checked(func() error { return t.bind(cols, l, may) })
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// openFile opens a Parquet file whose metadata have been checked, without its columns.
func openFile(path string, l *table.Limits) (*Table, error) {
	f, size, err := table.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	t := &Table{path: path, f: f, size: size, workers: l.Workers}
	return t, t.checked(func() (err error) {
		if err := checkFooter(f, size, l); err != nil {
			return err
		}
		if t.r, err = file.NewParquetReader(f); err != nil {
			return fmt.Errorf("not a complete Parquet file (truncated, or another format): %w", err)
		}
		t.meta = textMetadata(t.r.MetaData().KeyValueMetadata())
		return nil
	})
}

// checked closes the file where a function of its metadata fails, or panics as the library does on some damage.
func (t *Table) checked(look func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("damaged Parquet metadata: %v", v)
		}
		if err != nil {
			_ = t.f.Close()
			err = fmt.Errorf("dataset: %s: %w", t.path, err)
		}
	}()
	return look()
}

// textMetadata is the metadata but for Arrow's own schema.
func textMetadata(kv metadata.KeyValueMetadata) map[string]string {
	m := map[string]string{}
	for _, e := range kv {
		if e != nil && e.Value != nil && e.Key != "ARROW:schema" {
			m[e.Key] = *e.Value
		}
	}
	return m
}

// bind finds the leaves of the columns and checks types, shapes and row counts.
func (t *Table) bind(cols []table.Column, limits *table.Limits, may table.Leniency) error {
	t.cols = make([]*leaf, len(cols))
	s := t.r.MetaData().Schema
	found := false
	for i := range s.NumColumns() {
		d := s.Column(i)
		name := d.ColumnPath()[0]
		if err := table.CheckName(name, cols); err != nil {
			if may.Extra {
				continue
			}
			return err
		}
		k := slices.IndexFunc(cols, func(c table.Column) bool { return c.Name == name })
		if t.cols[k] != nil {
			return fmt.Errorf("column %s is a group of several columns, want %s %s", name, cols[k].TypeNames(),
				cols[k].Shape())
		}
		l := &leaf{Column: cols[k], index: i, repeat: d.MaxRepetitionLevel() > 0, pages: pageBuffers{Limits: limits},
			nulls: may.Nulls}
		if err := l.bind(d); err != nil {
			return err
		}
		t.cols[k], found = l, true
	}
	if !found {
		return table.NoColumns(cols)
	}
	return t.checkCounts()
}

// bind checks shape and type of a leaf.
func (l *leaf) bind(d *schema.Column) error {
	ok := l.Width == 1 && len(d.ColumnPath()) == 1 && d.MaxRepetitionLevel() == 0 ||
		l.Width > 1 && d.MaxRepetitionLevel() == 1 && len(d.ColumnPath()) <= 3
	if !ok {
		return fmt.Errorf("column %s has shape %s with %d levels of lists, want %s", l.Name, d.Path(),
			d.MaxRepetitionLevel(), l.Shape())
	}
	t, ok := leafType(d)
	if !ok || !l.Accepts(t) {
		name := d.PhysicalType().String()
		if lt := d.LogicalType(); lt != nil && !lt.IsNone() {
			name += " " + lt.String()
		}
		if ok {
			name = t.String()
		}
		return fmt.Errorf("column %s is %s, want %s", l.Name, name, l.TypeNames())
	}
	l.typ = t
	l.form = rowForm{width: l.Width, size: t.Size(), maxRep: int(d.MaxRepetitionLevel()),
		maxDef: int(d.MaxDefinitionLevel()), pattern: appendPattern(nil, patternBytes*l.Width, l.Width)}
	return nil
}

// leafType is the type of the values of a leaf.
func leafType(d *schema.Column) (table.Type, bool) {
	lt := d.LogicalType()
	plain := lt == nil || lt.IsNone()
	switch d.PhysicalType() {
	case parquet.Types.Float:
		return table.Float32, plain
	case parquet.Types.Double:
		return table.Float64, plain
	case parquet.Types.Int64:
		if i, ok := lt.(schema.IntLogicalType); ok {
			return table.Int64, i.IsSigned()
		}
		return table.Int64, plain
	case parquet.Types.Int32:
		i, ok := lt.(schema.IntLogicalType)
		switch {
		case plain || ok && i.IsSigned() && i.BitWidth() == 32:
			return table.Int32, true
		case ok && !i.IsSigned() && i.BitWidth() == 8:
			return table.Uint8, true
		case ok && !i.IsSigned() && i.BitWidth() == 16:
			return table.Uint16, true
		}
	}
	return 0, false
}

// checkCounts compares the counts that the metadata gives in several places.
func (t *Table) checkCounts() error {
	var rows int64
	for g := range t.r.NumRowGroups() {
		m := t.r.RowGroup(g).MetaData()
		n := m.NumRows()
		if n < 0 || rows+n < rows {
			return fmt.Errorf("row group %d claims %d rows", g, n)
		}
		for _, l := range t.cols {
			if l == nil {
				continue
			}
			c, err := m.ColumnChunk(l.index)
			if err != nil {
				return fmt.Errorf("row group %d, column %s: %w", g, l.Name, err)
			}
			// A list that is null has one level in place of those of its values.
			short := l.nulls && t.r.MetaData().Schema.Column(l.index).MaxDefinitionLevel() > 0
			v := c.NumValues()
			if short && v >= n && v/int64(l.Width) <= n {
				continue
			}
			if v%int64(l.Width) != 0 || v/int64(l.Width) != n {
				return fmt.Errorf("column %s has %d values in rows %d to %d, want %d a row (lists of equal length, "+
					"none of them null)",
					l.Name, v, rows, rows+n-1, l.Width)
			}
		}
		rows += n
	}
	if n := t.r.NumRows(); n != rows {
		return fmt.Errorf("claims %d rows, its row groups hold %d", n, rows)
	}
	return nil
}

// Rows is the number of rows.
func (t *Table) Rows() int64 { return t.r.NumRows() }

func (t *Table) Metadata() map[string]string { return t.meta }

func (t *Table) Close() error { return t.r.Close() }

// TypeOf is the type of column i, ok is false if the file lacks it.
func (t *Table) TypeOf(i int) (table.Type, bool) {
	if t.cols[i] == nil {
		return 0, false
	}
	return t.cols[i].typ, true
}

// Read walks through the pages of each column, by a worker for each, and decodes those that are not plain. The values
// of plain pages are then read in parts by all workers.
func (t *Table) Read(dst []any) error {
	for i, v := range dst { // in order, so that the same column exceeds the budget each time
		if v == nil {
			continue
		}
		if err := t.cols[i].pages.ready(); err != nil {
			return fmt.Errorf("dataset: %s: column %s: %w", t.path, t.cols[i].Name, err)
		}
	}
	err := table.Parallel(table.WorkersOr(t.workers), len(dst), func(i int) error {
		if dst[i] == nil {
			return nil
		}
		return t.readColumn(t.cols[i], dst[i])
	})
	if err != nil {
		return err
	}
	var parts []plainPart
	for i, v := range dst {
		if v != nil {
			parts = append(parts, t.cols[i].parts...)
		}
	}
	return table.Parallel(table.WorkersOr(t.workers), len(parts), func(i int) error { return parts[i].read(t) })
}

// Skip passes over rows: over whole row groups by their number of rows, within one over plain pages by their length.
func (t *Table) Skip(rows int64) error {
	return table.Parallel(table.WorkersOr(t.workers), len(t.cols), func(i int) error {
		l := t.cols[i]
		if l == nil {
			return nil
		}
		for n := rows * int64(l.Width); n > 0; {
			if l.left == 0 {
				if group := t.groupRows(l) * int64(l.Width); group <= n {
					n, l.row, l.group = n-group, l.row+group/int64(l.Width), l.group+1
					continue
				}
			}
			if err := l.pages.ready(); err != nil {
				return fmt.Errorf("dataset: %s: column %s: %w", t.path, l.Name, err)
			}
			const block = 3 << 12 // values, a multiple of every width
			k := int(min(n, block))
			if err := t.readColumn(l, l.dropped(k)); err != nil {
				return err
			}
			n -= int64(k)
		}
		return nil
	})
}

// groupRows is the number of rows of the row group that a column opens next.
func (t *Table) groupRows(l *leaf) int64 {
	if l.group >= t.r.NumRowGroups() {
		return math.MaxInt32 // which fails to open
	}
	return t.r.RowGroup(l.group).NumRows()
}

// dropped is memory for n values that nobody reads.
func (l *leaf) dropped(n int) any {
	switch l.typ {
	case table.Float32:
		return make([]float32, n)
	case table.Float64:
		return make([]float64, n)
	case table.Uint8:
		return make([]uint8, n)
	case table.Uint16:
		return make([]uint16, n)
	}
	return make([]int32, n) // of int64 too
}

func (t *Table) readColumn(l *leaf, dst any) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("damaged page: %v", v)
		}
		if err != nil {
			err = fmt.Errorf("dataset: %s: column %s: %w", t.path, l.Name, err)
		}
	}()
	l.parts = l.parts[:0]
	for at, n := 0, table.Len(dst); at < n; {
		for l.left == 0 {
			if err := l.nextGroup(t); err != nil {
				return err
			}
		}
		k, err := l.next(table.Slice(dst, at, at+int(min(int64(n-at), l.left))))
		if err != nil {
			return err
		}
		at += k
		l.left -= int64(k)
		l.row += int64(k / l.Width)
		if l.left == 0 && (l.page.left > 0 || l.levels.more() || l.chunk.HasNext() || l.chunk.Err() != nil) {
			return fmt.Errorf("row %d: damaged: more values than the row group declares", l.row-1)
		}
	}
	return nil
}

// next reads rows of the open row group and returns the number of their values.
func (l *leaf) next(dst any) (int, error) {
	const block = 3 << 12 // values; a multiple of every width, so that rows stay whole
	n := table.Len(dst)
	if l.sparse {
		n = min(n, block)
		return n, l.rows(table.Slice(dst, 0, n))
	}
	if l.page.left == 0 && l.taken == l.source.given && l.typ != table.Uint8 && l.typ != table.Uint16 {
		var err error
		if l.page, _, err = l.source.plain(&l.form); err != nil {
			return 0, fmt.Errorf("row %d or later: damaged page: %w", l.row, err)
		}
	}
	if l.page.left > 0 {
		n = int(min(int64(n), l.page.left))
		l.take(table.Slice(dst, 0, n))
		return n, nil
	}
	// The library reads on to the end of its page, so that the next one may be read as a plain one. How long it is is
	// known once it has been begun.
	of := max(int(min(l.source.given-l.taken, block))/l.Width, 1) * l.Width
	n = min(n, of)
	l.taken += int64(n)
	return n, l.fill(table.Slice(dst, 0, n))
}

func (l *leaf) nextGroup(t *Table) error {
	chunk, pages, err := t.openChunk(l.group, l.index, &l.pages)
	if err != nil {
		return err
	}
	l.source, l.page, l.taken, l.chunk = pages, plainValues{}, 0, chunk
	l.left = t.r.RowGroup(l.group).NumRows() * int64(l.Width)
	l.sparse = pages.values != l.left
	l.levels = levels{chunk: chunk, read: l.levels.read, left: pages.values}
	l.group++
	return nil
}

// openChunk opens a leaf in a row group: its pages, and a reader of the library that takes them.
func (t *Table) openChunk(group, leaf int, b *pageBuffers) (file.ColumnChunkReader, *pageReader, error) {
	if group >= t.r.NumRowGroups() {
		return nil, nil, errors.New("ends before its last row")
	}
	m, err := t.r.RowGroup(group).MetaData().ColumnChunk(leaf)
	if err != nil {
		return nil, nil, fmt.Errorf("row group %d: %w", group, err)
	}
	old := t.r.WriterVersion().LessThan(metadata.Parquet816FixedVersion)
	pages, err := newPageReader(t.f, t.size, m, old, b)
	if err != nil {
		return nil, nil, fmt.Errorf("row group %d: %w", group, err)
	}
	//lint:ignore SA1019 there is no other way to give the library pages that were checked
	return file.NewColumnReader(t.r.MetaData().Schema.Column(leaf), pages, memory.DefaultAllocator,
		t.r.BufferPool()), pages, nil
}

// fill reads the next values of the open row group and checks that each row is
// there and of the right length. The number of values is a multiple of the width.
func (l *leaf) fill(dst any) error {
	n := table.Len(dst)
	if cap(l.def) < n {
		l.def, l.rep = make([]int16, n), make([]int16, n)
	}
	def, rep := l.def[:n], l.rep[:n]
	d := l.chunk.Descriptor()
	if d.MaxDefinitionLevel() == 0 {
		def = nil
	}
	if !l.repeat {
		rep = nil
	}
	levels, values, err := l.values(dst, def, rep)
	if err == nil {
		err = l.chunk.Err()
	}
	if err != nil {
		return fmt.Errorf("row %d or later: damaged page: %w", l.row, err)
	}
	if levels != int64(n) {
		return fmt.Errorf("row %d: damaged: its pages end here", l.row+levels/int64(l.Width))
	}
	for i, v := range rep {
		if (v == 0) != (i%l.Width == 0) {
			return fmt.Errorf("row %d: a list of another length than %d", l.row+int64(max(i-1, 0)/l.Width), l.Width)
		}
	}
	full, present := d.MaxDefinitionLevel(), n
	for i, v := range def {
		if v == full {
			continue
		}
		if !l.nulls {
			return fmt.Errorf("row %d: null, want a number", l.row+int64(i/l.Width))
		}
		present--
	}
	if values != present {
		return fmt.Errorf("row %d or later: damaged: %d values for %d places", l.row, values, present)
	}
	if present < n {
		spread(dst, def, full)
	}
	return nil
}

// values reads len(dst) values of the physical type and converts them.
func (l *leaf) values(dst any, def, rep []int16) (levels int64, values int, err error) {
	n := int64(table.Len(dst))
	switch c := l.chunk.(type) {
	case *file.Int32ColumnChunkReader:
		v, direct := dst.([]int32)
		if !direct {
			v = scratch[int32](l, int(n))
		}
		levels, values, err = c.ReadBatch(n, v, def, rep)
		if !direct && err == nil {
			err = narrow(v[:values], dst)
		}
	case *file.Int64ColumnChunkReader:
		v := scratch[int64](l, int(n))
		levels, values, err = c.ReadBatch(n, v, def, rep)
		for i, x := range v[:values] {
			dst.([]int32)[i] = table.Clamp32(x)
		}
	case *file.Float32ColumnChunkReader:
		v, direct := dst.([]float32)
		if !direct {
			v = scratch[float32](l, int(n))
		}
		levels, values, err = c.ReadBatch(n, v, def, rep)
		if !direct {
			for i, x := range v[:values] {
				dst.([]float64)[i] = float64(x)
			}
		}
	case *file.Float64ColumnChunkReader:
		levels, values, err = c.ReadBatch(n, dst.([]float64), def, rep)
	default:
		err = fmt.Errorf("holds %T", c)
	}
	return levels, values, err
}

func scratch[T any](l *leaf, n int) []T {
	b, ok := l.buf.([]T)
	if !ok || cap(b) < n {
		b = make([]T, n)
		l.buf = b
	}
	return b[:n]
}

// narrow stores small unsigned integers that the file holds as int32.
func narrow(v []int32, dst any) error {
	switch d := dst.(type) {
	case []uint8:
		for i, x := range v {
			if d[i] = uint8(x); int32(d[i]) != x {
				return fmt.Errorf("%d is no uint8", x)
			}
		}
	case []uint16:
		for i, x := range v {
			if d[i] = uint16(x); int32(d[i]) != x {
				return fmt.Errorf("%d is no uint16", x)
			}
		}
	}
	return nil
}

// Widths are the numbers of values of the columns in each row, if these are equal. What is wrong with a column
// is found by its reader.
func Widths(path string, l *table.Limits) (widths map[string]int, err error) {
	t, err := openFile(path, l)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	widths = map[string]int{}
	return widths, t.checked(func() error { return t.measure(widths) })
}

func (t *Table) measure(widths map[string]int) error {
	s := t.r.MetaData().Schema
	for i := range s.NumColumns() {
		d := s.Column(i)
		name := d.ColumnPath()[0]
		if d.MaxRepetitionLevel() == 0 {
			widths[name] = 1
			continue
		}
		var values, rows int64
		for g := range t.r.NumRowGroups() {
			group := t.r.RowGroup(g).MetaData()
			c, err := group.ColumnChunk(i)
			if err != nil {
				return fmt.Errorf("row group %d, column %s: %w", g, name, err)
			}
			values, rows = values+c.NumValues(), rows+group.NumRows()
		}
		if rows > 0 && values%rows == 0 && values/rows <= 1<<24 {
			widths[name] = int(values / rows)
		}
	}
	return nil
}
