package hull

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/spatial/r3"
)

func vec(x, y, z float64) r3.Vec { return r3.Vec{X: x, Y: y, Z: z} }

func TestBuildKnown(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	cube := lattice(2, 1)
	octahedron := []r3.Vec{vec(1, 0, 0), vec(-1, 0, 0), vec(0, 1, 0), vec(0, -1, 0), vec(0, 0, 1), vec(0, 0, -1)}
	var midpoints []r3.Vec // of all pairs of cube corners: none extreme
	for i := range cube {
		for j := range i {
			midpoints = append(midpoints, r3.Scale(0.5, r3.Add(cube[i], cube[j])))
		}
	}
	var ring []r3.Vec
	for i := range 1000 {
		s, c := math.Sincos(2 * math.Pi * float64(i) / 1000)
		ring = append(ring, vec(c, s, 0))
	}
	tests := []struct {
		name               string
		points             []r3.Vec
		dim, vertices, fac int // faces
	}{
		{"point", []r3.Vec{vec(1, 2, 3)}, 0, 1, 0},
		{"all equal", slices.Repeat([]r3.Vec{vec(1, 2, 3)}, 100), 0, 1, 0},
		{"zeros of both signs", []r3.Vec{vec(0, 0, 0), vec(math.Copysign(0, -1), 0, 0)}, 0, 1, 0},
		{"below the smallest coordinate", []r3.Vec{vec(0, 0, 0), vec(1e-100, -1e-200, 5e-324)}, 0, 1, 0},
		{"segment", []r3.Vec{vec(1, 2, 3), vec(-1, 0, 0)}, 1, 2, 0},
		{"segment of smallest coordinates", []r3.Vec{vec(1e-90, 0, 0), vec(0, 1e-90, 0)}, 1, 2, 0},
		{"collinear", []r3.Vec{vec(0, 0, 0), vec(3, 6, 9), vec(1, 2, 3), vec(2, 4, 6), vec(1, 2, 3)}, 1, 2, 0},
		{"nearly collinear", []r3.Vec{vec(0, 0, 0), vec(3, 6, 9), vec(1, 2, math.Nextafter(3, 4))}, 2, 3, 2},
		{"triangle", []r3.Vec{vec(0, 0, 0), vec(1, 0, 0), vec(0, 1, 5)}, 2, 3, 2},
		{"square with midpoints", []r3.Vec{vec(0, 0, 1), vec(2, 0, 1), vec(2, 2, 1), vec(0, 2, 1), vec(1, 0, 1),
			vec(2, 1, 1), vec(1, 1, 1)}, 2, 4, 2},
		{"tilted flat lattice", []r3.Vec{vec(0, 0, 0), vec(1, 0, 1), vec(2, 0, 2), vec(0, 1, 1), vec(1, 1, 2),
			vec(2, 1, 3), vec(0, 2, 2), vec(1, 2, 3), vec(2, 2, 4)}, 2, 4, 2},
		{"polygon of 1000", ring, 2, 1000, 2},
		{"tetrahedron", []r3.Vec{vec(0, 0, 0), vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1)}, 3, 4, 4},
		{"tetrahedron of smallest coordinates", []r3.Vec{vec(0, 0, 0), vec(1e-90, 0, 0), vec(0, 1e-90, 0),
			vec(0, 0, 1e-90)}, 3, 4, 4},
		{"tetrahedron of largest coordinates", []r3.Vec{vec(-1e9, -1e9, -1e9), vec(1e9, 0, 0), vec(0, 1e9, 0),
			vec(0, 0, 1e9)}, 3, 4, 4},
		{"cube", cube, 3, 8, 6},
		{"cube thrice", slices.Repeat(cube, 3), 3, 8, 6},
		{"cube with midpoints", append(midpoints, cube...), 3, 8, 6},
		{"octahedron", octahedron, 3, 6, 8},
		{"lattice of 1000", lattice(10, 1), 3, 8, 6},
		{"lattice of 1000 thirds", lattice(10, 1./3), 3, 8, 6},
		{"flattest tetrahedron", []r3.Vec{vec(0, 0, 0), vec(1, 0, 0), vec(0, 1, 0), vec(0.25, 0.25, 5e-91)}, 3, 4, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := mustBuild(t, tt.points)
			if tt.name == "lattice of 1000 thirds" {
				// Rounded thirds are not equally spaced, but the corners stay extreme
				// and the faces axis-aligned.
				tt.fac = len(h.FaceStart) - 1
			}
			if h.Dim != tt.dim || len(h.Vertices) != tt.vertices || len(h.FaceStart)-1 != tt.fac {
				t.Errorf("dim %d, %d vertices, %d faces; want %d, %d, %d",
					h.Dim, len(h.Vertices), len(h.FaceStart)-1, tt.dim, tt.vertices, tt.fac)
			}
			checkSupport(t, h, rng, 200)
		})
	}
}

