package parquet

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"

	"clearance/batch"
	"clearance/dataset/output"
	"clearance/dataset/table"
	"clearance/internal/testkit"
)

// benchTable is a table of 2^20 rows that is written and read in chunks of 2^17.
type benchTable struct {
	name string
	cols []table.Column
	vals []any // of a chunk
	def  []int16
	rep  map[int][]int16 // by width
}

const (
	benchRows  = 1 << 20
	benchChunk = 1 << 17
)

func benchTables() []*benchTable {
	var results []table.Column
	for i, c := range table.Results(table.Float32) {
		if batch.AllColumns&table.ResultBits[i] != 0 {
			results = append(results, c)
		}
	}
	list := []*benchTable{{name: "pairs", cols: table.Pairs}, {name: "results", cols: results}}
	for _, b := range list {
		b.rep = map[int][]int16{}
		for _, c := range b.cols {
			n := benchChunk * c.Width
			var v any
			switch c.Types[0] {
			case table.Int32:
				s := make([]int32, n)
				for i := range s {
					s[i] = int32(i * 7919 % 256)
				}
				v = s
			case table.Uint8:
				s := make([]uint8, n)
				for i := range s {
					s[i] = uint8(i * 7919 % 3)
				}
				v = s
			case table.Uint16:
				s := make([]uint16, n)
				for i := range s {
					s[i] = uint16(i * 7919 % 30)
				}
				v = s
			case table.Float32:
				s := make([]float32, n)
				for i := range s {
					s[i] = float32(i) * 1e-3
				}
				v = s
			case table.Float64:
				s := make([]float64, n)
				for i := range s {
					s[i] = float64(i) * 1e-3
				}
				v = s
			}
			b.vals = append(b.vals, v)
			if c.Width > 1 && b.rep[c.Width] == nil {
				rep := make([]int16, n)
				for i := range rep {
					rep[i] = int16(min(i%c.Width, 1))
				}
				b.rep[c.Width] = rep
			}
			for len(b.def) < n {
				b.def = append(b.def, 1)
			}
		}
	}
	return list
}

// create writes the table as this package does.
func (b *benchTable) create(path string) error {
	s, err := Create(output.Disk{}, path, b.cols, nil)
	if err != nil {
		return err
	}
	s.SetWorkers(1)
	for range benchRows / benchChunk {
		if err := s.Write(b.vals, benchChunk); err != nil {
			return err
		}
	}
	return s.Commit()
}

// createByLibrary writes the same columns by the writers of arrow-go.
func (b *benchTable) createByLibrary(path string) error {
	s, err := Create(output.Disk{}, path+".parquet", b.cols, nil) // for its properties
	if err != nil {
		return err
	}
	s.Abort()
	root, err := Schema(b.cols, nil)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := file.NewParquetWriter(f, root, file.WithWriterProps(s.props))
	for range benchRows / benchChunk {
		g, err := w.AppendRowGroupChecked()
		if err != nil {
			return err
		}
		for i, c := range b.cols {
			col, err := g.NextColumn()
			if err != nil {
				return err
			}
			def, rep := b.def[:benchChunk*c.Width], b.rep[c.Width]
			if c.Width == 1 {
				def, rep = nil, nil
			}
			switch v := b.vals[i].(type) {
			case []int32:
				_, err = col.(*file.Int32ColumnChunkWriter).WriteBatch(v, def, rep)
			case []uint8:
				_, err = col.(*file.Int32ColumnChunkWriter).WriteBatch(widened(v), def, rep)
			case []uint16:
				_, err = col.(*file.Int32ColumnChunkWriter).WriteBatch(widened(v), def, rep)
			case []float32:
				_, err = col.(*file.Float32ColumnChunkWriter).WriteBatch(v, def, rep)
			case []float64:
				_, err = col.(*file.Float64ColumnChunkWriter).WriteBatch(v, def, rep)
			}
			if err != nil {
				return err
			}
		}
		if err := g.Close(); err != nil {
			return err
		}
	}
	return w.Close()
}

