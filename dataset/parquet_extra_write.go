package dataset

import (
	"bytes"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// extraWriter encodes a column chunk that is copied, by the writer of the library, as if it were the first of a file.
type extraWriter struct {
	file.ColumnChunkWriter
	meta *metadata.ColumnChunkMetaDataBuilder
	out  chunkBuffer
}

// chunkBuffer is the beginning of a file.
type chunkBuffer struct{ bytes.Buffer }

// Tell is the place in the file, behind the magic bytes.
func (b *chunkBuffer) Tell() int64 { return int64(len(parquetMagic) + b.Len()) }

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
	by := at - int64(len(parquetMagic))
	c.FileOffset += by
	c.MetaData.DataPageOffset += by
	if c.MetaData.DictionaryPageOffset != nil {
		*c.MetaData.DictionaryPageOffset += by
	}
	return [][]byte{w.out.Bytes()[:w.meta.TotalCompressedSize()]}, nil // a copy of the description follows
}

// copyExtra copies rows until the row group is large enough, and returns their number.
func (g *groupWriter) copyExtra(e *parquetExtra, rows int) (n int, err error) {
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
