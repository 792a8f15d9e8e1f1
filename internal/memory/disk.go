package memory

import (
	"fmt"
	"os"
	"path/filepath"
)

// DiskError is the error of a file that would take more of a disk than is free on it.
type DiskError struct {
	What        string  // would take it
	Folder      string  // that the file would be in
	Bytes, Have float64 // more, of the one, than the other
}

func (e *DiskError) Error() string {
	return fmt.Sprintf("%s would take %s on the disk of %s, and %s is free there", e.What, Text(e.Bytes), e.Folder,
		Text(e.Have))
}

// CheckDisk returns a *[DiskError] if a file at a path would take so many bytes, and the disk has fewer. They may be
// any product of sizes. Where it is not known what is free there is no error: writing says it then.
func CheckDisk(what, path string, bytes float64) error {
	if bytes <= 0 {
		return nil
	}
	folder := filepath.Dir(path)
	for {
		if _, err := os.Stat(folder); err == nil || folder == filepath.Dir(folder) {
			break
		}
		folder = filepath.Dir(folder) // it will be made
	}
	if have := free(folder); !(bytes <= have) {
		return &DiskError{what, folder, bytes, have}
	}
	return nil
}
