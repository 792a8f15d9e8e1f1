// Package output writes files that appear under their name only when they are complete: see the section on writing of
// package dataset.
package output

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Raw is an open file, as far as writers need it.
type Raw interface {
	io.Writer
	io.WriterAt
	Sync() error
	Close() error
}

// FS is the part of the operating system that writers use; tests put a
// full or failing one in its place.
type FS interface {
	Create(path string) (Raw, error) // fails if path exists
	Rename(from, to string) error
	Remove(path string) error

	Mkdir(path string) (lock io.Closer, err error) // fails if path exists; the lock ends with the process
	RemoveAll(path string) error
}

// lock takes a lock that ends with the process, and fails if another writer has it. Without one, as on Windows, it does
// nothing: there a file that is open cannot be removed.
var lock = func(*os.File) error { return nil }

// startWriteback begins to write bytes [at, at+n) of a file to the disk, so that the flush at the end, in one
// goroutine, finds little to do. It is a hint, which only Linux takes: an error shows again in the flush.
var startWriteback = func(fd uintptr, at, n int64) {}

// Disk is the file system of the operating system.
type Disk struct{}

// Create creates a file that does not exist.
func (Disk) Create(path string) (Raw, error) {
	outputs.Lock()
	defer outputs.Unlock()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		_ = lock(f) // so that no other writer takes it for one left by a crash
		outputs.temporary[path] = true
	}
	return diskFile{f}, err
}

// diskFile is a file on a disk, to which its writers begin to write what they have written.
type diskFile struct{ *os.File }

// WriteAt writes, and has the system begin to write to the disk.
func (f diskFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(b, at)
	if err == nil {
		startWriteback(f.Fd(), at, int64(n))
	}
	return n, err
}

// Remove removes a file.
func (Disk) Remove(path string) error {
	outputs.Lock()
	defer outputs.Unlock()
	delete(outputs.temporary, path)
	return os.Remove(path)
}

// Mkdir creates a folder that does not exist, with a lock that ends with the process.
func (Disk) Mkdir(path string) (io.Closer, error) {
	outputs.Lock()
	defer outputs.Unlock()
	if err := os.Mkdir(path, 0o777); err != nil {
		return nil, err
	}
	d, err := os.Open(path)
	if err != nil {
		_ = os.Remove(path)
		return nil, err
	}
	_ = lock(d)
	outputs.temporary[path] = true
	return d, nil
}

// RemoveAll removes a folder with its files.
func (Disk) RemoveAll(path string) error {
	outputs.Lock()
	defer outputs.Unlock()
	delete(outputs.temporary, path)
	return os.RemoveAll(path)
}

