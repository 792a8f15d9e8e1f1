package mesh

import (
	"bytes"
	"math"
)

// leastDigits are the significant digits that a text is taken to have at least: those that C, C++ and most programs
// print by default. A coordinate of fewer digits may be exact.
const leastDigits = 6

// digits measures how precisely a text states its coordinates.
type digits struct {
	significant int  // the most of any number
	decimals    int  // of every number alike, while fixed
	fixed       bool // whether all numbers have equally many
	padded      bool // whether one of these ends in 0, which a program that drops zeros would not write
	any         bool
}

// note looks at a decimal number.
func (d *digits) note(field []byte) {
	mantissa := field
	if i := bytes.IndexAny(field, "eE"); i >= 0 {
		mantissa = field[:i]
	}
	significant, decimals, point := 0, 0, false
	for _, c := range mantissa {
		if c == '.' {
			point = true
		}
		if c < '0' || c > '9' {
			continue
		}
		if significant > 0 || c != '0' {
			significant++
		}
		if point {
			decimals++
		}
	}
	d.significant = max(d.significant, significant)
	if !d.any {
		d.decimals, d.fixed = decimals, true
	}
	d.any = true
	d.fixed = d.fixed && decimals == d.decimals && len(mantissa) == len(field)
	d.padded = d.padded || decimals > 1 && mantissa[len(mantissa)-1] == '0'
}

// rounding is half a unit of the last digit of coordinates up to reach: of the last decimal, if all numbers have
// as many.
func (d *digits) rounding(reach float64) float64 {
	if !d.any || reach == 0 {
		return 0
	}
	if d.fixed && d.padded {
		return 0.5 * math.Pow10(-d.decimals)
	}
	return 0.5 * math.Pow10(int(math.Floor(math.Log10(reach)))+1-max(d.significant, leastDigits))
}

// withRounding sets the rounding of parts: that of the digits of a text, and of float32 at least, as most programs
// keep their vertices in it.
func withRounding(parts []Part, d *digits) []Part {
	for i := range parts {
		reach := 0.0
		for _, v := range parts[i].Vertices {
			reach = max(reach, math.Abs(v.X), math.Abs(v.Y), math.Abs(v.Z))
		}
		parts[i].Rounding = max(0x1p-24*reach, d.rounding(reach))
	}
	return parts
}
