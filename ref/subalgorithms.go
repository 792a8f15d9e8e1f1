package ref

import (
	"math"

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
