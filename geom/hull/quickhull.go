package hull

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/internal/poll"
)

// none marks the end of a list of points or facets.
const none = int32(-1)

// facet is a triangle of the growing hull.
type facet struct {
	v   [3]int32 // counter-clockwise seen from outside
	adj [3]int32 // facet across the edge v[i], v[i+1]

	n     r3.Vec  // float normal (v1−v0)×(v2−v0), not unit
	terms r3.Vec  // sums of the magnitudes of the products in each component of n
	bound float64 // filter bound good for every point of the cloud

	outside int32   // head of the list of points strictly above, linked by quickhull.next
	far     int32   // the one farthest above by float distance
	farDist float64 // in units of |n|
	visible uint32  // last round in which the facet was found visible
	dead    bool
}

// quickhull grows a closed triangulated surface that is the hull of the points added
// so far.
//
// A point is added if it is strictly above a facet, and the facets strictly below
// it are replaced by a fan of triangles over their boundary, the horizon. With exact
// signs this keeps the surface a closed, convex 2-manifold of triangles that are not
// degenerate, coplanar ones included: the facets that see p strictly are those that
// see p moved a little towards the inside, which lies on no facet plane, so they
// form a disc; and p is on no line through a horizon edge, else it were on the plane
// of the visible facet at that edge.
//
// A point above a removed facet that is above none of the new ones is inside the
// new hull: if it saw an old facet only, some horizon edge would lie between a
// removed facet and an old one that both see it; the new facet at that edge lies
// between their planes and would see it, too.
type quickhull struct {
	cloud  []r3.Vec
	ext    r3.Vec // extents of the bounding box
	facets []facet
	free   []int32
	next   []int32 // list links of the points
	work   []int32 // facets that may have points outside
	round  uint32

	stack   []int32
	removed []int32
	created []int32
	startAt []int32 // new facet whose horizon edge starts at a vertex

	poll poll.Poll
}

func newQuickhull(cloud []r3.Vec, s [4]int32, p poll.Poll) *quickhull {
	q := &quickhull{cloud: cloud, poll: p, next: make([]int32, len(cloud)), startAt: make([]int32, len(cloud))}
	q.ext = extents(cloud)
	if Orient3D(cloud[s[0]], cloud[s[1]], cloud[s[2]], cloud[s[3]]) > 0 {
		s[1], s[2] = s[2], s[1]
	}
	// s[3] is below the facet s[0], s[1], s[2].
	for _, v := range [4][3]int32{{s[0], s[1], s[2]}, {s[0], s[3], s[1]}, {s[1], s[3], s[2]}, {s[2], s[3], s[0]}} {
		q.created = append(q.created, q.newFacet(v))
	}
	q.facets[0].adj = [3]int32{1, 2, 3}
	q.facets[1].adj = [3]int32{3, 2, 0}
	q.facets[2].adj = [3]int32{1, 3, 0}
	q.facets[3].adj = [3]int32{2, 1, 0}
	for i := range cloud {
		q.assign(int32(i))
	}
	q.work = append(q.work, q.created...)
	return q
}

func (q *quickhull) newFacet(v [3]int32) int32 {
	f := facet{v: v, outside: none, far: none, farDist: math.Inf(-1)}
	a := q.cloud[v[0]]
	u, w := r3.Sub(q.cloud[v[1]], a), r3.Sub(q.cloud[v[2]], a)
	yz, zy := u.Y*w.Z, u.Z*w.Y
	zx, xz := u.Z*w.X, u.X*w.Z
	xy, yx := u.X*w.Y, u.Y*w.X
	f.n = r3.Vec{X: yz - zy, Y: zx - xz, Z: xy - yx}
	f.terms = r3.Vec{X: math.Abs(yz) + math.Abs(zy), Y: math.Abs(zx) + math.Abs(xz), Z: math.Abs(xy) + math.Abs(yx)}
	f.bound = filter3 * r3.Dot(f.terms, q.ext)
	if k := len(q.free); k > 0 {
		id := q.free[k-1]
		q.free = q.free[:k-1]
		q.facets[id] = f
		return id
	}
	q.facets = append(q.facets, f)
	return int32(len(q.facets) - 1)
}

