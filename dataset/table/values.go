package table

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"unsafe"
)

// RawBlock is the number of bytes of values that a worker converts at a time.
const RawBlock = 1 << 16

// RawBlocks keeps blocks for the next conversion.
var RawBlocks = sync.Pool{New: func() any { return new([RawBlock]byte) }}

// Decode converts raw values of type t to the type of dst.
func Decode(raw []byte, order binary.ByteOrder, t Type, dst any) error {
	switch d := dst.(type) {
	case []int32:
		if t == Int64 {
			for i := range d {
				d[i] = Clamp32(int64(order.Uint64(raw[8*i:])))
			}
			return nil
		}
	case []float64:
		if t == Float32 {
			for i := range d {
				d[i] = float64(math.Float32frombits(order.Uint32(raw[4*i:])))
			}
			return nil
		}
	}
	_, err := binary.Decode(raw, order, dst)
	return err
}

// Len is the number of values of any of the slice types of a column.
func Len(v any) int {
	switch s := v.(type) {
	case []int32:
		return len(s)
	case []int64:
		return len(s)
	case []float32:
		return len(s)
	case []float64:
		return len(s)
	case []uint8:
		return len(s)
	case []uint16:
		return len(s)
	}
	panic(fmt.Sprintf("dataset: no column holds a %T", v))
}

// Slice returns values lo to hi of any of the slice types of a column.
func Slice(v any, lo, hi int) any {
	switch s := v.(type) {
	case []int32:
		return s[lo:hi]
	case []int64:
		return s[lo:hi]
	case []float32:
		return s[lo:hi]
	case []float64:
		return s[lo:hi]
	case []uint8:
		return s[lo:hi]
	case []uint16:
		return s[lo:hi]
	}
	panic(fmt.Sprintf("dataset: no column holds a %T", v))
}

// Clamp32 is v, or the end of int32 that lies nearest to it.
func Clamp32(v int64) int32 {
	return int32(min(max(v, math.MinInt32), math.MaxInt32))
}

// LittleEndian says that numbers lie in memory as they do in files.
var LittleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Bytes returns the memory of a slice of a column as bytes, without copying. They are the bytes of a file only where
// LittleEndian is set.
func Bytes(v any) []byte {
	switch s := v.(type) {
	case []int32:
		return view(s)
	case []int64:
		return view(s)
	case []float32:
		return view(s)
	case []float64:
		return view(s)
	case []uint8:
		return s
	case []uint16:
		return view(s)
	}
	return nil
}

func view[T any](s []T) []byte {
	var v T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(v)))
}

// FileBytes returns the values as little-endian bytes: their own memory, if that has this form.
func FileBytes(v any) ([]byte, error) {
	if LittleEndian {
		return Bytes(v), nil
	}
	return binary.Append(nil, binary.LittleEndian, v)
}

// TypeOf is the type of the values of a slice.
func TypeOf(v any) Type {
	switch v.(type) {
	case []int32:
		return Int32
	case []int64:
		return Int64
	case []float32:
		return Float32
	case []float64:
		return Float64
	case []uint8:
		return Uint8
	case []uint16:
		return Uint16
	}
	return Other
}
