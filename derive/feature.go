package derive

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/geom/hull"
)

// feature is what a shape looks like at a support point, to the second order: the point moves by
// H·dn + T·y where the outward normal moves by dn within the body, and T·dn = 0.
type feature struct {
	point  r3.Vec    // of the whole shape, world axes, origin at the position of A
	h      sym2      // Hessian of the support function across T
	t      [2]r3.Vec // orthonormal basis of the flat feature, world axes
	flat   int       // its dimension: 0 vertex or curved surface, 1 edge, 2 face
	inside float64   // metres by which the point lies inside the feature, negative outside; +Inf without one

	curved bool // the shape is Smooth, with a Hessian
	ok     bool // false where the Hessian is not finite
}

// local is a feature in the frame of its core, without the ball.
type local struct {
	x      r3.Vec
	t      [2]r3.Vec
	flat   int
	inside float64

	round  r3.Vec // unit vector, and the Hessian across it: radius of curvature × round·roundᵀ
	radius float64
}

// at returns the feature that supports the shape in the unit direction d. Vertices whose support planes are
// within the angle theta count as one feature. hint is a point of it, which tells the place within the feature. e
// is a basis of the plane orthogonal to d.
func (w *Workspace) at(s *placed, d, hint r3.Vec, theta float64, e *basis) (f feature) {
	dl := s.rot.MulVecT(d)
	hl := s.rot.MulVecT(r3.Sub(hint, s.pos))
	hl = r3.Sub(hl, r3.Scale(s.radius, dl))
	l := local{inside: math.Inf(1)}
	f.ok = true
	switch c := s.core.(type) {
	case geom.Sphere:
		f.curved = true
	case geom.Capsule:
		l.segment(c.HalfLength, dl, hl, theta)
	case geom.Box:
		l.box(c.HalfExtents, dl, hl, theta)
	case geom.FrustumShape:
		bottom, top, half := c.Discs()
		l.frustum(bottom, top, half, dl, hl, theta)
	case *geom.Convex:
		w.hull(&l, c.Hull(), dl, hl, theta)
	case geom.Halfspace:
		l.x, l.t, l.flat = r3.Vec{X: hl.X, Y: hl.Y}, [2]r3.Vec{{X: 1}, {Y: 1}}, 2
	case geom.Smooth:
		f.curved = true
		l.x = c.CoreSupport(dl)
		var h geom.Mat3
		if h, f.ok = hessian(c, dl); f.ok {
			e0, e1 := s.rot.MulVecT(e[0]), s.rot.MulVecT(e[1])
			h0, h1 := h.MulVec(e0), h.MulVec(e1)
			f.h = sym2{r3.Dot(e0, h0), r3.Dot(e0, h1), r3.Dot(e1, h1)}
			sum := f.h[0] + f.h[2]
			f.ok = sum >= 0 && sum <= math.MaxFloat64
		}
	default:
		panic(unknown(c))
	}
	f.flat, f.inside = l.flat, l.inside
	for i := range l.flat {
		f.t[i] = s.rot.MulVec(l.t[i])
	}
	if l.radius > 0 {
		f.h.add(e.outer(l.radius, s.rot.MulVec(l.round)))
	}
	// The ball: its Hessian is that of the identity, and counts across the feature alone.
	f.h.add(sym2{s.radius, 0, s.radius})
	f.point = r3.Add(r3.Add(s.rot.MulVec(l.x), s.pos), r3.Scale(s.radius, d))
	return f
}

// leastComponent is the least component of a unit direction that counts for the Hessian of a superquadric: ten times
// what Newton's steps come down to.
const leastComponent = 10 * polished

