package scenefile

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// Numbers is a list of numbers. In JSON it is an array, in which null is NaN, or an object of one member, whose name is
// the type of the elements and whose value is their bytes, little-endian, in base64: {"float64": "…"}. Types are
// float64, float32, int32 and uint8.
type Numbers []float64

// Integers is a list of whole numbers, in the same two forms.
type Integers []int32

// Number is a number in JSON, where null is NaN and "inf" and "-inf" are the infinities.
type Number float64

// shortList is the length up to which a list is written as an array.
const shortList = 64

// MarshalJSON writes a short list as an array, a long one as bytes.
func (n Numbers) MarshalJSON() ([]byte, error) {
	if len(n) > shortList {
		return packed("float64", []float64(n))
	}
	list := make([]Number, len(n))
	for i, x := range n {
		list[i] = Number(x)
	}
	return json.Marshal(list)
}

// MarshalJSON writes a short list as an array, a long one as bytes.
func (n Integers) MarshalJSON() ([]byte, error) {
	if len(n) > shortList {
		return packed("int32", []int32(n))
	}
	return json.Marshal([]int32(n))
}

func packed(name string, values any) ([]byte, error) {
	var raw bytes.Buffer
	if err := binary.Write(&raw, binary.LittleEndian, values); err != nil {
		return nil, err
	}
	return json.Marshal(map[string][]byte{name: raw.Bytes()})
}

// UnmarshalJSON reads either form.
func (n *Numbers) UnmarshalJSON(text []byte) error {
	if isObject(text) {
		list, err := unpacked(text)
		*n = list
		return err
	}
	var list []Number
	err := json.Unmarshal(text, &list)
	*n = make(Numbers, len(list))
	for i, x := range list {
		(*n)[i] = float64(x)
	}
	return err
}

// UnmarshalJSON reads either form.
func (n *Integers) UnmarshalJSON(text []byte) error {
	if !isObject(text) {
		return json.Unmarshal(text, (*[]int32)(n))
	}
	list, err := unpacked(text)
	*n = make(Integers, len(list))
	for i, x := range list {
		if !(x == math.Trunc(x) && x >= math.MinInt32 && x <= math.MaxInt32) {
			return fmt.Errorf("element %d is %g, want a whole number", i, x)
		}
		(*n)[i] = int32(x)
	}
	return err
}

func isObject(text []byte) bool { return len(text) > 0 && text[0] == '{' }

// unpacked reads a list of the form {"float64": "…"}.
func unpacked(text []byte) (Numbers, error) {
	var object map[string]string
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	if len(object) != 1 {
		return nil, fmt.Errorf("a list of numbers has %d members, want one that names their type", len(object))
	}
	for name, value := range object {
		raw, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		switch name {
		case "float64":
			return numbersOf[float64](name, raw)
		case "float32":
			return numbersOf[float32](name, raw)
		case "int32":
			return numbersOf[int32](name, raw)
		case "uint8":
			return numbersOf[uint8](name, raw)
		}
		return nil, fmt.Errorf("a list of %q, want float64, float32, int32 or uint8", name)
	}
	return nil, nil
}

func numbersOf[T float64 | float32 | int32 | uint8](name string, raw []byte) (Numbers, error) {
	width := binary.Size(*new(T))
	if len(raw)%width != 0 {
		return nil, fmt.Errorf("%d bytes of %s, want a multiple of %d", len(raw), name, width)
	}
	list := make([]T, len(raw)/width)
	if _, err := binary.Decode(raw, binary.LittleEndian, list); err != nil {
		return nil, err
	}
	out := make(Numbers, len(list))
	for i, x := range list {
		out[i] = float64(x)
	}
	return out, nil
}

// MarshalJSON writes what JSON has no number for as null or a text.
func (n Number) MarshalJSON() ([]byte, error) {
	switch x := float64(n); {
	case math.IsNaN(x):
		return []byte("null"), nil
	case math.IsInf(x, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(x, -1):
		return []byte(`"-inf"`), nil
	default:
		return json.Marshal(x)
	}
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (n *Number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "null":
		*n = Number(math.NaN())
	case `"inf"`:
		*n = Number(math.Inf(1))
	case `"-inf"`:
		*n = Number(math.Inf(-1))
	default:
		return json.Unmarshal(text, (*float64)(n))
	}
	return nil
}
