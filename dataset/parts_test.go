package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"clearance/batch"
	"clearance/dataset/output"
	"clearance/dataset/table"
	"clearance/internal/testkit"
)

// writeParts writes results as a folder of parts of so many rows.
func writeParts(fs output.FS, path string, r *batch.Results, per int64, chunk int) error {
	out, err := createParts(fs, path, resultFileColumns(r), int64(r.N), per, nil)
	if err != nil {
		return err
	}
	w := &ResultWriter{tableWriter{path: path, out: out, n: int64(r.N)}, r.Columns, r.Precision}
	defer w.Abort()
	w.Describe(metaPrecision, r.Precision.String())
	w.Describe("tolerance", "1e-3")
	for lo := 0; lo < r.N; lo += chunk {
		if err := w.Write(r.Slice(lo, min(lo+chunk, r.N))); err != nil {
			return err
		}
	}
	return w.Close()
}

// resultFileColumns are the columns of a file of the results.
func resultFileColumns(r *batch.Results) (cols []table.Column) {
	for i, c := range table.Results(table.RealOf(r.Precision)) {
		if r.Columns&table.ResultBits[i] != 0 {
			cols = append(cols, c)
		}
	}
	return cols
}

// A folder of parts has the rows of one file, however they are divided and asked for.
func TestPartsRoundTrip(t *testing.T) {
	want := testResults(1000, batch.AllColumns, batch.Double)
	for _, c := range []struct {
		n           int
		per         int64
		write, read int
		parts       int
	}{{1000, 300, 170, 450, 4}, {1000, 250, 1000, 1, 4}, {1000, 5000, 999, 77, 1}, {40, 1, 40, 40, 40},
		{0, 10, 1, 1, 1}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			want := want.Slice(0, c.n)
			dir := t.TempDir()
			path := filepath.Join(dir, "results") + "/"
			if err := writeParts(output.Disk{}, path, want, c.per, c.write); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(path)
			if err != nil || len(entries) != c.parts {
				t.Errorf("%d files, want %d; %v", len(entries), c.parts, err)
			}
			r, err := OpenResults(path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if r.Len() != int64(c.n) || r.Columns() != batch.AllColumns || r.Precision() != batch.Double {
				t.Fatalf("%d rows of %v in %v", r.Len(), r.Columns(), r.Precision())
			}
			if m := r.Metadata(); m["tolerance"] != "1e-3" || m[metaPart] != "" {
				t.Errorf("metadata %v", m)
			}
			got := batch.NewResults(c.n, &batch.Options{Columns: batch.AllColumns, Precision: batch.Double})
			for at := 0; at < c.n; {
				n, err := r.Next(got.Slice(at, min(at+c.read, c.n)))
				if err != nil {
					t.Fatal(err)
				}
				at += n
			}
			sameColumns(t, got, want)
		})
	}
}

