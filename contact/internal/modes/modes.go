// Package modes has what all derivatives of contact problems share: what each contact does at a solution, the linear
// equations that its mode leaves, and the iteration that solves them. Packages contact/adjoint, for rigid bodies, and
// contact/system, for any mechanism, give it their matrices.
package modes

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/contact"
)

// The equations at a solution [AGIMUS2023, Contacts]. With v = v_f + M⁻¹Jᵀλ and c = Jv − c* + Rλ, the modes of the
// contacts say
//
//	open   λ = 0
//	stick  c = 0
//	slide  λ_T = −μλ_N·t with t = c_T/‖c_T‖, and c_N = 0 (NCP) or c_N = μ‖c_T‖ (CCP).
//
// Let the columns of B span the impulses that a mode allows: the identity for stick, and e₁ = (−μt, 1) and e₂ = (t⊥, 0)
// for slide. A is B, but with n in place of e₁ for the slide of the NCP, and the diagonal D is ‖c_T‖/(μλ_N) on e₂ and
// otherwise zero. A tangent then obeys dλ = By + p with p = −λ_N·t·dμ, and
//
//	Aᵀdc + Dy = κ, where κ = ‖c_T‖dμ on e₁ of the CCP and otherwise zero.

// Mode is what a contact does at a solution.
type Mode uint8

// Modes of a contact. Without friction a contact that is not open slides, whatever its velocity.
const (
	Open  Mode = iota // without impulse
	Stick             // c = 0, inside of the cone
	Slide             // on the boundary of the cone, against the slip
)

// Names are the names of the modes.
var Names = batch.Names[Mode]{What: "mode", List: []string{Open: "open", Stick: "stick", Slide: "slide"}}

func (m Mode) String() string { return Names.Name(m) }

// Contact is a contact at a solution, with the columns of A and B, and the unknowns and equations that belong to them.
// Components X, Y and Z of vectors are those along t1, t2 and n.
type Contact struct {
	Mu, RT, RN float64 // friction, and compliances along the tangents and the normal
	H          float64 // trace of its block of G
	Lambda, C  r3.Vec  // impulse λ and velocity c of the solution

	Mode Mode
	T    r3.Vec // direction of the slip, zero without

	N       int       // number of columns
	Cone    bool      // the first one is e₁
	A, B    [3]r3.Vec // columns
	S       [3]float64
	Pivot   [3]float64 // S and what regularizes it
	Inverse [3]float64 // of the pivots
	Z       [3]float64 // unknowns
	Right   [3]float64 // right hand side of their equations
	Left    [3]float64 // residual
}

// most bounds the pivots: a contact whose e₂ has this much of h does not leave its direction.
const most = 1e30

// hypot is √(x² + y²), for numbers of any size.
func hypot(x, y float64) float64 {
	if sum := x*x + y*y; sum >= 0x1p-900 && sum <= 0x1p900 {
		return math.Sqrt(sum)
	}
	return math.Hypot(x, y)
}

// Slip is the speed ‖c_T‖.
func (c *Contact) Slip() float64 { return hypot(c.C.X, c.C.Y) }

// Find finds the mode by the natural map of the law, Π_K(λ − (c + Γ)/h), which is λ at solutions: the point that is
// projected lies in the polar cone, in K, or between both. It does not depend on how well the solution resolves zeros
// of λ and c. It sets the columns of the mode, with unknowns and right hand sides of zero. A contact that no impulse
// moves, with h = 0, is open.
func (c *Contact) Find(model contact.Model) {
	c.N, c.Cone, c.Mode, c.T = 0, false, Open, r3.Vec{}
	if c.H == 0 {
		return
	}
	slip := c.Slip()
	u := axpy(c.Lambda, -1/c.H, c.C)
	if model == contact.NCP {
		u.Z -= c.Mu * slip / c.H
	}
	t := hypot(u.X, u.Y)
	if t > 0 {
		c.T = r3.Vec{X: -u.X / t, Y: -u.Y / t}
	}
	n := r3.Vec{Z: 1}
	switch {
	case c.Mu*t <= -u.Z:
	case t <= c.Mu*u.Z && c.Mu > 0:
		c.Mode = Stick
		c.add(r3.Vec{X: 1}, r3.Vec{X: 1}, c.RT)
		c.add(r3.Vec{Y: 1}, r3.Vec{Y: 1}, c.RT)
		c.add(n, n, c.RN)
	default:
		c.Mode, c.Cone = Slide, true
		e := axpy(n, -c.Mu, c.T)
		if model == contact.CCP {
			c.add(e, e, c.RN+c.Mu*c.Mu*c.RT)
		} else {
			c.add(n, e, c.RN)
		}
		if normal := c.Mu * c.Lambda.Z; normal > 0 && slip < most*c.H*normal {
			across := r3.Vec{X: -c.T.Y, Y: c.T.X}
			c.add(across, across, c.RT+slip/normal)
		}
	}
}

// add adds a column a of A and b of B, and what stands for it on the diagonal S = BᵀRA + D.
func (c *Contact) add(a, b r3.Vec, s float64) {
	k := c.N
	c.N++
	c.A[k], c.B[k], c.S[k], c.Z[k], c.Right[k] = a, b, s, 0, 0
}

// Pushes reports whether column k is that of the normal impulse.
func (c *Contact) Pushes(k int) bool {
	return c.Mode == Stick && k == 2 || c.Mode == Slide && k == 0
}

// Combined is u = Az.
func (c *Contact) Combined() (u r3.Vec) {
	for k := range c.N {
		u = axpy(u, c.Z[k], c.A[k])
	}
	return u
}

// margin is how far the contact is from a change of its mode, as a speed.
func (c *Contact) margin(model contact.Model) (m float64) {
	slip := c.Slip()
	switch {
	case c.Mode == Open && model == contact.CCP:
		m = c.C.Z - c.Mu*slip
	case c.Mode == Open:
		m = c.C.Z
	case c.Mode == Stick:
		m = c.H * min(c.Lambda.Z, c.Mu*c.Lambda.Z-hypot(c.Lambda.X, c.Lambda.Y))
	case c.Mu > 0:
		m = min(c.H*c.Lambda.Z, slip)
	default:
		m = c.H * c.Lambda.Z
	}
	return m
}

// Least is the margin below which a world is on a boundary.
const Least = 1e-6

// Margin is how far a world is from the nearest change of a mode. Start it with [NoMargin].
type Margin struct {
	Value    float64 // relative to the scale of the contact, +Inf without contacts
	Nearest  int32   // contact with this margin, -1 without contacts
	Boundary bool    // a margin is not above [Least], or not resolved by the solution
}

// NoMargin is the margin of a world without contacts.
var NoMargin = Margin{Value: math.Inf(1), Nearest: -1}

// Take takes contact i into the margin: relative to scale, in the unit of speed of the contact, of a solution that has
// a residual in m/s where the contact has the unit of speed in m/s.
func (m *Margin) Take(i int, c *Contact, model contact.Model, scale, unit, residual float64) {
	margin := 0.0
	if speed := c.margin(model); speed > 0 {
		margin = speed / scale
	}
	if margin < m.Value {
		m.Value, m.Nearest = margin, int32(i)
	}
	m.Boundary = m.Boundary || !(margin > Least) || !(margin*scale*unit > residual)
}

func axpy(a r3.Vec, f float64, b r3.Vec) r3.Vec {
	return r3.Vec{X: a.X + f*b.X, Y: a.Y + f*b.Y, Z: a.Z + f*b.Z}
}
