package contact

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

// star is a body that touches n others, and is the first of them.
func star(n int) *Problem {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	p := &Problem{Worlds: 1}
	p.Resize(1, n+1, n)
	for b := range n + 1 {
		p.Mass[b] = 1 + rng.Float64()
		copy(p.Inertia[6*b:], []float64{1, 1.2, 1.4, 0.1, 0.2, 0.1})
		for i := range 6 {
			p.Velocity[6*b+i] = rng.NormFloat64()
		}
	}
	for c := range n {
		p.BodyB[c], p.Friction[c] = int32(c+1), 0.5
		putVec(p.ArmA[3*c:], r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64()})
		putVec(p.ArmB[3*c:], r3.Vec{Y: rng.NormFloat64(), Z: rng.NormFloat64()})
		copy(p.Frame[9*c:], []float64{1, 0, 0, 0, 1, 0, 0, 0, 1})
	}
	p.Count[0] = int32(n)
	return p
}

// TestOrderOfElimination: a body that touches all others is eliminated after them, so that no block is filled, and the
// step solves the system.
func TestOrderOfElimination(t *testing.T) {
	const n = 40
	s := new(worldSolver)
	s.load(star(n), 0)
	if !s.newtonMemory() {
		t.Fatal("there is no memory for the matrix")
	}
	newton, blocks := &s.newton, 0
	for _, filled := range newton.pattern {
		if filled {
			blocks++
		}
	}
	if blocks != n+1+2*n {
		t.Errorf("%d blocks; the matrix has %d", blocks, n+1+2*n)
	}
	for i := range s.rows {
		newton.curvature[i] = [3][3]float64{{1e3, 0, 0}, {0, 1e3, 0}, {0, 0, 1e3}}
	}
	copy(newton.gradient, s.free)
	s.assemble()
	if !s.factor() {
		t.Fatal("a pivot vanishes")
	}
	for i := range s.rows { // the gradient at the step, of M + JᵀHJ, is that at zero with the other sign
		s.subtractForce(&s.rows[i], r3.Scale(-1e3, s.rows[i].moving(newton.step)))
	}
	for b := range s.free[:n+1] {
		lin := addScaled(newton.gradient[b].lin, s.mass[b], newton.step[b].lin)
		ang := r3.Add(newton.gradient[b].ang, s.inertia[b].Mul(newton.step[b].ang))
		if e := math.Max(r3.Norm(lin), r3.Norm(ang)); !(e < 1e-10) {
			t.Errorf("body %d: the system is left with %g", b, e)
		}
	}
}
