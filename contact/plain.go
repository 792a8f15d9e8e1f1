package contact

import "math"

// plain reports whether world w meets simple conditions, from which its validity follows and which nearly all valid
// worlds meet: it takes a fifth of the time of [Problem.CheckWorld], which decides about the others and has the
// reasons.
// Comparisons with NaN are false.
func (p *Problem) plain(w int) bool {
	n := int(p.Count[w])
	if n < 0 || n > p.Contacts {
		return false
	}
	for b := w * p.Bodies; b < (w+1)*p.Bodies; b++ {
		m := p.Mass[b]
		if !(m > 0) || !finite(p.Velocity[6*b:6*b+6]...) ||
			m <= math.MaxFloat64 && !plainInertia((*[6]float64)(p.Inertia[6*b:])) {
			return false
		}
	}
	for k := w * p.Contacts; k < w*p.Contacts+n; k++ {
		if !p.plainBodies(w, k) || !plainFrame((*[9]float64)(p.Frame[9*k:])) || !p.plainLaw(k) {
			return false
		}
	}
	return true
}

// plainInertia is about [inertiaFault].
func plainInertia(i *[6]float64) bool {
	half := (i[0] + i[1] + i[2]) / 2
	return definite(half, i[0], i[1], i[2], i[3], i[4], i[5]) &&
		definite(half, half-i[0], half-i[1], half-i[2], -i[3], -i[4], -i[5])
}

// definite reports whether a symmetric matrix with a trace of at most 2·half has a least eigenvalue above 1e-10·half,
// far from rounding: by its minors and by det, which is at most that eigenvalue times half². Where 1e-10·half³ leaves
// the range of float64 it reports false, and [inertiaFault] decides.
func definite(half, xx, yy, zz, xy, xz, yz float64) bool {
	minor := xx*yy - xy*xy
	det := xx*(yy*zz-yz*yz) - xy*(xy*zz-yz*xz) + xz*(xy*yz-yy*xz)
	return xx > 0 && minor > 1e-10*half*half && det > 1e-10*half*half*half && half >= 1e-90 && half <= 1e100
}

// plainBodies is about the bodies and arms of contact k of all worlds.
func (p *Problem) plainBodies(w, k int) bool {
	a, b := int(p.BodyA[k]), int(p.BodyB[k])
	if a < -1 || a >= p.Bodies || b < -1 || b >= p.Bodies || a == b {
		return false
	}
	moves := false
	if a >= 0 {
		moves = p.Mass[w*p.Bodies+a] <= math.MaxFloat64
		if !finite(p.ArmA[3*k : 3*k+3]...) {
			return false
		}
	}
	if b >= 0 {
		moves = moves || p.Mass[w*p.Bodies+b] <= math.MaxFloat64
		if !finite(p.ArmB[3*k : 3*k+3]...) {
			return false
		}
	}
	return moves
}

// plainFrame is about [frameFault].
func plainFrame(f *[9]float64) bool {
	near := func(x, want float64) bool { return math.Abs(x-want) <= frameTolerance }
	return near(f[0]*f[0]+f[1]*f[1]+f[2]*f[2], 1) && near(f[3]*f[3]+f[4]*f[4]+f[5]*f[5], 1) &&
		near(f[6]*f[6]+f[7]*f[7]+f[8]*f[8], 1) && near(f[0]*f[3]+f[1]*f[4]+f[2]*f[5], 0) &&
		near(f[0]*f[6]+f[1]*f[7]+f[2]*f[8], 0) && near(f[3]*f[6]+f[4]*f[7]+f[5]*f[8], 0) &&
		f[6]*(f[1]*f[5]-f[2]*f[4])+f[7]*(f[2]*f[3]-f[0]*f[5])+f[8]*(f[0]*f[4]-f[1]*f[3]) > 0
}

// plainLaw is about the law and the warm impulse of contact k of all worlds.
func (p *Problem) plainLaw(k int) bool {
	mu := p.Friction[k]
	if !(mu >= 0 && mu <= math.MaxFloat64) || len(p.Target) > 0 && !finite(p.Target[k]) ||
		len(p.Warm) > 0 && !finite(p.Warm[3*k:3*k+3]...) {
		return false
	}
	if len(p.Compliance) > 0 {
		r := p.Compliance[2*k : 2*k+2]
		return r[0] >= 0 && r[1] >= 0 && finite(r...)
	}
	return true
}
