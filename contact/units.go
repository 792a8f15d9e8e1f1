package contact

import "math"

// units are those in which a world is solved: powers of two near its masses, lengths and speeds. So no number of a
// solver depends on the units of the problem, and scaling masses, lengths or times by powers of two scales the answer
// by powers of two, bit for bit: multiplications by powers of two are exact short of the ends of the range of float64.
type units struct{ mass, length, speed float64 }

// exponentLimit bounds the exponents of units, so that products of some of them stay within the range of float64.
const exponentLimit = 150

func (u *units) impulse() float64 { return u.mass * u.speed }
func (u *units) energy() float64  { return u.mass * u.speed * u.speed }
func (u *units) spin() float64    { return u.speed / u.length }
func (u *units) inertia() float64 { return u.mass * u.length * u.length }

// exponentOf is the exponent e of x = f·2^e, ½ ≤ f < 1, of x > 0.
func exponentOf(x float64) int {
	_, e := math.Frexp(x)
	return e
}

// powerOfTwo is 2^e.
func powerOfTwo(e int) float64 { return math.Ldexp(1, max(-exponentLimit, min(e, exponentLimit))) }

// unitsOf finds the units of world w: the middle of the exponents of the masses of the bodies that move, and of those
// of their radii of gyration, and the largest speed of a body, of its rotation at that radius, or of a target.
func (p *Problem) unitsOf(w int) units {
	lightest, heaviest, shortest, longest := math.MaxInt32, math.MinInt32, math.MaxInt32, math.MinInt32
	for b := w * p.Bodies; b < (w+1)*p.Bodies; b++ {
		if math.IsInf(p.Mass[b], 1) {
			continue
		}
		m := exponentOf(p.Mass[b])
		i := p.Inertia[6*b : 6*b+3]
		l := (exponentOf(i[0]+i[1]+i[2]) - m) >> 1
		lightest, heaviest = min(lightest, m), max(heaviest, m)
		shortest, longest = min(shortest, l), max(longest, l)
	}
	if lightest > heaviest {
		return units{1, 1, 1}
	}
	length := (shortest + longest) >> 1
	speed, spin := 0.0, 0.0
	for k := 6 * w * p.Bodies; k < 6*(w+1)*p.Bodies; k += 6 {
		for i := range 3 {
			speed, spin = max(speed, math.Abs(p.Velocity[k+i])), max(spin, math.Abs(p.Velocity[k+3+i]))
		}
	}
	if len(p.Target) > 0 {
		for _, t := range p.Target[w*p.Contacts : w*p.Contacts+int(p.Count[w])] {
			speed = max(speed, math.Abs(t))
		}
	}
	u := units{powerOfTwo((lightest + heaviest) >> 1), powerOfTwo(length), 1}
	switch {
	case speed > 0 && spin > 0:
		u.speed = powerOfTwo(max(exponentOf(speed), exponentOf(spin)+length))
	case speed > 0:
		u.speed = powerOfTwo(exponentOf(speed))
	case spin > 0:
		u.speed = powerOfTwo(exponentOf(spin) + length)
	}
	return u
}
