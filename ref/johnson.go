package ref

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/spatial/r3"
)

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
