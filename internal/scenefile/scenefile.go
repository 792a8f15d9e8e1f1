// Package scenefile holds the scene description: rows of a result with their shapes, poses and answers, worlds that
// move along a time line, contacts, and traces of solvers, as one JSON document. The page of `batchbench view`, the
// converters to Rerun and Viser, and desktop viewers read it; docs/scene.md documents it field by field.
//
// Lengths are in metres, positions, normals and directions in the axes of the world. A pose is seven numbers: the
// position x, y, z, then the unit quaternion w, x, y, z. A column of N rows is one flat list. Names are text for
// people: a reader displays them and interprets nothing in them.
//
// [Read] accepts only documents that [Document.Check] accepts; its errors name the field and the place. Values are
// plain data: they may be shared between goroutines that do not write to them.
package scenefile

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// Format and Version of the documents that this package reads and writes.
const (
	Format  = "clearance scene"
	Version = 1
)

// Document is a scene description.
type Document struct {
	Format   string   `json:"format"`
	Version  int      `json:"version"`
	Title    string   `json:"title"`
	Value    string   `json:"value"`     // what the column value is: "distance" in metres, or "factor"
	Statuses []string `json:"statuses"`  // names of the codes of the column status
	TimeUnit string   `json:"time_unit"` // of all times: "s", "way points", or "" without any
	Shapes   []Shape  `json:"shapes"`
	Bodies   []Body   `json:"bodies"`
	Rows     Rows     `json:"rows"`
	Worlds   []World  `json:"worlds,omitempty"`
	Traces   []Trace  `json:"traces,omitempty"`
}

// Shape is a convex shape: the hull of its points, in its own frame. A half-space z ≤ 0 has none.
type Shape struct {
	Name   string  `json:"name"`
	Kind   string  `json:"kind"`   // "box", "convex", "halfspace", …
	Points Numbers `json:"points"` // [P,3]
}

// Halfspace is the kind of an unbounded shape.
const Halfspace = "halfspace"

// Body is a union of shapes that moves as one.
type Body struct {
	Name  string `json:"name"`
	Parts []Part `json:"parts"`
}

// Part is a shape at a fixed pose in a body.
type Part struct {
	Shape int        `json:"shape"` // index into the shapes
	Pose  [7]float64 `json:"pose"`
}

// Rows are columns of N rows. All but those marked "or none" have a value for each row; numbers that a row lacks are
// NaN.
type Rows struct {
	Count    int      `json:"count"`     // N
	Row      Integers `json:"row"`       // [N] index in the result, by which people name the row
	Status   Integers `json:"status"`    // [N] index into the statuses
	BodyA    Integers `json:"body_a"`    // [N] index into the bodies, -1 if it is not known
	BodyB    Integers `json:"body_b"`    // [N]
	PoseA    Numbers  `json:"pose_a"`    // [N,7] pose of body A
	PoseB    Numbers  `json:"pose_b"`    // [N,7]
	Value    Numbers  `json:"value"`     // [N]
	Gap      Numbers  `json:"gap"`       // [N] bound of the error of the value
	Normal   Numbers  `json:"normal"`    // [N,3] from A to B
	WitnessA Numbers  `json:"witness_a"` // [N,3]
	WitnessB Numbers  `json:"witness_b"` // [N,3]

	PlaneA Numbers `json:"plane_a,omitempty"` // [N] or none: support plane ⟨normal, x⟩ of A
	PlaneB Numbers `json:"plane_b,omitempty"` // [N] or none

	CenterA Numbers `json:"center_a,omitempty"` // [N,3] or none: point about which a factor scales A
	CenterB Numbers `json:"center_b,omitempty"` // [N,3] or none

	World  Integers `json:"world,omitempty"`   // [N] or none: index into the worlds
	PlaceA Integers `json:"place_a,omitempty"` // [N] or none: place of body A in the world, -1 if it is not known
	PlaceB Integers `json:"place_b,omitempty"` // [N] or none
	Time   Numbers  `json:"time,omitempty"`    // [N] or none: time on the time line of the world

	ContactBegin  Integers `json:"contact_begin,omitempty"`  // [N+1] or none: where the contacts of each row begin
	ContactPoint  Numbers  `json:"contact_point,omitempty"`  // [C,3]
	ContactNormal Numbers  `json:"contact_normal,omitempty"` // [C,3] from A to B
	ContactGap    Numbers  `json:"contact_gap,omitempty"`    // [C] signed distance at the point, metres
}

