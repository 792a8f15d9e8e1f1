package memory

import (
	"math"
	"syscall"
)

// free returns the bytes that the process may still take of the disk of a folder.
func free(folder string) float64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil || s.Bsize <= 0 {
		return math.Inf(1)
	}
	return float64(s.Bavail) * float64(s.Bsize)
}

// deviceOf returns a number that folders of one disk share.
func deviceOf(folder string) uint64 {
	var s syscall.Stat_t
	if err := syscall.Stat(folder, &s); err != nil {
		return 0
	}
	return uint64(s.Dev)
}
