// Package tessellate makes triangle meshes of shapes, to be drawn and to be hit by rays.
//
// A mesh is the convex hull of points of the surface: the vertices of polytopes, else support points in chosen
// directions. So it is convex, lies in the shape up to rounding, and has all its vertices on the surface. Boxes and
// hulls without a margin are exact. No answer of a query depends on a mesh.
//
// # Layers and threads
//
// tessellate imports geom and geom/hull. A Mesh is not changed once it was made. Functions may be called by several
// goroutines. An error says that a shape is not valid, and names its kind.
package tessellate

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/geom/hull"
)

// A Mesh is a convex surface in the local frame of its shape, in metres. A flat shape has two sides. A segment has two
// vertices, an edge and no triangle; a point has a vertex alone.
type Mesh struct {
	// Vertices and Normals are [V]. A point of the surface where faces meet at a crease stands there once for each.
	// Normals are unit vectors for shading.
	Vertices, Normals []r3.Vec

	// Triangles are counter-clockwise seen from outside.
	Triangles [][3]int32

	// Edges at creases, as indices of vertices: the lines of an outline.
	Edges [][2]int32

	Center r3.Vec  // of a ball that contains the mesh,
	Radius float64 // and its radius
}

// The levels of detail. A level above has about four times the triangles.
const (
	Tiny   = iota // 20 triangles of a ball
	Coarse        // 80
	Medium
	Fine
)

// creaseCosine is the cosine of the angle between faces beyond which shapes with edges have a crease: more than the 30
// degrees between the faces of a coarse cylinder, less than the angle at the rim of most cones. Tiny cylinders have
// creases.
var creaseCosine = math.Cos(40 * math.Pi / 180)

// Halfspace is the mesh of a half-space: the square of half-width 1 of its boundary. It is scaled to what is seen.
func Halfspace() *Mesh {
	m := &Mesh{Radius: math.Sqrt2}
	for _, c := range [4][2]float64{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}} {
		m.Vertices = append(m.Vertices, r3.Vec{X: c[0], Y: c[1]})
		m.Normals = append(m.Normals, r3.Vec{Z: 1})
	}
	m.Triangles = [][3]int32{{0, 1, 2}, {0, 2, 3}}
	m.Edges = [][2]int32{{0, 1}, {1, 2}, {2, 3}, {3, 0}}
	return m
}

// Shape returns the mesh of a valid shape at a level of detail; the mesh of a half-space is [Halfspace].
func Shape(s geom.Shape, level int) (*Mesh, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("tessellate: %w", err)
	}
	f := s.Kind().Family()
	if f == geom.FamilyHalfspace {
		return Halfspace(), nil
	}
	core, _ := geom.WithoutMargin(s)
	polytope, err := polytopeOf(core)
	if err != nil {
		return nil, fmt.Errorf("tessellate: %s: %w", s.Kind(), err)
	}
	if polytope != nil && s.Radius() == 0 {
		return of(polytope, 1), nil
	}
	lo, hi := s.AABB()
	size := r3.Scale(0.5, r3.Sub(hi, lo))
	support := func(d r3.Vec) r3.Vec { return geom.Support(s, d) }
	var points []r3.Vec
	crease := creaseCosine
	if axis, ok := geom.RevolutionOf(s); ok && !axis.Ball && axis.Axis == (r3.Vec{Z: 1}) {
		points = revolved(support, size, s.BoundingRadius(), level)
	} else {
		points = sampled(support, size, level)
	}
	if s.Radius() > 0 || f.Traits().StrictlyConvex {
		crease = -1 // none
	}
	if polytope != nil {
		points = append(points, offsetFaces(polytope, s.Radius(), hull.MaxPoints-len(points))...)
	}
	h, err := hull.Build(points)
	if err != nil {
		return nil, fmt.Errorf("tessellate: %s: %w", s.Kind(), err)
	}
	return of(h, crease), nil
}

// Support returns the mesh of a bounded convex set by its support function, with creases. size are half-widths of a box
// about it, metres.
func Support(support func(d r3.Vec) r3.Vec, size r3.Vec, level int) (*Mesh, error) {
	h, err := hull.Build(sampled(support, size, level))
	if err != nil {
		return nil, fmt.Errorf("tessellate: %w", err)
	}
	return of(h, creaseCosine), nil
}

