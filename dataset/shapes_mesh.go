package dataset

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"clearance/batch"
	"clearance/geom"
	"clearance/geom/mesh"
)

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
