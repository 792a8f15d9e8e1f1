//go:build unix && !solaris && !aix

package dataset

import (
	"os"
	"syscall"
)

// lock takes a lock that ends with the process, and fails if another writer has it.
func lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
