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

	"clearance/geom"
	"clearance/geom/mesh"
)

// shapesVersion is the version of shapes.json that is read and written.
const shapesVersion = 1

// meshReader reads a mesh file.
type meshReader func(path string) ([]mesh.Part, error)

// ReadShapes reads a shape library from JSON:
//
//	{"version": 1, "shapes": [
//	  {"kind": "box", "half_extents": [0.1, 0.2, 0.3], "name": "brick", "margin": 0.01},
//	  {"kind": "convex", "vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0]]},
//	  {"kind": "convex", "mesh": "mug.obj"},
//	  {"kind": "convex", "mesh": "mug_parts.obj", "part": "handle"}
//	]}
//
// name and margin are optional. Each kind requires the parameters that geom.Kind lists and
// permits no others. The path of a mesh is relative to the JSON file. A mesh stands for the
// hull of all its groups or of the one named by part, which must be convex. names[i] is "" if
// a shape has no name.
//
// An error names the file, the index and the name of the shape, and the parameter, or the line
// and column if the document is not valid JSON.
func ReadShapes(path string) (shapes []geom.Shape, names []string, err error) {
	f, _, err := openRegular(path)
	if err != nil {
		return nil, nil, fmt.Errorf("dataset: %w", err)
	}
	defer f.Close()
	shapes, names, err = parseShapes(f, filepath.Dir(path), mesh.Read)
	if err != nil {
		return nil, nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return shapes, names, nil
}

// byteOrderMark is what some editors write before the text of a file.
const byteOrderMark = "\ufeff"

// parseShapes reads the document; meshes are read from dir, each file once.
func parseShapes(r io.Reader, dir string, read meshReader) (shapes []geom.Shape, names []string, err error) {
	cache := map[string][]mesh.Part{}
	load := func(path string) ([]mesh.Part, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if parts, ok := cache[path]; ok {
			return parts, nil
		}
		parts, err := read(path)
		if err == nil {
			cache[path] = parts
		}
		return parts, err
	}
	in := bufio.NewReader(r)
	if mark, err := in.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = in.Discard(len(mark)) // of these, which are buffered
	}
	document := &lines{r: in}
	d := json.NewDecoder(document)
	var version, found bool
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
			shapes, names, err = shapeList(d, load)
			return err
		}
		return fmt.Errorf("unknown field %q, want version and shapes", key)
	})
	switch {
	case err != nil:
		return nil, nil, located(d, document, err)
	case !version:
		return nil, nil, fmt.Errorf("no version, want \"version\": %d", shapesVersion)
	case !found:
		return nil, nil, errors.New("no shapes")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, nil, fmt.Errorf("something follows the end of the document (%s)", document.at(d.InputOffset()))
	}
	return shapes, names, nil
}

func shapeList(d *json.Decoder, load meshReader) (shapes []geom.Shape, names []string, err error) {
	if err := delim(d, '['); err != nil {
		return nil, nil, fmt.Errorf("shapes: %w", err)
	}
	for d.More() {
		e := entry{values: map[string]json.RawMessage{}}
		s, err := e.read(d, load)
		if err != nil {
			at := fmt.Sprintf("shape %d", len(shapes))
			if e.name != "" {
				at += fmt.Sprintf(" (%q)", e.name)
			}
			return nil, nil, fmt.Errorf("%s: %w", at, err)
		}
		shapes, names = append(shapes, s), append(names, e.name)
	}
	return shapes, names, delim(d, ']')
}

// entry is one shape of the list.
type entry struct {
	kind   geom.Kind
	name   string
	values map[string]json.RawMessage // parameters, by name
}

func (e *entry) read(d *json.Decoder, load meshReader) (geom.Shape, error) {
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
	return s, s.Validate()
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
	var extra []string
	for p := range e.values {
		if !slices.Contains(want, p) && p != "margin" && !(p == "part" && slices.Contains(want, "mesh")) {
			extra = append(extra, p)
		}
	}
	if len(extra) == 0 {
		return nil
	}
	slices.Sort(extra)
	return fmt.Errorf("%s: unknown parameter %q, want %s", e.kind, extra[0],
		strings.Join(append(slices.Clone(want), "name", "margin"), ", "))
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
func (e *entry) build(load meshReader) (geom.Shape, error) {
	params := e.kind.Params()
	values := make([][]float64, len(params))
	for i := range params {
		var err error
		if e.fromMesh() {
			values[i], err = e.mesh(load)
		} else {
			values[i], err = e.value(&params[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return e.kind.New(values)
}

// mesh returns the coordinates of the vertices of the file, or of one part of it.
func (e *entry) mesh(load meshReader) ([]float64, error) {
	var path, part string
	if err := e.get("mesh", &path); err != nil {
		return nil, err
	}
	parts, err := load(path)
	if err != nil {
		return nil, fmt.Errorf("%s: mesh: %w", e.kind, err)
	}
	_, one := e.values["part"]
	if one {
		if err := e.get("part", &part); err != nil {
			return nil, err
		}
	}
	var points []float64
	found := 0
	for i := range parts {
		p := &parts[i]
		if one && p.Name != part {
			continue
		}
		if found++; one && found > 1 {
			return nil, fmt.Errorf("%s: part: %s has several groups %q", e.kind, path, part)
		}
		if one {
			if err := p.CheckConvex(mesh.DefaultConvexTolerance); err != nil {
				return nil, fmt.Errorf("%s: part %q of %s: %w", e.kind, part, path, err)
			}
		}
		for _, v := range p.Vertices {
			points = append(points, v.X, v.Y, v.Z)
		}
	}
	if one && found == 0 {
		return nil, fmt.Errorf("%s: part: %s has no group %q", e.kind, path, part)
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("%s: mesh: %s has no vertices", e.kind, path)
	}
	return points, nil
}

func kindList() string {
	var s []string
	for k := range geom.KindCount {
		s = append(s, k.String())
	}
	return strings.Join(s, ", ")
}
