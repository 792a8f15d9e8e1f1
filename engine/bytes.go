package engine

import "unsafe"

// bytesOf returns the memory of records as bytes.
func bytesOf[T any](s []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(t)))
}

// recordsIn returns mapped memory as records. It must be aligned for them, as every
// buffer of package vk is.
func recordsIn[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}
