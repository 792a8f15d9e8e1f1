package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"clearance/batch"
	"clearance/dataset/output"
	"clearance/dataset/parquet"
	"clearance/internal/testkit"
)

var formats = []string{".npz", ".parquet"}

// testPairs returns n rows of noise, with the values that are easily lost.
func testPairs(n int) *batch.Pairs {
	p := batch.NewPairs(n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range n {
		p.ShapeA[i], p.ShapeB[i] = int32(r.Uint32()), int32(r.IntN(5))
	}
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64,
		math.MaxFloat64}
	for _, col := range [][]float64{p.PositionA, p.PositionB, p.RotationA, p.RotationB} {
		for i := range col {
			col[i] = r.NormFloat64()
			if r.IntN(20) == 0 {
				col[i] = special[r.IntN(len(special))]
			}
		}
	}
	return p
}

// everyColumn has the columns that results files can contain, whatever their query.
var everyColumn = batch.FileColumns | batch.ExtraColumns

func testResults(n int, columns batch.Columns, precision batch.Precision) *batch.Results {
	res := batch.NewResults(n, &batch.Options{Columns: columns, Precision: precision})
	r := rand.New(rand.NewPCG(2, uint64(n)))
	for _, f := range []*batch.Values{res.Distance(), res.Normal(), res.WitnessA(), res.WitnessB(), res.Point()} {
		for i := range f.Len() {
			f.Set(i, r.NormFloat64())
		}
	}
	for i := range res.Gap() {
		res.Gap()[i] = float32(r.ExpFloat64())
	}
	for i := range res.Status() {
		res.Status()[i] = uint8(r.IntN(5))
	}
	for i := range res.Method() {
		res.Method()[i] = uint8(r.IntN(int(batch.SolverCount)))
	}
	for i := range res.Iterations() {
		res.Iterations()[i] = uint16(r.Uint32())
	}
	return res
}

// sameBits compares structs of number columns, NaN included.
func sameBits(t *testing.T, got, want any) {
	t.Helper()
	g, w := reflect.ValueOf(got).Elem(), reflect.ValueOf(want).Elem()
	for i := range g.NumField() {
		if !g.Type().Field(i).IsExported() {
			continue // see sameColumns
		}
		if a, b := fmt.Sprintf("%x", bitsOf(g.Field(i).Interface())),
			fmt.Sprintf("%x", bitsOf(w.Field(i).Interface())); a != b {
			t.Fatalf("%s differs:\n%.200s\n%.200s", g.Type().Field(i).Name, a, b)
		}
	}
}

func bitsOf(v any) any {
	switch f := v.(type) {
	case []float64:
		b := make([]uint64, len(f))
		for i := range f {
			b[i] = math.Float64bits(f[i])
		}
		return b
	case []float32:
		b := make([]uint32, len(f))
		for i := range f {
			b[i] = math.Float32bits(f[i])
		}
		return b
	}
	return v
}

// sameColumns fails the test if two results differ in a bit.
func sameColumns(t *testing.T, got, want *batch.Results) {
	t.Helper()
	sameBits(t, got, want)
	for _, c := range batch.EveryColumn() {
		if a, b := fmt.Sprintf("%x", bitsOf(got.Column(c).Any())), fmt.Sprintf("%x",
			bitsOf(want.Column(c).Any())); a != b {
			t.Fatalf("%v differs:\n%.200s\n%.200s", c, a, b)
		}
	}
}

