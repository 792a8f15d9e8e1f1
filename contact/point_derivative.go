package contact

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// The derivative of contact points with respect to the poses of both shapes, for fixed features.
//
// A point has a point a of the core of A and a point b = a + s·n of that of B, the gap φ = s − r_A − r_B with the radii
// of the balls around the cores, and lies in the middle of both surfaces. The features that its ID names make the
// points; let c be the normal of the face, or d×e of two edges d of A and e of B:
//
//   - a vertex of A over a face of B: a moves with A, b lies in the plane of the face;
//   - a vertex of B over a face of A: b moves with B, a lies in the plane;
//   - a crossing: a lies on the edge of A, b on that of B, n from the one to the other.
//
// With v_A(a) and v_B(b) the velocities of the bodies there, and w = v_B(b) − v_A(a) − s·dn, all three have
//
//	ds = c·w / c·n
//
// and the first two da = v_A(a), or db = v_B(b); in the third a moves along d besides, by (e×n)·w/(c·n). The ends of
// parallel segments are in point_ends.go. The corners of the rim of a disc, and the line of a cylinder or cone that
// faces the other shape, rotate about the axis with the direction of the normal: their body moves by another rotation
// about its axis, see [rotateRim].
//
// The products below are transposed: from the cotangents of the points to forces at a and b, whose wrenches about the
// positions of the poses are the cotangents of the poses. The rounding that is part of the gap, see [Point], is
// constant.

// ManifoldCotangent is the gradient of a scalar with respect to a manifold: its normal and its points.
type ManifoldCotangent struct {
	Normal   r3.Vec
	Position [MaxPoints]r3.Vec
	Gap      [MaxPoints]float64
}

// PointsGradient is the gradient of a scalar with respect to what the points of a manifold are made of.
type PointsGradient struct {
	// A and B are the gradients with respect to the twists of both poses, for a fixed normal: velocity of the position,
	// angular velocity, world axes.
	A, B [6]float64

	Normal r3.Vec // orthogonal to the normal

	// Of points at the witnesses of the pair: with respect to its distance and witnesses.
	Distance           float64
	WitnessA, WitnessB r3.Vec
	AtWitnesses        bool // there are such points, with cotangents

	// The rule by which the normal moves, and the edges in world axes. Certain says that it holds for all small
	// motions, Parallel that the faces of EitherFace are parallel but for rounding.
	Rule              NormalRule
	Certain, Parallel bool
	EdgeA, EdgeB      r3.Vec
	Reach             float64 // of Centers, their distance; of Sides, δ + H_A + H_B

	// Of Sides: the directions along and across them, the nearest points from the positions, the radii of curvature.
	Side, Across, ArmA, ArmB r3.Vec
	CurvatureA, CurvatureB   float64

	// OneSided says that the features of a point change within rounding of the poses, so that its derivative depends on
	// the direction of the motion.
	OneSided bool
}

// matchTolerance, times the size of the pair, is how far the point of features may be from that of a manifold, which is
// rounded. Points of other features that count as one with it are up to 1e-5 away, see [Workspace.merge].
const matchTolerance = 1e-9

// leastCrossing is the least sine of the angle of two edges whose crossing has a derivative: it moves along them by the
// inverse of that.
const leastCrossing = 1e-6

// wrench is the cotangent of a body: a force, and its torque about the position of the pose.
type wrench struct{ force, torque r3.Vec }

func (w *wrench) push(force, arm r3.Vec) {
	w.force = r3.Add(w.force, force)
	w.torque = r3.Add(w.torque, r3.Cross(arm, force))
}

// pointGradient is the sum over points, in axes of its own.
type pointGradient struct {
	a, b   wrench
	normal r3.Vec
}

