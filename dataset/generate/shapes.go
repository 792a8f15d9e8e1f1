package generate

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/geom/mesh"
)

// roundShape is a capsule, a cylinder or a cone in turn.
func roundShape(r *random, i int) geom.Shape {
	radius, half := r.length(), r.length()
	switch i % 3 {
	case 0:
		return geom.Capsule{R: radius, HalfLength: half}
	case 1:
		return geom.Cylinder{R: radius, HalfLength: half}
	default:
		return geom.Cone{R: radius, HalfLength: half}
	}
}

// randomHull is the hull of k points on a random ellipsoid.
func randomHull(r *random, k int) geom.Shape {
	axes := r.lengths()
	points := make([]r3.Vec, k)
	for i := range points {
		u := r.unit()
		points[i] = r3.Vec{X: axes.X * u.X, Y: axes.Y * u.Y, Z: axes.Z * u.Z}
	}
	return mustConvex(points)
}

// mustConvex builds a hull of points that are finite and few.
func mustConvex(points []r3.Vec) geom.Shape {
	c, err := geom.NewConvex(points)
	if err != nil {
		panic(fmt.Sprintf("generate: hull of %d points: %v", len(points), err))
	}
	return c
}

// mixedKinds is the number of kinds of the set mixed.
const mixedKinds = 10

// hullSizes are the numbers of points of the hulls of the set mixed.
var hullSizes = []int{4, 8, 32, 128, 512}

// mixedShape is a shape of kind i mod 10; every second one of a kind has a margin.
func mixedShape(r *random, i int) geom.Shape {
	round := i / mixedKinds
	s := kindShape(r, i%mixedKinds, round)
	if round%2 == 1 {
		s = geom.WithMargin(s, r.logUniform(0.01, 0.1))
	}
	return s
}

func kindShape(r *random, kind, round int) geom.Shape {
	switch kind {
	case 0:
		return geom.Sphere{R: r.length()}
	case 1:
		return geom.Capsule{R: r.length(), HalfLength: r.length()}
	case 2:
		return geom.Cylinder{R: r.length(), HalfLength: r.length()}
	case 3:
		return geom.Cone{R: r.length(), HalfLength: r.length()}
	case 4:
		return geom.Frustum{RBottom: r.length(), RTop: r.length(), HalfLength: r.length()}
	case 5:
		return geom.Box{HalfExtents: r.lengths()}
	case 6:
		return geom.Ellipsoid{SemiAxes: r.lengths()}
	case 7:
		return geom.Superquadric{SemiAxes: r.lengths(), Alpha1: r.uniform(0.2, 1.8), Alpha2: r.uniform(0.2, 1.8)}
	case 8:
		return randomHull(r, hullSizes[round%len(hullSizes)])
	default:
		return geom.Halfspace{}
	}
}

// byKind returns the indices of the shapes of each kind.
func byKind(shapes []geom.Shape) ([][]int32, error) {
	if len(shapes) < mixedKinds {
		return nil, fmt.Errorf("%d shapes, want at least one of each of the %d kinds", len(shapes), mixedKinds)
	}
	kinds := make([][]int32, mixedKinds)
	for i := range shapes {
		kinds[i%mixedKinds] = append(kinds[i%mixedKinds], int32(i))
	}
	return kinds, nil
}

// regular is a regular polygon of n corners in the plane z = 0.
func regular(n int, radius float64) []r3.Vec {
	p := make([]r3.Vec, n)
	for i := range p {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		p[i] = r3.Vec{X: radius * cos, Y: radius * sin}
	}
	return p
}

// boxCorners are the eight corners of a box.
func boxCorners(h r3.Vec) []r3.Vec {
	var p []r3.Vec
	for i := range 8 {
		p = append(p, r3.Vec{X: h.X * float64(i&1*2-1), Y: h.Y * float64(i>>1&1*2-1), Z: h.Z * float64(i>>2&1*2-1)})
	}
	return p
}

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