// A table whose number of rows is not known before its end states the number of its parts in the last one.
func TestPartsOfUnknownRows(t *testing.T) {
	want := testResults(60, batch.AllColumns, batch.Double)
	for _, rows := range []int{0, 25, 40, 60} {
		path := filepath.Join(t.TempDir(), "results") + "/"
		s, err := createParts(output.Disk{}, path, resultFileColumns(want), UnknownRows, 20, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := &ResultWriter{tableWriter{path: path, out: s}, want.Columns, want.Precision}
		for lo := 0; lo < rows; lo += 5 {
			w.n += 5
			if err := w.Write(want.Slice(lo, lo+5)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := OpenResults(path)
		if err != nil {
			t.Fatal(err)
		}
		if r.Len() != int64(rows) {
			t.Errorf("%d rows, want %d", r.Len(), rows)
		}
		_ = r.Close()
		if last := fmt.Sprintf("%spart-%05d.parquet", path, (rows-1)/20); rows > 20 {
			if err := os.Remove(last); err != nil {
				t.Fatal(err)
			}
			_, err := OpenResults(path)
			testkit.WantError(t, err, "parts are missing")
		}
	}
}

// Columns of a folder advance on their own, as those of a file do.
func TestPartsByColumn(t *testing.T) {
	want := testResults(700, batch.AllColumns, batch.Single)
	path := filepath.Join(t.TempDir(), "results/")
	if err := os.Mkdir(path, 0o700); err != nil { // an empty folder is replaced
		t.Fatal(err)
	}
	if err := writeParts(output.Disk{}, path, want, 64, 100); err != nil {
		t.Fatal(err)
	}
	cols := table.Results(table.Float32, table.Float64)
	src, err := openTable(path, cols, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := batch.NewResults(0, &batch.Options{Columns: batch.AllColumns})
	for i := range table.ResultBits {
		if _, ok := src.TypeOf(i); !ok {
			continue
		}
		if err := readColumn(path, src, i, 700*int64(cols[i].Width), resultColumn(got, i)); err != nil {
			t.Fatal(err)
		}
	}
	got.N = 700
	sameColumns(t, got, want)
	if err := src.Close(); err != nil {
		t.Error(err)
	}
}

// Pairs in files of different writers are one table in the order of the numbers in their names.
func TestPairsInParts(t *testing.T) {
	want := testPairs(100)
	for _, ext := range formats {
		dir := t.TempDir()
		for i := range 12 {
			lo, hi := i*8, min((i+1)*8, 100)
			if i == 11 {
				hi = 100
			}
			if err := WritePairs(filepath.Join(dir, fmt.Sprintf("part.%d%s", i, ext)), want.Slice(lo, hi)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "_SUCCESS"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadPairs(dir)
		if err != nil {
			t.Fatal(err)
		}
		sameBits(t, got, want)
		r, err := OpenPairs(dir)
		if err != nil {
			t.Fatal(err)
		}
		if extra, err := r.Extra(); extra != nil || err != nil {
			t.Errorf("columns besides those of pairs: %v, %v", extra, err)
		}
		in, err := r.Rows(30, 61, nil)
		if err != nil {
			t.Fatal(err)
		}
		sameBits(t, in.(*batch.Pairs), want.Slice(30, 61))
		if in, err = r.Rows(72, 100, in); err != nil { // from the end of a part
			t.Fatal(err)
		}
		sameBits(t, in.(*batch.Pairs), want.Slice(72, 100))
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Nothing stands under the name of a folder before all parts are complete, and nothing is left after a fault.
func TestPartsFaults(t *testing.T) {
	r := testResults(500, batch.AllColumns, batch.Double)
	dir := t.TempDir()
	path := filepath.Join(dir, "results") + "/"
	room := roomFor(1 << 30)
	if err := writeParts(fullDisk{room: room}, path, r, 60, 100); err != nil {
		t.Fatal(err)
	}
	size := 1<<30 - int(room.Load())
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		room.Store(int64(size * i / 10))
		if err := writeParts(fullDisk{room: room}, path, r, 60, 100); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("room for %d of 10: %v is not ENOSPC", i, err)
		}
		emptyDir(t, dir)
	}
	for _, d := range []fullDisk{{failSync: true}, {failRen: true}} {
		room.Store(int64(size))
		d.room = room
		if err := writeParts(d, path, r, 60, 100); !errors.Is(err, syscall.EIO) {
			t.Errorf("%v is not EIO", err)
		}
		emptyDir(t, dir)
	}

	w, err := createParts(output.Disk{}, path, resultFileColumns(r), int64(r.N), 60, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := &ResultWriter{tableWriter{path: path, out: w, n: int64(r.N)}, r.Columns, r.Precision}
	if err := out.Write(r.Slice(0, 200)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there before its rows are: %v", err)
	}
	testkit.WantError(t, out.Close(), "200 rows written, 500 announced")
	emptyDir(t, dir)
}

// What a crash left is removed by the next writer of the name; what another one writes is not.
func TestPartsSwept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "results") + "/"
	r := testResults(10, batch.AllColumns, batch.Double)
	left := output.TempPath(filepath.Clean(path))
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "part-00000.parquet"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := createParts(output.Disk{}, path, resultFileColumns(r), 10, 60, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("a folder that a crash left is still there")
	}
	if err := writeParts(output.Disk{}, path, r, 60, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(other.temp); err != nil {
		t.Errorf("the folder of another writer: %v", err)
	}
	other.Abort()
}

// A folder that has something is left as it is, and so is a file that has the name.
func TestPartsPlace(t *testing.T) {
	dir := t.TempDir()
	r := testResults(10, batch.AllColumns, batch.Double)
	if err := writeParts(output.Disk{}, dir+"/results/", r, 4, 10); err != nil {
		t.Fatal(err)
	}
	testkit.WantError(t, writeParts(output.Disk{}, dir+"/results/", r, 4, 10), "results", "not empty")
	testkit.WantError(t, CheckTable(dir+"/results"), "results", "not empty")
	testkit.WantError(t, output.Check(dir+"/results"), "results", "is a directory")
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.WantError(t, writeParts(output.Disk{}, file+"/", r, 4, 10), "file")
	if err := CheckTable(dir + "/new/"); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%d entries, want 2; %v", len(entries), err)
	}
}

// Folders that are no table are refused by the name of what is wrong.
func TestPartsRefused(t *testing.T) {
	single, double := testResults(30, batch.AllColumns, batch.Single), testResults(30, batch.AllColumns, batch.Double)
	other := filepath.Join(t.TempDir(), "other") + "/"
	if err := writeParts(output.Disk{}, other, double, 10, 30); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(dir string) error
		words  []string
	}{
		"a part is missing": {func(dir string) error { return os.Remove(dir + "part-00001.parquet") },
			[]string{"part-00000.parquet", "part 1/3", "file 1 of 2"}},
		"parts in another order": {func(dir string) error {
			return os.Rename(dir+"part-00000.parquet", dir+"part-00009.parquet")
		}, []string{"part-00001.parquet", "part 2/3", "file 1 of 3"}},
		"another precision": {func(dir string) error {
			return os.Rename(other+"part-00001.parquet", dir+"part-00001.parquet")
		}, []string{"part-00001.parquet", "column distance"}},
		"another format": {func(dir string) error {
			return os.WriteFile(dir+"part-00003.npz", nil, 0o600)
		}, []string{"part-00003.npz", "two formats"}},
		"another file": {func(dir string) error { return os.WriteFile(dir+"notes.txt", nil, 0o600) },
			[]string{"notes.txt", "unknown extension"}},
		"a folder": {func(dir string) error { return os.Mkdir(dir+"more", 0o700) },
			[]string{"more", "unknown extension"}},
		"an empty file": {func(dir string) error { return os.Truncate(dir+"part-00001.parquet", 0) },
			[]string{"part-00001.parquet"}},
		"no part": {func(dir string) error {
			for i := range 3 {
				if err := os.Remove(fmt.Sprintf("%spart-%05d.parquet", dir, i)); err != nil {
					return err
				}
			}
			return nil
		}, []string{"no .parquet or .npz file"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "results") + "/"
			if err := writeParts(output.Disk{}, dir, single, 10, 30); err != nil {
				t.Fatal(err)
			}
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			_, err := OpenResults(dir)
			testkit.WantError(t, err, append(c.words, filepath.Base(dir))...)
		})
	}
}

// Parts that claim different queries are no table.
func TestPartsOfTwoQueries(t *testing.T) {
	dir := t.TempDir()
	r := testResults(10, batch.AllColumns, batch.Double)
	for i, tolerance := range []string{"1e-3", "1e-4"} {
		w, err := CreateResults(filepath.Join(dir, fmt.Sprintf("%d.parquet", i)), 0, batch.Double, 10)
		if err != nil {
			t.Fatal(err)
		}
		w.Describe("tolerance", tolerance)
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := OpenResults(dir)
	testkit.WantError(t, err, "1.parquet", "tolerance", "1e-4", "0.parquet")
}

func TestCompareNames(t *testing.T) {
	want := []string{"a", "a01", "a1", "a2", "a10", "a10b", "a010c", "b", "part-9.x", "part-10.w"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareNames)
	if !slices.Equal(got, want) {
		t.Errorf("%s, want %s", strings.Join(got, " "), strings.Join(want, " "))
	}
}

// TestPartsOfRows: parts that answer rows of a file, one range after the other, are a table of all these rows; with a
// gap, or beside a part of a whole file, they are none.
func TestPartsOfRows(t *testing.T) {
	for _, c := range []struct {
		rows []string
		want string // "" if the folder is refused
	}{
		{[]string{"0:2", "2:4", "4:6"}, "0:6"}, {[]string{"4:6", "6:8"}, "4:8"}, {[]string{"", ""}, ""},
		{[]string{"0:2", "4:6"}, "!"},
		{[]string{"0:2", "2:4", "0:4"}, "!"}, {[]string{"0:2", "0:2", "2:4"}, "!"}, {[]string{"0:2", ""}, "!"},
		{[]string{"", "2:4"}, "!"},
	} {
		dir := t.TempDir()
		for i, rows := range c.rows {
			w, err := CreateResults(filepath.Join(dir, fmt.Sprintf("part-%d.npz", i)), batch.ColStatus, batch.Single, 2)
			if err != nil {
				t.Fatal(err)
			}
			if rows != "" {
				w.Describe(MetaRows, rows)
			}
			r := batch.NewResults(2, &batch.Options{Columns: batch.ColStatus})
			if err := errors.Join(w.Write(r), w.Close()); err != nil {
				t.Fatal(err)
			}
		}
		in, err := OpenResults(dir)
		if err != nil {
			if c.want != "!" {
				t.Errorf("%q: %v", c.rows, err)
			}
			continue
		}
		if got := in.Metadata()[MetaRows]; got != c.want || in.Len() != int64(2*len(c.rows)) {
			t.Errorf("%q: rows %q of %d, want %q", c.rows, got, in.Len(), c.want)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}
