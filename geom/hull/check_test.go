package hull

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

// orientBig is Orient3D in rational arithmetic, which shares nothing with expansions.
func orientBig(a, b, c, p r3.Vec) int {
	sub := func(x, y float64) *big.Rat {
		return new(big.Rat).Sub(new(big.Rat).SetFloat64(x), new(big.Rat).SetFloat64(y))
	}
	mul := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
	u := [3]*big.Rat{sub(b.X, a.X), sub(b.Y, a.Y), sub(b.Z, a.Z)}
	v := [3]*big.Rat{sub(c.X, a.X), sub(c.Y, a.Y), sub(c.Z, a.Z)}
	w := [3]*big.Rat{sub(p.X, a.X), sub(p.Y, a.Y), sub(p.Z, a.Z)}
	det := new(big.Rat)
	for i := range 3 {
		j, k := (i+1)%3, (i+2)%3
		det.Add(det, mul(w[i], new(big.Rat).Sub(mul(u[j], v[k]), mul(u[k], v[j]))))
	}
	return det.Sign()
}

func randomPoint(rng *rand.Rand) r3.Vec {
	return r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()}
}

func randomPoints(rng *rand.Rand, n int) []r3.Vec {
	pts := make([]r3.Vec, n)
	for i := range pts {
		pts[i] = randomPoint(rng)
	}
	return pts
}

func spherePoints(rng *rand.Rand, n int) []r3.Vec {
	pts := randomPoints(rng, n)
	for i, p := range pts {
		pts[i] = r3.Unit(p)
	}
	return pts
}

func cubeSurface(rng *rand.Rand, n int) []r3.Vec {
	pts := make([]r3.Vec, n)
	for i := range pts {
		c := [3]float64{2*rng.Float64() - 1, 2*rng.Float64() - 1, 2*rng.Float64() - 1}
		c[i%3] = float64(i%2)*2 - 1
		pts[i] = r3.Vec{X: c[0], Y: c[1], Z: c[2]}
	}
	return pts
}

func lattice(n int, scale float64) []r3.Vec {
	var pts []r3.Vec
	for i := range n {
		for j := range n {
			for k := range n {
				pts = append(pts, r3.Scale(scale, r3.Vec{X: float64(i), Y: float64(j), Z: float64(k)}))
			}
		}
	}
	return pts
}

// mustBuild builds a hull and checks everything that is true of any hull. Sets of
// more than 300 points are checked against a sample of the points.
func mustBuild(t testing.TB, pts []r3.Vec) *Hull {
	t.Helper()
	h, err := Build(pts)
	if err != nil {
		t.Fatal(err)
	}
	checkStructure(t, h, pts)
	checkContainment(t, h, pts)
	return h
}

func checkStructure(t testing.TB, h *Hull, pts []r3.Vec) {
	t.Helper()
	v, f := len(h.Vertices), len(h.Facets)
	if v == 0 || len(h.Index) != v || len(h.Start) != v+1 || len(h.Normals) != f || len(h.Offsets) != f {
		t.Fatalf("inconsistent lengths: %d vertices, %d indices, %d starts, %d facets", v, len(h.Index), len(h.Start),
			f)
	}
	for i, p := range h.Vertices {
		if q := pts[h.Index[i]]; p != vec(flush(q.X), flush(q.Y), flush(q.Z)) {
			t.Fatalf("vertex %d is %v, but input %d is %v", i, p, h.Index[i], q)
		}
		if i > 0 && compareLex(h.Vertices[i-1], p) >= 0 {
			t.Fatalf("vertices %d and %d out of order", i-1, i)
		}
	}
	// Every directed edge of the triangulation exists once, with its reverse.
	edges := map[[2]int32]int{}
	for _, tri := range h.Facets {
		for i := range 3 {
			edges[[2]int32{tri[i], tri[(i+1)%3]}]++
		}
	}
	for e := range edges {
		if edges[[2]int32{e[1], e[0]}] != edges[e] || h.Dim == 3 && edges[e] != 1 {
			t.Fatalf("surface not closed at edge %v", e)
		}
	}
	faces := len(h.FaceStart) - 1
	half := len(h.Adj)
	switch h.Dim {
	case 0:
		if v != 1 || f != 0 || half != 0 {
			t.Fatalf("point with %d vertices, %d facets, %d edges", v, f, half/2)
		}
	case 1:
		if v != 2 || f != 0 || half != 2 {
			t.Fatalf("segment with %d vertices, %d facets, %d half edges", v, f, half)
		}
	case 2:
		if f != 2*(v-2) || half != 2*v || faces != 2 {
			t.Fatalf("polygon with %d vertices, %d facets, %d half edges, %d faces", v, f, half, faces)
		}
	case 3:
		if v-half/2+faces != 2 {
			t.Fatalf("Euler: %d vertices - %d edges + %d faces ≠ 2", v, half/2, faces)
		}
		if v-len(edges)/2+f != 2 {
			t.Fatalf("Euler: %d vertices - %d edges + %d triangles ≠ 2", v, len(edges)/2, f)
		}
	}
}

