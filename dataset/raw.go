package dataset

import (
	"encoding/binary"
	"hash/crc32"
	"unsafe"
)

// littleEndian says that numbers lie in memory as they do in files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// bytesOf returns the memory of a slice of a column as bytes, without copying. They are those of files only where
// littleEndian is set.
func bytesOf(v any) []byte {
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

// fileBytes returns the values as little-endian bytes: their own memory, if that has this form.
func fileBytes(v any) ([]byte, error) {
	if littleEndian {
		return bytesOf(v), nil
	}
	return binary.Append(nil, binary.LittleEndian, v)
}

// typeOfSlice is the type of the values of a slice.
func typeOfSlice(v any) dtype {
	switch v.(type) {
	case []int32:
		return typeInt32
	case []int64:
		return typeInt64
	case []float32:
		return typeFloat32
	case []float64:
		return typeFloat64
	case []uint8:
		return typeUint8
	case []uint16:
		return typeUint16
	}
	return typeOther
}

// combineCRC is the checksum (CRC-32 of IEEE 802.3, which ZIP uses) of a text whose first part has the checksum a, and
// the second one, of n bytes, the checksum b. The initial and final inversions cancel out, and what remains is linear:
// a·x^(8n) + b, modulo the polynomial.
func combineCRC(a, b uint32, n int64) uint32 {
	const x8 = 1 << (31 - 8) // bit 31 is the power 0
	for power := uint32(x8); n > 0; n >>= 1 {
		if n&1 != 0 {
			a = mulCRC(a, power)
		}
		power = mulCRC(power, power)
	}
	return a ^ b
}

// mulCRC is the product of two polynomials over GF(2) modulo that of the checksum.
func mulCRC(a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		if a>>31 != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry != 0 {
			b ^= crc32.IEEE
		}
	}
	return product
}