func widened[T uint8 | uint16](v []T) []int32 {
	out := make([]int32, len(v))
	for i, x := range v {
		out[i] = int32(x)
	}
	return out
}

// read reads the table as this package does.
func (b *benchTable) read(path string) error {
	r, err := Open(path, b.cols, &table.Limits{Left: table.DefaultMemory, Workers: 1}, table.Leniency{})
	if err != nil {
		return err
	}
	defer r.Close()
	for range benchRows / benchChunk {
		if err := r.Read(b.vals); err != nil {
			return err
		}
	}
	return nil
}

// readByLibrary reads the same columns by the readers of arrow-go, without a check of what it reads.
func (b *benchTable) readByLibrary(path string) error {
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		return err
	}
	defer r.Close()
	def, rep, ints := make([]int16, 4*benchChunk), make([]int16, 4*benchChunk), make([]int32, benchChunk)
	for k := range benchRows / benchChunk {
		for i, c := range b.cols {
			chunk, err := r.RowGroup(k).Column(i)
			if err != nil {
				return err
			}
			n := int64(benchChunk * c.Width)
			for at := int64(0); at < n; {
				var got int64
				switch v := b.vals[i].(type) {
				case []int32:
					got, _, err = chunk.(*file.Int32ColumnChunkReader).ReadBatch(n-at, v[at:], def, rep)
				case []uint8:
					if got, _, err = chunk.(*file.Int32ColumnChunkReader).ReadBatch(n-at, ints, def, rep); err == nil {
						err = narrow(ints[:got], v[at:at+got])
					}
				case []uint16:
					if got, _, err = chunk.(*file.Int32ColumnChunkReader).ReadBatch(n-at, ints, def, rep); err == nil {
						err = narrow(ints[:got], v[at:at+got])
					}
				case []float32:
					got, _, err = chunk.(*file.Float32ColumnChunkReader).ReadBatch(n-at, v[at:], def, rep)
				case []float64:
					got, _, err = chunk.(*file.Float64ColumnChunkReader).ReadBatch(n-at, v[at:], def, rep)
				}
				if err == nil && got == 0 {
					err = io.ErrUnexpectedEOF
				}
				if err != nil {
					return err
				}
				at += got
			}
		}
	}
	return nil
}

// BenchmarkLibrary compares this package with the readers and writers of arrow-go, which it uses for the rest:
// processor nanoseconds a row of all threads, bytes allocated a row, and the same columns. Run it in memory, so that no
// disk counts: TMPDIR=/dev/shm go test -bench Library -benchtime 5x -count 3 ./dataset/parquet.
func BenchmarkLibrary(b *testing.B) {
	for _, t := range benchTables() {
		own, other := filepath.Join(b.TempDir(), "own.parquet"), filepath.Join(b.TempDir(), "other.parquet")
		for _, c := range []struct {
			name, path string
			run        func(path string) error
		}{{"write/own", own, t.create}, {"write/arrow-go", other, t.createByLibrary}, {"read/own", own, t.read},
			{"read/arrow-go", own, t.readByLibrary}, {"read its file/own", other, t.read},
			{"read its file/arrow-go", other, t.readByLibrary}} {
			b.Run(fmt.Sprintf("%s/%s", t.name, c.name), func(b *testing.B) {
				if err := c.run(c.path); err != nil { // also makes the file
					b.Fatal(err)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				cpu := testkit.CPUTime(b)
				for b.Loop() {
					if err := c.run(c.path); err != nil {
						b.Fatal(err)
					}
				}
				cpu = testkit.CPUTime(b) - cpu
				runtime.ReadMemStats(&after)
				rows := float64(b.N) * benchRows
				b.ReportMetric(float64(cpu.Nanoseconds())/rows, "cpu-ns/row")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/rows, "allocated/row")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
