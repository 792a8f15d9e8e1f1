package papers

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"clearance/geom"
	"clearance/geom/mesh"

	"gonum.org/v1/gonum/spatial/r3"
)

// Mesh is the convex hull of a scanned object, metres.
type Mesh struct {
	Name string
	Hull *geom.Convex
}

// maxObject separates objects from rooms and other things that no gripper holds, in
// metres across.
const maxObject = 2

// LoadMeshes reads the OBJ, STL and PLY files below dir and takes the convex hull of
// each, by name. Files named *_parts.* are convex decompositions and are left out.
func LoadMeshes(dir string) ([]Mesh, error) {
	var out []Mesh
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimSuffix(d.Name(), filepath.Ext(path))
		switch strings.ToLower(filepath.Ext(path)) {
		case ".obj", ".stl", ".ply":
		default:
			return nil
		}
		if strings.HasSuffix(name, "_parts") {
			return nil
		}
		parts, err := mesh.Read(path)
		if err != nil {
			return err
		}
		var points []r3.Vec
		for _, p := range parts {
			points = append(points, p.Vertices...)
		}
		c, err := geom.NewConvex(points)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if 2*c.BoundingRadius() > maxObject {
			return fmt.Errorf("%s is %.3g m across; the experiments want objects of a few centimetres to a metre", path,
				2*c.BoundingRadius())
		}
		out = append(out, Mesh{name, c})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no OBJ, STL or PLY file of an object", dir)
	}
	slices.SortFunc(out, func(a, b Mesh) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// standIns are hulls of random points on ellipsoids, for runs without scanned objects.
func standIns() []Mesh {
	g := generator(900)
	var out []Mesh
	for _, n := range []int{240, 1811, 3585} { // the sizes of Table I (GJK++)
		out = append(out, Mesh{fmt.Sprintf("random hull of %d points", n), hullOf(n)(g).(*geom.Convex)})
	}
	return out
}

// meshes are the objects of the run.
func (l *Lab) meshes() []Mesh {
	if len(l.Meshes) > 0 {
		return l.Meshes
	}
	return standIns()
}

// anyOf draws one of the meshes.
func anyOf(m []Mesh) func(*rand.Rand) geom.Shape {
	return func(g *rand.Rand) geom.Shape { return m[g.IntN(len(m))].Hull }
}

// sphere returns n points of a sphere of radius r, spread evenly on a spiral, for
// polyhedra of any number of vertices.
func sphere(n int, r float64) []r3.Vec {
	out := make([]r3.Vec, n)
	golden := math.Pi * (3 - math.Sqrt(5))
	for i := range out {
		z := 1 - (2*float64(i)+1)/float64(n)
		s, c := math.Sincos(golden * float64(i))
		q := math.Sqrt(1 - z*z)
		out[i] = r3.Vec{X: r * q * c, Y: r * q * s, Z: r * z}
	}
	return out
}
