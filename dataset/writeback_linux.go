package dataset

import "golang.org/x/sys/unix"

// startWriteback begins to write bytes [at, at+n) of a file to the disk, so that the flush at the end, in one
// goroutine, finds little to do. It is a hint: an error shows again in the flush.
func startWriteback(fd uintptr, at, n int64) {
	_ = unix.SyncFileRange(int(fd), at, n, unix.SYNC_FILE_RANGE_WRITE)
}
