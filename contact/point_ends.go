package contact

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"
)

// The derivative of the ends of the part that two parallel segments have in common, see [Workspace.commonEnds].
//
// Let D be the mean direction of the projections of both segments d and e, and pa and pb the points of both at an end:
// one is a vertex and moves with its body, the other moves along its segment so that D·(pb − pa) = 0. The point of the
// manifold lies on the line along the normal through M = (pa + pb)/2, from where it leaves the surface of A, at
// M + z_A·n, to where it enters that of B. With the normal ν of a surface there
//
//	dz = ν·(v − dM − z·dn) / ν·n,
//
// or, where the line would leave beyond the segment with its ball, z = n·(pa − M) + r. D rotates
// about the normal by the mean of the angles of both projections.

// parallelEdges is the sine of the angle of two projected edges up to which they are parallel but for rounding.
const parallelEdges = 1e-9

// segmentOf is a segment of a feature in the axes of the manifold.
type segmentOf struct {
	d      r3.Vec  // in the direction of D
	across r3.Vec  // orthogonal to its projection, unit
	length float64 // of the projection
}

func newSegment(f *flat, x, y float64) (s segmentOf) {
	s.d = r3.Sub(f.corners[1], f.corners[0])
	if s.d.X*x+s.d.Y*y < 0 {
		s.d = r3.Scale(-1, s.d)
	}
	s.length = math.Sqrt(s.d.X*s.d.X + s.d.Y*s.d.Y)
	s.across = r3.Vec{X: -s.d.Y / s.length, Y: s.d.X / s.length}
	return s
}

// rotateBy adds the cotangent of the angle of the projection about the normal.
func (s *segmentOf) rotateBy(angle float64, x *wrench, normal *r3.Vec) {
	k := r3.Scale(angle/s.length, s.across)
	x.torque = r3.Add(x.torque, r3.Cross(s.d, k))
	*normal = r3.Sub(*normal, r3.Scale(s.d.Z, k))
}

// endVJP is pointVJP of two segments.
func (w *Workspace) endVJP(id uint64, at, position r3.Vec, gap float64, p *Pair, g *PointsGradient,
	sum *pointGradient) bool {
	size := p.A.size + p.B.size
	ends, ok := w.commonEnds(size)
	if !ok {
		return false
	}
	for i := range ends {
		e := &ends[i]
		c, ok := w.atEnd(e)
		if !ok || e.id != id || !(math.Abs(c.x-at.X)+math.Abs(c.y-at.Y) <= matchTolerance*size+w.round) {
			continue
		}
		w.pushEnd(e, &c, position, gap, g, sum)
		return true
	}
	return false
}

