package modes

import "math"

// The linear system of a derivative. The unknowns are velocities v̂ and z by columns of the contacts:
//
//	Mv̂ + JᵀAz = r,  BᵀJv̂ − Sz = −s,  S = BᵀRA + D,
//
// and for tangents the transpose, with A and B exchanged. S is diagonal. Where it is small, which it is wherever a
// contact is rigid, the system is singular if contacts are redundant. So S is replaced by P = max(S, εh), and what that
// changes is made good by iterations:
//
//	(M + JᵀAP⁻¹BᵀJ)δv = r − JᵀAP⁻¹s,  δz = P⁻¹(BᵀJδv + s)
//
// with the residuals r and s of the iterate. A component of z to which the system has the eigenvalue κh converges like
// (ε/(κ + ε))ᵏ, and one with κ = 0 keeps its start, zero: a solution of least norm, as that of a singular value
// decomposition. The iteration removes the rounding of the factorization as well.

// Regularization is ε, a power of two. The factorization loses ε⁻¹ of the precision in each round.
const Regularization = 0x1p-20

const (
	// Rounded is the relative residual below which it is no sign of a right hand side out of range.
	Rounded = 1e-11
	// mostRounds bounds the iterations.
	mostRounds = 40
	// enough is the relative residual at which the iteration ends, and Utmost one that it only reaches by chance: it
	// ends where rounding keeps residuals from getting smaller.
	enough, Utmost = 0x1p-48, 0x1p-56
	// mostAttempts bounds how often a part of the right hand side that is out of range is taken away.
	mostAttempts = 3
	// unsolved is the relative residual above which a system counts as one without solution.
	unsolved = 1e-4
	// nullRounds and nullPart find null vectors: parts of z with κ below about 3e-6 keep more than nullPart of their
	// size for so many rounds.
	nullRounds, nullPart = 8, 1e-5
	// shareCompliance is the compliance of contacts that share their load in more than one way, relative to h.
	shareCompliance = 1e-3
)

// System is a linear system whose matrix M + JᵀAP⁻¹BᵀJ has been factored.
type System interface {
	Contacts() int
	Contact(i int) *Contact
	// Begin sets v̂ and z to zero, and the residuals to the right hand sides. It returns the square of their norm, that
	// of M⁻¹ and of 1/h.
	Begin() float64
	// Rest sets the residuals r to zero.
	Rest()
	// Correct adds the correction of the residuals to v̂ and z.
	Correct()
	// Measure forms the residuals of v̂ and z, and returns the square of their norm.
	Measure() float64
}

// Regularize sets the pivots P of a contact. With share its normal impulse has a compliance, see [Shared].
func (c *Contact) Regularize(epsilon float64, share bool) {
	for k := range c.N {
		if share && c.Pushes(k) {
			c.S[k] += shareCompliance * c.H
		}
		c.Pivot[k] = max(c.S[k], epsilon*c.H)
		c.Inverse[k] = 1 / c.Pivot[k]
	}
}

// Settle solves a system. It returns the relative residual, and false without a solution.
//
// Cotangents of impulses, and tangents of arms or targets, may ask redundant contacts for what they cannot do: the
// right hand side is not in the range of the matrix. The residual then tends to the part that is not, which is taken
// away before the iteration starts again.
func Settle(x System) (residual float64, ok bool) { return SettleTo(x, enough) }

// SettleTo is Settle to a relative residual.
func SettleTo(x System, enough float64) (residual float64, ok bool) {
	whole, last := 0.0, 0.0
	for attempt := range mostAttempts {
		if last = x.Begin(); last == 0 {
			return 0, true
		}
		if attempt == 0 {
			whole = last
		}
		stays := false
		for range mostRounds {
			x.Correct()
			now := x.Measure()
			slow := !(now <= last/4)
			stays = now > 0.9*last && now > Rounded*Rounded*whole
			last = now
			if now <= enough*enough*whole || stays || slow && (now <= Rounded*Rounded*whole || attempt > 0) {
				break
			}
		}
		if !stays {
			break
		}
		if attempt+1 < mostAttempts {
			for i := range x.Contacts() {
				c := x.Contact(i)
				for k := range c.N {
					c.Right[k] -= c.Left[k]
				}
			}
		}
	}
	residual = math.Sqrt(last / whole)
	return residual, residual <= unsolved
}

// Shared reports whether a null vector of a system has a part in a contact that slides, so that contacts share their
// load in more than one way: the map z ↦ (K + P − S)⁻¹(P − S)z keeps null vectors, and shrinks the rest. It starts from
// numbers without pattern, and leaves v̂ and z unspecified.
func Shared(x System) bool {
	slides, n := false, x.Contacts()
	for i := range n {
		c := x.Contact(i)
		slides = slides || c.Mode == Slide && c.S[0] < Regularization*c.H
	}
	if !slides {
		return false
	}
	start, state := 0.0, uint64(1)
	for i := range n {
		c := x.Contact(i)
		for k := range c.N {
			state = state*6364136223846793005 + 1442695040888963407 // Knuth's generator
			c.Z[k] = float64(int64(state)) * 0x1p-63
			start += c.H * c.Z[k] * c.Z[k]
		}
	}
	for range nullRounds {
		for i := range n {
			c := x.Contact(i)
			for k := range c.N {
				c.Left[k], c.Z[k] = (c.Pivot[k]-c.S[k])*c.Z[k], 0
			}
		}
		x.Rest()
		x.Correct()
		part := 0.0
		for i := range n {
			c := x.Contact(i)
			for k := range c.N {
				if c.Mode == Slide {
					part += c.H * c.Z[k] * c.Z[k]
				}
			}
		}
		if part <= nullPart*nullPart*start {
			return false
		}
	}
	return true
}
