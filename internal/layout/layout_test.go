package layout

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// std430 returns size and alignment of a type in a storage buffer (OpenGL 4.6,
// sec. 7.6.2.2, without rounding arrays and structs up to vec4): scalars 4, doubles
// 8, vec4 16; an array has the alignment of its elements.
func std430(t *testing.T, typ reflect.Type) (size, align uintptr) {
	switch {
	case typ == reflect.TypeFor[Vec4]():
		return 16, 16
	case typ.Kind() == reflect.Float32 || typ.Kind() == reflect.Uint32:
		return 4, 4
	case typ.Kind() == reflect.Float64:
		return 8, 8
	case typ.Kind() == reflect.Array:
		size, align = std430(t, typ.Elem())
		return roundUp(size, align) * uintptr(typ.Len()), align
	}
	t.Fatalf("type %v has no place in a record", typ)
	return 0, 0
}

func roundUp(n, to uintptr) uintptr { return (n + to - 1) / to * to }

func TestRecordsAreStd430(t *testing.T) {
	for _, r := range Records() {
		var offset, align uintptr
		for i := range r.Type.NumField() {
			f := r.Type.Field(i)
			s, a := std430(t, f.Type)
			offset, align = roundUp(offset, a), max(align, a)
			if f.Offset != offset {
				t.Errorf("%s.%s stands at %d in Go, at %d in a storage buffer", r.Name, f.Name, f.Offset, offset)
			}
			offset += s
		}
		if stride := roundUp(offset, align); r.Type.Size() != stride {
			t.Errorf("%s takes %d bytes in Go, %d in an array of a storage buffer", r.Name, r.Type.Size(), stride)
		}
	}
}

func TestConstants(t *testing.T) {
	for reader, groups := range map[string][]ConstantGroup{"GLSL": GLSLConstants(), "C": CConstants()} {
		t.Run(reader, func(t *testing.T) { checkConstants(t, groups) })
	}
	for k := range geom.KindCount {
		if n := len(Params(k)); n > ParamCount {
			t.Errorf("%v has %d parameters, a record holds %d", k, n, ParamCount)
		}
	}
	if Params(geom.KindCount) != nil {
		t.Error("no kind has parameters")
	}
}

func checkConstants(t *testing.T, groups []ConstantGroup) {
	values := map[string]uint32{}
	for _, g := range groups {
		for _, c := range g.Constants {
			if _, twice := values[c.Name]; twice {
				t.Errorf("%s is there twice", c.Name)
			}
			if c.Name != strings.ToUpper(c.Name) || strings.ContainsAny(c.Name, " ()") {
				t.Errorf("%q is no name of a constant", c.Name)
			}
			values[c.Name] = c.Value
		}
	}
	for name, want := range map[string]uint32{
		"KIND_SPHERE": 0, "KIND_CONVEX": 10, "KIND_COUNT": uint32(geom.KindCount), "STATUS_UNDECIDED": 3,
		"QUERY_COLLIDE":            1,
		"SUPERQUADRIC_EXPONENTS_1": 4, "SOLVER_EPA": 7, "MAX_TOTAL_VERTICES": 1 << 23, "MAX_LENGTH": 1000000000,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s = %d, %t; want %d", name, got, ok, want)
		}
	}
}

