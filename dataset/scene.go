package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"clearance/batch"
)

// BodyPairs are pairs of bodies, A[i] and B[i], that a scene asks about. Stated is false if the file does not list
// them.
type BodyPairs struct {
	A, B   []int32
	Stated bool
}

// Scene is what a library file states: bodies, which are its shapes if it lists none, and pairs of bodies.
type Scene struct {
	Bodies *batch.Bodies
	Listed bool // whether the file lists bodies
	Pairs  BodyPairs
	// Physics of each body that the file lists; nil if it lists none.
	Physics []batch.Physics
	// Surfaces of pairs of bodies. The last one that names a pair counts.
	Surfaces []batch.PairPhysics
}

// ReadScene reads the bodies of a library file as [ReadBodies] does, and the pairs of them that are asked about:
//
//	{"version": 1, "shapes": […], "bodies": […], "pairs": [["hammer", "mug"], [0, 2]]}
//
// A pair names its bodies or gives their indices. Files of worlds have pairs of their own, and other readers of a
// library file check these but do not use them. For time steps, bodies may have physics:
//
//	{"name": "hammer", "parts": […], "mass": 0.6, "inertia": [0.01, 0.01, 0.001], "center_of_mass": [0, 0, 0.2],
//	 "friction": 0.5, "restitution": 0.1}
//
// or a density in place of the mass. Parts may state friction and restitution of their own, and the document those of
// pairs of bodies, or of one part of either:
//
//	"surfaces": [{"bodies": ["hammer", "mug"], "parts": [1, null], "friction": 0.2, "restitution": 0}]
//
// The last one that names a pair counts. Inertias have 3 or 6 numbers, see [batch.Physics]. "fixed": true is a body
// that does not move.
func ReadScene(path string) (Scene, error) {
	p, lib, err := readLibrary(path)
	if err != nil {
		return Scene{}, err
	}
	s := Scene{batch.BodiesOfShapes(lib), p.hasBodies, p.pairs, p.physics, p.surfaces}
	if p.hasBodies {
		if s.Bodies, err = batch.NewBodies(lib, p.bodies); err != nil {
			return Scene{}, fmt.Errorf("%s: %w", path, err)
		}
	}
	return s, nil
}

// WriteScene writes bodies as [WriteBodies] does, and pairs of them if they are stated.
func WriteScene(path string, b *batch.Bodies, pairs BodyPairs) error {
	p, err := bodyParts(b)
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	p.pairs = pairs
	return writeShapes(osFS{}, path, p)
}

// readPairs reads the list of pairs of the bodies read before.
func (p *parts) readPairs(raw json.RawMessage) error {
	bodies := p.bodyNames()
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := delim(d, '['); err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	p.pairs.Stated = true
	for d.More() {
		pair, err := bodies.pair(d)
		if err == nil && pair[0] == pair[1] {
			err = errors.New("a body and itself")
		}
		if err != nil {
			return fmt.Errorf("pairs: pair %d: %w", len(p.pairs.A), err)
		}
		p.pairs.A, p.pairs.B = append(p.pairs.A, pair[0]), append(p.pairs.B, pair[1])
	}
	return delim(d, ']')
}

// bodyNames finds the bodies of the file.
func (p *parts) bodyNames() *names {
	list := p.names // each shape is a body
	if p.hasBodies {
		list = make([]string, len(p.bodies))
		for i := range p.bodies {
			list[i] = p.bodies[i].Name
		}
	}
	return newNames(list, "body", "bodies")
}

// pair reads a list of two entries.
func (n *names) pair(d *json.Decoder) (pair [2]int32, err error) {
	var list []json.RawMessage
	if err = inWords(d.Decode(&list)); err == nil && len(list) != len(pair) {
		err = fmt.Errorf("%d bodies, want %d", len(list), len(pair))
	}
	for i := range pair {
		if err == nil {
			pair[i], err = n.index(list[i])
		}
	}
	return pair, err
}

// names finds entries of a list, which a document names or gives the index of.
type names struct {
	what, plural string
	count        int
	of           map[string][]int32
}

func newNames(list []string, what, plural string) *names {
	n := &names{what: what, plural: plural, of: map[string][]int32{}}
	n.add(list)
	return n
}

// add makes known those of a list that were appended to it.
func (n *names) add(list []string) {
	for ; n.count < len(list); n.count++ {
		n.of[list[n.count]] = append(n.of[list[n.count]], int32(n.count))
	}
}

// index returns the index that a value gives or names.
func (n *names) index(raw json.RawMessage) (int32, error) {
	var name string
	if json.Unmarshal(raw, &name) == nil && string(raw) != "null" {
		switch found := n.of[name]; {
		case len(found) == 0 || name == "":
			return 0, fmt.Errorf("no %s is named %q", n.what, name)
		case len(found) > 1:
			return 0, fmt.Errorf("several %s are named %q; give the index of one of them", n.plural, name)
		default:
			return found[0], nil
		}
	}
	var i int32
	if json.Unmarshal(raw, &i) != nil || string(raw) == "null" || i < 0 || int(i) >= n.count {
		return 0, fmt.Errorf("%s, want the name of a %s or an index in [0, %d)", raw, n.what, n.count)
	}
	return i, nil
}
