package dataset

import (
	"encoding/binary"
	"slices"
	"testing"
)

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
	r := &thriftReader{data: data}
	n, err := r.tree(thriftStruct)
	if err != nil {
		t.Fatalf("byte %d: %v", r.at, err)
	}
	return n, r.at
}

func (r *thriftReader) tree(typ byte) (n *thriftNode, err error) {
	n = &thriftNode{typ: typ}
	add := func(typ byte) error {
		if typ == thriftTrue || typ == thriftFalse {
			typ = thriftByte
		}
		item, err := r.tree(typ)
		n.items = append(n.items, item)
		return err
	}
	switch typ {
	case thriftByte:
		var b byte
		b, err = r.byte()
		n.number = int64(b)
	case thriftI16, thriftI32, thriftI64:
		n.number, err = r.varint()
	case thriftDouble:
		n.number = int64(binary.LittleEndian.Uint64(r.data[r.at:]))
		r.at += 8
	case thriftBinary:
		var k int
		k, err = r.length()
		n.text = r.data[r.at : r.at+k]
		r.at += k
	case thriftList, thriftSet:
		err = r.list(func(_ int, typ byte) error { n.elem = typ; return add(typ) })
	case thriftStruct:
		err = r.structure(func(id int16, typ byte) error {
			n.ids = append(n.ids, id)
			item, err := r.tree(typ)
			n.items = append(n.items, item)
			return err
		})
	}
	return n, err
}

// write appends the bytes of the tree.
func (n *thriftNode) write(b []byte) []byte {
	switch n.typ {
	case thriftByte:
		b = append(b, byte(n.number))
	case thriftI16, thriftI32, thriftI64:
		b = binary.AppendVarint(b, n.number)
	case thriftDouble:
		b = binary.LittleEndian.AppendUint64(b, uint64(n.number))
	case thriftBinary:
		b = append(binary.AppendUvarint(b, uint64(len(n.text)+n.claim)), n.text...)
	case thriftList, thriftSet:
		b = append(b, 0xf0|n.elem)
		b = binary.AppendUvarint(b, uint64(len(n.items)+n.claim))
		for _, item := range n.items {
			b = item.write(b)
		}
	case thriftStruct:
		for i, item := range n.items {
			b = binary.AppendVarint(append(b, item.typ), int64(n.ids[i]))
			b = item.write(b)
		}
		b = append(b, thriftStop)
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
	c.set(9, thriftI64, int64(len(p.body)))
	c.set(7, thriftI64, int64(len(pages)))
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
