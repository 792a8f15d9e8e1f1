package dataset

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
)

// Pages are decoded whole, so their size bounds the memory of a reader. Writers
// make pages of about 1 MiB; more than these is refused.
const (
	maxPacked   = 64 << 20
	maxUnpacked = 256 << 20
)

// parquetTable is a source of the columns of a Parquet file.
//
// It reads the leaf columns with their repetition levels, not Arrow records:
// fixed-size and plain lists are the same in the file, columns advance a page at
// a time whatever the size of the row groups, and damage is met in this goroutine,
// where a panic of the library can be turned into an error.
type parquetTable struct {
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
	column
	index  int // among the leaves
	typ    dtype
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

func openParquet(path string, cols []column, l *limits, may leniency) (t *parquetTable, err error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("damaged Parquet metadata: %v", v)
		}
		if err != nil {
			_ = f.Close()
			t, err = nil, fmt.Errorf("dataset: %s: %w", path, err)
		}
	}()
	if err := checkFooter(f, size, l); err != nil {
		return nil, err
	}
	r, err := file.NewParquetReader(f)
	if err != nil {
		return nil, fmt.Errorf("not a complete Parquet file (truncated, or another format): %w", err)
	}
	t = &parquetTable{path: path, f: f, size: size, r: r, meta: textMetadata(r.MetaData().KeyValueMetadata()),
		workers: l.workers}
	return t, t.bind(cols, l, may)
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
func (t *parquetTable) bind(cols []column, limits *limits, may leniency) error {
	t.cols = make([]*leaf, len(cols))
	s := t.r.MetaData().Schema
	found := false
	for i := range s.NumColumns() {
		d := s.Column(i)
		name := d.ColumnPath()[0]
		if err := checkName(name, cols); err != nil {
			if may.extra {
				continue
			}
			return err
		}
		k := slices.IndexFunc(cols, func(c column) bool { return c.name == name })
		if t.cols[k] != nil {
			return fmt.Errorf("column %s is a group of several columns, want %s %s", name, cols[k].types(),
				cols[k].shape())
		}
		l := &leaf{column: cols[k], index: i, repeat: d.MaxRepetitionLevel() > 0, pages: pageBuffers{limits: limits},
			nulls: may.nulls}
		if err := l.bind(d); err != nil {
			return err
		}
		t.cols[k], found = l, true
	}
	if !found {
		return noColumns(cols)
	}
	return t.checkCounts()
}

// bind checks shape and type of a leaf.
func (l *leaf) bind(d *schema.Column) error {
	ok := l.width == 1 && len(d.ColumnPath()) == 1 && d.MaxRepetitionLevel() == 0 ||
		l.width > 1 && d.MaxRepetitionLevel() == 1 && len(d.ColumnPath()) <= 3
	if !ok {
		return fmt.Errorf("column %s has shape %s with %d levels of lists, want %s", l.name, d.Path(),
			d.MaxRepetitionLevel(), l.shape())
	}
	t, ok := leafType(d)
	if !ok || !l.accepts(t) {
		name := d.PhysicalType().String()
		if lt := d.LogicalType(); lt != nil && !lt.IsNone() {
			name += " " + lt.String()
		}
		if ok {
			name = t.String()
		}
		return fmt.Errorf("column %s is %s, want %s", l.name, name, l.types())
	}
	l.typ = t
	l.form = rowForm{width: l.width, size: t.size(), maxRep: int(d.MaxRepetitionLevel()),
		maxDef: int(d.MaxDefinitionLevel()), pattern: appendPattern(nil, patternBytes*l.width, l.width)}
	return nil
}

