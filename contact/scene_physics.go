package contact

import (
	"fmt"
	"math"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// NewScene returns the scene of bodies of a table with the physics that they state, one for each of the table or nil,
// completed by defaults. Bodies that hold a half-space are fixed if they state no mass. A body needs a mass or a
// density, if it is not fixed; its inertia, where it is not stated, and its center of mass are those of a uniform
// density ([MassOfBody]). Without friction and restitution in both, these are zero.
func NewScene(t *batch.Bodies, body []int32, physics []batch.Physics, defaults batch.Physics) (*Scene, error) {
	if physics != nil && len(physics) != t.Len() {
		return nil, fmt.Errorf("contact: scene: physics of %d bodies; the table has %d", len(physics), t.Len())
	}
	n := len(body)
	s := &Scene{Bodies: t, Body: body, Mass: make([]float64, n), Inertia: make([]float64, 6*n),
		Center: make([]float64, 3*n), Friction: make([]float64, n), Restitution: make([]float64, n)}
	for b, i := range body {
		if i < 0 || int(i) >= t.Len() {
			return nil, &SceneError{b, "body", fmt.Sprintf("%d; the table has bodies 0 to %d", i, t.Len()-1)}
		}
		var p batch.Physics
		if physics != nil {
			p = physics[i]
		}
		s.Friction[b] = first(p.Friction, defaults.Friction)
		s.Restitution[b] = first(p.Restitution, defaults.Restitution)
		if err := s.setParts(int32(b), p.Parts); err != nil {
			return nil, err
		}
		if column, err := s.setMass(b, &p, &defaults); err != nil {
			return nil, &SceneError{b, column, err.Error()}
		}
	}
	return s, s.Check()
}

func first(values ...*float64) float64 {
	for _, v := range values {
		if v != nil {
			return *v
		}
	}
	return 0
}

// setParts sets what the parts of a body state of their surfaces.
func (s *Scene) setParts(b int32, parts []batch.PartPhysics) error {
	if n := len(s.Bodies.Parts(s.Body[b])); parts != nil && len(parts) != n {
		return &SceneError{int(b), "parts", fmt.Sprintf("physics of %d; the body has %d", len(parts), n)}
	}
	for i, p := range parts {
		if p.Friction != nil {
			s.PartFriction = append(s.PartFriction, PartValue{b, int32(i), *p.Friction})
		}
		if p.Restitution != nil {
			s.PartRestitution = append(s.PartRestitution, PartValue{b, int32(i), *p.Restitution})
		}
	}
	return nil
}

// SetPairs adds what a library file states of pairs of bodies of the table, for each of the bodies of the scene.
func (s *Scene) SetPairs(pairs []batch.PairPhysics) error {
	of := map[int32][]int32{}
	for b, i := range s.Body {
		of[i] = append(of[i], int32(b))
	}
	for _, p := range pairs {
		for _, a := range of[p.A] {
			for _, b := range of[p.B] {
				if a == b || p.A == p.B && a > b && p.PartA == p.PartB {
					continue
				}
				if p.Friction != nil {
					s.PairFriction = append(s.PairFriction, PairValue{a, p.PartA, b, p.PartB, *p.Friction})
				}
				if p.Restitution != nil {
					s.PairRestitution = append(s.PairRestitution, PairValue{a, p.PartA, b, p.PartB, *p.Restitution})
				}
			}
		}
	}
	return s.Check()
}

// setMass sets mass, center of mass and inertia of body b.
func (s *Scene) setMass(b int, p, defaults *batch.Physics) (column string, err error) {
	if p.Fixed || p.Mass == nil && s.unbounded(b) {
		if p.Mass != nil || p.Density != nil {
			return "mass", fmt.Errorf("a fixed body with a mass; leave one of them out")
		}
		s.Mass[b] = math.Inf(1)
		return "", nil
	}
	if p.Inertia != nil && p.Mass == nil {
		return "inertia", fmt.Errorf("an inertia without a mass")
	}
	if p.Center != nil {
		if p.Inertia == nil {
			return "center_of_mass", fmt.Errorf("a center of mass without an inertia, which is about that center")
		}
		copy(s.Center[3*b:3*b+3], p.Center)
	}
	if p.Mass != nil && p.Inertia != nil {
		s.Mass[b] = *p.Mass
		copy(s.Inertia[6*b:6*b+6], p.Inertia)
		return "", nil
	}
	density := first(p.Density, defaults.Density)
	if p.Mass != nil {
		if density = 1; !(*p.Mass > 0) || !finite(*p.Mass) {
			return "mass", fmt.Errorf("%g kg; a mass is positive", *p.Mass)
		}
	}
	if !(density > 0) {
		return "mass", fmt.Errorf("the body states neither a mass nor a density > 0, and is not fixed")
	}
	m, err := MassOfBody(s.Bodies, s.Body[b], density)
	if err != nil {
		return "mass", err
	}
	scale := 1.0
	if p.Mass != nil {
		scale = *p.Mass / m.Mass
	}
	s.Mass[b] = scale * m.Mass
	putVec(s.Center[3*b:], m.Center)
	for j, x := range m.Inertia {
		s.Inertia[6*b+j] = scale * x
	}
	return "", nil
}

func (s *Scene) unbounded(b int) bool {
	for _, part := range s.Bodies.Parts(s.Body[b]) {
		if s.Bodies.Library().Shape(part.Shape).Kind().Traits().Unbounded {
			return true
		}
	}
	return false
}

// Momentum returns the angular momentum about the center of mass of body b at a rotation with an angular velocity, in
// rad/s and world axes. Of a body of mass +Inf it is the angular velocity, as in [State].
func (s *Scene) Momentum(b int, rotation quat.Number, spin r3.Vec) r3.Vec {
	if !s.movable(int32(b)) {
		return spin
	}
	m := geom.Pose{Rotation: rotation}.Matrix()
	return m.MulVec(ptr(sym3(s.Inertia[6*b : 6*b+6])).mul(m.MulVecT(spin)))
}
