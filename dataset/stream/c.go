//go:build cgo

package stream

// #include "forked.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"

	"clearance/batch"
)

// Exchange is [New] over the Arrow C stream interface: in is moved from, out is filled and an owner of the stream
// beside the caller. Both point to a struct ArrowArrayStream. Columns of results lie in memory of C, which other
// languages hold for as long as they like. In a forked child, which Go does not survive, out is a stream that ends with
// an error.
func Exchange(ctx context.Context, lib *batch.Library, in, out unsafe.Pointer, o batch.Options, most int,
	solve Solver) (s *Stream, err error) {
	defer func() { // the bindings of Arrow panic on streams that break the rules of the interface
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("the stream breaks the rules of Arrow: %v", p)
		}
	}()
	if C.clr_stream_released((*C.struct_ArrowArrayStream)(in)) != 0 {
		return nil, errors.New("the stream was read, or released, before: a stream can be read once")
	}
	source, err := cdata.ImportCRecordReader((*cdata.CArrowArrayStream)(in), nil)
	if err != nil {
		return nil, err
	}
	reader := source.(array.RecordReader)
	defer reader.Release()
	s, err = New(ctx, lib, reader, o, most, mallocator.NewMallocator(), solve)
	if err != nil {
		return nil, err
	}
	cdata.ExportRecordReader(s, (*cdata.CArrowArrayStream)(out))
	if C.clr_guard_stream((*C.struct_ArrowArrayStream)(out)) != 0 {
		return nil, errors.New("no memory for a stream")
	}
	return s, nil
}
