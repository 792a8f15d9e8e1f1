package ref

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/spatial/r3"
)

// The sub-algorithms of GJK by themselves, to be compared with each other [Montanari2017,
// sec. 5.1]. Each finds the point of a simplex nearest to the origin and sets its
// barycentric coordinates. inside reports that the origin lies in a
// tetrahedron; x is zero then.

// NearestSignedVolumes is the Signed Volumes sub-algorithm [Montanari2017, Alg. 2-5], the
// one that this package's solvers use.
func NearestSignedVolumes(s *Simplex) (x r3.Vec, inside bool) {
	if x, inside = signedVolumes(s, false); inside {
		x = r3.Vec{}
	}
	return x, inside
}

// NearestJohnsonBackup is Johnson's sub-algorithm with the Backup procedure for
// simplices on which rounding leaves it without an answer [Montanari2017, sec. 3.2].
func NearestJohnsonBackup(s *Simplex) (x r3.Vec, inside bool) {
	if x, inside = johnsonBackup(s, false); inside {
		x = r3.Vec{}
	}
	return x, inside
}

// NearestJohnson is Johnson's sub-algorithm alone: ok is false where rounding leaves no
// subset that satisfies [Montanari2017, eq. 13].
func NearestJohnson(s *Simplex) (x r3.Vec, inside, ok bool) {
	delta := johnsonCofactors(s)
	full := uint(1)<<s.N - 1
	for w := uint(1); w <= full; w++ {
		if johnsonOptimal(&delta, w, full) {
			johnsonWeights(s, &delta, w)
			if w == 15 {
				return r3.Vec{}, true, true
			}
			return s.point(), false, true
		}
	}
	return r3.Vec{}, false, false
}

// JohnsonDeterminant is |det A| of Johnson's linear system [Montanari2017, eq. 14], as
// the recursion of its cofactors gives it in floating point.
func JohnsonDeterminant(s *Simplex) (det float64) {
	delta := johnsonCofactors(s)
	for j := range s.N {
		det += delta[j][uint(1)<<s.N-1]
	}
	return math.Abs(det)
}

// Reduce drops the vertices whose barycentric coordinate is zero.
func (s *Simplex) Reduce() { s.reduce() }

// signedVolumes finds the point of the simplex nearest to the origin with the
// Signed Volumes sub-algorithm [Montanari2017, sec. 4, Alg. 2-5]: it sets the
// barycentric coordinates, zero for vertices that do not support the point, and
// returns the point. inside reports that the origin lies in the tetrahedron;
// where a separating plane is already known the caller forbids that answer.
//
// It departs from the paper in two ways. The newest vertex may stand anywhere,
// so every face whose sign differs is searched, not only those that hold the
// newest vertex. And determinants are formed from edges at the newest vertex and
// from corners relative to the projection of the origin, which loses fewer digits than the
// expanded polynomials of Alg. 3-5.
func signedVolumes(s *Simplex, forbidInside bool) (x r3.Vec, inside bool) {
	switch s.N {
	case 1:
		s.Lambda[0] = 1
		return s.V[0].W, false
	case 2:
		s.Lambda[0], s.Lambda[1] = s1d(s.V[0].W, s.V[1].W)
	case 3:
		s.Lambda[0], s.Lambda[1], s.Lambda[2] = nearestOfTriangle(s.V[0].W, s.V[1].W, s.V[2].W)
	default:
		inside = s3d(s, forbidInside)
	}
	return s.point(), inside
}

// point returns Σ λᵢ wᵢ.
func (s *Simplex) point() (x r3.Vec) {
	for i := range s.N {
		l, w := s.Lambda[i], &s.V[i].W
		x.X += l * w.X
		x.Y += l * w.Y
		x.Z += l * w.Z
	}
	return x
}

// vertex returns the point that the weights mark, with its points of the cores.
func (s *Simplex) vertex() (v Vertex) {
	for i := range s.N {
		v.A = r3.Add(v.A, r3.Scale(s.Lambda[i], s.V[i].A))
		v.B = r3.Add(v.B, r3.Scale(s.Lambda[i], s.V[i].B))
	}
	v.W = r3.Sub(v.A, v.B)
	return v
}

// reduce drops the vertices with zero weight.
func (s *Simplex) reduce() {
	n := 0
	for i := range s.N {
		if l := s.Lambda[i]; l > 0 {
			if i != n {
				s.V[n], s.Lambda[n] = s.V[i], l
			}
			n++
		}
	}
	s.N = n
}

