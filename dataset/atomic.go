package dataset

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// outFile is what a writer needs of an open file.
type outFile interface {
	io.Writer
	io.WriterAt
	Sync() error
	Close() error
}

// fileSystem is the part of the operating system that writers use; tests put a
// full or failing one in its place.
type fileSystem interface {
	create(path string) (outFile, error) // fails if path exists
	rename(from, to string) error
	remove(path string) error

	mkdir(path string) (lock io.Closer, err error) // fails if path exists; the lock ends with the process
	removeAll(path string) error
}

type osFS struct{}

func (osFS) create(path string) (outFile, error) {
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

func (f diskFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(b, at)
	if err == nil {
		startWriteback(f.Fd(), at, int64(n))
	}
	return n, err
}

func (osFS) remove(path string) error {
	outputs.Lock()
	defer outputs.Unlock()
	delete(outputs.temporary, path)
	return os.Remove(path)
}

func (osFS) mkdir(path string) (io.Closer, error) {
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

func (osFS) removeAll(path string) error {
	outputs.Lock()
	defer outputs.Unlock()
	delete(outputs.temporary, path)
	return os.RemoveAll(path)
}

func (osFS) rename(from, to string) error {
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

// atomicFile is a file that appears under its final name only on commit.
type atomicFile struct {
	outFile
	fs          fileSystem
	temp, final string
	synced      bool // complete
	done        bool
}

var errDone = errors.New("already closed or aborted")

func createAtomic(fs fileSystem, path string) (*atomicFile, error) {
	if err := checkPlace(path); err != nil {
		return nil, fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	sweep(path)
	temp := tempPath(path)
	f, err := fs.create(temp)
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	return &atomicFile{outFile: f, fs: fs, temp: temp, final: path}, nil
}

// sync makes the file durable under its temporary name. It stays open, and so locked. On an error it is removed.
func (f *atomicFile) sync() error {
	if f.done {
		return fmt.Errorf("dataset: %s: %w", f.final, errDone)
	}
	if f.synced {
		return nil
	}
	if err := f.Sync(); err != nil {
		f.abort()
		return fmt.Errorf("dataset: cannot write %s: %w", f.final, err)
	}
	f.synced = true
	return nil
}

// commit makes the file durable and gives it its final name. On an error the
// temporary file is removed.
func (f *atomicFile) commit() error {
	if err := f.sync(); err != nil {
		return err
	}
	f.done = true
	err := f.Close()
	if err == nil {
		err = f.fs.rename(f.temp, f.final)
	}
	if err != nil {
		_ = f.fs.remove(f.temp)
		return fmt.Errorf("dataset: cannot write %s: %w", f.final, err)
	}
	return nil
}

// abort removes the temporary file; after commit or abort it does nothing.
func (f *atomicFile) abort() {
	if f.done {
		return
	}
	f.done = true
	_ = f.Close()
	_ = f.fs.remove(f.temp)
}

// A temporary file is named after the final one, so that what a crash leaves is found.
const (
	tempRandom = 12 // random characters between prefix and suffix
	tempSuffix = ".tmp"
)

// tempPath is a new temporary path for a file or a folder.
func tempPath(path string) string {
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

// sweep removes the temporary files, or folders, of path that no process writes any more. One that cannot
// be removed is no reason to fail.
func sweep(path string) {
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

// CheckOutput reports, before long work, that no file can be written at path. It creates and
// removes a file beside it.
func CheckOutput(path string) error {
	f, err := createAtomic(osFS{}, path)
	if err != nil {
		return err
	}
	f.abort()
	return nil
}

// CheckTable is CheckOutput of results, which may be a folder of parts.
func CheckTable(path string) error {
	if !IsFolder(path) {
		return CheckOutput(path)
	}
	s, err := createParts(osFS{}, path, nil, 0, partRows, nil)
	if err == nil {
		s.abort()
	}
	return err
}

// WriteFile writes a small file such as a report: it appears under its name only when it is
// complete.
func WriteFile(path string, data []byte) error { return writeAtomic(osFS{}, path, data) }

// staging is a file system whose renames wait for publish.
type staging struct {
	fileSystem
	renames [][2]string
}

func (s *staging) rename(from, to string) error {
	s.renames = append(s.renames, [2]string{from, to})
	return nil
}

// drop removes what waits.
func (s *staging) drop() {
	for _, r := range s.renames {
		_ = s.remove(r[0])
	}
	s.renames = nil
}

// publish gives the files their names.
func (s *staging) publish() error {
	for _, r := range s.renames {
		if err := s.fileSystem.rename(r[0], r[1]); err != nil {
			s.drop()
			return fmt.Errorf("dataset: cannot write %s: %w", r[1], err)
		}
	}
	s.renames = nil
	return nil
}

// writeAtomic writes a whole small file.
func writeAtomic(fs fileSystem, path string, data []byte) error {
	f, err := createAtomic(fs, path)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.abort()
		return fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	return f.commit()
}
