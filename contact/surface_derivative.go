package contact

import "math"

// The derivatives of the friction and the restitution of pairs of parts by the values that the scene states.

// SurfaceSlope is the derivative of the value of a pair by the stated values that it depends on: Slope[i] by that of
// Source[i], which is -1 where there is none.
type SurfaceSlope struct {
	Source [2]int32
	Slope  [2]float64
}

// Add adds the derivative by the values, times a cotangent, to a gradient, which may be nil.
func (s *SurfaceSlope) Add(gradient []float64, bar float64) {
	if gradient == nil || bar == 0 {
		return
	}
	for i, k := range s.Source {
		if k >= 0 {
			gradient[k] += s.Slope[i] * bar
		}
	}
}

// SurfaceSlopes are those of all pairs of parts, in the order of the simulation.
type SurfaceSlopes struct {
	Friction, Restitution []SurfaceSlope
	// FrictionSources and RestitutionSources are the numbers of stated values: those of the bodies, then PartFriction,
	// then PairFriction, and so on.
	FrictionSources, RestitutionSources int
}

// FrictionSources is the number of values that a scene states of its friction: those of the bodies, then PartFriction,
// then PairFriction.
func (s *Scene) FrictionSources() int { return len(s.Body) + len(s.PartFriction) + len(s.PairFriction) }

// RestitutionSources is that of its restitution.
func (s *Scene) RestitutionSources() int {
	return len(s.Body) + len(s.PartRestitution) + len(s.PairRestitution)
}

// SurfaceSlopes returns the derivatives of friction and restitution.
func (s *Simulation) SurfaceSlopes() *SurfaceSlopes {
	stated, bodies := s.scene.properties(), len(s.scene.Body)
	out := &SurfaceSlopes{FrictionSources: s.scene.FrictionSources(),
		RestitutionSources: s.scene.RestitutionSources()}
	for i, to := range [2]*[]SurfaceSlope{&out.Friction, &out.Restitution} {
		of := stated[i].surfaces()
		*to = make([]SurfaceSlope, len(s.pairs))
		for k := range s.pairs {
			p := &s.pairs[k]
			(*to)[k] = of.slope(p.a, p.partA, p.b, p.partB, bodies)
		}
	}
	return out
}

// slope is the derivative of [surfaces.pair].
func (s *surfaces) slope(a, partA, b, partB int32, bodies int) SurfaceSlope {
	if last := s.named(a, partA, b, partB); last >= 0 {
		return SurfaceSlope{Source: [2]int32{int32(bodies + len(s.parts) + last), -1}, Slope: [2]float64{1, 0}}
	}
	x, y := s.part(a, partA), s.part(b, partB)
	dx, dy := s.rule.slopes(x, y)
	return SurfaceSlope{Source: [2]int32{s.source(a, partA, bodies), s.source(b, partB, bodies)},
		Slope: [2]float64{dx, dy}}
}

// source is the number of the stated value of a part.
func (s *surfaces) source(body, part int32, bodies int) int32 {
	source := body
	for i, v := range s.parts { // the last one counts
		if v.Body == body && v.Part == part {
			source = int32(bodies + i)
		}
	}
	return source
}

// slopes is the derivative of combine. That of a minimum or maximum of equal values is shared by both; that of the
// geometric mean with a value of zero, which is infinite or one of many, is zero.
func (r Rule) slopes(a, b float64) (da, db float64) {
	switch r {
	case Mean:
		return 0.5, 0.5
	case Product:
		return b, a
	case Minimum, Maximum:
		switch {
		case a == b:
			return 0.5, 0.5
		case a < b == (r == Minimum):
			return 1, 0
		}
		return 0, 1
	}
	if !(a > 0 && b > 0) {
		return 0, 0
	}
	return 0.5 * math.Sqrt(b/a), 0.5 * math.Sqrt(a/b)
}