func TestPacked(t *testing.T) {
	// A tetrahedron with a point inside and one twice.
	convex, err := geom.NewConvex([]r3.Vec{{}, {X: 1}, {Y: 1}, {Z: 1}, {X: 0.1, Y: 0.1, Z: 0.1}, {X: 1}})
	if err != nil {
		t.Fatal(err)
	}
	point, err := geom.NewConvex([]r3.Vec{{X: 7}})
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		shape  geom.Shape
		params []float32
		count  uint32
		radius float32
	}{
		{geom.Sphere{R: 2}, []float32{2}, 0, 2},
		{geom.Capsule{R: 0.5, HalfLength: 3}, []float32{0.5, 3}, 0, 0.5},
		{geom.Cylinder{R: 1, HalfLength: 2}, []float32{1, 2}, 0, 0},
		{geom.WithMargin(geom.Cone{R: 1, HalfLength: 2}, 0.25), []float32{1, 2}, 0, 0.25},
		{geom.Rounded{Shape: geom.Rounded{Shape: geom.Sphere{R: 1}, Margin: 0.5}, Margin: 0.25}, []float32{1}, 0, 1.75},
		{geom.Frustum{RBottom: 1, RTop: 2, HalfLength: 3}, []float32{1, 2, 3}, 0, 0},
		{geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}}, []float32{1, 2, 3}, 0, 0},
		{convex, nil, 4, 0},
		{geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 3}}, []float32{1, 2, 3}, 0, 0},
		{geom.Superquadric{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 3}, Alpha1: 0.5, Alpha2: 1.5}, []float32{1, 2, 3, 0.5, 1.5},
			0, 0},
		{geom.WithMargin(point, 1), nil, 1, 1},
		{geom.Halfspace{}, nil, 0, 0},
		{mustSmoothHull(t), []float32{7.3}, 6, 0},
		{mustSmoothRevolution(t), []float32{20.3, 1e-3}, 2, 0},
	}
	var shapes []geom.Shape
	for _, c := range cases {
		shapes = append(shapes, c.shape)
	}
	l, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Pack(l)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		r := p.Shapes[i]
		var params [ParamCount]float32
		copy(params[:], c.params)
		if geom.Kind(r.Kind) != c.shape.Kind() || r.Params != params || r.VertexCount != c.count ||
			r.Radius != c.radius {
			t.Errorf("%v is packed as %+v", c.shape.Kind(), r)
		}
		// Every parameter that is there has a name.
		if len(c.params) != len(Params(c.shape.Kind())) {
			t.Errorf("%v has %d parameters, %d names", c.shape.Kind(), len(c.params), len(Params(c.shape.Kind())))
		}
		center := c.shape.Center()
		radius := float32(c.shape.BoundingRadius())
		if want := (Vec4{float32(center.X), float32(center.Y), float32(center.Z), radius}); r.Ball != want {
			t.Errorf("%v has the ball %v, want %v", c.shape.Kind(), r.Ball, want)
		}
	}
	if len(p.Vertices) != 5+6+2 || p.Vertices[p.Shapes[10].VertexOffset] != (Vec4{7, 0, 0, 0}) {
		t.Errorf("vertices %v", p.Vertices)
	}
	tetrahedron := p.Vertices[p.Shapes[7].VertexOffset:][:p.Shapes[7].VertexCount]
	for _, v := range []Vec4{{}, {1}, {0, 1}, {0, 0, 1}} {
		if !slices.Contains(tetrahedron, v) {
			t.Errorf("vertex %v is missing from %v", v, tetrahedron)
		}
	}
	if ball := p.Shapes[11].Ball[3]; !math.IsInf(float64(ball), 1) {
		t.Errorf("a half-space has the bounding radius %g", ball)
	}
}

// stranger is a shape of a type that nobody has taught the packer.
type stranger struct{ geom.Sphere }

func TestPackedRefuses(t *testing.T) {
	l, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}, stranger{geom.Sphere{R: 1}}}, []string{"", "guest"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Pack(l)
	if p != nil || err == nil || !strings.Contains(err.Error(), `shape 1 ("guest")`) ||
		!strings.Contains(err.Error(), "no packed form") {
		t.Errorf("packed %v, error %v", p, err)
	}
}

// Every packed status stands for a status word, and no two for the same but the codes
// that mean nothing.
func TestUnpackStatus(t *testing.T) {
	for code, want := range map[uint32]uint32{
		0: uint32(batch.Separated), 1: uint32(batch.Touching), 2: uint32(batch.Penetrating),
		PackedInvalid: uint32(batch.Invalid), PackedInvalid | PackedRefined: uint32(batch.Invalid),
		PackedRefined:     uint32(batch.Separated) | Refined<<8,
		PackedRefined + 1: uint32(batch.Touching) | Refined<<8, PackedRefined + 2: uint32(batch.Penetrating) |
			Refined<<8,
		PackedByDepth + 1:            uint32(batch.Touching) | (Refined|ByDepth)<<8,
		PackedByDepth + 2:            uint32(batch.Penetrating) | (Refined|ByDepth)<<8,
		PackedDeclined + DeclinedGap: Declined | DeclinedGap<<8, PackedDeclined + DeclinedLoops: Declined |
			DeclinedLoops<<8,
		PackedDeclined: Declined | DeclinedPrecision<<8,
	} {
		if got := UnpackStatus(code); got != want {
			t.Errorf("code %d unpacks to %#x, want %#x", code, got, want)
		}
	}
	if DeclinedLoops > PackedByDepth-PackedDeclined || DeclinedPrecision != DeclinedCount-1 {
		t.Error("the reasons do not fit, or one looks like a depth")
	}
	if w := UnpackStatus(1<<PackedBits - 1); w&0xff != Declined || w>>8 < DeclinedCount {
		t.Errorf("a row without an answer unpacks to %#x", w)
	}
}

// A status word names the solver by its place in the list, whatever else it says; a place that
// the list lacks is no solver.
func TestSolverOf(t *testing.T) {
	for i, s := range Solvers {
		if slices.Index(Solvers[:], s) != i {
			t.Errorf("%v is in the list twice", s)
		}
		for _, rest := range []uint32{0, uint32(batch.Penetrating) | (Refined|ByDepth|FromFloat32)<<8 | 0xffff<<16} {
			if got, ok := SolverOf(uint32(i)<<SolverShift | rest); got != s || !ok {
				t.Errorf("code %d with %#x is %v %t, want %v", i, rest, got, ok, s)
			}
		}
	}
	for i := len(Solvers); i <= SolverMask; i++ {
		if got, ok := SolverOf(uint32(i) << SolverShift); got != batch.SolverNone || ok {
			t.Errorf("code %d, which no shader writes, is %v", i, got)
		}
	}
}
