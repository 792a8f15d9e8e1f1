package dataset

import (
	"fmt"
	"os"
)

// openRegular opens a regular file and returns its size. What kind of file it is is asked
// before it is opened, for opening a FIFO waits for its writer.
func openRegular(path string) (*os.File, int64, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, 0, fmt.Errorf("%s is not a regular file", path)
	}
	return f, info.Size(), nil
}
