package hull

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