// leafType is the type of the values of a leaf.
func leafType(d *schema.Column) (dtype, bool) {
	lt := d.LogicalType()
	plain := lt == nil || lt.IsNone()
	switch d.PhysicalType() {
	case parquet.Types.Float:
		return typeFloat32, plain
	case parquet.Types.Double:
		return typeFloat64, plain
	case parquet.Types.Int64:
		if i, ok := lt.(schema.IntLogicalType); ok {
			return typeInt64, i.IsSigned()
		}
		return typeInt64, plain
	case parquet.Types.Int32:
		i, ok := lt.(schema.IntLogicalType)
		switch {
		case plain || ok && i.IsSigned() && i.BitWidth() == 32:
			return typeInt32, true
		case ok && !i.IsSigned() && i.BitWidth() == 8:
			return typeUint8, true
		case ok && !i.IsSigned() && i.BitWidth() == 16:
			return typeUint16, true
		}
	}
	return 0, false
}

// checkCounts compares the counts that the metadata gives in several places.
func (t *parquetTable) checkCounts() error {
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
				return fmt.Errorf("row group %d, column %s: %w", g, l.name, err)
			}
			// A list that is null has one level in place of those of its values.
			short := l.nulls && t.r.MetaData().Schema.Column(l.index).MaxDefinitionLevel() > 0
			v := c.NumValues()
			if short && v >= n && v/int64(l.width) <= n {
				continue
			}
			if v%int64(l.width) != 0 || v/int64(l.width) != n {
				return fmt.Errorf("column %s has %d values in rows %d to %d, want %d a row (lists of equal length, "+
					"none of them null)",
					l.name, v, rows, rows+n-1, l.width)
			}
		}
		rows += n
	}
	if n := t.r.NumRows(); n != rows {
		return fmt.Errorf("claims %d rows, its row groups hold %d", n, rows)
	}
	return nil
}

func (t *parquetTable) rows() int64                 { return t.r.NumRows() }
func (t *parquetTable) metadata() map[string]string { return t.meta }
func (t *parquetTable) Close() error                { return t.r.Close() }

func (t *parquetTable) typeOf(i int) (dtype, bool) {
	if t.cols[i] == nil {
		return 0, false
	}
	return t.cols[i].typ, true
}

