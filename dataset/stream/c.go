//go:build cgo

package stream

import (
	"context"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"

	"clearance/batch"
)

// Exchange is [New] over the Arrow C stream interface: in is moved from, out is filled and an owner of the stream
// beside the caller. Both point to a struct ArrowArrayStream. Columns of results lie in memory of C, which other
// languages hold for as long as they like.
func Exchange(ctx context.Context, lib *batch.Library, in, out unsafe.Pointer, o batch.Options, most int,
	solve Solver) (*Stream, error) {
	source, err := cdata.ImportCRecordReader((*cdata.CArrowArrayStream)(in), nil)
	if err != nil {
		return nil, err
	}
	reader := source.(array.RecordReader)
	defer reader.Release()
	s, err := New(ctx, lib, reader, o, most, mallocator.NewMallocator(), solve)
	if err == nil {
		cdata.ExportRecordReader(s, (*cdata.CArrowArrayStream)(out))
	}
	return s, err
}
