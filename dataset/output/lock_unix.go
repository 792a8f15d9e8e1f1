//go:build unix && !solaris && !aix

package output

import (
	"os"
	"syscall"
)

func init() {
	lock = func(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
}
