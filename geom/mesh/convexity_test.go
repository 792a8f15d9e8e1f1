package mesh

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom/hull"
)

// boxPart returns the surface of a box, six quadrilaterals.
func boxPart(lo, hi r3.Vec) Part {
	var p Part
	for i := range 8 {
		v := lo
		if i&1 != 0 {
			v.X = hi.X
		}
		if i&2 != 0 {
			v.Y = hi.Y
		}
		if i&4 != 0 {
			v.Z = hi.Z
		}
		p.Vertices = append(p.Vertices, v)
	}
	p.Faces = [][]int32{{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}}
	return p
}

func join(a, b Part) Part {
	n := int32(len(a.Vertices))
	a.Vertices = append(a.Vertices, b.Vertices...)
	for _, f := range b.Faces {
		moved := make([]int32, len(f))
		for i, k := range f {
			moved[i] = k + n
		}
		a.Faces = append(a.Faces, moved)
	}
	return a
}

func TestCheckConvex(t *testing.T) {
	box := func(x0, y0, x1, y1 float64) Part { return boxPart(v3(x0, y0, 0), v3(x1, y1, 1)) }
	pit := Part{Vertices: []r3.Vec{v3(0, 0, 0), v3(1, 0, 0), v3(0, 1, 0), v3(0, 0, 1), v3(0.2, 0.2, 0.2)},
		Faces: [][]int32{{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 4}, {2, 3, 4}, {3, 1, 4}}}
	stray := box(0, 0, 1, 1)
	stray.Vertices = append(stray.Vertices, v3(0.5, 0.5, 0.5)) // no face uses it
	for _, tt := range []struct {
		name  string
		part  Part
		depth float64 // 0 for convex
	}{
		{"box", box(0, 0, 1, 1), 0},
		{"box and a stray vertex", stray, 0},
		{"point cloud", Part{Vertices: lumps()}, 0},
		{"flat", Part{Vertices: []r3.Vec{v3(0, 0, 0), v3(1, 0, 0), v3(0, 1, 0)}, Faces: [][]int32{{0, 1, 2}}}, 0},
		{"tetrahedron with a pit", pit, 0.2}, // 0.4/√3 below the slope, 0.2 off the other sides
		// All corners lie on the hull; the gap shows in the centroids of the faces.
		{"two boxes in a row", join(box(0, 0, 1, 1), box(2, 0, 3, 1)), 0.5},
		// The inner sides have their centroids ½ before the ends of the slope that the
		// hull puts between the legs, at 45°.
		{"an L", Part{Vertices: ell(), Faces: ellFaces}, 0.5 / math.Sqrt2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.part.Name = "lid"
			err := tt.part.CheckConvex(DecompositionTolerance)
			if tt.depth == 0 {
				if err != nil {
					t.Errorf("error %v", err)
				}
				if err := tt.part.CheckConvex(0); err != nil {
					t.Errorf("with tolerance 0: %v", err)
				}
				return
			}
			var e *NonConvexError
			if !errors.As(err, &e) {
				t.Fatalf("error %v, want a NonConvexError", err)
			}
			if math.Abs(e.Depth-tt.depth) > 1e-12 || !strings.Contains(err.Error(), `"lid"`) {
				t.Errorf("depth %g, want %g: %v", e.Depth, tt.depth, err)
			}
			if err := tt.part.CheckConvex(1); err != nil {
				t.Errorf("with tolerance 1: %v", err)
			}
		})
	}
}

// ell returns the corners of an L-shaped prism with legs of width 1, length 2, height 1.
func ell() []r3.Vec {
	var pts []r3.Vec
	for _, z := range []float64{0, 1} {
		pts = append(pts, v3(0, 0, z), v3(2, 0, z), v3(2, 1, z), v3(1, 1, z), v3(1, 2, z), v3(0, 2, z))
	}
	return pts
}

var ellFaces = [][]int32{{0, 5, 4, 3, 2, 1}, {6, 7, 8, 9, 10, 11},
	{0, 1, 7, 6}, {1, 2, 8, 7}, {2, 3, 9, 8}, {3, 4, 10, 9}, {4, 5, 11, 10}, {5, 0, 6, 11}}

func lumps() []r3.Vec {
	return []r3.Vec{v3(0, 0, 0), v3(1, 0, 0), v3(0, 1, 0), v3(0, 0, 1), v3(.1, .1, .1)}
}

func TestCheckConvexWithoutHull(t *testing.T) {
	p := Part{Name: "far", Vertices: []r3.Vec{v3(0, 0, 0), v3(2e9, 0, 0), v3(0, 1, 0)}, Faces: [][]int32{{0, 1, 2}}}
	if err := p.CheckConvex(1); err == nil || !strings.Contains(err.Error(), `"far"`) {
		t.Errorf("error %v does not name the part", err)
	}
}

