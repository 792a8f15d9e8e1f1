// Package fit approximates convex bodies by smooth shapes: a smooth hull of few points
// ([RTR, eq. 17], as in Sec. V-C there) or a superquadric (eq. 16). It minimizes the squared
// difference of the support functions over a grid of directions.
//
// The Hausdorff distance of two convex bodies is the largest difference of their support
// functions over all unit directions. [Measure] evaluates it over a finer grid than the fit,
// and for each side: by how much the fitted body extends beyond the other, and by how much it
// falls short of it.
//
// fit imports geom. Lengths are in metres. A fit is a local minimum from a fixed start: the
// same body gives the same shape on every machine of one processor architecture. The functions
// are safe for concurrent use. Errors name the body that cannot be fitted.
package fit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// startSharpness is where the sharpness starts, and hardest where it ends: beyond, single
// precision and RTR have a hard time.
const startSharpness, hardest = 10, 200

// The numbers of vertices that [SmoothHull] accepts.
const MinVertices, MaxVertices = 4, 1000

// SmoothHull fits a smooth hull of k vertices, [MinVertices] to [MaxVertices], about the center of the body: it
// starts at support points of the body far from each other and moves vertices and sharpness
// by L-BFGS, with gradients in closed form.
//
// It is an error if the body has no volume.
func SmoothHull(body geom.Shape, k int) (*geom.SmoothHull, error) {
	if k < MinVertices || k > MaxVertices {
		return nil, fmt.Errorf("fit: smooth hull of %d vertices, want %d to %d", k, MinVertices, MaxVertices)
	}
	if !(body.Inradius() > 0) || math.IsInf(body.BoundingRadius(), 1) {
		return nil, fmt.Errorf("fit: the %s has no volume, or no end", body.Kind())
	}
	t := newTarget(body)
	x := make([]float64, 3*k+1)
	for i, v := range t.spread(body, k) {
		x[3*i], x[3*i+1], x[3*i+2] = v.X, v.Y, v.Z
	}
	x[3*k] = within(startSharpness, geom.MinSharpness, hardest)
	f := hullFit{target: &t, k: k}
	x, err := minimize(optimize.Problem{
		Func: func(x []float64) float64 { return f.evaluate(x, nil) },
		Grad: func(g, x []float64) { f.evaluate(x, g) },
	}, x)
	if err != nil {
		return nil, err
	}
	vertices := make([]r3.Vec, k)
	for i := range vertices {
		vertices[i] = r3.Add(t.center, r3.Scale(t.size, f.vertex(x, i)))
	}
	beta, _ := between(x[3*k], geom.MinSharpness, hardest)
	s, err := geom.NewSmoothHull(vertices, beta, t.center)
	if err != nil {
		return nil, fmt.Errorf("fit: no smooth hull of %d vertices comes near the body; take more: %w", k, err)
	}
	return s, nil
}

// spread picks k support points of the body, relative to the center, each as far as can be
// from those before. If there are fewer the rest lie at half the distance from the center.
func (t *target) spread(body geom.Shape, k int) []r3.Vec {
	points := make([]r3.Vec, len(t.n))
	near := make([]float64, len(t.n)) // to what is picked
	for j, n := range t.n {
		points[j] = r3.Scale(1/t.size, r3.Sub(body.CoreSupport(n), t.center))
		near[j] = r3.Norm2(points[j])
	}
	var out []r3.Vec
	for len(out) < k {
		far := 0
		for j := range near {
			if near[j] > near[far] {
				far = j
			}
		}
		if near[far] < 1e-12 {
			break
		}
		out = append(out, points[far])
		for j := range near {
			near[j] = min(near[j], r3.Norm2(r3.Sub(points[j], points[far])))
		}
	}
	for _, n := range sphere(k - len(out)) {
		out = append(out, r3.Scale(0.5/t.size, r3.Sub(body.CoreSupport(n), t.center)))
	}
	return out
}

