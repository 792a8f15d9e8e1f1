package layout

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/geom/cells"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// cellOf is the look-up of the shaders, in float32 from e on.
func cellOf(edge int, frame [6]float32, d r3.Vec) int {
	var f [6]float64
	for i, x := range frame {
		f[i] = float64(x)
	}
	e := [3]float32{
		float32(f[0]*d.X + f[1]*d.Y + f[3]*d.Z),
		float32(f[2]*d.Y + f[4]*d.Z),
		float32(f[5] * d.Z),
	}
	abs := func(x float32) float32 { return float32(math.Abs(float64(x))) }
	axis := 2
	if abs(e[0]) >= abs(e[1]) && abs(e[0]) >= abs(e[2]) {
		axis = 0
	} else if abs(e[1]) >= abs(e[2]) {
		axis = 1
	}
	m, face := abs(e[axis]), 2*axis
	if e[axis] < 0 {
		face++
	}
	cell := func(x float32) int { return max(0, min(edge-1, int((x/m+1)*(0.5*float32(edge))))) }
	return (face*edge+cell(e[(axis+1)%3]))*edge + cell(e[(axis+2)%3])
}

// hulls is a set of vertices a test: round, flat, needles in and across the axes, with
// faces of many corners, with vertices all but coplanar.
func hulls(g *rand.Rand) map[string][]r3.Vec {
	ball := func(n int) []r3.Vec {
		v := make([]r3.Vec, n)
		for i := range v {
			x := testkit.Normal(g)
			v[i] = r3.Unit(x)
		}
		return v
	}
	stretched := func(v []r3.Vec, along r3.Vec, by float64) []r3.Vec {
		along = r3.Unit(along)
		for i, x := range v {
			v[i] = r3.Add(x, r3.Scale((by-1)*r3.Dot(x, along), along))
		}
		return v
	}
	prism := func(n int) (v []r3.Vec) {
		for i := range n {
			s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			v = append(v, r3.Vec{X: c, Y: s, Z: 0.2}, r3.Vec{X: c, Y: s, Z: -0.2})
		}
		return v
	}
	grid := []r3.Vec{{Z: -1}} // a dome that is all but flat
	for i := range 20 {
		for j := range 20 {
			x, y := float64(i)-9.5, float64(j)-9.5
			grid = append(grid, r3.Vec{X: x, Y: y, Z: -1e-12 * (x*x + y*y)})
		}
	}
	far := ball(300)
	for i := range far {
		far[i] = r3.Add(r3.Scale(1e-3, far[i]), r3.Vec{X: 1e5, Y: -1e5, Z: 3e4})
	}
	return map[string][]r3.Vec{
		"32":             ball(32),
		"512":            ball(512),
		"5000":           ball(5000),
		"needle":         stretched(ball(400), r3.Vec{X: 1}, 1e3),
		"oblique needle": stretched(ball(400), r3.Vec{X: 1, Y: 2, Z: -3}, 1e6),
		"plate":          stretched(ball(400), r3.Vec{X: 1, Y: 1, Z: 1}, 1e-7),
		"tiny":           stretched(ball(100), r3.Vec{X: 1}, 1e-4),
		"prism":          prism(500),
		"polygon":        stretched(prism(300), r3.Vec{Z: 1}, 0),
		"dome":           grid,
		"far":            far,
	}
}

// TestCells: for directions of all kinds, the normals of faces and the boundaries of cells
// among them, the list of the cell holds the support vertex of exact arithmetic
// up to rounding.
func TestCells(t *testing.T) {
	g := rand.New(rand.NewPCG(5, 6))
	for name, points := range hulls(g) {
		c, err := geom.NewConvex(points)
		if err != nil {
			t.Fatal(err)
		}
		h := c.Hull()
		l, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}, geom.WithMargin(c, 0.5)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Pack(l)
		if err != nil {
			t.Fatal(err)
		}
		head := p.Cells[1]
		if head == 0 || p.Cells[0] != 0 {
			t.Fatalf("%s: directory %v", name, p.Cells[:2])
		}
		edge, longest := int(p.Cells[head]), int(p.Cells[head+1])
		starts := p.Cells[head+2:]
		if int(starts[6*edge*edge]) != len(p.Cells) {
			t.Errorf("%s: the lists end at %d of %d", name, starts[6*edge*edge], len(p.Cells))
		}
		frame := [6]float32(p.Shapes[1].Params[:6])
		visits, queries := 0, 0
		try := func(d r3.Vec) {
			k := cellOf(edge, frame, d)
			list := p.Cells[starts[k]:starts[k+1]]
			if len(list) == 0 || len(list) > longest {
				t.Fatalf("%s: cell %d lists %d vertices, the longest list %d", name, k, len(list), longest)
			}
			visits, queries = visits+len(list), queries+1
			best := math.Inf(-1)
			for _, v := range list {
				best = max(best, r3.Dot(d, r3.Sub(h.Vertices[v], c.Center())))
			}
			want := h.Vertices[h.SupportClimb(d, 0)]
			top := r3.Dot(d, r3.Sub(want, c.Center()))
			// Of both products: three roundings each, relative to the length of the
			// vertices from the center and from the origin they were subtracted from.
			slack := 8 * 0x1p-53 * (c.BoundingRadius() + r3.Norm(c.Center())) * r3.Norm(d)
			if !(best >= top-slack) {
				t.Fatalf("%s: direction %v: the list reaches %.17g, the hull %.17g", name, d, best, top)
			}
		}
		for range 20000 {
			try(testkit.Normal(g))
		}
		random, n := visits, queries
		for _, d := range h.Normals {
			for range 3 {
				try(d)
				d = r3.Add(d, r3.Scale(1e-7, testkit.Normal(g)))
			}
		}
		// Boundaries of cells: e on a corner, d = L⁻ᵀe.
		for face := range 6 {
			for range 200 {
				u, v := 2*float64(g.IntN(edge+1))/float64(edge)-1, 2*float64(g.IntN(edge+1))/float64(edge)-1
				e := cells.Direction(face, u, v)
				var d r3.Vec
				d.Z = e.Z / float64(frame[5])
				d.Y = (e.Y - float64(frame[4])*d.Z) / float64(frame[2])
				d.X = (e.X - float64(frame[1])*d.Y - float64(frame[3])*d.Z) / float64(frame[0])
				try(d)
			}
		}
		t.Logf("%s: %d vertices, %d×%d cells per face, %.1f words per vertex, longest list %d, mean of random "+
			"directions %.1f",
			name, len(h.Vertices), edge, edge,
			float64(len(p.Cells))/float64(len(h.Vertices)), longest, float64(random)/float64(n))
	}
}

// TestExtendedCells packs libraries that were extended in steps: the words are those of a library that was made at
// once.
func TestExtendedCells(t *testing.T) {
	g := rand.New(rand.NewPCG(5, 6))
	lib, err := batch.NewLibrary(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []geom.Shape
	for step := range 6 {
		more := []geom.Shape{geom.Sphere{R: 1}, testkit.Hull(g, r3.Vec{X: 1, Y: 2, Z: 3}, 10+40*step)}
		if lib, err = lib.Extended(more, nil, nil); err != nil {
			t.Fatal(err)
		}
		all = append(all, more...)
		if step == 2 { // of which nothing is packed
			continue
		}
		scratch, err := batch.NewLibrary(all, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Pack(lib)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Pack(scratch)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("a library extended %d times is packed to other words", step)
		}
	}
}
