package contact

import (
	"fmt"
	"math"
)

// A WorldError says what is wrong with the input of a world. Body and Contact are -1 where the fault is not
// that of a body or of a contact.
type WorldError struct {
	World, Body, Contact int
	Column, Reason       string
}

func (e *WorldError) Error() string {
	at := fmt.Sprintf("contact: world %d", e.World)
	if e.Contact >= 0 {
		at += fmt.Sprintf(", contact %d", e.Contact)
	}
	if e.Body >= 0 {
		at += fmt.Sprintf(", body %d", e.Body)
	}
	return at + ": " + e.Column + ": " + e.Reason
}

// Check returns an error if a column has the wrong length, and otherwise the fault of the first invalid world.
func (p *Problem) Check() error {
	if err := p.CheckShape(); err != nil {
		return err
	}
	for w := range p.Worlds {
		if err := p.CheckWorld(w); err != nil {
			return err
		}
	}
	return nil
}

func (p *Problem) CheckShape() error {
	if p.Worlds < 0 || p.Bodies < 0 || p.Contacts < 0 {
		return fmt.Errorf("contact: %d worlds, %d bodies, %d contacts: a count is negative", p.Worlds, p.Bodies,
			p.Contacts)
	}
	wb, wc := p.Worlds*p.Bodies, p.Worlds*p.Contacts
	for _, c := range [...]struct {
		name      string
		got, want int
		optional  bool
	}{
		{"mass", len(p.Mass), wb, false}, {"inertia", len(p.Inertia), 6 * wb, false},
		{"velocity", len(p.Velocity), 6 * wb, false}, {"count", len(p.Count), p.Worlds, false},
		{"body_a", len(p.BodyA), wc, false}, {"body_b", len(p.BodyB), wc, false},
		{"arm_a", len(p.ArmA), 3 * wc, false}, {"arm_b", len(p.ArmB), 3 * wc, false},
		{"frame", len(p.Frame), 9 * wc, false}, {"friction", len(p.Friction), wc, false},
		{"target", len(p.Target), wc, true}, {"compliance", len(p.Compliance), 2 * wc, true},
		{"warm", len(p.Warm), 3 * wc, true},
	} {
		if c.got != c.want && !(c.optional && c.got == 0) {
			return fmt.Errorf("contact: column %s has %d values; %d worlds of %d bodies and %d contacts take %d",
				c.name, c.got, p.Worlds, p.Bodies, p.Contacts, c.want)
		}
	}
	return nil
}

// frameTolerance is the largest error of an inner product of two axes of a frame. Solvers treat frames as
// orthonormal; the error of an impulse is of this order.
const frameTolerance = 1e-6

// CheckWorld returns a *[WorldError] if the input of a world is no contact problem: a mass that is not
// positive, an inertia that no body has, a contact of a body that is absent, bodies that both do not move, a
// frame that is not orthonormal and right-handed, a negative friction or compliance, and NaN or ±Inf anywhere
// but in masses.
func (p *Problem) CheckWorld(w int) error { return p.checkWorld(w, true) }

// checkWorld is CheckWorld, with inertias or, where they are known to be those of bodies, without.
func (p *Problem) checkWorld(w int, inertias bool) error {
	for b := w * p.Bodies; b < (w+1)*p.Bodies; b++ {
		if column, reason := p.bodyFault(b, inertias); reason != "" {
			return &WorldError{w, b - w*p.Bodies, -1, column, reason}
		}
	}
	if n := int(p.Count[w]); n < 0 || n > p.Contacts {
		return &WorldError{w, -1, -1, "count", fmt.Sprintf("%d contacts; there is room for 0 to %d", n, p.Contacts)}
	}
	for k := w * p.Contacts; k < w*p.Contacts+int(p.Count[w]); k++ {
		if body, column, reason := p.contactFault(w, k); reason != "" {
			return &WorldError{w, body, k - w*p.Contacts, column, reason}
		}
	}
	return nil
}

