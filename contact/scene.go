package contact

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
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
	return m.MulVec(ptr(sym3(s.Inertia[6*b : 6*b+6])).Mul(m.MulVecT(spin)))
}

// A Rule combines the values of two surfaces to that of their contacts.
type Rule uint8

// Rules of combination. Standard is GeometricMean for friction and Maximum for restitution.
const (
	Standard Rule = iota
	GeometricMean
	Mean
	Minimum
	Maximum
	Product
)

// Rules are the names of the rules.
var Rules = batch.Names[Rule]{What: "rule", List: []string{Standard: "standard", GeometricMean: "geometric_mean",
	Mean: "mean", Minimum: "minimum", Maximum: "maximum", Product: "product"}}

func (r Rule) String() string { return Rules.Name(r) }

// combine is commutative: a pair has the same bits in either order.
func (r Rule) combine(a, b float64) float64 {
	switch r {
	case Mean:
		return 0.5*a + 0.5*b
	case Minimum:
		return min(a, b)
	case Maximum:
		return max(a, b)
	case Product:
		return a * b
	}
	return math.Sqrt(a) * math.Sqrt(b)
}

// AllParts in place of a part stands for each of its body.
const AllParts = -1

// A PartValue is the friction or the restitution of a part of a body.
type PartValue struct {
	Body, Part int32
	Value      float64
}

// A PairValue is the friction or the restitution of the contacts of two parts, of which either may be [AllParts].
type PairValue struct {
	BodyA, PartA, BodyB, PartB int32
	Value                      float64
}

// property is friction or restitution: the columns of a scene that state it.
type property struct {
	name  string
	body  []float64 // [B], nil for zero
	parts []PartValue
	pairs []PairValue
	rule  Rule
	most  float64 // the largest value
}

func (s *Scene) properties() [2]property {
	friction := property{"friction", s.Friction, s.PartFriction, s.PairFriction, s.FrictionRule, math.MaxFloat64}
	restitution := property{"restitution", s.Restitution, s.PartRestitution, s.PairRestitution, s.RestitutionRule, 1}
	if friction.rule == Standard {
		friction.rule = GeometricMean
	}
	if restitution.rule == Standard {
		restitution.rule = Maximum
	}
	return [2]property{friction, restitution}
}

// fault is what is wrong with a value, "" for nothing.
func (p *property) fault(v float64) string {
	switch {
	case v >= 0 && v <= p.most:
		return ""
	case p.most == 1:
		return fmt.Sprintf("%g; it lies in [0, 1]", v)
	}
	return fmt.Sprintf("%g; a %s coefficient is finite and not negative", v, p.name)
}

// check returns the fault of the first invalid value.
func (p *property) check(s *Scene) error {
	for b, v := range p.body {
		if reason := p.fault(v); reason != "" {
			return &SceneError{b, p.name, reason}
		}
	}
	if err := Rules.Check(p.rule); err != nil {
		return fmt.Errorf("contact: scene: %s: %w", p.name, err)
	}
	for i, v := range p.parts {
		if v.Part == AllParts {
			return fmt.Errorf("contact: scene: %s of parts: entry %d has no part", p.name, i)
		}
		if err := s.checkPart(v.Body, v.Part); err != nil {
			return fmt.Errorf("contact: scene: %s of parts: entry %d: %w", p.name, i, err)
		}
		if reason := p.fault(v.Value); reason != "" {
			return &SceneError{int(v.Body), fmt.Sprintf("part %d: %s", v.Part, p.name), reason}
		}
	}
	for i, v := range p.pairs {
		for _, side := range [2][2]int32{{v.BodyA, v.PartA}, {v.BodyB, v.PartB}} {
			if err := s.checkPart(side[0], side[1]); err != nil {
				return fmt.Errorf("contact: scene: %s of pairs: entry %d: %w", p.name, i, err)
			}
		}
		if v.BodyA == v.BodyB {
			return fmt.Errorf("contact: scene: %s of pairs: entry %d: body %d and itself", p.name, i, v.BodyA)
		}
		if reason := p.fault(v.Value); reason != "" {
			return &SceneError{int(v.BodyA), fmt.Sprintf("pair with body %d: %s", v.BodyB, p.name), reason}
		}
	}
	return nil
}

// checkPart returns an error unless a body of the scene has a part.
func (s *Scene) checkPart(body, part int32) error {
	if body < 0 || int(body) >= len(s.Body) {
		return fmt.Errorf("body %d; bodies are 0 to %d", body, len(s.Body)-1)
	}
	if n := len(s.Bodies.Parts(s.Body[body])); part != AllParts && (part < 0 || int(part) >= n) {
		return fmt.Errorf("body %d: part %d; its parts are 0 to %d", body, part, n-1)
	}
	return nil
}

// surfaces finds the value of a property for pairs of parts.
type surfaces struct {
	property
	ofPart map[[2]int32]float64
	ofPair map[[4]int32]int // the last entry that names the pair, the lesser body first
}

func (p *property) surfaces() *surfaces {
	s := &surfaces{property: *p, ofPart: map[[2]int32]float64{}, ofPair: map[[4]int32]int{}}
	for _, v := range p.parts {
		s.ofPart[[2]int32{v.Body, v.Part}] = v.Value
	}
	for i, v := range p.pairs {
		key := [4]int32{v.BodyA, v.PartA, v.BodyB, v.PartB}
		if v.BodyA > v.BodyB {
			key = [4]int32{v.BodyB, v.PartB, v.BodyA, v.PartA}
		}
		s.ofPair[key] = i
	}
	return s
}

// part is the value of a part.
func (s *surfaces) part(body, part int32) float64 {
	if len(s.ofPart) > 0 {
		if v, ok := s.ofPart[[2]int32{body, part}]; ok {
			return v
		}
	}
	if s.body == nil {
		return 0
	}
	return s.body[body]
}

// pair is the value of the contacts of two parts, the lesser body first: that of the last entry that names them, or
// the combination of both.
func (s *surfaces) pair(a, partA, b, partB int32) float64 {
	if last := s.named(a, partA, b, partB); last >= 0 {
		return s.pairs[last].Value
	}
	return s.rule.combine(s.part(a, partA), s.part(b, partB))
}

// named is the last entry that names the pair, or -1.
func (s *surfaces) named(a, partA, b, partB int32) (last int) {
	last = -1
	if len(s.ofPair) > 0 {
		for _, key := range [4][4]int32{{a, partA, b, partB}, {a, AllParts, b, partB}, {a, partA, b, AllParts},
			{a, AllParts, b, AllParts}} {
			if i, ok := s.ofPair[key]; ok {
				last = max(last, i)
			}
		}
	}
	return last
}
