package dataset

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"clearance/batch"
	"clearance/dataset/table"
	"clearance/geom"
	"clearance/geom/mesh"
	"clearance/internal/memory"
)

// shapesVersion is the version of shapes.json that is read and written.
const shapesVersion = 1

// ReadLibrary reads a shape library from JSON:
//
//	{"version": 1, "shapes": [
//	  {"kind": "box", "half_extents": [0.1, 0.2, 0.3], "name": "brick", "margin": 0.01},
//	  {"kind": "cone", "radius": 0.1, "half_length": 0.2, "center": [0, 0, -0.1]},
//	  {"kind": "convex", "vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0]]},
//	  {"kind": "convex", "mesh": "mug.obj"},
//	  {"kind": "convex", "mesh": "mug_parts.obj", "part": "handle", "tolerance": 0.01}
//	]}
//
// name, margin and the attributes of [geom.Attribute], here center, are optional; the center of a smooth hull is its
// parameter of that name as well. Each kind requires the parameters that geom.Kind lists and permits no others. The
// path of a mesh is relative to the JSON file. A mesh stands for the hull of all its groups or of the one named by
// part, which must be convex: to what rounding by the format of the file explains, or to a tolerance relative to its
// size. [ReadBodies] reads the field bodies, [ReadScene] the field pairs.
//
// An error names the file, the index and the name of the shape, and the parameter, or the line
// and column if the document is not valid JSON.
func ReadLibrary(path string) (*batch.Library, error) {
	_, l, err := readLibrary(path)
	return l, err
}

