package gpucost

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// compare parses setp: a comparison of two numbers, combined with a predicate or not. That of real numbers is false
// where one is no number, and true if its name ends in u.
func (q *parser) compare(parts, args []string) (string, func(m *machine), error) {
	typ := parts[len(parts)-1]
	set := q.write(args[0], "pred")
	a, err := q.read(args[1])
	if err != nil {
		return "", nil, err
	}
	b, err := q.read(args[2])
	if err != nil {
		return "", nil, err
	}
	var less, equal func(x, y uint64) bool
	unordered := func(x, y uint64) bool { return false }
	class := "int"
	switch typ {
	case "f32":
		class = typ
		less = func(x, y uint64) bool { return f32(x) < f32(y) }
		equal = func(x, y uint64) bool { return f32(x) == f32(y) }
		unordered = func(x, y uint64) bool { return f32(x) != f32(x) || f32(y) != f32(y) }
	case "f64":
		class = typ
		less = func(x, y uint64) bool { return f64(x) < f64(y) }
		equal = func(x, y uint64) bool { return f64(x) == f64(y) }
		unordered = func(x, y uint64) bool { return f64(x) != f64(x) || f64(y) != f64(y) }
	default:
		mask := uint64(math.MaxUint64) >> (64 - widthOf(typ))
		equal = func(x, y uint64) bool { return x&mask == y&mask }
		less = func(x, y uint64) bool { return x&mask < y&mask }
		if typ[0] == 's' {
			less = func(x, y uint64) bool { return signed(x, typ) < signed(y, typ) }
		}
	}
	test, err := relation(parts[1], typ[0] == 'f', less, equal, unordered)
	if err != nil {
		return "", nil, err
	}
	combine := func(_ *machine, v bool) bool { return v }
	if len(args) > 3 {
		not := strings.HasPrefix(args[3], "!")
		with, err := q.read(strings.TrimPrefix(args[3], "!"))
		if err != nil {
			return "", nil, err
		}
		isAnd := slices.Contains(parts, "and")
		combine = func(m *machine, v bool) bool {
			other := (with(m) != 0) != not
			return isAnd && v && other || !isAnd && (v || other)
		}
	}
	return class, func(m *machine) {
		v := uint64(0)
		if combine(m, test(a(m), b(m))) {
			v = 1
		}
		set(m, v)
	}, nil
}

// relation returns the comparison of a name.
func relation(name string, isReal bool, less, equal, unordered func(x, y uint64) bool) (func(x, y uint64) bool, error) {
	orUnordered := isReal && len(name) == 3 && name[2] == 'u'
	if orUnordered {
		name = name[:2]
	}
	var f func(x, y uint64) bool
	switch name {
	case "lt", "lo":
		f = less
	case "gt", "hi":
		f = func(x, y uint64) bool { return less(y, x) }
	case "le", "ls":
		f = func(x, y uint64) bool { return less(x, y) || equal(x, y) }
	case "ge", "hs":
		f = func(x, y uint64) bool { return less(y, x) || equal(x, y) }
	case "eq":
		f = equal
	case "ne":
		f = func(x, y uint64) bool { return !equal(x, y) && !unordered(x, y) }
	case "nan":
		f = unordered
	case "num":
		f = func(x, y uint64) bool { return !unordered(x, y) }
	default:
		return nil, fmt.Errorf("a comparison that is not known")
	}
	if orUnordered {
		return func(x, y uint64) bool { return f(x, y) || unordered(x, y) }, nil
	}
	return f, nil
}

// convert parses cvt.
func (q *parser) convert(parts, args []string) (string, func(m *machine), error) {
	from, to := parts[len(parts)-1], parts[len(parts)-2]
	get, err := q.read(args[1])
	if err != nil {
		return "", nil, err
	}
	set := q.write(args[0], to)
	real := func(v uint64) float64 { return f64(v) }
	if from == "f32" {
		real = func(v uint64) float64 { return float64(f32(v)) }
	}
	if from[0] != 'f' {
		real = func(v uint64) float64 {
			if from[0] == 's' {
				return float64(signed(v, from))
			}
			return float64(v)
		}
	}
	round := func(v float64) float64 { return v }
	for name, f := range map[string]func(float64) float64{
		"rzi": math.Trunc, "rni": math.RoundToEven, "rmi": math.Floor, "rpi": math.Ceil,
	} {
		if slices.Contains(parts, name) {
			round = f
		}
	}
	class := "int"
	if from == "f64" || to == "f64" {
		class = "convert.f64"
	} else if from == "f32" || to == "f32" {
		class = "convert.f32"
	}
	var f func(v uint64) uint64
	switch {
	case to == "f64":
		f = func(v uint64) uint64 { return bits64(round(real(v))) }
	case to == "f32":
		f = func(v uint64) uint64 { return bits32(float32(round(real(v)))) }
	case from[0] == 'f' && to[0] == 's':
		limit := math.Ldexp(1, widthOf(to)-1)
		f = func(v uint64) uint64 { return uint64(int64(max(min(round(real(v)), limit-1), -limit))) }
	case from[0] == 'f':
		limit := math.Ldexp(1, min(widthOf(to), 63))
		f = func(v uint64) uint64 { return uint64(max(min(round(real(v)), limit-1), 0)) }
	case from[0] == 's':
		f = func(v uint64) uint64 { return uint64(signed(v, from)) }
	default:
		mask := uint64(math.MaxUint64) >> (64 - widthOf(from))
		f = func(v uint64) uint64 { return v & mask }
	}
	return class, func(m *machine) { set(m, f(get(m))) }, nil
}
