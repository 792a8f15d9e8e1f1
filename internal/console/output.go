package console

import (
	"bytes"
	"encoding/json"
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

// width is the length in bytes up to which a record stands on one line.
const width = 1200

// JSON returns v as JSON with a record on each line: the fields of v and their elements have lines of their own, and so
// have the parts of a value longer than width. Lists of numbers are never broken.
func JSON(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := lines(&b, data, 0); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// lines writes a value that begins at a depth.
func lines(b *bytes.Buffer, v json.RawMessage, depth int) error {
	nested := len(v) > 0 && (v[0] == '{' || v[0] == '[')
	short := len(v) <= width && depth > 1
	if !nested || short || depth > 0 && !bytes.ContainsAny(v[1:], "{[") {
		b.Write(v)
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(v))
	if _, err := d.Token(); err != nil {
		return err
	}
	b.WriteByte(v[0])
	for first := true; d.More(); first = false {
		if !first {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "\n%*s", depth+1, "")
		var element json.RawMessage
		if v[0] == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			name, err := json.Marshal(key)
			if err != nil {
				return err
			}
			b.Write(append(name, ": "...))
		}
		if err := d.Decode(&element); err != nil {
			return err
		}
		if err := lines(b, element, depth+1); err != nil {
			return err
		}
	}
	fmt.Fprintf(b, "\n%*s%c", depth, "", v[len(v)-1])
	return nil
}
