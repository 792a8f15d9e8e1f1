package dataset

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestColumnWriter reads back what it writes, in both formats, and refuses values of other types or lengths.
func TestColumnWriter(t *testing.T) {
	for _, name := range []string{"d.npz", "d.parquet"} {
		path := filepath.Join(t.TempDir(), name)
		w, err := CreateColumns(path, []ColumnSpec{{Name: "d", Width: 12}, {Name: "code", Width: 1, Codes: true}}, 3)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		values := make([]float64, 36)
		for i := range values {
			values[i] = float64(i) / 8
		}
		codes := []uint8{1, 2, 5}
		for _, bad := range [][]any{{values[:24]}, {values[:12], codes[:2]}, {codes, codes}, {values, values}} {
			if w.Write(2, bad...) == nil {
				t.Errorf("%s: %d slices are accepted", name, len(bad))
			}
		}
		w.Describe("derivative", "exact")
		for _, part := range []struct{ lo, hi int }{{0, 2}, {2, 3}} {
			if err := w.Write(part.hi-part.lo, values[12*part.lo:12*part.hi], codes[part.lo:part.hi]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		src, err := openTable(path, w.columns, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		d, c := make([]float64, 36), make([]uint8, 3)
		if err := src.read([]any{d, c}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d, values) || !slices.Equal(c, codes) || src.metadata()["derivative"] != "exact" {
			t.Errorf("%s: read %v, %v, %v", name, d, c, src.metadata())
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := CreateColumns(filepath.Join(t.TempDir(), "d.npz"), nil, 1); err == nil {
		t.Error("a file without columns is created")
	}
}
