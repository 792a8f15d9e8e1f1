package contact

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/geom/hull"
)

// The features of a shape: Go finds them once a shape, for the kernels too; how a feature is chosen for a direction is
// plain text beside the kernel, see manifold.go.

// form says which features a core has.
type form uint8

const (
	formUnknown  form = iota
	formPoint         // no flat feature: contact is at the witnesses
	formSegment       // along local z
	formFrustum       // two caps, one of which may be a point, and a side
	formPolytope      // vertices, edges and faces
	formPlane         // of a half-space
)

// forms has a line for every family of cores.
var forms = [geom.FamilyCount]form{
	geom.FamilyPoint:            formPoint,
	geom.FamilySegment:          formSegment,
	geom.FamilyFrustum:          formFrustum,
	geom.FamilyBox:              formPolytope,
	geom.FamilyEllipsoid:        formPoint,
	geom.FamilySuperquadric:     formPoint,
	geom.FamilySmoothHull:       formPoint,
	geom.FamilySmoothRevolution: formPoint,
	geom.FamilyHull:             formPolytope,
	geom.FamilyHalfspace:        formPlane,
}

// Features are the faces and edges of a shape, and the adjacency by which they are found. They are built once per
// shape, immutable, and safe for any number of goroutines. Curved shapes have none.
type Features struct {
	shape  geom.Shape
	radius float64 // of the ball around the core, with the margin
	center float64 // distance of the center from the local origin
	size   float64 // bounding radius; of half-spaces the margin
	form   form
	ball   bool // the core is the local origin

	half, bottom, top float64 // half length, radii of segments and frusta
	slant             float64 // length of the side of a frustum

	hull      *hull.Hull
	face      []face
	faceStart []int32 // [V+1] the faces at vertex v are faces[faceStart[v]:faceStart[v+1]]
	faces     []int32
}

// NewFeatures returns the features of a valid shape. It refuses kinds that it does not know.
func NewFeatures(s geom.Shape) (*Features, error) {
	core, _ := geom.WithoutMargin(s)
	f := &Features{shape: s, radius: s.Radius(), center: r3.Norm(s.Center()), size: s.BoundingRadius()}
	if math.IsInf(f.size, 1) {
		f.size = f.radius
	}
	f.form = forms[core.Kind().Family()]
	if err := f.setCore(core); err != nil {
		return nil, err
	}
	f.slant = math.Hypot(f.bottom-f.top, 2*f.half)
	switch core.(type) {
	case geom.Sphere, geom.Capsule:
		f.ball = f.form == formPoint
	}
	return f, nil
}

// setCore sets what depends on the kind of the core.
func (f *Features) setCore(core geom.Shape) error {
	switch c := core.(type) {
	case geom.Sphere, geom.Halfspace, geom.Ellipsoid, geom.Superquadric, *geom.SmoothHull, *geom.SmoothRevolution:
	case geom.Capsule:
		f.half = c.HalfLength
		if f.half == 0 {
			f.form = formPoint
		}
	case geom.FrustumShape:
		f.bottom, f.top, f.half = c.Discs()
	case geom.Box:
		f.setHull(boxHull(c.HalfExtents))
	case *geom.Convex:
		f.setHull(c.Hull())
	default:
		return fmt.Errorf("contact: no contact points of the kind %v", core.Kind())
	}
	return nil
}

// Shape returns the shape.
func (f *Features) Shape() geom.Shape { return f.shape }

// boxHull is the hull of the corners of a box.
func boxHull(half r3.Vec) *hull.Hull {
	var corners []r3.Vec
	for i := range 8 {
		sign := func(bit int) float64 { return float64(2*(i>>bit&1) - 1) }
		corners = append(corners, r3.Vec{X: sign(0) * half.X, Y: sign(1) * half.Y, Z: sign(2) * half.Z})
	}
	h, err := hull.Build(corners)
	if err != nil {
		panic("contact: a valid box: " + err.Error()) // not reached: its corners are finite
	}
	return h
}

// edge is the number of the edge between two neighbouring vertices; a segment has the edge 0, and so have edges within
// a merged face.
func (f *Features) edge(v, w int32) int32 {
	for _, k := range f.faces[f.faceStart[v]:f.faceStart[v+1]] {
		at := &f.face[k]
		for i, a := range at.corners {
			b := at.corners[(i+1)%len(at.corners)]
			if a == v && b == w || a == w && b == v {
				return at.edges[i]
			}
		}
	}
	return 0
}

