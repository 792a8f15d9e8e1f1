package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DiskError is the error of files that would take more of a disk than is free on it.
type DiskError struct {
	What        string  // would take it
	Folder      string  // that the first of the files would be in
	Bytes, Have float64 // more, of the one, than the other
}

func (e *DiskError) Error() string {
	return fmt.Sprintf("%s would take %s on the disk of %s, and %s is free there", e.What, Text(e.Bytes), e.Folder,
		Text(e.Have))
}

// Output is a file to write.
type Output struct {
	What  string // is in it
	Path  string
	Bytes float64 // any product of sizes
}

// CheckDisk is [CheckDisks] of one file.
func CheckDisk(what, path string, bytes float64) error { return CheckDisks(Output{what, path, bytes}) }

// CheckDisks returns a *[DiskError] if files, all of which are there at one time, would take more of a disk than is
// free. Where it is not known what is free there is no error: writing says it then.
func CheckDisks(outputs ...Output) error {
	type use struct {
		DiskError
		device uint64
		what   []string
	}
	var disks []*use
	for _, out := range outputs {
		if out.Bytes <= 0 {
			continue
		}
		folder := filepath.Dir(out.Path)
		for {
			if _, err := os.Stat(folder); err == nil || folder == filepath.Dir(folder) {
				break
			}
			folder = filepath.Dir(folder) // it will be made
		}
		on := deviceOf(folder)
		i := slices.IndexFunc(disks, func(u *use) bool { return u.device == on })
		if i < 0 {
			i = len(disks)
			disks = append(disks, &use{DiskError{Folder: folder, Have: free(folder)}, on, nil})
		}
		u := disks[i]
		u.Bytes, u.what = u.Bytes+out.Bytes, append(u.what, out.What)
	}
	for _, u := range disks {
		if !(u.Bytes <= u.Have) {
			u.What = strings.Join(u.what, " and ")
			return &u.DiskError
		}
	}
	return nil
}
