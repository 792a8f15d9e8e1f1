package derive

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

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

// Answers in 106 bits: of smooth shapes by Newton's method on the optimality conditions, with support points in closed
// form; of polytopes, capsules and balls of radius r around them from the features that touch. Nothing here is from the
// code under test but the shapes and the answer to start from.

// ddAnswer is an answer, world axes.
type ddAnswer struct {
	value   dd
	n, a, b ddVec
}

// cotangent lists the numbers as differences of answers have them.
func (x *ddAnswer) components() [10]dd {
	return [10]dd{x.value, x.n[0], x.n[1], x.n[2], x.a[0], x.a[1], x.a[2], x.b[0], x.b[1], x.b[2]}
}

// ddSupport is the support point of a core that is smooth, in its frame.
func ddSupport(core geom.Shape, d ddVec) (x ddVec) {
	one := wide(1)
	switch c := core.(type) {
	case geom.Sphere: // a point
	case geom.Ellipsoid:
		norm := dd{}
		for i, a := range [3]float64{c.SemiAxes.X, c.SemiAxes.Y, c.SemiAxes.Z} {
			x[i] = d[i].times(wide(a)).times(wide(a))
			norm = norm.plus(x[i].times(d[i]))
		}
		return x.times(one.over(norm.root()))
	case geom.Superquadric:
		p, r := wide(2).over(wide(2).minus(wide(c.Alpha2))), wide(2).over(wide(2).minus(wide(c.Alpha1)))
		var u [3]dd
		for i, a := range [3]float64{c.SemiAxes.X, c.SemiAxes.Y, c.SemiAxes.Z} {
			u[i] = d[i].magnitude().times(wide(a))
		}
		l := u[0].power(p).plus(u[1].power(p)).power(one.over(p))
		h := l.power(r).plus(u[2].power(r)).power(one.over(r))
		// ∂h/∂l = (l/h)^(r-1), ∂l/∂u = (u/l)^(p-1)
		outer := l.over(h).power(r.minus(one))
		x = ddVec{outer.times(u[0].over(l).power(p.minus(one))), outer.times(u[1].over(l).power(p.minus(one))),
			u[2].over(h).power(r.minus(one))}
		for i, a := range [3]float64{c.SemiAxes.X, c.SemiAxes.Y, c.SemiAxes.Z} {
			x[i] = x[i].times(wide(math.Copysign(a, d[i].hi)))
		}
	case *geom.SmoothHull:
		center := c.Center()
		o := ddVec{wide(center.X), wide(center.Y), wide(center.Z)}
		var points []ddVec
		var along []dd
		for _, v := range c.Vertices() {
			q := ddVec{wide(v.X), wide(v.Y), wide(v.Z)}.minus(o)
			points, along = append(points, q), append(along, q.dot(d))
		}
		return o.plus(ddPowers(points, along, wide(c.Sharpness())))
	case *geom.SmoothRevolution:
		rho := d[0].times(d[0]).plus(d[1].times(d[1])).plus(wide(c.Flatness()).times(d[2]).times(d[2])).root()
		round := ddVec{d[0], d[1], wide(c.Flatness()).times(d[2])}.times(one.over(rho))
		var points []ddVec
		var along []dd
		for _, v := range c.Profile() {
			points = append(points, round.times(wide(v.X)).plus(ddVec{2: wide(v.Y)}))
			along = append(along, rho.times(wide(v.X)).plus(d[2].times(wide(v.Y))))
		}
		return ddPowers(points, along, wide(c.Sharpness()))
	default:
		panic("not smooth")
	}
	return x
}

// ddPowers is the gradient of (Σ max(along, 0)^β)^(1/β), points being the gradients of along.
func ddPowers(points []ddVec, along []dd, beta dd) (x ddVec) {
	one := wide(1)
	var sum dd
	for i, t := range along {
		k := t.power(beta.minus(one))
		sum = sum.plus(k.times(t))
		x = x.plus(points[i].times(k))
	}
	return x.times(sum.power(one.over(beta).minus(one)))
}

