package hullcells

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// scanned is the size of the hulls that the kernels scan as a whole.
const scanned = 16

// hullsToCut are hard cases for direction cells: round, flat and long hulls, with many vertices
// around one face, with all vertices on few faces, and far from the origin.
func hullsToCut(t testing.TB) map[string]*geom.Convex {
	rng := rand.New(rand.NewPCG(1, 2))
	sphere := func(n int, a, b, c float64, at r3.Vec) (v []r3.Vec) {
		for range n {
			p := testkit.Unit(rng)
			v = append(v, r3.Add(at, r3.Vec{X: a * p.X, Y: b * p.Y, Z: c * p.Z}))
		}
		return v
	}
	var disc, flat, skew []r3.Vec
	for i := range 150 {
		s, c := math.Sincos(2 * math.Pi * float64(i) / 150)
		flat = append(flat, r3.Vec{X: s, Y: 0.3 * c})
		disc = append(disc, r3.Vec{X: s, Y: c, Z: 0.1}, r3.Vec{X: s, Y: c, Z: -0.1})
	}
	for _, p := range sphere(400, 1, 0.01, 0.01, r3.Vec{}) {
		skew = append(skew, r3.Vec{X: p.X + p.Y, Y: p.X - p.Y, Z: p.Z + 0.3*p.X})
	}
	hulls := map[string]*geom.Convex{}
	for name, v := range map[string][]r3.Vec{
		"sphere": sphere(500, 1, 1, 1, r3.Vec{}), "plate": sphere(500, 1, 1, 1e-4, r3.Vec{}),
		"needle":               sphere(500, 1e-4, 1e-4, 1e3, r3.Vec{}),
		"tiny, off its origin": sphere(500, 1e-4, 2e-4, 5e-5, r3.Vec{X: 3, Y: -2, Z: 1}), "polygon": flat,
		"disc": disc, "skew": skew, "3,000": sphere(3000, 1, 0.3, 2, r3.Vec{}),
	} {
		h, err := geom.NewConvex(v)
		if err != nil {
			t.Fatal(err)
		}
		if len(h.Hull().Vertices) <= scanned {
			t.Fatalf("%s: %d vertices have no cells", name, len(h.Hull().Vertices))
		}
		hulls[name] = h
	}
	return hulls
}

// The list of the cell of a direction contains a support vertex, and lists are short on average.
func TestCells(t *testing.T) {
	for name, hull := range hullsToCut(t) {
		vertices := hull.Hull().Vertices
		lo, hi := hull.AABB()
		cells := New(vertices, lo, hi, scanned)
		m, k, lists := cells.Extent, cells.Grid, cells.Lists
		if k == 0 || len(lists) != 6*k*k {
			t.Fatalf("%s: grid %d with %d lists", name, k, len(lists))
		}
		entries := 0
		for _, l := range lists {
			if len(l) == 0 {
				t.Fatalf("%s: an empty list", name)
			}
			entries += len(l)
		}
		t.Logf("%s: %d vertices, grid %d, %.1f vertices a list", name, len(vertices), k,
			float64(entries)/float64(len(lists)))
		rng := rand.New(rand.NewPCG(3, 4))
		directions := []r3.Vec{{X: 1}, {Y: 1}, {Z: 1}, {X: -1}, {Y: -1}, {Z: -1}, {X: 1, Y: 1, Z: 1},
			{X: 1, Y: -1, Z: 0}}
		directions = append(directions, hull.Hull().Normals...)
		for i := range 20000 {
			d := testkit.Normal(rng)
			if i%2 == 0 { // on the common edge of two cells, scaled back
				grid := func(m float64) float64 { return (2*float64(rng.IntN(k+1))/float64(k) - 1) / m }
				d = r3.Vec{X: grid(m[0]), Y: grid(m[1]), Z: 1 / m[2]}
			}
			directions = append(directions, d)
		}
		for _, d := range directions {
			d = r3.Unit(d)
			if d != d || math.IsInf(d.X+d.Y+d.Z, 0) {
				continue
			}
			high := func(list []int32) float64 {
				best := math.Inf(-1)
				for _, i := range list {
					best = max(best, r3.Dot(d, r3.Sub(vertices[i], hull.Center())))
				}
				return best
			}
			got, want := high(lists[cellOf(d, m, k)]), high(upTo(len(vertices)))
			if got < want-4*0x1p-53*hull.BoundingRadius() {
				t.Fatalf("%s: along %v the list reaches %v, the hull %v", name, d, got, want)
			}
		}
	}
}

// cellOf finds the cell of a direction as the kernels do, in float32.
func cellOf(d r3.Vec, m [3]float64, k int) int {
	p := [3]float32{float32(m[0]) * float32(d.X), float32(m[1]) * float32(d.Y), float32(m[2]) * float32(d.Z)}
	abs := func(x float32) float32 { return max(x, -x) }
	axis := 0
	for j := range p {
		if abs(p[j]) > abs(p[axis]) {
			axis = j
		}
	}
	a, b := p[(3-axis)/3], p[2-axis/2]
	at := func(x float32) int { return min(max(int((x/abs(p[axis])*0.5+0.5)*float32(k)), 0), k-1) }
	face := 2 * axis
	if p[axis] < 0 {
		face++
	}
	return (face*k+at(a))*k + at(b)
}

// The candidate vertex of a cell is a support vertex in the direction of the center of the cell.
func TestLikelyVertices(t *testing.T) {
	for name, hull := range hullsToCut(t) {
		vertices := hull.Hull().Vertices
		lo, hi := hull.AABB()
		cells := New(vertices, lo, hi, scanned)
		m := cells.Extent
		k, candidates := cells.Candidates()
		if len(candidates) != 6*k*k {
			t.Fatalf("%s: grid %d with %d vertices", name, k, len(candidates))
		}
		rng := rand.New(rand.NewPCG(5, 6))
		for range 20000 {
			axis := rng.IntN(3)
			if m[axis] == 0 {
				continue
			}
			var d [3]float64
			for j := range d {
				if d[j] = (2*float64(rng.IntN(k))+1)/float64(k) - 1; j == axis {
					d[j] = float64(2*rng.IntN(2) - 1)
				}
				if m[j] > 0 {
					d[j] /= m[j]
				} else {
					d[j] = 0 // all vertices are at the same place
				}
			}
			along := r3.Vec{X: d[0], Y: d[1], Z: d[2]}
			best, least := math.Inf(-1), math.Inf(1)
			for _, v := range vertices {
				h := r3.Dot(along, r3.Sub(v, vertices[0]))
				best, least = max(best, h), min(least, h)
			}
			got := r3.Dot(along, r3.Sub(vertices[candidates[cellOf(along, m, k)]], vertices[0]))
			if got < best-1e-9*(best-least) {
				t.Fatalf("%s: along %v the vertex reaches %v of %v to %v", name, along, got, least, best)
			}
		}
	}
}

func BenchmarkCells(b *testing.B) {
	hull := hullsToCut(b)["sphere"]
	lo, hi := hull.AABB()
	for b.Loop() {
		New(hull.Hull().Vertices, lo, hi, scanned)
	}
}
