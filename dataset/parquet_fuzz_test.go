package dataset

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"clearance/batch"
)

// Limits of an input of the fuzz tests.
const (
	fuzzBytes = 1 << 30
	fuzzTime  = time.Minute // some milliseconds, or for ever
)

// mutate changes nodes of the tree as ops say, three bytes each: which node, what, and how.
func (n *thriftNode) mutate(ops []byte) {
	values := [...]int64{0, 1, -1, 2, 127, 1 << 16, math.MaxInt32, math.MinInt32, 1 << 32, math.MaxInt64, math.MinInt64,
		6}
	for range min(len(ops)/3, 16) {
		nodes := n.all()
		if len(nodes) > 1<<11 {
			return
		}
		at, how := nodes[int(ops[0])*len(nodes)/256], int(ops[2])
		other := nodes[how*len(nodes)/256]
		switch ops[1] % 9 {
		case 0:
			at.number = values[how%len(values)]
		case 1:
			at.number += int64(int8(ops[2]))
		case 2:
			at.claim = int(values[how%len(values)])
		case 3:
			at.elem = byte(how & 15)
		case 4:
			if len(at.items) > 0 {
				k := how % len(at.items)
				at.items = append(at.items[:k:k], at.items[k+1:]...)
				if len(at.ids) > 0 {
					at.ids = append(at.ids[:k:k], at.ids[k+1:]...)
				}
			}
		case 5:
			if len(at.items) > 0 {
				k := how % len(at.items)
				at.items = append(at.items, at.items[k])
				if len(at.ids) > 0 {
					at.ids = append(at.ids, at.ids[k])
				}
			}
		case 6: // a copy, so that no node comes to contain itself
			if len(other.all()) < 1<<6 {
				*at = *other.clone()
			}
		case 7:
			if len(at.ids) > 0 {
				at.ids[how%len(at.ids)] += int16(int8(ops[0]))
			}
		case 8:
			if len(at.text) > 0 {
				at.text = at.text[:how%len(at.text)]
			}
		}
		ops = ops[3:]
	}
}

// FuzzParquetThrift changes the metadata and the first page headers of good files as trees, so
// that what comes out is well-formed more often than from changes of bytes.
func FuzzParquetThrift(f *testing.F) {
	var files [][]byte
	for _, name := range []string{"fixed.parquet", "lists.parquet", "fixed_gzip.parquet"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, data)
	}
	own := filepath.Join(f.TempDir(), "own.parquet")
	if err := WritePairs(own, testPairs(40)); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(own)
	if err != nil {
		f.Fatal(err)
	}
	files = append(files, data)
	for i := range files {
		f.Add(uint8(i), uint8(0), []byte{0, 1, 0}, []byte{})
		f.Add(uint8(i), uint8(3), []byte{}, []byte{40, 0, 6})
		f.Add(uint8(i), uint8(1), []byte{90, 5, 0, 20, 0, 6}, []byte{200, 0, 9})
	}
	f.Fuzz(func(t *testing.T, which, column uint8, footer, header []byte) {
		p := splitParquet(t, files[int(which)%len(files)])
		k := int(column) % len(pairColumns)
		pages := p.pages(k)
		h, n := readTree(t, pages)
		h.mutate(header)
		p.setPages(k, append(h.write(nil), pages[n:]...))
		p.footer.mutate(footer)
		path := fuzzFile(t, ".parquet", p.join())
		fastest := time.Duration(math.MaxInt64) // of three, as other work may take the processor
		for try := 0; try < 3 && fastest > fuzzTime; try++ {
			begin := time.Now()
			if n := allocated(func() { drainPairs(t, path); drainResults(t, path) }); n > fuzzBytes {
				t.Errorf("%d bytes allocated", n)
			}
			fastest = min(fastest, time.Since(begin))
		}
		if fastest > fuzzTime {
			t.Errorf("took %v", fastest)
		}
	})
}

// TestAllocated: the measure of the tests above counts.
func TestAllocated(t *testing.T) {
	var b *batch.Pairs
	if n := allocated(func() { b = batch.NewPairs(1 << 16) }); n < 1<<20 {
		t.Errorf("%d bytes for a million", n)
	}
	runtime.KeepAlive(b)
}
