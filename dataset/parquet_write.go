package dataset

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
)

// rowGroup is the number of rows of a row group, which the writer holds in
// memory: about 16 MiB of pairs.
const rowGroup = 1 << 17

// maxWideGroup bounds the bytes of a row group of wide rows, such as those of worlds.
const maxWideGroup = 1 << 28

// groupRowsOf is the number of rows of a row group.
func groupRowsOf(cols []column) int {
	row := 0
	for _, c := range cols {
		row += c.width * c.read[0].size()
	}
	return min(rowGroup, max(maxWideGroup/max(row, 1)&^7, 8))
}

const parquetMagic = "PAR1"

// parquetSink writes the columns of a table. Vectors are lists of which the stored Arrow schema says that their size is
// fixed. Row groups are encoded by several workers; once the length of each column chunk is known, and so its place,
// they write it there. It does not use package pqarrow, which would add gRPC to what users have to download.
type parquetSink struct {
	file    *atomicFile
	meta    *metadata.FileMetaDataBuilder
	props   *parquet.WriterProperties
	schema  *schema.Schema
	cols    []column
	extra   *parquetExtra // nil if there is none
	workers int

	open   *groupWriter // takes the next rows, nil before the first of a row group
	free   []*groupWriter
	at     int64 // where the next row group begins
	groups int   // that were written

	groupRows int // rows of a whole row group
	text      [][2]string
	whole     bool // with its footer
}

func createParquet(fs fileSystem, path string, cols []column, extra *parquetExtra) (s *parquetSink, err error) {
	root, err := parquetSchema(cols, extra)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	// This is what newChunkWriter does.
	props := []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithCreatedBy("clearance")}
	for _, c := range cols {
		if t := c.read[0]; t != typeFloat32 && t != typeFloat64 {
			props = append(props, parquet.WithDictionaryFor(c.name, true), parquet.WithCompressionFor(c.name,
				compress.Codecs.Snappy))
		}
	}
	s = &parquetSink{cols: cols, extra: extra, at: int64(len(parquetMagic)), groupRows: groupRowsOf(cols)}
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
	s.props = parquet.NewWriterProperties(props...)
	s.schema = schema.NewSchema(root)
	s.meta = metadata.NewFileMetadataBuilder(s.schema, s.props, nil)
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
	var fields []arrow.Field
	for _, c := range cols {
		fields = append(fields, arrowField(c))
	}
	fields = append(fields, extra...)
	var b bytes.Buffer
	_ = ipc.NewWriter(&b, ipc.WithSchema(arrow.NewSchema(fields, nil))).Close() // writing to memory does not fail
	return base64.StdEncoding.EncodeToString(b.Bytes())
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
	footer = append(binary.LittleEndian.AppendUint32(footer, uint32(len(footer))), parquetMagic...)
	if _, err = s.file.WriteAt(footer, s.at); err == nil {
		_, err = s.file.WriteAt([]byte(parquetMagic), 0)
	}
	return err
}

func (s *parquetSink) abort() { s.file.abort() }

func (s *parquetSink) setWorkers(n int) { s.workers = n }
