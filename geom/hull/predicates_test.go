package hull

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestOrient3DExact compares the predicate with rational arithmetic on points that
// are coplanar but for their last bits, over the whole range of magnitudes.
func TestOrient3DExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[int]int{}
	for round := range 4000 {
		scale := math.Pow(10, float64(rng.IntN(99)-90)) // 1e-90..1e8
		a := r3.Scale(scale, randomPoint(rng))
		b := r3.Scale(scale, randomPoint(rng))
		c := r3.Scale(scale*math.Pow(10, float64(-rng.IntN(12))), randomPoint(rng))
		p := r3.Add(a, r3.Add(r3.Scale(rng.NormFloat64(), r3.Sub(b, a)), r3.Scale(rng.NormFloat64(), r3.Sub(c, a))))
		switch round % 3 {
		case 1: // exactly coplanar: small integers
			q := func() r3.Vec {
				x, y := float64(rng.IntN(9)), float64(rng.IntN(9))
				return vec(x, y, 3*x-2*y+7)
			}
			a, b, c, p = r3.Scale(0x1p-40, q()), r3.Scale(0x1p-40, q()), r3.Scale(0x1p-40, q()), r3.Scale(0x1p-40, q())
		case 2: // mixed magnitudes
			p.X = math.Nextafter(a.X, b.X)
		}
		for _, v := range []*r3.Vec{&a, &b, &c, &p} {
			*v = vec(flush(v.X), flush(v.Y), flush(v.Z))
		}
		want := orientBig(a, b, c, p)
		seen[want]++
		if got := Orient3D(a, b, c, p); got != want {
			t.Fatalf("Orient3D(%v, %v, %v, %v) = %d, want %d", a, b, c, p, got, want)
		}
		if got := Orient3D(b, a, c, p); got != -want {
			t.Fatalf("Orient3D(%v, %v, %v, %v) = %d after a swap, want %d", b, a, c, p, got, -want)
		}
		if got := orient3DExact(a, b, c, p); got != want {
			t.Fatalf("orient3DExact(%v, %v, %v, %v) = %d, want %d", a, b, c, p, got, want)
		}
	}
	if seen[-1] < 500 || seen[0] < 500 || seen[1] < 500 {
		t.Errorf("samples do not test every sign: %v", seen)
	}
}

func TestCollinearExact(t *testing.T) {
	for _, tt := range []struct {
		a, b, c r3.Vec
		want    bool
	}{
		{vec(0, 0, 0), vec(1, 2, 3), vec(3, 6, 9), true},
		{vec(0, 0, 0), vec(1, 2, 3), vec(3, 6, math.Nextafter(9, 10)), false},
		{vec(1e9, 1e9, 1e9), vec(1e9, 1e9, 1e9), vec(1, 2, 3), true},
		{vec(0, 0, 0), vec(1e9, 0, 0), vec(1, 1e-90, 0), false},
		{vec(0, 0, 0), vec(0x1p-299, 0, 0), vec(0x1p-298, 0, 0), true},
		{vec(0.1, 0.2, 0.3), vec(0.2, 0.4, 0.6), vec(0.4, 0.8, 1.2), true},
		{vec(0.1, 0.2, 0.3), vec(0.2, 0.4, 0.6), vec(0.3, 0.6, 0.9), false}, // as floats
	} {
		if got := Collinear(tt.a, tt.b, tt.c); got != tt.want {
			t.Errorf("Collinear(%v, %v, %v) = %v", tt.a, tt.b, tt.c, got)
		}
	}
}

func TestCompareAlongExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	seen := map[int]int{}
	for range 3000 {
		d, w, v := randomPoint(rng), randomPoint(rng), r3.Vec{}
		// v differs from w within the plane normal to d, up to rounding.
		v = r3.Add(w, r3.Cross(d, randomPoint(rng)))
		if rng.IntN(3) == 0 {
			d.Z, v = 0, vec(w.X, w.Y, w.Z+1)
		}
		sum := new(big.Rat)
		for _, x := range [3][3]float64{{d.X, w.X, v.X}, {d.Y, w.Y, v.Y}, {d.Z, w.Z, v.Z}} {
			diff := new(big.Rat).Sub(new(big.Rat).SetFloat64(x[1]), new(big.Rat).SetFloat64(x[2]))
			sum.Add(sum, diff.Mul(diff, new(big.Rat).SetFloat64(x[0])))
		}
		seen[sum.Sign()]++
		if got := compareAlong(d, w, v); got != sum.Sign() {
			t.Fatalf("compareAlong(%v, %v, %v) = %d, want %d", d, w, v, got, sum.Sign())
		}
	}
	if seen[-1] < 300 || seen[0] < 300 || seen[1] < 300 {
		t.Errorf("samples do not test every sign: %v", seen)
	}
}

// TestUnitNormalOfSliver: the float cross product of this triangle has no correct
// digit, the exact one all of them.
func TestUnitNormalOfSliver(t *testing.T) {
	a := vec(0.1, 0.2, 0.3)
	b := vec(1.1, 1.2, 1.3)
	c := vec(2.1, 2.2, math.Nextafter(2.3, 3))
	if Collinear(a, b, c) {
		t.Fatal("the sliver is degenerate")
	}
	n := unitNormal(a, b, c)
	exact := [3]*big.Rat{}
	comp := func(v r3.Vec, i int) *big.Rat {
		return new(big.Rat).SetFloat64([3]float64{v.X, v.Y, v.Z}[i])
	}
	norm := 0.0
	for i := range 3 {
		j, k := (i+1)%3, (i+2)%3
		u := func(p r3.Vec, i int) *big.Rat { return new(big.Rat).Sub(comp(p, i), comp(a, i)) }
		exact[i] = new(big.Rat).Sub(new(big.Rat).Mul(u(b, j), u(c, k)), new(big.Rat).Mul(u(b, k), u(c, j)))
		f, _ := exact[i].Float64()
		norm += f * f
	}
	for i := range 3 {
		f, _ := exact[i].Float64()
		if got, want := [3]float64{n.X, n.Y, n.Z}[i], f/math.Sqrt(norm); math.Abs(got-want) > 4*roundoff {
			t.Errorf("component %d is %v, want %v", i, got, want)
		}
	}
}

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