// Hull returns the mesh of the convex hull of points, with creases: smooth where points of a curved surface are dense.
func Hull(points []r3.Vec) (*Mesh, error) {
	h, err := hull.Build(points)
	if err != nil {
		return nil, fmt.Errorf("tessellate: %w", err)
	}
	return of(h, creaseCosine), nil
}

// polytopeOf returns the hull of a core with vertices and facets, nil of other cores.
func polytopeOf(core geom.Shape) (*hull.Hull, error) {
	switch c := core.(type) {
	case *geom.Convex:
		return c.Hull(), nil
	case geom.Box:
		var corners []r3.Vec
		for i := range 8 {
			d := r3.Vec{X: float64(i&1)*2 - 1, Y: float64(i>>1&1)*2 - 1, Z: float64(i>>2)*2 - 1}
			corners = append(corners, c.CoreSupport(d))
		}
		return hull.Build(corners)
	}
	return nil, nil
}

// offsetFaces returns the corners of the faces of a polytope, moved outwards by r, as far as there are no more than
// limit: the flat parts of its sum with a ball.
func offsetFaces(h *hull.Hull, r float64, limit int) (points []r3.Vec) {
	if 3*len(h.Facets) > limit {
		return nil // its round edges are narrow against the faces, and samples show them
	}
	for i, f := range h.Facets {
		for _, v := range f {
			points = append(points, r3.Add(h.Vertices[v], r3.Scale(r, h.Normals[i])))
		}
	}
	return points
}

// sampled returns support points in the directions of a geodesic sphere, divided by the half-widths of the set. So the
// points of an ellipsoid are the images of uniform ones, and needles have points along their sides.
func sampled(support func(r3.Vec) r3.Vec, size r3.Vec, level int) []r3.Vec {
	directions := sphere(level)
	points := make([]r3.Vec, len(directions))
	for i, d := range directions {
		points[i] = support(scaledDirection(d, size))
	}
	return points
}

// scaledDirection divides a direction by half-widths, of which flat sets have zero ones.
func scaledDirection(d, size r3.Vec) r3.Vec {
	least := 1e-6 * max(size.X, size.Y, size.Z)
	if least == 0 {
		return d
	}
	return r3.Unit(r3.Vec{X: d.X / max(size.X, least), Y: d.Y / max(size.Y, least), Z: d.Z / max(size.Z, least)})
}

// revolved returns support points of a solid of revolution about z: the points of a profile at equal longitudes.
func revolved(support func(r3.Vec) r3.Vec, size r3.Vec, radius float64, level int) (points []r3.Vec) {
	p := profile{
		at: func(latitude float64) r3.Vec {
			return support(scaledDirection(r3.Vec{X: math.Cos(latitude), Z: math.Sin(latitude)}, size))
		},
		edge: 2 * radius * math.Sin(math.Pi/float64(int(6)<<level)),
	}
	steps := 4 << level
	last := -math.Pi / 2
	p.add(last)
	for i := range steps {
		next := math.Pi * (float64(i+1)/float64(steps) - 0.5)
		p.between(last, next, p.at(last), p.at(next))
		p.add(next)
		last = next
	}
	longitudes := 6 << level
	for _, latitude := range p.latitudes {
		at := p.at(latitude)
		if math.Abs(at.X) <= 1e-12*radius {
			at.X = 0 // one pole, not as many as longitudes
		}
		for j := range longitudes {
			s, c := math.Sincos(2 * math.Pi * float64(j) / float64(longitudes))
			points = append(points, r3.Vec{X: at.X * c, Y: at.X * s, Z: at.Z})
		}
	}
	return points
}

// A profile lists latitudes of support points in the half-plane y = 0, x ≥ 0. No two neighboring points are farther
// apart than edge, but for the ends of segments of the boundary.
type profile struct {
	at        func(latitude float64) r3.Vec
	edge      float64 // metres
	latitudes []float64
}

func (p *profile) add(latitude float64) { p.latitudes = append(p.latitudes, latitude) }

// segmentAngle is the difference of latitudes, in radians, below which a jump of the support point is a segment of the
// boundary. Points at its ends are on the surface in any case.
const segmentAngle = 1e-7

