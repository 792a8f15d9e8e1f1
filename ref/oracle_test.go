package ref

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/geom/hull"
	"clearance/internal/testkit"
)

// pointSegment returns the distance of x from the segment ab.
func pointSegment(x, a, b r3.Vec) float64 {
	e, w := r3.Sub(b, a), r3.Sub(x, a)
	t := 0.0
	if ee := r3.Dot(e, e); ee > 0 {
		t = min(max(r3.Dot(e, w)/ee, 0), 1)
	}
	if t == 1 {
		return r3.Norm(r3.Sub(x, b))
	}
	return r3.Norm(r3.Sub(w, r3.Scale(t, e)))
}

// segmentSegment returns the distance of the segments ab and cd: that of an end from
// the other segment, or of the end points of the common perpendicular if both lie inside.
// Any pair of points that is compared bounds the distance from above.
func segmentSegment(a, b, c, d r3.Vec) float64 {
	best := min(pointSegment(a, c, d), pointSegment(b, c, d), pointSegment(c, a, b), pointSegment(d, a, b))
	u, v, w := r3.Sub(b, a), r3.Sub(d, c), r3.Sub(a, c)
	n := r3.Cross(u, v)
	nn := r3.Dot(n, n)
	s := -r3.Dot(r3.Cross(w, v), n) / nn
	t := -r3.Dot(r3.Cross(w, u), n) / nn
	if s > 0 && s < 1 && t > 0 && t < 1 {
		x, y := r3.Add(a, r3.Scale(s, u)), r3.Add(c, r3.Scale(t, v))
		best = min(best, r3.Norm(r3.Sub(x, y)))
	}
	return best
}

// pointTriangle returns the distance of x from the triangle abc.
func pointTriangle(x, a, b, c r3.Vec) float64 {
	best := min(pointSegment(x, a, b), pointSegment(x, b, c), pointSegment(x, c, a))
	n := r3.Cross(r3.Sub(b, a), r3.Sub(c, a))
	inside := func(p, q r3.Vec) bool { return r3.Dot(n, r3.Cross(r3.Sub(q, p), r3.Sub(x, p))) > 0 }
	if inside(a, b) && inside(b, c) && inside(c, a) {
		best = min(best, math.Abs(r3.Dot(n, r3.Sub(x, a)))/r3.Norm(n))
	}
	return best
}

// corners returns the vertices of a core that is a polytope, in its local frame.
func corners(s geom.Shape) []r3.Vec {
	switch s := s.(type) {
	case geom.Sphere:
		return []r3.Vec{{}}
	case geom.Capsule:
		return []r3.Vec{{Z: -s.HalfLength}, {Z: s.HalfLength}}
	case geom.Box:
		var v []r3.Vec
		for i := range 8 {
			e := s.HalfExtents
			if i&1 != 0 {
				e.X = -e.X
			}
			if i&2 != 0 {
				e.Y = -e.Y
			}
			if i&4 != 0 {
				e.Z = -e.Z
			}
			v = append(v, e)
		}
		return v
	case *geom.Convex:
		return s.Hull().Vertices
	case geom.Rounded:
		return corners(s.Shape)
	}
	panic("not a polytope")
}

// body is a placed polytope: vertices in the frame of A, true edges, triangles.
type body struct {
	v []r3.Vec
	e [][2]int32
	t [][3]int32
}

func bodyOf(local []r3.Vec, place func(r3.Vec) r3.Vec) body {
	h, err := hull.Build(local)
	if err != nil {
		panic(err)
	}
	b := body{t: h.Facets}
	for i, x := range h.Vertices {
		b.v = append(b.v, place(x))
		for _, j := range h.Adj[h.Start[i]:h.Start[i+1]] {
			if int32(i) < j {
				b.e = append(b.e, [2]int32{int32(i), j})
			}
		}
	}
	return b
}

func (q *placed) bodies() (a, b body) {
	f := q.frame()
	return bodyOf(corners(q.a), func(x r3.Vec) r3.Vec { return x }), bodyOf(corners(q.b), f.fromB)
}

