package rollout

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// The bounds of this file are computed from balls and boxes whose sizes cover the rounding of their own places
// (see placement). What is left are a few operations on differences, relative to which the factors below cover
// 8 units of rounding: three squares, two sums and a root.
const (
	roundDown = 1 - 8*0x1p-53
	roundUp   = 1 + 8*0x1p-53
)

// distance returns the distance of two points, to within roundDown and roundUp.
func distance(a, b r3.Vec) float64 {
	x, y, z := a.X-b.X, a.Y-b.Y, a.Z-b.Z
	return math.Sqrt(x*x + y*y + z*z)
}

// upperBound bounds the signed distance of two sets from above, by balls within them: that of subsets is not
// less.
func upperBound(a, b *ball) float64 {
	return distance(a.c, b.c)*roundUp - a.r - b.r
}

// upperOfParts bounds the signed distance of two parts from above.
func upperOfParts(a, b *placedPart) float64 {
	switch {
	case a.unbounded && b.unbounded:
		return math.Inf(1)
	case a.unbounded:
		return upperOfPlane(a, b)
	case b.unbounded:
		return upperOfPlane(b, a)
	}
	return upperBound(&a.inner, &b.inner)
}

// upperOfPlane bounds the signed distance of a part from a half-space by the ball within it.
func upperOfPlane(plane, b *placedPart) float64 {
	n := normalOf(plane)
	return r3.Dot(n, r3.Sub(b.inner.c, plane.outer.c)) - b.inner.r - plane.outer.r - 2*plane.inner.r
}

// normalOf is the outward normal of a half-space.
func normalOf(p *placedPart) r3.Vec { return r3.Vec{X: p.axes[2], Y: p.axes[5], Z: p.axes[8]} }

// lowerOfBalls bounds the distance of two parts from below by the balls that contain them.
func lowerOfBalls(a, b *placedPart) float64 {
	if a.unbounded || b.unbounded {
		return math.Inf(-1)
	}
	return distance(a.outer.c, b.outer.c)*roundDown - a.outer.r - b.outer.r
}

// lowerOfBoxes bounds the distance of two parts from below by the boxes that contain them.
//
// In the frame of one box, the other part lies within the interval of its box along each axis, so that the distance
// is at least the norm of the gaps between the intervals. The distance of the box from the center of the ball of the
// other part, less its radius, is a second bound.
func lowerOfBoxes(a, b *placedPart) float64 {
	switch {
	case a.unbounded && b.unbounded:
		return math.Inf(-1)
	case a.unbounded:
		return lowerOfPlane(a, b)
	case b.unbounded:
		return lowerOfPlane(b, a)
	}
	var t, u, c [3]float64 // from a to b along the axes of a, of b; and products of axes
	d := r3.Sub(b.box, a.box)
	ea, eb := [3]float64{a.half.X, a.half.Y, a.half.Z}, [3]float64{b.half.X, b.half.Y, b.half.Z}
	var ofA, ofB float64
	var alongB [3]float64 // half extents of a along the axes of b
	for i := range 3 {
		x, y, z := a.axes[i], a.axes[3+i], a.axes[6+i]
		t[i] = math.Abs(x*d.X + y*d.Y + z*d.Z)
		reach := ea[i]
		for j := range 3 {
			c[j] = math.Abs(x*b.axes[j] + y*b.axes[3+j] + z*b.axes[6+j])
			reach += eb[j] * c[j]
			alongB[j] += ea[i] * c[j]
		}
		if gap := t[i] - reach; gap > 0 {
			ofA += gap * gap
		}
	}
	for j := range 3 {
		u[j] = math.Abs(b.axes[j]*d.X + b.axes[3+j]*d.Y + b.axes[6+j]*d.Z)
		if gap := u[j] - eb[j] - alongB[j]; gap > 0 {
			ofB += gap * gap
		}
	}
	boxes := math.Sqrt(max(ofA, ofB))
	balls := max(boxToPoint(a, b.outer.c)-b.outer.r, boxToPoint(b, a.outer.c)-a.outer.r)
	return max(boxes, balls) * roundDown
}

// boxToPoint returns the distance of a point from the box of a part.
func boxToPoint(a *placedPart, c r3.Vec) float64 {
	d := a.axes.MulVecT(r3.Sub(c, a.box))
	x, y, z := max(math.Abs(d.X)-a.half.X, 0), max(math.Abs(d.Y)-a.half.Y, 0), max(math.Abs(d.Z)-a.half.Z, 0)
	return math.Sqrt(x*x + y*y + z*z)
}

// lowerOfPlane bounds the signed distance of a part from a half-space by its ball and its box.
func lowerOfPlane(plane, b *placedPart) float64 {
	n, p := normalOf(plane), plane.outer.c
	ball := r3.Dot(n, r3.Sub(b.outer.c, p)) - b.outer.r
	m := b.axes.MulVecT(n)
	box := r3.Dot(n, r3.Sub(b.box, p)) - math.Abs(m.X)*b.half.X - math.Abs(m.Y)*b.half.Y - math.Abs(m.Z)*b.half.Z
	return max(ball, box) - plane.outer.r
}
