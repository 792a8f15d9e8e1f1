package fit

import (
	"fmt"
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/spatial/r3"
)

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
