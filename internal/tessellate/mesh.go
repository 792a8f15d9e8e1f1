package tessellate

import (
	"math"

	"clearance/geom/hull"

	"gonum.org/v1/gonum/spatial/r3"
)

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
			apart := face[f] != face[other.facet]
			if apart && (crease >= 1 || r3.Dot(h.Normals[f], h.Normals[other.facet]) < crease) {
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