// PointsVJP sets g to the vector-Jacobian product of the points of a manifold, as [Workspace.Build] made it of the
// pair: the gradient of a scalar whose gradient with respect to the manifold is bar. The cotangent of its normal is not
// read, since the normal is held. Of the manifold it reads N and the points, of the pair all but the distance and gap.
func (w *Workspace) PointsVJP(p *Pair, m *Manifold, bar *ManifoldCotangent, g *PointsGradient) {
	*g = PointsGradient{}
	if p.A.form == formPlane || p.B.form == formPlane {
		if w.overPlane(p, m, bar, g) {
			return
		}
		*g = PointsGradient{}
	}
	if p.A.ball && p.B.ball && w.centers(p, m, bar, g) {
		return
	}
	w.place(p)
	switch {
	case p.A.form == formPlane:
		g.Rule, g.Certain = FaceOfA, true
	case p.B.form == formPlane:
		g.Rule, g.Certain = FaceOfB, true
	default:
		w.setNormalRule(p, g)
	}
	var sum pointGradient
	for i := range m.N {
		if bar.Position[i] == (r3.Vec{}) && bar.Gap[i] == 0 {
			continue
		}
		point := &m.Points[i]
		if Witness(point.ID) {
			if !w.ballVJP(p, bar, i, g, &sum) {
				g.addWitness(bar, i)
			}
			continue
		}
		at := w.frame.MulVec(r3.Sub(point.Position, w.anchor))
		position := w.frame.MulVec(bar.Position[i])
		if w.pointVJP(point.ID, at, position, bar.Gap[i], p, g, &sum) {
			continue
		}
		// The point is that of other features within 1e-5 of the size, or of edges that are parallel.
		if id, ok := w.nearest(at, p.A.size+p.B.size); !ok || !w.pointVJP(id, at, position, bar.Gap[i], p, g, &sum) {
			g.OneSided = true
			sum.asMiddle(w, at, position)
		}
	}
	n := r3.Vec{Z: 1}
	rotateRim(p.A, &w.a.rot, n, 1, &sum.a, &sum.normal)
	rotateRim(p.B, &w.b.rot, n, -1, &sum.b, &sum.normal)
	sum.normal.Z = 0
	set := func(to *[6]float64, x *wrench) {
		f, t := w.frame.MulVecT(x.force), w.frame.MulVecT(x.torque)
		*to = [6]float64{f.X, f.Y, f.Z, t.X, t.Y, t.Z}
	}
	set(&g.A, &sum.a)
	set(&g.B, &sum.b)
	g.Normal = w.frame.MulVecT(sum.normal)
}

// addWitness adds the point in the middle between the witnesses, whose gap is the distance.
func (g *PointsGradient) addWitness(bar *ManifoldCotangent, i int) {
	half := r3.Scale(0.5, bar.Position[i])
	g.WitnessA, g.WitnessB = r3.Add(g.WitnessA, half), r3.Add(g.WitnessB, half)
	g.Distance += bar.Gap[i]
	g.AtWitnesses = true
}

// asMiddle adds a point whose features are not known: it moves with the mean of both bodies.
func (sum *pointGradient) asMiddle(w *Workspace, at, position r3.Vec) {
	half := r3.Scale(0.5, position)
	sum.a.push(half, r3.Sub(at, w.a.origin))
	sum.b.push(half, r3.Sub(at, w.b.origin))
}

// centers is PointsVJP for two balls with one point: with d the distance of the centers, dn = P(v_B - v_A)/d.
func (w *Workspace) centers(p *Pair, m *Manifold, bar *ManifoldCotangent, g *PointsGradient) bool {
	g.Reach = r3.Norm(r3.Sub(p.PoseB.Position, p.PoseA.Position))
	if m.N != 1 || !(g.Reach > insideFace*(p.A.size+p.B.size)) {
		return false
	}
	g.Rule, g.Certain = Centers, true
	var sum pointGradient
	x := contactPair{s: g.Reach, c: p.Normal}
	x.push(&sum, p.Normal, bar.Position[0], bar.Gap[0], p.A.radius-p.B.radius)
	a, b := sum.a.force, sum.b.force
	g.A, g.B = [6]float64{a.X, a.Y, a.Z}, [6]float64{b.X, b.Y, b.Z}
	g.Normal = r3.Sub(sum.normal, r3.Scale(r3.Dot(sum.normal, p.Normal), p.Normal))
	return true
}