// resolved is a direction without the components that rounding makes. Curvatures of superquadrics are powers of them,
// infinite or zero at zero: a pose with axes that are aligned would have those of its rounding. ok is false for a power
// by which curvatures beside zero differ from that at zero even so.
func resolved(core geom.Smooth, d r3.Vec) (_ r3.Vec, ok bool) {
	c, superquadric := core.(geom.Superquadric)
	if !superquadric {
		return d, true
	}
	d = r3.Vec{X: withoutRounding(d.X), Y: withoutRounding(d.Y), Z: withoutRounding(d.Z)}
	pole := d.X == 0 && d.Y == 0
	return d, (d.Z != 0 && !pole || isResolved(c.Alpha1)) && (d.X != 0 && d.Y != 0 || pole || isResolved(c.Alpha2))
}

// isResolved reports whether |u|^(e-2), e = 2/(2-α), differs from its value at u = 0 by less than 1e-3 where |u| is at
// most leastComponent: α is 1, or e - 2 at least 3/8.
func isResolved(alpha float64) bool { return alpha == 1 || 2/(2-alpha) >= 2.375 }

// hessian is that of the support function of a smooth core in the unit direction d.
func hessian(c geom.Smooth, d r3.Vec) (h geom.Mat3, ok bool) {
	d, resolved := resolved(c, d)
	h, ok = c.SupportHessian(d)
	return h, ok && resolved
}

func withoutRounding(x float64) float64 {
	if math.Abs(x) <= leastComponent {
		return 0
	}
	return x
}

// unknown is what a pass fails with that meets a kind without a case. A test takes every kind through all of them.
func unknown(s geom.Shape) string {
	return fmt.Sprintf("no derivatives of shapes of the kind %v", s.Kind())
}

// segment is a core along local z.
func (l *local) segment(half float64, d, hint r3.Vec, theta float64) {
	if half > 0 && math.Abs(d.Z) <= theta {
		l.x = r3.Vec{Z: hint.Z}
		l.t[0], l.flat = r3.Vec{Z: 1}, 1
		l.inside = half - math.Abs(hint.Z)
		return
	}
	l.x = r3.Vec{Z: math.Copysign(half, d.Z)}
}

func (l *local) box(half, d, hint r3.Vec, theta float64) {
	for _, axis := range [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}} {
		extent, along := r3.Dot(half, axis), r3.Dot(hint, axis)
		component := r3.Dot(d, axis)
		if math.Abs(component) > theta || l.flat == 2 {
			l.x = r3.Add(l.x, r3.Scale(math.Copysign(extent, component), axis))
			continue
		}
		l.x = r3.Add(l.x, r3.Scale(along, axis))
		l.t[l.flat] = axis
		l.flat++
		l.inside = min(l.inside, extent-math.Abs(along))
	}
}

// frustum is a core between discs of radius bottom and top at z = ∓half. On the side, which is a developable
// surface, the normal varies across the generatrix alone: with r the distance from the axis and ρ the horizontal part
// of d, the radius of curvature is r/ρ. It is the same on the rims, where the normal cone is an arc.
func (l *local) frustum(bottom, top, half float64, d, hint r3.Vec, theta float64) {
	rho := math.Hypot(d.X, d.Y)
	r, z := bottom, -half
	if (top-bottom)*rho+2*half*d.Z >= 0 {
		r, z = top, half
	}
	if rho <= theta && r > 0 {
		l.x = r3.Vec{X: hint.X, Y: hint.Y, Z: z}
		l.t, l.flat = [2]r3.Vec{{X: 1}, {Y: 1}}, 2
		l.inside = r - math.Hypot(hint.X, hint.Y)
		return
	}
	if rho == 0 { // an apex along the axis
		l.x = r3.Vec{Z: z}
		return
	}
	out := r3.Vec{X: d.X / rho, Y: d.Y / rho}
	length := math.Hypot(top-bottom, 2*half)
	if math.Abs((top-bottom)*rho+2*half*d.Z) <= theta*length {
		z = hint.Z
		r = bottom + (top-bottom)*(z+half)/(2*half)
		l.t[0] = r3.Add(r3.Scale((top-bottom)/length, out), r3.Vec{Z: 2 * half / length})
		l.flat = 1
		l.inside = (half - math.Abs(z)) * length / (2 * half)
	}
	l.x = r3.Add(r3.Scale(r, out), r3.Vec{Z: z})
	l.round, l.radius = r3.Vec{X: -out.Y, Y: out.X}, max(r, 0)/rho
}

