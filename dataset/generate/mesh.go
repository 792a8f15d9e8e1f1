package generate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clearance/geom"
	"clearance/geom/mesh"

	"gonum.org/v1/gonum/spatial/r3"
)

// meshShapes reads the shapes of mesh files, or of all files of directories in
// the order of their names: one shape a group of a file named *_parts.obj, which
// must be convex, and the hull of the whole of any other.
func meshShapes(paths []string) (shapes []geom.Shape, names []string, err error) {
	if len(paths) == 0 {
		return nil, nil, errors.New("wants mesh files or directories, none given")
	}
	files, err := meshFiles(paths)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range files {
		parts, err := mesh.Read(path)
		if err != nil {
			return nil, nil, err
		}
		base := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		if strings.HasSuffix(base, "_parts") {
			for i := range parts {
				if err := parts[i].CheckConvex(mesh.DecompositionTolerance); err != nil {
					return nil, nil, fmt.Errorf("%s: group %q: %w", path, parts[i].Name, err)
				}
				c, err := geom.NewConvex(parts[i].Vertices)
				if err != nil {
					return nil, nil, fmt.Errorf("%s: group %q: %w", path, parts[i].Name, err)
				}
				shapes, names = append(shapes, c), append(names, fmt.Sprintf("%s/%s", base, parts[i].Name))
			}
			continue
		}
		var all []r3.Vec
		for i := range parts {
			all = append(all, parts[i].Vertices...)
		}
		c, err := geom.NewConvex(all)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		shapes, names = append(shapes, c), append(names, base)
	}
	return shapes, names, nil
}

// meshFiles replaces directories by the mesh files in them.
func meshFiles(paths []string) ([]string, error) {
	var files []string
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, p)
			continue
		}
		entries, err := os.ReadDir(p)
		if err != nil {
			return nil, err
		}
		n := len(files)
		for _, e := range entries {
			if slices.Contains([]string{".obj", ".stl", ".ply"}, strings.ToLower(filepath.Ext(e.Name()))) {
				files = append(files, filepath.Join(p, e.Name()))
			}
		}
		if len(files) == n {
			return nil, fmt.Errorf("%s: no .obj, .stl or .ply file in this directory", p)
		}
	}
	return files, nil
}