// ddShape is a placed shape: a smooth core, or the corners of a flat one, and a ball.
type ddShape struct {
	core    geom.Shape
	radius  dd
	pose    ddPose
	corners []ddVec // world axes
	center  ddVec   // of growth, world axes
}

func ddPlace(s geom.Shape, pose ddPose, center r3.Vec) ddShape {
	core, _ := geom.WithoutMargin(s)
	out := ddShape{core: core, radius: wide(s.Radius()), pose: pose}
	out.center = pose.p.plus(pose.rotate(ddVec{wide(center.X), wide(center.Y), wide(center.Z)}))
	var corners []r3.Vec
	switch c := core.(type) {
	case geom.Capsule:
		corners = []r3.Vec{{Z: c.HalfLength}, {Z: -c.HalfLength}}
	case geom.Box:
		for i := range 8 {
			sign := func(bit int) float64 { return float64(1 - 2*(i>>bit&1)) }
			h := c.HalfExtents
			corners = append(corners, r3.Vec{X: h.X * sign(0), Y: h.Y * sign(1), Z: h.Z * sign(2)})
		}
	case *geom.Convex:
		corners = c.Hull().Vertices
	case geom.Sphere:
		corners = []r3.Vec{{}}
	}
	for _, v := range corners {
		out.corners = append(out.corners, pose.p.plus(pose.rotate(ddVec{wide(v.X), wide(v.Y), wide(v.Z)})))
	}
	return out
}

func (s *ddShape) support(n ddVec) ddVec {
	x := s.pose.p.plus(s.pose.rotate(ddSupport(s.core, s.pose.rotateBack(n))))
	return x.plus(n.times(s.radius))
}

// tangents are two vectors orthogonal to n and to each other.
func (n ddVec) tangents() [2]ddVec {
	axis := ddVec{wide(1)}
	if math.Abs(n[0].hi) > 0.7 {
		axis = ddVec{1: wide(1)}
	}
	e := n.cross(axis).unit()
	return [2]ddVec{e, n.cross(e)}
}

// smoothAnswer solves for the normal, and of growth distances for the value, from those of an answer.
func smoothAnswer(a, b *ddShape, growth bool, value float64, normal r3.Vec) (x ddAnswer) {
	x.n = ddVec{wide(normal.X), wide(normal.Y), wide(normal.Z)}.unit()
	x.value = wide(value)
	unknowns := 2
	if growth {
		unknowns = 3
	}
	residual := func(n ddVec, value dd, e *[2]ddVec) (r [3]dd, at ddAnswer) {
		at = ddAnswer{n: n, a: a.support(n), b: b.support(n.times(wide(-1)))}
		u := at.b.minus(at.a)
		if growth {
			u = b.center.minus(a.center).plus(at.b.minus(b.center).minus(at.a.minus(a.center)).times(value))
			at.value, r[2] = value, u.dot(n)
		} else {
			at.value = u.dot(n)
			u = u.minus(n.times(at.value)) // its part orthogonal to n, which moves
		}
		r[0], r[1] = e[0].dot(u), e[1].dot(u)
		return r, at
	}
	const h = 1e-12
	for range 8 {
		e := x.n.tangents()
		r, here := residual(x.n, x.value, &e)
		x = here
		var m [3][4]float64
		for c := range unknowns {
			n, value := x.n, x.value
			if c < 2 {
				n = n.plus(e[c].times(wide(h))).unit()
			} else {
				value = value.plus(wide(h))
			}
			there, _ := residual(n, value, &e)
			for i := range unknowns {
				m[i][c] = there[i].minus(r[i]).float() / h
			}
		}
		for i := range unknowns {
			m[i][3] = -r[i].float()
		}
		step := eliminate(m, unknowns)
		x.n = x.n.plus(e[0].times(wide(step[0]))).plus(e[1].times(wide(step[1]))).unit()
		if growth {
			x.value = x.value.plus(wide(step[2]))
		}
	}
	e := x.n.tangents()
	_, x = residual(x.n, x.value, &e)
	return x
}