// Numbers of the features of segments and frusta; those of polytopes are indices. The sector of a rim is added to its
// first number.
const (
	lowerEnd  = 0
	upperEnd  = 1
	lowerRim  = 16
	upperRim  = 32
	rimPoints = 16 // corners of the polygon inscribed into a rim; a multiple of 4
)

// rim has the cosine and sine of each corner of a rim.
var rim = func() (at [rimPoints][2]float64) {
	for i := range at {
		at[i][1], at[i][0] = math.Sincos(2 * math.Pi * float64(i) / rimPoints)
	}
	return at
}()

// Limits of the choice of a feature.
const (
	mostTilt = 0.70710678118654752440 // √½: cosine, and sine, of the largest angle of a normal and that of a face, 45°
	level    = 1e-4                   // sine of the tilt below which the corners of a rim are fixed in the body
)

// flat is the feature of one shape in the frame of the manifold: x and y in the tangent plane, z along the normal.
type flat struct {
	corners []r3.Vec // of the core, in metres; none: no feature
	vertex  []uint32 // number of each corner
	edges   []uint32 // number of the edge that begins at each corner
	plane   bool     // a half-space: the plane through the only corner, which is not a vertex
	disc    bool     // inscribed into a rim
	normal  r3.Vec   // outward normal of a face; zero for a segment
	slack   float64  // distance of its points from the plane, where they are not exactly in one
}

func (f *flat) reset() {
	f.corners, f.vertex, f.edges = f.corners[:0], f.vertex[:0], f.edges[:0]
	f.plane, f.disc, f.normal, f.slack = false, false, r3.Vec{}, 0
}

func (f *flat) add(p r3.Vec, vertex, edge uint32) {
	f.corners = append(f.corners, p)
	f.vertex = append(f.vertex, vertex)
	f.edges = append(f.edges, edge)
}

// segment reports whether the feature is an edge.
func (f *flat) segment() bool { return len(f.corners) == 2 && f.normal == r3.Vec{} }

// heightAt returns z of the plane of a face or half-space over (x, y).
func (f *flat) heightAt(x, y float64) float64 {
	q, n := f.corners[0], f.normal
	return q.Z - ((x-q.X)*n.X+(y-q.Y)*n.Y)/n.Z
}

// placed is a shape in the frame of the manifold.
type placed struct {
	*Features
	rot    geom.Mat3 // of the local frame
	origin r3.Vec
}

// supportPoint is a support point of the core; of a polytope the first vertex of the largest support value as rounded,
// as the kernels find it.
func (p *placed) supportPoint(d r3.Vec) r3.Vec {
	if p.form == formPolytope {
		return p.hull.Vertices[p.hull.SupportLinear(d)]
	}
	return p.shape.CoreSupport(d)
}

func (p *placed) at(v r3.Vec) r3.Vec { return r3.Add(p.rot.MulVec(v), p.origin) }

// find sets out to the feature of the core whose outward normal is most aligned with d, a unit vector of the local
// frame. The face at the support vertex is taken if its normal is within 45° of d, else an edge there that is within
// 45° of being perpendicular to d, else none.
func (p *placed) find(d r3.Vec, out *flat) {
	out.reset()
	switch p.form {
	case formPlane:
		out.plane = true
		out.normal = p.rot.MulVec(r3.Vec{Z: 1})
		out.add(p.origin, 0, 0)
	case formSegment:
		if math.Abs(d.Z) <= mostTilt {
			out.add(p.at(r3.Vec{Z: -p.half}), lowerEnd, 0)
			out.add(p.at(r3.Vec{Z: p.half}), upperEnd, 0)
		}
	case formFrustum:
		p.findFrustum(d, out)
	case formPolytope:
		p.findPolytope(d, out)
	}
}

// lateral returns the direction in which the lowest corner of a rim lies along d, a unit vector of the frame of the
// shape, and the length of the part of d across the axis.
func lateral(d r3.Vec) (x, y, length float64) {
	length = math.Sqrt(d.X*d.X + d.Y*d.Y)
	if length >= level {
		return d.X / length, d.Y / length, length
	}
	return 1, 0, length
}

// onRim is corner i of a rim at z, whose corner 0 lies in the direction of x and y.
func onRim(radius, z, x, y float64, i uint32) r3.Vec {
	cos, sin := rim[i][0], rim[i][1]
	return r3.Vec{X: radius * (x*cos - y*sin), Y: radius * (y*cos + x*sin), Z: z}
}