// sameSign is CompareSigns of [Montanari2017, eq. 22]: false for zero and NaN. A product
// that underflows belongs to a simplex without volume, and counts as zero.
func sameSign(a, b float64) bool { return a*b > 0 }

// s1d returns the weights of the point of segment pq nearest to the origin
// [Montanari2017, Alg. 5].
func s1d(p, q r3.Vec) (l0, l1 float64) {
	t := r3.Sub(q, p)
	tt := r3.Dot(t, t)
	u := -r3.Dot(p, t)
	if !(u > 0) {
		return 1, 0
	}
	if !(u < tt) {
		return 0, 1
	}
	l1 = u / tt
	return 1 - l1, l1
}

// s2d returns the weights of the point of triangle pqr nearest to the origin
// [Montanari2017, Alg. 4]: the origin is projected on the plane of the triangle,
// and corners are compared in the coordinate plane with the largest shadow.
func s2d(p, q, r r3.Vec) (l0, l1, l2 float64) {
	l0, l1, l2, _ = project(p, q, r)
	return l0, l1, l2
}

// project is s2d that also tells whether the point lies inside a needle, a triangle
// whose altitude is below 1e-7 of its length.
func project(p, q, r r3.Vec) (l0, l1, l2 float64, needle bool) {
	e, f := r3.Sub(q, p), r3.Sub(r, p)
	n := cross(e, f)
	nn := r3.Dot(n, n)
	// With nn = 0 every comparison below fails and the edges are searched.
	k := r3.Dot(p, n) / nn
	ax, ay, az := math.Abs(n.X), math.Abs(n.Y), math.Abs(n.Z)
	var mu, px, py, qx, qy, rx, ry float64
	switch {
	case ax >= ay && ax >= az:
		mu = n.X
		ox, oy := k*n.Y, k*n.Z
		px, py, qx, qy, rx, ry = p.Y-ox, p.Z-oy, q.Y-ox, q.Z-oy, r.Y-ox, r.Z-oy
	case ay >= az:
		mu = n.Y
		ox, oy := k*n.Z, k*n.X
		px, py, qx, qy, rx, ry = p.Z-ox, p.X-oy, q.Z-ox, q.X-oy, r.Z-ox, r.X-oy
	default:
		mu = n.Z
		ox, oy := k*n.X, k*n.Y
		px, py, qx, qy, rx, ry = p.X-ox, p.Y-oy, q.X-ox, q.Y-oy, r.X-ox, r.Y-oy
	}
	c0, c1, c2 := qx*ry-qy*rx, rx*py-ry*px, px*qy-py*qx
	in0, in1, in2 := sameSign(mu, c0), sameSign(mu, c1), sameSign(mu, c2)
	if in0 && in1 && in2 {
		k := 1 / (c0 + c1 + c2)
		return c0 * k, c1 * k, c2 * k, !(nn > 1e-14*r3.Dot(e, e)*r3.Dot(f, f))
	}
	l0, l1, l2 = nearestEdge(p, q, r, in0, in1, in2)
	return l0, l1, l2, false
}

// nearestEdge returns the weights of the nearest point of those edges that the flags
// do not exclude: in0 excludes the edge opposite to p, and so on.
func nearestEdge(p, q, r r3.Vec, in0, in1, in2 bool) (l0, l1, l2 float64) {
	best := math.Inf(1)
	if !in0 {
		a, b := s1d(q, r)
		best, l0, l1, l2 = norm2Of2(a, q, b, r), 0, a, b
	}
	if !in1 {
		a, b := s1d(p, r)
		if d := norm2Of2(a, p, b, r); d < best {
			best, l0, l1, l2 = d, a, 0, b
		}
	}
	if !in2 {
		a, b := s1d(p, q)
		if d := norm2Of2(a, p, b, q); d < best {
			l0, l1, l2 = a, b, 0
		}
	}
	return l0, l1, l2
}

// nearestOfTriangle is s2d for a descent, which needs a point that is near as
// computed: the weights of a needle lose as many digits as its altitude is short, and
// one of its edges may then be nearer than the point that they give.
func nearestOfTriangle(p, q, r r3.Vec) (l0, l1, l2 float64) {
	l0, l1, l2, needle := project(p, q, r)
	if !needle {
		return l0, l1, l2
	}
	a, b, c := nearestEdge(p, q, r, false, false, false)
	if norm2Of3(a, p, b, q, c, r) < norm2Of3(l0, p, l1, q, l2, r) {
		return a, b, c
	}
	return l0, l1, l2
}

