package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// contactUnits are those in which a contact problem is solved: powers of two near its masses, lengths and speeds.
// Multiplications by powers of two are exact, so that scaling masses, lengths or times of a problem by powers of two
// gives its solvers the same numbers: they make the same steps, and impulses scale bit for bit.
type contactUnits struct{ mass, length, speed float64 }

// siUnits leave a problem as it is.
var siUnits = contactUnits{1, 1, 1}

func (u contactUnits) impulse() float64 { return u.mass * u.speed }
func (u contactUnits) energy() float64  { return u.mass * u.speed * u.speed }
func (u contactUnits) spin() float64    { return u.speed / u.length }

// contactUnitsOf takes the middle of the exponents of masses and of those of radii of gyration of the bodies that
// move, and the exponent of the largest speed: of a body, of its rotation at the unit of length, or of a target.
// Exponents end at ±150, so that products of units are finite; beyond, answers do not scale bit for bit.
func contactUnitsOf(bodies []ContactBody, points []ContactPoint) contactUnits {
	light, heavy, short, long := math.MaxInt32, math.MinInt32, math.MaxInt32, math.MinInt32
	for _, b := range bodies {
		trace := b.Inertia[0] + b.Inertia[1] + b.Inertia[2]
		if math.IsInf(b.Mass, 1) || !(b.Mass > 0) || !(trace > 0) {
			continue
		}
		m := math.Ilogb(b.Mass)
		l := (math.Ilogb(trace) - m) >> 1
		light, heavy, short, long = min(light, m), max(heavy, m), min(short, l), max(long, l)
	}
	if light > heavy {
		return siUnits
	}
	power := func(e int) float64 { return math.Ldexp(1, max(-150, min(e, 150))) }
	u := contactUnits{power((light + heavy) >> 1), power((short + long) >> 1), 1}
	speed := 0.0
	for _, b := range bodies {
		for i := range 3 {
			speed = max(speed, math.Abs(b.Velocity[i]), math.Abs(b.Velocity[3+i])*u.length)
		}
	}
	for _, c := range points {
		speed = max(speed, math.Abs(c.Target))
	}
	if speed > 0 {
		u.speed = power(math.Ilogb(speed))
	}
	return u
}

// body and point are those of a problem in these units.
func (u contactUnits) body(b ContactBody) ContactBody {
	b.Mass /= u.mass
	for i := range b.Inertia {
		b.Inertia[i] /= u.mass * u.length * u.length
	}
	for i := range 3 {
		b.Velocity[i] /= u.speed
		b.Velocity[3+i] /= u.spin()
	}
	return b
}

func (u contactUnits) point(c ContactPoint) ContactPoint {
	c.ArmA, c.ArmB = r3.Scale(1/u.length, c.ArmA), r3.Scale(1/u.length, c.ArmB)
	c.Target /= u.speed
	c.Compliance[0] *= u.mass
	c.Compliance[1] *= u.mass
	return c
}

// residual is one in SI units.
func (u contactUnits) residual(e ContactResidual) ContactResidual {
	for _, x := range [...]*float64{&e.Natural, &e.Scale, &e.Dual} {
		*x *= u.speed
	}
	for _, x := range [...]*float64{&e.Primal, &e.Coulomb, &e.Internal} {
		*x *= u.impulse()
	}
	for _, x := range [...]*float64{&e.Complementarity, &e.Signorini, &e.Dissipation} {
		*x *= u.energy()
	}
	return e
}

// scaledSlice is x times f.
func scaledSlice(f float64, x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = f * v
	}
	return out
}
