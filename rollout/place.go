package rollout

import (
	"math"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// placeSlack, of the magnitudes of a position and of the bounds of a body, covers the rounding of points mapped
// into the world and of the poses of parts: 12 units of rounding for a product with a rotation matrix whose
// entries are right to 8, the same again for the composed pose, and 128 are counted.
const placeSlack = 0x1p-46

// States of a place of a world.
const (
	placed = iota
	absent
	invalid
)

// placement is the bodies of one world with their bounds in the world frame. Columns have one entry per place.
type placement struct {
	table  *batch.Bodies
	worlds *batch.Worlds
	used   []int32 // places that occur in a pair

	state   []uint8
	body    []int32
	carrier []int32 // place whose pose the body has
	count   []int64 // parts of the body
	pose    []geom.Pose
	matrix  []geom.Mat3 // of the rotation

	x, y, z, radius []float64 // bounding ball; of a half-space a point of its plane, and +Inf
	inner           []ball    // a ball within a part, see placedPart.inner; of a half-space its normal, see upper
	plane           []bool    // the body is one half-space
	margin          []float64 // of a half-space, with its slack
	slack           []float64
	partsAt         []int32 // first of its parts in parts; -1 if they are not placed
	instance        []int32 // first of its parts among the instances of a tile; -1 if there are none

	parts []placedPart

	epoch    int   // worlds begun
	takenIn  []int // of each place, the epoch in which its pose was read last
	placedIn []int // and in which it was placed
	boxes    []worldBox
	boxedIn  []int     // of each box, the epoch
	padded   []float64 // poses of the last worlds of a tile
	culler   batch.Culler

	near neighbors // of all pairs
}

// ball is a center with a radius.
type ball struct {
	c r3.Vec
	r float64
}

// placedPart bounds a part in the world frame.
type placedPart struct {
	unbounded bool // a half-space: outer.c is a point of its plane, the third column of axes its normal

	outer ball // contains the part; of a half-space r is its margin
	inner ball // if r > 0 it lies within the part; else the part has a point within -r of c

	box, half r3.Vec
	axes      geom.Mat3
}

func newPlacement(table *batch.Bodies, w *batch.Worlds, used []int32) *placement {
	m := w.BodiesPerWorld()
	p := &placement{table: table, worlds: w, used: used}
	p.state, p.body, p.pose = make([]uint8, m), make([]int32, m), make([]geom.Pose, m)
	p.carrier = make([]int32, m)
	p.matrix, p.count = make([]geom.Mat3, m), make([]int64, m)
	p.x, p.y, p.z, p.radius = make([]float64, m), make([]float64, m), make([]float64, m), make([]float64, m)
	p.inner, p.slack = make([]ball, m), make([]float64, m)
	p.plane, p.margin = make([]bool, m), make([]float64, m)
	p.partsAt, p.instance = make([]int32, m), make([]int32, m)
	p.takenIn, p.placedIn = make([]int, m), make([]int, m)
	p.boxes, p.boxedIn = make([]worldBox, m), make([]int, m)
	return p
}

// begin begins a world, of which no body is placed.
func (p *placement) begin() {
	p.parts = p.parts[:0]
	p.epoch++
}

// place places the bodies of a world.
func (p *placement) place(world int) {
	p.begin()
	for _, k := range p.used {
		p.placeBody(world, k)
	}
}

// placeOnce places a body of the world that was begun, unless it is.
func (p *placement) placeOnce(world int, k int32) {
	if p.placedIn[k] != p.epoch {
		p.placeBody(world, k)
	}
}

// take reads the body at a place of the world that was begun, and its pose, which need not be valid.
func (p *placement) take(world int, k int32) {
	if p.takenIn[k] == p.epoch {
		return
	}
	p.takenIn[k] = p.epoch
	p.partsAt[k], p.instance[k] = -1, -1
	p.carrier[k] = p.worlds.Carrier(world, k)
	if p.body[k] = p.worlds.Body(world, k); p.body[k] != batch.Absent {
		p.pose[k] = p.worlds.Pose(world, k)
	}
}

// answered reports whether the pair of the bodies at two places has an answer by its bodies: both stand there, and
// move relative to each other.
func (p *placement) answered(a, b int32) bool {
	return p.state[a]|p.state[b] == placed && p.carrier[a] != p.carrier[b]
}

func (p *placement) placeBody(world int, k int32) {
	p.placedIn[k] = p.epoch
	p.take(world, k)
	b := p.body[k]
	if b == batch.Absent {
		p.state[k] = absent
		return
	}
	if !p.valid(k) {
		p.state[k] = invalid
		return
	}
	p.state[k], p.count[k] = placed, int64(len(p.table.Parts(b)))
	p.bound(k)
}

// valid reports whether the pose at place k is one that [batch.Bodies.CheckPose] accepts.
func (p *placement) valid(k int32) bool {
	pose, far := &p.pose[k], batch.MaxLength-p.table.Bounds(p.body[k]).Offset
	v := pose.Position
	if nearUnit(pose) && math.Abs(v.X) <= far && math.Abs(v.Y) <= far && math.Abs(v.Z) <= far {
		return true
	}
	return p.table.CheckPose(p.body[k], *pose) == nil
}

// nearUnit reports whether the matrix of a quaternion can be computed without scaling it first.
func nearUnit(p *geom.Pose) bool {
	q := p.Rotation
	n := q.Real*q.Real + q.Imag*q.Imag + q.Jmag*q.Jmag + q.Kmag*q.Kmag
	return n > 0.25 && n < 4
}

// bound computes the balls of the body at place k.
func (p *placement) bound(k int32) {
	b, parts := p.table.Bounds(p.body[k]), p.table.PartBounds(p.body[k])
	pose, in := &p.pose[k], &parts[b.Inner]
	if nearUnit(pose) {
		p.matrix[k] = pose.Matrix()
	} else {
		n, _ := pose.Normalized() // squares may under- or overflow
		p.matrix[k] = n.Matrix()
	}
	m, v := &p.matrix[k], pose.Position
	slack := placeSlack * (math.Abs(v.X) + math.Abs(v.Y) + math.Abs(v.Z) + b.Magnitude)
	p.slack[k] = slack
	if p.plane[k] = isPlane(parts); p.plane[k] {
		c := r3.Add(m.MulVec(in.Center), v)
		p.x[k], p.y[k], p.z[k], p.radius[k] = c.X, c.Y, c.Z, b.Radius
		p.margin[k] = in.Radius + slack
		p.inner[k] = ball{m.MulVec(column(&in.Axes, 2)), p.margin[k] + 2*innerRadius(in, slack)}
		return
	}
	c := r3.Add(m.MulVec(b.Center), v)
	p.x[k], p.y[k], p.z[k], p.radius[k] = c.X, c.Y, c.Z, b.Radius+slack
	if in.Center != b.Center {
		c = r3.Add(m.MulVec(in.Center), v)
	}
	p.inner[k] = ball{c, innerRadius(in, slack)}
}

// isPlane reports whether a body of the given parts is one half-space.
func isPlane(parts []batch.PartBounds) bool { return len(parts) == 1 && parts[0].Unbounded }

func column(m *geom.Mat3, i int) r3.Vec { return r3.Vec{X: m[i], Y: m[3+i], Z: m[6+i]} }

// above returns how far a point lies above the plane of the half-space at place k, whose margin is not counted.
func (p *placement) above(k int32, c r3.Vec) float64 {
	n := &p.inner[k].c
	return n.X*(c.X-p.x[k]) + n.Y*(c.Y-p.y[k]) + n.Z*(c.Z-p.z[k])
}

// lower bounds the signed distance of the bodies at two places from below by the balls that contain them.
func (p *placement) lower(a, b int32) float64 {
	if p.plane[b] {
		a, b = b, a
	}
	if p.plane[a] {
		if p.plane[b] {
			return math.Inf(-1)
		}
		return p.above(a, r3.Vec{X: p.x[b], Y: p.y[b], Z: p.z[b]}) - p.margin[a] - p.radius[b]
	}
	x, y, z := p.x[a]-p.x[b], p.y[a]-p.y[b], p.z[a]-p.z[b]
	return math.Sqrt(x*x+y*y+z*z)*roundDown - p.radius[a] - p.radius[b]
}

// upper bounds the signed distance of the bodies at two places from above by the balls within them. A half-space
// stands for itself: inner.r is its margin, less twice what its plane may be off.
func (p *placement) upper(a, b int32) float64 {
	if p.plane[b] {
		a, b = b, a
	}
	if p.plane[a] {
		if p.plane[b] {
			return math.Inf(1)
		}
		return p.above(a, p.inner[b].c) - p.inner[a].r - p.inner[b].r
	}
	return upperBound(&p.inner[a], &p.inner[b])
}

// innerRadius is the radius of placedPart.inner.
func innerRadius(b *batch.PartBounds, slack float64) float64 {
	if r := b.Inradius - slack; r > 0 {
		return r
	}
	return -b.Slack - slack
}

// of returns the bounds of the parts of the body at place k.
func (p *placement) of(k int32) []placedPart {
	bounds := p.table.PartBounds(p.body[k])
	if p.partsAt[k] < 0 {
		p.partsAt[k] = int32(len(p.parts))
		m, v, slack := &p.matrix[k], p.pose[k].Position, p.slack[k]
		for i := range bounds {
			b := &bounds[i]
			c := r3.Add(m.MulVec(b.Center), v)
			q := placedPart{
				unbounded: b.Unbounded,
				outer:     ball{c, b.Radius + slack}, inner: ball{c, innerRadius(b, slack)},
				axes: geom.Mul(m, &b.Axes),
			}
			if !b.Unbounded {
				q.box = r3.Add(m.MulVec(b.Box), v)
				q.half = r3.Vec{X: b.Half.X + slack, Y: b.Half.Y + slack, Z: b.Half.Z + slack}
			}
			p.parts = append(p.parts, q)
		}
	}
	return p.parts[p.partsAt[k]:][:len(bounds)]
}

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
// is at least the norm of the distances between the intervals. The distance of the box from the center of the ball of
// the other part, less its radius, is a second bound.
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
		if beyond := t[i] - reach; beyond > 0 {
			ofA += beyond * beyond
		}
	}
	for j := range 3 {
		u[j] = math.Abs(b.axes[j]*d.X + b.axes[3+j]*d.Y + b.axes[6+j]*d.Z)
		if beyond := u[j] - eb[j] - alongB[j]; beyond > 0 {
			ofB += beyond * beyond
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
