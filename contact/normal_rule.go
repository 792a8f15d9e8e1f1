package contact

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// The derivative of a normal that features determine, without the general system of package derive.
//
// Where the normal of a pair is that of a face, it rotates with the body of that face: dn = ω×n. That is so where the
// points of the other body that are nearest, a vertex, an edge or a face, lie inside the face: the conditions of
// optimality hold then for all small motions. Of two parallel faces, which package derive has no derivative for, one
// determines the normal if it has the other inside; if neither has, the body that the normal follows depends on the
// motion. Where two edges d and e cross, the normal stays orthogonal to both, so with D = n·(d×e)
//
//	dn = (α·e×n + β·n×d)/D,  α = −ω_A·(d×n),  β = −ω_B·(e×n).

// Of parallel segments, such as those of two cylinders that lie side by side, the normal stays orthogonal to one, which
// depends on the motion; the mean is taken. Across them, along o, it follows the nearest points a and b in the middle
// of their common part,
//
//	(δ + H_A + H_B)·o·dn = o·(v_b − v_a + H_A·ω_A×n + H_B·ω_B×n),
//
// with the radii of curvature H.

// NormalRule says how a normal moves.
type NormalRule uint8

// Rules of normals.
const (
	NoRule     NormalRule = iota // the normal is that of no face, as far as is known
	FaceOfA                      // it rotates with A
	FaceOfB                      // it rotates with B
	EitherFace                   // it is that of two parallel faces, neither inside the other
	Edges                        // it is orthogonal to an edge of either
	Centers                      // it is that of the centers of two balls
	Sides                        // it is orthogonal to parallel segments
)

const (
	parallelFaces = 1e-5 // the largest sine between a normal and that of a face that count as parallel
	exactFace     = 1e-8 // as parallelFaces, of a face that determines the normal
	sameHeight    = 1e-8 // difference along the normal, relative to the size of the pair, of equally near points
	insideFace    = 1e-9 // distance from the boundary, relative to the size of the pair, that counts as inside
	parallelSides = 1e-7 // the largest sine of the angle of parallel segments, and of their deviation from the plane
	shallow       = 0.1  // largest depth, relative to the distance from the boundary and the thickness of the shapes
)

// setNormalRule sets the rule of the normal of the pair that is placed. certain says that it holds for all small
// motions: the nearest points lie inside their features, and the overlap is so shallow that no other normal is as good.
func (w *Workspace) setNormalRule(p *Pair, g *PointsGradient) {
	a, b := &w.fa, &w.fb
	tilt := func(f *flat) float64 {
		if f.normal == (r3.Vec{}) {
			return math.Inf(1)
		}
		return math.Sqrt(f.normal.X*f.normal.X + f.normal.Y*f.normal.Y)
	}
	tiltA, tiltB := tilt(a), tilt(b)
	size := p.A.size + p.B.size
	depth := max(-p.Distance, 0)
	margin := max(insideFace*size, depth/shallow)
	if depth <= insideFace*size || depth <= shallow*min(p.A.shape.Inradius(), p.B.shape.Inradius()) {
		leaves, leavesB := false, false
		if tiltA <= exactFace {
			if g.Certain, leaves = w.holds(a, b, -1, size, margin); g.Certain {
				g.Rule = FaceOfA
				return
			}
		}
		if tiltB <= exactFace {
			if g.Certain, leavesB = w.holds(b, a, 1, size, margin); g.Certain {
				g.Rule = FaceOfB
				return
			}
		}
		if min(tiltA, tiltB) > exactFace && w.setEdges(p, g, size, margin) {
			return
		}
		g.OneSided = leaves || leavesB
	}
	faceA, faceB := tiltA <= parallelFaces, tiltB <= parallelFaces
	switch {
	case faceA && faceB:
		g.Rule, g.Parallel = EitherFace, max(tiltA, tiltB) <= insideFace
	case faceA:
		g.Rule = FaceOfA
	case faceB:
		g.Rule = FaceOfB
	case a.segment() && b.segment():
		w.setSides(p, g)
	}
}

