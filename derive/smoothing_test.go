package derive

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	kernel "clearance/kernels/derive"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestPhilox compares with the known answers of the authors' library.
func TestPhilox(t *testing.T) {
	const all = 0xffffffff
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{all, all, all, all}, [2]uint32{all, all}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := philox(c.counter, c.key); got != c.want {
			t.Errorf("philox(%x, %x) = %x, want %x", c.counter, c.key, got, c.want)
		}
	}
}

// TestNormals: mean, variance and fourth moment within four standard deviations, and no correlation.
func TestNormals(t *testing.T) {
	g := newNoise(3, 5)
	const n = 200_000
	var mean, second, fourth, product float64
	for i := range n {
		z := g.normals(uint32(i), 0)
		for _, x := range z {
			mean += x / (4 * n)
			second += x * x / (4 * n)
			fourth += x * x * x * x / (4 * n)
		}
		product += (z[0]*z[1] + z[2]*z[3]) / (2 * n)
	}
	s := 1 / math.Sqrt(4*n)
	if math.Abs(mean) > 4*s || math.Abs(second-1) > 4*s*math.Sqrt(2) || math.Abs(fourth-3) > 4*s*math.Sqrt(96) ||
		math.Abs(product) > 4*s*math.Sqrt(2) {
		t.Errorf("mean %g, second moment %g, fourth %g, product %g", mean, second, fourth, product)
	}
}

// TestGaussianMean compares the estimate on a box with its expectation. The support point is hᵢ·sgn(nᵢ + εzᵢ), so
// that E[sᵢ·zᵢ]/ε = 2·hᵢ·φ(nᵢ/ε)/ε with φ the normal density, and all other entries have mean zero.
func TestGaussianMean(t *testing.T) {
	half := r3.Vec{X: 0.3, Y: 0.5, Z: 0.7}
	n := r3.Unit(r3.Vec{X: 0.1, Y: -0.25, Z: 0.9})
	epsilon := 0.3
	s := place(geom.Box{HalfExtents: half}, geom.IdentityPose(), r3.Vec{}, r3.Vec{})
	const batches, each = 100, 10_000 // a million samples
	var mean, square geom.Mat3
	for row := range uint64(batches) {
		g := newNoise(11, row)
		m := gaussianHessian(&s, n, epsilon, each, &g, 0)
		for i, v := range m {
			mean[i] += v / batches
			square[i] += v * v / batches
		}
	}
	h, d := [3]float64{half.X, half.Y, half.Z}, [3]float64{n.X, n.Y, n.Z}
	for i := range 3 {
		for j := range 3 {
			want := 0.0
			if i == j {
				u := d[i] / epsilon
				want = 2 * h[i] * math.Exp(-u*u/2) / (math.Sqrt(2*math.Pi) * epsilon)
			}
			k := 3*i + j
			sigma := math.Sqrt((square[k]-mean[k]*mean[k])/batches) + 1e-15
			if !(math.Abs(mean[k]-want) <= 4*sigma) || !(sigma < 5e-3) {
				t.Errorf("entry %d, %d: %g ± %g, want %g", i, j, mean[k], sigma, want)
			}
		}
	}
}