// ballVJP adds the point of a ball whose center lies over the inside of a face of the other shape, whose normal is that
// of the pair: the center is a vertex there.
func (w *Workspace) ballVJP(p *Pair, bar *ManifoldCotangent, i int, g *PointsGradient, sum *pointGradient) bool {
	if !p.A.ball && !p.B.ball {
		return false
	}
	face, center, rule := &w.fa, w.b.origin, FaceOfA
	if p.A.ball {
		face, center, rule = &w.fb, w.a.origin, FaceOfB
	}
	if face.normal == (r3.Vec{}) || math.Abs(face.normal.X)+math.Abs(face.normal.Y) > exactFace {
		return false
	}
	z := face.heightAt(center.X, center.Y)
	least := insideFace * (p.A.size + p.B.size)
	x := contactPair{s: center.Z - z, c: face.normal, ofB: true}
	foot := r3.Vec{X: center.X, Y: center.Y, Z: z}
	if x.armA = r3.Sub(foot, w.a.origin); p.A.ball {
		x.s, x.ofB, x.armA, x.armB = z-center.Z, false, r3.Vec{}, r3.Sub(foot, w.b.origin)
	}
	if !(x.s > least) || !isInside(center.X, center.Y, 0, face, least) {
		return false
	}
	g.Rule, g.Certain = rule, true
	x.push(sum, r3.Vec{Z: 1}, w.frame.MulVec(bar.Position[i]), bar.Gap[i], p.A.radius-p.B.radius)
	return true
}

// A contactPair is a pair of points of the cores whose difference is s·n, with the normal c of the condition on s, in
// any axes.
type contactPair struct {
	armA, armB r3.Vec // of a and b, from the positions of the poses
	s          float64
	c          r3.Vec
	along, per r3.Vec // of a crossing: d, and e×n/(c·n)
	ofB        bool   // b moves with B, and the position is that of b across the normal; else a with A
}

// push adds the cotangents of a position and a gap to sum; radii is r_A − r_B.
func (x *contactPair) push(sum *pointGradient, n, position r3.Vec, gap, radii float64) {
	half := 0.5 * r3.Dot(position, n)
	s, middle := gap+half, 0.5*(radii+x.s)
	if x.ofB {
		s, middle = gap-half, 0.5*(radii-x.s)
	}
	f := r3.Scale(s/r3.Dot(x.c, n), x.c)
	f = r3.Add(f, r3.Scale(r3.Dot(position, x.along), x.per))
	onA, onB := r3.Scale(-1, f), f
	if x.ofB {
		onB = r3.Add(onB, position)
	} else {
		onA = r3.Add(onA, position)
	}
	sum.a.push(onA, x.armA)
	sum.b.push(onB, x.armB)
	sum.normal = r3.Add(sum.normal, r3.Sub(r3.Scale(middle, position), r3.Scale(x.s, f)))
}

// rotateRim takes the rotation of a rim or a side about its axis into account: with d the direction of the normal in
// the frame of the shape, sign·n, and l the length of its part across the axis, features that face d rotate about the
// axis k by sign·t·(dn − ω×n)/l, t = k×d/l. Level rims are fixed in the body.
func rotateRim(f *Features, rot *geom.Mat3, n r3.Vec, sign float64, x *wrench, normal *r3.Vec) {
	if f.form != formFrustum {
		return
	}
	d := rot.MulVecT(r3.Scale(sign, n))
	l := math.Sqrt(d.X*d.X + d.Y*d.Y)
	if l < level {
		return
	}
	angle := r3.Dot(rot.MulVec(r3.Vec{Z: 1}), x.torque)
	t := r3.Scale(sign*angle/l, rot.MulVec(r3.Vec{X: -d.Y / l, Y: d.X / l}))
	*normal = r3.Add(*normal, t)
	x.torque = r3.Sub(x.torque, r3.Cross(n, t))
}

// vertexOf returns the vertex of a core with a number, in the frame of the shape; d is the direction that it faces.
func (f *Features) vertexOf(number uint32, d r3.Vec) (v r3.Vec, ok bool) {
	switch f.form {
	case formPolytope:
		if int(number) < len(f.hull.Vertices) {
			return f.hull.Vertices[number], true
		}
	case formSegment:
		return r3.Vec{Z: math.Copysign(f.half, float64(number)-0.5)}, number <= upperEnd
	case formFrustum:
		x, y, _ := lateral(d)
		switch {
		case number == lowerEnd:
			return r3.Vec{X: f.bottom * x, Y: f.bottom * y, Z: -f.half}, true
		case number == upperEnd:
			return r3.Vec{X: f.top * x, Y: f.top * y, Z: f.half}, true
		case number >= lowerRim && number < lowerRim+rimPoints:
			return onRim(f.bottom, -f.half, x, y, number-lowerRim), true
		case number >= upperRim && number < upperRim+rimPoints:
			return onRim(f.top, f.half, x, y, number-upperRim), true
		}
	}
	return v, false
}

