// Package memory says how much memory the process can still take, so that work that would take more is refused before
// it begins: Go ends a process that runs out of memory. It may be called from any goroutine.
package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// small needs no look at what the machine has.
const small = 64 << 20

// Error is the error of work that would take more memory than there is.
type Error struct {
	What        string  // would take it
	Bytes, Have float64 // more, of the one, than the other
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s would take %s of memory, and %s is available", e.What, Text(e.Bytes), Text(e.Have))
}

// Check returns an *[Error] if so many bytes are more than there are. They may be any product of sizes.
func Check(what string, bytes float64) error {
	if bytes <= small {
		return nil
	}
	if have := min(Available(), 1<<47); !(bytes <= have) { // an address space
		return &Error{what, bytes, have}
	}
	return nil
}

// Room returns how many items of a size there is memory for, at most the given number.
func Room(most int64, bytes float64) int64 {
	if float64(most)*bytes <= small {
		return most
	}
	return min(most, int64(min(Available(), 1<<47)/bytes))
}

// Text is an amount of memory as a text.
func Text(n float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	i := 0
	for n >= 999.5 && i < len(units)-1 {
		n /= 1000
		i++
	}
	return fmt.Sprintf("%.3g %s", n, units[i])
}

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
