package dataset

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// rowGroup is the number of rows of a row group, which the writer holds in
// memory: about 16 MiB of pairs.
const rowGroup = 1 << 17

// parquetSink writes the columns of a table. Vectors are lists of which the
// stored Arrow schema says that their size is fixed. It uses the column writers
// and not package pqarrow, which would add gRPC to what users have to download.
type parquetSink struct {
	file  *atomicFile
	w     *file.Writer
	group file.BufferedRowGroupWriter // nil before the first row
	rows  int                         // in the open group
	cols  []column
	extra *parquetExtra // nil if there is none
	bytes int           // of it in the open group
	text  [][2]string
	whole bool // with its footer

	def, rep []int16
	wide     []int32 // small integers, which the format stores as int32
}

func createParquet(fs fileSystem, path string, cols []column, extra *parquetExtra) (s *parquetSink, err error) {
	root, err := parquetSchema(cols, extra)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	// Dictionaries and compression are of no use for poses and distances, but they are for
	// indices, statuses and iterations.
	props := []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithCreatedBy("clearance")}
	for _, c := range cols {
		if t := c.read[0]; t != typeFloat32 && t != typeFloat64 {
			props = append(props, parquet.WithDictionaryFor(c.name, true), parquet.WithCompressionFor(c.name,
				compress.Codecs.Snappy))
		}
	}
	s = &parquetSink{cols: cols, extra: extra}
	if extra != nil {
		for _, l := range extra.leaves {
			path := extra.r.MetaData().Schema.Column(l.index).Path()
			props = append(props, parquet.WithDictionaryFor(path, true), parquet.WithCompressionFor(path,
				compress.Codecs.Snappy))
		}
	}
	// Without the types of all columns there is no schema of Arrow, and vectors read as lists of any length.
	if extra == nil {
		s.describe("ARROW:schema", arrowSchema(cols, nil))
	} else if extra.arrow != nil {
		s.describe("ARROW:schema", arrowSchema(cols, extra.arrow))
	}
	if s.file, err = createAtomic(fs, path); err != nil {
		return nil, err
	}
	// The writer would close the file, which is closed elsewhere.
	out := struct{ io.Writer }{s.file}
	s.w, err = file.NewParquetWriterWithError(out, root, file.WithWriterProps(parquet.NewWriterProperties(props...)))
	if err != nil {
		s.file.abort()
		return nil, fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	return s, nil
}