// World is a scene of bodies at places, at one time or along a time line. Between two times positions move along a
// line, and rotations about a fixed axis by the shorter arc.
type World struct {
	World  int      `json:"world"`  // index in the input
	Bodies Integers `json:"bodies"` // [M] index into the bodies, -1 for an empty place
	Times  Numbers  `json:"times"`  // [K] ascending
	Poses  Numbers  `json:"poses"`  // [K,M,7]
}

// Trace is the course of a reference solver on a row. Bounds hold for the value of the document, the signed distance of
// the shapes or the factor.
type Trace struct {
	Row    int     `json:"row"`    // position among the rows of the document
	Method string  `json:"method"` // that the solver began with
	Status string  `json:"status"` // of the answer
	Radius float64 `json:"radius"` // sum of the radii of the balls around the cores of solvers, 0 of factors
	Value  Number  `json:"value"`  // of the answer
	Lower  Number  `json:"lower"`  // its bounds
	Upper  Number  `json:"upper"`
	Steps  []Step  `json:"steps"`

	Evaluations int `json:"evaluations"` // of the support function; steps in the middle may be left out
}

// Step is one evaluation of the support function. The last step of a trace is the answer.
type Step struct {
	Solver     string      `json:"solver"`              // "gjk", "nesterov", "epa", "rtr", …, "answer"
	Evaluation int         `json:"evaluation"`          // number, from 1; of the answer the last number
	Direction  [3]float64  `json:"direction"`           // of the evaluation, from A to B
	Support    *Vertex     `json:"support,omitempty"`   // the vertex that it found
	Simplex    []Vertex    `json:"simplex,omitempty"`   // of the iterate: up to four vertices, or EPA's closest face
	Iterate    *[3]float64 `json:"iterate,omitempty"`   // point of A − B that bounds the value; see docs/scene.md
	Gradient   Number      `json:"gradient"`            // RTR: norm of the gradient, metres
	Region     Number      `json:"region"`              // RTR: radius of the trust region
	Lower      Number      `json:"lower"`               // proved by this step, -Inf for nothing
	Upper      Number      `json:"upper"`               // proved by this step, +Inf for nothing
	Witnesses  *Vertex     `json:"witnesses,omitempty"` // of the answer
}

// Vertex is a point of A − B with the points of A and of B, in the world, of which it is the difference.
type Vertex struct {
	A [3]float64 `json:"a"`
	B [3]float64 `json:"b"`
}

// Read reads a document and checks it.
func Read(r io.Reader) (*Document, error) {
	var d Document
	decoder := json.NewDecoder(r)
	if err := decoder.Decode(&d); err != nil {
		return nil, fmt.Errorf("scene: %w", err)
	}
	if decoder.More() {
		return nil, fmt.Errorf("scene: more than one JSON document")
	}
	if err := d.Check(); err != nil {
		return nil, err
	}
	return &d, nil
}

// Write writes a document that [Document.Check] accepts.
func Write(w io.Writer, d *Document) error {
	d.Format, d.Version = Format, Version
	if err := d.Check(); err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(d)
}

// Contact reports whether a status says that the shapes are proved to be in contact.
func Contact(status string) bool {
	return status == "touching" || status == "penetrating" || status == "contact"
}

// Unanswered reports whether a row of a status has no answer.
func Unanswered(status string) bool { return status == "undecided" || status == "invalid" }