// minimize runs L-BFGS to its end or for a bounded number of steps.
func minimize(p optimize.Problem, x []float64) ([]float64, error) {
	settings := optimize.Settings{MajorIterations: 1000, GradientThreshold: 1e-9,
		Converger: &optimize.FunctionConverge{Absolute: 1e-14, Relative: 1e-5, Iterations: 30}}
	r, err := optimize.Minimize(p, x, &settings, &optimize.LBFGS{Store: 20})
	if r == nil {
		return nil, fmt.Errorf("fit: %w", err)
	}
	return r.X, nil // a line search that rounding ends leaves the best point
}

// between maps a coordinate of the search to lo..hi, by the logistic function, and returns the
// derivative as well.
func between(u, lo, hi float64) (v, slope float64) {
	r := 1 / (1 + math.Exp(-u))
	return lo + (hi-lo)*r, (hi - lo) * r * (1 - r)
}

// within is its inverse.
func within(v, lo, hi float64) float64 { return math.Log((v - lo) / (hi - v)) }

// hullFit is the mean square of the difference of support functions.
type hullFit struct {
	*target
	k int
}

func (f *hullFit) vertex(x []float64, i int) r3.Vec {
	return r3.Vec{X: x[3*i], Y: x[3*i+1], Z: x[3*i+2]}
}

// evaluate returns the value at x and, into g unless it is nil, the gradient. With y = <p, n>,
// m the largest y, t = y/m and S = Σ t^β over the y > 0, h = m·S^(1/β), so that
// ∂h/∂p = (y/h)^(β-1)·n and ∂(ln h)/∂β = (Σ t^β·ln t)/(β·S) - ln S/β².
func (f *hullFit) evaluate(x, g []float64) float64 {
	clear(g)
	beta, slope := between(x[3*f.k], geom.MinSharpness, hardest)
	w := make([]float64, f.k)
	total, scale := 0.0, 1/float64(len(f.n))
	for j, n := range f.n {
		m := 0.0
		for i := range f.k {
			w[i] = r3.Dot(f.vertex(x, i), n)
			m = max(m, w[i])
		}
		if !(m > 0) { // the center is outside: the body does not reach it
			total += scale * f.h[j] * f.h[j]
			continue
		}
		sum, logs := 0.0, 0.0
		for i, y := range w {
			if w[i] = 0; y > 0 {
				l := math.Log(y / m)
				w[i] = math.Exp((beta - 1) * l)
				sum += w[i] * y / m
				logs += w[i] * y / m * l
			}
		}
		h := m * math.Pow(sum, 1/beta)
		e := h - f.h[j]
		total += scale * e * e
		if g == nil {
			continue
		}
		down := 2 * scale * e * math.Pow(sum, 1/beta-1)
		for i := range f.k {
			c := down * w[i]
			g[3*i] += c * n.X
			g[3*i+1] += c * n.Y
			g[3*i+2] += c * n.Z
		}
		g[3*f.k] += 2 * scale * e * h * (logs/(beta*sum) - math.Log(sum)/(beta*beta)) * slope
	}
	return total
}