// overPlane is PointsVJP for a half-space and another shape, whose vertices are the points. It reports false if a point
// is not that of its vertex.
func (w *Workspace) overPlane(p *Pair, m *Manifold, bar *ManifoldCotangent, g *PointsGradient) bool {
	ofB := p.A.form == formPlane
	plane, other, planePose, pose, kind := p.B, p.A, &p.PoseB, &p.PoseA, uint64(idVertexA)
	if ofB {
		plane, other, planePose, pose, kind = p.A, p.B, &p.PoseA, &p.PoseB, idVertexB
	}
	planeRot, rot := planePose.Matrix(), pose.Matrix()
	normal := r3.Vec{X: planeRot[2], Y: planeRot[5], Z: planeRot[8]}
	between := r3.Sub(pose.Position, planePose.Position)
	d := rot.MulVecT(r3.Scale(-1, normal))
	tolerance := matchTolerance * (plane.size + other.size)
	tolerance += roundings * (math.Abs(between.X) + math.Abs(between.Y) + math.Abs(between.Z))
	if g.Rule, g.Certain = FaceOfB, true; ofB {
		g.Rule = FaceOfA
	}
	var sum pointGradient
	for i := range m.N {
		point := &m.Points[i]
		var v r3.Vec
		switch witness := Witness(point.ID); {
		case witness && other.ball: // the center, with the ball around it
		case witness:
			g.addWitness(bar, i)
			continue
		default:
			number := uint32(point.ID) & (1<<31 - 1)
			if !ofB {
				number = uint32(point.ID>>31) & (1<<31 - 1)
			}
			var ok bool
			if v, ok = other.vertexOf(number, d); !ok || point.ID>>62 != kind {
				return false
			}
			v = rot.MulVec(v)
		}
		height := r3.Dot(normal, r3.Add(v, between))
		x := contactPair{s: height, c: normal, ofB: ofB}
		foot := r3.Sub(r3.Add(v, between), r3.Scale(height, normal))
		// The point lies on the normal through the vertex.
		off := r3.Sub(r3.Add(v, pose.Position), point.Position)
		off = r3.Sub(off, r3.Scale(r3.Dot(normal, off), normal))
		if !(math.Abs(off.X)+math.Abs(off.Y)+math.Abs(off.Z) <= tolerance) {
			return false
		}
		if ofB {
			x.armA, x.armB = foot, v
		} else {
			x.armA, x.armB = v, foot
		}
		x.push(&sum, p.Normal, bar.Position[i], bar.Gap[i], p.A.radius-p.B.radius)
	}
	if ofB {
		rotateRim(other, &rot, p.Normal, -1, &sum.b, &sum.normal)
	} else {
		rotateRim(other, &rot, p.Normal, 1, &sum.a, &sum.normal)
	}
	set := func(to *[6]float64, x *wrench) {
		*to = [6]float64{x.force.X, x.force.Y, x.force.Z, x.torque.X, x.torque.Y, x.torque.Z}
	}
	set(&g.A, &sum.a)
	set(&g.B, &sum.b)
	g.Normal = r3.Sub(sum.normal, r3.Scale(r3.Dot(sum.normal, p.Normal), p.Normal))
	return true
}