// setSides sets the rule of parallel segments.
func (w *Workspace) setSides(p *Pair, g *PointsGradient) {
	size := p.A.size + p.B.size
	ends, ok := w.commonEnds(size)
	if !ok {
		return
	}
	dx, dy, _ := direction(&w.fa)
	a, b := newSegment(&w.fa, dx, dy), newSegment(&w.fb, dx, dy)
	sine := math.Abs(a.d.X*b.d.Y-a.d.Y*b.d.X) / (a.length * b.length)
	sine = max(sine, math.Abs(a.d.Z)/a.length, math.Abs(b.d.Z)/b.length)
	if !(sine <= parallelSides) {
		return
	}
	at := r3.Scale(0.5, r3.Add(ends[0].pa, ends[1].pa))
	at.Z += w.a.radius
	distance := 0.5*(ends[0].pb.Z+ends[1].pb.Z) - w.b.radius - at.Z
	curvatureA, curvatureB := w.a.sideCurvature(at), w.b.sideCurvature(r3.Vec{X: at.X, Y: at.Y, Z: at.Z + distance})
	if !(distance+curvatureA+curvatureB > insideFace*size) {
		return
	}
	g.Rule, g.Parallel = Sides, sine <= parallelEdges
	g.CurvatureA, g.CurvatureB, g.Reach = curvatureA, curvatureB, distance+curvatureA+curvatureB
	g.Side, g.Across = w.frame.MulVecT(r3.Vec{X: dx, Y: dy}), w.frame.MulVecT(r3.Vec{X: -dy, Y: dx})
	g.ArmA = w.frame.MulVecT(r3.Sub(at, w.a.origin))
	at.Z += distance
	g.ArmB = w.frame.MulVecT(r3.Sub(at, w.b.origin))
}

// sideCurvature is the radius of curvature across a segment of the surface at a point, in the axes of the manifold.
func (p *placed) sideCurvature(at r3.Vec) float64 {
	if p.form != formFrustum {
		return p.radius
	}
	// Of the side of a frustum the distance from the axis over the sine of the angle between it and the normal.
	x := p.rot.MulVecT(r3.Sub(at, p.origin))
	sine := 2 * p.half / p.slant
	return math.Sqrt(x.X*x.X+x.Y*x.Y) / sine
}

// holds reports whether the corners of f that are nearest along sign·n lie inside a face, farther than margin from its
// boundary. leaves says that there are several, and one lies outside, as of an edge that is parallel to the face: the
// normal stays that of the face if the edge tilts one way, and becomes that of two edges if it tilts the other way.
func (w *Workspace) holds(face, f *flat, sign, size, margin float64) (holds, leaves bool) {
	if len(f.corners) == 0 {
		return false, false
	}
	most := math.Inf(-1)
	for _, c := range f.corners {
		most = max(most, sign*c.Z)
	}
	most -= sameHeight * size
	n, out := 0, false
	holds = true
	for _, c := range f.corners {
		if sign*c.Z < most {
			continue
		}
		if n++; !isInside(c.X, c.Y, 0, face, margin) {
			holds = false
			out = out || !isInside(c.X, c.Y, 0, face, insideFace*size)
		}
	}
	if holds && f.disc && n > 1 { // the circle, not its polygon
		center, radius := circle(f)
		return isInside(center.X, center.Y, radius, face, margin), false
	}
	return holds, out && n > 1
}

// isInside reports whether a disc about (x, y) lies inside the projection of a face, farther than margin from its
// boundary.
func isInside(x, y, radius float64, face *flat, margin float64) bool {
	if face.disc {
		center, of := circle(face)
		dx, dy := x-center.X, y-center.Y
		return math.Sqrt(dx*dx+dy*dy)+radius < of-margin
	}
	sign := math.Copysign(1, face.normal.Z)
	p := face.corners[len(face.corners)-1]
	for _, q := range face.corners {
		ex, ey := q.X-p.X, q.Y-p.Y
		if !(sign*(ex*(y-p.Y)-ey*(x-p.X)) > (radius+margin)*math.Sqrt(ex*ex+ey*ey)) {
			return false
		}
		p = q
	}
	return true
}