// Superquadric fits a superquadric, and returns it with its pose in the frame of the body. The
// search, by L-BFGS with differences for gradients, starts at the box of the principal axes of
// the body's support points, once with each axis for z, and the best end counts.
//
// It is an error if the body has no volume.
func Superquadric(body geom.Shape) (geom.Superquadric, geom.Pose, error) {
	if !(body.Inradius() > 0) || math.IsInf(body.BoundingRadius(), 1) {
		return geom.Superquadric{}, geom.Pose{}, fmt.Errorf("fit: the %s has no volume, or no end", body.Kind())
	}
	t := newTarget(body)
	axes := principal(&t, body)
	var best []float64
	least := math.Inf(1)
	var turn quat.Number
	for k := range 3 {
		q := geom.Mat3{}
		for i := range 3 { // columns: the axes, the k-th last
			a := axes[(k+1+i)%3]
			q[i], q[3+i], q[6+i] = a.X, a.Y, a.Z
		}
		start := quaternion(&q)
		f := func(x []float64) float64 { return t.difference(quadric(x, start)) }
		x := make([]float64, 11)
		for i := range 3 {
			a := axes[(k+1+i)%3]
			lo, hi := t.value(r3.Scale(-1, a)), t.value(a)
			x[i] = math.Log((lo + hi) / 2)
			mid := r3.Scale((hi-lo)/2, a)
			x[3], x[4], x[5] = x[3]+mid.X, x[4]+mid.Y, x[5]+mid.Z
		}
		x[9], x[10] = within(0.5, geom.MinExponent, geom.MaxExponent), within(0.5, geom.MinExponent, geom.MaxExponent)
		x, err := minimize(optimize.Problem{
			Func: f,
			Grad: func(g, x []float64) { fd.Gradient(g, f, x, &fd.Settings{Formula: fd.Central}) },
		}, x)
		if err != nil {
			return geom.Superquadric{}, geom.Pose{}, err
		}
		if v := f(x); v < least {
			least, best, turn = v, x, start
		}
	}
	s, pose := quadric(best, turn)
	s.SemiAxes = r3.Scale(t.size, s.SemiAxes)
	pose.Position = r3.Add(t.center, r3.Scale(t.size, pose.Position))
	if err := s.Validate(); err != nil {
		return s, pose, fmt.Errorf("fit: %w", err)
	}
	return s, pose, nil
}

// quadric is the shape and the pose of a point of the search: logarithms of the semi-axes, the
// position, a rotation vector beyond start, and the two exponents.
func quadric(x []float64, start quat.Number) (geom.Superquadric, geom.Pose) {
	s := geom.Superquadric{SemiAxes: r3.Vec{X: math.Exp(x[0]), Y: math.Exp(x[1]), Z: math.Exp(x[2])}}
	s.Alpha1, _ = between(x[9], geom.MinExponent, geom.MaxExponent)
	s.Alpha2, _ = between(x[10], geom.MinExponent, geom.MaxExponent)
	turn := quat.Exp(quat.Number{Imag: x[6] / 2, Jmag: x[7] / 2, Kmag: x[8] / 2})
	q := quat.Mul(start, turn)
	return s, geom.Pose{Position: r3.Vec{X: x[3], Y: x[4], Z: x[5]}, Rotation: quat.Scale(1/quat.Abs(q), q)}
}

// difference is the mean square of the difference of the support functions.
func (t *target) difference(s geom.Superquadric, pose geom.Pose) float64 {
	m := pose.Matrix()
	sum := 0.0
	for j, n := range t.n {
		d := support(s, m.MulVecT(n)) + r3.Dot(n, pose.Position) - t.h[j]
		sum += d * d
	}
	return sum / float64(len(t.n))
}

// value is the support value along the direction of the grid nearest to d.
func (t *target) value(d r3.Vec) float64 {
	best, h := math.Inf(-1), 0.0
	for j, n := range t.n {
		if c := r3.Dot(n, d); c > best {
			best, h = c, t.h[j]
		}
	}
	return h
}

// principal returns the principal axes of the body's support points, right-handed.
func principal(t *target, body geom.Shape) [3]r3.Vec {
	var sum [9]float64
	mean := r3.Vec{}
	for _, n := range t.n {
		mean = r3.Add(mean, r3.Scale(1/float64(len(t.n)), body.CoreSupport(n)))
	}
	for _, n := range t.n {
		v := r3.Scale(1/t.size, r3.Sub(body.CoreSupport(n), mean))
		c := [3]float64{v.X, v.Y, v.Z}
		for i := range 9 {
			sum[i] += c[i/3] * c[i%3]
		}
	}
	var e mat.EigenSym
	var v mat.Dense
	if !e.Factorize(mat.NewSymDense(3, sum[:]), true) {
		return [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}
	}
	e.VectorsTo(&v)
	x := r3.Unit(r3.Vec{X: v.At(0, 0), Y: v.At(1, 0), Z: v.At(2, 0)})
	y := r3.Unit(r3.Vec{X: v.At(0, 1), Y: v.At(1, 1), Z: v.At(2, 1)})
	return [3]r3.Vec{x, y, r3.Cross(x, y)}
}

