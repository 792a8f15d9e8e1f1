package dataset

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"

	"clearance/batch"
	"clearance/dataset/parquet"
	"clearance/dataset/parquet/thrift"
	"clearance/dataset/table"
	"clearance/internal/testkit"
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

// wantRefused reads a file, whose error must contain all of want, in less than limit bytes.
func wantRefused(t *testing.T, data []byte, limit uint64, want ...string) {
	t.Helper()
	path := testkit.TempFile(t, "hostile.parquet", data)
	var err error
	if n := testkit.Allocated(func() { _, err = ReadPairs(path) }); n > limit {
		t.Errorf("%d bytes allocated for a file of %d", n, len(data))
	}
	testkit.WantError(t, err, append([]string{path}, want...)...)
}

const mib = 1 << 20

// TestThriftTree: the trees of this test write files that are read as before.
func TestThriftTree(t *testing.T) {
	p := goodParquet(t)
	if got, err := ReadPairs(testkit.TempFile(t, "same.parquet", p.join())); err != nil || got.Len() != 100 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestParquetFooterHostile: lengths, counts and depth of the metadata are checked before
// anything is allocated for them.
func TestParquetFooterHostile(t *testing.T) {
	t.Run("children", func(t *testing.T) {
		p := goodParquet(t)
		p.footer.field(2).items[0].set(5, thrift.I32, 1<<31-1)
		wantRefused(t, p.join(), 8*mib, "schema element 0: num_children is 2147483647")
	})
	t.Run("children beyond the schema", func(t *testing.T) {
		p := goodParquet(t)
		p.footer.field(2).items[0].set(5, thrift.I32, 60000)
		wantRefused(t, p.join(), 8*mib, "schema element 0 has 60000 children")
	})
	t.Run("negative children", func(t *testing.T) {
		p := goodParquet(t)
		p.footer.field(2).items[0].set(5, thrift.I32, -1)
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
		node.set(5, thrift.I32, 1)
		one := node.write(nil)
		depth := 5_000_000
		if testing.Short() {
			depth = 50_000
		}
		deep := []byte(strings.Repeat(string(one), depth))
		// The list is written by hand: a tree of so many nodes takes a gigabyte.
		list := append([]byte{thrift.List, 4, 0xf0 | thrift.Struct}, binary.AppendUvarint(nil, uint64(depth))...)
		footer := append(append([]byte{thrift.I32, 2, 2}, list...), deep...)
		footer = append(footer, thrift.Stop)
		data := append([]byte("PAR1"), footer...)
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(footer))), "PAR1"...)
		wantRefused(t, data, 256*mib, "damaged footer")
	})
	t.Run("deep metadata", func(t *testing.T) {
		p := goodParquet(t)
		n := &thriftNode{typ: thrift.Struct}
		for range 100 {
			n = &thriftNode{typ: thrift.Struct, ids: []int16{1}, items: []*thriftNode{n}}
		}
		p.footer.ids, p.footer.items = append(p.footer.ids, 77), append(p.footer.items, n)
		wantRefused(t, p.join(), 8*mib, "nested more than")
	})
	t.Run("many empty row groups", func(t *testing.T) {
		p := goodParquet(t)
		empty := &thriftNode{typ: thrift.Struct}
		groups := p.footer.field(4)
		for range 4_000_000 {
			groups.items = append(groups.items, empty)
		}
		wantRefused(t, p.join(), 64*mib, "decoded footer needs", "memory budget")
	})
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
		if _, err := ReadPairs(testkit.TempFile(t, "same.parquet", data)); err != nil {
			t.Error(err)
		}
	})
	t.Run("bomb", func(t *testing.T) {
		bomb := testkit.ZstdBomb(33_000) // 4.3 GB from 132 kB
		p := goodParquet(t)
		p.chunk(0).set(4, thrift.I32, int64(compress.Codecs.Zstd))
		data := page(p, func(h *thriftNode, _ []byte) []byte {
			h.set(3, thrift.I32, int64(len(bomb)))
			return bomb
		})
		wantRefused(t, data, 16*mib, append(where, "size")...)
	})
	for name, c := range map[string]struct {
		change func(h *thriftNode)
		want   string
	}{
		"negative size": {func(h *thriftNode) { h.set(2, thrift.I32, -1) }, "want 0 or more"},
		"large page": {func(h *thriftNode) { h.set(2, thrift.I32, parquet.MaxUnpacked+1) },
			"uncompressed size of"},
		"beyond chunk": {func(h *thriftNode) { h.set(3, thrift.I32, parquet.MaxPacked) },
			"left of the column chunk"},
		"int64 size":      {func(h *thriftNode) { h.set(3, thrift.I32, 1<<40) }, "is no int32"},
		"negative values": {func(h *thriftNode) { h.field(7).set(1, thrift.I32, -7) }, "-7 values"},
		"unknown type":    {func(h *thriftNode) { h.set(1, thrift.I32, 9) }, "page of type 9"},
		"missing header":  {func(h *thriftNode) { h.drop(7) }, "no header"},
		"dictionary": {func(h *thriftNode) { h.field(7).set(1, thrift.I32, 1<<31-1) },
			"dictionary of 2147483647 values"},
	} {
		t.Run(name, func(t *testing.T) {
			data := page(goodParquet(t), func(h *thriftNode, body []byte) []byte { c.change(h); return body })
			wantRefused(t, data, 8*mib, append(where, c.want)...)
		})
	}
}