// s3d sets the weights of the point of the tetrahedron nearest to the origin
// [Montanari2017, Alg. 3] and reports whether the origin lies inside.
func s3d(s *Simplex, forbidInside bool) (inside bool) {
	p, q, r, w := s.V[0].W, s.V[1].W, s.V[2].W, s.V[3].W
	e0, e1, e2 := r3.Sub(p, w), r3.Sub(q, w), r3.Sub(r, w)
	n12, n20, n01 := r3.Cross(e1, e2), r3.Cross(e2, e0), r3.Cross(e0, e1)
	mu := r3.Dot(e0, n12)
	c0, c1, c2 := -r3.Dot(w, n12), -r3.Dot(w, n20), -r3.Dot(w, n01)
	// The face opposite to the newest vertex has its own determinant: taking it
	// as a difference of the others would lose all digits of a thin tetrahedron.
	c3 := r3.Dot(p, r3.Cross(r3.Sub(q, p), r3.Sub(r, p)))
	in0, in1, in2, in3 := sameSign(mu, c0), sameSign(mu, c1), sameSign(mu, c2), sameSign(mu, c3)
	if in0 && in1 && in2 && in3 {
		if !forbidInside {
			k := 1 / (c0 + c1 + c2 + c3)
			s.Lambda = [4]float64{c0 * k, c1 * k, c2 * k, c3 * k}
			return true
		}
		in0, in1, in2, in3 = false, false, false, false
	}
	best := math.Inf(1)
	if !in0 {
		a, b, c := nearestOfTriangle(q, r, w)
		best, s.Lambda = norm2Of3(a, q, b, r, c, w), [4]float64{0, a, b, c}
	}
	if !in1 {
		a, b, c := nearestOfTriangle(p, r, w)
		if d := norm2Of3(a, p, b, r, c, w); d < best {
			best, s.Lambda = d, [4]float64{a, 0, b, c}
		}
	}
	if !in2 {
		a, b, c := nearestOfTriangle(p, q, w)
		if d := norm2Of3(a, p, b, q, c, w); d < best {
			best, s.Lambda = d, [4]float64{a, b, 0, c}
		}
	}
	if !in3 {
		a, b, c := nearestOfTriangle(p, q, r)
		if d := norm2Of3(a, p, b, q, c, r); d < best {
			s.Lambda = [4]float64{a, b, c, 0}
		}
	}
	return false
}

func norm2Of2(a float64, p r3.Vec, b float64, q r3.Vec) float64 {
	x, y, z := a*p.X+b*q.X, a*p.Y+b*q.Y, a*p.Z+b*q.Z
	return x*x + y*y + z*z
}

func norm2Of3(a float64, p r3.Vec, b float64, q r3.Vec, c float64, r r3.Vec) float64 {
	x, y, z := a*p.X+b*q.X+c*r.X, a*p.Y+b*q.Y+c*r.Y, a*p.Z+b*q.Z+c*r.Z
	return x*x + y*y + z*z
}

// diffOfProducts returns a·b − c·d within 1.5 ulp of the result (Kahan), where
// the naive form may lose every digit. It is what makes the normals of sliver
// triangles trustworthy.
func diffOfProducts(a, b, c, d float64) float64 {
	cd := c * d
	err := math.FMA(-c, d, cd)
	return math.FMA(a, b, -cd) + err
}

// cross returns u × v with every component accurate to its own last digits.
func cross(u, v r3.Vec) r3.Vec {
	return r3.Vec{
		X: diffOfProducts(u.Y, v.Z, u.Z, v.Y),
		Y: diffOfProducts(u.Z, v.X, u.X, v.Z),
		Z: diffOfProducts(u.X, v.Y, u.Y, v.X),
	}
}

// norm is the length of v. r3.Norm guards against overflow at ten times the cost;
// sizes are limited to 1e±9 m on input, so squares are safe.
func norm(v r3.Vec) float64 { return math.Sqrt(v.X*v.X + v.Y*v.Y + v.Z*v.Z) }

// unit returns v/|v|, or zero for zero.
func unit(v r3.Vec) r3.Vec {
	n := norm(v)
	switch {
	case n > 1e-140:
		return r3.Scale(1/n, v)
	case n > 0: // squares have lost digits to underflow
		return safeUnit(v)
	}
	return r3.Vec{}
}