// TestGaussianMeanOfKernel is TestGaussianMean of the kernel, in the tangent plane of the corner of a box, and of the
// same box as a hull. The eigenvalues are so far above 0 that no estimate is negative.
func TestGaussianMeanOfKernel(t *testing.T) {
	half := r3.Vec{X: 0.3, Y: 0.5, Z: 0.7}
	var corners []r3.Vec
	for i := range 8 {
		sign := func(bit int) float64 { return float64(1 - 2*(i>>bit&1)) }
		corners = append(corners, r3.Vec{X: half.X * sign(0), Y: half.Y * sign(1), Z: half.Z * sign(2)})
	}
	c, err := geom.NewConvex(corners)
	if err != nil {
		t.Fatal(err)
	}
	out := r3.Unit(r3.Vec{X: 0.3, Y: 0.4, Z: 0.5})
	const epsilon, samples, n = 0.3, 10_000, 100 // a million samples
	e := tangentBasis(r3.Scale(-1, out))
	var want sym2
	for k, d := range [3]float64{out.X, out.Y, out.Z} {
		axis := [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}[k]
		u := d / epsilon
		h := 2 * [3]float64{half.X, half.Y, half.Z}[k] * math.Exp(-u*u/2) / (math.Sqrt(2*math.Pi) * epsilon)
		t0, t1 := r3.Dot(e[0], axis), r3.Dot(e[1], axis)
		want.add(sym2{h * t0 * t0, h * t0 * t1, h * t1 * t1})
	}
	for _, shape := range []geom.Shape{geom.Box{HalfExtents: half}, c} {
		ball := geom.Translate(0, 0, 0)
		ball.Position = r3.Add(half, r3.Scale(0.2+0.1, out))
		row := solve(geom.Sphere{R: 0.2}, shape, ball, geom.IdentityPose())
		job := jobOf(t, slices.Repeat([]Row{row}, n), batch.Double)
		for _, variant := range kernel.Variants() {
			got := newDerivatives(n, batch.DerivedColumns)
			pass := Pass{Options: Options{Mode: Gaussian, Epsilon: epsilon, Samples: samples, Seed: 5},
				SIMD: variant}
			if err := pass.Run(t.Context(), job, got); err != nil {
				t.Fatal(err)
			}
			for k := range want {
				mean, square := 0.0, 0.0
				for i := range n {
					v := got.Column(batch.ColCurvature).F64[6*i+3+k]
					mean += v / n
					square += v * v / n
				}
				sigma := math.Sqrt((square - mean*mean) / n)
				if !(math.Abs(mean-want[k]) <= 4*sigma) || !(sigma < 5e-3) {
					t.Errorf("%v, %s, number %d: %g ± %g, want %g", shape.Kind(), variant, k, mean, sigma, want[k])
				}
			}
		}
	}
}

// softmaxPoint is the gradient of the smoothed support function ε·log Σ exp(<v, d>/ε): the mean of the vertices
// under the weights of a softmax [AGIMUS2023, Randomized Smoothing, eq. 27].
func softmaxPoint(vertices []r3.Vec, d r3.Vec, epsilon float64) (mean r3.Vec) {
	top := math.Inf(-1)
	for _, v := range vertices {
		top = max(top, r3.Dot(v, d))
	}
	sum := 0.0
	for _, v := range vertices {
		w := math.Exp((r3.Dot(v, d) - top) / epsilon)
		sum += w
		mean = r3.Add(mean, r3.Scale(w, v))
	}
	return r3.Scale(1/sum, mean)
}

// gradientDifference is the derivative of a vector field at d by central differences of the fourth order.
func gradientDifference(f func(r3.Vec) r3.Vec, d r3.Vec, h float64) (m geom.Mat3) {
	for j, axis := range [3]r3.Vec{{X: h}, {Y: h}, {Z: h}} {
		at := func(k float64) r3.Vec { return f(r3.Add(d, r3.Scale(k, axis))) }
		near, far := r3.Sub(at(1), at(-1)), r3.Sub(at(2), at(-2))
		v := r3.Scale(1/(12*h), r3.Sub(r3.Scale(8, near), far))
		m[j], m[3+j], m[6+j] = v.X, v.Y, v.Z
	}
	return m
}