func finite(values ...float64) bool {
	for _, x := range values {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// bodyFault returns the column and the reason why body b of all worlds is invalid.
func (p *Problem) bodyFault(b int, inertias bool) (column, reason string) {
	m := p.Mass[b]
	if !(m > 0) {
		return "mass", fmt.Sprintf("%g kg; a mass is positive, or +Inf for a body that impulses do not move", m)
	}
	if !finite(p.Velocity[6*b : 6*b+6]...) {
		return "velocity", fmt.Sprintf("%v is not finite", p.Velocity[6*b:6*b+6])
	}
	if math.IsInf(m, 1) || !inertias {
		return "", ""
	}
	return "inertia", inertiaFault(sym3(p.Inertia[6*b : 6*b+6]))
}

// inertiaFault says why no body has this inertia. That of a body is ∫(|x|²·1 − xxᵀ)dm, so
// ½·trace·1 − inertia = ∫xxᵀdm is positive semidefinite: the triangle inequality of the principal moments.
// Rounding of the input is allowed for. A needle without any thickness has no inverse and is refused too.
func inertiaFault(i sym3) string {
	if !finite(i[:]...) {
		return fmt.Sprintf("%v is not finite", i)
	}
	const slack = 1e-9 // of the trace
	half := (i[0] + i[1] + i[2]) / 2
	if least := i.minEigenvalue(); !(least > 1e-14*half) {
		return fmt.Sprintf("%v is not positive definite: its least principal moment is %.3g kg·m²", i, least)
	}
	second := sym3{half - i[0], half - i[1], half - i[2], -i[3], -i[4], -i[5]}
	if !(second.minEigenvalue() >= -slack*half) {
		return fmt.Sprintf("%v: a principal moment exceeds the sum of the other two, which no body has", i)
	}
	return ""
}

// contactFault returns the body, or -1, the column and the reason why contact k of all worlds is invalid.
func (p *Problem) contactFault(w, k int) (body int, column, reason string) {
	moves := false
	for _, side := range [...]struct {
		column string
		body   int32
		arm    []float64
	}{{"body_a", p.BodyA[k], p.ArmA}, {"body_b", p.BodyB[k], p.ArmB}} {
		b := int(side.body)
		if b < -1 || b >= p.Bodies {
			return b, side.column, fmt.Sprintf("body %d is absent; bodies are 0 to %d, and -1 is the world", b,
				p.Bodies-1)
		}
		if b < 0 {
			continue
		}
		if !finite(side.arm[3*k : 3*k+3]...) {
			return b, "arm" + side.column[4:], fmt.Sprintf("%v is not finite", side.arm[3*k:3*k+3])
		}
		moves = moves || !math.IsInf(p.Mass[w*p.Bodies+b], 1)
	}
	if p.BodyA[k] == p.BodyB[k] {
		return int(p.BodyA[k]), "body_b", "a contact of a body with itself"
	}
	if !moves {
		return -1, "body_a", fmt.Sprintf("neither body %d nor body %d moves; leave the contact out", p.BodyA[k],
			p.BodyB[k])
	}
	reason = p.lawFault(k, &column)
	return -1, column, reason
}

// lawFault returns why the frame or a number of the law of contact k is invalid, and names its column.
func (p *Problem) lawFault(k int, column *string) string {
	*column = "frame"
	if reason := frameFault(p.Frame[9*k : 9*k+9]); reason != "" {
		return reason
	}
	*column = "friction"
	if mu := p.Friction[k]; !(mu >= 0) || !finite(mu) {
		return fmt.Sprintf("%g; a friction coefficient is not negative", mu)
	}
	*column = "target"
	if len(p.Target) > 0 && !finite(p.Target[k]) {
		return fmt.Sprintf("%g m/s is not finite", p.Target[k])
	}
	*column = "compliance"
	if len(p.Compliance) > 0 {
		if r := p.Compliance[2*k : 2*k+2]; !finite(r...) || !(r[0] >= 0) || !(r[1] >= 0) {
			return fmt.Sprintf("%v; compliances are not negative", r)
		}
	}
	*column = "warm"
	if len(p.Warm) > 0 && !finite(p.Warm[3*k:3*k+3]...) {
		return fmt.Sprintf("%v is not finite", p.Warm[3*k:3*k+3])
	}
	return ""
}

func frameFault(f []float64) string {
	if !finite(f...) {
		return fmt.Sprintf("%v is not finite", f)
	}
	q := frameRows(f)
	for i := range 3 {
		for j := range i + 1 {
			want := 0.0
			if i == j {
				want = 1
			}
			if d := dotVec(q[i], q[j]); !(math.Abs(d-want) <= frameTolerance) {
				return fmt.Sprintf("singular frame: the product of rows %d and %d is %.9g in place of %g", j, i, d,
					want)
			}
		}
	}
	if !(dotVec(crossVec(q[0], q[1]), q[2]) > 0) {
		return "left-handed frame: t1 × t2 points against n"
	}
	return ""
}
