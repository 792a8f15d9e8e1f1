package generate

import (
	"slices"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// role groups the shapes of the set adversarial.
type role int

const (
	roleThin     role = iota // needles and plates, 1e-3 and 1e-4 m against 1 m
	roleFlat                 // hulls without volume: point, segment, triangle, polygons
	roleTiny                 // about 1e-4 m
	roleHuge                 // about 1e4 m
	roleUsual                // about 1 m, every bounded kind
	roleSlab                 // with faces at both ends of local z
	roleCube                 // with a square section across x
	roleRound                // without an edge
	roleRepeated             // hulls of duplicate, interior and coplanar points
	rolePlane                // half-spaces
	roleCount
)

// adversarialShapes returns the library, the name of each shape, and the shapes
// of each role.
func adversarialShapes(seed uint64) (shapes []geom.Shape, names []string, roles [][]int32) {
	r := newRandom()
	roles = make([][]int32, roleCount)
	add := func(to role, name string, s geom.Shape) {
		roles[to] = append(roles[to], int32(len(shapes)))
		shapes, names = append(shapes, s), append(names, name)
	}
	box := func(x, y, z float64) geom.Shape { return geom.Box{HalfExtents: r3.Vec{X: x, Y: y, Z: z}} }
	ellipsoid := func(x, y, z float64) geom.Shape { return geom.Ellipsoid{SemiAxes: r3.Vec{X: x, Y: y, Z: z}} }
	hullBox := func(x, y, z float64) geom.Shape { return mustConvex(boxCorners(r3.Vec{X: x, Y: y, Z: z})) }

	add(roleThin, "box needle", box(1e-3, 1e-3, 1))
	add(roleThin, "box plate", box(1, 1, 1e-4))
	add(roleThin, "ellipsoid needle", ellipsoid(1e-3, 1e-3, 1))
	add(roleThin, "ellipsoid plate", ellipsoid(1, 1, 1e-3))
	add(roleThin, "capsule needle", geom.Capsule{R: 1e-4, HalfLength: 1})
	add(roleThin, "cylinder needle", geom.Cylinder{R: 1e-3, HalfLength: 1})
	add(roleThin, "cylinder plate", geom.Cylinder{R: 1, HalfLength: 1e-4})
	add(roleThin, "cone needle", geom.Cone{R: 1e-3, HalfLength: 1})
	add(roleThin, "cone plate", geom.Cone{R: 1, HalfLength: 1e-3})
	add(roleThin, "hull needle", hullBox(1e-3, 1e-3, 1))
	add(roleThin, "hull plate", hullBox(1, 1, 1e-4))

	add(roleFlat, "point", mustConvex([]r3.Vec{{X: 0.1, Y: -0.2, Z: 0.3}}))
	add(roleFlat, "segment", mustConvex([]r3.Vec{{X: -1}, {X: 1}}))
	add(roleFlat, "segment of five points", mustConvex([]r3.Vec{{Z: -1}, {Z: 0.5}, {}, {Z: -0.5}, {Z: 1}}))
	add(roleFlat, "triangle", mustConvex(regular(3, 1)))
	add(roleFlat, "sliver triangle", mustConvex([]r3.Vec{{X: -1}, {X: 1}, {Y: 1e-6}}))
	add(roleFlat, "square", mustConvex([]r3.Vec{{X: 1, Y: 1}, {X: -1, Y: 1}, {X: -1, Y: -1}, {X: 1, Y: -1}, {}}))
	add(roleFlat, "disc of 64 points", mustConvex(regular(64, 1)))

	for _, c := range []struct {
		to    role
		name  string
		scale float64
	}{{roleTiny, "tiny ", 1e-4}, {roleHuge, "huge ", 1e4}} {
		add(c.to, c.name+"sphere", geom.Sphere{R: c.scale})
		add(c.to, c.name+"box", box(c.scale, 0.5*c.scale, 0.7*c.scale))
		add(c.to, c.name+"ellipsoid", ellipsoid(c.scale, 0.5*c.scale, 0.7*c.scale))
		add(c.to, c.name+"cylinder", geom.Cylinder{R: c.scale, HalfLength: 0.5 * c.scale})
		add(c.to, c.name+"hull", hullBox(c.scale, 0.5*c.scale, 0.7*c.scale))
	}

	for i := range 2 * (mixedKinds - 1) {
		r.seed(seed, streamShapes, i)
		s := kindShape(r, i%(mixedKinds-1), i)
		name := "usual " + s.Kind().String()
		if i >= mixedKinds-1 {
			s, name = geom.WithMargin(s, 0.05), name+" with margin"
		}
		add(roleUsual, name, s)
	}

	add(roleSlab, "slab box", box(0.3, 0.4, 0.5))
	add(roleSlab, "slab cylinder", geom.Cylinder{R: 0.4, HalfLength: 0.3})
	add(roleSlab, "slab frustum", geom.Frustum{RBottom: 0.4, RTop: 0.4, HalfLength: 0.2})
	add(roleSlab, "slab hull", hullBox(0.4, 0.3, 0.2))
	prism := regular(6, 0.5)
	for _, p := range regular(6, 0.5) {
		prism = append(prism, r3.Add(p, r3.Vec{Z: 0.5}))
	}
	add(roleSlab, "slab prism", mustConvex(prism))

	add(roleCube, "cube", box(0.5, 0.5, 0.5))
	add(roleCube, "cube hull", hullBox(0.25, 0.25, 0.25))
	add(roleCube, "beam", box(1, 0.125, 0.125))

	add(roleRound, "sphere", geom.Sphere{R: 0.5})
	add(roleRound, "small sphere", geom.Sphere{R: 0.01})
	add(roleRound, "capsule", geom.Capsule{R: 0.2, HalfLength: 0.5})
	add(roleRound, "ellipsoid", ellipsoid(0.2, 0.4, 0.9))
	add(roleRound, "spheroid", ellipsoid(0.5, 0.5, 0.25))
	add(roleRound, "superquadric", geom.Superquadric{SemiAxes: r3.Vec{X: 0.4, Y: 0.3, Z: 0.5}, Alpha1: 0.7,
		Alpha2: 1.3})

	corners := boxCorners(r3.Vec{X: 0.3, Y: 0.3, Z: 0.3})
	add(roleRepeated, "cube, each corner twice", mustConvex(append(slices.Clone(corners), corners...)))
	inner := slices.Clone(corners)
	for i := range 100 {
		r.seed(seed, streamShapes, 1000+i)
		inner = append(inner, r3.Scale(0.3, r.position(1)))
	}
	add(roleRepeated, "cube, with inner points", mustConvex(inner))
	var grid []r3.Vec
	for i := range 125 {
		grid = append(grid, r3.Scale(0.15, r3.Vec{X: float64(i%5 - 2), Y: float64(i/5%5 - 2), Z: float64(i/25 - 2)}))
	}
	add(roleRepeated, "cube, of a grid of points", mustConvex(grid))
	var close []r3.Vec
	for _, c := range corners {
		close = append(close, c, r3.Scale(1+1e-12, c), r3.Scale(1-1e-15, c))
	}
	add(roleRepeated, "cube, each corner nearly thrice", mustConvex(close))

	add(rolePlane, "plane", geom.Halfspace{})
	add(rolePlane, "plane with margin", geom.WithMargin(geom.Halfspace{}, 0.1))
	return shapes, names, roles
}
