package parquet

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"clearance/dataset/output"
	"clearance/dataset/table"
)

// RowGroup is the number of rows of a row group, which the writer holds in
// memory: about 16 MiB of pairs.
const RowGroup = 1 << 17

// maxWideGroup bounds the bytes of a row group of wide rows, such as those of worlds.
const maxWideGroup = 1 << 28

// groupRowsOf is the number of rows of a row group.
func groupRowsOf(cols []table.Column) int {
	row := 0
	for _, c := range cols {
		row += c.Width * c.Types[0].Size()
	}
	return min(RowGroup, max(maxWideGroup/max(row, 1)&^7, 8))
}

const magic = "PAR1"

// Sink writes the columns of a table. Vectors are lists of which the stored Arrow schema says that their size is
// fixed. Row groups are encoded by several workers; once the length of each column chunk is known, and so its place,
// they write it there. It does not use package pqarrow, which would add gRPC to what users have to download.
type Sink struct {
	file    *output.File
	meta    *metadata.FileMetaDataBuilder
	props   *parquet.WriterProperties
	schema  *schema.Schema
	cols    []table.Column
	extra   *Extra // nil if there is none
	workers int

	open   *groupWriter // takes the next rows, nil before the first of a row group
	free   []*groupWriter
	at     int64 // where the next row group begins
	groups int   // that were written

	groupRows int // rows of a whole row group
	text      [][2]string
	whole     bool // with its footer
}

// Create begins a Parquet file of columns, with those of extra if that is not nil.
func Create(fs output.FS, path string, cols []table.Column, extra *Extra) (s *Sink, err error) {
	root, err := Schema(cols, extra)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	// As newChunkWriter encodes.
	props := []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithCreatedBy("clearance")}
	for _, c := range cols {
		if t := c.Types[0]; t != table.Float32 && t != table.Float64 {
			props = append(props, parquet.WithDictionaryFor(c.Name, true), parquet.WithCompressionFor(c.Name,
				compress.Codecs.Snappy))
		}
	}
	s = &Sink{cols: cols, extra: extra, at: int64(len(magic)), groupRows: groupRowsOf(cols)}
	if extra != nil {
		for _, l := range extra.leaves {
			path := extra.r.MetaData().Schema.Column(l.index).Path()
			props = append(props, parquet.WithDictionaryFor(path, true), parquet.WithCompressionFor(path,
				compress.Codecs.Snappy))
		}
	}
	// Without the types of all columns there is no schema of Arrow, and vectors read as lists of any length.
	if extra == nil {
		s.Describe("ARROW:schema", arrowSchema(cols, nil))
	} else if extra.arrow != nil {
		s.Describe("ARROW:schema", arrowSchema(cols, extra.arrow))
	}
	if s.file, err = output.Create(fs, path); err != nil {
		return nil, err
	}
	s.props = parquet.NewWriterProperties(props...)
	s.schema = schema.NewSchema(root)
	s.meta = metadata.NewFileMetadataBuilder(s.schema, s.props, nil)
	return s, nil
}

// Schema has a required leaf for each column of numbers and a required
// three-level list of required elements for each column of vectors.
func Schema(cols []table.Column, extra *Extra) (*schema.GroupNode, error) {
	var fields schema.FieldList
	for _, c := range cols {
		var physical parquet.Type
		var logical schema.LogicalType
		switch c.Types[0] {
		case table.Int32:
			physical = parquet.Types.Int32
		case table.Uint8:
			physical, logical = parquet.Types.Int32, schema.NewIntLogicalType(8, false)
		case table.Uint16:
			physical, logical = parquet.Types.Int32, schema.NewIntLogicalType(16, false)
		case table.Float32:
			physical = parquet.Types.Float
		case table.Float64:
			physical = parquet.Types.Double
		default:
			return nil, fmt.Errorf("no Parquet column of %s", c.Types[0])
		}
		if logical == nil {
			logical = schema.NoLogicalType{}
		}
		p, err := schema.NewPrimitiveNodeLogical(c.Name, parquet.Repetitions.Required, logical, physical, -1, -1)
		if err != nil {
			return nil, err
		}
		if c.Width == 1 {
			fields = append(fields, p)
			continue
		}
		l, err := schema.ListOfWithName(c.Name, p, parquet.Repetitions.Required, -1)
		if err != nil {
			return nil, err
		}
		fields = append(fields, l)
	}
	if extra != nil {
		fields = append(fields, extra.nodes...)
	}
	return schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
}

