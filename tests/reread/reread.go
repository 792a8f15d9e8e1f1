// Package reread is for fuzz tests of what reads files: a file is refused by an error that
// names it, or what was read is written, and reads back as it was.
package reread

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// File puts data into a file of a folder of the test, and returns its path.
func File(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Refused reports whether reading path failed, and has the test fail if the error does not
// begin with it.
func Refused(t *testing.T, path string, err error) bool {
	t.Helper()
	if err != nil && !strings.HasPrefix(err.Error(), path+": ") {
		t.Errorf("error %q does not name the file", err)
	}
	return err != nil
}

// Report reads data as a report in a file of this name. If it is not refused, it is printed,
// written as JSON, read once more, and has to be the same in print and as JSON. Report returns
// what was read at first and the second time, or nil and nil, and the page.
func Report[R any](t *testing.T, name string, data []byte, load func(path string) (*R, error),
	page func(*R) (string, error)) (r, back *R, text string) {
	t.Helper()
	path := File(t, name, data)
	r, err := load(path)
	if Refused(t, path, err) {
		return nil, nil, ""
	}
	text, written := printed(t, r, page)
	back, err = load(File(t, "again.json", written))
	if err != nil {
		t.Fatalf("written again it is refused: %v", err)
	}
	if textAgain, again := printed(t, back, page); textAgain != text || !bytes.Equal(again, written) {
		t.Errorf("written and read again it is\n%s, was\n%s", again, written)
	}
	return r, back, text
}

// printed is a report as a page and as JSON.
func printed[R any](t *testing.T, r *R, page func(*R) (string, error)) (text string, data []byte) {
	t.Helper()
	text, err := page(r)
	if err != nil {
		t.Fatal(err)
	}
	if data, err = json.MarshalIndent(r, "", " "); err != nil {
		t.Fatal(err)
	}
	return text, data
}