func TestBuildErrors(t *testing.T) {
	for name, pts := range map[string][]r3.Vec{
		"none":      nil,
		"too many":  make([]r3.Vec, MaxPoints+1),
		"NaN":       {vec(0, 0, 0), vec(0, math.NaN(), 0)},
		"infinite":  {vec(math.Inf(-1), 0, 0)},
		"too large": {vec(0, 0, 1.0001e9)},
	} {
		if h, err := Build(pts); err == nil {
			t.Errorf("%s: no error, %d vertices", name, len(h.Vertices))
		}
	}
}

// bruteExtreme returns the extreme points by testing all triples: p is a vertex of
// a full-dimensional hull if it is a corner of a supporting triangle and not
// inside another triangle or segment of the points of that plane.
func bruteExtreme(pts []r3.Vec) map[r3.Vec]bool {
	extreme := map[r3.Vec]bool{}
	n := len(pts)
	for i := range n {
		for j := range n {
			for k := range n {
				if i == j || i == k || j == k || Collinear(pts[i], pts[j], pts[k]) {
					continue
				}
				var plane []r3.Vec
				ok := true
				for _, p := range pts {
					switch orientBig(pts[i], pts[j], pts[k], p) {
					case 1:
						ok = false
					case 0:
						plane = append(plane, p)
					}
				}
				if !ok {
					continue
				}
				for _, p := range plane {
					if extremeInPlane(p, plane) {
						extreme[p] = true
					}
				}
			}
		}
	}
	return extreme
}

// extremeInPlane reports whether p is outside every segment and triangle of other
// coplanar points, by comparing orientations in every projection.
func extremeInPlane(p r3.Vec, plane []r3.Vec) bool {
	within := func(a, b r3.Vec) bool { // p in segment ab
		return Collinear(a, b, p) && min(a.X, b.X) <= p.X && p.X <= max(a.X, b.X) &&
			min(a.Y, b.Y) <= p.Y && p.Y <= max(a.Y, b.Y) && min(a.Z, b.Z) <= p.Z && p.Z <= max(a.Z, b.Z)
	}
	for _, a := range plane {
		for _, b := range plane {
			if a == p || b == p {
				continue
			}
			if within(a, b) {
				return false
			}
			for _, c := range plane {
				if c == p || Collinear(a, b, c) {
					continue
				}
				inside := true
				for axis := range 3 {
					q := project(p, axis)
					x, y, z := project(a, axis), project(b, axis), project(c, axis)
					s1, s2, s3 := orient2D(x, y, q), orient2D(y, z, q), orient2D(z, x, q)
					if min(s1, s2, s3) < 0 && max(s1, s2, s3) > 0 {
						inside = false
					}
				}
				if inside {
					return false
				}
			}
		}
	}
	return true
}

func TestBuildBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	rounds := 24
	if testing.Short() {
		rounds = 8
	}
	for round := range rounds {
		var pts []r3.Vec
		for range 5 + rng.IntN(6) {
			p := randomPoint(rng)
			switch round % 4 {
			case 1: // lattice of three: full of coplanar and collinear points
				p = vec(float64(rng.IntN(3)), float64(rng.IntN(3)), float64(rng.IntN(3)))
			case 2: // needle
				p.X, p.Y = 1e-9*p.X, 1e-9*p.Y
			case 3: // points near a tilted plane, rounded
				p.Z = 0.1*p.X + 0.7*p.Y
			}
			pts = append(pts, p)
		}
		h := mustBuild(t, pts)
		if h.Dim < 3 {
			continue
		}
		want := bruteExtreme(pts)
		if len(want) != len(h.Vertices) {
			t.Fatalf("round %d: %d vertices, all triples give %d", round, len(h.Vertices), len(want))
		}
		for _, v := range h.Vertices {
			if !want[v] {
				t.Fatalf("round %d: vertex %v is not extreme", round, v)
			}
		}
	}
}

// families are the random sets that the property tests share.
func families(rng *rand.Rand, n int) map[string][]r3.Vec {
	needle, plate, micro, far, jitter, cluster := randomPoints(rng, n), cubeSurface(rng, n), randomPoints(rng, n),
		spherePoints(rng, n), lattice(8, 1./7), spherePoints(rng, n)
	for i := range n {
		needle[i].X *= 1e-10
		needle[i].Y *= 1e-10
		plate[i].Z *= 0.5e-12
		micro[i] = r3.Scale(1e-4, micro[i])
		far[i] = r3.Add(far[i], vec(1e9-2, -1e9+2, 1e9-2))
		cluster[i] = r3.Scale(1+1e-15*rng.NormFloat64(), cluster[i])
	}
	for i, p := range jitter {
		s, c := math.Sincos(0.3)
		jitter[i] = vec(c*p.X-s*p.Y, s*p.X+c*p.Y, p.Z+0.1*p.X)
	}
	equator := make([]r3.Vec, n) // many points on one circle, and two poles
	for i := range equator {
		s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		equator[i] = vec(c, s, 0)
	}
	equator = append(equator, vec(0, 0, 1), vec(0, 0, -1))
	lat := make([]r3.Vec, n)
	for i := range lat {
		lat[i] = vec(float64(rng.IntN(20)), float64(rng.IntN(20)), float64(rng.IntN(20)))
	}
	return map[string][]r3.Vec{
		"ball": randomPoints(rng, n), "sphere": spherePoints(rng, n), "cube": cubeSurface(rng, n),
		"needle": needle, "plate": plate, "micro": micro, "far": far, "rotated lattice": jitter,
		"cospherical noise": cluster, "equator": equator, "integers": lat,
		"duplicates": slices.Repeat(randomPoints(rng, n/10), 10),
	}
}

func TestBuildProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 13))
	for name, pts := range families(rng, 400) {
		t.Run(name, func(t *testing.T) {
			h := mustBuild(t, pts)
			checkSupport(t, h, rng, 1000)

			// The hull is a property of the set: any order gives the same one.
			shuffled := slices.Clone(pts)
			rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			g := mustBuild(t, shuffled)
			if !slices.Equal(g.Vertices, h.Vertices) || !slices.Equal(g.Facets, h.Facets) ||
				!slices.Equal(g.Adj, h.Adj) {
				t.Error("the hull depends on the order of the points")
			}
			// The hull of the vertices is the hull.
			v := mustBuild(t, h.Vertices)
			if !slices.Equal(v.Vertices, h.Vertices) {
				t.Error("the hull of the vertices has other vertices")
			}
		})
	}
}

func TestBuildLargest(t *testing.T) {
	n := MaxPoints
	if testing.Short() {
		n = 8000
	}
	rng := rand.New(rand.NewPCG(17, 19))
	for name, pts := range map[string][]r3.Vec{
		"sphere": spherePoints(rng, n), "cube": cubeSurface(rng, n), "lattice": lattice(20, 0.1),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			h := mustBuild(t, pts)
			t.Logf("%d points, %d vertices, %d faces: %v with checks", len(pts), len(h.Vertices), len(h.FaceStart)-1,
				time.Since(start))
			checkSupport(t, h, rng, 1000)
		})
	}
}

func TestOffsetsHoldTheHull(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 29))
	for name, pts := range families(rng, 200) {
		h := mustBuild(t, pts)
		var size float64
		for _, p := range pts {
			size = max(size, r3.Norm(p))
		}
		for i, n := range h.Normals {
			for _, v := range h.Vertices {
				if over := r3.Dot(n, v) - h.Offsets[i]; over > 8*roundoff*size {
					t.Fatalf("%s: vertex %v is %g above the plane of facet %d", name, v, over, i)
				}
			}
			for _, k := range h.Facets[i] {
				if under := h.Offsets[i] - r3.Dot(n, h.Vertices[k]); under > 8*roundoff*size {
					t.Fatalf("%s: corner %d of facet %d is %g below its plane", name, k, i, under)
				}
			}
		}
	}
}

// TestBuildHighDegree builds hulls with a vertex that is the neighbour of all others,
// which make every step that is linear in the degree quadratic in all.
func TestBuildHighDegree(t *testing.T) {
	n := 5000
	if testing.Short() {
		n = 1000
	}
	rng := rand.New(rand.NewPCG(31, 37))
	var moment, bicone []r3.Vec
	for i := range n {
		x := 2*float64(i)/float64(n) - 1
		moment = append(moment, vec(x, x*x, x*x*x))
		s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		bicone = append(bicone, vec(c, s, 0))
	}
	bicone = append(bicone, vec(0, 0, 1), vec(0, 0, -1))
	for name, pts := range map[string][]r3.Vec{"moment curve": moment, "bicone": bicone} {
		h := mustBuild(t, pts)
		if len(h.Vertices) != len(pts) {
			t.Errorf("%s: %d of %d points are vertices, want all", name, len(h.Vertices), len(pts))
		}
		checkSupport(t, h, rng, 100)
	}
}

// FuzzBuild reads points from bytes: small integers, whose sets are full of
// degeneracies, or raw floats.
func FuzzBuild(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, false)
	f.Add([]byte{3, 3, 3, 1, 2, 3}, false)
	f.Add(binary.LittleEndian.AppendUint64(make([]byte, 16), math.Float64bits(1e-300)), true)
	f.Add([]byte("00000000000000100000000 000000000000000000000000"), true) // coordinates that count as zero
	f.Fuzz(func(t *testing.T, data []byte, raw bool) {
		var pts []r3.Vec
		if raw {
			for ; len(data) >= 24 && len(pts) < 60; data = data[24:] {
				x := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:])) }
				pts = append(pts, vec(x(0), x(1), x(2)))
			}
		} else {
			for ; len(data) >= 3 && len(pts) < 60; data = data[3:] {
				x := func(i int) float64 { return float64(int8(data[i])) / 3 }
				pts = append(pts, vec(x(0), x(1), x(2)))
			}
		}
		h, err := Build(pts)
		if err != nil {
			return
		}
		checkStructure(t, h, pts)
		checkContainment(t, h, pts)
		checkSupport(t, h, rand.New(rand.NewPCG(1, 2)), 20)
	})
}
