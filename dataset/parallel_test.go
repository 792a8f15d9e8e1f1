package dataset

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"clearance/batch"
	"clearance/dataset/output"
	"clearance/dataset/parquet"
	"clearance/internal/testkit"
)

// writeChunks writes results in chunks of some rows by some workers and returns the bytes of the file.
func writeChunks(t *testing.T, name string, r *batch.Results, columns batch.Columns, workers, rows int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	w, err := CreateResults(path, columns, r.Precision, int64(r.N))
	if err != nil {
		t.Fatal(err)
	}
	w.SetWorkers(workers)
	for at := 0; at < r.N; at += rows {
		if err := w.Write(r.Slice(at, min(at+rows, r.N))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestWorkersAgree writes and reads by 1 to 64 workers, in chunks that do not divide row groups: the bytes of the
// files and the values are the same.
func TestWorkersAgree(t *testing.T) {
	n := 2*parquet.RowGroup + 12345
	if testing.Short() {
		n = parquet.RowGroup + 12345
	}
	columns := everyColumn &^ batch.ColBits
	r := testResults(n, columns, batch.Single)
	for _, ext := range formats {
		var first []byte
		for _, c := range []struct{ workers, rows int }{{1, n}, {2, 50_001}, {7, n}, {64, 1 << 16}} {
			data := writeChunks(t, "results"+ext, r, columns, c.workers, c.rows)
			if first == nil {
				first = data
			}
			if !bytes.Equal(data, first) {
				t.Errorf("%s: %d workers, %d rows at a time: other bytes", ext, c.workers, c.rows)
			}
			f, err := OpenResults(testkit.TempFile(t, "read"+ext, data), WithWorkers(c.workers))
			if err != nil {
				t.Fatal(err)
			}
			got := batch.NewResults(n, &batch.Options{Columns: columns})
			for at := 0; at < n; {
				k, err := f.Next(got.Slice(at, min(at+c.rows, n)))
				if err != nil {
					t.Fatal(err)
				}
				at += k
			}
			sameColumns(t, got, r)
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// panicFS is a file system whose files panic from some write on.
type panicFS struct {
	output.Disk
	left atomic.Int32
}

type panicFile struct {
	output.Raw
	fs *panicFS
}

func (fs *panicFS) Create(path string) (output.Raw, error) {
	f, err := fs.Disk.Create(path)
	return panicFile{f, fs}, err
}

func (f panicFile) WriteAt(b []byte, at int64) (int, error) {
	if f.fs.left.Add(-1) < 0 {
		panic("a worker fails")
	}
	return f.Raw.WriteAt(b, at)
}

// TestWorkerPanics makes a worker panic in the middle of a row group: an error, and no file.
func TestWorkerPanics(t *testing.T) {
	r := testResults(parquet.RowGroup+5, 0, batch.Single)
	for _, ext := range formats {
		for _, writes := range []int32{0, 1, 5, 9} {
			dir := t.TempDir()
			fs := &panicFS{}
			fs.left.Store(writes)
			w, err := createResults(fs, filepath.Join(dir, "r"+ext), 0, batch.Single, int64(r.N), nil)
			if err != nil {
				t.Fatal(err)
			}
			err = errors.Join(w.Write(r), w.Close())
			if err == nil || !strings.Contains(err.Error(), "a worker fails") {
				t.Errorf("%s, %d writes: error %v", ext, writes, err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%s, %d writes: %s is left", ext, writes, left[0].Name())
			}
		}
	}
}
