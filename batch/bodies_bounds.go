package batch

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// Slacks by which bounds of parts are larger than computed.
const (
	// shapeSlack, of the bounding radius, covers the rounding of bounding radii, boxes and inradii, that of
	// powers included, as in [geom.InradiusAt].
	shapeSlack = 0x1p-30

	// frameSlack, of the magnitudes, covers the rounding of points mapped from one frame to another: the
	// entries of a rotation matrix are right to 8 units of rounding, products with it to 12, and 128 are
	// counted.
	frameSlack = 0x1p-46
)

// PartBounds bound one part of a body, in the frame of the body: a ball and an oriented box that contain it, and
// a ball that it contains. All lengths are rounded so that this is proved in exact arithmetic.
type PartBounds struct {
	Unbounded bool    // a half-space: Center is a point of its plane, Axes[2], Axes[5], Axes[8] its normal
	Center    r3.Vec  // of both balls
	Radius    float64 // of the ball that contains the part; of a half-space its margin
	Inradius  float64 // of the ball within it; 0 if Center is all that is known
	Slack     float64 // Center is proved to be this close to a point of the part

	Box  r3.Vec    // center of the box
	Half r3.Vec    // half extents
	Axes geom.Mat3 // the columns are the axes of the box, from the frame of the part to that of the body
}

// BodyBounds bound one body in its own frame.
type BodyBounds struct {
	Center    r3.Vec
	Radius    float64 // of a ball about Center that contains all parts; +Inf with a half-space
	Inner     int     // the part with the greatest Inradius
	Offset    float64 // of the part whose origin is farthest from that of the body, in metres
	Magnitude float64 // of all coordinates that the bounds were computed from
}

// measure computes the bounds of all parts and bodies.
func (t *Bodies) measure() {
	t.bounds = make([]PartBounds, len(t.parts))
	for i := range t.parts {
		t.bounds[i] = t.partBounds(&t.parts[i])
	}
	t.spheres = make([]BodyBounds, t.Len())
	for i := range t.spheres {
		t.spheres[i] = t.bodyBounds(int32(i))
	}
}

// partBounds bounds a part in the frame of its body.
func (t *Bodies) partBounds(p *Part) PartBounds {
	s := t.lib.Shape(p.Shape)
	b := PartBounds{Axes: rotation(p.Pose.Rotation)}
	if s.Kind().Traits().Unbounded {
		b.Unbounded, b.Center, b.Radius = true, p.Pose.Position, s.Radius()
		b.Slack = frameSlack * (norm(p.Pose.Position) + s.Radius())
		return b
	}
	place := func(v r3.Vec) r3.Vec { return r3.Add(b.Axes.MulVec(v), p.Pose.Position) }
	lo, hi := s.AABB()
	middle := r3.Scale(0.5, r3.Add(lo, hi))
	r := s.BoundingRadius()
	b.Center, b.Box = place(s.Center()), place(middle)
	// What the boxes and balls are off: of the shape itself, and of the frames.
	b.Slack = shapeSlack*r + frameSlack*(norm(p.Pose.Position)+norm(s.Center())+norm(middle)+r)
	b.Radius = r + b.Slack
	b.Half = r3.Vec{X: (hi.X-lo.X)/2 + b.Slack, Y: (hi.Y-lo.Y)/2 + b.Slack, Z: (hi.Z-lo.Z)/2 + b.Slack}
	b.Inradius = max(geom.InradiusAt(s, s.Center())-b.Slack, 0)
	return b
}

// bodyBounds bounds a body by a ball about the middle of the box along its axes that contains the boxes of
// its parts.
func (t *Bodies) bodyBounds(i int32) BodyBounds {
	parts, bounds := t.Parts(i), t.PartBounds(i)
	inf := math.Inf(1)
	var b BodyBounds
	lo, hi := r3.Vec{X: inf, Y: inf, Z: inf}, r3.Vec{X: -inf, Y: -inf, Z: -inf}
	for k := range bounds {
		p := &bounds[k]
		if k > 0 && p.Inradius > bounds[b.Inner].Inradius {
			b.Inner = k
		}
		if !t.identity[int(t.first[i])+k] {
			b.Offset = max(b.Offset, norm(parts[k].Pose.Position))
		}
		b.Magnitude = max(b.Magnitude, norm(p.Center)+norm(p.Box)+p.Radius)
		if p.Unbounded {
			b.Radius = inf
			continue
		}
		e := extents(&p.Axes, p.Half)
		lo = r3.Vec{X: min(lo.X, p.Box.X-e.X), Y: min(lo.Y, p.Box.Y-e.Y), Z: min(lo.Z, p.Box.Z-e.Z)}
		hi = r3.Vec{X: max(hi.X, p.Box.X+e.X), Y: max(hi.Y, p.Box.Y+e.Y), Z: max(hi.Z, p.Box.Z+e.Z)}
	}
	switch {
	case math.IsInf(b.Radius, 1):
		return b
	case len(bounds) == 1:
		b.Center, b.Radius = bounds[0].Center, bounds[0].Radius
		return b
	}
	b.Center = r3.Scale(0.5, r3.Add(lo, hi))
	for k := range bounds {
		b.Radius = max(b.Radius, farthest(&bounds[k], b.Center))
	}
	b.Radius += frameSlack * b.Magnitude
	return b
}

// extents returns the half extents, along the axes of the frame, of a box with the given axes.
func extents(axes *geom.Mat3, half r3.Vec) r3.Vec {
	row := func(i int) float64 {
		return math.Abs(axes[3*i])*half.X + math.Abs(axes[3*i+1])*half.Y + math.Abs(axes[3*i+2])*half.Z
	}
	return r3.Vec{X: row(0), Y: row(1), Z: row(2)}
}

// farthest bounds the distance of the points of a part from c: by its ball, and by the corners of its box.
func farthest(p *PartBounds, c r3.Vec) float64 {
	ball := norm(r3.Sub(p.Center, c)) + p.Radius
	d := p.Axes.MulVecT(r3.Sub(p.Box, c))
	corner := norm(r3.Vec{X: math.Abs(d.X) + p.Half.X, Y: math.Abs(d.Y) + p.Half.Y, Z: math.Abs(d.Z) + p.Half.Z})
	return min(ball, corner)
}