// pointVJP adds the product of the point with an ID, in the axes of the manifold of the pair that is placed. It reports
// false if the features do not have the ID, or their point is not at that place.
func (w *Workspace) pointVJP(id uint64, at, position r3.Vec, gap float64, p *Pair, g *PointsGradient,
	sum *pointGradient) bool {
	a, b := &w.fa, &w.fb
	if len(a.corners) == 0 || len(b.corners) == 0 || a.plane && b.plane {
		return false
	}
	if a.segment() && b.segment() {
		return w.endVJP(id, at, position, gap, p, g, sum)
	}
	tolerance := matchTolerance*(p.A.size+p.B.size) + w.round
	isAt := func(q r3.Vec) bool { return math.Abs(q.X-at.X)+math.Abs(q.Y-at.Y) <= tolerance }
	var x contactPair
	var found bool
	switch id >> 62 {
	case idVertexA:
		if k := index(a, uint32(id>>31)&(1<<31-1)); k >= 0 && !b.segment() && isAt(a.corners[k]) {
			q := a.corners[k]
			x, found = contactPair{s: b.heightAt(q.X, q.Y) - q.Z, c: b.normal}, true
			x.armA = r3.Sub(q, w.a.origin)
			x.armB = r3.Sub(r3.Vec{X: q.X, Y: q.Y, Z: q.Z + x.s}, w.b.origin)
		}
	case idVertexB:
		if k := index(b, uint32(id)&(1<<31-1)); k >= 0 && !a.segment() && isAt(b.corners[k]) {
			q := b.corners[k]
			x, found = contactPair{s: q.Z - a.heightAt(q.X, q.Y), c: a.normal, ofB: true}, true
			x.armB = r3.Sub(q, w.b.origin)
			x.armA = r3.Sub(r3.Vec{X: q.X, Y: q.Y, Z: q.Z - x.s}, w.a.origin)
		}
	case idCrossing:
		x, found = w.crossingAt(id, at, tolerance)
	}
	if found {
		x.push(sum, r3.Vec{Z: 1}, position, gap, p.A.radius-p.B.radius)
	}
	return found
}

// index is the index of the corner with a number, −1 if there is none.
func index(f *flat, number uint32) int {
	if f.plane {
		return -1
	}
	for i, v := range f.vertex {
		if v == number {
			return i
		}
	}
	return -1
}

// crossingAt finds the crossing of two edges with an ID at a place.
func (w *Workspace) crossingAt(id uint64, at r3.Vec, tolerance float64) (x contactPair, found bool) {
	a, b := &w.fa, &w.fb
	if a.plane || b.plane {
		return x, false
	}
	best := math.Inf(1)
	for i := range edgeCount(a) {
		p, q := a.corners[i], a.corners[(i+1)%len(a.corners)]
		d := r3.Sub(q, p)
		for j := range edgeCount(b) {
			r, s := b.corners[j], b.corners[(j+1)%len(b.corners)]
			e := r3.Sub(s, r)
			det := d.X*e.Y - d.Y*e.X // (d×e)·n
			if crossingID(a, b, i, j, det < 0) != id || !(math.Abs(det) > leastCrossing*length(d)*length(e)) {
				continue
			}
			hx, hy := r.X-p.X, r.Y-p.Y
			t, u := (hx*e.Y-hy*e.X)/det, (hx*d.Y-hy*d.X)/det
			onA, onB := r3.Add(p, r3.Scale(t, d)), r3.Add(r, r3.Scale(u, e))
			// Nearly parallel edges cross at a place that rounding moves along them.
			off := math.Abs(onA.X-at.X) + math.Abs(onA.Y-at.Y)
			if off *= math.Abs(det) / (length(d)*length(e) + math.Abs(det)); !(off < best && off <= tolerance) {
				continue
			}
			best, found = off, true
			x = contactPair{armA: r3.Sub(onA, w.a.origin), armB: r3.Sub(onB, w.b.origin), s: onB.Z - onA.Z,
				c: r3.Cross(d, e), along: d, per: r3.Vec{X: e.Y / det, Y: -e.X / det}}
		}
	}
	return x, found
}

// nearest returns the ID of the candidate that is nearest to a place, of the pair that is placed.
func (w *Workspace) nearest(at r3.Vec, size float64) (id uint64, ok bool) {
	w.candidates = w.candidates[:0]
	w.cross(size)
	best := math.Inf(1)
	for i := range w.candidates {
		c := &w.candidates[i]
		middle := 0.5 * (c.a + c.b)
		if off := math.Abs(c.x-at.X) + math.Abs(c.y-at.Y) + math.Abs(middle-at.Z); off < best {
			best, id, ok = off, c.id, true
		}
	}
	return id, ok
}
