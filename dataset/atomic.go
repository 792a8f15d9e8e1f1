package dataset

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
}

type osFS struct{}

func (osFS) create(path string) (outFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}
func (osFS) remove(path string) error { return os.Remove(path) }

func (osFS) rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
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
	done        bool
}

var errDone = errors.New("already closed or aborted")

func createAtomic(fs fileSystem, path string) (*atomicFile, error) {
	dir, base := filepath.Split(path)
	temp := filepath.Join(dir, "."+base+"."+rand.Text()[:12]+".tmp")
	f, err := fs.create(temp)
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	return &atomicFile{outFile: f, fs: fs, temp: temp, final: path}, nil
}

// commit makes the file durable and gives it its final name. On an error the
// temporary file is removed.
func (f *atomicFile) commit() error {
	if f.done {
		return fmt.Errorf("dataset: %s: %w", f.final, errDone)
	}
	f.done = true
	err := f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
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
