package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits of a schema. A column of ours is a number or a list of them: a root, a group, a
// repeated group and a leaf.
const (
	maxSchemaDepth    = 16
	maxSchemaElements = 1 << 16
)

// Memory of the decoded metadata. A structure of Parquet's metadata takes at most 256 bytes in
// memory, an element of a list at most 16 beside the structure that it may be.
const (
	structBytes  = 256
	elementBytes = 16
)

// checkFooter walks the metadata at the end of a Parquet file before the library decodes it.
func checkFooter(f io.ReaderAt, size int64, l *limits) error {
	var tail [8]byte
	if size < int64(len(tail))+4 {
		return fmt.Errorf("not a complete Parquet file (%d bytes)", size)
	}
	if _, err := f.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return err
	}
	switch string(tail[4:]) {
	case "PAR1":
	case "PARE":
		return errors.New("footer is encrypted, which is not supported")
	default:
		return errors.New("not a complete Parquet file (truncated, or another format): no magic bytes at its end")
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > size-int64(len(tail)) {
		return fmt.Errorf("footer claims %d bytes in a file of %d", length, size)
	}
	// Twice: these bytes and the library's.
	if err := l.take(2*length, "footer"); err != nil {
		return err
	}
	data := make([]byte, length)
	if _, err := f.ReadAt(data, size-int64(len(tail))-length); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	r := &thriftReader{data: data}
	if err := r.fileMetadata(); err != nil {
		return fmt.Errorf("damaged footer: byte %d: %w", r.at, err)
	}
	return l.take(structBytes*r.structs+elementBytes*r.elements, "decoded footer")
}

// fileMetadata reads FileMetaData of parquet.thrift. Its field 2 is the schema, all else is
// walked for lengths and depth.
func (r *thriftReader) fileMetadata() error {
	var children []int32
	err := r.structure(func(id int16, typ byte) error {
		if id != 2 {
			return r.skip(typ)
		}
		if err := want("schema", typ, thriftList); err != nil {
			return err
		}
		if children != nil {
			return errors.New("schema occurs twice")
		}
		return r.list(func(i int, typ byte) error {
			if err := want("schema element", typ, thriftStruct); err != nil {
				return err
			}
			if i >= maxSchemaElements {
				return fmt.Errorf("schema of more than %d elements", maxSchemaElements)
			}
			n, err := r.schemaElement()
			children = append(children, n)
			if err != nil {
				return fmt.Errorf("schema element %d: %w", i, err)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return checkTree(children)
}

// schemaElement reads a SchemaElement and returns its num_children, field 5.
func (r *thriftReader) schemaElement() (children int32, err error) {
	err = r.structure(func(id int16, typ byte) error {
		if id != 5 {
			return r.skip(typ)
		}
		if err := want("num_children", typ, thriftI32); err != nil {
			return err
		}
		children, err = r.i32()
		if err == nil && (children < 0 || children > maxSchemaElements) {
			err = fmt.Errorf("num_children is %d, want 0 to %d", children, maxSchemaElements)
		}
		return err
	})
	return children, err
}

// checkTree checks that elements with these numbers of children, listed depth first, are one
// tree that is not too deep.
func checkTree(children []int32) error {
	var open []int32 // children yet to come of the elements on the path
	for i, n := range children {
		if i > 0 {
			for len(open) > 0 && open[len(open)-1] == 0 {
				open = open[:len(open)-1]
			}
			if len(open) == 0 {
				return fmt.Errorf("schema element %d has no parent", i)
			}
			open[len(open)-1]--
		}
		if int(n) > len(children)-1-i {
			return fmt.Errorf("schema element %d has %d children, but %d elements follow", i, n, len(children)-1-i)
		}
		if n > 0 {
			if open = append(open, n); len(open) > maxSchemaDepth {
				return fmt.Errorf("schema nested more than %d deep", maxSchemaDepth)
			}
		}
	}
	for _, n := range open {
		if n > 0 {
			return errors.New("schema ends before its last element")
		}
	}
	if len(children) == 0 {
		return errors.New("no schema")
	}
	return nil
}
