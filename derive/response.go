package derive

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// largestResponse bounds the derivatives of a row with all of them, in units of the size of the pair: those of the
// normal and the witnesses by lengths and angles, and the radii of curvature. Beyond it the rounding of the answer,
// 1e-16 of the size, moves them by more than about a thousandth where they vary over the size, and which of them are
// finite would depend on rounding: the Hessians of powers are negative powers of components that ought to be zero.
const largestResponse = 1e6

// mat2 is a matrix on the tangent plane, row by row.
type mat2 [4]float64

func (h sym2) times(m mat2) mat2 {
	return mat2{h[0]*m[0] + h[1]*m[2], h[0]*m[1] + h[1]*m[3], h[1]*m[0] + h[2]*m[2], h[1]*m[1] + h[2]*m[3]}
}

func (h sym2) full() mat2 { return mat2{h[0], h[1], h[1], h[2]} }

func (m *mat2) addOuter(k float64, a, b vec2) {
	m[0] += k * a[0] * b[0]
	m[1] += k * a[0] * b[1]
	m[2] += k * a[1] * b[0]
	m[3] += k * a[1] * b[1]
}

// isLarge reports whether the Frobenius norm of a matrix of the response, or of a Hessian, exceeds largestResponse.
// With w_i = ω_i × n and u the tangential part of the relative velocity of the witnesses, as package lanes has them
// (columns.h),
//
//	dn = N·u + M_A·w_A + M_B·w_B
//	da = v_a + M_Aᵀ·u + Q_AA·w_A + Q_AB·w_B,   db = v_b - (M_Bᵀ·u + Q_ABᵀ·w_A + Q_BB·w_B)
//	M_i = N·H_i + Y_i·T_iᵀ,   Q_ij = H_i·N·H_j + H_i·Y_j·T_jᵀ + T_i·Y_iᵀ·H_j - T_i·Z_ij·T_jᵀ - [i = j]·H_i.
//
// Of growth distances u is the relative velocity at the common point by (1 + |ā - b̄|/h)/α at most.
func (s *system) isLarge(p *problem) bool {
	type columns struct {
		h    sym2
		t, y [2]vec2
		flat int
		at   int // of its coordinates in the inverse
		sign float64
	}
	sides := [2]columns{{h: s.a.h, t: s.tA, flat: s.a.flat, at: 2, sign: 1},
		{h: s.b.h, t: s.tB, flat: s.b.flat, at: 2 + s.a.flat, sign: -1}}
	n := sym2{s.inverse[0][0], s.inverse[0][1], s.inverse[1][1]}
	var m [2]mat2
	for i := range sides {
		x := &sides[i]
		m[i] = n.times(x.h.full())
		for k := range x.flat {
			x.t[k] = vec2{x.sign * x.t[k][0], x.sign * x.t[k][1]}
			x.y[k] = vec2{s.inverse[0][x.at+k], s.inverse[1][x.at+k]}
			m[i].addOuter(1, x.y[k], x.t[k])
		}
	}
	speed, worst := 1.0, 0.0
	if p.growth {
		speed = (1 + r3.Norm(r3.Sub(s.abar, s.bbar))/s.h) / s.value
	}
	note := func(scale float64, m mat2) { // its Frobenius norm, which does not depend on the basis
		if v := scale * math.Sqrt(m[0]*m[0]+m[1]*m[1]+m[2]*m[2]+m[3]*m[3]); !(v <= worst) {
			worst = v
		}
	}
	note(speed*p.size, n.full())
	over := 1 / p.size
	for i := range sides {
		a := &sides[i]
		note(speed, m[i])
		note(over, a.h.full())
		for j := i; j < 2; j++ {
			b := &sides[j]
			q := a.h.times(m[j])
			for k := range a.flat {
				hy := b.h.mul(a.y[k])
				q.addOuter(1, a.t[k], hy)
				for l := range b.flat {
					q.addOuter(s.inverse[a.at+k][b.at+l], a.t[k], b.t[l])
				}
			}
			if i == j {
				q[0], q[1], q[2], q[3] = q[0]-a.h[0], q[1]-a.h[1], q[2]-a.h[1], q[3]-a.h[2]
			}
			note(over, q)
		}
	}
	return !(worst <= largestResponse)
}
