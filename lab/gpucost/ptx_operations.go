package gpucost

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// Numbers as bits.
func f32(v uint64) float32    { return math.Float32frombits(uint32(v)) }
func f64(v uint64) float64    { return math.Float64frombits(v) }
func bits32(v float32) uint64 { return uint64(math.Float32bits(v)) }
func bits64(v float64) uint64 { return math.Float64bits(v) }

// signed extends the sign of bits of a type, if it is a signed one.
func signed(v uint64, typ string) int64 {
	shift := 64 - widthOf(typ)
	return int64(v<<shift) >> shift
}

// operation parses an instruction that does not change the flow of control, and returns its class and its effect.
func (q *parser) operation(parts, args []string) (class string, do func(m *machine), err error) {
	switch parts[0] {
	case "ld", "st":
		return q.transfer(parts, args)
	case "atom", "red":
		return q.atomic(parts, args)
	case "setp":
		return q.compare(parts, args)
	case "cvt":
		return q.convert(parts, args)
	case "mov":
		if strings.Contains(args[0]+args[1], "{") {
			return q.pack(parts, args)
		}
	case "bar", "membar":
		return "int", func(*machine) {}, nil
	}
	typ := parts[len(parts)-1]
	f, class, err := function(parts)
	if err != nil {
		return "", nil, err
	}
	var get []operand
	for _, a := range args[1:] {
		o, err := q.read(a)
		if err != nil {
			return "", nil, err
		}
		get = append(get, o)
	}
	to := typ
	if slices.Contains(parts, "wide") {
		to = map[string]string{"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}[typ]
	}
	if parts[0] == "clz" || parts[0] == "popc" {
		to = "u32"
	}
	set := q.write(args[0], to)
	return class, func(m *machine) {
		var v [5]uint64
		for i, o := range get {
			v[i] = o(m)
		}
		set(m, f(v))
	}, nil
}

// function returns the value of an arithmetic instruction from the bits of its operands, and its class.
func function(parts []string) (f func(v [5]uint64) uint64, class string, err error) {
	op, typ := parts[0], parts[len(parts)-1]
	switch typ {
	case "f32":
		f = func32(op)
	case "f64":
		f = func64(op)
	default:
		f = integer(op, typ, parts)
	}
	if f == nil {
		return nil, "", fmt.Errorf("an instruction that is not known: %s", strings.Join(parts, "."))
	}
	switch {
	case op == "mov" || op == "selp" || op == "cvta" || op == "neg" && typ[0] == 'f' || op == "abs":
		return f, "move", nil
	case typ[0] != 'f':
		return f, "int", nil
	case op == "div" || op == "rcp" && !slices.Contains(parts, "approx"):
		return f, "div." + typ, nil
	case op == "sqrt":
		return f, "sqrt." + typ, nil
	case op == "rcp" || op == "rsqrt" || op == "ex2" || op == "lg2":
		return f, "special." + typ, nil
	}
	return f, typ, nil
}

func func32(op string) func(v [5]uint64) uint64 {
	real := func(f func(a, b, c float32) float32) func(v [5]uint64) uint64 {
		return func(v [5]uint64) uint64 { return bits32(f(f32(v[0]), f32(v[1]), f32(v[2]))) }
	}
	one := func(f func(float64) float64) func(v [5]uint64) uint64 {
		return real(func(a, _, _ float32) float32 { return float32(f(float64(a))) })
	}
	switch op {
	case "add":
		return real(func(a, b, _ float32) float32 { return a + b })
	case "sub":
		return real(func(a, b, _ float32) float32 { return a - b })
	case "mul":
		return real(func(a, b, _ float32) float32 { return a * b })
	case "div":
		return real(func(a, b, _ float32) float32 { return a / b })
	case "fma":
		return real(func(a, b, c float32) float32 { return float32(math.FMA(float64(a), float64(b), float64(c))) })
	case "min":
		return real(func(a, b, _ float32) float32 { return float32(lesser(float64(a), float64(b))) })
	case "max":
		return real(func(a, b, _ float32) float32 { return -float32(lesser(-float64(a), -float64(b))) })
	case "rcp":
		return one(func(a float64) float64 { return 1 / a })
	case "sqrt":
		return one(math.Sqrt)
	case "rsqrt":
		return one(func(a float64) float64 { return 1 / math.Sqrt(a) })
	case "ex2":
		return one(math.Exp2)
	case "lg2":
		return one(math.Log2)
	case "neg":
		return func(v [5]uint64) uint64 { return v[0] ^ 1<<31 }
	case "abs":
		return func(v [5]uint64) uint64 { return v[0] &^ (1 << 31) }
	case "copysign":
		return func(v [5]uint64) uint64 { return v[1]&^(1<<31) | v[0]&(1<<31) }
	}
	return integer(op, "b32", nil)
}

func func64(op string) func(v [5]uint64) uint64 {
	real := func(f func(a, b, c float64) float64) func(v [5]uint64) uint64 {
		return func(v [5]uint64) uint64 { return bits64(f(f64(v[0]), f64(v[1]), f64(v[2]))) }
	}
	switch op {
	case "add":
		return real(func(a, b, _ float64) float64 { return a + b })
	case "sub":
		return real(func(a, b, _ float64) float64 { return a - b })
	case "mul":
		return real(func(a, b, _ float64) float64 { return a * b })
	case "div":
		return real(func(a, b, _ float64) float64 { return a / b })
	case "fma":
		return real(math.FMA)
	case "min":
		return real(func(a, b, _ float64) float64 { return lesser(a, b) })
	case "max":
		return real(func(a, b, _ float64) float64 { return -lesser(-a, -b) })
	case "rcp":
		return real(func(a, _, _ float64) float64 { return 1 / a })
	case "sqrt":
		return real(func(a, _, _ float64) float64 { return math.Sqrt(a) })
	case "rsqrt":
		return real(func(a, _, _ float64) float64 { return 1 / math.Sqrt(a) })
	case "neg":
		return func(v [5]uint64) uint64 { return v[0] ^ 1<<63 }
	case "abs":
		return func(v [5]uint64) uint64 { return v[0] &^ (1 << 63) }
	case "copysign":
		return func(v [5]uint64) uint64 { return v[1]&^(1<<63) | v[0]&(1<<63) }
	}
	return integer(op, "b64", nil)
}

// lesser is the lesser number, as PTX has it: the other one where one is no number.
func lesser(a, b float64) float64 {
	if a < b || b != b {
		return a
	}
	return b
}

func integer(op, typ string, parts []string) func(v [5]uint64) uint64 {
	wide, high := slices.Contains(parts, "wide"), slices.Contains(parts, "hi")
	isSigned := typ[0] == 's'
	value := func(v uint64) uint64 { // in 64 bits
		if isSigned {
			return uint64(signed(v, typ))
		}
		return v & (math.MaxUint64 >> (64 - widthOf(typ)))
	}
	product := func(a, b uint64) uint64 {
		switch {
		case high && widthOf(typ) == 64:
			h, _ := bits.Mul64(a, b)
			return h
		case high:
			return value(a) * value(b) >> widthOf(typ)
		}
		return value(a) * value(b)
	}
	width := widthOf(typ)
	switch op {
	case "mov", "cvta":
		return func(v [5]uint64) uint64 { return v[0] }
	case "selp":
		return func(v [5]uint64) uint64 {
			if v[2] != 0 {
				return v[0]
			}
			return v[1]
		}
	case "add":
		return func(v [5]uint64) uint64 { return v[0] + v[1] }
	case "sub":
		return func(v [5]uint64) uint64 { return v[0] - v[1] }
	case "mul":
		return func(v [5]uint64) uint64 { return product(v[0], v[1]) }
	case "mad":
		return func(v [5]uint64) uint64 {
			if wide || !high {
				return product(v[0], v[1]) + v[2]
			}
			return product(v[0], v[1]) + v[2]
		}
	case "div":
		return func(v [5]uint64) uint64 {
			if isSigned {
				return uint64(signed(v[0], typ) / signed(v[1], typ))
			}
			return value(v[0]) / value(v[1])
		}
	case "rem":
		return func(v [5]uint64) uint64 {
			if isSigned {
				return uint64(signed(v[0], typ) % signed(v[1], typ))
			}
			return value(v[0]) % value(v[1])
		}
	case "min", "max":
		return func(v [5]uint64) uint64 {
			less := value(v[0]) < value(v[1])
			if isSigned {
				less = signed(v[0], typ) < signed(v[1], typ)
			}
			if less == (op == "min") {
				return v[0]
			}
			return v[1]
		}
	case "neg":
		return func(v [5]uint64) uint64 { return -v[0] }
	case "abs":
		return func(v [5]uint64) uint64 { return uint64(max(signed(v[0], typ), -signed(v[0], typ))) }
	case "and":
		return func(v [5]uint64) uint64 { return v[0] & v[1] }
	case "or":
		return func(v [5]uint64) uint64 { return v[0] | v[1] }
	case "xor":
		return func(v [5]uint64) uint64 { return v[0] ^ v[1] }
	case "not":
		return func(v [5]uint64) uint64 { return ^v[0] }
	case "shl":
		return func(v [5]uint64) uint64 { return v[0] << min(v[1]&math.MaxUint32, 64) }
	case "shr":
		return func(v [5]uint64) uint64 {
			n := min(v[1]&math.MaxUint32, uint64(width))
			if isSigned {
				return uint64(signed(v[0], typ) >> min(n, 63))
			}
			return value(v[0]) >> n
		}
	case "shf":
		left := slices.Contains(parts, "l")
		return func(v [5]uint64) uint64 {
			both, n := v[1]<<32|v[0]&math.MaxUint32, v[2]&31
			if left {
				return both << n >> 32
			}
			return both >> n
		}
	case "bfi":
		return func(v [5]uint64) uint64 {
			mask := (uint64(1)<<(v[3]&255) - 1) << (v[2] & 255)
			return v[0]<<(v[2]&255)&mask | v[1]&^mask
		}
	case "bfe":
		return func(v [5]uint64) uint64 { return value(v[0]) >> (v[1] & 255) & (uint64(1)<<(v[2]&255) - 1) }
	case "clz":
		return func(v [5]uint64) uint64 { return uint64(bits.LeadingZeros64(value(v[0])) - (64 - width)) }
	case "popc":
		return func(v [5]uint64) uint64 { return uint64(bits.OnesCount64(value(v[0]))) }
	}
	return nil
}

// atomic parses an atomic operation on 32 bits: one thread runs at a time.
func (q *parser) atomic(parts, args []string) (string, func(m *machine), error) {
	set := func(*machine, uint64) {}
	if parts[0] == "atom" {
		set, args = q.write(args[0], "b32"), args[1:]
	}
	to, err := q.pointer(args[0])
	if err != nil {
		return "", nil, err
	}
	v, err := q.read(args[1])
	if err != nil {
		return "", nil, err
	}
	for _, op := range []string{"add", "and", "or"} {
		if slices.Contains(parts, op) {
			f := integer(op, "u32", nil)
			return "atomic", func(m *machine) {
				at := to(m)
				was := m.load(at, 4)
				m.store(at, 4, f([5]uint64{was, v(m)}))
				set(m, was)
			}, nil
		}
	}
	return "", nil, fmt.Errorf("an atomic operation that is not known")
}

// pack parses a move between a register and a vector of registers of half or a quarter of its size.
func (q *parser) pack(parts, args []string) (string, func(m *machine), error) {
	typ := parts[len(parts)-1]
	if strings.HasPrefix(args[0], "{") {
		from, err := q.read(args[1])
		names := vector(args[0])
		width := widthOf(typ) / len(names)
		var sets []func(*machine, uint64)
		for _, n := range names {
			set := func(*machine, uint64) {}
			if n != "_" {
				set = q.write(n, fmt.Sprintf("b%d", width))
			}
			sets = append(sets, set)
		}
		return "move", func(m *machine) {
			v := from(m)
			for i, set := range sets {
				set(m, v>>(i*width))
			}
		}, err
	}
	names := vector(args[1])
	width := widthOf(typ) / len(names)
	set := q.write(args[0], typ)
	var gets []operand
	for _, n := range names {
		get, err := q.read(n)
		if err != nil {
			return "", nil, err
		}
		gets = append(gets, get)
	}
	return "move", func(m *machine) {
		v := uint64(0)
		for i, get := range gets {
			v |= get(m) & (math.MaxUint64 >> (64 - width)) << (i * width)
		}
		set(m, v)
	}, nil
}
