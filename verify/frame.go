package verify

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// eps is the unit roundoff of float64, 2⁻⁵³.
const eps = 0x1p-53

// underflow bounds, in metres, what underflow adds to the error of a length: squares of lengths below 1e-154 have
// errors of up to 2⁻¹⁰⁷⁴. Two points may be that close.
const underflow = 1e-150

// placed is a pair in the frame with the axes of the world and its origin at the position of
// A: columns need no rotation, and support points do not depend on the distance of the pair
// from the origin of the world.
type placed struct {
	shape  [2]geom.Shape
	pos    [2]r3.Vec    // positions, world
	rot    [2]geom.Mat3 // local to world
	offset r3.Vec       // pos[1] − pos[0]
	reach  [2]float64   // radius of a ball around the body's origin that contains it (half-space: its margin)

	center   r3.Vec  // center(A) − center(B)
	size     float64 // sum of the bounding radii; a half-space counts with its margin
	scale    float64 // largest magnitude in this frame
	rounding float64 // bound of the rounding error of a support value, see place

	half       int    // index of the half-space, or -1
	halfNormal r3.Vec // its normal, oriented from A to B
}

// place sets p. The quaternions must be unit. It does not allocate.
//
// Rounding: the entries of a rotation matrix have errors of up to 8 eps (a normalized
// quaternion has 2 eps, and there are two products and two sums of its components). Rotating
// a direction to the local frame and evaluating the support function there adds about
// 8 eps·reach, and the product with the offset 4 eps·|offset|. 24 eps·scale covers the sum
// for both shapes. For curved shapes an error of the support point itself is of second order
// in the support value.
func (p *placed) place(a, b geom.Shape, poseA, poseB *geom.Pose) {
	p.shape = [2]geom.Shape{a, b}
	p.pos = [2]r3.Vec{poseA.Position, poseB.Position}
	p.rot = [2]geom.Mat3{poseA.Matrix(), poseB.Matrix()}
	p.offset = r3.Sub(poseB.Position, poseA.Position)
	p.size, p.half = 0, -1
	var center [2]r3.Vec
	for i, s := range p.shape {
		radius, c := s.BoundingRadius(), s.Center()
		if s.Kind().Traits().Unbounded {
			radius = s.Radius()
			p.half = i
			p.halfNormal = r3.Vec{X: p.rot[i][2], Y: p.rot[i][5], Z: p.rot[i][8]}
			if i == 1 {
				p.halfNormal = r3.Scale(-1, p.halfNormal)
			}
		}
		p.size += radius
		p.reach[i] = radius + norm(c)
		center[i] = p.rot[i].MulVec(c)
	}
	p.center = r3.Sub(r3.Sub(center[0], center[1]), p.offset)
	p.scale = norm(p.offset) + p.reach[0] + p.reach[1]
	p.rounding = 24*eps*p.scale + underflow
}

// support returns h(d), the support value of D = A − B in the unit direction d
// (world axes). With a half-space only its own normal has a finite value: the
// caller passes halfNormal.
func (p *placed) support(d r3.Vec) float64 {
	da := p.rot[0].MulVecT(d)
	db := p.rot[1].MulVecT(r3.Vec{X: -d.X, Y: -d.Y, Z: -d.Z})
	ha := r3.Dot(da, p.shape[0].CoreSupport(da)) + p.shape[0].Radius()
	hb := r3.Dot(db, p.shape[1].CoreSupport(db)) + p.shape[1].Radius()
	return ha + hb - r3.Dot(d, p.offset)
}

// supportPoint is support with the point of D that attains it.
func (p *placed) supportPoint(d r3.Vec) (h float64, s r3.Vec) {
	da := p.rot[0].MulVecT(d)
	db := p.rot[1].MulVecT(r3.Vec{X: -d.X, Y: -d.Y, Z: -d.Z})
	sa := p.rot[0].MulVec(p.shape[0].CoreSupport(da))
	sb := p.rot[1].MulVec(p.shape[1].CoreSupport(db))
	s = r3.Sub(r3.Sub(sa, sb), p.offset)
	s = r3.Add(s, r3.Scale(p.shape[0].Radius()+p.shape[1].Radius(), d))
	return r3.Dot(s, d), s
}

// lever bounds the distance of the points of D from the line along the unit vector n through
// the origin: D lies in the ball of radius size around center.
func (p *placed) lever(n r3.Vec) float64 {
	return norm(r3.Sub(p.center, r3.Scale(r3.Dot(p.center, n), n))) + p.size
}

// member returns the signed distance of a world point from shape i and its rounding bound:
// the point was rounded to the columns (u·|point|), moved to the local frame (a rotation with
// an error of 8 eps, and 4 operations per component) and measured there (a residual is a
// chain of about 12 operations on magnitudes ≤ reach + |local point|).
func (p *placed) member(i int, point r3.Vec, u float64) (residual, bound float64) {
	local := r3.Sub(point, p.pos[i])
	bound = u*norm(point) + 24*eps*(norm(local)+p.reach[i])
	return p.shape[i].Residual(p.rot[i].MulVecT(local)), bound
}

// overlapProved reports whether the inscribed ball of one shape intersects the other shape,
// which proves that the shapes intersect. The residual of a center is at least its distance
// from the other shape.
func (p *placed) overlapProved() bool {
	for i := range 2 {
		if p.half == i {
			continue
		}
		j := 1 - i
		c := r3.Add(p.rot[i].MulVec(p.shape[i].Center()), r3.Sub(p.pos[i], p.pos[j]))
		if p.shape[j].Residual(p.rot[j].MulVecT(c)) < p.shape[i].Inradius()-4*p.rounding {
			return true
		}
	}
	return false
}

// norm returns |v|. Squares of the lengths in this package do not overflow or underflow;
// if a column contains such a number, Inf or 0 fails its check.
func norm(v r3.Vec) float64 { return math.Sqrt(r3.Norm2(v)) }

// unit returns v/|v|, or v itself where that is not finite.
func unit(v r3.Vec) r3.Vec {
	n := norm(v)
	if !(n > 0) || math.IsInf(n, 1) {
		return v
	}
	return r3.Scale(1/n, v)
}