func (p *profile) between(lo, hi float64, atLo, atHi r3.Vec) {
	for r3.Norm(r3.Sub(atHi, atLo)) > p.edge {
		mid := lo + (hi-lo)/2
		if hi-lo < segmentAngle {
			p.add(lo)
			p.add(hi)
			return
		}
		at := p.at(mid)
		fromLo, fromHi := r3.Norm(r3.Sub(at, atLo)), r3.Norm(r3.Sub(at, atHi))
		switch half := p.edge / 2; {
		case fromLo > half && fromHi > half:
			p.between(lo, mid, atLo, at)
			p.add(mid)
			lo, atLo = mid, at
		case fromLo < fromHi:
			lo, atLo = mid, at
		default:
			hi, atHi = mid, at
		}
	}
}

// sphere returns the vertices of an icosahedron whose faces were divided level times: 10·4^level + 2 unit vectors.
func sphere(level int) []r3.Vec {
	const phi = math.Phi
	points := []r3.Vec{{X: -1, Y: phi}, {X: 1, Y: phi}, {X: -1, Y: -phi}, {X: 1, Y: -phi}, {Y: -1, Z: phi},
		{Y: 1, Z: phi}, {Y: -1, Z: -phi}, {Y: 1, Z: -phi}, {X: phi, Z: -1}, {X: phi, Z: 1}, {X: -phi, Z: -1},
		{X: -phi, Z: 1}}
	faces := [][3]int{{0, 11, 5}, {0, 5, 1}, {0, 1, 7}, {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4}, {11, 10, 2},
		{10, 7, 6}, {7, 1, 8}, {3, 9, 4}, {3, 4, 2}, {3, 2, 6}, {3, 6, 8}, {3, 8, 9}, {4, 9, 5}, {2, 4, 11}, {6, 2, 10},
		{8, 6, 7}, {9, 8, 1}}
	for i, p := range points {
		points[i] = r3.Unit(p)
	}
	for range level {
		middles := map[[2]int]int{}
		middle := func(a, b int) int {
			key := [2]int{min(a, b), max(a, b)}
			i, ok := middles[key]
			if !ok {
				i = len(points)
				points = append(points, r3.Unit(r3.Add(points[a], points[b])))
				middles[key] = i
			}
			return i
		}
		divided := make([][3]int, 0, 4*len(faces))
		for _, f := range faces {
			ab, bc, ca := middle(f[0], f[1]), middle(f[1], f[2]), middle(f[2], f[0])
			divided = append(divided, [3]int{f[0], ab, ca}, [3]int{f[1], bc, ab}, [3]int{f[2], ca, bc},
				[3]int{ab, bc, ca})
		}
		faces = divided
	}
	return points
}

// of returns the mesh of a hull. Faces whose normals have a product below crease meet at a crease: 1 makes each edge
// one, -1 none.
func of(h *hull.Hull, crease float64) *Mesh {
	m := &Mesh{}
	if h.Dim < 2 {
		for _, v := range h.Vertices {
			m.Vertices = append(m.Vertices, v)
			m.Normals = append(m.Normals, r3.Vec{Z: 1})
		}
		if h.Dim == 1 {
			m.Edges = [][2]int32{{0, 1}}
		}
		m.bound()
		return m
	}
	if h.Dim == 2 {
		crease = 1
	}
	around := make([][]int32, len(h.Vertices)) // facets at each vertex
	for f, corners := range h.Facets {
		for _, v := range corners {
			around[v] = append(around[v], int32(f))
		}
	}
	type corner struct {
		vertex int32
		normal r3.Vec
	}
	made := map[corner]int32{}
	for f, corners := range h.Facets {
		var t [3]int32
		for k, v := range corners {
			c := corner{v, h.Normals[f]}
			if crease < 1 {
				c.normal = shading(h, around[v], f, v, crease)
			}
			i, ok := made[c]
			if !ok {
				i = int32(len(m.Vertices))
				made[c] = i
				m.Vertices = append(m.Vertices, h.Vertices[v])
				m.Normals = append(m.Normals, c.normal)
			}
			t[k] = i
		}
		m.Triangles = append(m.Triangles, t)
	}
	m.Edges = creases(h, m, crease)
	m.bound()
	return m
}

