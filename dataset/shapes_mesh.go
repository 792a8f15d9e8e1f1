package dataset

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"clearance/geom"
	"clearance/geom/mesh"
)

// meshReader reads a mesh file.
type meshReader func(path string) ([]mesh.Part, error)

// meshes reads every file of a document once and builds every hull once, however many shapes name it.
type meshes struct {
	dir   string // of relative paths
	read  meshReader
	files map[string][]mesh.Part
	hulls map[meshPart]geom.Shape
}

// MeshFiles lists the mesh files that a library file names, as far as it can be read; reading the library says why not.
func MeshFiles(path string) (files []string) {
	f, _, err := openRegular(path)
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

// meshPart is a hull of a file: of one group, or of all vertices.
type meshPart struct {
	path, part string
	one        bool
}

// parts reads a file.
func (m *meshes) parts(path string) ([]mesh.Part, error) {
	if parts, ok := m.files[path]; ok {
		return parts, nil
	}
	parts, err := m.read(path)
	if err == nil {
		m.files[path] = parts
	}
	return parts, err
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
	key := meshPart{path: load.path(named)}
	parts, err := load.parts(key.path)
	if err != nil {
		return nil, fmt.Errorf("%s: mesh: %w", e.kind, err)
	}
	if _, key.one = e.values["part"]; key.one {
		if err := e.get("part", &key.part); err != nil {
			return nil, err
		}
	}
	if s, ok := load.hulls[key]; ok {
		return s, nil
	}
	points, err := e.points(parts, named, &key)
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
func (e *entry) points(parts []mesh.Part, named string, key *meshPart) (points []float64, err error) {
	found := 0
	for i := range parts {
		p := &parts[i]
		if key.one && p.Name != key.part {
			continue
		}
		if found++; key.one && found > 1 {
			return nil, fmt.Errorf("%s: part: %s has several groups %q", e.kind, named, key.part)
		}
		if key.one {
			if err := p.CheckConvex(mesh.DefaultConvexTolerance); err != nil {
				return nil, fmt.Errorf("%s: part %q of %s: %w", e.kind, key.part, named, err)
			}
		}
		for _, v := range p.Vertices {
			points = append(points, v.X, v.Y, v.Z)
		}
	}
	if key.one && found == 0 {
		return nil, fmt.Errorf("%s: part: %s has no group %q", e.kind, named, key.part)
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("%s: mesh: %s has no vertices", e.kind, named)
	}
	return points, nil
}
