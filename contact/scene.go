package contact

import (
	"fmt"
	"math"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// A Scene is the B bodies that every world of a simulation has. Bodies are free: there are no joints.
type Scene struct {
	Bodies *batch.Bodies
	Body   []int32 // [B] indices into Bodies

	// Mass [B] is in kg. A body of mass +Inf is not moved by impulses and forces, and keeps its velocity.
	Mass []float64
	// Inertia [B,6] is about the center of mass, in the axes of the body: xx, yy, zz, xy, xz, yz, in kg·m². It is not
	// read where the mass is +Inf.
	Inertia []float64
	// Center [B,3] is the center of mass in the frame of the body, in metres. Nil: the origin.
	Center []float64
	// Friction [B] is a coefficient of each body, and Restitution [B] lies in [0, 1]. A contact has the combination of
	// those of both bodies by the rules below. Nil restitution: zero.
	Friction, Restitution []float64
	// PartFriction and PartRestitution are values of parts, in place of those of their bodies.
	PartFriction, PartRestitution []PartValue
	// PairFriction and PairRestitution are values of pairs, in place of the combination. The last entry that names a
	// pair counts.
	PairFriction, PairRestitution []PairValue
	FrictionRule, RestitutionRule Rule
	// SkipA and SkipB are pairs of bodies without contacts, in either order.
	SkipA, SkipB []int32
}

// A SceneError says which body of a scene is invalid.
type SceneError struct {
	Body           int
	Column, Reason string
}

func (e *SceneError) Error() string {
	return fmt.Sprintf("contact: scene: body %d: %s: %s", e.Body, e.Column, e.Reason)
}

// Check returns an error if a column has the wrong length, and otherwise the fault of the first invalid body.
func (s *Scene) Check() error {
	if s.Bodies == nil {
		return fmt.Errorf("contact: scene: no table of bodies")
	}
	n := len(s.Body)
	for _, c := range [...]struct {
		name     string
		got, per int
		optional bool
	}{{"mass", len(s.Mass), 1, false}, {"inertia", len(s.Inertia), 6, false}, {"center", len(s.Center), 3, true},
		{"friction", len(s.Friction), 1, false}, {"restitution", len(s.Restitution), 1, true}} {
		if c.got != c.per*n && !(c.optional && c.got == 0) {
			return fmt.Errorf("contact: scene: column %s has %d values; %d bodies take %d", c.name, c.got, n, c.per*n)
		}
	}
	for b := range n {
		if column, reason := s.bodyFault(b); reason != "" {
			return &SceneError{b, column, reason}
		}
	}
	for _, p := range s.properties() {
		if err := p.check(s); err != nil {
			return err
		}
	}
	if len(s.SkipA) != len(s.SkipB) {
		return fmt.Errorf("contact: scene: skip_a has %d values and skip_b %d", len(s.SkipA), len(s.SkipB))
	}
	for i := range s.SkipA {
		for _, b := range [2]int32{s.SkipA[i], s.SkipB[i]} {
			if b < 0 || int(b) >= n {
				return fmt.Errorf("contact: scene: pair %d to skip has body %d; bodies are 0 to %d", i, b, n-1)
			}
		}
	}
	return nil
}

func (s *Scene) bodyFault(b int) (column, reason string) {
	if i := s.Body[b]; i < 0 || int(i) >= s.Bodies.Len() {
		return "body", fmt.Sprintf("%d; the table has bodies 0 to %d", i, s.Bodies.Len()-1)
	}
	m := s.Mass[b]
	if !(m > 0) {
		return "mass", fmt.Sprintf("%g kg; a mass is positive, or +Inf for a body that impulses do not move", m)
	}
	if !math.IsInf(m, 1) {
		if reason := inertiaFault(sym3(s.Inertia[6*b : 6*b+6])); reason != "" {
			return "inertia", reason
		}
		if s.unbounded(b) {
			return "mass", fmt.Sprintf("%g kg; a half-space is not moved by impulses, so its mass is +Inf", m)
		}
	}
	if len(s.Center) > 0 && !finite(s.Center[3*b:3*b+3]...) {
		return "center", fmt.Sprintf("%v is not finite", s.Center[3*b:3*b+3])
	}
	return "", ""
}

// center is the center of mass of body b in its frame.
func (s *Scene) center(b int) r3.Vec {
	if len(s.Center) == 0 {
		return r3.Vec{}
	}
	return vecOf(s.Center[3*b:])
}

func (s *Scene) movable(b int32) bool { return !math.IsInf(s.Mass[b], 1) }

// partPair is a pair of parts of two bodies, which every world has.
type partPair struct {
	a, b         int32 // bodies, a < b
	carrier      int32 // the one of both that impulses do not move, or -1
	partA, partB int32
	shapeA       int32
	shapeB       int32
	size         float64 // of the pair of shapes; half-spaces count with their margin
	friction     float64
	restitution  float64
	depth        float64 // that a step may leave, see [leastWidth]
	slop         float64 // penetration that is left alone
	armA, armB   float64 // of the farthest points about the center of mass; of balls, of their centers
	ballA, ballB float64 // radii of the balls around the centers of mass that hold the parts
	inA, inB     bool    // the frame of the part is that of the body

	// In the frames of the bodies: centers of the balls around the parts, of half-spaces a point of the plane, and
	// normals of half-spaces.
	centerA, centerB r3.Vec
	normalA, normalB r3.Vec
}

// partPairs lists the pairs of parts that may have contacts: of bodies not both of which are immovable.
func (s *Scene) partPairs() []partPair {
	skip := map[[2]int32]bool{}
	for i, a := range s.SkipA {
		skip[[2]int32{min(a, s.SkipB[i]), max(a, s.SkipB[i])}] = true
	}
	lib := s.Bodies.Library()
	stated := s.properties()
	friction, restitution := stated[0].surfaces(), stated[1].surfaces()
	var pairs []partPair
	for b := range int32(len(s.Body)) {
		for a := range b {
			if skip[[2]int32{a, b}] || !s.movable(a) && !s.movable(b) {
				continue
			}
			for i, p := range s.Bodies.Parts(s.Body[a]) {
				for j, q := range s.Bodies.Parts(s.Body[b]) {
					pairs = append(pairs, partPair{a: a, b: b, partA: int32(i), partB: int32(j), shapeA: p.Shape,
						shapeB: q.Shape, size: lib.PairSize(p.Shape, q.Shape),
						friction:    friction.pair(a, int32(i), b, int32(j)),
						restitution: restitution.pair(a, int32(i), b, int32(j)),
						carrier:     s.carrier(a, b),
						inA:         p.Pose == geom.IdentityPose(), inB: q.Pose == geom.IdentityPose()})
					last := &pairs[len(pairs)-1]
					last.centerA, last.normalA = ballOf(lib.Shape(p.Shape), p.Pose)
					last.centerB, last.normalB = ballOf(lib.Shape(q.Shape), q.Pose)
					last.armA = armOf(lib.Shape(p.Shape), r3.Sub(last.centerA, s.center(int(a))))
					last.armB = armOf(lib.Shape(q.Shape), r3.Sub(last.centerB, s.center(int(b))))
					last.ballA = length(r3.Sub(last.centerA, s.center(int(a)))) + lib.Shape(p.Shape).BoundingRadius()
					last.ballB = length(r3.Sub(last.centerB, s.center(int(b)))) + lib.Shape(q.Shape).BoundingRadius()
					last.depth = depthOfWidth * leastWidth(lib, p.Shape, q.Shape)
					last.slop = min(slopOfSize*last.size, last.depth/4)
				}
			}
		}
	}
	return pairs
}

// carrier is the one of two bodies that impulses do not move, or -1.
func (s *Scene) carrier(a, b int32) int32 {
	switch {
	case !s.movable(a):
		return a
	case !s.movable(b):
		return b
	}
	return -1
}

// depthOfWidth is the penetration that a step may leave, relative to the least width of the thinner part.
const depthOfWidth = 0x1p-7

// leastWidth bounds the least width of the thinner shape of a pair from below: twice the radius of a ball inside. A
// flat shape has none, and nothing passes through it that stays out of the other one. Of two flat shapes it is a
// millionth of the size.
func leastWidth(lib *batch.Library, a, b int32) float64 {
	width := math.Inf(1)
	for _, shape := range [2]int32{a, b} {
		if r := lib.Shape(shape).Inradius(); r > 0 {
			width = min(width, 2*r)
		}
	}
	if math.IsInf(width, 1) {
		return 0x1p-20 * lib.PairSize(a, b)
	}
	return width
}

// armOf is the distance from the center of mass to the farthest point of a part whose ball is at arm; of a ball, to its
// center, since its rotation moves nothing else.
func armOf(shape geom.Shape, arm r3.Vec) float64 {
	if shape.Kind() == geom.KindSphere {
		return length(arm)
	}
	return length(arm) + shape.BoundingRadius()
}

// ballOf is the center of the ball around a part, of a half-space a point of its plane, and the axis z of the part.
func ballOf(shape geom.Shape, pose geom.Pose) (center, axis r3.Vec) {
	m := pose.Matrix()
	center = pose.Position
	if !shape.Kind().Traits().Unbounded {
		center = pose.Apply(shape.Center())
	}
	return center, m.MulVec(r3.Vec{Z: 1})
}