// quaternion returns the rotation of a matrix with det 1.
func quaternion(m *geom.Mat3) quat.Number {
	w, x := 1+m[0]+m[4]+m[8], 1+m[0]-m[4]-m[8]
	y, z := 1-m[0]+m[4]-m[8], 1-m[0]-m[4]+m[8]
	var q quat.Number
	switch max(w, x, y, z) { // the largest loses nothing to cancellation
	case w:
		q = quat.Number{Real: w, Imag: m[7] - m[5], Jmag: m[2] - m[6], Kmag: m[3] - m[1]}
	case x:
		q = quat.Number{Real: m[7] - m[5], Imag: x, Jmag: m[1] + m[3], Kmag: m[2] + m[6]}
	case y:
		q = quat.Number{Real: m[2] - m[6], Imag: m[1] + m[3], Jmag: y, Kmag: m[5] + m[7]}
	default:
		q = quat.Number{Real: m[3] - m[1], Imag: m[2] + m[6], Jmag: m[5] + m[7], Kmag: z}
	}
	return quat.Scale(1/quat.Abs(q), q)
}

// Errors compare a fitted body with the one that it stands for, metres.
type Errors struct {
	Outside float64 `json:"outside_m"` // how far the fitted body sticks out
	Inside  float64 `json:"inside_m"`  // how far it falls short
	RMS     float64 `json:"rms_m"`     // of the support functions' difference
}

// Hausdorff is the two-sided error: no point of either body is further from the other.
func (e Errors) Hausdorff() float64 { return max(e.Outside, e.Inside) }

// measureDirections is the size of the grid of [Measure]: neighbours are 1° apart.
const measureDirections = 40_000

// Measure returns the errors of fitted, posed by pose in the frame of body, over a grid of
// 40,000 directions. Between neighbours, an angle of θ = 1° apart at most, a difference of
// support functions changes by less than θ times the sum of the bounding radii,
// and near its largest by the square of that angle only.
func Measure(body, fitted geom.Shape, pose geom.Pose) Errors {
	m := pose.Matrix()
	var e Errors
	for _, n := range sphere(measureDirections) {
		d := support(fitted, m.MulVecT(n)) + r3.Dot(n, pose.Position) - support(body, n)
		e.Outside, e.Inside = max(e.Outside, d), max(e.Inside, -d)
		e.RMS += d * d
	}
	e.RMS = math.Sqrt(e.RMS / measureDirections)
	return e
}

// support is the support value along a unit direction, margin included.
func support(s geom.Shape, n r3.Vec) float64 { return r3.Dot(n, s.CoreSupport(n)) + s.Radius() }

// sphere returns n directions, spread evenly on a spiral.
func sphere(n int) []r3.Vec {
	out := make([]r3.Vec, n)
	golden := math.Pi * (3 - math.Sqrt(5))
	for i := range out {
		z := 1 - (2*float64(i)+1)/float64(n)
		s, c := math.Sincos(golden * float64(i))
		q := math.Sqrt(1 - z*z)
		out[i] = r3.Vec{X: q * c, Y: q * s, Z: z}
	}
	return out
}

// target is a body about a center, scaled to a bounding radius of 1.
type target struct {
	center r3.Vec
	size   float64
	n      []r3.Vec  // directions
	h      []float64 // support values along them
}

// fitDirections is the size of the grid that fits are made on: neighbours are 5° apart.
const fitDirections = 1500

func newTarget(body geom.Shape) target {
	t := target{center: body.Center(), size: body.BoundingRadius() + body.Radius(), n: sphere(fitDirections)}
	for _, n := range t.n {
		t.h = append(t.h, (support(body, n)-r3.Dot(n, t.center))/t.size)
	}
	return t
}
