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