// pushEnd adds the product of an end with its candidate.
func (w *Workspace) pushEnd(end *segmentEnd, c *candidate, position r3.Vec, gap float64, g *PointsGradient,
	sum *pointGradient) {
	ax, ay, _ := direction(&w.fa)
	a := newSegment(&w.fa, ax, ay)
	b := newSegment(&w.fb, ax, ay)
	mean := r3.Vec{X: a.d.X/a.length + b.d.X/b.length, Y: a.d.Y/a.length + b.d.Y/b.length}
	l := math.Sqrt(mean.X*mean.X + mean.Y*mean.Y)
	mean = r3.Scale(1/l, mean)
	pa, pb := end.pa, end.pb
	off := mean.X*(pb.Y-pa.Y) - mean.Y*(pb.X-pa.X)
	middle := r3.Scale(0.5, r3.Add(pa, pb))

	// Both surfaces over M. Where M lies on an edge it is the ridge of two faces, unless the end is at the witnesses
	// and stays there.
	ridge := math.Abs(a.d.X*b.d.Y-a.d.Y*b.d.X) <= parallelEdges*a.length*b.length
	half := 0.5 * position.Z
	toM, toA, toB := position, r3.Vec{}, r3.Vec{}
	sum.normal = r3.Add(sum.normal, r3.Scale(0.5*(c.a+c.b)-middle.Z, position))
	surfaces := [2]struct {
		on       *placed
		feature  *flat
		x        *wrench
		point    *r3.Vec // cotangent of pa or pb
		core     r3.Vec
		z, outer float64 // of the candidate, and of the segment with its ball
		bar      float64
	}{{&w.a, &w.fa, &sum.a, &toA, pa, c.a, pa.Z + w.a.radius, half - gap},
		{&w.b, &w.fb, &sum.b, &toB, pb, c.b, pb.Z - w.b.radius, half + gap}}
	for i := range surfaces {
		h := &surfaces[i]
		surface := r3.Vec{X: middle.X, Y: middle.Y, Z: h.z}
		nu, ok := r3.Vec{}, false
		if math.Abs(h.z-h.outer) > w.round {
			if nu, ok = h.on.surfaceNormal(h.feature, r3.Sub(surface, h.on.origin)); !ok {
				g.OneSided = true
			}
		} else if h.on.radius == 0 && h.on.form == formPolytope && ridge {
			g.OneSided = true
		}
		if !ok {
			*h.point = r3.Add(*h.point, r3.Vec{Z: h.bar})
			toM.Z -= h.bar
			sum.normal = r3.Add(sum.normal, r3.Scale(h.bar, r3.Sub(h.core, middle)))
			continue
		}
		f := r3.Scale(h.bar/nu.Z, nu)
		h.x.push(f, r3.Sub(surface, h.on.origin))
		toM = r3.Sub(toM, f)
		sum.normal = r3.Sub(sum.normal, r3.Scale(h.z-middle.Z, f))
	}
	toA, toB = r3.Add(toA, r3.Scale(0.5, toM)), r3.Add(toB, r3.Scale(0.5, toM))

	// The point that slides along its segment.
	var q float64
	if end.id>>62 == idVertexA {
		q = -r3.Dot(toB, b.d) / r3.Dot(mean, b.d)
	} else {
		q = r3.Dot(toA, a.d) / r3.Dot(mean, a.d)
	}
	slide := r3.Scale(q, mean)
	sum.b.push(r3.Add(toB, slide), r3.Sub(pb, w.b.origin))
	sum.a.push(r3.Sub(toA, slide), r3.Sub(pa, w.a.origin))
	sum.normal = r3.Sub(sum.normal, r3.Scale(pb.Z-pa.Z, slide))
	a.rotateBy(0.5*off*q, &sum.a, &sum.normal)
	b.rotateBy(0.5*off*q, &sum.b, &sum.normal)
}

// surfaceNormal is the outward unit normal of the surface of a body at a point of it beside a segment, both in the axes
// of the manifold with the origin at the position of the pose. ok is false where the surface has none.
func (p *placed) surfaceNormal(segment *flat, at r3.Vec) (nu r3.Vec, ok bool) {
	x := p.rot.MulVecT(at)
	switch p.form {
	case formSegment:
		nu = r3.Sub(x, r3.Vec{Z: max(-p.half, min(p.half, x.Z))})
	case formFrustum: // the side
		l := math.Sqrt(x.X*x.X + x.Y*x.Y)
		nu = r3.Vec{X: 2 * p.half * x.X / l, Y: 2 * p.half * x.Y / l, Z: p.bottom - p.top}
	case formPolytope:
		nu = p.polytopeNormal(segment, x)
	}
	l := r3.Norm(nu)
	if !(l > 0) {
		return nu, false
	}
	return p.rot.MulVec(r3.Scale(1/l, nu)), true
}

// polytopeNormal is that of a polytope beside an edge, of any length: without a margin that of the face on whose
// outside the point lies farthest, with one the direction from the nearest point of the edge, or of a face beside it.
func (p *placed) polytopeNormal(edge *flat, x r3.Vec) (nu r3.Vec) {
	if p.radius == 0 {
		most := math.Inf(-1)
		for i := range p.face {
			f := &p.face[i]
			if s := r3.Dot(f.normal, r3.Sub(x, p.hull.Vertices[f.corners[0]])); s > most {
				most, nu = s, f.normal
			}
		}
		return nu
	}
	a, b := int32(edge.vertex[0]), int32(edge.vertex[1])
	from := p.hull.Vertices[a]
	d := r3.Sub(p.hull.Vertices[b], from)
	t := max(0, min(1, r3.Dot(r3.Sub(x, from), d)/r3.Norm2(d)))
	away := r3.Sub(x, r3.Add(from, r3.Scale(t, d)))
	for _, k := range p.faces[p.faceStart[a]:p.faceStart[a+1]] {
		f := &p.face[k]
		if !slices.Contains(f.corners, b) || !slices.Contains(f.corners, a) {
			continue
		}
		into := r3.Cross(f.normal, d) // in the plane of the face, across the edge
		for _, c := range f.corners {
			if s := r3.Dot(into, r3.Sub(p.hull.Vertices[c], from)); c != a && c != b && s != 0 {
				into = r3.Scale(math.Copysign(1, s), into)
				break
			}
		}
		if r3.Dot(into, away) > 0 {
			return f.normal
		}
	}
	return away
}
