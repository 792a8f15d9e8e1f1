package contact

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// The derivative of a normal between parallel features, which package derive has none of.
//
// Where the normal of a pair is that of a face, it rotates with the body of that face: dn = ω×n. Of two parallel faces
// one determines it. If the face of B lies inside that of A, a small rotation of B leaves a vertex of B over the face
// of A, and the normal is still that of A. If neither face lies inside the other, the body that the normal follows
// depends on the rotation.

// FaceOwner says which body a normal rotates with.
type FaceOwner uint8

// Owners of a normal.
const (
	NoFace     FaceOwner = iota // the normal is that of no face
	FaceOfA                     // it is that of a face of A
	FaceOfB                     // it is that of a face of B
	EitherFace                  // it is that of two parallel faces, neither inside the other
)

const (
	parallelFaces = 1e-5 // the largest sine between a normal and that of a face that count as parallel
	insideFace    = 1e-9 // distance from the boundary, relative to the size of the pair, that counts as inside
	shallow       = 0.1  // largest depth relative to the width of a face and the thickness of the shapes
)

// FaceOwner returns the body that the normal of a pair rotates with. certain says that it does for all small motions:
// the feature of the other body lies inside the face, and the overlap is so shallow that no other normal is as good.
func (w *Workspace) FaceOwner(p *Pair) (owner FaceOwner, certain bool) {
	switch {
	case p.A.form == formPlane:
		return FaceOfA, true
	case p.B.form == formPlane:
		return FaceOfB, true
	}
	w.place(p)
	a, b := &w.fa, &w.fb
	isFace := func(f *flat) bool { return math.Hypot(f.normal.X, f.normal.Y) <= parallelFaces && f.normal.Z != 0 }
	faceA, faceB := isFace(a), isFace(b)
	least, depth := insideFace*(p.A.size+p.B.size), -p.Distance
	deep := depth > least && !(depth <= shallow*min(p.A.shape.Inradius(), p.B.shape.Inradius()))
	holds := func(face, other *flat) bool {
		return !deep && isWithin(other, face, least) && !(depth > shallow*width(face))
	}
	switch {
	case faceA && holds(a, b):
		return FaceOfA, true
	case faceB && holds(b, a):
		return FaceOfB, true
	case faceA && faceB:
		return EitherFace, false
	case faceA:
		return FaceOfA, false
	case faceB:
		return FaceOfB, false
	}
	return NoFace, false
}

// isWithin reports whether the projection of a feature lies inside that of a face, farther than least from its
// boundary. A rim counts as a circle.
func isWithin(f, face *flat, least float64) bool {
	if len(f.corners) == 0 {
		return false
	}
	center, radius := circle(face)
	of, reach := circle(f)
	switch {
	case face.disc && f.disc:
		return math.Hypot(of.X-center.X, of.Y-center.Y)+reach < radius-least
	case face.disc:
		for _, c := range f.corners {
			if !(math.Hypot(c.X-center.X, c.Y-center.Y) < radius-least) {
				return false
			}
		}
		return true
	}
	sign := math.Copysign(1, face.normal.Z)
	n := len(face.corners)
	for i := range n {
		p, q := face.corners[i], face.corners[(i+1)%n]
		ex, ey := q.X-p.X, q.Y-p.Y
		l := math.Sqrt(ex*ex + ey*ey)
		from := func(c r3.Vec) float64 { return sign * (ex*(c.Y-p.Y) - ey*(c.X-p.X)) / l }
		if f.disc {
			if !(from(of)-reach > least) {
				return false
			}
			continue
		}
		for _, c := range f.corners {
			if !(from(c) > least) {
				return false
			}
		}
	}
	return true
}

// circle is the center and radius of a rim.
func circle(f *flat) (center r3.Vec, radius float64) {
	if !f.disc {
		return center, 0
	}
	p, q := f.corners[0], f.corners[rimPoints/2]
	return r3.Scale(0.5, r3.Add(p, q)), 0.5 * math.Hypot(p.X-q.X, p.Y-q.Y)
}

// width is a lower bound of the width of a face: the least, over its sides, of the distance of the farthest corner.
func width(f *flat) float64 {
	least := math.Inf(1)
	n := len(f.corners)
	for i := range n {
		p, q := f.corners[i], f.corners[(i+1)%n]
		ex, ey := q.X-p.X, q.Y-p.Y
		most := 0.0
		for _, c := range f.corners {
			most = max(most, math.Abs(ex*(c.Y-p.Y)-ey*(c.X-p.X)))
		}
		least = min(least, most/math.Sqrt(ex*ex+ey*ey))
	}
	return least
}