// above reports, exactly, whether point p is strictly above f, and its float
// distance in units of |n|.
func (q *quickhull) above(f *facet, p int32) (bool, float64) {
	w := r3.Sub(q.cloud[p], q.cloud[f.v[0]])
	s := r3.Dot(f.n, w)
	if s > f.bound {
		return true, s
	}
	if s < -f.bound {
		return false, s
	}
	own := filter3 * (f.terms.X*math.Abs(w.X) + f.terms.Y*math.Abs(w.Y) + f.terms.Z*math.Abs(w.Z))
	switch {
	case s > own:
		return true, s
	case s < -own, own == 0:
		return false, s
	}
	return orient3DExact(q.cloud[f.v[0]], q.cloud[f.v[1]], q.cloud[f.v[2]], q.cloud[p]) > 0, s
}

// assign puts p on the list of the first created facet that it is above, if any.
// Of points equally far from a facet the lexicographically last is preferred:
// it is extreme among them, so it will not be swallowed by a later one.
func (q *quickhull) assign(p int32) {
	if q.poll.Stopped() { // the surface is of no use, and the points on it may be lost
		return
	}
	for _, id := range q.created {
		f := &q.facets[id]
		ok, s := q.above(f, p)
		if !ok {
			continue
		}
		q.next[p] = f.outside
		f.outside = p
		if s > f.farDist || s == f.farDist && p > f.far {
			f.far, f.farDist = p, s
		}
		return
	}
}

func (q *quickhull) run() {
	for len(q.work) > 0 && !q.poll.Stopped() {
		id := q.work[len(q.work)-1]
		q.work = q.work[:len(q.work)-1]
		if f := &q.facets[id]; !f.dead && f.outside != none {
			q.add(f.far, id)
		}
	}
}

// add makes p a vertex; p is strictly above the facet seed.
func (q *quickhull) add(p, seed int32) {
	q.round++
	q.created = q.created[:0]
	q.removed = append(q.removed[:0], seed)
	q.facets[seed].visible = q.round
	q.stack = append(q.stack[:0], seed)
	for len(q.stack) > 0 {
		id := q.stack[len(q.stack)-1]
		q.stack = q.stack[:len(q.stack)-1]
		for i := range 3 {
			across := q.facets[id].adj[i]
			g := &q.facets[across]
			if g.visible == q.round {
				continue
			}
			if ok, _ := q.above(g, p); ok {
				g.visible = q.round
				q.removed = append(q.removed, across)
				q.stack = append(q.stack, across)
			}
		}
	}
	for _, id := range q.removed {
		for i := range 3 {
			if f := &q.facets[id]; q.facets[f.adj[i]].visible != q.round {
				q.raise(f.v[i], f.v[(i+1)%3], f.adj[i], p)
			}
		}
	}
	for _, id := range q.created {
		succ := q.startAt[q.facets[id].v[1]]
		q.facets[id].adj[1] = succ
		q.facets[succ].adj[2] = id
	}
	for _, id := range q.removed {
		q.facets[id].dead = true
		for r := q.facets[id].outside; r != none; {
			next := q.next[r]
			if r != p {
				q.assign(r)
			}
			r = next
		}
	}
	q.free = append(q.free, q.removed...)
	for _, id := range q.created {
		if q.facets[id].outside != none {
			q.work = append(q.work, id)
		}
	}
}

// raise makes the facet from the horizon edge a, b to p; outer is the facet that
// stays across the edge.
func (q *quickhull) raise(a, b, outer, p int32) {
	id := q.newFacet([3]int32{a, b, p})
	q.facets[id].adj[0] = outer
	g := &q.facets[outer]
	for i := range 3 {
		if g.v[i] == b && g.v[(i+1)%3] == a {
			g.adj[i] = id
		}
	}
	q.startAt[a] = id
	q.created = append(q.created, id)
}

