package hull

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// roundoff is the unit roundoff of float64.
const roundoff = 0x1p-53

// Filter constants. A float determinant is a sum of products whose factors were
// each rounded; the longest chain of roundings behind a term is 8 for Orient3D
// (two differences, product, difference, difference, product, two sums) and 4 for
// orient2D, so the error is at most 8 or 4 units of roundoff, times the sum of the
// magnitudes of the terms. The two extra units cover the second-order terms and
// the rounding of the bound itself. Fused operations only shorten the chains. A bound
// that underflows belongs to products of so few bits that none was rounded.
const (
	filter3 = 10 * roundoff
	filter2 = 6 * roundoff
)

// Orient3D returns the sign (-1, 0, 1) of <(b−a)×(c−a), p−a>, exactly: 1 if p lies
// strictly above the plane through a, b, c that are counter-clockwise seen from above.
func Orient3D(a, b, c, p r3.Vec) int {
	u, v, w := r3.Sub(b, a), r3.Sub(c, a), r3.Sub(p, a)
	yz, zy := u.Y*v.Z, u.Z*v.Y
	zx, xz := u.Z*v.X, u.X*v.Z
	xy, yx := u.X*v.Y, u.Y*v.X
	det := (yz-zy)*w.X + (zx-xz)*w.Y + (xy-yx)*w.Z
	bound := filter3 * ((math.Abs(yz)+math.Abs(zy))*math.Abs(w.X) +
		(math.Abs(zx)+math.Abs(xz))*math.Abs(w.Y) +
		(math.Abs(xy)+math.Abs(yx))*math.Abs(w.Z))
	switch {
	case det > bound:
		return 1
	case det < -bound:
		return -1
	case bound == 0: // every term is exactly zero
		return 0
	}
	return orient3DExact(a, b, c, p)
}

func orient3DExact(a, b, c, p r3.Vec) int {
	var bufs [3][16]float64
	n := exactCross(&bufs, a, b, c)
	var tx, ty, tz [64]float64
	var sxy [128]float64
	var sum [192]float64
	ex := appendTimes(tx[:0], n[0], exactDiff(p.X, a.X))
	ey := appendTimes(ty[:0], n[1], exactDiff(p.Y, a.Y))
	ez := appendTimes(tz[:0], n[2], exactDiff(p.Z, a.Z))
	return appendSum(sum[:0], appendSum(sxy[:0], ex, ey), ez).sign()
}

// exactCross returns the components of (b−a)×(c−a), stored in bufs.
func exactCross(bufs *[3][16]float64, a, b, c r3.Vec) [3]expansion {
	ux, uy, uz := exactDiff(b.X, a.X), exactDiff(b.Y, a.Y), exactDiff(b.Z, a.Z)
	vx, vy, vz := exactDiff(c.X, a.X), exactDiff(c.Y, a.Y), exactDiff(c.Z, a.Z)
	return [3]expansion{
		appendDet2(bufs[0][:0], uy, uz, vy, vz),
		appendDet2(bufs[1][:0], uz, ux, vz, vx),
		appendDet2(bufs[2][:0], ux, uy, vx, vy),
	}
}

// Collinear reports, exactly, whether a, b and c lie on one line.
func Collinear(a, b, c r3.Vec) bool {
	for axis := range 3 {
		if orient2D(project(a, axis), project(b, axis), project(c, axis)) != 0 {
			return false
		}
	}
	return true
}

// point2 is a point of a coordinate plane.
type point2 struct{ x, y float64 }

// project drops one coordinate; the other two keep their cyclic order, so that
// orient2D of projections has the sign of that component of the cross product.
func project(p r3.Vec, axis int) point2 {
	switch axis {
	case 0:
		return point2{p.Y, p.Z}
	case 1:
		return point2{p.Z, p.X}
	default:
		return point2{p.X, p.Y}
	}
}

// orient2D returns the sign of (b−a)×(c−a), exactly: 1 if a, b, c are counter-clockwise.
func orient2D(a, b, c point2) int {
	l := (b.x - a.x) * (c.y - a.y)
	r := (b.y - a.y) * (c.x - a.x)
	det := l - r
	bound := filter2 * (math.Abs(l) + math.Abs(r))
	switch {
	case det > bound:
		return 1
	case det < -bound:
		return -1
	case bound == 0:
		return 0
	}
	var buf [16]float64
	return appendDet2(buf[:0], exactDiff(b.x, a.x), exactDiff(b.y, a.y),
		exactDiff(c.x, a.x), exactDiff(c.y, a.y)).sign()
}

// compareAlong returns the sign of <d, w> − <d, v>, exactly for components of d
// that are zero or between 1e-150 and 1e100 in magnitude: every product and its
// rounding error is then a multiple of 2⁻⁹⁰⁴, which does not underflow.
func compareAlong(d, w, v r3.Vec) int {
	var xs, ys, zs [4]float64
	var xy [8]float64
	var sum [12]float64
	ex := appendProduct(xs[:0], diff2{head: d.X}, exactDiff(w.X, v.X))
	ey := appendProduct(ys[:0], diff2{head: d.Y}, exactDiff(w.Y, v.Y))
	ez := appendProduct(zs[:0], diff2{head: d.Z}, exactDiff(w.Z, v.Z))
	return appendSum(sum[:0], appendSum(xy[:0], ex, ey), ez).sign()
}

