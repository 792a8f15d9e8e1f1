package parquet

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"clearance/dataset/table"
)

// maxGroupBytes bounds what the writer holds of copied columns before it begins the next row group.
const maxGroupBytes = 64 << 20

// Extra are columns of a Parquet file of any type, lists and groups included: their leaves are copied level by
// level.
type Extra struct {
	*Table
	leaves []*extraLeaf
	nodes  []schema.Node // of the columns
	arrow  []arrow.Field // of the columns, nil if the file does not state those of all
}

// extraLeaf is the position in a leaf column that is copied.
type extraLeaf struct {
	name   string
	index  int
	group  int
	levels levels
	pages  pageBuffers
}

// OpenExtra opens the columns of a file of pairs that are not those of pairs, and returns their names.
func OpenExtra(path string, l *table.Limits) (e *Extra, names []string, err error) {
	t, err := Open(path, table.Pairs, l, table.Leniency{Extra: true, Nulls: true})
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("damaged Parquet metadata: %v", v)
		}
		if err != nil {
			_ = t.Close()
		}
	}()
	e = &Extra{Table: t}
	s := t.r.MetaData().Schema
	root := s.Root()
	for i := range root.NumFields() {
		if name := root.Field(i).Name(); !table.IsPair(name) {
			if slices.Contains(names, name) {
				return nil, nil, fmt.Errorf("column %q occurs twice", name)
			}
			names, e.nodes = append(names, name), append(e.nodes, root.Field(i))
		}
	}
	for i := range s.NumColumns() {
		d := s.Column(i)
		if name := d.ColumnPath()[0]; !table.IsPair(name) {
			leaf := &extraLeaf{name: name, index: i, pages: pageBuffers{Limits: l}}
			leaf.levels.read = batchReader()
			e.leaves = append(e.leaves, leaf)
		}
	}
	e.arrow = arrowFields(t.r.MetaData().KeyValueMetadata(), names)
	return e, names, nil
}

