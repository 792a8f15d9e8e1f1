package dataset

import (
	"path/filepath"
	"testing"

	"clearance/batch"
)

// What a reader of NPZ allocates counts in its budget: buffers of every array, and texts.
func TestNPZBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.npz")
	w, err := CreateResults(path, 0, batch.Double, 3)
	if err != nil {
		t.Fatal(err)
	}
	w.Describe("note", string(make([]byte, 1<<12)))
	if err := w.Write(testResults(3, 0, batch.Double)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bytes int64
		what  string
	}{{0, "buffers of an array"}, {3 * arrayBuffers, "buffers of an array"}} {
		_, err := OpenResults(path, WithMemory(c.bytes))
		wantError(t, err, path, c.what, "memory budget")
	}
	z, err := openNPZ(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	arrays := int64(len(z.arrays))
	if err := z.Close(); err != nil {
		t.Error(err)
	}
	_, err = OpenResults(path, WithMemory(arrays*arrayBuffers+1<<10))
	wantError(t, err, path, "a text", "memory budget")
	r, err := OpenResults(path, WithMemory(arrays*arrayBuffers+1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