// parquetSchema has a required leaf for each column of numbers and a required
// three-level list of required elements for each column of vectors.
func parquetSchema(cols []column, extra *parquetExtra) (*schema.GroupNode, error) {
	var fields schema.FieldList
	for _, c := range cols {
		var physical parquet.Type
		var logical schema.LogicalType
		switch c.read[0] {
		case typeInt32:
			physical = parquet.Types.Int32
		case typeUint8:
			physical, logical = parquet.Types.Int32, schema.NewIntLogicalType(8, false)
		case typeUint16:
			physical, logical = parquet.Types.Int32, schema.NewIntLogicalType(16, false)
		case typeFloat32:
			physical = parquet.Types.Float
		case typeFloat64:
			physical = parquet.Types.Double
		default:
			return nil, fmt.Errorf("no Parquet column of %s", c.read[0])
		}
		if logical == nil {
			logical = schema.NoLogicalType{}
		}
		p, err := schema.NewPrimitiveNodeLogical(c.name, parquet.Repetitions.Required, logical, physical, -1, -1)
		if err != nil {
			return nil, err
		}
		if c.width == 1 {
			fields = append(fields, p)
			continue
		}
		l, err := schema.ListOfWithName(c.name, p, parquet.Repetitions.Required, -1)
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
func arrowSchema(cols []column, extra []arrow.Field) string {
	types := [typeCount]arrow.DataType{
		typeInt32: arrow.PrimitiveTypes.Int32, typeFloat32: arrow.PrimitiveTypes.Float32,
		typeFloat64: arrow.PrimitiveTypes.Float64,
		typeUint8:   arrow.PrimitiveTypes.Uint8, typeUint16: arrow.PrimitiveTypes.Uint16,
	}
	var fields []arrow.Field
	for _, c := range cols {
		f := arrow.Field{Name: c.name, Type: types[c.read[0]]}
		if c.width > 1 {
			f.Type = arrow.FixedSizeListOfField(int32(c.width), arrow.Field{Name: "element", Type: f.Type})
		}
		fields = append(fields, f)
	}
	fields = append(fields, extra...)
	var b bytes.Buffer
	_ = ipc.NewWriter(&b, ipc.WithSchema(arrow.NewSchema(fields, nil))).Close() // writing to memory does not fail
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// write appends rows. The values are encoded before it returns, so the caller
// may reuse them.
func (s *parquetSink) write(vals []any, rows int) (err error) {
	defer caught(&err)
	for at := 0; at < rows; {
		if s.group == nil || s.rows == rowGroup || s.bytes >= maxGroupBytes {
			if err := s.nextGroup(); err != nil {
				return err
			}
		}
		n := min(rows-at, rowGroup-s.rows)
		if s.extra != nil {
			n = min(n, 1<<10) // so that large values are counted before the next rows
		}
		for i, c := range s.cols {
			w, err := s.group.Column(i)
			if err != nil {
				return err
			}
			if err := s.column(w, c.width, sliceOf(vals[i], at*c.width, (at+n)*c.width)); err != nil {
				return err
			}
		}
		if s.extra != nil {
			size, err := s.extra.copy(s.group, len(s.cols), n)
			if err != nil {
				return err
			}
			s.bytes += size
		}
		at, s.rows = at+n, s.rows+n
	}
	return nil
}

func (s *parquetSink) nextGroup() (err error) {
	if s.group != nil {
		if err := s.group.Close(); err != nil {
			return err
		}
	}
	s.group, err = s.w.AppendBufferedRowGroupChecked()
	s.rows, s.bytes = 0, 0
	return err
}

// column writes the values of one column.
func (s *parquetSink) column(w file.ColumnChunkWriter, width int, vals any) (err error) {
	n := lenOf(vals)
	var def, rep []int16
	if width > 1 {
		def, rep = s.levels(n, width)
	}
	switch c := w.(type) {
	case *file.Float32ColumnChunkWriter:
		_, err = c.WriteBatch(vals.([]float32), def, rep)
	case *file.Float64ColumnChunkWriter:
		_, err = c.WriteBatch(vals.([]float64), def, rep)
	case *file.Int32ColumnChunkWriter:
		v, ok := vals.([]int32)
		if !ok {
			v = s.widen(vals)
		}
		_, err = c.WriteBatch(v, def, rep)
	default:
		err = fmt.Errorf("no Parquet column holds %T", vals)
	}
	return err
}

// levels returns the levels of n values in lists of the given width: all of them
// present, the first of each list beginning a row.
func (s *parquetSink) levels(n, width int) (def, rep []int16) {
	if cap(s.def) < n {
		s.def, s.rep = make([]int16, n), make([]int16, n)
	}
	def, rep = s.def[:n], s.rep[:n]
	for i := range def {
		def[i], rep[i] = 1, 1
		if i%width == 0 {
			rep[i] = 0
		}
	}
	return def, rep
}

func (s *parquetSink) widen(vals any) []int32 {
	s.wide = s.wide[:0]
	switch v := vals.(type) {
	case []uint8:
		for _, x := range v {
			s.wide = append(s.wide, int32(x))
		}
	case []uint16:
		for _, x := range v {
			s.wide = append(s.wide, int32(x))
		}
	}
	return s.wide
}

func (s *parquetSink) describe(key, value string) {
	s.text = append(s.text, [2]string{key, value})
}

// complete writes the last row group and the footer.
func (s *parquetSink) complete() (path string, err error) {
	if !s.whole {
		if err := s.finish(); err != nil {
			s.file.abort()
			return "", fmt.Errorf("dataset: cannot write %s: %w", s.file.final, err)
		}
		s.whole = true
	}
	return s.file.temp, s.file.sync()
}

// commit completes the file and gives it its final name.
func (s *parquetSink) commit() error {
	if _, err := s.complete(); err != nil {
		return err
	}
	return s.file.commit()
}

func (s *parquetSink) finish() (err error) {
	defer caught(&err)
	for _, kv := range s.text {
		if err := s.w.AppendKeyValueMetadata(kv[0], kv[1]); err != nil {
			return err
		}
	}
	return s.w.Close()
}

func (s *parquetSink) abort() { s.file.abort() }

func (s *parquetSink) setWorkers(int) {}