// findFrustum takes a cap or the generator of the side that faces d.
func (p *placed) findFrustum(d r3.Vec, out *flat) {
	x, y, l := lateral(d)
	side := (2*p.half*l + (p.bottom-p.top)*d.Z) / p.slant
	radius, z, first := p.top, p.half, uint32(upperRim)
	if d.Z < 0 {
		radius, z, first = p.bottom, -p.half, lowerRim
	}
	switch {
	case radius > 0 && math.Abs(d.Z) >= max(side, mostTilt):
		out.disc = true
		out.normal = p.rot.MulVec(r3.Vec{Z: math.Copysign(1, z)})
		for k := range uint32(rimPoints) {
			i := k
			if z < 0 { // counter-clockwise as seen from outside
				i = (rimPoints - k) % rimPoints
			}
			out.add(p.at(onRim(radius, z, x, y, i)), first+i, first+k)
		}
	case side >= mostTilt:
		out.add(p.at(r3.Vec{X: p.bottom * x, Y: p.bottom * y, Z: -p.half}), lowerEnd, 0)
		out.add(p.at(r3.Vec{X: p.top * x, Y: p.top * y, Z: p.half}), upperEnd, 0)
	}
}

// findPolytope takes a face or an edge at the support vertex.
func (p *placed) findPolytope(d r3.Vec, out *flat) {
	h := p.hull
	v := int32(h.SupportLinear(d))
	best, aligned := int32(-1), mostTilt
	for _, k := range p.faces[p.faceStart[v]:p.faceStart[v+1]] {
		if c := r3.Dot(d, p.face[k].normal); c >= aligned {
			best, aligned = k, c
		}
	}
	if best >= 0 {
		at := &p.face[best]
		out.normal, out.slack = p.rot.MulVec(at.normal), at.slack
		for i, c := range at.corners {
			out.add(p.at(h.Vertices[c]), uint32(c), uint32(at.edges[i]))
		}
		return
	}
	end, least := int32(-1), mostTilt
	for _, w := range h.Adj[h.Start[v]:h.Start[v+1]] {
		along := r3.Sub(h.Vertices[w], h.Vertices[v])
		if s := math.Abs(r3.Dot(d, along)) / length(along); s <= least {
			end, least = w, s
		}
	}
	if end >= 0 {
		a, b := min(v, end), max(v, end)
		e := uint32(p.edge(a, b))
		out.add(p.at(h.Vertices[a]), uint32(a), e)
		out.add(p.at(h.Vertices[b]), uint32(b), e)
	}
}

// face is a face of a polytope: one of its hull, or several neighbours that are nearly in one plane.
type face struct {
	normal  r3.Vec
	corners []int32 // vertices, counter-clockwise as seen from outside
	edges   []int32 // number of the edge that begins at each corner
	slack   float64 // largest distance of a vertex from the plane of the corners' first face, metres
}

// flatness is the deviation from a plane, relative to the size of a hull, up to which neighbouring faces are merged.
// Meshes in single precision have faces that are flat to 1e-7 of the size; without merging, the face at a support
// vertex and so the IDs of points would change with every motion.
const flatness = 1e-6

// setHull builds faces and their adjacency.
func (f *Features) setHull(h *hull.Hull) {
	f.hull = h
	if h.Dim == 0 {
		f.form = formPoint
		return
	}
	f.faceStart = make([]int32, len(h.Vertices)+1)
	m := newMerger(h)
	byVertex := make([][]int32, len(h.Vertices))
	for _, group := range m.groups(flatness * f.size) {
		f.face = append(f.face, m.join(group))
		for _, k := range group {
			for i := range h.FaceCorners(int(k)) {
				v, at := h.FaceCorner(int(k), i), int32(len(f.face)-1)
				if list := byVertex[v]; len(list) == 0 || list[len(list)-1] != at {
					byVertex[v] = append(list, at)
				}
			}
		}
	}
	for v, list := range byVertex {
		f.faceStart[v+1] = f.faceStart[v] + int32(len(list))
	}
	f.faces = slices.Concat(byVertex...)
}

// merger merges the faces of a hull, the maximal sets of exactly coplanar triangles.
type merger struct {
	h     *hull.Hull
	at    map[[2]int32]int32 // face that has a side in this direction
	edges map[[2]int32]int32 // undirected edges, numbered in the order of the faces
	faces int
}

