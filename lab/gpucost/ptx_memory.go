package gpucost

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Addresses: buffer k of a shader begins at (k+1)·bufferSpace.
const (
	bufferSpace   = uint64(1) << 40
	localBase     = uint64(1) << 62
	parameterBase = uint64(1) << 61
	groupThreads  = 64
)

// machine is the state of one thread, and the memory of all.
type machine struct {
	thread     uint64
	register   []uint64
	buffers    [][]byte
	parameters []byte // SLANG_globalParams
	local      []byte
	counts     []uint32 // of the runs of each basic block

	touched map[uint64]struct{} // sectors of memory, if not nil
	shared  map[uint64]bool     // places of the buffers that hold the same for all rows
}

// at returns n bytes of memory.
func (m *machine) at(address uint64, n int) []byte {
	switch {
	case address >= localBase:
		return m.local[address-localBase:][:n]
	case address >= parameterBase:
		return m.parameters[address-parameterBase:][:n]
	}
	return m.buffers[address/bufferSpace-1][address%bufferSpace:][:n]
}

// bind lays out the parameters as Slang does: the address and the number of bytes of each buffer, and the address of
// the push constants, the last buffer.
func (m *machine) bind(buffers ...[]byte) {
	m.buffers, m.parameters = buffers, nil
	for i, b := range buffers {
		m.parameters = binary.LittleEndian.AppendUint64(m.parameters, uint64(i+1)*bufferSpace)
		m.parameters = binary.LittleEndian.AppendUint64(m.parameters, uint64(len(b)))
	}
}

// run runs one thread. It fails where the program leaves its memory.
func (m *machine) run(p *program, thread int) (err error) {
	at := 0
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("thread %d, instruction %d: %v", thread, at, r)
		}
	}()
	m.thread, m.register, m.counts = uint64(thread), make([]uint64, p.registers), make([]uint32, len(p.blocks))
	m.local = make([]byte, p.local)
	for at >= 0 {
		in := &p.code[at]
		if in.begins {
			m.counts[in.block]++
		}
		if in.predicate >= 0 && (m.register[in.predicate] != 0) == in.not {
			at++
			continue
		}
		at = in.run(m)
	}
	return nil
}

// vector returns the registers of an operand in braces, or the one that it is.
func vector(text string) []string {
	if strings.HasPrefix(text, "{") {
		return operands(strings.Trim(text, "{}"))
	}
	return []string{text}
}

// pointer returns the address of an operand in brackets.
func (q *parser) pointer(text string) (func(m *machine) uint64, error) {
	a := address.FindStringSubmatch(text)
	if a == nil {
		return nil, fmt.Errorf("no address in %q", text)
	}
	base, err := q.read(a[1])
	if err != nil {
		return nil, err
	}
	offset := int64(0)
	if a[2] != "" {
		if offset, err = strconv.ParseInt(a[2], 10, 64); err != nil {
			return nil, err
		}
	}
	return func(m *machine) uint64 { return base(m) + uint64(offset) }, nil
}

// transfer parses a load or a store.
func (q *parser) transfer(parts, args []string) (class string, do func(m *machine), err error) {
	typ := parts[len(parts)-1]
	n := widthOf(typ) / 8
	isLoad := parts[0] == "ld"
	class = "store"
	list, where := args[len(args)-1], args[0]
	if isLoad {
		class, list, where = "load", args[0], args[1]
	}
	to, err := q.pointer(where)
	if err != nil {
		return "", nil, err
	}
	names := vector(list)
	space := parts[1]
	if space == "volatile" {
		space = parts[2]
	}
	if space == "param" {
		class = space
	}
	if isLoad {
		var sets []func(*machine, uint64)
		for _, name := range names {
			sets = append(sets, q.write(name, typ))
		}
		return class, func(m *machine) {
			from := to(m)
			for i, set := range sets {
				set(m, m.load(from+uint64(i*n), n))
			}
		}, nil
	}
	var gets []operand
	for _, name := range names {
		get, err := q.read(name)
		if err != nil {
			return "", nil, err
		}
		gets = append(gets, get)
	}
	return class, func(m *machine) {
		at := to(m)
		for i, get := range gets {
			m.store(at+uint64(i*n), n, get(m))
		}
	}, nil
}