// read walks through the pages of each column, by a worker for each, and decodes those that are not plain. The values
// of plain pages are then read in parts by all workers.
func (t *parquetTable) read(dst []any) error {
	for i, v := range dst { // in order, so that the same column exceeds the budget each time
		if v == nil {
			continue
		}
		if err := t.cols[i].pages.ready(); err != nil {
			return fmt.Errorf("dataset: %s: column %s: %w", t.path, t.cols[i].name, err)
		}
	}
	err := parallel(workersOr(t.workers), len(dst), func(i int) error {
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
	return parallel(workersOr(t.workers), len(parts), func(i int) error { return parts[i].read(t) })
}

// skip passes over rows: over whole row groups by their number of rows, within one over plain pages by their length.
func (t *parquetTable) skip(rows int64) error {
	return parallel(workersOr(t.workers), len(t.cols), func(i int) error {
		l := t.cols[i]
		if l == nil {
			return nil
		}
		for n := rows * int64(l.width); n > 0; {
			if l.left == 0 {
				if group := t.groupRows(l) * int64(l.width); group <= n {
					n, l.row, l.group = n-group, l.row+group/int64(l.width), l.group+1
					continue
				}
			}
			if err := l.pages.ready(); err != nil {
				return fmt.Errorf("dataset: %s: column %s: %w", t.path, l.name, err)
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
func (t *parquetTable) groupRows(l *leaf) int64 {
	if l.group >= t.r.NumRowGroups() {
		return math.MaxInt32 // which fails to open
	}
	return t.r.RowGroup(l.group).NumRows()
}

// dropped is memory for n values that nobody reads.
func (l *leaf) dropped(n int) any {
	switch l.typ {
	case typeFloat32:
		return make([]float32, n)
	case typeFloat64:
		return make([]float64, n)
	case typeUint8:
		return make([]uint8, n)
	case typeUint16:
		return make([]uint16, n)
	}
	return make([]int32, n) // of int64 too
}

func (t *parquetTable) readColumn(l *leaf, dst any) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("damaged page: %v", v)
		}
		if err != nil {
			err = fmt.Errorf("dataset: %s: column %s: %w", t.path, l.name, err)
		}
	}()
	l.parts = l.parts[:0]
	for at, n := 0, lenOf(dst); at < n; {
		for l.left == 0 {
			if err := l.nextGroup(t); err != nil {
				return err
			}
		}
		k, err := l.next(sliceOf(dst, at, at+int(min(int64(n-at), l.left))))
		if err != nil {
			return err
		}
		at += k
		l.left -= int64(k)
		l.row += int64(k / l.width)
		if l.left == 0 && (l.page.left > 0 || l.levels.more() || l.chunk.HasNext() || l.chunk.Err() != nil) {
			return fmt.Errorf("row %d: damaged: more values than the row group declares", l.row-1)
		}
	}
	return nil
}

// next reads rows of the open row group and returns the number of their values.
func (l *leaf) next(dst any) (int, error) {
	const block = 3 << 12 // values; a multiple of every width, so that rows stay whole
	n := lenOf(dst)
	if l.sparse {
		n = min(n, block)
		return n, l.rows(sliceOf(dst, 0, n))
	}
	if l.page.left == 0 && l.taken == l.source.given && l.typ != typeUint8 && l.typ != typeUint16 {
		var err error
		if l.page, _, err = l.source.plain(&l.form); err != nil {
			return 0, fmt.Errorf("row %d or later: damaged page: %w", l.row, err)
		}
	}
	if l.page.left > 0 {
		n = int(min(int64(n), l.page.left))
		l.take(sliceOf(dst, 0, n))
		return n, nil
	}
	// The library reads on to the end of its page, so that the next one may be read as a plain one. How long it is is
	// known once it has been begun.
	of := max(int(min(l.source.given-l.taken, block))/l.width, 1) * l.width
	n = min(n, of)
	l.taken += int64(n)
	return n, l.fill(sliceOf(dst, 0, n))
}

func (l *leaf) nextGroup(t *parquetTable) error {
	if l.group >= t.r.NumRowGroups() {
		return errors.New("ends before its last row")
	}
	g := t.r.RowGroup(l.group)
	m, err := g.MetaData().ColumnChunk(l.index)
	if err != nil {
		return fmt.Errorf("row group %d: %w", l.group, err)
	}
	old := t.r.WriterVersion().LessThan(metadata.Parquet816FixedVersion)
	pages, err := newPageReader(t.f, t.size, m, old, &l.pages)
	if err != nil {
		return fmt.Errorf("row group %d: %w", l.group, err)
	}
	l.source, l.page, l.taken = pages, plainValues{}, 0
	//lint:ignore SA1019 there is no other way to give the library pages that were checked
	l.chunk = file.NewColumnReader(t.r.MetaData().Schema.Column(l.index), pages, memory.DefaultAllocator,
		t.r.BufferPool())
	l.left = g.NumRows() * int64(l.width)
	l.sparse = m.NumValues() != l.left
	l.levels = levels{chunk: l.chunk, read: l.levels.read, left: m.NumValues()}
	l.group++
	return nil
}

// fill reads the next values of the open row group and checks that each row is
// there and of the right length. The number of values is a multiple of the width.
func (l *leaf) fill(dst any) error {
	n := lenOf(dst)
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
		return fmt.Errorf("row %d: damaged: its pages end here", l.row+levels/int64(l.width))
	}
	for i, v := range rep {
		if (v == 0) != (i%l.width == 0) {
			return fmt.Errorf("row %d: a list of another length than %d", l.row+int64(max(i-1, 0)/l.width), l.width)
		}
	}
	full, present := d.MaxDefinitionLevel(), n
	for i, v := range def {
		if v == full {
			continue
		}
		if !l.nulls {
			return fmt.Errorf("row %d: null, want a number", l.row+int64(i/l.width))
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
	n := int64(lenOf(dst))
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
			dst.([]int32)[i] = clamp32(x)
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