// safeUnit returns v/|v| for a vector from outside, of any magnitude, or zero if v
// is zero or not finite.
func safeUnit(v r3.Vec) r3.Vec {
	m := math.Max(math.Abs(v.X), math.Max(math.Abs(v.Y), math.Abs(v.Z)))
	if !(m > 0) || math.IsInf(m, 1) {
		return r3.Vec{}
	}
	return unit(r3.Vec{X: v.X / m, Y: v.Y / m, Z: v.Z / m})
}

// johnsonBackup finds the point of the simplex nearest to the origin with Johnson's
// sub-algorithm and, where rounding leaves no subset that satisfies its
// conditions, the Backup procedure [Montanari2017, sec. 3.2]. It exists to be
// compared with [signedVolumes]; its answers lose half the digits on
// nearly degenerate simplices [Montanari2017, Fig. 14-15].
func johnsonBackup(s *Simplex, forbidInside bool) (x r3.Vec, inside bool) {
	delta := johnsonCofactors(s)
	full := uint(1)<<s.N - 1
	for w := uint(1); w <= full; w++ {
		if w == 15 && forbidInside {
			continue
		}
		if johnsonOptimal(&delta, w, full) {
			johnsonWeights(s, &delta, w)
			inside = w == 15
			return s.point(), inside
		}
	}
	johnsonBackupSearch(s, &delta, full, forbidInside)
	inside = s.N == 4 && s.Lambda[0] > 0 && s.Lambda[1] > 0 && s.Lambda[2] > 0 && s.Lambda[3] > 0
	return s.point(), inside
}

// cofactors holds Δⱼ(W) for every vertex j and subset W, a bit set (eq. 17-19).
type cofactors [4][16]float64

// johnsonCofactors computes all Δ by the recursion of eq. 18 and 19:
// Δᵢ(W ∪ i) = Σⱼ Δⱼ(W)·(sⱼ·sₗ − sⱼ·sᵢ), with l the first vertex of W.
func johnsonCofactors(s *Simplex) (delta cofactors) {
	var dot [4][4]float64
	for i := range s.N {
		for j := range s.N {
			dot[i][j] = r3.Dot(s.V[i].W, s.V[j].W)
		}
	}
	for i := range s.N {
		delta[i][1<<i] = 1
	}
	full := uint(1)<<s.N - 1
	for w := uint(1); w <= full; w++ {
		l := bits.TrailingZeros(w)
		for i := range s.N {
			if w&(1<<i) != 0 {
				continue
			}
			sum := 0.0
			for j := range s.N {
				if w&(1<<j) != 0 {
					sum += delta[j][w] * (dot[j][l] - dot[j][i])
				}
			}
			delta[i][w|1<<i] = sum
		}
	}
	return delta
}

// johnsonOptimal tests eq. 13: all weights of W positive, and no vertex outside W
// would get a positive one.
func johnsonOptimal(delta *cofactors, w, full uint) bool {
	for j := range 4 {
		b := uint(1) << j
		if b&full == 0 {
			continue
		}
		if w&b != 0 {
			if !(delta[j][w] > 0) {
				return false
			}
		} else if !(delta[j][w|b] <= 0) {
			return false
		}
	}
	return true
}

// johnsonWeights sets the barycentric coordinates of the nearest point of W (eq. 16).
func johnsonWeights(s *Simplex, delta *cofactors, w uint) {
	sum := 0.0
	for j := range s.N {
		if w&(1<<j) != 0 {
			sum += delta[j][w]
		}
	}
	for j := range s.N {
		s.Lambda[j] = 0
		if w&(1<<j) != 0 {
			s.Lambda[j] = delta[j][w] / sum
		}
	}
}

// johnsonBackupSearch takes, of all subsets whose weights are positive, the one
// whose point is nearest to the origin.
func johnsonBackupSearch(s *Simplex, delta *cofactors, full uint, forbidInside bool) {
	best := math.Inf(1)
	var lambda [4]float64
	for w := uint(1); w <= full; w++ {
		if w == 15 && forbidInside {
			continue
		}
		positive := true
		for j := range s.N {
			if w&(1<<j) != 0 && !(delta[j][w] > 0) {
				positive = false
			}
		}
		if !positive {
			continue
		}
		johnsonWeights(s, delta, w)
		var x r3.Vec
		for j := range s.N {
			x = r3.Add(x, r3.Scale(s.Lambda[j], s.V[j].W))
		}
		if d := r3.Norm2(x); d < best {
			best, lambda = d, s.Lambda
		}
	}
	s.Lambda = lambda
}
