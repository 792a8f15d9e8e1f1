package gpucost

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// program is an entry function of PTX, as an interpreter runs it: one thread at a time, with all registers as their
// bits. It counts how often each basic block runs.
type program struct {
	code      []instruction
	registers int
	local     int // bytes of local memory
	blocks    []map[string]float64
}

// An instruction with a predicate register (-1: none) runs if the value of the register differs from `not`. run returns
// the index of the next instruction, -1 at the end.
type instruction struct {
	run       func(m *machine) int
	predicate int
	not       bool
	block     int
	begins    bool // a basic block
}

// operand reads the bits of a register or of a number.
type operand func(m *machine) uint64

// parser of one entry function.
type parser struct {
	p      *program
	names  map[string]int
	labels map[string]int
	jumps  []jump
}

type jump struct {
	at    int // instruction
	label string
}

var (
	localMemory = regexp.MustCompile(`^\.local .*\[(\d+)\]$`)
	label       = regexp.MustCompile(`^\$?\w+:$`)
	guarded     = regexp.MustCompile(`^@(!?)(%p\d+)\s+(.*)$`)
	address     = regexp.MustCompile(`^\[([^+\]]+)(?:\+(-?\d+))?\]$`)
)

// parsePTX parses the only entry function of a text.
func parsePTX(text string) (*program, error) {
	at := strings.Index(text, ".visible .entry")
	if at < 0 {
		return nil, fmt.Errorf("PTX without an entry function")
	}
	text = text[at:]
	text = text[strings.Index(text, "{")+1 : strings.LastIndex(text, "}")]
	q := &parser{p: new(program), names: map[string]int{}, labels: map[string]int{}}
	q.block()
	for line := range strings.Lines(text) {
		if i := strings.Index(line, "//"); i >= 0 {
			line = line[:i]
		}
		line = strings.TrimSuffix(strings.TrimSpace(line), ";")
		if line == "" || line == "{" || line == "}" || strings.HasPrefix(line, ".reg") ||
			strings.HasPrefix(line, ".pragma") {
			continue
		}
		if m := localMemory.FindStringSubmatch(line); m != nil {
			q.p.local, _ = strconv.Atoi(m[1])
			continue
		}
		if label.MatchString(line) {
			q.block()
			q.labels[strings.TrimSuffix(line, ":")] = len(q.p.code)
			continue
		}
		if err := q.instruction(line); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	q.p.code = append(q.p.code, instruction{run: func(*machine) int { return -1 }, predicate: -1})
	for _, j := range q.jumps {
		to, ok := q.labels[j.label]
		if !ok {
			return nil, fmt.Errorf("no label %s", j.label)
		}
		q.p.code[j.at].run = func(*machine) int { return to }
	}
	q.p.registers = len(q.names)
	return q.p, nil
}

// block begins a basic block, unless the present one is empty.
func (q *parser) block() {
	if n := len(q.p.blocks); n > 0 && len(q.p.blocks[n-1]) == 0 {
		return
	}
	q.p.blocks = append(q.p.blocks, map[string]float64{})
}

// count notes an instruction of the present block.
func (q *parser) count(class string, n float64) { q.p.blocks[len(q.p.blocks)-1][class] += n }

// register returns the index of a register.
func (q *parser) register(name string) int {
	i, ok := q.names[name]
	if !ok {
		i = len(q.names)
		q.names[name] = i
	}
	return i
}

// read parses an operand: a register, a special register, or a number.
func (q *parser) read(text string) (operand, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "%ctaid.x":
		return func(m *machine) uint64 { return m.thread / groupThreads }, nil
	case text == "%tid.x":
		return func(m *machine) uint64 { return m.thread % groupThreads }, nil
	case text == "%ntid.x":
		return func(*machine) uint64 { return groupThreads }, nil
	case strings.HasPrefix(text, "%"):
		i := q.register(text)
		return func(m *machine) uint64 { return m.register[i] }, nil
	case strings.HasPrefix(text, "__local_depot"):
		return func(*machine) uint64 { return localBase }, nil
	case strings.HasPrefix(text, "SLANG_globalParams"):
		return func(*machine) uint64 { return parameterBase }, nil
	}
	v, err := number(text)
	return func(*machine) uint64 { return v }, err
}

// number returns the bits of a number: an integer, or the bits of a float64 after 0d or of a float32 after 0f.
func number(text string) (uint64, error) {
	if strings.HasPrefix(text, "0d") || strings.HasPrefix(text, "0f") {
		return strconv.ParseUint(text[2:], 16, 64)
	}
	v, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return strconv.ParseUint(text, 0, 64)
	}
	return uint64(v), nil
}

// write returns a function that sets a register to bits of a type.
func (q *parser) write(name, typ string) func(m *machine, v uint64) {
	i := q.register(strings.TrimSpace(name))
	bits := widthOf(typ)
	if bits == 64 {
		return func(m *machine, v uint64) { m.register[i] = v }
	}
	mask := uint64(1)<<bits - 1
	return func(m *machine, v uint64) { m.register[i] = v & mask }
}

// widthOf returns the bits of a type, as 32 of f32 and 1 of pred.
func widthOf(typ string) int {
	if typ == "pred" {
		return 1
	}
	n, _ := strconv.Atoi(typ[1:])
	return n
}

// operands splits a list at commas outside of braces and brackets.
func operands(text string) (list []string) {
	depth, from := 0, 0
	for i, c := range text {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				list = append(list, strings.TrimSpace(text[from:i]))
				from = i + 1
			}
		}
	}
	return append(list, strings.TrimSpace(text[from:]))
}

// instruction parses one instruction.
func (q *parser) instruction(line string) error {
	in := instruction{predicate: -1, block: len(q.p.blocks) - 1}
	in.begins = len(q.p.blocks[in.block]) == 0
	if m := guarded.FindStringSubmatch(line); m != nil {
		in.predicate, in.not, line = q.register(m[2]), m[1] == "!", m[3]
	}
	name, rest, _ := strings.Cut(line, " ")
	if tab := strings.IndexByte(line, '\t'); tab >= 0 && tab < len(name) {
		name, rest = line[:tab], line[tab+1:]
	}
	parts := strings.Split(name, ".")
	args := operands(strings.TrimSpace(rest))
	next := len(q.p.code) + 1
	switch parts[0] {
	case "bra":
		q.count("branch", 1)
		q.jumps = append(q.jumps, jump{len(q.p.code), args[0]})
		q.p.code = append(q.p.code, in)
		q.block()
		return nil
	case "ret":
		q.count("branch", 1)
		in.run = func(*machine) int { return -1 }
		q.p.code = append(q.p.code, in)
		q.block()
		return nil
	}
	class, do, err := q.operation(parts, args)
	if err != nil {
		return err
	}
	q.count(class, 1)
	in.run = func(m *machine) int {
		do(m)
		return next
	}
	q.p.code = append(q.p.code, in)
	return nil
}
