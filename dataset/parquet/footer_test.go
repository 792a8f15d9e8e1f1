package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"clearance/dataset/parquet/thrift"
	"clearance/dataset/table"
	"clearance/internal/testkit"
)

// compact writes values of Thrift's compact protocol by hand, also such as no encoder writes.
type compact []byte

// field begins a field whose number exceeds that of the field before by delta, 1 to 15.
func field(delta, typ byte) compact { return compact{delta<<4 | typ} }

// i32 is a field of that type.
func i32(delta byte, v int64) compact {
	return binary.AppendUvarint(field(delta, thrift.I32), uint64(v<<1^v>>63))
}

// list is the head of a list of fewer than 15 elements.
func list(n, typ byte) compact { return compact{n<<4 | typ} }

func join(parts ...compact) compact { return slices.Concat(parts...) }

func repeat(part compact, n int) compact { return bytes.Repeat(part, n) }

// schemaField is field 2 of FileMetaData: elements with these numbers of children.
func schemaField(children ...int64) compact {
	s := join(field(2, thrift.List), list(byte(len(children)), thrift.Struct))
	for _, n := range children {
		s = join(s, i32(5, n), compact{thrift.Stop})
	}
	return s
}

// walkFooter has a footer checked at the end of a file.
func walkFooter(footer compact, magic string) error {
	data := append([]byte("PAR1"), footer...)
	data = append(binary.LittleEndian.AppendUint32(data, uint32(len(footer))), magic...)
	return checkFooter(bytes.NewReader(data), int64(len(data)), table.DefaultLimits())
}

// Every type of value is walked, of fields that no reader of pairs looks at.
func TestThriftWalks(t *testing.T) {
	stop := compact{thrift.Stop}
	entry := compact{1, 'k', 1} // a key and a truth value
	footer := join(schemaField(1, 0),
		field(1, thrift.True), field(1, thrift.False), field(1, thrift.Byte), compact{7},
		field(1, thrift.I16), compact{2}, field(1, thrift.I64), compact{0x80, 1},
		field(1, thrift.Double), repeat(compact{0}, 8), field(1, thrift.Binary), compact{2, 'a', 'b'},
		field(1, thrift.Set), list(2, thrift.True), compact{1, 2},
		field(1, thrift.Map), compact{2, thrift.Binary<<4 | thrift.True}, entry, entry,
		field(1, thrift.Map), compact{0}, // an empty map has no types
		field(0, thrift.I32), compact{200, 1}, compact{0}, // a number of its own
		stop)
	if err := walkFooter(footer, "PAR1"); err != nil {
		t.Error(err)
	}
	r := &thrift.Reader{Data: footer}
	const elements = 2 + 2 + 2 + 2*2 + 2 // of the schema, the binary, the set, the map and its keys
	err := fileMetadata(r)
	if err != nil || r.Left() != 0 || r.Depth != 0 || r.Structs != 3 || r.Elements != elements {
		t.Errorf("%v, %d bytes left, depth %d, %d structures, %d elements", err, r.Left(), r.Depth, r.Structs,
			r.Elements)
	}
	for n := range footer {
		if err := walkFooter(footer[:n], "PAR1"); err == nil {
			t.Errorf("the first %d bytes of %d pass", n, len(footer))
		}
	}
}

