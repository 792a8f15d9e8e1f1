package mesh

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom/hull"

	"gonum.org/v1/gonum/spatial/r3"
)

// sphereMesh is a sphere of rings of quadrilaterals, cut into triangles.
func sphereMesh(rings, sides int) Part {
	p := Part{Name: "sphere", Vertices: []r3.Vec{v3(0, 0, 1)}}
	for i := 1; i < rings; i++ {
		for k := range sides {
			s, c := math.Sincos(math.Pi * float64(i) / float64(rings))
			sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(sides))
			p.Vertices = append(p.Vertices, v3(s*cos, s*sin, c))
		}
	}
	p.Vertices = append(p.Vertices, v3(0, 0, -1))
	at := func(ring, k int) int32 { return int32(1 + (ring-1)*sides + k%sides) }
	last := int32(len(p.Vertices) - 1)
	for k := range sides {
		p.Faces = append(p.Faces, []int32{0, at(1, k), at(1, k+1)}, []int32{last, at(rings-1, k+1), at(rings-1, k)})
		for i := 1; i < rings-1; i++ {
			p.Faces = append(p.Faces, []int32{at(i, k), at(i+1, k), at(i+1, k+1)},
				[]int32{at(i, k), at(i+1, k+1), at(i, k+1)})
		}
	}
	return p
}

// leastDepth is the depth by all planes.
func leastDepth(h *hull.Hull, p r3.Vec) float64 {
	least := math.Inf(1)
	for f := range h.Facets {
		least = min(least, h.Offsets[f]-r3.Dot(h.Normals[f], p))
	}
	return least
}

func TestDepths(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	ball := func() r3.Vec { return v3(rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()) }
	for round := range 60 {
		points := make([]r3.Vec, 4+rng.IntN(200))
		for i := range points {
			points[i] = ball()
			if round%3 == 0 { // many on one plane
				points[i].Z = math.Round(points[i].Z)
			}
			if round%4 == 1 { // thin, far from the origin
				points[i] = r3.Add(r3.Vec{X: 1000, Y: 5}, r3.Vec{X: points[i].X, Y: points[i].Y, Z: 1e-3 * points[i].Z})
			}
		}
		h, err := hull.Build(points)
		if err != nil {
			t.Fatal(err)
		}
		if h.Dim < 3 {
			continue
		}
		d := newDepths(h)
		for i := range 300 {
			p := points[rng.IntN(len(points))]
			if i%2 == 0 { // between points, also just below a face
				f := h.Facets[rng.IntN(len(h.Facets))]
				p = r3.Scale(1.0/3, r3.Add(h.Vertices[f[0]], r3.Add(h.Vertices[f[1]], h.Vertices[f[2]])))
				p = r3.Add(p, r3.Scale(rng.Float64(), r3.Sub(points[0], p)))
			}
			want := leastDepth(h, p)
			// Planes that are equally near up to rounding.
			if got := d.of(p, math.Inf(-1)); math.Abs(got-want) > 8*0x1p-53*r3.Norm(p) {
				t.Fatalf("round %d: depth %g of %v, want %g", round, got, p, want)
			}
			if got := d.of(p, 0.1); got > 0.1 && math.Abs(got-want) > 8*0x1p-53*r3.Norm(p) || got <= 0.1 && want > 0.1 {
				t.Fatalf("round %d: depth %g of %v by 0.1, want %g", round, got, p, want)
			}
		}
	}
}

// A check of n faces looks at a bounded number of facets for each, however many there are: all pairs of faces and
// facets would be 10^8 here.
func TestConvexityIsNotQuadratic(t *testing.T) {
	p := sphereMesh(51, 100)
	d, visits, err := p.dentCounted(context.Background())
	if err != nil || d.Depth > 1e-15 {
		t.Fatalf("depth %g, error %v", d.Depth, err)
	}
	queries := len(p.Vertices) + len(p.Faces)
	if visits > 64*queries {
		t.Errorf("%d facets looked at for %d points", visits, queries)
	}
	// A dent of one vertex is found with its depth.
	h, err := hull.Build(p.Vertices)
	if err != nil {
		t.Fatal(err)
	}
	p.Vertices[2_500] = r3.Scale(0.7, p.Vertices[2_500])
	d, visits, err = p.dentCounted(context.Background())
	if err != nil || !(d.Depth > 0.29 && d.Depth <= 0.3) || visits > 64*queries {
		t.Errorf("depth %g of a dent of 0.3 in a hull of %d facets, %d facets looked at, error %v", d.Depth,
			len(h.Facets), visits, err)
	}
}
