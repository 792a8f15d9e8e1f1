package console

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// width is the length in bytes up to which a record stands on one line.
const width = 1200

// JSON returns v as JSON with a record on each line: the fields of v and their elements have lines of their own, and so
// have the parts of a value longer than width. Lists of numbers are never broken.
func JSON(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := lines(&b, data, 0); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// lines writes a value that begins at a depth.
func lines(b *bytes.Buffer, v json.RawMessage, depth int) error {
	nested := len(v) > 0 && (v[0] == '{' || v[0] == '[')
	short := len(v) <= width && depth > 1
	if !nested || short || depth > 0 && !bytes.ContainsAny(v[1:], "{[") {
		b.Write(v)
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(v))
	if _, err := d.Token(); err != nil {
		return err
	}
	b.WriteByte(v[0])
	for first := true; d.More(); first = false {
		if !first {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "\n%*s", depth+1, "")
		var element json.RawMessage
		if v[0] == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			name, err := json.Marshal(key)
			if err != nil {
				return err
			}
			b.Write(append(name, ": "...))
		}
		if err := d.Decode(&element); err != nil {
			return err
		}
		if err := lines(b, element, depth+1); err != nil {
			return err
		}
	}
	fmt.Fprintf(b, "\n%*s%c", depth, "", v[len(v)-1])
	return nil
}