// arrowFields are the fields of columns in the Arrow schema of a file, nil if it does not have all of them.
func arrowFields(kv metadata.KeyValueMetadata, names []string) (fields []arrow.Field) {
	defer func() {
		if recover() != nil {
			fields = nil
		}
	}()
	text := kv.FindValue("ARROW:schema")
	if text == nil {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(*text)
	if err != nil {
		return nil
	}
	r, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	defer r.Release()
	for _, name := range names {
		found, _ := r.Schema().FieldsByName(name)
		if len(found) != 1 {
			return nil
		}
		fields = append(fields, found[0])
	}
	return fields
}

// copy appends the next rows of every leaf to the columns of a row group, and returns about how many bytes these are.
func (e *Extra) copy(columns []*extraWriter, rows int) (size int, err error) {
	for i, l := range e.leaves {
		n, err := l.copy(e.Table, columns[i].ColumnChunkWriter, rows)
		if err != nil {
			return 0, fmt.Errorf("%s: column %s: %w", e.path, l.name, err)
		}
		size += n
	}
	return size, nil
}

func (l *extraLeaf) copy(t *Table, w file.ColumnChunkWriter, rows int) (size int, err error) {
	v := &l.levels
	for begun := 0; ; {
		ok, err := v.next()
		if err != nil {
			return 0, err
		}
		if !ok {
			if begun == rows {
				return size, nil
			}
			if err := l.nextGroup(t); err != nil {
				return 0, err
			}
			continue
		}
		from, present, full := v.at, 0, v.chunk.Descriptor().MaxDefinitionLevel()
		for ; v.at < v.end; v.at++ {
			if v.rep[v.at] == 0 {
				if begun == rows {
					break
				}
				begun++
			}
			if v.def[v.at] == full {
				present++
			}
		}
		if v.at == from {
			return size, nil // the next row begins
		}
		n, err := writeLevels(w, v, from, present)
		if err != nil {
			return 0, err
		}
		size += n
	}
}

func (l *extraLeaf) nextGroup(t *Table) error {
	chunk, pages, err := t.openChunk(l.group, l.index, &l.pages)
	if err != nil {
		return err
	}
	l.levels = levels{chunk: chunk, read: l.levels.read, left: pages.values, def: l.levels.def, rep: l.levels.rep}
	l.group++
	return nil
}

// writeLevels writes the levels of a batch from one on, up to its place, with the values that are present.
func writeLevels(w file.ColumnChunkWriter, v *levels, from, present int) (size int, err error) {
	def, rep := v.def[from:v.at], v.rep[from:v.at]
	d := v.chunk.Descriptor()
	if d.MaxDefinitionLevel() == 0 {
		def = nil
	}
	if d.MaxRepetitionLevel() == 0 {
		rep = nil
	}
	lo, hi := v.value, v.value+present
	v.value = hi
	size = 8*present + 4*(v.at-from)
	switch c := w.(type) {
	case *file.BooleanColumnChunkWriter:
		_, err = c.WriteBatch(v.values.([]bool)[lo:hi], def, rep)
	case *file.Int32ColumnChunkWriter:
		_, err = c.WriteBatch(v.values.([]int32)[lo:hi], def, rep)
	case *file.Int64ColumnChunkWriter:
		_, err = c.WriteBatch(v.values.([]int64)[lo:hi], def, rep)
	case *file.Int96ColumnChunkWriter:
		_, err = c.WriteBatch(v.values.([]parquet.Int96)[lo:hi], def, rep)
	case *file.Float32ColumnChunkWriter:
		_, err = c.WriteBatch(v.values.([]float32)[lo:hi], def, rep)
	case *file.Float64ColumnChunkWriter:
		_, err = c.WriteBatch(v.values.([]float64)[lo:hi], def, rep)
	case *file.ByteArrayColumnChunkWriter:
		values := v.values.([]parquet.ByteArray)[lo:hi]
		for _, b := range values {
			size += len(b)
		}
		_, err = c.WriteBatch(values, def, rep)
	case *file.FixedLenByteArrayColumnChunkWriter:
		values := v.values.([]parquet.FixedLenByteArray)[lo:hi]
		for _, b := range values {
			size += len(b)
		}
		_, err = c.WriteBatch(values, def, rep)
	default:
		err = fmt.Errorf("no Parquet column holds %T", v.values)
	}
	return size, err
}

// extraWriter encodes a column chunk that is copied, by the writer of the library, as if it were the first of a file.
type extraWriter struct {
	file.ColumnChunkWriter
	meta *metadata.ColumnChunkMetaDataBuilder
	out  chunkBuffer
}

// chunkBuffer is the beginning of a file.
type chunkBuffer struct{ bytes.Buffer }

// Tell is the place in the file, behind the magic bytes.
func (b *chunkBuffer) Tell() int64 { return int64(len(magic) + b.Len()) }

func newExtraWriter(props *parquet.WriterProperties, c *schema.Column) (*extraWriter, error) {
	w := &extraWriter{meta: metadata.NewColumnChunkMetaDataBuilder(props, c)}
	codec, level := props.CompressionFor(c.Path()), props.CompressionLevelFor(c.Path())
	pager, err := file.NewPageWriter(&w.out, codec, level, w.meta, 0, 0, props.Allocator(), false, nil, nil)
	if err != nil {
		return nil, err
	}
	w.ColumnChunkWriter = file.NewColumnChunkWriter(w.meta, pager, props)
	return w, nil
}

func (w *extraWriter) finish() error { return w.Close() }

// pages returns the bytes of the chunk and moves its description to where it begins.
func (w *extraWriter) pages(at int64, b *metadata.ColumnChunkMetaDataBuilder) ([][]byte, error) {
	c := b.Contents()
	*c = *w.meta.Contents()
	by := at - int64(len(magic))
	c.FileOffset += by
	c.MetaData.DataPageOffset += by
	if c.MetaData.DictionaryPageOffset != nil {
		*c.MetaData.DictionaryPageOffset += by
	}
	return [][]byte{w.out.Bytes()[:w.meta.TotalCompressedSize()]}, nil // a copy of the description follows
}

// copyExtra copies rows until the row group is large enough, and returns their number.
func (g *groupWriter) copyExtra(e *Extra, rows int) (n int, err error) {
	for n < rows && g.bytes < maxGroupBytes {
		k := min(rows-n, 1<<10) // so that large values are counted before the next rows
		size, err := e.copy(g.extra, k)
		if err != nil {
			return n, err
		}
		n += k
		g.bytes += size
	}
	return n, nil
}
