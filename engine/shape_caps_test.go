package engine

import (
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// Numbers and results of a row of testdata/caps.comp.
const (
	capNumbers = 23
	capResults = 8
)

// capRow is a pair of curved cores in the frame of A, with B where the support function h of D = A - B has the value
// `value` along n and is stationary there.
type capRow struct {
	index    [2]int32
	shapes   [2]geom.Smooth
	rotation quat.Number
	frames   [2]geom.Mat3
	n, e, f  r3.Vec
	offset   r3.Vec // of D
	erode    [2]float64
	value    float64 // of the cores that are not eroded
	low      float64 // bound to be proved in the cap, of the eroded ones
	t        float64 // size of a cap for the Hessian bounds
	size     float64
}

// point is the support point of D along d that core k contributes.
func (r *capRow) point(k int, d r3.Vec) r3.Vec {
	m := &r.frames[k]
	if k == 1 {
		return r3.Scale(-1, m.MulVec(r.shapes[k].CoreSupport(r3.Scale(-1, m.MulVecT(d)))))
	}
	return r.shapes[k].CoreSupport(d)
}

// support is the support value of the eroded cores along d, of any length.
func (r *capRow) support(d r3.Vec) float64 {
	w := r3.Add(r.offset, r3.Add(r.point(0, d), r.point(1, d)))
	return r3.Dot(w, d) - (r.erode[0]+r.erode[1])*r3.Norm(d)
}

// tangent is y in the tangent plane of n.
func (r *capRow) tangent(length, angle float64) r3.Vec {
	sin, cos := math.Sincos(angle)
	return r3.Add(r3.Scale(length*cos, r.e), r3.Scale(length*sin, r.f))
}

// capRowOf draws a row of two shapes; ok is false where no local minimum is possible.
func capRowOf(g *rand.Rand, lib *batch.Library, a, b int32) (r capRow, ok bool) {
	r = capRow{index: [2]int32{a, b}, rotation: testkit.Rotation(g), n: testkit.Unit(g)}
	r.frames = [2]geom.Mat3{{1, 0, 0, 0, 1, 0, 0, 0, 1}, (geom.Pose{Rotation: r.rotation}).Matrix()}
	r.e = r3.Unit(r3.Cross(r.n, testkit.Unit(g)))
	r.f = r3.Cross(r.n, r.e)
	var sum [3]float64 // of the Hessians
	for k, i := range r.index {
		s := lib.Shape(i)
		r.shapes[k] = s.(geom.Smooth)
		r.size += s.BoundingRadius()
		if g.IntN(2) == 0 {
			r.erode[k] = geom.MinCurvatureRadius(s)
		}
		m := &r.frames[k]
		d, e, f := m.MulVecT(r.n), m.MulVecT(r.e), m.MulVecT(r.f)
		if k == 1 {
			d = r3.Scale(-1, d)
		}
		h, curved := r.shapes[k].SupportHessian(d)
		if !curved {
			return r, false
		}
		he, hf := h.MulVec(e), h.MulVec(f)
		sum = [3]float64{sum[0] + r3.Dot(e, he), sum[1] + r3.Dot(e, hf), sum[2] + r3.Dot(f, hf)}
	}
	least := (sum[0]+sum[2])/2 - math.Hypot((sum[0]-sum[2])/2, sum[1])
	erode := r.erode[0] + r.erode[1]
	if !(least > 1.001*erode) {
		return r, false
	}
	r.value = erode + (least-erode)*(0.05+0.93*g.Float64())
	r.low = (r.value - erode) * (1 - math.Pow(10, -4*g.Float64()))
	r.t = math.Pow(10, 0.3-2*g.Float64())
	r.offset = r3.Sub(r3.Scale(r.value, r.n), r3.Add(r.point(0, r.n), r.point(1, r.n)))
	return r, true
}

// numbers are what the shader reads of the row.
func (r *capRow) numbers() []float64 {
	q, n, e, f := r.rotation, r.n, r.e, r.f
	return []float64{float64(r.index[0]), float64(r.index[1]), q.Real, q.Imag, q.Jmag, q.Kmag, n.X, n.Y, n.Z, e.X, e.Y,
		e.Z, f.X, f.Y, f.Z, 0, 0, r.value, r.low, r.size, r.t, r.erode[0], r.erode[1]}
}

// formExcess is by how much the support function of core k, along n + y, is too small for the bound of its Hessian,
// relative to what the bound adds to the tangent plane; rounding included, it is not positive.
func (r *capRow) formExcess(k int, form []float64, y r3.Vec) float64 {
	d := r3.Add(r.n, y)
	ye, yf := r3.Dot(y, r.e), r3.Dot(y, r.f)
	bound := 0.5 * (form[0]*ye*ye + 2*form[1]*ye*yf + form[2]*yf*yf)
	above := r3.Dot(r3.Sub(r.point(k, d), r.point(k, r.n)), d)
	return (bound - above - 1e-13*r.size) / math.Max(bound, 1e-12*r.size)
}

// capExcess is by how much the support value of D is below the bound in a cap of this size, relative to it.
func (r *capRow) capExcess(g *rand.Rand, size float64) (worst float64) {
	worst = math.Inf(-1)
	for range 64 {
		d := r3.Unit(r3.Add(r.n, r.tangent(size*math.Sqrt(1-0.9*g.Float64()*g.Float64()), 2*math.Pi*g.Float64())))
		worst = max(worst, (r.low-r.support(d)-1e-12*r.size)/r.low)
	}
	return worst
}

// least is the smallest eigenvalue of the sum of both forms.
func least(forms []float64) float64 {
	xx, xy, yy := forms[0]+forms[3], forms[1]+forms[4], forms[2]+forms[5]
	return (xx+yy)/2 - math.Hypot((xx-yy)/2, xy)
}

// allowed is the largest cap that Hessian bounds over caps of several sizes prove for the row, see widestCap in package
// ref: up to a size for which their least eigenvalue κ is at least the bound, and beyond to twice the angle whose
// tangent is half of κ times the size, over the bound.
func (r *capRow) allowed(sizes []float64, forms [][]float64) (most float64) {
	need := r.low + r.erode[0] + r.erode[1]
	for k, size := range sizes {
		if kappa := least(forms[k]); kappa >= need*(1-1e-9) {
			angle := min(2*math.Atan(0.5*kappa*size/need), math.Atan(farthestCap))
			most = max(most, size, math.Tan(angle))
		}
	}
	return most
}

// farthestCap is FARTHEST_CAP of hessian_bounds.glsl.
const farthestCap = 2.5

// capSizes are the sizes of caps that hessian_bounds.glsl tries.
func capSizes() (sizes []float64) {
	for t := 2.0; len(sizes) < 16; t *= 0.7 {
		sizes = append(sizes, t)
	}
	return sizes
}

// capTest is random pairs with the caps that their Hessian bounds allow.
type capTest struct {
	b       *Backend
	rows    []capRow
	allowed []float64
	buffers []vk.Buffer
}

func (c *capTest) evaluate(t *testing.T, code []byte, rows []capRow) (out [][]float64) {
	t.Helper()
	var numbers []float64
	for i := range rows {
		numbers = append(numbers, rows[i].numbers()...)
	}
	all := evaluate(t, c.b, code, numbers, len(rows), capResults, c.buffers...)
	for i := range rows {
		out = append(out, all[capResults*i:][:capResults])
	}
	return out
}

// allow sets what the bounds of a shader allow.
func (c *capTest) allow(t *testing.T, code []byte) {
	t.Helper()
	sizes := capSizes()
	var rows []capRow
	for _, r := range c.rows {
		for _, size := range sizes {
			r.t = size
			rows = append(rows, r)
		}
	}
	out := c.evaluate(t, code, rows)
	for i := range c.rows {
		c.allowed = append(c.allowed, c.rows[i].allowed(sizes, out[len(sizes)*i:][:len(sizes)]))
	}
}

// violations counts the Hessian bounds and the caps of a shader that do not hold, and the rows with a cap.
func (c *capTest) violations(t *testing.T, code []byte) (forms, caps, found int) {
	t.Helper()
	g := rand.New(rand.NewPCG(30, 2))
	for i, out := range c.evaluate(t, code, c.rows) {
		r := &c.rows[i]
		for k := range r.shapes {
			wrong := false
			for range 24 {
				wrong = wrong || r.formExcess(k, out[3*k:], r.tangent(r.t*(1-1e-12), 2*math.Pi*g.Float64())) > 1e-6
			}
			if wrong {
				forms++
			}
		}
		size := out[6]
		if size > 0 {
			found++
		}
		// The directions along which the apex has a support value of the bound or more.
		apex := math.Tan(math.Acos(1 / out[7]))
		if !(size <= c.allowed[i]*(1+1e-6)) || !(apex <= size) || size > 0 && r.capExcess(g, size) > 1e-9 {
			caps++
		}
	}
	return forms, caps, found
}

// mutated compiles a shader of the tests with a change in one of the files that it includes.
func mutated(t *testing.T, source, file, from, to string) []byte {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("sh", "-c", "cp ../shaders/*.glsl "+dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), from) != 1 {
		t.Fatalf("%s has %q not once", file, from)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	return compileWith(t, dir, source)
}

// TestCapsOfShaders: the Hessian bounds, the caps and the apices of depth certificates hold for random pairs of all
// curved kinds, by the support functions of package geom; and those of shaders with caps 10 % too wide do not.
func TestCapsOfShaders(t *testing.T) {
	b := open(t, Options{})
	g := rand.New(rand.NewPCG(30, 1))
	var shapes []geom.Shape
	for _, s := range smoothShapes(t, g, 2) {
		if _, ok := s.(geom.Smooth); ok && s.Radius() == 0 {
			shapes = append(shapes, s)
		}
	}
	for range 24 {
		axes := r3.Vec{X: math.Pow(10, -g.Float64()), Y: math.Pow(10, -g.Float64()), Z: math.Pow(10, -g.Float64())}
		shapes = append(shapes, geom.Ellipsoid{SemiAxes: axes}, geom.Superquadric{SemiAxes: axes,
			Alpha1: 0.3 + 1.5*g.Float64(), Alpha2: 0.3 + 1.5*g.Float64()}, geom.Superquadric{SemiAxes: axes, Alpha1: 1,
			Alpha2: 1})
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	k, err := b.libraries.of(t.Context(), lib)
	if err != nil {
		t.Fatal(err)
	}
	defer b.libraries.release(k)
	c := capTest{b: b, buffers: []vk.Buffer{k.shapes64, k.vertices64, k.cells}}
	for len(c.rows) < size(1000, 1000, 10000) {
		if r, ok := capRowOf(g, lib, int32(g.IntN(len(shapes))), int32(g.IntN(len(shapes)))); ok {
			c.rows = append(c.rows, r)
		}
	}
	const source, bounds = "../shaders/testdata/caps.comp", "hessian_bounds.glsl"
	code := compile(t, source)
	c.allow(t, code)
	forms, caps, found := c.violations(t, code)
	t.Logf("%d pairs, %d with a cap", len(c.rows), found)
	if forms > 0 || caps > 0 || found < len(c.rows)/2 {
		t.Errorf("of %d pairs, %d have caps; %d Hessian bounds and %d caps do not hold", len(c.rows), found, forms,
			caps)
	}
	const ofKinds = "hessian_caps.glsl"
	for _, m := range []struct{ file, what, from, to string }{
		{bounds, "extended caps", "extendedCapSize(h, low, CAP_RATIO * t)",
			"1.1lf * extendedCapSize(h, low, CAP_RATIO * t)"},
		{bounds, "apices", "APEX_SHARE * t * t", "1.21lf * APEX_SHARE * t * t"},
		{bounds, "caps", "capIsValid(h, low, candidate);", "capIsValid(h, low, candidate / 1.1lf);"},
		{ofKinds, "caps of ellipsoids", "hessian, t);\n        return limitTrace(ratio * hessian);",
			"hessian, t / 1.1lf);\n        return limitTrace(ratio * hessian);"},
		{ofKinds, "caps of superquadrics", "superquadricHessianBound(s, d, e, f, t);",
			"superquadricHessianBound(s, d, e, f, t / 1.1lf);"},
		{ofKinds, "caps of smooth hulls and revolutions", "smoothHessianBound(s, d, e, f, g, t);",
			"smoothHessianBound(s, d, e, f, g, t / 1.1lf);"},
	} {
		forms, caps, _ := c.violations(t, mutated(t, source, m.file, m.from, m.to))
		t.Logf("%s 10 %% too wide: %d Hessian bounds and %d caps do not hold", m.what, forms, caps)
		if forms+caps == 0 {
			t.Errorf("%s that are 10 %% too wide pass the test", m.what)
		}
	}
}
