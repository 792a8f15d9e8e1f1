package console

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"clearance/dataset/output"
)

// WriteJSON writes v as JSON, a record a line, to path, or to stdout where path is "-".
// A file appears under its name only once it is complete.
func WriteJSON(stdout io.Writer, path string, v any) error {
	data, err := JSON(v)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if path == "-" {
		_, err = stdout.Write(data)
		return err
	}
	return WriteFile(path, data)
}

// WriteFile writes data beside path and renames it into place.
func WriteFile(path string, data []byte) error {
	if err := output.WriteFile(path, data); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "dataset: "))
	}
	return nil
}

// CheckWritable returns an error if a file cannot be created at path. It is called before
// work that may take hours.
func CheckWritable(path string) error {
	if path == "" || path == "-" {
		return nil
	}
	if err := output.Check(path); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "dataset: "))
	}
	return nil
}

// SameFile reports whether two paths are one file, or would be once they are written.
func SameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(infoA, infoB)
	}
	return errA != nil && errB != nil && place(a) == place(b)
}

// place is the path of a file that may not exist yet, its folder without links.
func place(path string) string {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return filepath.Clean(path)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.Join(dir, filepath.Base(path))
}
