package mesh

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

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