func checkContainment(t testing.TB, h *Hull, pts []r3.Vec) {
	t.Helper()
	sample := pts
	if len(h.Facets)*len(pts) > 2_000_000 {
		rng := rand.New(rand.NewPCG(3, 4))
		sample = nil
		for range 2_000_000/len(h.Facets) + 1 {
			sample = append(sample, pts[rng.IntN(len(pts))])
		}
	}
	for i, tri := range h.Facets {
		a, b, c := h.Vertices[tri[0]], h.Vertices[tri[1]], h.Vertices[tri[2]]
		if Collinear(a, b, c) {
			t.Fatalf("facet %d is degenerate", i)
		}
		for _, p := range sample {
			p = r3.Vec{X: flush(p.X), Y: flush(p.Y), Z: flush(p.Z)}
			switch s := Orient3D(a, b, c, p); {
			case s > 0:
				t.Fatalf("point %v lies above facet %d", p, i)
			case s != 0 && h.Dim == 2:
				t.Fatalf("point %v lies off the plane of the polygon", p)
			}
		}
		if n := r3.Norm(h.Normals[i]); math.Abs(n-1) > 1e-15 {
			t.Fatalf("normal %d has length %v", i, n)
		}
	}
	for _, p := range pts {
		p = r3.Vec{X: flush(p.X), Y: flush(p.Y), Z: flush(p.Z)}
		if h.Dim == 0 && p != h.Vertices[0] {
			t.Fatal("point hull of distinct points")
		}
		if h.Dim == 1 && !Collinear(h.Vertices[0], h.Vertices[1], p) {
			t.Fatalf("point %v off the segment", p)
		}
	}
}

// checkSupport compares climbing with scanning, from every start for small hulls.
func checkSupport(t testing.TB, h *Hull, rng *rand.Rand, directions int) {
	t.Helper()
	var size float64
	for _, v := range h.Vertices {
		size = max(size, math.Abs(v.X), math.Abs(v.Y), math.Abs(v.Z))
	}
	check := func(d r3.Vec) {
		t.Helper()
		want := r3.Dot(d, h.Vertices[h.SupportLinear(d)])
		tol := 16 * roundoff * size * (math.Abs(d.X) + math.Abs(d.Y) + math.Abs(d.Z))
		starts := []int{0, len(h.Vertices) - 1, rng.IntN(len(h.Vertices))}
		for _, s := range starts {
			i := h.SupportClimb(d, s)
			if got := r3.Dot(d, h.Vertices[i]); !(math.Abs(got-want) <= tol) {
				t.Fatalf("direction %v from vertex %d: climb ends at %v, the scan at %v (difference %g)", d, s, got,
					want, want-got)
			}
			for _, j := range h.Adj[h.Start[i]:h.Start[i+1]] {
				if compareAlong(d, h.Vertices[j], h.Vertices[i]) > 0 {
					t.Fatalf("direction %v: climb ends below a neighbour", d)
				}
			}
		}
		if got := r3.Dot(d, h.Vertices[h.Support(d)]); !(math.Abs(got-want) <= tol) {
			t.Fatalf("direction %v: Support reaches %v, the scan %v", d, got, want)
		}
	}
	for _, s := range []float64{1, -1} {
		check(r3.Vec{X: s})
		check(r3.Vec{Y: s})
		check(r3.Vec{Z: s})
		check(r3.Vec{X: s, Y: s})
		check(r3.Vec{Y: s, Z: -s})
	}
	for i := 0; i < len(h.Normals); i += 1 + len(h.Normals)/200 {
		check(h.Normals[i])
		check(r3.Add(h.Normals[i], r3.Scale(1e-14, randomPoint(rng))))
	}
	for i := range directions {
		check(r3.Scale(math.Pow(10, float64(i%21-10)), randomPoint(rng)))
	}
}
