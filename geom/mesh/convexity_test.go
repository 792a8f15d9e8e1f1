package mesh

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"clearance/geom/hull"

	"gonum.org/v1/gonum/spatial/r3"
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