// What no footer can hold is refused, and the error says why.
func TestFooterRefused(t *testing.T) {
	stop := compact{thrift.Stop}
	const deep = thrift.MaxDepth + 1
	for _, c := range []struct {
		name   string
		footer compact
		want   string
	}{
		{"no schema", stop, "no schema"},
		{"schema of another type", i32(2, 1), "schema has type 5, want 9"},
		{"schema twice", join(schemaField(0), field(0, thrift.List), compact{4}, list(1, thrift.Struct), stop),
			"schema occurs twice"},
		{"element of another type", join(field(2, thrift.List), list(1, thrift.I32), compact{0}, stop),
			"schema element has type 5, want 12"},
		{"children of another type", join(field(2, thrift.List), list(1, thrift.Struct), field(5, thrift.I64),
			compact{2}),
			"schema element 0: num_children has type 6, want 5"},
		{"orphan", join(schemaField(0, 0), stop), "schema element 1 has no parent"},
		{"no child", join(schemaField(2, 1, 0), stop), "schema ends before its last element"},
		{"many elements", join(field(2, thrift.List), compact{0xf0 | thrift.Struct, 0x81, 0x80, 0x04},
			repeat(stop, maxSchemaElements+1), stop),
			fmt.Sprintf("schema of more than %d elements", maxSchemaElements)},
		{"long list", join(schemaField(0), field(1, thrift.List), list(14, thrift.Byte), stop),
			"a list of 14 elements, but 1 bytes are left"},
		{"long map", join(schemaField(0), field(1, thrift.Map), compact{90}), "a length of 90, but 0 bytes are left"},
		{"nested lists", join(schemaField(0), field(1, thrift.List), repeat(list(1, thrift.List), deep)),
			"lists nested more than"},
		{"nested maps", join(schemaField(0), field(1, thrift.Map), repeat(compact{1, thrift.Map<<4 | thrift.Map},
			deep)),
			"maps nested more than"},
		{"nested structures", join(schemaField(0), repeat(field(1, thrift.Struct), deep)),
			"structures nested more than"},
		{"unknown type", join(schemaField(0), field(1, 13)), "unknown type 13"},
		{"unknown type of a key", join(schemaField(0), field(1, thrift.Map), compact{1, 14 << 4, 0}),
			"unknown type 14"},
		{"unknown type of a value", join(schemaField(0), field(1, thrift.Map), compact{1, thrift.Byte<<4 | 15, 0}),
			"unknown type 15"},
		{"long integer", join(schemaField(0), field(1, thrift.I64), repeat(compact{0xff}, 10), stop),
			"an integer of more than 64 bits"},
		{"short double", join(schemaField(0), field(1, thrift.Double), repeat(stop, 7)),
			"ends in the middle of a value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			testkit.WantError(t, walkFooter(c.footer, "PAR1"), "damaged footer: byte", c.want)
		})
	}
	testkit.WantError(t, walkFooter(join(schemaField(0), stop), "PARE"), "footer is encrypted")
	data := append(repeat(stop, 8), "\x05\x00\x00\x00PAR1"...)
	testkit.WantError(t, checkFooter(bytes.NewReader(data[4:]), int64(len(data)-4), table.DefaultLimits()),
		"claims 5 bytes in a file of 12")
	for _, cut := range []int{4, 8} { // in front of the length, and in front of the footer
		testkit.WantError(t, checkFooter(bytes.NewReader(data[:len(data)-cut]), int64(len(data)),
			table.DefaultLimits()), "EOF")
	}
}

// What no page header can hold is refused, in the header itself or for the place of the page.
func TestPageHeaderRefused(t *testing.T) {
	const v1, v2 = 5, 8 // fields of the headers of data pages
	page := func(typ, packed, unpacked int64) compact { return join(i32(1, typ), i32(1, unpacked), i32(1, packed)) }
	levels := func(def, rep int64) compact { return join(i32(5, def), i32(1, rep), compact{thrift.Stop}) }
	stop := compact{thrift.Stop}
	for _, c := range []struct {
		name   string
		header compact
		want   string // empty where the header passes
	}{
		{"version 1", join(page(pageData, 9, 9), field(v1-3, thrift.Struct), stop, stop), ""},
		{"version 2", join(page(pageDataV2, 9, 9), field(v2-3, thrift.Struct), levels(4, 5), stop), ""},
		{"large", join(page(pageData, MaxPacked+1, 9), field(v1-3, thrift.Struct), stop, stop), "compressed size of"},
		{"long levels", join(page(pageDataV2, 9, 99), field(v2-3, thrift.Struct), levels(4, 6), stop),
			"levels of 4 and 6 bytes in a page of 9, uncompressed 99"},
		{"long unpacked levels", join(page(pageDataV2, 99, 9), field(v2-3, thrift.Struct), levels(4, 6), stop),
			"levels of 4 and 6 bytes in a page of 99, uncompressed 9"},
		{"negative levels", join(page(pageDataV2, 9, 9), field(v2-3, thrift.Struct), levels(-1, 5), stop),
			"levels of -1 and 5 bytes"},
		{"header of another type", join(page(pageData, 9, 9), i32(v1-3, 1)), "data_page_header has type 5, want 12"},
		{"size of another type", join(i32(1, pageData), field(1, thrift.I64), compact{2}),
			"uncompressed_page_size has type 6"},
		{"two headers", join(page(pageData, 9, 9), field(v1-3, thrift.Struct), stop, field(v2-v1, thrift.Struct), stop),
			"two headers of one page"},
		{"the same header twice", join(page(pageData, 9, 9), field(v1-3, thrift.Struct), stop,
			field(0, thrift.Struct), compact{2 * v1}, stop), "two headers of one page"},
		{"two dictionaries", join(page(pageDictionary, 9, 9), field(7-3, thrift.Struct), stop,
			field(0, thrift.Struct), compact{2 * 7}, stop), "two headers of one page"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, n, err := readPageHeader(c.header)
			if err == nil {
				if n != len(c.header) {
					t.Errorf("%d bytes of %d read", n, len(c.header))
				}
				err = h.check(MaxPacked + 2)
			}
			if c.want != "" {
				testkit.WantError(t, err, c.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
