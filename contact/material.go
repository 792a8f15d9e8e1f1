package contact

import (
	"fmt"
	"math"

	"clearance/batch"
)

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
	last := -1
	if len(s.ofPair) > 0 {
		for _, key := range [4][4]int32{{a, partA, b, partB}, {a, AllParts, b, partB}, {a, partA, b, AllParts},
			{a, AllParts, b, AllParts}} {
			if i, ok := s.ofPair[key]; ok {
				last = max(last, i)
			}
		}
	}
	if last >= 0 {
		return s.pairs[last].Value
	}
	return s.rule.combine(s.part(a, partA), s.part(b, partB))
}