// Numbers is a list of numbers. In JSON it is an array, in which null is NaN, or an object of one member, whose name is
// the type of the elements and whose value is their bytes, little-endian, in base64: {"float64": "…"}. Types are
// float64, float32, int32 and uint8.
type Numbers []float64

// Integers is a list of whole numbers, in the same two forms.
type Integers []int32

// Number is a number in JSON, where null is NaN and "inf" and "-inf" are the infinities.
type Number float64

// shortList is the length up to which a list is written as an array.
const shortList = 64

// MarshalJSON writes a short list as an array, a long one as bytes.
func (n Numbers) MarshalJSON() ([]byte, error) {
	if len(n) > shortList {
		return packed("float64", []float64(n))
	}
	list := make([]Number, len(n))
	for i, x := range n {
		list[i] = Number(x)
	}
	return json.Marshal(list)
}

// MarshalJSON writes a short list as an array, a long one as bytes.
func (n Integers) MarshalJSON() ([]byte, error) {
	if len(n) > shortList {
		return packed("int32", []int32(n))
	}
	return json.Marshal([]int32(n))
}

func packed(name string, values any) ([]byte, error) {
	var raw bytes.Buffer
	if err := binary.Write(&raw, binary.LittleEndian, values); err != nil {
		return nil, err
	}
	return json.Marshal(map[string][]byte{name: raw.Bytes()})
}

// UnmarshalJSON reads either form.
func (n *Numbers) UnmarshalJSON(text []byte) error {
	if isObject(text) {
		list, err := unpacked(text)
		*n = list
		return err
	}
	var list []Number
	err := json.Unmarshal(text, &list)
	*n = make(Numbers, len(list))
	for i, x := range list {
		(*n)[i] = float64(x)
	}
	return err
}

// UnmarshalJSON reads either form.
func (n *Integers) UnmarshalJSON(text []byte) error {
	if !isObject(text) {
		return json.Unmarshal(text, (*[]int32)(n))
	}
	list, err := unpacked(text)
	*n = make(Integers, len(list))
	for i, x := range list {
		if !(x == math.Trunc(x) && x >= math.MinInt32 && x <= math.MaxInt32) {
			return fmt.Errorf("element %d is %g, want a whole number", i, x)
		}
		(*n)[i] = int32(x)
	}
	return err
}

func isObject(text []byte) bool { return len(text) > 0 && text[0] == '{' }

// unpacked reads a list of the form {"float64": "…"}.
func unpacked(text []byte) (Numbers, error) {
	var object map[string]string
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	if len(object) != 1 {
		return nil, fmt.Errorf("a list of numbers has %d members, want one that names their type", len(object))
	}
	for name, value := range object {
		raw, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		switch name {
		case "float64":
			return numbersOf[float64](name, raw)
		case "float32":
			return numbersOf[float32](name, raw)
		case "int32":
			return numbersOf[int32](name, raw)
		case "uint8":
			return numbersOf[uint8](name, raw)
		}
		return nil, fmt.Errorf("a list of %q, want float64, float32, int32 or uint8", name)
	}
	return nil, nil
}

func numbersOf[T float64 | float32 | int32 | uint8](name string, raw []byte) (Numbers, error) {
	width := binary.Size(*new(T))
	if len(raw)%width != 0 {
		return nil, fmt.Errorf("%d bytes of %s, want a multiple of %d", len(raw), name, width)
	}
	list := make([]T, len(raw)/width)
	if _, err := binary.Decode(raw, binary.LittleEndian, list); err != nil {
		return nil, err
	}
	out := make(Numbers, len(list))
	for i, x := range list {
		out[i] = float64(x)
	}
	return out, nil
}