func newMerger(h *hull.Hull) *merger {
	m := &merger{h: h, at: map[[2]int32]int32{}, edges: map[[2]int32]int32{}, faces: max(len(h.FaceStart)-1, 0)}
	for k := range int32(m.faces) {
		for i := range h.FaceCorners(int(k)) {
			v, w := m.side(k, i)
			m.at[[2]int32{v, w}] = k
			key := [2]int32{min(v, w), max(v, w)}
			if _, ok := m.edges[key]; !ok {
				m.edges[key] = int32(len(m.edges))
			}
		}
	}
	return m
}

// side is the side of a face that begins at corner i.
func (m *merger) side(k int32, i int) (v, w int32) {
	n := m.h.FaceCorners(int(k))
	return int32(m.h.FaceCorner(int(k), i)), int32(m.h.FaceCorner(int(k), (i+1)%n))
}

func (m *merger) normal(k int32) r3.Vec { return m.h.Normals[m.h.FaceStart[k]] }

// groups lists sets of connected faces whose vertices are all within the deviation of the plane of the first, the
// largest one. Each face is in one set.
func (m *merger) groups(deviation float64) (groups [][]int32) {
	area := make([]float64, m.faces)
	order := make([]int32, m.faces)
	for k := range order {
		order[k] = int32(k)
		p := m.h.Vertices[m.h.FaceCorner(k, 0)]
		for i := 1; i+1 < m.h.FaceCorners(k); i++ {
			q, r := m.h.Vertices[m.h.FaceCorner(k, i)], m.h.Vertices[m.h.FaceCorner(k, i+1)]
			area[k] += r3.Norm(r3.Cross(r3.Sub(q, p), r3.Sub(r, p)))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(area[b], area[a]) })
	taken := make([]bool, m.faces)
	for _, seed := range order {
		if taken[seed] {
			continue
		}
		taken[seed] = true
		group := []int32{seed}
		for next := 0; next < len(group); next++ {
			for i := range m.h.FaceCorners(int(group[next])) {
				v, w := m.side(group[next], i)
				k, ok := m.at[[2]int32{w, v}]
				if ok && !taken[k] && r3.Dot(m.normal(seed), m.normal(k)) > mostTilt &&
					m.deviation(seed, k) <= deviation {
					taken[k] = true
					group = append(group, k)
				}
			}
		}
		groups = append(groups, group)
	}
	return groups
}

// deviation is the largest distance of a vertex of face k from the plane of another face.
func (m *merger) deviation(of, k int32) (most float64) {
	n := m.normal(of)
	o := r3.Dot(n, m.h.Vertices[m.h.FaceCorner(int(of), 0)])
	for i := range m.h.FaceCorners(int(k)) {
		most = max(most, math.Abs(r3.Dot(n, m.h.Vertices[m.h.FaceCorner(int(k), i)])-o))
	}
	return most
}

// join returns the face of a group.
func (m *merger) join(group []int32) face {
	out := face{normal: m.normal(group[0])}
	next := map[int32]int32{} // along the boundary of the group
	in := map[int32]bool{}
	for _, k := range group {
		in[k] = true
	}
	for _, k := range group {
		if k != group[0] {
			out.slack = max(out.slack, m.deviation(group[0], k))
		}
		for i := range m.h.FaceCorners(int(k)) {
			v, w := m.side(k, i)
			if other, ok := m.at[[2]int32{w, v}]; !ok || !in[other] || len(group) == 1 {
				next[v] = w
			}
		}
	}
	start := int32(m.h.FaceCorner(int(group[0]), 0))
	for v := range next { // the least vertex of the boundary, whatever the order of the map
		if _, ok := next[start]; !ok || len(group) > 1 && v < start {
			start = v
		}
	}
	for v := start; ; {
		out.corners = append(out.corners, v)
		w := next[v]
		out.edges = append(out.edges, m.edges[[2]int32{min(v, w), max(v, w)}])
		if v = w; v == start || len(out.corners) > len(next) {
			break
		}
	}
	m.dropReflex(&out)
	return out
}

// dropReflex leaves corners out at which the boundary is reflex, which merged faces may have by their deviation.
func (m *merger) dropReflex(f *face) {
	for i := 0; f.slack > 0 && i < len(f.corners) && len(f.corners) > 3; i++ {
		n := len(f.corners)
		p, q, r := m.h.Vertices[f.corners[(i+n-1)%n]], m.h.Vertices[f.corners[i]], m.h.Vertices[f.corners[(i+1)%n]]
		if r3.Dot(f.normal, r3.Cross(r3.Sub(q, p), r3.Sub(r, q))) < 0 {
			f.corners, f.edges = slices.Delete(f.corners, i, i+1), slices.Delete(f.edges, i, i+1)
			i = max(i-2, -1)
		}
	}
}