// TestGumbelAgainstDifferences compares closed forms with differences of the gradients of smoothed support functions.
func TestGumbelAgainstDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var w Workspace
	box := geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}}
	var corners []r3.Vec
	for i := range 8 {
		sign := func(bit int) float64 { return float64(1 - 2*(i>>bit&1)) }
		corners = append(corners, r3.Vec{X: 0.2 * sign(0), Y: 0.3 * sign(1), Z: 0.45 * sign(2)})
	}
	hull := testkit.Hull(rng, r3.Vec{X: 0.5, Y: 0.3, Z: 0.4}, 30)
	cylinder := func(d r3.Vec, epsilon float64) r3.Vec {
		disc := math.Sqrt(0.09*(d.X*d.X+d.Y*d.Y) + epsilon*epsilon)
		x := softmaxPoint([]r3.Vec{{Z: 0.4}, {Z: -0.4}}, d, epsilon)
		return r3.Add(x, r3.Vec{X: 0.09 * d.X / disc, Y: 0.09 * d.Y / disc})
	}
	for range 50 {
		d, epsilon := testkit.Unit(rng), 0.02+0.1*rng.Float64()
		for name, c := range map[string]struct {
			core     geom.Shape
			gradient func(r3.Vec) r3.Vec
		}{
			"box":  {box, func(d r3.Vec) r3.Vec { return softmaxPoint(corners, d, epsilon) }},
			"hull": {hull, func(d r3.Vec) r3.Vec { return softmaxPoint(hull.Hull().Vertices, d, epsilon) }},
			"cylinder": {geom.Cylinder{R: 0.3, HalfLength: 0.4},
				func(d r3.Vec) r3.Vec { return cylinder(d, epsilon) }},
		} {
			got, ok := w.gumbelHessian(c.core, d, epsilon, 0)
			want := gradientDifference(c.gradient, d, 1e-4)
			for i := range got {
				// Vertices that a hull leaves out weigh exp(-20) each.
				if !ok || !(math.Abs(got[i]-want[i]) <= 1e-7*(1+math.Abs(want[i]))) {
					t.Fatalf("%s, ε = %g, entry %d: %g, by differences %g", name, epsilon, i, got[i], want[i])
				}
			}
		}
		every, _ := w.gumbelHessian(hull, d, epsilon, 0)
		rings, _ := w.gumbelHessian(hull, d, epsilon, 30)
		for i := range every {
			if !(math.Abs(every[i]-rings[i]) <= 1e-6) {
				t.Fatalf("all rings give %g, all vertices %g", rings[i], every[i])
			}
		}
	}
}

// TestRings: rings begin at the whole feature that supports the hull, so that rounding does not choose the vertex.
func TestRings(t *testing.T) {
	var points []r3.Vec
	for i := range 8 { // a prism: the top is a square, which four of its corners support
		sign := func(bit int) float64 { return float64(1 - 2*(i>>bit&1)) }
		points = append(points, r3.Vec{X: 0.2 * sign(0), Y: 0.3 * sign(1), Z: 0.45 * sign(2)})
	}
	c, err := geom.NewConvex(append(points, r3.Vec{Z: -0.9}))
	if err != nil {
		t.Fatal(err)
	}
	h := c.Hull()
	var w Workspace
	for _, k := range []struct {
		d           r3.Vec
		rings, want int
	}{{r3.Vec{Z: 1}, 1, 8}, {r3.Vec{Z: 1}, 2, 9}, {r3.Unit(r3.Vec{X: 1, Z: 1}), 1, 6},
		{r3.Unit(r3.Vec{X: 1, Y: 1, Z: 1}), 1, 4}, {r3.Vec{Z: -1}, 1, 5}} {
		top := r3.Dot(h.Vertices[h.Support(k.d)], k.d)
		for i, v := range h.Vertices {
			if r3.Dot(v, k.d) < top-1e-12 {
				continue
			}
			if got := len(w.ring(h, int32(i), k.d, k.rings)); got != k.want {
				t.Errorf("direction %v, %d rings from %v: %d vertices, want %d", k.d, k.rings, v, got, k.want)
			}
		}
	}
}

// TestSmoothed holds smoothed derivatives of every pair of kinds to what is true of any Hessian: products are
// transposed, a common motion moves the answer along. Smooth pairs keep their derivatives with Gumbel noise.
func TestSmoothed(t *testing.T) {
	var w Workspace
	smoothed := 0
	row := uint64(0)
	eachRow(t, func(name string, rng *rand.Rand, r *Row) {
		row++
		exact := w.Exact(r)
		for _, mode := range []Mode{Gumbel, Gaussian} {
			o := Options{Mode: mode, Seed: 1}
			d := w.Of(r, &o, row)
			if d.Smoothness() != Smoothed {
				if d.Smoothness() == None {
					t.Errorf("%s, %v: no derivative", name, mode)
				}
				continue
			}
			smoothed++
			twists := randomTwists(rng)
			c := Cotangent{rng.NormFloat64(), testkit.Normal(rng), testkit.Normal(rng), testkit.Normal(rng)}
			checkTransposed(t, name, &d, &twists, &c)
			checkCommonMotion(t, name, rng, r, &d)
			if x, y := d.Value(), exact.Value(); mode == Gumbel && exact.Smoothness() == Smooth {
				for i := range x {
					if !(math.Abs(x[i]-y[i]) <= 1e-12) {
						t.Errorf("%s, %v: derivative of the value %v, want %v", name, mode, x, y)
					}
				}
				if p, q := d.JVP(&twists), exact.JVP(&twists); !(deviation(p, q) <= 1e-12) {
					t.Errorf("%s: smoothed %v, exact %v", name, p, q)
				}
			}
			if again := w.Of(r, &o, row); again.JVP(&twists) != d.JVP(&twists) {
				t.Errorf("%s, %v: another result for the same seed and row", name, mode)
			}
		}
	})
	if smoothed < 2500 {
		t.Errorf("only %d rows smoothed", smoothed)
	}
}