// MarshalJSON writes what JSON has no number for as null or a text.
func (n Number) MarshalJSON() ([]byte, error) {
	switch x := float64(n); {
	case math.IsNaN(x):
		return []byte("null"), nil
	case math.IsInf(x, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(x, -1):
		return []byte(`"-inf"`), nil
	default:
		return json.Marshal(x)
	}
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (n *Number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "null":
		*n = Number(math.NaN())
	case `"inf"`:
		*n = Number(math.Inf(1))
	case `"-inf"`:
		*n = Number(math.Inf(-1))
	default:
		return json.Unmarshal(text, (*float64)(n))
	}
	return nil
}

// Check reports the first field that does not fit the others, by its name and place.
func (d *Document) Check() error {
	switch {
	case d.Format != Format:
		return fmt.Errorf("scene: format %q, want %q", d.Format, Format)
	case d.Version != Version:
		return fmt.Errorf("scene: version %d, want %d", d.Version, Version)
	case d.Value != "distance" && d.Value != "factor":
		return fmt.Errorf("scene: value %q, want distance or factor", d.Value)
	}
	for _, check := range []func() error{d.checkShapes, d.checkBodies, d.checkWorlds, d.checkRows, d.checkTraces} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) checkShapes() error {
	for i, s := range d.Shapes {
		if len(s.Points)%3 != 0 || (len(s.Points) == 0) != (s.Kind == Halfspace) {
			return fmt.Errorf("scene: shape %d: a %s of %d coordinates of points", i, s.Kind, len(s.Points))
		}
		if err := finite(s.Points); err != nil {
			return fmt.Errorf("scene: shape %d: points: %w", i, err)
		}
	}
	return nil
}

func (d *Document) checkBodies() error {
	for i, b := range d.Bodies {
		for j, p := range b.Parts {
			if p.Shape < 0 || p.Shape >= len(d.Shapes) {
				return fmt.Errorf("scene: body %d: part %d: shape %d of %d", i, j, p.Shape, len(d.Shapes))
			}
			if err := finite(p.Pose[:]); err != nil {
				return fmt.Errorf("scene: body %d: part %d: pose: %w", i, j, err)
			}
		}
	}
	return nil
}

func (d *Document) checkWorlds() error {
	for i := range d.Worlds {
		w := &d.Worlds[i]
		places, times := len(w.Bodies), len(w.Times)
		switch {
		case times == 0:
			return fmt.Errorf("scene: world %d has no times", i)
		case len(w.Poses) != 7*places*times:
			return fmt.Errorf("scene: world %d: poses has %d numbers, want %d×%d×7", i, len(w.Poses), times, places)
		}
		for k := range times {
			if !(k == 0 || w.Times[k] > w.Times[k-1]) {
				return fmt.Errorf("scene: world %d: time %d is %g, want one after %g", i, k, w.Times[k], w.Times[k-1])
			}
		}
		if err := finite(w.Times); err != nil {
			return fmt.Errorf("scene: world %d: times: %w", i, err)
		}
		if err := within(w.Bodies, -1, len(d.Bodies)); err != nil {
			return fmt.Errorf("scene: world %d: bodies: %w", i, err)
		}
	}
	return nil
}

func (d *Document) checkRows() error {
	r := &d.Rows
	if r.Count < 0 {
		return fmt.Errorf("scene: rows: count %d", r.Count)
	}
	for _, c := range []struct {
		name          string
		length, width int
		optional      bool
	}{
		{"row", len(r.Row), 1, false}, {"status", len(r.Status), 1, false},
		{"body_a", len(r.BodyA), 1, false}, {"body_b", len(r.BodyB), 1, false},
		{"pose_a", len(r.PoseA), 7, false}, {"pose_b", len(r.PoseB), 7, false},
		{"value", len(r.Value), 1, false}, {"gap", len(r.Gap), 1, false},
		{"normal", len(r.Normal), 3, false}, {"witness_a", len(r.WitnessA), 3, false},
		{"witness_b", len(r.WitnessB), 3, false},
		{"plane_a", len(r.PlaneA), 1, true}, {"plane_b", len(r.PlaneB), 1, true},
		{"center_a", len(r.CenterA), 3, true}, {"center_b", len(r.CenterB), 3, true},
		{"world", len(r.World), 1, true}, {"place_a", len(r.PlaceA), 1, true},
		{"place_b", len(r.PlaceB), 1, true}, {"time", len(r.Time), 1, true},
	} {
		if c.length != c.width*r.Count && (c.length != 0 || !c.optional) {
			return fmt.Errorf("scene: rows: %s has %d numbers, want %d×%d", c.name, c.length, r.Count, c.width)
		}
	}
	for _, c := range []struct {
		name  string
		codes Integers
		least int
		count int
	}{
		{"status", r.Status, 0, len(d.Statuses)}, {"body_a", r.BodyA, -1, len(d.Bodies)},
		{"body_b", r.BodyB, -1, len(d.Bodies)}, {"world", r.World, 0, len(d.Worlds)},
	} {
		if err := within(c.codes, c.least, c.count); err != nil {
			return fmt.Errorf("scene: rows: %s: %w", c.name, err)
		}
	}
	if len(r.World) == 0 && len(r.PlaceA)+len(r.PlaceB)+len(r.Time) > 0 {
		return fmt.Errorf("scene: rows: places or times without the column world")
	}
	for i, w := range r.World {
		places := len(d.Worlds[w].Bodies)
		for _, c := range [2]Integers{r.PlaceA, r.PlaceB} {
			if len(c) > 0 && (c[i] < -1 || int(c[i]) >= places) {
				return fmt.Errorf("scene: rows: place %d in row %d, whose world has %d", c[i], i, places)
			}
		}
	}
	return r.checkContacts()
}

func (r *Rows) checkContacts() error {
	contacts := len(r.ContactGap)
	if len(r.ContactPoint) != 3*contacts || len(r.ContactNormal) != 3*contacts {
		return fmt.Errorf("scene: rows: contact_point and contact_normal have %d and %d numbers, want %d×3",
			len(r.ContactPoint), len(r.ContactNormal), contacts)
	}
	if len(r.ContactBegin) == 0 && contacts == 0 {
		return nil
	}
	if len(r.ContactBegin) != r.Count+1 || r.ContactBegin[0] != 0 || int(r.ContactBegin[r.Count]) != contacts {
		return fmt.Errorf("scene: rows: contact_begin: want %d numbers from 0 to %d", r.Count+1, contacts)
	}
	for i := range r.Count {
		if r.ContactBegin[i] > r.ContactBegin[i+1] {
			return fmt.Errorf("scene: rows: contact_begin falls after row %d", i)
		}
	}
	return nil
}

func (d *Document) checkTraces() error {
	for i, t := range d.Traces {
		switch {
		case t.Row < 0 || t.Row >= d.Rows.Count:
			return fmt.Errorf("scene: trace %d: row %d of %d", i, t.Row, d.Rows.Count)
		case len(t.Steps) == 0:
			return fmt.Errorf("scene: trace %d has no steps", i)
		}
		for k, s := range t.Steps {
			if len(s.Simplex) > 4 {
				return fmt.Errorf("scene: trace %d: step %d: %d vertices of a simplex", i, k, len(s.Simplex))
			}
		}
		last := t.Steps[len(t.Steps)-1]
		if !same(last.Lower, t.Lower) || !same(last.Upper, t.Upper) {
			return fmt.Errorf("scene: trace %d ends at [%g, %g], and its answer is [%g, %g]",
				i, float64(last.Lower), float64(last.Upper), float64(t.Lower), float64(t.Upper))
		}
	}
	return nil
}

// same reports whether two numbers are equal; NaN equals NaN.
func same(a, b Number) bool { return a == b || a != a && b != b }

func finite(list []float64) error {
	for i, x := range list {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("number %d is %g", i, x)
		}
	}
	return nil
}

func within(codes Integers, least, count int) error {
	for i, c := range codes {
		if int(c) < least || int(c) >= count {
			return fmt.Errorf("element %d is %d, want %d to %d", i, c, least, count-1)
		}
	}
	return nil
}
