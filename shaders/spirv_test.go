package shaders_test

import (
	"encoding/binary"
	"fmt"
)

// The few instructions of SPIR-V that tests read (specification, sec. 3.42).
const (
	opMemberName     = 6
	opName           = 5
	opTypeInt        = 21
	opTypeFloat      = 22
	opTypeVector     = 23
	opTypeArray      = 28
	opTypeRuntime    = 29
	opTypeStruct     = 30
	opTypePointer    = 32
	opConstant       = 43
	opVariable       = 59
	opCapability     = 17
	opDecorate       = 71
	opMemberDecorate = 72

	capabilityFloat64 = 10

	decorationSpecID      = 1
	decorationArrayStride = 6
	decorationBinding     = 33
	decorationOffset      = 35

	storagePushConstant  = 9
	storageStorageBuffer = 12
	magic                = 0x07230203
)

// typ is a type of a module.
type typ struct {
	op      uint32
	width   uint32   // bits of a number
	elem    uint32   // of a vector, array or pointer
	count   uint32   // of a vector; id of the length of an array
	members []uint32 // of a struct
}

// variable is a variable outside functions.
type variable struct{ pointer, storage uint32 }

// module is what tests need of a SPIR-V module.
type module struct {
	names     map[uint32]string
	members   map[[2]uint32]string // names by struct and index
	offsets   map[[2]uint32]uint32
	strides   map[uint32]uint32
	bindings  map[uint32]uint32
	specs     map[uint32]uint32 // id of a constant to its SpecId
	types     map[uint32]typ
	constants map[uint32]uint32
	variables map[uint32]variable
	float64   bool // double precision is among its capabilities
}

// parse reads a module.
func parse(code []byte) (*module, error) {
	if len(code) < 20 || len(code)%4 != 0 {
		return nil, fmt.Errorf("%d bytes are no module", len(code))
	}
	words := make([]uint32, len(code)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(code[4*i:])
	}
	if words[0] != magic {
		return nil, fmt.Errorf("magic number %#x", words[0])
	}
	m := &module{
		names: map[uint32]string{}, members: map[[2]uint32]string{}, offsets: map[[2]uint32]uint32{},
		strides: map[uint32]uint32{}, bindings: map[uint32]uint32{}, specs: map[uint32]uint32{},
		types: map[uint32]typ{}, constants: map[uint32]uint32{}, variables: map[uint32]variable{},
	}
	for i := 5; i < len(words); {
		n, op := int(words[i]>>16), words[i]&0xffff
		if n == 0 || i+n > len(words) {
			return nil, fmt.Errorf("word %d: an instruction of %d words", i, n)
		}
		m.instruction(op, words[i+1:i+n])
		i += n
	}
	return m, nil
}

func (m *module) instruction(op uint32, w []uint32) {
	switch op {
	case opCapability:
		m.float64 = m.float64 || w[0] == capabilityFloat64
	case opName:
		m.names[w[0]] = text(w[1:])
	case opMemberName:
		m.members[[2]uint32{w[0], w[1]}] = text(w[2:])
	case opMemberDecorate:
		if w[2] == decorationOffset {
			m.offsets[[2]uint32{w[0], w[1]}] = w[3]
		}
	case opDecorate:
		switch w[1] {
		case decorationArrayStride:
			m.strides[w[0]] = w[2]
		case decorationBinding:
			m.bindings[w[0]] = w[2]
		case decorationSpecID:
			m.specs[w[0]] = w[2]
		}
	case opTypeInt, opTypeFloat:
		m.types[w[0]] = typ{op: op, width: w[1]}
	case opTypeVector, opTypeArray:
		m.types[w[0]] = typ{op: op, elem: w[1], count: w[2]}
	case opTypeRuntime:
		m.types[w[0]] = typ{op: op, elem: w[1]}
	case opTypePointer:
		m.types[w[0]] = typ{op: op, elem: w[2]}
	case opTypeStruct:
		m.types[w[0]] = typ{op: op, members: w[1:]}
	case opConstant:
		m.constants[w[1]] = w[2]
	case opVariable:
		m.variables[w[1]] = variable{pointer: w[0], storage: w[2]}
	}
}

// text reads a string that ends with a zero.
func text(w []uint32) string {
	var b []byte
	for _, x := range w {
		for range 4 {
			if byte(x) == 0 {
				return string(b)
			}
			b, x = append(b, byte(x)), x>>8
		}
	}
	return string(b)
}

// describe names a type as records do: float, double, uint, vec4, with [n] for arrays.
func (m *module) describe(id uint32) string {
	switch t := m.types[id]; t.op {
	case opTypeInt:
		return "uint"
	case opTypeFloat:
		return map[uint32]string{32: "float", 64: "double"}[t.width]
	case opTypeVector:
		return fmt.Sprintf("vec%d of %s", t.count, m.describe(t.elem))
	case opTypeArray:
		return fmt.Sprintf("%s[%d]", m.describe(t.elem), m.constants[t.count])
	}
	return fmt.Sprintf("type %d", id)
}