// shading is the mean of the normals of the facets at a vertex, weighted by their angles there, but for those beyond a
// crease from facet f.
func shading(h *hull.Hull, around []int32, f int, v int32, crease float64) r3.Vec {
	var sum r3.Vec
	for _, g := range around {
		n := h.Normals[g]
		if r3.Dot(n, h.Normals[f]) < crease {
			continue
		}
		sum = r3.Add(sum, r3.Scale(angleAt(h, h.Facets[g], v), n))
	}
	if length := r3.Norm(sum); length > 0 {
		return r3.Scale(1/length, sum)
	}
	return h.Normals[f]
}

// angleAt is the angle of a facet at its corner v.
func angleAt(h *hull.Hull, facet [3]int32, v int32) float64 {
	for k, c := range facet {
		if c == v {
			a := r3.Sub(h.Vertices[facet[(k+1)%3]], h.Vertices[v])
			b := r3.Sub(h.Vertices[facet[(k+2)%3]], h.Vertices[v])
			return math.Atan2(r3.Norm(r3.Cross(a, b)), r3.Dot(a, b))
		}
	}
	return 0
}

// creases are the edges between facets of different faces whose normals differ by a crease.
func creases(h *hull.Hull, m *Mesh, crease float64) (edges [][2]int32) {
	type side struct{ facet, from, to int32 }
	face := make([]int32, len(h.Facets))
	for i := range len(h.FaceStart) - 1 {
		for f := h.FaceStart[i]; f < h.FaceStart[i+1]; f++ {
			face[f] = int32(i)
		}
	}
	seen := map[[2]int32]side{}
	for f, t := range h.Facets {
		for k := range 3 {
			a, b := t[k], t[(k+1)%3]
			key := [2]int32{min(a, b), max(a, b)}
			other, ok := seen[key]
			if !ok {
				seen[key] = side{int32(f), m.Triangles[f][k], m.Triangles[f][(k+1)%3]}
				continue
			}
			differ := face[f] != face[other.facet]
			if differ && (crease >= 1 || r3.Dot(h.Normals[f], h.Normals[other.facet]) < crease) {
				edges = append(edges, [2]int32{other.from, other.to})
			}
		}
	}
	return edges
}

// bound sets the ball about the middle of the box of the vertices.
func (m *Mesh) bound() {
	inf := math.Inf(1)
	lo, hi := r3.Vec{X: inf, Y: inf, Z: inf}, r3.Vec{X: -inf, Y: -inf, Z: -inf}
	for _, v := range m.Vertices {
		lo = r3.Vec{X: min(lo.X, v.X), Y: min(lo.Y, v.Y), Z: min(lo.Z, v.Z)}
		hi = r3.Vec{X: max(hi.X, v.X), Y: max(hi.Y, v.Y), Z: max(hi.Z, v.Z)}
	}
	m.Center = r3.Scale(0.5, r3.Add(lo, hi))
	for _, v := range m.Vertices {
		m.Radius = max(m.Radius, r3.Norm(r3.Sub(v, m.Center)))
	}
}

// Hit returns the least t ≥ 0 at which the ray origin + t·direction, in the frame of the mesh, meets a triangle from
// outside [Möller and Trumbore, Fast, Minimum Storage Ray/Triangle Intersection, 1997].
func (m *Mesh) Hit(origin, direction r3.Vec) (t float64, ok bool) {
	toCenter := r3.Sub(m.Center, origin)
	along := r3.Dot(toCenter, direction) / r3.Norm2(direction)
	if !(r3.Norm(r3.Sub(toCenter, r3.Scale(along, direction))) <= m.Radius*(1+1e-9)) {
		return 0, false
	}
	t = math.Inf(1)
	for _, c := range m.Triangles {
		a := m.Vertices[c[0]]
		ab, ac := r3.Sub(m.Vertices[c[1]], a), r3.Sub(m.Vertices[c[2]], a)
		p := r3.Cross(direction, ac)
		det := r3.Dot(ab, p)
		if !(det > 0) { // seen from behind, or edge on
			continue
		}
		from := r3.Sub(origin, a)
		u := r3.Dot(from, p)
		q := r3.Cross(from, ab)
		v := r3.Dot(direction, q)
		if at := r3.Dot(ac, q) / det; u >= 0 && v >= 0 && u+v <= det && at >= 0 && at < t {
			t, ok = at, true
		}
	}
	return t, ok
}