// arrowSchema is the Arrow schema as the metadata key ARROW:schema carries it: an
// IPC stream without records, in base64.
func arrowSchema(cols []table.Column, extra []arrow.Field) string {
	var fields []arrow.Field
	for _, c := range cols {
		fields = append(fields, ArrowField(c))
	}
	fields = append(fields, extra...)
	var b bytes.Buffer
	_ = ipc.NewWriter(&b, ipc.WithSchema(arrow.NewSchema(fields, nil))).Close() // writing to memory does not fail
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// Describe adds an entry of the metadata.
func (s *Sink) Describe(key, value string) {
	s.text = append(s.text, [2]string{key, value})
}

// Complete writes the last row group and the footer.
func (s *Sink) Complete() (path string, err error) {
	if !s.whole {
		if err := s.finish(); err != nil {
			s.file.Abort()
			return "", fmt.Errorf("dataset: cannot write %s: %w", s.file.Final, err)
		}
		s.whole = true
	}
	return s.file.Temp, s.file.Durable()
}

// Commit completes the file and gives it its final name.
func (s *Sink) Commit() error {
	if _, err := s.Complete(); err != nil {
		return err
	}
	return s.file.Commit()
}

func (s *Sink) finish() (err error) {
	defer table.Caught(&err)
	if s.open != nil {
		if err := s.flush([]*groupWriter{s.open}); err != nil {
			return err
		}
		s.open = nil
	}
	for _, kv := range s.text {
		if err := s.meta.AppendKeyValueMetadata(kv[0], kv[1]); err != nil {
			return err
		}
	}
	m, err := s.meta.Finish()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if _, err := m.WriteTo(&b, nil); err != nil {
		return err
	}
	footer := b.Bytes()
	footer = append(binary.LittleEndian.AppendUint32(footer, uint32(len(footer))), magic...)
	if _, err = s.file.WriteAt(footer, s.at); err == nil {
		_, err = s.file.WriteAt([]byte(magic), 0)
	}
	return err
}

// Abort discards the file.
func (s *Sink) Abort() { s.file.Abort() }

// SetWorkers sets the number of goroutines that encode and write.
func (s *Sink) SetWorkers(n int) { s.workers = n }

// ArrowTypes are the types of Arrow by those of files.
var ArrowTypes = [table.TypeCount]arrow.DataType{
	table.Int32: arrow.PrimitiveTypes.Int32, table.Int64: arrow.PrimitiveTypes.Int64,
	table.Float32: arrow.PrimitiveTypes.Float32, table.Float64: arrow.PrimitiveTypes.Float64,
	table.Uint8: arrow.PrimitiveTypes.Uint8, table.Uint16: arrow.PrimitiveTypes.Uint16,
}

// ArrowField is the field of a column: vectors are fixed-size lists.
func ArrowField(c table.Column) arrow.Field {
	f := arrow.Field{Name: c.Name, Type: ArrowTypes[c.Types[0]]}
	if c.Width > 1 {
		f.Type = arrow.FixedSizeListOfField(int32(c.Width), arrow.Field{Name: "element", Type: f.Type})
	}
	return f
}

// The rest gathers row groups and lays them out in the file.

// Write appends rows. Values of row groups that these rows end are written before it returns, others are copied, so the
// caller may reuse them.
func (s *Sink) Write(vals []any, rows int) (err error) {
	defer table.Caught(&err)
	for at := 0; at < rows; {
		var whole []*groupWriter
		var tasks []func() error
		for at < rows && len(whole) < maxGroups {
			g, err := s.group()
			if err != nil {
				return err
			}
			n := min(rows-at, s.groupRows-g.rows)
			if s.extra != nil {
				if n, err = g.copyExtra(s.extra, n); err != nil {
					return err
				}
			}
			last := g.rows+n == s.groupRows || g.bytes >= maxGroupBytes
			for i, c := range s.cols {
				tasks = append(tasks, g.chunks[i].tasks(table.Slice(vals[i], at*c.Width, (at+n)*c.Width), n, last)...)
			}
			at, g.rows = at+n, g.rows+n
			if last {
				whole, s.open = append(whole, g), nil
			}
		}
		if err := s.parallel(tasks); err != nil {
			return err
		}
		if err := s.flush(whole); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sink) parallel(tasks []func() error) error {
	return table.Parallel(table.WorkersOr(s.workers), len(tasks), func(i int) error { return tasks[i]() })
}

// maxGroups is the number of row groups that are encoded at a time.
const maxGroups = 4

// groupWriter encodes one row group.
type groupWriter struct {
	chunks []chunkWriter
	extra  []*extraWriter // columns that are copied
	rows   int
	bytes  int // of those
}

// group returns the row group that takes the next rows.
func (s *Sink) group() (*groupWriter, error) {
	if s.open != nil {
		return s.open, nil
	}
	g := &groupWriter{}
	if n := len(s.free); n > 0 {
		g, s.free = s.free[n-1], s.free[:n-1]
	} else {
		for i := range s.cols {
			c, err := newChunkWriter(&s.cols[i], s.props)
			if err != nil {
				return nil, err
			}
			g.chunks = append(g.chunks, c)
		}
	}
	if s.extra != nil {
		for i := range s.extra.leaves {
			w, err := newExtraWriter(s.props, s.schema.Column(len(s.cols)+i))
			if err != nil {
				return nil, err
			}
			g.extra = append(g.extra, w)
		}
	}
	s.open = g
	return g, nil
}

// flush writes row groups.
func (s *Sink) flush(groups []*groupWriter) error {
	var tasks []func() error
	for _, g := range groups {
		for _, c := range g.chunks {
			tasks = append(tasks, c.finish)
		}
		for _, w := range g.extra {
			tasks = append(tasks, w.finish)
		}
	}
	if err := s.parallel(tasks); err != nil {
		return err
	}
	// What a page takes is known now, and so where each stands in the file.
	tasks = tasks[:0]
	for _, g := range groups {
		m := s.meta.AppendRowGroup()
		m.SetNumRows(g.rows)
		put := func(pages [][]byte, err error) error {
			for _, p := range pages {
				at := s.at
				tasks = append(tasks, func() error { _, err := s.file.WriteAt(p, at); return err })
				s.at += int64(len(p))
			}
			return err
		}
		for _, c := range g.chunks {
			if err := put(c.pages(s.at, m.NextColumnChunk())); err != nil {
				return err
			}
		}
		for _, w := range g.extra {
			if err := put(w.pages(s.at, m.NextColumnChunk())); err != nil {
				return err
			}
		}
		if err := m.Finish(0, int16(s.groups)); err != nil {
			return err
		}
		s.groups++
	}
	if err := s.parallel(tasks); err != nil {
		return err
	}
	for _, g := range groups {
		for _, c := range g.chunks {
			c.reset()
		}
		g.extra, g.rows, g.bytes = nil, 0, 0
	}
	s.free = append(s.free, groups...)
	return nil
}