// TestLibraryHasNoBounds: arrow-go allocates what a page unpacks to, whatever its header declares. Once it does not,
// its reader of pages can take the place of ours.
func TestLibraryHasNoBounds(t *testing.T) {
	bomb := testkit.ZstdBomb(100) // 13 MB from 400 bytes
	p := goodParquet(t)
	p.chunk(0).set(4, thrift.I32, int64(compress.Codecs.Zstd))
	h, _ := readTree(t, p.pages(0))
	h.set(3, thrift.I32, int64(len(bomb)))
	p.setPages(0, append(h.write(nil), bomb...))
	data := p.join()
	library := testkit.Allocated(func() {
		r, err := file.NewParquetReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.RowGroup(0).Column(0)
		if err != nil {
			t.Fatal(err)
		}
		_, _, _ = c.(*file.Int32ColumnChunkReader).ReadBatch(100, make([]int32, 100), nil, nil)
	})
	path := testkit.TempFile(t, "bomb.parquet", data)
	own := testkit.Allocated(func() { _, _ = ReadPairs(path) })
	if own > 4<<20 || library < 5*own {
		t.Errorf("%d bytes allocated, by the library %d, for a page of 13 MB in a file of %d bytes", own, library,
			len(data))
	}
}

// TestMemoryBudget: the budget is one for all columns of a file, and an option.
func TestMemoryBudget(t *testing.T) {
	path := testkit.TempFile(t, "pairs.parquet", goodParquet(t).join())
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
			testkit.WantError(t, err, path, c.want, "memory budget")
		}
	}
}

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
		k := int(column) % len(table.Pairs)
		pages := p.pages(k)
		h, n := readTree(t, pages)
		h.mutate(header)
		p.setPages(k, append(h.write(nil), pages[n:]...))
		p.footer.mutate(footer)
		path := fuzzFile(t, ".parquet", p.join())
		fastest := time.Duration(math.MaxInt64) // of three, as other work may take the processor
		for try := 0; try < 3 && fastest > fuzzTime; try++ {
			begin := time.Now()
			if n := testkit.Allocated(func() { drainPairs(t, path); drainResults(t, path) }); n > fuzzBytes {
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
	if n := testkit.Allocated(func() { b = batch.NewPairs(1 << 16) }); n < 1<<20 {
		t.Errorf("%d bytes for a million", n)
	}
	runtime.KeepAlive(b)
}

// thriftNode is a value of the compact protocol as a tree, which tests change and write again.
type thriftNode struct {
	typ    byte
	number int64         // of integers; the sign bits of a double
	text   []byte        // of a binary
	ids    []int16       // of the fields of a structure
	items  []*thriftNode // fields, elements, or keys and values in turn
	elem   byte          // type of the elements or keys
	claim  int           // added to the length that is written
}

// readTree reads a structure from the start of data and returns its length.
func readTree(t testing.TB, data []byte) (*thriftNode, int) {
	t.Helper()
	r := &thrift.Reader{Data: data}
	n, err := treeOf(r, thrift.Struct)
	if err != nil {
		t.Fatalf("byte %d: %v", r.At, err)
	}
	return n, r.At
}

func treeOf(r *thrift.Reader, typ byte) (n *thriftNode, err error) {
	n = &thriftNode{typ: typ}
	add := func(typ byte) error {
		if typ == thrift.True || typ == thrift.False {
			typ = thrift.Byte
		}
		item, err := treeOf(r, typ)
		n.items = append(n.items, item)
		return err
	}
	switch typ {
	case thrift.Byte:
		var b byte
		b, err = r.Byte()
		n.number = int64(b)
	case thrift.I16, thrift.I32, thrift.I64:
		n.number, err = r.Varint()
	case thrift.Double:
		n.number = int64(binary.LittleEndian.Uint64(r.Data[r.At:]))
		r.At += 8
	case thrift.Binary:
		var k int
		k, err = r.Length()
		n.text = r.Data[r.At : r.At+k]
		r.At += k
	case thrift.List, thrift.Set:
		err = r.List(func(_ int, typ byte) error { n.elem = typ; return add(typ) })
	case thrift.Struct:
		err = r.Structure(func(id int16, typ byte) error {
			n.ids = append(n.ids, id)
			item, err := treeOf(r, typ)
			n.items = append(n.items, item)
			return err
		})
	}
	return n, err
}

// write appends the bytes of the tree.
func (n *thriftNode) write(b []byte) []byte {
	switch n.typ {
	case thrift.Byte:
		b = append(b, byte(n.number))
	case thrift.I16, thrift.I32, thrift.I64:
		b = binary.AppendVarint(b, n.number)
	case thrift.Double:
		b = binary.LittleEndian.AppendUint64(b, uint64(n.number))
	case thrift.Binary:
		b = append(binary.AppendUvarint(b, uint64(len(n.text)+n.claim)), n.text...)
	case thrift.List, thrift.Set:
		b = append(b, 0xf0|n.elem)
		b = binary.AppendUvarint(b, uint64(len(n.items)+n.claim))
		for _, item := range n.items {
			b = item.write(b)
		}
	case thrift.Struct:
		for i, item := range n.items {
			b = binary.AppendVarint(append(b, item.typ), int64(n.ids[i]))
			b = item.write(b)
		}
		b = append(b, thrift.Stop)
	}
	return b
}

// field returns a field of a structure, nil if it has none of that number.
func (n *thriftNode) field(id int16) *thriftNode {
	for i, have := range n.ids {
		if have == id {
			return n.items[i]
		}
	}
	return nil
}

// set gives a structure an integer field.
func (n *thriftNode) set(id int16, typ byte, v int64) {
	if f := n.field(id); f != nil {
		f.typ, f.number = typ, v
		return
	}
	n.ids = append(n.ids, id)
	n.items = append(n.items, &thriftNode{typ: typ, number: v})
}

// drop removes a field.
func (n *thriftNode) drop(id int16) {
	for i, have := range n.ids {
		if have == id {
			n.ids = append(n.ids[:i:i], n.ids[i+1:]...)
			n.items = append(n.items[:i:i], n.items[i+1:]...)
			return
		}
	}
}

// all lists the nodes of the tree, parents first.
func (n *thriftNode) all() []*thriftNode {
	list := []*thriftNode{n}
	for _, item := range n.items {
		list = append(list, item.all()...)
	}
	return list
}

// clone returns a copy of the tree.
func (n *thriftNode) clone() *thriftNode {
	c := *n
	c.ids = slices.Clone(n.ids)
	c.items = slices.Clone(n.items)
	for i, item := range c.items {
		c.items[i] = item.clone()
	}
	return &c
}

// parquetParts is a Parquet file taken apart.
type parquetParts struct {
	body   []byte // up to the footer
	footer *thriftNode
}

func splitParquet(t testing.TB, data []byte) *parquetParts {
	t.Helper()
	n := len(data) - 8
	length := int(binary.LittleEndian.Uint32(data[n:]))
	footer, _ := readTree(t, data[n-length:n])
	return &parquetParts{body: data[:n-length], footer: footer}
}

func (p *parquetParts) join() []byte {
	footer := p.footer.write(nil)
	data := append(append([]byte{}, p.body...), footer...)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(footer)))
	return append(data, "PAR1"...)
}

// chunk is ColumnMetaData of column k in the first row group.
func (p *parquetParts) chunk(k int) *thriftNode {
	return p.footer.field(4).items[0].field(1).items[k].field(3)
}

// setPages puts pages behind the body and lets column k begin there.
func (p *parquetParts) setPages(k int, pages []byte) {
	c := p.chunk(k)
	c.set(9, thrift.I64, int64(len(p.body)))
	c.set(7, thrift.I64, int64(len(pages)))
	c.drop(11)
	p.body = append(append([]byte{}, p.body...), pages...)
}

// pages are the bytes of column k.
func (p *parquetParts) pages(k int) []byte {
	c := p.chunk(k)
	start := c.field(9).number
	if d := c.field(11); d != nil && d.number > 0 {
		start = min(start, d.number)
	}
	return p.body[start : start+c.field(7).number]
}