func readLibrary(path string) (parts, *batch.Library, error) {
	p, err := readShapes(path)
	if err != nil {
		return p, nil, err
	}
	l, err := batch.NewLibrary(p.shapes, p.names)
	if err == nil {
		l, err = l.WithAttributes(&p.attributes)
	}
	if err != nil {
		return p, nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, l, nil
}

// ReadShapes is [ReadLibrary] without the attributes. names[i] is "" if a shape has no name.
func ReadShapes(path string) (shapes []geom.Shape, names []string, err error) {
	p, err := readShapes(path)
	return p.shapes, p.names, err
}

// parts are the contents of a library file: the shapes, their names, "" for none, and their
// attributes, where these are not the default.
type parts struct {
	shapes     []geom.Shape
	names      []string
	attributes batch.Attributes

	hasBodies bool
	bodies    []batch.Body
	physics   []batch.Physics // of bodies, nil if none is to be written

	pairs    BodyPairs
	surfaces []batch.PairPhysics

	shapeNames *names // those that bodies may name, nil until one does
}

func readShapes(path string) (parts, error) {
	f, size, err := table.OpenRegular(path)
	if err != nil {
		return parts{}, fmt.Errorf("dataset: %w", err)
	}
	defer f.Close()
	// The text of a field, and what it is parsed to.
	if err := memory.Check(fmt.Sprintf("a document of %d bytes", size), 3*float64(size)); err != nil {
		return parts{}, fmt.Errorf("dataset: %s: %w", path, err)
	}
	p, err := parseShapes(f, filepath.Dir(path), mesh.Read)
	if err != nil {
		return parts{}, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return p, nil
}

// byteOrderMark stands before the text of a file that some editors write.
const byteOrderMark = "\ufeff"

// parseShapes reads the document; meshes are read from dir.
func parseShapes(r io.Reader, dir string, read meshReader) (p parts, err error) {
	load := newMeshes(dir, read)
	in := bufio.NewReader(r)
	if mark, err := in.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = in.Discard(len(mark)) // of these, which are buffered
	}
	document := &lines{r: in}
	d := json.NewDecoder(document)
	var version, found bool
	var bodies, pairs, surfaces json.RawMessage
	err = object(d, func(key string) error {
		switch key {
		case "version":
			var v json.RawMessage
			if err := d.Decode(&v); err != nil {
				return err
			}
			if version = true; string(v) != fmt.Sprint(shapesVersion) {
				return fmt.Errorf("version %s, want %d", v, shapesVersion)
			}
			return nil
		case "shapes":
			found = true
			p, err = shapeList(d, load)
			return err
		case "bodies":
			return d.Decode(&bodies)
		case "pairs":
			return d.Decode(&pairs)
		case "surfaces":
			return d.Decode(&surfaces)
		}
		return fmt.Errorf("unknown field %q, want version, shapes, bodies, pairs and surfaces", key)
	})
	switch {
	case err != nil:
		return p, located(d, document, err)
	case !version:
		return p, fmt.Errorf("no version, want \"version\": %d", shapesVersion)
	case !found:
		return p, errors.New("no shapes")
	}
	if _, err := d.Token(); err != io.EOF {
		return p, fmt.Errorf("something follows the end of the document (%s)", document.at(d.InputOffset()))
	}
	if p.hasBodies = bodies != nil; p.hasBodies {
		err = p.readBodies(bodies, load)
	}
	if err == nil && pairs != nil {
		err = p.readPairs(pairs)
	}
	if err == nil && surfaces != nil {
		err = p.readSurfaces(surfaces)
	}
	return p, err
}

func shapeList(d *json.Decoder, load *meshes) (p parts, err error) {
	if err := delim(d, '['); err != nil {
		return p, fmt.Errorf("shapes: %w", err)
	}
	for d.More() {
		e := entry{values: map[string]json.RawMessage{}}
		s, err := e.read(d, load)
		if err != nil {
			at := fmt.Sprintf("shape %d", len(p.shapes))
			if e.name != "" {
				at += fmt.Sprintf(" (%q)", e.name)
			}
			return p, fmt.Errorf("%s: %w", at, err)
		}
		for a, v := range e.attributes {
			if v != nil {
				p.attributes.Set(geom.Attribute(a), int32(len(p.shapes)), v)
			}
		}
		p.shapes, p.names = append(p.shapes, s), append(p.names, e.name)
	}
	return p, delim(d, ']')
}

// entry is one shape of the list.
type entry struct {
	kind   geom.Kind
	name   string
	values map[string]json.RawMessage // parameters and attributes, by name

	attributes [geom.AttributeCount][]float64 // nil for the default
}

func (e *entry) read(d *json.Decoder, load *meshes) (geom.Shape, error) {
	kind := ""
	err := object(d, func(key string) error {
		var err error
		switch key {
		case "kind":
			err = text(d, &kind)
		case "name":
			err = text(d, &e.name)
		default:
			var v json.RawMessage
			err = d.Decode(&v)
			e.values[key] = v
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if kind == "" {
		return nil, errors.New("no kind")
	}
	if e.kind, err = geom.ParseKind(kind); err != nil {
		return nil, fmt.Errorf("unknown kind %q, want one of %s", kind, kindList())
	}
	if err := e.check(e.wanted()); err != nil {
		return nil, err
	}
	s, err := e.build(load)
	if err != nil {
		return nil, err
	}
	if _, ok := e.values["margin"]; ok {
		var margin real
		if err := e.get("margin", &margin); err != nil {
			return nil, err
		}
		s = geom.WithMargin(s, float64(margin))
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s, e.readAttributes(s)
}

// readAttributes reads the attributes of the shape that the file states.
func (e *entry) readAttributes(s geom.Shape) (err error) {
	for a := range geom.AttributeCount {
		info := a.Info()
		if _, ok := e.values[info.Name]; !ok || a.ParameterOf(e.kind) {
			continue
		}
		if e.attributes[a], err = e.value(&geom.Param{Name: info.Name, Width: info.Width}); err != nil {
			return err
		}
		if err := a.Check(s, e.attributes[a]); err != nil {
			return err
		}
	}
	return nil
}

// check reports the first parameter that is missing or does not belong to the kind.
func (e *entry) check(want []string) error {
	for _, p := range want {
		if _, ok := e.values[p]; !ok {
			if e.kind == geom.KindConvex {
				p = "vertices (or mesh)"
			}
			return fmt.Errorf("%s: parameter %s is missing", e.kind, p)
		}
	}
	optional := []string{"name", "margin"}
	for a := range geom.AttributeCount {
		optional = append(optional, a.String())
	}
	var extra []string
	for p := range e.values {
		ofMesh := (p == "part" || p == "tolerance") && slices.Contains(want, "mesh")
		if !slices.Contains(want, p) && !slices.Contains(optional, p) && !ofMesh {
			extra = append(extra, p)
		}
	}
	if len(extra) == 0 {
		return nil
	}
	slices.Sort(extra)
	return fmt.Errorf("%s: unknown parameter %q, want %s", e.kind, extra[0],
		strings.Join(slices.Concat(want, optional), ", "))
}

// wanted returns the parameters that the shape must have: those of its kind, without those left out that may be,
// and mesh in place of the vertices of a hull.
func (e *entry) wanted() (names []string) {
	for _, p := range e.kind.Params() {
		if _, ok := e.values[p.Name]; ok || !p.Optional {
			names = append(names, p.Name)
		}
	}
	if e.fromMesh() {
		return []string{"mesh"}
	}
	return names
}

// fromMesh reports whether the vertices of a hull come from a mesh.
func (e *entry) fromMesh() bool {
	_, ok := e.values["mesh"]
	return ok && e.kind == geom.KindConvex
}

// build makes the shape, without its margin.
func (e *entry) build(load *meshes) (geom.Shape, error) {
	if e.fromMesh() {
		return e.mesh(load)
	}
	params := e.kind.Params()
	values := make([][]float64, len(params))
	for i := range params {
		var err error
		if values[i], err = e.value(&params[i]); err != nil {
			return nil, err
		}
	}
	return e.kind.New(values)
}

func kindList() string {
	var s []string
	for k := range geom.KindCount {
		s = append(s, k.String())
	}
	return strings.Join(s, ", ")
}

// meshReader reads a mesh file.
type meshReader func(path string) ([]mesh.Part, error)

// meshes reads every file of a document once and builds every hull once, however many shapes name it.
type meshes struct {
	dir    string // of relative paths
	read   meshReader
	files  map[string]meshFile
	hulls  map[meshPart]geom.Shape
	bodies map[meshPart][]batch.Part // of bodies that are files, by the file and the tolerance
}

// MeshFiles lists the mesh files that a library file names, as far as it can be read; reading the library says why not.
func MeshFiles(path string) (files []string) {
	f, _, err := table.OpenRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	type named struct {
		Mesh string `json:"mesh"`
	}
	var document struct {
		Shapes []named `json:"shapes"`
		Bodies []named `json:"bodies"`
	}
	_ = json.NewDecoder(f).Decode(&document)
	m := meshes{dir: filepath.Dir(path)}
	for _, n := range append(document.Shapes, document.Bodies...) {
		if n.Mesh != "" {
			files = append(files, m.path(n.Mesh))
		}
	}
	return files
}

// meshFile is a file that was read: its parts, and the indices of those of each name.
type meshFile struct {
	parts []mesh.Part
	named map[string][]int
}

// meshPart is a hull of a file: of one group, convex to a tolerance, or of all vertices.
type meshPart struct {
	path, part string
	one        bool
	tolerance  float64
}

func newMeshes(dir string, read meshReader) *meshes {
	return &meshes{dir: dir, read: read, files: map[string]meshFile{}, hulls: map[meshPart]geom.Shape{},
		bodies: map[meshPart][]batch.Part{}}
}

// file reads a file.
func (m *meshes) file(path string) (meshFile, error) {
	if f, ok := m.files[path]; ok {
		return f, nil
	}
	parts, err := m.read(path)
	if err != nil {
		return meshFile{}, err
	}
	f := meshFile{parts, map[string][]int{}}
	for i := range parts {
		f.named[parts[i].Name] = append(f.named[parts[i].Name], i)
	}
	m.files[path] = f
	return f, nil
}

// path is the path of a file that a document names.
func (m *meshes) path(named string) string {
	if filepath.IsAbs(named) {
		return filepath.Clean(named)
	}
	return filepath.Join(m.dir, named)
}

// mesh returns the hull of a file, or of one part of it. Shapes that name the same share it.
func (e *entry) mesh(load *meshes) (geom.Shape, error) {
	var named string
	if err := e.get("mesh", &named); err != nil {
		return nil, err
	}
	key := meshPart{path: load.path(named), tolerance: mesh.FormatTolerance}
	file, err := load.file(key.path)
	if err != nil {
		return nil, fmt.Errorf("%s: mesh: %w", e.kind, err)
	}
	if _, key.one = e.values["part"]; key.one {
		if err := e.get("part", &key.part); err != nil {
			return nil, err
		}
	}
	if _, ok := e.values["tolerance"]; ok {
		var t real
		if err := e.get("tolerance", &t); err != nil {
			return nil, err
		}
		if !key.one {
			return nil, fmt.Errorf("%s: tolerance: the hull of a whole mesh has none, want a part", e.kind)
		}
		if key.tolerance = float64(t); !(t >= 0 && t <= 1) {
			return nil, fmt.Errorf("%s: tolerance %g, want 0 to 1", e.kind, float64(t))
		}
	}
	if s, ok := load.hulls[key]; ok {
		return s, nil
	}
	points, err := e.points(file, named, &key)
	if err != nil {
		return nil, err
	}
	s, err := e.kind.New([][]float64{points})
	if err == nil {
		load.hulls[key] = s
	}
	return s, err
}

// points returns the coordinates of the vertices of a part, or of all. named is the file in messages.
func (e *entry) points(file meshFile, named string, key *meshPart) (points []float64, err error) {
	parts := file.parts
	if key.one {
		found := file.named[key.part]
		switch {
		case len(found) == 0:
			return nil, fmt.Errorf("%s: part: %s has no group %q", e.kind, named, key.part)
		case len(found) > 1:
			return nil, fmt.Errorf("%s: part: %s has several groups %q", e.kind, named, key.part)
		}
		parts = parts[found[0] : found[0]+1]
		if err := parts[0].CheckConvex(key.tolerance); err != nil {
			return nil, fmt.Errorf("%s: part %q of %s: %w", e.kind, key.part, named, err)
		}
	}
	for i := range parts {
		for _, v := range parts[i].Vertices {
			points = append(points, v.X, v.Y, v.Z)
		}
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("%s: mesh: %s has no vertices", e.kind, named)
	}
	return points, nil
}
