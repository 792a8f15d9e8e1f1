package ref

import (
	"math/rand/v2"
	"testing"

	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// On simplices that are not degenerate the backup procedure finds the point that Johnson's sub-algorithm finds, be it
// on a vertex, an edge, a face or inside.
func TestJohnsonBackupSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 4))
	var found [16]int // by the vertices with a positive weight
	for k := range 4000 {
		s := Simplex{N: 1 + k%4}
		for i := range s.N {
			s.V[i].W = r3.Add(r3.Vec{X: 0.7}, testkit.Normal(rng))
		}
		want, searched := s, s
		x, inside := johnsonBackup(&want, false)
		delta := johnsonCofactors(&searched)
		johnsonBackupSearch(&searched, &delta, 1<<s.N-1, false)
		if d := r3.Norm(r3.Sub(searched.point(), x)); !(d < 1e-7) {
			t.Fatalf("%+v: the search ends %g from the nearest point %v", s, d, x)
		}
		set := 0
		for i := range s.N {
			if searched.Lambda[i] > 0 {
				set |= 1 << i
			}
		}
		if found[set]++; inside != (set == 15) {
			t.Errorf("%+v: inside %t, weights %v", s, inside, searched.Lambda)
		}
	}
	// The backup procedure that may not claim that the origin is inside ends on the boundary of a simplex around it.
	around := 0
	for range 4000 {
		s := Simplex{N: 4}
		for i := range s.N {
			s.V[i].W = testkit.Normal(rng)
		}
		delta := johnsonCofactors(&s)
		if !johnsonOptimal(&delta, 15, 15) {
			continue
		}
		around++
		johnsonBackupSearch(&s, &delta, 15, true)
		if s.Lambda[0]*s.Lambda[1]*s.Lambda[2]*s.Lambda[3] != 0 {
			t.Fatalf("%+v: the search ends inside", s)
		}
	}
	if around < 100 {
		t.Errorf("%d simplices contain the origin", around)
	}
	for set, n := range found {
		if (set == 0) != (n == 0) {
			t.Errorf("%d simplices end on the vertices %04b", n, set)
		}
	}
}
