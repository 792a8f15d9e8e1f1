package contact

import (
	"cmp"
	"math"
	"slices"

	"clearance/geom/hull"

	"gonum.org/v1/gonum/spatial/r3"
)

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