func TestPairsRoundTrip(t *testing.T) {
	for _, ext := range formats {
		for _, c := range []struct{ n, write, read int }{{0, 1, 1}, {1, 1, 1}, {7, 3, 2}, {1000, 1000, 1},
			{20000, 4099, 7001}, {3, 1, 100}} {
			t.Run(fmt.Sprintf("%s/%d/%d/%d", ext, c.n, c.write, c.read), func(t *testing.T) {
				want := testPairs(c.n)
				path := filepath.Join(t.TempDir(), "pairs"+ext)
				w, err := CreatePairs(path, int64(c.n))
				if err != nil {
					t.Fatal(err)
				}
				buf := batch.NewPairs(c.write) // one chunk for all, so that a writer that keeps it is found
				for lo := 0; lo < c.n; lo += c.write {
					n := min(c.write, c.n-lo)
					var row batch.Row
					for i := range n {
						want.Row(lo+i, &row)
						buf.SetRow(i, &row)
					}
					if err := w.Write(buf.Slice(0, n)); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				r, err := OpenPairs(path)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if r.Len() != int64(c.n) {
					t.Fatalf("Len = %d, want %d", r.Len(), c.n)
				}
				got, chunk, at := batch.NewPairs(c.n), batch.NewPairs(c.read), 0
				for {
					n, err := r.Next(chunk)
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					if n != min(c.read, c.n-at) {
						t.Fatalf("%d rows at row %d of %d", n, at, c.n)
					}
					var row batch.Row
					for i := range n {
						chunk.Row(i, &row)
						got.SetRow(at+i, &row)
					}
					at += n
				}
				if at != c.n {
					t.Fatalf("%d rows read, want %d", at, c.n)
				}
				sameBits(t, got, want)
			})
		}
	}
}

func TestPairsManyRowGroups(t *testing.T) {
	n := 2*parquet.RowGroup + 5
	if testing.Short() {
		t.Skip("writes 30 MB")
	}
	want := testPairs(n)
	path := filepath.Join(t.TempDir(), "pairs.parquet")
	if err := WritePairs(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadPairs(path)
	if err != nil {
		t.Fatal(err)
	}
	sameBits(t, got, want)
}

// TestPairsByRows: ranges that ascend have the rows of the file, in the memory of an earlier range where that suffices,
// and end with the file; a range that has been read is an error.
func TestPairsByRows(t *testing.T) {
	want := testPairs(500)
	for _, ext := range formats {
		path := filepath.Join(t.TempDir(), "pairs"+ext)
		if err := WritePairs(path, want); err != nil {
			t.Fatal(err)
		}
		r, err := OpenPairs(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var used batch.Input
		for _, c := range []struct{ lo, hi, rows int }{{7, 70, 63}, {70, 80, 10}, {80, 80, 0}, {300, 420, 120},
			{480, 600, 20}, {500, 600, 0}, {700, 800, 0}} {
			in, err := r.Rows(c.lo, c.hi, used)
			if err != nil || in.Len() != c.rows {
				t.Fatalf("%s, rows %d to %d: %d rows, %v", ext, c.lo, c.hi, in.Len(), err)
			}
			var got, row batch.Row
			for i := range c.rows {
				in.Row(i, &got)
				want.Row(c.lo+i, &row)
				if fmt.Sprint(got) != fmt.Sprint(row) {
					t.Fatalf("%s, row %d: %v, want %v", ext, c.lo+i, got, row)
				}
			}
			if last, ok := used.(*batch.Pairs); ok && c.rows > 0 && last.Len() >= c.rows &&
				&last.ShapeA[0] != &in.(*batch.Pairs).ShapeA[0] {
				t.Errorf("%s, rows %d to %d: memory that suffices is not used again", ext, c.lo, c.hi)
			}
			used = in
		}
		if _, err := r.Rows(10, 20, nil); err == nil {
			t.Errorf("%s: rows that have been read are read again", ext)
		}
	}
}

func TestResultsRoundTrip(t *testing.T) {
	const n = 1001
	for _, ext := range formats {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			sets := []batch.Columns{batch.AllColumns, everyColumn, batch.ColDistance | batch.ColStatus}
			for c := batch.Columns(1); c <= everyColumn; c <<= 1 {
				if c&everyColumn != 0 {
					sets = append(sets, c)
				}
			}
			for _, columns := range sets {
				t.Run(fmt.Sprintf("%s/%s/%v", ext, precision, columns), func(t *testing.T) {
					want := testResults(n, columns, precision)
					path := filepath.Join(t.TempDir(), "results"+ext)
					w, err := CreateResults(path, columns, precision, n)
					if err != nil {
						t.Fatal(err)
					}
					w.Describe("query", "distance")
					for lo := 0; lo < n; lo += 300 {
						if err := w.Write(want.Slice(lo, min(lo+300, n))); err != nil {
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
					defer r.Close()
					if r.Columns() != columns || r.Len() != n {
						t.Fatalf("columns %v, %d rows", r.Columns(), r.Len())
					}
					p := r.Precision()
					m := r.Metadata()
					if m["status"] != "0=separated,1=touching,2=penetrating,3=undecided,4=invalid" ||
						m["query"] != "distance" {
						t.Fatalf("metadata %v", m)
					}
					codes := ""
					if columns&batch.ColMethod != 0 {
						codes = "0=none,1=gjk,2=nesterov,3=polyak,4=rtr,5=closed_form,6=axes,7=epa,8=newton,9=growth," +
							"10=bounds"
					}
					if m["solvers"] != codes {
						t.Fatalf("metadata %v", m)
					}
					if p != precision {
						t.Fatalf("precision %s, written %s", p, precision)
					}
					got := batch.NewResults(n, &batch.Options{Columns: columns, Precision: p})
					at := 0
					for {
						k, err := r.Next(got.Slice(at, min(at+129, n)))
						if errors.Is(err, io.EOF) {
							break
						}
						if err != nil {
							t.Fatal(err)
						}
						at += k
					}
					if at != n {
						t.Fatalf("%d rows read", at)
					}
					want.Precision = p
					sameColumns(t, got, want)
				})
			}
		}
	}
}

func TestWorldsRoundTrip(t *testing.T) {
	w := &batch.Worlds{Shapes: []int32{3, 1}, Poses: make([]float64, 5*2*7), TemplateA: []int32{0, 1, 0},
		TemplateB: []int32{1, 0, 0}}
	for i := range w.Poses {
		w.Poses[i] = math.Sqrt(float64(i))
	}
	for _, ext := range formats {
		path := filepath.Join(t.TempDir(), "worlds"+ext)
		if err := WriteWorlds(path, w); err != nil {
			t.Fatal(err)
		}
		got, err := ReadWorlds(path)
		if err != nil {
			t.Fatal(err)
		}
		sameBits(t, got, w)
	}
}

func BenchmarkPairs(b *testing.B) {
	const n = 1 << 17
	p := testPairs(n)
	chunk := batch.NewPairs(1 << 14)
	for _, ext := range formats {
		path := filepath.Join(b.TempDir(), "pairs"+ext)
		b.Run("write"+ext, func(b *testing.B) {
			b.SetBytes(n * (2*4 + 14*8))
			for b.Loop() {
				if err := WritePairs(path, p); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("read"+ext, func(b *testing.B) {
			b.SetBytes(n * (2*4 + 14*8))
			b.ReportAllocs()
			for b.Loop() {
				r, err := OpenPairs(path)
				if err != nil {
					b.Fatal(err)
				}
				for {
					if _, err := r.Next(chunk); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
				r.Close()
			}
		})
	}
}

// TestGolden reads what numpy and pyarrow wrote (testdata/make.py): both byte
// orders, int64 and float32, header versions 1 to 3, stored and deflated, plain
// and fixed-size lists, nullable and required, one and several row groups.
func TestGolden(t *testing.T) {
	npz, _ := filepath.Glob("testdata/*.npz")
	parquet, _ := filepath.Glob("testdata/*.parquet")
	if len(npz) != 4 || len(parquet) != 3 {
		t.Fatalf("golden files %v and %v, want 4 and 3", npz, parquet)
	}
	for _, path := range append(npz, parquet...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			p, err := ReadPairs(path)
			if err != nil {
				t.Fatal(err)
			}
			if p.Len() != 11 {
				t.Fatalf("%d pairs, want 11", p.Len())
			}
			for i := range p.Len() {
				if p.ShapeA[i] != int32(i) || p.ShapeB[i] != int32(100-i) {
					t.Errorf("row %d: shapes %d and %d", i, p.ShapeA[i], p.ShapeB[i])
				}
				for _, c := range []struct {
					name  string
					got   []float64
					width int
					start float64
				}{
					{"position_a", p.PositionA, 3, 0.5}, {"position_b", p.PositionB, 3, -20},
					{"rotation_a", p.RotationA, 4, 1}, {"rotation_b", p.RotationB, 4, -7.25},
				} {
					for j := range c.width {
						if want := c.start + float64(i) + float64(j)/8; c.got[c.width*i+j] != want {
							t.Errorf("row %d: %s[%d] = %g, want %g", i, c.name, j, c.got[c.width*i+j], want)
						}
					}
				}
			}
		})
	}
}

// benchRows is a few row groups, and more than caches hold.
const benchRows = 1 << 20

// perRow runs f until the time of the benchmark is up, and reports nanoseconds a row of the processors and of the
// clock.
func perRow(b *testing.B, f func()) {
	cpu, start := testkit.CPUTime(b), time.Now()
	for b.Loop() {
		f()
	}
	rows := float64(b.N) * benchRows
	b.ReportMetric(float64(testkit.CPUTime(b)-cpu)/rows, "cpu-ns/row")
	b.ReportMetric(float64(time.Since(start))/rows, "wall-ns/row")
}

// BenchmarkFiles writes and reads pairs and results in chunks, as a stream does. TMPDIR=/dev/shm leaves the disk out.
func BenchmarkFiles(b *testing.B) {
	const chunk = 1 << 17
	fail := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	p := testPairs(chunk)
	for i := range p.ShapeA {
		p.ShapeA[i] &= 1023
	}
	r := testResults(chunk, 0, batch.Single)
	for i := range r.N { // as a solver leaves them
		r.Status()[i], r.Iterations()[i] = uint8(i%37/36), uint16(3+i%11)
	}
	for _, ext := range formats {
		pairs, results := filepath.Join(b.TempDir(), "pairs"+ext), filepath.Join(b.TempDir(), "results"+ext)
		b.Run("pairs/write"+ext, func(b *testing.B) {
			perRow(b, func() {
				w, err := CreatePairs(pairs, benchRows)
				fail(err)
				for range benchRows / chunk {
					fail(w.Write(p))
				}
				fail(w.Close())
			})
		})
		b.Run("pairs/read"+ext, func(b *testing.B) {
			into := batch.NewPairs(chunk)
			perRow(b, func() {
				f, err := OpenPairs(pairs)
				fail(err)
				for err == nil {
					_, err = f.Next(into)
				}
				if !errors.Is(err, io.EOF) {
					fail(err)
				}
				fail(f.Close())
			})
		})
		b.Run("results/write"+ext, func(b *testing.B) {
			perRow(b, func() {
				w, err := CreateResults(results, 0, batch.Single, benchRows)
				fail(err)
				for range benchRows / chunk {
					fail(w.Write(r))
				}
				fail(w.Close())
			})
		})
		b.Run("results/read"+ext, func(b *testing.B) {
			perRow(b, func() {
				f, err := OpenResults(results)
				fail(err)
				for err == nil {
					_, err = f.Next(r)
				}
				if !errors.Is(err, io.EOF) {
					fail(err)
				}
				fail(f.Close())
			})
		})
	}
}

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