// Rename gives a file or a folder its final name, durably.
func (Disk) Rename(from, to string) error {
	outputs.Lock()
	defer outputs.Unlock()
	// A file that is replaced keeps its mode; a new one has that of the umask.
	if info, err := os.Stat(to); err == nil {
		if err := os.Chmod(from, info.Mode().Perm()); err != nil {
			return err
		}
		if info.IsDir() { // which has to be empty
			if err := os.Remove(to); err != nil {
				return err
			}
		}
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	delete(outputs.temporary, from)
	if !outputs.temporary[filepath.Dir(to)] { // else it is a part of a folder that is not complete
		outputs.complete = append(outputs.complete, to)
	}
	// The rename itself survives a crash only once the directory is on disk. Some
	// file systems cannot sync a directory, which is no fault of the file.
	if d, err := os.Open(filepath.Dir(to)); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

// File is a file that appears under its final name only on commit.
type File struct {
	Raw
	fs          FS
	Temp, Final string
	synced      bool // complete
	done        bool
}

// ErrDone is the error of a file that has been closed or aborted.
var ErrDone = errors.New("already closed or aborted")

// Create creates a file under a temporary name beside its path.
func Create(fs FS, path string) (*File, error) {
	if err := checkPlace(path); err != nil {
		return nil, fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	RemoveStale(path)
	temp := TempPath(path)
	f, err := fs.Create(temp)
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	return &File{Raw: f, fs: fs, Temp: temp, Final: path}, nil
}

// Durable makes the file durable under its temporary name. It stays open, and so locked. On an error it is removed.
func (f *File) Durable() error {
	if f.done {
		return fmt.Errorf("dataset: %s: %w", f.Final, ErrDone)
	}
	if f.synced {
		return nil
	}
	if err := f.Sync(); err != nil {
		f.Abort()
		return fmt.Errorf("dataset: cannot write %s: %w", f.Final, err)
	}
	f.synced = true
	return nil
}

// Commit makes the file durable and gives it its final name. On an error the
// temporary file is removed.
func (f *File) Commit() error {
	if err := f.Durable(); err != nil {
		return err
	}
	f.done = true
	err := f.Close()
	if err == nil {
		err = f.fs.Rename(f.Temp, f.Final)
	}
	if err != nil {
		_ = f.fs.Remove(f.Temp)
		return fmt.Errorf("dataset: cannot write %s: %w", f.Final, err)
	}
	return nil
}

// Abort removes the temporary file; after commit or abort it does nothing.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	_ = f.Close()
	_ = f.fs.Remove(f.Temp)
}

// A temporary file is named after the final one, so that what a crash leaves is found.
const (
	tempRandom = 12 // random characters between prefix and suffix
	tempSuffix = ".tmp"
)

// TempPath is a new temporary path for a file or a folder.
func TempPath(path string) string {
	dir, base := filepath.Split(path)
	return filepath.Join(dir, tempPrefix(base)+rand.Text()[:tempRandom]+tempSuffix)
}

func tempPrefix(base string) string { return "." + base + "." }

// FinalName is the name that a file gets, whether its path is that one or that under which it is written.
func FinalName(path string) string {
	base := filepath.Base(path)
	n := len(base) - len(".") - tempRandom - len(tempSuffix)
	if n > 1 && base[0] == '.' && base[n] == '.' && strings.HasSuffix(base, tempSuffix) {
		return base[1:n]
	}
	return base
}

// RemoveStale removes the temporary files, or folders, of path that no process writes any more. One that cannot
// be removed is no reason to fail.
func RemoveStale(path string) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	prefix := tempPrefix(base)
	for _, e := range entries {
		name := e.Name()
		if len(name) != len(prefix)+tempRandom+len(tempSuffix) || !strings.HasPrefix(name, prefix) ||
			!strings.HasSuffix(name, tempSuffix) || !e.Type().IsRegular() && !e.IsDir() {
			continue
		}
		temp, mode := filepath.Join(dir, name), os.O_WRONLY
		if e.IsDir() {
			mode = os.O_RDONLY
		}
		f, err := os.OpenFile(temp, mode, 0)
		if err != nil {
			continue
		}
		free := lock(f) == nil
		_ = f.Close()
		if free {
			_ = os.RemoveAll(temp)
		}
	}
}

// checkPlace reports a path that no file can be renamed to, or whose file is none of ours to
// replace.
func checkPlace(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil // no file, or creating it says why not
	case info.IsDir():
		return errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	}
	return nil
}

// Check reports, before long work, that no file can be written at path. It creates and
// removes a file beside it.
func Check(path string) error {
	f, err := Create(Disk{}, path)
	if err != nil {
		return err
	}
	f.Abort()
	return nil
}

// WriteFile writes a small file such as a report: it appears under its name only when it is
// complete.
func WriteFile(path string, data []byte) error { return Write(Disk{}, path, data) }

// Staging is a file system whose renames wait for publish.
type Staging struct {
	FS
	renames [][2]string
}

// Rename waits for Publish.
func (s *Staging) Rename(from, to string) error {
	s.renames = append(s.renames, [2]string{from, to})
	return nil
}

// Drop removes what waits.
func (s *Staging) Drop() {
	for _, r := range s.renames {
		_ = s.Remove(r[0])
	}
	s.renames = nil
}

// Publish gives the files their names.
func (s *Staging) Publish() error {
	for _, r := range s.renames {
		if err := s.FS.Rename(r[0], r[1]); err != nil {
			s.Drop()
			return fmt.Errorf("dataset: cannot write %s: %w", r[1], err)
		}
	}
	s.renames = nil
	return nil
}

// Write writes a whole small file.
func Write(fs FS, path string, data []byte) error {
	f, err := Create(fs, path)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Abort()
		return fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	return f.Commit()
}

// outputs are the files and folders that this process writes and has written.
var outputs = struct {
	sync.Mutex
	temporary map[string]bool
	complete  []string
}{temporary: map[string]bool{}}

// Abandon removes all temporary files and folders, for a process that is about to exit without
// waiting for its writers, and returns those that were completed. No file is created,
// completed or removed afterwards: writers that try wait for the exit.
func Abandon() (complete []string) {
	outputs.Lock() // and never unlocked
	for path := range outputs.temporary {
		_ = os.RemoveAll(path)
	}
	return slices.Clone(outputs.complete)
}