// ycb returns the real meshes that a pattern names.
func ycb(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "data", "ycb", pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no real meshes: ../shared/data/ycb is absent next to the project")
	}
	return files
}

// TestRealParts: every part of the convex decompositions is convex within the
// tolerance for them, and no finer tolerance of one digit would do.
func TestRealParts(t *testing.T) {
	parts, worst := 0, 0.0
	for _, file := range ycb(t, "*_parts.obj") {
		list, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		checkParts(t, list)
		for _, p := range list {
			parts++
			if err := p.CheckConvex(DecompositionTolerance); err != nil {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
			var e *NonConvexError
			if errors.As(p.CheckConvex(0), &e) {
				worst = max(worst, e.Depth/e.Size)
			}
		}
	}
	t.Logf("%d parts, the worst is %.4f of its size below its hull", parts, worst)
	if worst > DecompositionTolerance || worst < 0.02 {
		t.Errorf("worst depth %g: the reason given for the tolerance %g is no longer true", worst,
			DecompositionTolerance)
	}
}

func TestRealHulls(t *testing.T) {
	for _, file := range ycb(t, "*.obj") {
		list, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			h, err := hull.Build(p.Vertices)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if h.Dim != 3 {
				t.Errorf("%s, %s: dimension %d", filepath.Base(file), p.Name, h.Dim)
			}
			if v, e, f := len(h.Vertices), len(h.Adj)/2, len(h.FaceStart)-1; v-e+f != 2 {
				t.Errorf("%s, %s: %d vertices, %d edges, %d faces", filepath.Base(file), p.Name, v, e, f)
			}
			for _, q := range p.Vertices {
				for i, tri := range h.Facets {
					// Far below the plane there is no need of the exact sign.
					if r3.Dot(h.Normals[i], q) < h.Offsets[i]-1e-12 {
						continue
					}
					if hull.Orient3D(h.Vertices[tri[0]], h.Vertices[tri[1]], h.Vertices[tri[2]], q) > 0 {
						t.Fatalf("%s, %s: vertex %v is above facet %d", filepath.Base(file), p.Name, q, i)
					}
				}
			}
		}
	}
}

// TestRounding: half a unit of the last digit that a text states, of float32 at least.
func TestRounding(t *testing.T) {
	for _, c := range []struct {
		numbers string
		want    float64
	}{
		{"0 1 2", 0.5e-5},                       // six digits, as C prints them without zeros
		{"0.5 0.25 3", 0.5e-5},                  // the same
		{"0.5 0.333333333 0.25", 0x1p-24 * 0.5}, // finer than float32
		{"12.34567 1.5 0.25", 0.5e-5},           // seven digits of numbers up to 100
		{"1.250 0.500 12.125", 0.5e-3},          // three decimals each, zeros too
		{"0.0 1.0 2.0", 0.5e-5},                 // Python prints so what may be exact
		{"1.2345e+02 1.0000e+00 2.5000e-01", 0.5e-3},
		{"0 0 0", 0},
	} {
		parts, err := ReadOBJ(strings.NewReader("v "+c.numbers+"\n"), "a.obj")
		if err != nil {
			t.Fatal(err)
		}
		if got := parts[0].Rounding; math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%s: %g, want %g", c.numbers, got, c.want)
		}
	}
}

// sphere returns a convex polyhedron of points of a sphere of radius 1 about a center, with faces of four
// corners, which rounding leaves in no plane.
func sphere(center r3.Vec, rings, sides int) Part {
	p := Part{Name: "ball"}
	for i := range rings + 1 {
		for k := range sides {
			u, v := math.Pi*float64(i)/float64(rings), 2*math.Pi*float64(k)/float64(sides)
			p.Vertices = append(p.Vertices, r3.Add(center, r3.Vec{X: math.Sin(u) * math.Cos(v),
				Y: math.Sin(u) * math.Sin(v), Z: math.Cos(u)}))
		}
	}
	for i := range rings {
		for k := range sides {
			a, b := int32(i*sides+k), int32(i*sides+(k+1)%sides)
			p.Faces = append(p.Faces, []int32{a, a + int32(sides), b + int32(sides), b})
		}
	}
	return p
}

// objText is a part as OBJ, each coordinate by a format.
func objText(p Part, format string) string {
	var b strings.Builder
	for _, v := range p.Vertices {
		fmt.Fprintf(&b, "v "+format+" "+format+" "+format+"\n", v.X, v.Y, v.Z)
	}
	for _, f := range p.Faces {
		fmt.Fprintf(&b, "f %d %d %d %d\n", f[0]+1, f[1]+1, f[2]+1, f[3]+1)
	}
	return b.String()
}

// stlData is a part as binary STL.
func stlData(p Part) []byte {
	b := make([]byte, 84)
	n := uint32(0)
	for _, f := range p.Faces {
		for i := 2; i < len(f); i++ {
			b = append(b, make([]byte, 12)...)
			for _, k := range []int32{f[0], f[i-1], f[i]} {
				for _, x := range []float64{p.Vertices[k].X, p.Vertices[k].Y, p.Vertices[k].Z} {
					b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
				}
			}
			b = append(b, 0, 0)
			n++
		}
	}
	binary.LittleEndian.PutUint32(b[80:], n)
	return b
}