// unitNormal returns the unit vector along (b−a)×(c−a) of three points that are
// not collinear. The components come from the exact cross product, so the normal is
// good to a few units of roundoff even for a sliver.
func unitNormal(a, b, c r3.Vec) r3.Vec {
	var bufs [3][16]float64
	e := exactCross(&bufs, a, b, c)
	n := r3.Vec{X: e[0].estimate(), Y: e[1].estimate(), Z: e[2].estimate()}
	n = scaleToUnitBox(n)
	return r3.Scale(1/r3.Norm(n), n)
}

// scaleToUnitBox divides v ≠ 0 by the power of two that brings its largest
// component into [1, 2).
func scaleToUnitBox(v r3.Vec) r3.Vec {
	_, e := math.Frexp(max(math.Abs(v.X), math.Abs(v.Y), math.Abs(v.Z)))
	return r3.Vec{X: math.Ldexp(v.X, 1-e), Y: math.Ldexp(v.Y, 1-e), Z: math.Ldexp(v.Z, 1-e)}
}

// An expansion is a sum of floats that overlap in no bit, smallest magnitude
// first, without zeros: an exact real number. The empty expansion is zero. The
// routines append their result to dst, which callers keep on the stack.
type expansion []float64

// sign returns -1, 0 or 1. The last component is larger than the sum of the others.
func (e expansion) sign() int {
	if len(e) == 0 {
		return 0
	}
	if e[len(e)-1] > 0 {
		return 1
	}
	return -1
}

// estimate returns the value of e with a relative error of a few units of roundoff.
func (e expansion) estimate() float64 {
	var s float64
	for _, x := range e {
		s += x
	}
	return s
}

// twoSum returns a+b rounded and its rounding error (Shewchuk, Theorem 7).
func twoSum(a, b float64) (sum, tail float64) {
	sum = a + b
	bv := sum - a
	av := sum - bv
	return sum, (a - av) + (b - bv)
}

// fastTwoSum is twoSum for |a| ≥ |b| (Shewchuk, Theorem 6).
func fastTwoSum(a, b float64) (sum, tail float64) {
	sum = a + b
	return sum, b - (sum - a)
}

// twoProduct returns a·b rounded and its rounding error. The conversion keeps the
// compiler from fusing the product into a later operation.
func twoProduct(a, b float64) (product, tail float64) {
	product = float64(a * b)
	return product, math.FMA(a, b, -product)
}

// diff2 is the exact difference of two floats: head + tail.
type diff2 struct{ head, tail float64 }

func exactDiff(a, b float64) diff2 {
	h, t := twoSum(a, -b)
	return diff2{h, t}
}

// appendSum appends e + f: the merge of Shewchuk's FAST-EXPANSION-SUM (Theorem 13)
// with zero elimination.
func appendSum(dst, e, f expansion) expansion {
	i, j := 0, 0
	next := func() float64 {
		if j >= len(f) || i < len(e) && math.Abs(e[i]) < math.Abs(f[j]) {
			i++
			return e[i-1]
		}
		j++
		return f[j-1]
	}
	total := len(e) + len(f)
	if total == 0 {
		return dst
	}
	q := next()
	for k := 1; k < total; k++ {
		var tail float64
		q, tail = twoSum(q, next())
		if tail != 0 {
			dst = append(dst, tail)
		}
	}
	if q != 0 {
		dst = append(dst, q)
	}
	return dst
}

// appendScaled appends b·e: SCALE-EXPANSION (Shewchuk, Theorem 19) with zero
// elimination. It adds at most 2·len(e) components.
func appendScaled(dst, e expansion, b float64) expansion {
	if len(e) == 0 || b == 0 {
		return dst
	}
	q, tail := twoProduct(e[0], b)
	if tail != 0 {
		dst = append(dst, tail)
	}
	for _, x := range e[1:] {
		p, pt := twoProduct(x, b)
		var s float64
		s, tail = twoSum(q, pt)
		if tail != 0 {
			dst = append(dst, tail)
		}
		q, tail = fastTwoSum(p, s)
		if tail != 0 {
			dst = append(dst, tail)
		}
	}
	if q != 0 {
		dst = append(dst, q)
	}
	return dst
}

// appendProduct appends a·b, at most 8 components.
func appendProduct(dst expansion, a, b diff2) expansion {
	var buf [2]float64
	var head, tail [4]float64
	e := expansion(buf[:0])
	if a.tail != 0 {
		e = append(e, a.tail)
	}
	if a.head != 0 {
		e = append(e, a.head)
	}
	return appendSum(dst, appendScaled(head[:0], e, b.head), appendScaled(tail[:0], e, b.tail))
}

// appendDet2 appends a·d − b·c, at most 16 components.
func appendDet2(dst expansion, a, b, c, d diff2) expansion {
	var ad, bc [8]float64
	c.head, c.tail = -c.head, -c.tail
	return appendSum(dst, appendProduct(ad[:0], a, d), appendProduct(bc[:0], b, c))
}

// appendTimes appends e·b for an expansion of at most 16 components: at most 64.
func appendTimes(dst, e expansion, b diff2) expansion {
	var head, tail [32]float64
	return appendSum(dst, appendScaled(head[:0], e, b.head), appendScaled(tail[:0], e, b.tail))
}
