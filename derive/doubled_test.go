package derive

import (
	"math"

	"clearance/geom"
)

// Numbers of 106 bits, vectors of them, and rotations: what the derivatives are compared with in extended precision.

// dd is the sum hi + lo, |lo| at most half a unit of hi [Dekker1971]. An operation errs by a few units of 2⁻¹⁰⁴.
type dd struct{ hi, lo float64 }

func wide(x float64) dd { return dd{hi: x} }

func sumOf(a, b float64) dd { // exact
	s := a + b
	t := s - a
	return dd{s, (a - (s - t)) + (b - t)}
}

func (a dd) plus(b dd) dd {
	s, t := sumOf(a.hi, b.hi), sumOf(a.lo, b.lo)
	s = sumOf(s.hi, s.lo+t.hi)
	return sumOf(s.hi, s.lo+t.lo)
}

func (a dd) negated() dd     { return dd{-a.hi, -a.lo} }
func (a dd) minus(b dd) dd   { return a.plus(b.negated()) }
func (a dd) float() float64  { return a.hi + a.lo }
func (a dd) negative() bool  { return a.hi < 0 || a.hi == 0 && a.lo < 0 }
func (a dd) scaled(k int) dd { return dd{math.Ldexp(a.hi, k), math.Ldexp(a.lo, k)} }

func (a dd) magnitude() dd {
	if a.negative() {
		return a.negated()
	}
	return a
}

func (a dd) times(b dd) dd {
	p := a.hi * b.hi
	return sumOf(p, math.FMA(a.hi, b.hi, -p)+(a.hi*b.lo+a.lo*b.hi))
}

func (a dd) over(b dd) dd {
	q := wide(a.hi / b.hi)
	for range 2 {
		q = q.plus(wide(a.minus(q.times(b)).hi / b.hi))
	}
	return q
}

func (a dd) root() dd {
	if a.hi <= 0 {
		return dd{}
	}
	x := wide(math.Sqrt(a.hi))
	for range 2 {
		x = x.plus(wide(a.minus(x.times(x)).hi / (2 * x.hi)))
	}
	return x
}

// exp is (e^(r/256))^256·2^k with r at most half of ln 2.
func (a dd) exp() dd {
	ln2 := dd{math.Ln2, 2.319046813846299558e-17}
	k := math.Round(a.hi / math.Ln2)
	r := a.minus(ln2.times(wide(k))).scaled(-8)
	sum, term := wide(1), wide(1)
	for i := 1; i < 14; i++ {
		term = term.times(r).over(wide(float64(i)))
		sum = sum.plus(term)
	}
	for range 8 {
		sum = sum.times(sum)
	}
	return sum.scaled(int(k))
}

// log is y + ln z, z = a·e^-y close to 1: ln z = 2(z-1)/(z+1) up to the third power of z-1, twice.
func (a dd) log() dd {
	y := wide(math.Log(a.hi))
	for range 2 {
		z := a.times(y.negated().exp())
		y = y.plus(z.minus(wide(1)).scaled(1).over(z.plus(wide(1))))
	}
	return y
}

func (a dd) power(p dd) dd {
	if !(a.hi > 0) {
		return dd{}
	}
	return p.times(a.log()).exp()
}

type ddVec [3]dd

func (v ddVec) plus(w ddVec) (r ddVec) {
	for i := range v {
		r[i] = v[i].plus(w[i])
	}
	return r
}

func (v ddVec) times(k dd) (r ddVec) {
	for i := range v {
		r[i] = v[i].times(k)
	}
	return r
}

func (v ddVec) minus(w ddVec) ddVec { return v.plus(w.times(wide(-1))) }

func (v ddVec) dot(w ddVec) (s dd) {
	for i := range v {
		s = s.plus(v[i].times(w[i]))
	}
	return s
}

func (v ddVec) cross(w ddVec) (r ddVec) {
	for i := range v {
		j, k := (i+1)%3, (i+2)%3
		r[i] = v[j].times(w[k]).minus(v[k].times(w[j]))
	}
	return r
}

func (v ddVec) unit() ddVec { return v.times(wide(1).over(v.dot(v).root())) }

// ddPose is a pose: x moves to R·x + p.
type ddPose struct {
	r [3]ddVec // rows
	p ddVec
}

// doubledPose is a pose whose quaternion is made unit again, moved along twists for the time h. Powers of h·ω
// beyond the third are left out.
func doubledPose(p geom.Pose, t *Twists, i int, h float64) (out ddPose) {
	q := [4]dd{wide(p.Rotation.Real), wide(p.Rotation.Imag), wide(p.Rotation.Jmag), wide(p.Rotation.Kmag)}
	var norm dd
	for _, x := range q {
		norm = norm.plus(x.times(x))
	}
	twice := func(a, b int) dd { return q[a].times(q[b]).scaled(1).over(norm) }
	one := wide(1)
	out.r = [3]ddVec{
		{one.minus(twice(2, 2)).minus(twice(3, 3)), twice(1, 2).minus(twice(0, 3)), twice(1, 3).plus(twice(0, 2))},
		{twice(1, 2).plus(twice(0, 3)), one.minus(twice(1, 1)).minus(twice(3, 3)), twice(2, 3).minus(twice(0, 1))},
		{twice(1, 3).minus(twice(0, 2)), twice(2, 3).plus(twice(0, 1)), one.minus(twice(1, 1)).minus(twice(2, 2))},
	}
	at := func(k int) ddVec {
		return ddVec{wide(t[k]), wide(t[k+1]), wide(t[k+2])}.times(wide(h))
	}
	out.p = ddVec{wide(p.Position.X), wide(p.Position.Y), wide(p.Position.Z)}.plus(at(i))
	omega := at(i + 3)
	for c := range 3 {
		column := ddVec{out.r[0][c], out.r[1][c], out.r[2][c]}
		term := column
		for k := 1; k <= 3; k++ {
			term = omega.cross(term).times(one.over(wide(float64(k))))
			column = column.plus(term)
		}
		for row := range 3 {
			out.r[row][c] = column[row]
		}
	}
	return out
}

func (p *ddPose) rotate(v ddVec) ddVec {
	return ddVec{p.r[0].dot(v), p.r[1].dot(v), p.r[2].dot(v)}
}

func (p *ddPose) rotateBack(v ddVec) ddVec {
	return p.r[0].times(v[0]).plus(p.r[1].times(v[1])).plus(p.r[2].times(v[2]))
}
