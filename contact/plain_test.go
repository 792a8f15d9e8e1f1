package contact

import (
	"math"
	"math/rand/v2"
	"testing"
)

// plainProblem is a valid world of two bodies and two contacts, with every column.
func plainProblem(rng *rand.Rand) *Problem {
	p := &Problem{Target: []float64{}, Compliance: []float64{}, Warm: []float64{}}
	p.Resize(1, 2, 2)
	for b := range 2 {
		p.Mass[b] = 1 + rng.Float64()
		copy(p.Inertia[6*b:], []float64{1, 1.2, 1.4, 0.1 * rng.Float64(), 0, 0.1})
	}
	p.Count[0] = 2
	copy(p.BodyA, []int32{-1, 0})
	copy(p.BodyB, []int32{0, 1})
	for c := range 2 {
		angle := rng.Float64()
		sin, cos := math.Sincos(angle)
		copy(p.Frame[9*c:], []float64{cos, sin, 0, -sin, cos, 0, 0, 0, 1})
		p.Friction[c] = rng.Float64()
	}
	return p
}

// TestPlainIsValid: a world that the simple conditions take is valid, whatever a value of any column is replaced by,
// and they take a valid world.
func TestPlainIsValid(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e-7, 1 + 1e-6, 3, -1e300, 1e300, 1e-300}
	taken, refused := 0, 0
	check := func(p *Problem, what string, at int, x float64) {
		if p.plain(0) {
			if taken++; p.CheckWorld(0) != nil {
				t.Errorf("%s[%d] = %g: %v", what, at, x, p.CheckWorld(0))
			}
			return
		}
		refused++
	}
	for range 20 {
		p := plainProblem(rng)
		if err := p.CheckWorld(0); err != nil || !p.plain(0) {
			t.Fatalf("a valid world is refused: %v", err)
		}
		for what, column := range map[string][]float64{"mass": p.Mass, "inertia": p.Inertia, "velocity": p.Velocity,
			"arm_a": p.ArmA, "arm_b": p.ArmB, "frame": p.Frame, "friction": p.Friction, "target": p.Target,
			"compliance": p.Compliance, "warm": p.Warm} {
			if len(column) == 0 {
				t.Fatalf("no %s", what)
			}
			for i, old := range column {
				for _, x := range append(bad, old+1e-3*rng.NormFloat64(), old+1e-6*rng.NormFloat64()) {
					column[i] = x
					check(p, what, i, x)
				}
				column[i] = old
			}
		}
		for what, column := range map[string][]int32{"count": p.Count, "body_a": p.BodyA, "body_b": p.BodyB} {
			for i, old := range column {
				for x := int32(-3); x < 5; x++ {
					column[i] = x
					check(p, what, i, float64(x))
				}
				column[i] = old
			}
		}
	}
	if taken < 1000 || refused < 1000 {
		t.Errorf("%d worlds taken, %d refused", taken, refused)
	}
}