// TestGumbelLimit: the smoothed Hessian of a box, with ε the noise, sees the neighbouring faces only near an edge.
func TestGumbelLimit(t *testing.T) {
	var w Workspace
	box := geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}}
	m, _ := w.gumbelHessian(box, r3.Unit(r3.Vec{X: 1, Y: 1, Z: 1}), 1e-4, 0)
	for i, v := range m {
		if v > 1e-12 {
			t.Errorf("entry %d at a corner: %g", i, v)
		}
	}
	m, _ = w.gumbelHessian(box, r3.Vec{X: 1}, 1e-2, 0)
	if want := 0.09 / 1e-2; math.Abs(m[4]-want) > 1e-12 {
		t.Errorf("across a face: %g, want %g", m[4], want)
	}
}

// TestZerothOrder: the mean over 4,000 samples tends to the derivatives of the answer where these are smooth, within
// four standard deviations and a bias of the second order.
func TestZerothOrder(t *testing.T) {
	a, b := geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.4, Z: 0.6}}, geom.Sphere{R: 0.5}
	poseA, poseB := geom.Translate(0.2, -0.1, 0.3), geom.Translate(1.3, 0.6, 0.4)
	r := solve(a, b, poseA, poseB)
	var w Workspace
	exact := w.Exact(&r)
	r.Value, r.Normal, r.WitnessA, r.WitnessB = exact.Answer()
	n, wa, wb := exact.Jacobian()
	want := [10]Twists{exact.Value(), n[0], n[1], n[2], wa[0], wa[1], wa[2], wb[0], wb[1], wb[2]}
	answer := func(poseA, poseB geom.Pose) (float64, r3.Vec, r3.Vec, r3.Vec, bool) {
		s := solve(a, b, poseA, poseB)
		return s.Value, s.Normal, s.WitnessA, s.WitnessB, s.Answered
	}
	const rows = 40
	var mean, square [10]Twists
	for row := range uint64(rows) {
		d := w.ZerothOrder(&r, &Options{Mode: Zeroth, Epsilon: 1e-3, Samples: 100, Seed: 2}, row, answer)
		if d.Smoothness() != Smoothed {
			t.Fatalf("smoothness %v", d.Smoothness())
		}
		for k := range d.full {
			for i, v := range d.full[k] {
				mean[k][i] += v / rows
				square[k][i] += v * v / rows
			}
		}
		twists := Twists{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}
		checkTransposed(t, "order zero", &d, &twists, &Cotangent{1, r3.Vec{X: 2}, r3.Vec{Y: 1}, r3.Vec{Z: 3}})
		checkCommonMotion(t, "order zero", rand.New(rand.NewPCG(row, 0)), &r, &d)
	}
	for k := range want {
		for i := range want[k] {
			sigma := math.Sqrt(max(square[k][i]-mean[k][i]*mean[k][i], 0) / (rows - 1))
			if !(math.Abs(mean[k][i]-want[k][i]) <= 4*sigma+1e-4) {
				t.Errorf("entry %d, %d: %g ± %g, want %g", k, i, mean[k][i], sigma, want[k][i])
			}
		}
	}
}

// TestOptions refuses what is out of range.
func TestOptions(t *testing.T) {
	for _, o := range []Options{{Mode: batch.DerivativeModeCount}, {Epsilon: -1}, {Epsilon: math.NaN()},
		{Epsilon: math.Inf(1)},
		{Samples: -1}, {Samples: batch.MaxDerivativeSamples + 1}, {Rings: -1}} {
		if o.Check() == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	for m := range batch.DerivativeModeCount {
		if got, err := batch.ParseDerivativeMode(m.String()); err != nil || got != m {
			t.Errorf("%v is read as %v, %v", m, got, err)
		}
	}
	if _, err := batch.ParseDerivativeMode("first"); err == nil {
		t.Error("an unknown name is accepted")
	}
}