// extract returns the extreme points (ascending) and the faces of the finished
// surface as counter-clockwise polygons of extreme points.
//
// A face is a maximal set of coplanar facets. It is a disc, so it is connected across
// edges, and it is found by joining neighbours that are exactly coplanar. A vertex
// where three or more faces meet is extreme; where two meet it lies within an edge,
// and within a face where there is but one.
func (q *quickhull) extract() (vertices []int32, faces [][]int32) {
	face, members := q.mergeCoplanar()
	extreme := q.extremePoints(face)
	for i, ok := range extreme {
		if ok {
			vertices = append(vertices, int32(i))
		}
	}
	succ := make([]int32, len(q.cloud)) // next vertex along the boundary of the face
	for id, list := range members {
		first := none
		for _, t := range list {
			f := &q.facets[t]
			for i := range 3 {
				if face[f.adj[i]] == int32(id) {
					continue
				}
				succ[f.v[i]] = f.v[(i+1)%3]
				if extreme[f.v[i]] {
					first = f.v[i]
				}
			}
		}
		ring := []int32{first}
		for v := succ[first]; v != first; v = succ[v] {
			if extreme[v] {
				ring = append(ring, v)
			}
		}
		faces = append(faces, ring)
	}
	return vertices, faces
}

// mergeCoplanar returns the face of every live facet (none for dead ones) and the
// facets of every face.
func (q *quickhull) mergeCoplanar() (face []int32, members [][]int32) {
	face = make([]int32, len(q.facets))
	for i := range face {
		face[i] = none
	}
	for i := range q.facets {
		if q.facets[i].dead || face[i] != none {
			continue
		}
		id := int32(len(members))
		list := []int32{int32(i)}
		face[i] = id
		for k := 0; k < len(list); k++ {
			f := &q.facets[list[k]]
			for e, across := range f.adj {
				if face[across] == none && q.coplanar(f, e) {
					face[across] = id
					list = append(list, across)
				}
			}
		}
		members = append(members, list)
	}
	return face, members
}

// coplanar reports whether the facet across edge e lies in the plane of f.
func (q *quickhull) coplanar(f *facet, e int) bool {
	g := &q.facets[f.adj[e]]
	for _, v := range g.v {
		if v != f.v[e] && v != f.v[(e+1)%3] {
			return Orient3D(q.cloud[f.v[0]], q.cloud[f.v[1]], q.cloud[f.v[2]], q.cloud[v]) == 0
		}
	}
	return true // not reached: facets differ in a vertex
}

// extremePoints tells for every point whether three faces meet there.
func (q *quickhull) extremePoints(face []int32) []bool {
	seen := make([][2]int32, len(q.cloud)) // the first two faces met
	for i := range seen {
		seen[i] = [2]int32{none, none}
	}
	extreme := make([]bool, len(q.cloud))
	for i := range q.facets {
		if q.facets[i].dead {
			continue
		}
		for _, v := range q.facets[i].v {
			switch s := &seen[v]; {
			case s[0] == none:
				s[0] = face[i]
			case s[0] == face[i], s[1] == face[i]:
			case s[1] == none:
				s[1] = face[i]
			default:
				extreme[v] = true
			}
		}
	}
	return extreme
}

// polygon returns the extreme points of a flat set, counter-clockwise around the
// normal of the triangle s[0:3] of its points. Dropping a coordinate along which
// that normal has a component is an affine bijection of the plane, so the exact hull
// of the projections (Andrew's monotone chain) is the exact hull of the points.
func polygon(cloud []r3.Vec, s [4]int32) []int32 {
	axis, turn := 0, 0
	for axis = range 3 {
		turn = orient2D(project(cloud[s[0]], axis), project(cloud[s[1]], axis), project(cloud[s[2]], axis))
		if turn != 0 {
			break
		}
	}
	flat := make([]point2, len(cloud))
	order := make([]int32, len(cloud))
	for i, p := range cloud {
		flat[i], order[i] = project(p, axis), int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(flat[i].x, flat[j].x), cmp.Compare(flat[i].y, flat[j].y))
	})
	var ring []int32
	chain := func() {
		floor := len(ring) + 1
		for _, i := range order {
			for len(ring) > floor && orient2D(flat[ring[len(ring)-2]], flat[ring[len(ring)-1]], flat[i]) <= 0 {
				ring = ring[:len(ring)-1]
			}
			ring = append(ring, i)
		}
		ring = ring[:len(ring)-1] // the other chain starts there
	}
	chain()
	slices.Reverse(order)
	chain()
	if turn < 0 {
		slices.Reverse(ring)
	}
	return ring
}
