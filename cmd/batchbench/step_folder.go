package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"clearance/dataset/output"
)

// The folder OUT.parts of an interrupted run of `step`: parts of the files of results, and the state behind them. One
// run writes to it at a time, and a run that goes on takes nothing that has been altered.

// partKinds are the kinds of the parts of a run.
var partKinds = []string{"states", "problems", "contacts"}

func (r *stepRun) part(kind string, k int) string {
	return filepath.Join(r.folder, fmt.Sprintf("%s-%06d.npz", kind, k))
}

// isOurs reports whether a run writes files of that name, or had begun to when it was killed.
func isOurs(name string) bool {
	if name = output.FinalName(name); name == runFile {
		return true
	}
	return slices.ContainsFunc(partKinds, func(kind string) bool {
		match, _ := filepath.Match(kind+"-[0-9][0-9][0-9][0-9][0-9][0-9].npz", name)
		return match
	})
}

// lock makes the folder if it is not there, and holds it until the run ends: a second run is an error.
func (r *stepRun) lock() error {
	if err := os.Mkdir(r.folder, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	folder, err := os.Open(r.folder)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		folder.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("%s: another run writes to it; give another --out", r.folder)
		}
		if !errors.Is(err, syscall.ENOTSUP) && !errors.Is(err, syscall.ENOSYS) { // file systems without locks
			return fmt.Errorf("%s: %w", r.folder, err)
		}
	}
	r.locked = folder
	return nil
}

// clear removes the files of a run. Files that are of no run are an error, and then none is removed.
func (r *stepRun) clear() error {
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !isOurs(e.Name()) {
			return fmt.Errorf("%s has the file %s, which is not that of a run; remove it", r.folder, e.Name())
		}
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(r.folder, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// remove ends the run: its folder is no longer needed.
func (r *stepRun) remove() error {
	if err := r.clear(); err != nil {
		return err
	}
	if err := os.Remove(r.folder); err != nil {
		return err
	}
	return r.locked.Close()
}

// hashFile is the SHA-256 of a file.
func hashFile(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashValues is the SHA-256 of a text and of columns.
func hashValues(text string, columns ...any) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s", len(text), text)
	for _, c := range columns {
		switch c := c.(type) {
		case []float64:
			hashColumn(h, c)
		case []int32:
			hashColumn(h, c)
		default:
			panic(fmt.Sprintf("hashValues: a column of %T", c)) // left out, it could be altered
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hashColumn adds the bytes of a column to a hash, some at a time: they are no second column in memory.
func hashColumn[T float64 | int32](h io.Writer, column []T) {
	for part := range slices.Chunk(column, 1<<12) {
		_ = binary.Write(h, binary.LittleEndian, part) // a hash takes all
	}
}

// writePart writes rows as the next part and returns its hash.
func (r *stepRun) writePart(kind string, rows *columnBuffer) (sum string, err error) {
	path := r.part(kind, r.parts)
	if err := rows.write(path); err != nil {
		return "", err
	}
	return hashFile(path)
}

// checkParts compares the parts with the hashes of the run.
func (r *stepRun) checkParts() error {
	kinds := r.kinds()
	if len(r.sums) != r.parts*len(kinds) {
		return fmt.Errorf("%s: metadata: %d hashes of %d parts of %d kinds", filepath.Join(r.folder, runFile),
			len(r.sums),
			r.parts, len(kinds))
	}
	for i, want := range r.sums {
		path := r.part(kinds[i%len(kinds)], i/len(kinds))
		got, err := hashFile(path)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s: altered since the run wrote it; remove %s to begin anew", path, r.folder)
		}
	}
	return nil
}

// kinds are those of the run, in the order in which parts are written.
func (r *stepRun) kinds() []string {
	list := partKinds[:1:1]
	if r.problems != nil {
		list = append(list, "problems")
	}
	if r.contacts != nil {
		list = append(list, "contacts")
	}
	return list
}