// TestFormatTolerance: convex meshes that a format rounded are convex by default, a dent beyond that rounding is not.
func TestFormatTolerance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rounded := 0
	for range 10 {
		center := r3.Scale(3, r3.Vec{X: rng.Float64(), Y: rng.Float64(), Z: rng.Float64()})
		ball := sphere(center, 8, 12)
		dented := sphere(center, 8, 12)
		dented.Vertices[40] = r3.Add(center, r3.Scale(0.99, r3.Sub(dented.Vertices[40], center)))
		for _, format := range []string{"%.17g", "%g", "%.6f", "%.4f", "%.5e", "stl"} {
			read := func(p Part) Part {
				t.Helper()
				text := objText(p, strings.ReplaceAll(format, "stl", "%v"))
				parts, err := ReadOBJ(strings.NewReader(text), "ball.obj")
				if format == "stl" {
					parts, err = ReadSTL(bytes.NewReader(stlData(p)), "ball.stl")
				}
				if err != nil || len(parts) != 1 {
					t.Fatal(len(parts), err)
				}
				return parts[0]
			}
			depth, err := read(ball).Dent(FormatTolerance)
			if err != nil {
				t.Errorf("%s: %v", format, err)
			}
			if read(ball).CheckConvex(0) != nil {
				rounded++
			}
			if depth > 1e-3 {
				t.Errorf("%s: a dent of %g", format, depth)
			}
			var e *NonConvexError
			if err := read(dented).CheckConvex(FormatTolerance); !errors.As(err, &e) || !e.Rounded ||
				e.Depth < 1e-3 || !strings.Contains(err.Error(), "rounding") {
				t.Errorf("%s, with a dent: %v", format, err)
			}
			if err := read(dented).CheckConvex(DecompositionTolerance); err != nil {
				t.Errorf("%s, with a dent and a tolerance: %v", format, err)
			}
		}
	}
	if rounded == 0 {
		t.Error("no mesh was bent by its format")
	}
}

// TestConvexParts: components of a part are parts if they are convex solids.
func TestConvexParts(t *testing.T) {
	box := func(x0, x1 float64) Part {
		p := boxPart(v3(x0, x0, x0), v3(x1, x1, x1))
		p.Name = "boxes"
		return p
	}
	inside := box(0.25, 0.75)
	for _, f := range inside.Faces { // a cavity
		f[1], f[3] = f[3], f[1]
	}
	bent := box(4, 5)
	bent.Vertices[7] = v3(4.5, 4.5, 4.5)
	sheet := Part{Vertices: []r3.Vec{v3(3, 0, 0), v3(4, 0, 0), v3(3, 1, 0)}, Faces: [][]int32{{0, 1, 2}}}
	for _, c := range []struct {
		name string
		part Part
		want []string // names, nil for an error
	}{
		{"one box", box(0, 1), []string{"boxes"}},
		{"two boxes", join(box(0, 1), box(2, 3)), []string{"boxes.0", "boxes.1"}},
		{"three, inside out", func() Part {
			p := join(join(box(0, 1), box(2, 3)), box(4, 6))
			for _, f := range p.Faces {
				f[1], f[3] = f[3], f[1]
			}
			return p
		}(), []string{"boxes.0", "boxes.1", "boxes.2"}},
		{"a hollow box", join(box(0, 1), inside), nil},
		{"a box and a bent one", join(box(0, 1), bent), nil},
		{"a box and a sheet", join(box(0, 1), sheet), nil},
	} {
		got, err := ConvexParts([]Part{c.part}, FormatTolerance)
		var e *NonConvexError
		if c.want == nil {
			if !errors.As(err, &e) || e.Part != "boxes" {
				t.Errorf("%s: %d parts, %v", c.name, len(got), err)
			}
			continue
		}
		var names []string
		for _, p := range got {
			names = append(names, p.Name)
			if len(p.Vertices) != 8 || len(p.Faces) != 6 || p.Dent > 1e-12 {
				t.Errorf("%s: %d vertices, %d faces, a dent of %g", c.name, len(p.Vertices), len(p.Faces), p.Dent)
			}
		}
		if err != nil || strings.Join(names, " ") != strings.Join(c.want, " ") {
			t.Errorf("%s: %v, %v", c.name, names, err)
		}
	}
	// A dent that a tolerance allows is reported.
	bent.Vertices[7] = v3(4.9, 4.9, 4.9)
	got, err := ConvexParts([]Part{bent}, 0.2)
	if err != nil || len(got) != 1 || !(got[0].Dent > 0.01) {
		t.Errorf("%+v, %v", got, err)
	}
}

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
