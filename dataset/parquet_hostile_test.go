package dataset

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"
)

// goodParquet is a file of pairs.
func goodParquet(t testing.TB) *parquetParts {
	t.Helper()
	path := filepath.Join(t.TempDir(), "good.parquet")
	writeLeaves(t, path, pairLeaves(), 100)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return splitParquet(t, data)
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// wantRefused reads a file, whose error must contain all of want, in less than limit bytes.
func wantRefused(t *testing.T, data []byte, limit uint64, want ...string) {
	t.Helper()
	path := tempFile(t, "hostile.parquet", data)
	var err error
	if n := allocated(func() { _, err = ReadPairs(path) }); n > limit {
		t.Errorf("%d bytes allocated for a file of %d", n, len(data))
	}
	wantError(t, err, append([]string{path}, want...)...)
}

const mib = 1 << 20

// TestThriftTree: the trees of this test write files that are read as before.
func TestThriftTree(t *testing.T) {
	p := goodParquet(t)
	if got, err := ReadPairs(tempFile(t, "same.parquet", p.join())); err != nil || got.Len() != 100 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestParquetFooterHostile: lengths, counts and depth of the metadata are checked before
// anything is allocated for them.
func TestParquetFooterHostile(t *testing.T) {
	t.Run("children", func(t *testing.T) {
		p := goodParquet(t)
		p.footer.field(2).items[0].set(5, thriftI32, 1<<31-1)
		wantRefused(t, p.join(), 8*mib, "schema element 0: num_children is 2147483647")
	})
	t.Run("children beyond the schema", func(t *testing.T) {
		p := goodParquet(t)
		p.footer.field(2).items[0].set(5, thriftI32, 60000)
		wantRefused(t, p.join(), 8*mib, "schema element 0 has 60000 children")
	})
	t.Run("negative children", func(t *testing.T) {
		p := goodParquet(t)
		p.footer.field(2).items[0].set(5, thriftI32, -1)
		wantRefused(t, p.join(), 8*mib, "num_children is -1")
	})
	t.Run("list longer than the file", func(t *testing.T) {
		p := goodParquet(t)
		p.footer.field(4).claim = 1<<31 - 2
		wantRefused(t, p.join(), 8*mib, "a length of", "bytes are left")
	})
	t.Run("deep schema", func(t *testing.T) {
		p := goodParquet(t)
		node := p.footer.field(2).items[0]
		node.set(5, thriftI32, 1)
		one := node.write(nil)
		depth := 5_000_000
		if testing.Short() {
			depth = 50_000
		}
		deep := []byte(strings.Repeat(string(one), depth))
		// The list is written by hand: a tree of so many nodes takes a gigabyte.
		list := append([]byte{thriftList, 4, 0xf0 | thriftStruct}, binary.AppendUvarint(nil, uint64(depth))...)
		footer := append(append([]byte{thriftI32, 2, 2}, list...), deep...)
		footer = append(footer, thriftStop)
		data := append([]byte("PAR1"), footer...)
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(footer))), "PAR1"...)
		wantRefused(t, data, 256*mib, "damaged footer")
	})
	t.Run("deep metadata", func(t *testing.T) {
		p := goodParquet(t)
		n := &thriftNode{typ: thriftStruct}
		for range 100 {
			n = &thriftNode{typ: thriftStruct, ids: []int16{1}, items: []*thriftNode{n}}
		}
		p.footer.ids, p.footer.items = append(p.footer.ids, 77), append(p.footer.items, n)
		wantRefused(t, p.join(), 8*mib, "nested more than")
	})
	t.Run("many empty row groups", func(t *testing.T) {
		p := goodParquet(t)
		empty := &thriftNode{typ: thriftStruct}
		groups := p.footer.field(4)
		for range 4_000_000 {
			groups.items = append(groups.items, empty)
		}
		wantRefused(t, p.join(), 64*mib, "decoded footer needs", "memory budget")
	})
}

// zstdBomb is a frame of zstd that unpacks to n blocks of 128 KiB, four bytes each.
func zstdBomb(n int) []byte {
	const block = 128 << 10
	b := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88} // no sizes, a window of 128 MiB
	for i := range n {
		head := uint32(block<<3 | 1<<1)
		if i == n-1 {
			head |= 1
		}
		b = append(b, byte(head), byte(head>>8), byte(head>>16), 'x')
	}
	return b
}