// eliminate solves a system of n rows, the right-hand side last.
func eliminate(m [3][4]float64, n int) (x [3]float64) {
	for c := range n {
		p := c
		for i := c + 1; i < n; i++ {
			if math.Abs(m[i][c]) > math.Abs(m[p][c]) {
				p = i
			}
		}
		m[c], m[p] = m[p], m[c]
		for i := range n {
			if i != c {
				f := m[i][c] / m[c][c]
				for j := range m[i] {
					m[i][j] -= f * m[c][j]
				}
			}
		}
	}
	for c := range n {
		x[c] = m[c][3] / m[c][c]
	}
	return x
}

// ddFeature is a point, a line or a plane: the first corner and independent directions.
type ddFeature struct {
	at ddVec
	t  []ddVec
}

// feature spans the corners whose planes orthogonal to d are one, up to an angle that answers resolve.
func (s *ddShape) feature(d r3.Vec) (f ddFeature) {
	const angle = 1e-6
	n := ddVec{wide(d.X), wide(d.Y), wide(d.Z)}
	first := s.corners[0]
	for _, v := range s.corners {
		if v.minus(first).dot(n).hi > 0 {
			first = v
		}
	}
	f.at = first
	for _, v := range s.corners {
		w := first.minus(v)
		length := w.dot(w).root()
		if length.hi == 0 || w.dot(n).hi > angle*length.hi {
			continue
		}
		switch w = w.unit(); len(f.t) {
		case 0:
			f.t = append(f.t, w)
		case 1:
			across := w.minus(f.t[0].times(w.dot(f.t[0])))
			if across.dot(across).hi > 1e-12 {
				f.t = append(f.t, across.unit())
			}
		}
	}
	return f
}

// flatAnswer is the answer of features that are unique. ok is false where they say too little: their points coincide,
// or they leave the normal of a growth distance free.
func flatAnswer(a, b *ddShape, growth bool, normal r3.Vec) (x ddAnswer, ok bool) {
	fa, fb := a.feature(normal), b.feature(r3.Scale(-1, normal))
	t := append(append([]ddVec{}, fa.t...), fb.t...)
	toward := ddVec{wide(normal.X), wide(normal.Y), wide(normal.Z)}
	between := fb.at.minus(fa.at)
	switch {
	case len(t) == 2:
		x.n = t[0].cross(t[1]).unit()
	case len(t) < 2 && !growth:
		if len(t) == 1 {
			between = between.minus(t[0].times(between.dot(t[0])))
		}
		if between.dot(between).hi < 1e-16 {
			return x, false
		}
		x.n = between.unit()
	default:
		return x, false
	}
	if x.n.dot(toward).negative() {
		x.n = x.n.times(wide(-1))
	}
	// Witnesses before they move within their features.
	x.a, x.b = fa.at.plus(x.n.times(a.radius)), fb.at.minus(x.n.times(b.radius))
	u, scale := x.b.minus(x.a), wide(1)
	if growth {
		reach := x.a.minus(a.center).minus(x.b.minus(b.center)).dot(x.n)
		scale = b.center.minus(a.center).dot(x.n).over(reach)
		x.value = scale
		u = b.center.minus(a.center).plus(x.b.minus(b.center).minus(x.a.minus(a.center)).times(scale))
	} else {
		x.value = u.dot(x.n)
	}
	// The least squares of u - scale·(T_A·y_A - T_B·y_B), which is zero across the normal.
	signed := make([]ddVec, len(t))
	for i, v := range t {
		signed[i] = v.times(scale)
		if i >= len(fa.t) {
			signed[i] = signed[i].times(wide(-1))
		}
	}
	y := make([]dd, len(t))
	switch len(t) {
	case 1:
		y[0] = u.dot(signed[0]).over(signed[0].dot(signed[0]))
	case 2:
		p, q, r := signed[0].dot(signed[0]), signed[0].dot(signed[1]), signed[1].dot(signed[1])
		f, g := u.dot(signed[0]), u.dot(signed[1])
		det := p.times(r).minus(q.times(q))
		y[0] = f.times(r).minus(g.times(q)).over(det)
		y[1] = g.times(p).minus(f.times(q)).over(det)
	}
	for i, v := range t {
		if i < len(fa.t) {
			x.a = x.a.plus(v.times(y[i]))
		} else {
			x.b = x.b.plus(v.times(y[i]))
		}
	}
	return x, true
}
