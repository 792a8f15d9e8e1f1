package adjoint_test

import "math"

// doubled is an unevaluated sum of two floats, with about 32 digits [Dekker1971].
type doubled struct{ hi, lo float64 }

func twoSum(a, b float64) (s, e float64) {
	s = a + b
	t := s - a
	return s, (a - (s - t)) + (b - t)
}

func normalized(hi, lo float64) doubled {
	s := hi + lo
	return doubled{s, lo - (s - hi)}
}

func exactly(x float64) doubled { return doubled{hi: x} }

func (a doubled) plus(b doubled) doubled {
	s, e := twoSum(a.hi, b.hi)
	t, f := twoSum(a.lo, b.lo)
	s, e = twoSum(s, e+t)
	return normalized(s, e+f)
}

func (a doubled) negative() doubled       { return doubled{-a.hi, -a.lo} }
func (a doubled) minus(b doubled) doubled { return a.plus(b.negative()) }
func (a doubled) float() float64          { return a.hi + a.lo }

func (a doubled) times(b doubled) doubled {
	p := a.hi * b.hi
	return normalized(p, math.FMA(a.hi, b.hi, -p)+(a.hi*b.lo+a.lo*b.hi))
}

func (a doubled) over(b doubled) doubled {
	q := a.hi / b.hi
	r := a.minus(b.times(exactly(q)))
	second := r.hi / b.hi
	r = r.minus(b.times(exactly(second)))
	return normalized(q, second).plus(exactly(r.hi / b.hi))
}

func (a doubled) root() doubled {
	if a.hi <= 0 {
		return doubled{}
	}
	x := exactly(math.Sqrt(a.hi))
	return x.plus(a.minus(x.times(x)).over(exactly(2 * x.hi)))
}

// doubledVec is a vector of three.
type doubledVec [3]doubled

func (a doubledVec) plus(b doubledVec) doubledVec {
	return doubledVec{a[0].plus(b[0]), a[1].plus(b[1]), a[2].plus(b[2])}
}

func (a doubledVec) scaled(f doubled) doubledVec {
	return doubledVec{a[0].times(f), a[1].times(f), a[2].times(f)}
}

func (a doubledVec) dot(b doubledVec) doubled {
	return a[0].times(b[0]).plus(a[1].times(b[1])).plus(a[2].times(b[2]))
}

func (a doubledVec) cross(b doubledVec) doubledVec {
	return doubledVec{a[1].times(b[2]).minus(a[2].times(b[1])), a[2].times(b[0]).minus(a[0].times(b[2])),
		a[0].times(b[1]).minus(a[1].times(b[0]))}
}

// solveSymmetric solves a system with the matrix xx, yy, zz, xy, xz, yz by its adjugate.
func solveSymmetric(m [6]doubled, b doubledVec) doubledVec {
	r := [3]doubledVec{{m[0], m[3], m[4]}, {m[3], m[1], m[5]}, {m[4], m[5], m[2]}}
	c := [3]doubledVec{r[1].cross(r[2]), r[2].cross(r[0]), r[0].cross(r[1])}
	det := r[0].dot(c[0])
	x := c[0].scaled(b[0]).plus(c[1].scaled(b[1])).plus(c[2].scaled(b[2]))
	return doubledVec{x[0].over(det), x[1].over(det), x[2].over(det)}
}