// featureDistance is the distance of two disjoint polytopes by brute force: vertex
// against vertex, edge and triangle, and edge against edge.
func featureDistance(a, b *body) float64 {
	best := math.Inf(1)
	for _, pair := range [2][2]*body{{a, b}, {b, a}} {
		for _, x := range pair[0].v {
			for _, y := range pair[1].v {
				best = min(best, r3.Norm(r3.Sub(x, y)))
			}
			o := pair[1]
			for _, e := range o.e {
				best = min(best, pointSegment(x, o.v[e[0]], o.v[e[1]]))
			}
			for _, t := range o.t {
				best = min(best, pointTriangle(x, o.v[t[0]], o.v[t[1]], o.v[t[2]]))
			}
		}
	}
	for _, e := range a.e {
		for _, f := range b.e {
			best = min(best, segmentSegment(a.v[e[0]], a.v[e[1]], b.v[f[0]], b.v[f[1]]))
		}
	}
	return best
}

// differenceDepth returns the distance of the origin from the boundary of A − B if it
// lies inside, from the explicit hull of all differences of vertices.
func differenceDepth(a, b *body) (depth float64, inside bool) {
	var d []r3.Vec
	for _, x := range a.v {
		for _, y := range b.v {
			d = append(d, r3.Sub(x, y))
		}
	}
	h, err := hull.Build(d)
	if err != nil {
		panic(err)
	}
	if h.Dim < 3 {
		return 0, false
	}
	depth = math.Inf(1)
	for i := range h.Facets {
		depth = min(depth, h.Offsets[i])
	}
	return depth, depth > 0
}

// polytopeTruth is the signed distance of two shapes with polytope cores.
func polytopeTruth(q *placed) float64 {
	a, b := q.bodies()
	radius := q.a.Radius() + q.b.Radius()
	if depth, inside := differenceDepth(&a, &b); inside {
		return -depth - radius
	}
	return featureDistance(&a, &b) - radius
}

// On simplices that are not degenerate the backup procedure finds the point that Johnson's sub-algorithm finds, be it
// on a vertex, an edge, a face or inside.
func TestJohnsonBackupSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 4))
	var found [16]int // by the vertices with a positive weight
	for k := range 4000 {
		s := Simplex{N: 1 + k%4}
		for i := range s.N {
			s.V[i].W = r3.Add(r3.Vec{X: 0.7}, testkit.Normal(rng))
		}
		want, searched := s, s
		x, inside := johnsonBackup(&want, false)
		delta := johnsonCofactors(&searched)
		johnsonBackupSearch(&searched, &delta, 1<<s.N-1, false)
		if d := r3.Norm(r3.Sub(searched.point(), x)); !(d < 1e-7) {
			t.Fatalf("%+v: the search ends %g from the nearest point %v", s, d, x)
		}
		set := 0
		for i := range s.N {
			if searched.Lambda[i] > 0 {
				set |= 1 << i
			}
		}
		if found[set]++; inside != (set == 15) {
			t.Errorf("%+v: inside %t, weights %v", s, inside, searched.Lambda)
		}
	}
	// The backup procedure that may not claim that the origin is inside ends on the boundary of a simplex around it.
	around := 0
	for range 4000 {
		s := Simplex{N: 4}
		for i := range s.N {
			s.V[i].W = testkit.Normal(rng)
		}
		delta := johnsonCofactors(&s)
		if !johnsonOptimal(&delta, 15, 15) {
			continue
		}
		around++
		johnsonBackupSearch(&s, &delta, 15, true)
		if s.Lambda[0]*s.Lambda[1]*s.Lambda[2]*s.Lambda[3] != 0 {
			t.Fatalf("%+v: the search ends inside", s)
		}
	}
	if around < 100 {
		t.Errorf("%d simplices contain the origin", around)
	}
	for set, n := range found {
		if (set == 0) != (n == 0) {
			t.Errorf("%d simplices end on the vertices %04b", n, set)
		}
	}
}
