package shaders

import (
	"bytes"
	"embed"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed spirv/*.spv
var files embed.FS

//go:embed spirv/glslc.txt
var compiler string

// Compiler returns the version of the compiler that made the code.
func Compiler() string { return compiler }

// Shader is a compiled shader: SPIR-V 1.3 for Vulkan 1.1, and what its declarations say. It is not to be changed.
type Shader struct {
	Name      string // of the source, without .comp
	Code      []byte
	Buffers   []Buffer // by binding
	Constants []Constant
	Float64   bool // it needs double precision
}

// Buffer is a storage buffer of a shader, by the name of its block in the source.
type Buffer struct {
	Name          string
	Reads, Writes bool
}

// Constant is a specialisation constant by its name in the source. The size of the work group, which has the number 0
// and no name, is not among those of a shader.
type Constant struct {
	ID   uint32
	Name string
}

// All returns every shader, in the order of the names.
func All() []*Shader { return all() }

var all = sync.OnceValue(func() (list []*Shader) {
	entries, err := files.ReadDir("spirv")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		code, err := files.ReadFile("spirv/" + e.Name())
		if err != nil {
			panic(err)
		}
		s := &Shader{Name: strings.TrimSuffix(e.Name(), ".spv"), Code: code}
		if err := s.parse(); err != nil {
			panic(fmt.Sprintf("shaders: %s: %v", s.Name, err))
		}
		list = append(list, s)
	}
	return list
})

// Get returns a shader by its name. It panics if there is none, as the names are those of files of this package.
func Get(name string) *Shader {
	i, found := slices.BinarySearchFunc(All(), name, func(s *Shader, name string) int {
		return strings.Compare(s.Name, name)
	})
	if !found {
		panic(fmt.Sprintf("shaders: there is no %s.comp", name))
	}
	return All()[i]
}

// The instructions of SPIR-V that declare buffers and constants (specification, sec. 3.42).
const (
	opName             = 5
	opCapability       = 17
	opTypePointer      = 32
	opFunction         = 54
	opVariable         = 59
	opDecorate         = 71
	opMemberDecorate   = 72
	headerWords        = 5
	magicNumber        = 0x07230203
	capabilityFloat64  = 10
	decorationSpecID   = 1
	decorationReadOnly = 24 // NonWritable
	decorationNoRead   = 25 // NonReadable
	decorationBinding  = 33
	storageBuffer      = 12
)

// declarations is what the instructions before the first function say, by ids.
type declarations struct {
	names, bindings, specIDs map[uint32]uint32 // names: index of the first word of the text
	pointers, storageBuffers map[uint32]uint32 // what a pointer points to; the pointer of a variable
	readOnly, noRead         map[uint32]bool   // of types
}

// parse reads the declarations of the code.
func (s *Shader) parse() error {
	if len(s.Code) < 4*headerWords || len(s.Code)%4 != 0 {
		return fmt.Errorf("%d bytes are no module", len(s.Code))
	}
	words := make([]uint32, len(s.Code)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(s.Code[4*i:])
	}
	if words[0] != magicNumber {
		return fmt.Errorf("magic number %#x", words[0])
	}
	d := declarations{
		names: map[uint32]uint32{}, bindings: map[uint32]uint32{}, specIDs: map[uint32]uint32{},
		pointers: map[uint32]uint32{}, storageBuffers: map[uint32]uint32{},
		readOnly: map[uint32]bool{}, noRead: map[uint32]bool{},
	}
	for i := uint32(headerWords); i < uint32(len(words)); {
		n, op := words[i]>>16, words[i]&0xffff
		if n == 0 || i+n > uint32(len(words)) {
			return fmt.Errorf("word %d: an instruction of %d words", i, n)
		}
		if op == opFunction {
			break
		}
		w := words[i+1 : i+n]
		switch {
		case op == opCapability && w[0] == capabilityFloat64:
			s.Float64 = true
		case op == opName:
			d.names[w[0]] = i + 2
		case op == opTypePointer:
			d.pointers[w[0]] = w[2]
		case op == opVariable && w[2] == storageBuffer:
			d.storageBuffers[w[1]] = w[0]
		case op == opDecorate && w[1] == decorationBinding:
			d.bindings[w[0]] = w[2]
		case op == opDecorate && w[1] == decorationSpecID:
			d.specIDs[w[0]] = w[2]
		case op == opMemberDecorate && w[2] == decorationReadOnly:
			d.readOnly[w[0]] = true
		case op == opMemberDecorate && w[2] == decorationNoRead:
			d.noRead[w[0]] = true
		}
		i += n
	}
	return s.take(&d, func(id uint32) string {
		at, ok := d.names[id]
		if !ok {
			return ""
		}
		text, _, _ := bytes.Cut(s.Code[4*at:], []byte{0})
		return string(text)
	})
}

// take sets the buffers and the constants.
func (s *Shader) take(d *declarations, name func(id uint32) string) error {
	s.Buffers = make([]Buffer, len(d.storageBuffers))
	for id, pointer := range d.storageBuffers {
		binding, block := d.bindings[id], d.pointers[pointer]
		if int(binding) >= len(s.Buffers) || s.Buffers[binding].Name != "" || name(block) == "" {
			return fmt.Errorf("buffer %q at binding %d of %d buffers: want names, and bindings from 0 without a gap",
				name(block), binding, len(s.Buffers))
		}
		s.Buffers[binding] = Buffer{Name: name(block), Reads: !d.noRead[block], Writes: !d.readOnly[block]}
	}
	for id, number := range d.specIDs {
		if number == 0 {
			continue
		}
		if name(id) == "" {
			return fmt.Errorf("specialisation constant %d has no name", number)
		}
		s.Constants = append(s.Constants, Constant{ID: number, Name: name(id)})
	}
	slices.SortFunc(s.Constants, func(a, b Constant) int { return int(a.ID) - int(b.ID) })
	return nil
}
