package ref

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// innerEllipsoid bounds the depth of the cores of two ellipsoids (or spheres) from below, in
// closed form: it proves most penetrations that [RTR] finds without a polytope.
//
// With F₁ = diag(a) and F₂ = diag(b)·Rᵀ the support function of D is |F₁n| + |F₂n| + <c, n>,
// which is at least |Mn| + <c, n> with M = F₁ + S·F₂ for any orthogonal S: D holds the
// ellipsoid of Q = MᵀM about c (Kurzhanski and Vályi, Ellipsoidal Calculus, 1997). An S that
// maps the direction of F₂x to that of F₁x lets it touch D along the x that RTR found; the remaining rotation about
// F₁x is chosen to bring the curvatures there close to each other.
//
// The depth of the origin in that ellipsoid has a dual: with 0 > t > -λ, λ the lowest
// eigenvalue of Q, its square is at least q(t) = t·(cᵀ(Q+tI)⁻¹c - 1), and the best t is
// -h·|Mx| at a minimum. It is taken a little smaller in magnitude, since for coinciding
// centers that is the eigenvalue itself.
//
// Computed with a Cholesky decomposition, which must succeed, q is the exact one of a Q' that
// is off by less than 128 eps·scale²: entries are at most scale, S is orthogonal to 10 eps,
// M adds four products per entry, Q and the factor three each, and the norm of an error is
// at most three times its largest entry. Since √a - √b ≤ |a-b|/√b, that shifts support
// values by less than 128 eps·scale²/√λ', and λ' > -t.
//
// x is a unit direction of the frame of p, h the support value of the cores along it.
func (p *Pair) innerEllipsoid(x r3.Vec, h, stop float64) (depth float64, ok bool) {
	a, okA := semiAxes(p.A)
	b, okB := semiAxes(p.B)
	if !okA || !okB || !(h > 0) {
		return 0, false
	}
	f1, f2 := stretch(a, x), stretch(b, p.rot.MulVecT(x))
	s := aligned(p, a, b, x, f1, f2)
	var m [3]r3.Vec // columns
	for k, e := range [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}} {
		m[k] = r3.Add(stretch(a, e), s.MulVec(stretch(b, p.rot.MulVecT(e))))
	}
	t := -h * (norm(f1) + norm(f2)) * (1 - min(0.5, stop/(4*h)))
	c := p.centers()
	// The lower factor of Q + tI, and z = L⁻¹c.
	l00, ok0 := root(r3.Dot(m[0], m[0]) + t)
	l10, l20 := r3.Dot(m[1], m[0])/l00, r3.Dot(m[2], m[0])/l00
	l11, ok1 := root(r3.Dot(m[1], m[1]) + t - l10*l10)
	l21 := (r3.Dot(m[2], m[1]) - l20*l10) / l11
	l22, ok2 := root(r3.Dot(m[2], m[2]) + t - l20*l20 - l21*l21)
	if !ok0 || !ok1 || !ok2 {
		return 0, false
	}
	z0 := c.X / l00
	z1 := (c.Y - l10*z0) / l11
	z2 := (c.Z - l20*z0 - l21*z1) / l22
	q := -t * (1 - z0*z0 - z1*z1 - z2*z2)
	if !(q > 0) {
		return 0, false
	}
	return math.Sqrt(q) - 128*eps*p.scale*p.scale/math.Sqrt(-t), true
}

// root is the square root of a positive number.
func root(v float64) (float64, bool) { return math.Sqrt(v), v > 0 }

// semiAxes returns those of the core; a sphere's is a point.
func semiAxes(s geom.Shape) (r3.Vec, bool) {
	switch s := s.(type) {
	case geom.Sphere:
		return r3.Vec{}, true
	case geom.Ellipsoid:
		return s.SemiAxes, true
	case geom.Rounded:
		return semiAxes(s.Shape)
	}
	return r3.Vec{}, false
}

func stretch(a, v r3.Vec) r3.Vec { return r3.Vec{X: a.X * v.X, Y: a.Y * v.Y, Z: a.Z * v.Z} }

// aligned returns the orthogonal S of [Pair.innerEllipsoid]. With G₁ and G₂ the maps of
// the tangent plane of x to the planes orthogonal to F₁x and F₂x, the rotation or reflection between
// these planes maximises the trace of G₁ᵀSG₂.
func aligned(p *Pair, a, b, x, f1, f2 r3.Vec) geom.Mat3 {
	u1, u2 := unit(f1), unit(f2)
	if u1 == (r3.Vec{}) || u2 == (r3.Vec{}) { // a point: any S will do
		return geom.Mat3{1, 0, 0, 0, 1, 0, 0, 0, 1}
	}
	var g1, g2 [2][2]float64
	var a1, b1, e [2]r3.Vec
	e[0], e[1] = tangents(x)
	a1[0], a1[1] = tangents(u1)
	b1[0], b1[1] = tangents(u2)
	for j := range 2 {
		v1, v2 := stretch(a, e[j]), stretch(b, p.rot.MulVecT(e[j]))
		for i := range 2 {
			g1[i][j], g2[i][j] = r3.Dot(a1[i], v1), r3.Dot(b1[i], v2)
		}
	}
	var c [2][2]float64 // G₁G₂ᵀ
	for i := range 2 {
		for j := range 2 {
			c[i][j] = g1[i][0]*g2[j][0] + g1[i][1]*g2[j][1]
		}
	}
	// Rotations [cos -sin; sin cos] and reflections [cos sin; sin -cos].
	cos, sin, flip := c[0][0]+c[1][1], c[1][0]-c[0][1], 1.0
	if rc, rs := c[0][0]-c[1][1], c[0][1]+c[1][0]; math.Hypot(rc, rs) > math.Hypot(cos, sin) {
		cos, sin, flip = rc, rs, -1
	}
	n := math.Hypot(cos, sin)
	if !(n > 0) {
		cos, sin, n = 1, 0, 1
	}
	cos, sin = cos/n, sin/n
	// Images of the columns of u₂, b₀, b₁.
	w0 := r3.Add(r3.Scale(cos, a1[0]), r3.Scale(sin, a1[1]))
	w1 := r3.Scale(flip, r3.Sub(r3.Scale(cos, a1[1]), r3.Scale(sin, a1[0])))
	row := func(k int) (x, y, z float64) {
		at := func(v r3.Vec) float64 { return [3]float64{v.X, v.Y, v.Z}[k] }
		v := r3.Add(r3.Scale(at(u1), u2), r3.Add(r3.Scale(at(w0), b1[0]), r3.Scale(at(w1), b1[1])))
		return v.X, v.Y, v.Z
	}
	var s geom.Mat3
	for k := range 3 {
		s[3*k], s[3*k+1], s[3*k+2] = row(k)
	}
	return s
}