// TestUnpackBomb: no codec unpacks to more than the header of the page declares.
func TestUnpackBomb(t *testing.T) {
	large := make([]byte, 64*mib)
	for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy,
		compress.Codecs.Gzip,
		compress.Codecs.Brotli, compress.Codecs.Zstd, compress.Codecs.Lz4Raw} {
		c, err := compress.GetCodec(codec)
		if err != nil {
			t.Fatal(err)
		}
		packed := c.Encode(nil, large)
		if codec == compress.Codecs.Zstd {
			packed = zstdBomb(512)
		}
		for _, declared := range []int{0, 1, 1000, len(large) - 1} {
			dst := make([]byte, declared)
			n := allocated(func() { err = unpack(codec, dst, packed) })
			if err == nil {
				t.Errorf("%v: %d bytes pass for %d", codec, len(large), declared)
			}
			if declared <= 1000 && n > 32*mib {
				t.Errorf("%v: %d bytes allocated to unpack %d", codec, n, declared)
			}
		}
		if codec != compress.Codecs.Zstd {
			dst := make([]byte, len(large)+1)
			if err := unpack(codec, dst, packed); err == nil {
				t.Errorf("%v: %d bytes pass for %d", codec, len(large), len(dst))
			}
			if err := unpack(codec, dst[:len(large)], packed); err != nil {
				t.Errorf("%v: %v", codec, err)
			}
		}
	}
}

// TestParquetPageHostile: what a page header claims is checked before it is believed, and the
// error names file, column and page.
func TestParquetPageHostile(t *testing.T) {
	page := func(p *parquetParts, change func(h *thriftNode, body []byte) []byte) []byte {
		pages := p.pages(0)
		h, n := readTree(t, pages)
		body := change(h, pages[n:])
		p.setPages(0, append(h.write(nil), body...))
		return p.join()
	}
	where := []string{"column shape_a", "page 0"}
	t.Run("unchanged", func(t *testing.T) {
		data := page(goodParquet(t), func(_ *thriftNode, body []byte) []byte { return body })
		if _, err := ReadPairs(tempFile(t, "same.parquet", data)); err != nil {
			t.Error(err)
		}
	})
	t.Run("bomb", func(t *testing.T) {
		bomb := zstdBomb(33_000) // 4.3 GB from 132 kB
		p := goodParquet(t)
		p.chunk(0).set(4, thriftI32, int64(compress.Codecs.Zstd))
		data := page(p, func(h *thriftNode, _ []byte) []byte {
			h.set(3, thriftI32, int64(len(bomb)))
			return bomb
		})
		wantRefused(t, data, 16*mib, append(where, "size")...)
	})
	for name, c := range map[string]struct {
		change func(h *thriftNode)
		want   string
	}{
		"negative size":   {func(h *thriftNode) { h.set(2, thriftI32, -1) }, "want 0 or more"},
		"large page":      {func(h *thriftNode) { h.set(2, thriftI32, maxUnpacked+1) }, "uncompressed size of"},
		"beyond chunk":    {func(h *thriftNode) { h.set(3, thriftI32, maxPacked) }, "left of the column chunk"},
		"int64 size":      {func(h *thriftNode) { h.set(3, thriftI32, 1<<40) }, "is no int32"},
		"negative values": {func(h *thriftNode) { h.field(7).set(1, thriftI32, -7) }, "-7 values"},
		"unknown type":    {func(h *thriftNode) { h.set(1, thriftI32, 9) }, "page of type 9"},
		"missing header":  {func(h *thriftNode) { h.drop(7) }, "no header"},
		"dictionary": {func(h *thriftNode) { h.field(7).set(1, thriftI32, 1<<31-1) },
			"dictionary of 2147483647 values"},
	} {
		t.Run(name, func(t *testing.T) {
			data := page(goodParquet(t), func(h *thriftNode, body []byte) []byte { c.change(h); return body })
			wantRefused(t, data, 8*mib, append(where, c.want)...)
		})
	}
}

// TestMemoryBudget: the budget is one for all columns of a file, and an option.
func TestMemoryBudget(t *testing.T) {
	path := tempFile(t, "pairs.parquet", goodParquet(t).join())
	for _, c := range []struct {
		bytes int64
		want  string
	}{{100, "footer needs"}, {200 << 10, "column position_a"}, {1 << 20, ""}} {
		r, err := OpenPairs(path, WithMemory(c.bytes))
		if err == nil {
			_, err = r.Next(testPairs(100))
			if cerr := r.Close(); cerr != nil {
				t.Error(cerr)
			}
		}
		if c.want == "" && err != nil {
			t.Error(err)
		} else if c.want != "" {
			wantError(t, err, path, c.want, "memory budget")
		}
	}
}