// circle is the center and radius of a rim.
func circle(f *flat) (center r3.Vec, radius float64) {
	p, q := f.corners[0], f.corners[rimPoints/2]
	return r3.Scale(0.5, r3.Add(p, q)), 0.5 * r3.Norm(r3.Sub(p, q))
}

// setEdges looks for two edges that are orthogonal to the normal and cross at the distance of the pair.
func (w *Workspace) setEdges(p *Pair, g *PointsGradient, size, margin float64) bool {
	a, b := &w.fa, &w.fb
	if p.A.form != formPolytope || p.B.form != formPolytope {
		return false
	}
	isLevel := func(d r3.Vec) bool { return math.Abs(d.Z) <= exactFace*(math.Abs(d.X)+math.Abs(d.Y)) }
	for i := range edgeCount(a) {
		from, to := a.corners[i], a.corners[(i+1)%len(a.corners)]
		d := r3.Sub(to, from)
		if !isLevel(d) {
			continue
		}
		for j := range edgeCount(b) {
			r, s := b.corners[j], b.corners[(j+1)%len(b.corners)]
			e := r3.Sub(s, r)
			if !isLevel(e) || math.Abs(r.Z-w.b.radius-from.Z-w.a.radius-p.Distance) > sameHeight*size {
				continue
			}
			det := d.X*e.Y - d.Y*e.X
			hx, hy := r.X-from.X, r.Y-from.Y
			t, u := (hx*e.Y-hy*e.X)/det, (hx*d.Y-hy*d.X)/det
			ld, le := length(d), length(e)
			sine := math.Abs(det) / (ld * le)
			inside := sine * min(min(t, 1-t)*ld, min(u, 1-u)*le)
			if sine > leastCrossing && inside > margin {
				g.Rule, g.Certain = Edges, true
				g.EdgeA, g.EdgeB = w.frame.MulVecT(d), w.frame.MulVecT(e)
				return true
			}
		}
	}
	return false
}

// NormalVJP adds the product of the normal n by the rule, with the cotangent bar: without one it rotates with the mean
// of both bodies.
func (g *PointsGradient) NormalVJP(n, bar r3.Vec, a, b *[6]float64) {
	spin := func(to *[6]float64, share float64, v r3.Vec) {
		to[3] += share * v.X
		to[4] += share * v.Y
		to[5] += share * v.Z
	}
	switch g.Rule {
	case FaceOfA:
		spin(a, 1, r3.Cross(n, bar))
	case FaceOfB:
		spin(b, 1, r3.Cross(n, bar))
	case Edges:
		det := r3.Dot(n, r3.Cross(g.EdgeA, g.EdgeB))
		spin(a, -r3.Dot(bar, r3.Cross(g.EdgeB, n))/det, r3.Cross(g.EdgeA, n))
		spin(b, -r3.Dot(bar, r3.Cross(n, g.EdgeA))/det, r3.Cross(g.EdgeB, n))
	case Centers:
		f := r3.Scale(1/g.Reach, r3.Sub(bar, r3.Scale(r3.Dot(bar, n), n)))
		for i, x := range [3]float64{f.X, f.Y, f.Z} {
			a[i] -= x
			b[i] += x
		}
	case Sides:
		along := r3.Cross(n, r3.Scale(r3.Dot(bar, g.Side), g.Side))
		spin(a, 0.5, along)
		spin(b, 0.5, along)
		f := r3.Scale(r3.Dot(bar, g.Across)/g.Reach, g.Across)
		spin(a, 1, r3.Sub(r3.Scale(g.CurvatureA, r3.Cross(n, f)), r3.Cross(g.ArmA, f)))
		spin(b, 1, r3.Add(r3.Scale(g.CurvatureB, r3.Cross(n, f)), r3.Cross(g.ArmB, f)))
		for i, x := range [3]float64{f.X, f.Y, f.Z} {
			a[i] -= x
			b[i] += x
		}
	default:
		t := r3.Cross(n, bar)
		spin(a, 0.5, t)
		spin(b, 0.5, t)
	}
}
