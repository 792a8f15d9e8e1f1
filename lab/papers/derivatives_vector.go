package papers

import (
	"fmt"
	"math"
	"math/rand/v2"

	"clearance/geom"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/spatial/r3"
)

// Estimators of first order as [Smoothing] has them: eq. 18 and 19 in the vector x between the witnesses, whose
// length is the distance, and Hessians in x that are neither symmetric nor projected to the plane orthogonal to x.
// Package derive takes the unit normal in place of x, and projects. As printed, eq. 19 holds for separated shapes
// alone, and eq. 29 lacks the motion of B and has a wrong sign for its witness: these are corrected.

// vectorHessian estimates the second derivative of the support function of a shape at x, both in the frame of the
// shape.
type vectorHessian func(g *rand.Rand, s *geom.Convex, x r3.Vec) geom.Mat3

// ofVector is the estimator with such a Hessian.
func ofVector(name string, hessian vectorHessian, projected bool) estimator {
	return estimator{name: name, of: func(e *estimate) (j jacobians) {
		g := rand.New(rand.NewPCG(seed, e.index))
		x := r3.Sub(e.row.WitnessA, e.row.WitnessB)
		sign := 1.0 // the outward normal of A is along -x, or along x within
		if e.row.Value < 0 {
			sign = -1
		}
		world := func(s geom.Shape, pose geom.Pose, d r3.Vec) geom.Mat3 {
			rot := pose.Matrix()
			h := hessian(g, s.(*geom.Convex), rot.MulVecT(d))
			back := transposed(&rot)
			h = geom.Mul(&rot, &h)
			h = geom.Mul(&h, &back)
			if projected {
				h = tangential(&h, x)
			}
			for i := range h {
				h[i] *= sign
			}
			return h
		}
		hA := world(e.row.A, e.row.PoseA, r3.Scale(-sign, x))
		hB := world(e.row.B, e.row.PoseB, r3.Scale(sign, x))
		var m, inverse mat.Dense
		m.Add(mat.NewDense(3, 3, hA[:]), mat.NewDense(3, 3, hB[:]))
		for i := range 3 {
			m.Set(i, i, m.At(i, i)+1)
		}
		if inverse.Inverse(&m) != nil {
			return j
		}
		arm := r3.Sub(e.row.WitnessB, e.row.PoseB.Position)
		for c := range 6 {
			v, spin := axis(c%3), r3.Vec{} // the velocity of the witness as a point of B, and ω × x
			if c >= 3 {
				v, spin = r3.Cross(v, arm), r3.Cross(v, x)
			}
			f := r3.Sub(hB.MulVec(spin), v)
			var d mat.VecDense
			d.MulVec(&inverse, mat.NewVecDense(3, []float64{f.X, f.Y, f.Z}))
			dx := r3.Vec{X: d.AtVec(0), Y: d.AtVec(1), Z: d.AtVec(2)}
			a, b := r3.Scale(-1, hA.MulVec(dx)), r3.Add(v, hB.MulVec(r3.Sub(dx, spin)))
			for i, w := range [2]r3.Vec{a, b} {
				j[i][0][c], j[i][1][c], j[i][2][c] = w.X, w.Y, w.Z
			}
		}
		return j
	}}
}

func transposed(m *geom.Mat3) geom.Mat3 {
	identity := geom.Identity3()
	return geom.TransposeMul(m, &identity)
}

// tangential returns P·M·P with P the projector to the plane orthogonal to x.
func tangential(m *geom.Mat3, x r3.Vec) geom.Mat3 {
	l := r3.Norm2(x)
	if !(l > 0) {
		return *m
	}
	p := geom.Identity3()
	addProduct(&p, -1/l, x, x)
	h := geom.Mul(&p, m)
	return geom.Mul(&h, &p)
}

// addProduct adds k·u·vᵀ.
func addProduct(m *geom.Mat3, k float64, u, v r3.Vec) {
	a, b := [3]float64{u.X, u.Y, u.Z}, [3]float64{v.X, v.Y, v.Z}
	for i := range 3 {
		for j := range 3 {
			m[3*i+j] += k * a[i] * b[j]
		}
	}
}

// gaussianOfVector is eq. 26. The support point at x itself is taken off every sample, which keeps the mean and takes
// most of the variance away; plain leaves it, as printed.
func gaussianOfVector(samples int, epsilon float64, plain, projected bool) estimator {
	name := fmt.Sprintf("Gaussian in x, M = %d, ε = %g", samples, epsilon)
	if plain {
		name += ", plain"
	}
	return ofVector(name+projectedText(projected), func(g *rand.Rand, s *geom.Convex, x r3.Vec) (m geom.Mat3) {
		var here r3.Vec
		if !plain {
			here = s.CoreSupport(x)
		}
		for range samples {
			z := r3.Vec{X: g.NormFloat64(), Y: g.NormFloat64(), Z: g.NormFloat64()}
			there := s.CoreSupport(r3.Add(x, r3.Scale(epsilon, z)))
			addProduct(&m, 1/(epsilon*float64(samples)), r3.Sub(there, here), z)
		}
		return m
	}, projected)
}

// gumbelOfVector is eq. 28 over a vertex and its neighbours.
func gumbelOfVector(epsilon float64, projected bool) estimator {
	name := fmt.Sprintf("Gumbel in x, n_l = 1, ε = %g", epsilon)
	return ofVector(name+projectedText(projected), func(_ *rand.Rand, s *geom.Convex, x r3.Vec) (m geom.Mat3) {
		h := s.Hull()
		first := h.Support(x)
		total := 1.0 // the weight of the vertex itself, from which the others count
		var mean r3.Vec
		for _, i := range h.Adj[h.Start[first]:h.Start[first+1]] {
			v := r3.Sub(h.Vertices[i], h.Vertices[first])
			w := math.Exp(r3.Dot(v, x) / epsilon)
			total += w
			mean = r3.Add(mean, r3.Scale(w, v))
			addProduct(&m, w, v, v)
		}
		addProduct(&m, -1/total, mean, mean)
		for i := range m {
			m[i] /= total * epsilon
		}
		return m
	}, projected)
}

func projectedText(projected bool) string {
	if projected {
		return ", projected"
	}
	return ""
}