// hull finds the face, edge or vertex of a hull that supports it in the direction d, up to the angle theta. The
// vertices of an exposed face are connected by edges, so they are found from one of them.
func (w *Workspace) hull(l *local, h *hull.Hull, d, hint r3.Vec, theta float64) {
	first := h.Support(d)
	x := h.Vertices[first]
	l.x = x
	w.face = append(w.face[:0], int32(first))
	for k := 0; k < len(w.face); k++ {
		i := w.face[k]
		for _, j := range h.Adj[h.Start[i]:h.Start[i+1]] {
			v := r3.Sub(x, h.Vertices[j])
			if r3.Dot(d, v) <= theta*r3.Norm(v) && !slices.Contains(w.face, j) {
				w.face = append(w.face, j)
			}
		}
	}
	if len(w.face) == 1 {
		return
	}
	far, length := x, 0.0
	for _, i := range w.face[1:] {
		if s := r3.Norm(r3.Sub(h.Vertices[i], x)); s > length {
			far, length = h.Vertices[i], s
		}
	}
	l.t[0] = r3.Scale(1/length, r3.Sub(far, x))
	l.flat = 1
	var side r3.Vec
	across := 0.0
	for _, i := range w.face[1:] {
		v := r3.Sub(h.Vertices[i], x)
		v = r3.Sub(v, r3.Scale(r3.Dot(v, l.t[0]), l.t[0]))
		if s := r3.Norm(v); s > across {
			side, across = v, s
		}
	}
	rel := r3.Sub(hint, x)
	if len(w.face) == 2 || !(across > 1e-12*length) {
		along := r3.Dot(rel, l.t[0])
		l.x = r3.Add(x, r3.Scale(along, l.t[0]))
		l.inside = min(along, length-along)
		return
	}
	l.t[1] = r3.Scale(1/across, side)
	l.flat = 2
	p := vec2{r3.Dot(rel, l.t[0]), r3.Dot(rel, l.t[1])}
	l.x = r3.Add(x, r3.Add(r3.Scale(p[0], l.t[0]), r3.Scale(p[1], l.t[1])))
	l.inside = w.insidePolygon(h, x, l.t, p)
}

// insidePolygon returns the distance of p from the nearest side of the polygon of the vertices w.face, negative
// outside. Coordinates are along t, from x. The corners are in convex position, so that their angles about the
// mean order them.
func (w *Workspace) insidePolygon(h *hull.Hull, x r3.Vec, t [2]r3.Vec, p vec2) float64 {
	w.corners = w.corners[:0]
	var mean vec2
	for _, i := range w.face {
		v := r3.Sub(h.Vertices[i], x)
		c := vec2{r3.Dot(v, t[0]), r3.Dot(v, t[1])}
		mean[0] += c[0] / float64(len(w.face))
		mean[1] += c[1] / float64(len(w.face))
		w.corners = append(w.corners, c)
	}
	slices.SortFunc(w.corners, func(a, b vec2) int {
		angleA := math.Atan2(a[1]-mean[1], a[0]-mean[0])
		angleB := math.Atan2(b[1]-mean[1], b[0]-mean[0])
		switch {
		case angleA < angleB:
			return -1
		case angleA > angleB:
			return 1
		}
		return 0
	})
	inside := math.Inf(1)
	for i, a := range w.corners {
		b := w.corners[(i+1)%len(w.corners)]
		side := vec2{b[0] - a[0], b[1] - a[1]}
		if s := math.Hypot(side[0], side[1]); s > 0 {
			inside = min(inside, cross2(side, vec2{p[0] - a[0], p[1] - a[1]})/s)
		}
	}
	return inside
}
