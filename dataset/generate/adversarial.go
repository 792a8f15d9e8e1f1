package generate

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// cases of the set adversarial; row i is of case i mod their number.
var cases = []struct {
	name string
	draw func(g *Generator, r *random) plan
}{
	{"thin", (*Generator).thin},
	{"identical", (*Generator).identical},
	{"touching", (*Generator).touching},
	{"nested", (*Generator).nested},
	{"concentric", (*Generator).concentric},
	{"parallel faces", (*Generator).parallelFaces},
	{"parallel edges", (*Generator).parallelEdges},
	{"kissing", (*Generator).kissing},
	{"tiny and huge", (*Generator).tinyHuge},
	{"flat", (*Generator).flat},
	{"1 km away", (*Generator).away},
	{"10 km away", (*Generator).farAway},
	{"repeated points", (*Generator).repeated},
	{"plane", (*Generator).plane},
}

// Cases returns the names of the cases of the set adversarial. Row i is of case
// i mod len(Cases()).
func Cases() []string {
	var s []string
	for _, c := range cases {
		s = append(s, c.name)
	}
	return s
}

func (g *Generator) drawAdversarial(w *worker, i int) plan {
	p := cases[i%len(cases)].draw(g, w.rand)
	p.keep = true
	if w.rand.IntN(2) == 0 {
		p.a, p.b = p.b, p.a
		if p.fixed != nil {
			p.fixed.poseA, p.fixed.poseB = p.fixed.poseB, p.fixed.poseA
		}
	}
	return p
}

// pick draws a shape of one of the roles.
func (g *Generator) pick(r *random, roles ...role) int32 {
	s := g.kinds[roles[r.IntN(len(roles))]]
	return s[r.IntN(len(s))]
}

// choose draws one of the values.
func choose(r *random, v ...float64) float64 { return v[r.IntN(len(v))] }

// posed is a plan with rotations that are random in half of the rows, and in the
// others the same for both bodies or none, so that ties are met.
func posed(r *random, a, b int32, target float64) plan {
	p := plan{a: a, b: b, target: target, rotA: true}
	switch r.IntN(4) {
	case 0:
		p.rotA, p.rotB = false, rotSame
	case 1:
		p.rotB = rotSame
	}
	return p
}

func (g *Generator) thin(r *random) plan {
	return posed(r, g.pick(r, roleThin), g.pick(r, roleThin, roleUsual), choose(r, -0.1, -0.01, 0, 1e-9, 1e-3, 0.5))
}

func (g *Generator) touching(r *random) plan {
	return posed(r, g.pick(r, roleUsual), g.pick(r, roleUsual), 0)
}

func (g *Generator) kissing(r *random) plan {
	e := math.Pow(10, -float64(3+r.IntN(13)))
	return posed(r, g.pick(r, roleRound), g.pick(r, roleRound), choose(r, e, -e))
}

func (g *Generator) tinyHuge(r *random) plan {
	return posed(r, g.pick(r, roleTiny), g.pick(r, roleHuge), choose(r, -0.1, 0, 1e-6, 1e-3, 1))
}

func (g *Generator) repeated(r *random) plan {
	return posed(r, g.pick(r, roleRepeated), g.pick(r, roleRepeated, roleUsual), third(r, r.IntN(3)))
}

func (g *Generator) plane(r *random) plan {
	other := g.pick(r, roleThin, roleFlat, roleTiny, roleHuge, roleUsual, roleSlab, roleCube, roleRound, roleRepeated)
	return posed(r, g.pick(r, rolePlane), other, choose(r, -0.1, 0, 1e-9, 1e-3, 0.5))
}

func (g *Generator) away(r *random) plan {
	p := posed(r, g.pick(r, roleUsual), g.pick(r, roleUsual), third(r, r.IntN(3)))
	p.origin = 1e3
	return p
}

func (g *Generator) farAway(r *random) plan {
	p := g.away(r)
	p.origin = 1e4
	return p
}

// flat places a hull without volume beside another body, or through it.
func (g *Generator) flat(r *random) plan {
	a, b := g.pick(r, roleFlat), g.pick(r, roleFlat, roleUsual)
	if r.IntN(4) == 0 {
		return g.centered(r, a, b, r3.Vec{})
	}
	return posed(r, a, b, choose(r, 0, 1e-9, 1e-3, 0.5))
}

// identical is a shape and its copy in the same pose.
func (g *Generator) identical(r *random) plan {
	a := g.pick(r, roleThin, roleFlat, roleTiny, roleHuge, roleUsual, roleSlab, roleRound, roleRepeated)
	pose := geom.Pose{Position: r.position(spread), Rotation: r.rotation()}
	return plan{a: a, b: a, fixed: &fixed{pose, pose, math.NaN()}}
}

// nested has the center of a small body deep inside a larger one.
func (g *Generator) nested(r *random) plan {
	a, b := g.pick(r, roleUsual, roleHuge), g.pick(r, roleTiny, roleRepeated, roleUsual)
	depth := g.library.Shape(a).Inradius() * r.Float64()
	return g.centered(r, a, b, r3.Scale(depth, r.unit()))
}

// concentric has both centers at one point.
func (g *Generator) concentric(r *random) plan {
	return g.centered(r, g.pick(r, roleThin, roleUsual, roleSlab, roleRound), g.pick(r, roleThin, roleUsual, roleSlab,
		roleRound), r3.Vec{})
}

// centered rotates both bodies at random and puts the center of B at an offset
// from that of A.
func (g *Generator) centered(r *random, a, b int32, offset r3.Vec) plan {
	f := &fixed{separation: math.NaN()}
	f.poseA.Rotation, f.poseB.Rotation = r.rotation(), r.rotation()
	at := r.position(spread)
	center(g.library.Shape(a), &f.poseA, at)
	center(g.library.Shape(b), &f.poseB, r3.Add(at, offset))
	return plan{a: a, b: b, fixed: f}
}

// parallelFaces stacks two bodies along z, end face on end face, in the middle or
// off it, overlapping, touching or apart.
func (g *Generator) parallelFaces(r *random) plan {
	a, b := g.pick(r, roleSlab), g.pick(r, roleSlab)
	_, hi := g.library.Shape(a).AABB()
	lo, _ := g.library.Shape(b).AABB()
	separation := choose(r, -0.05, 0, 1e-9, 0.1)
	offset := r3.Vec{Z: hi.Z - lo.Z + separation}
	if r.IntN(2) == 0 {
		offset.X, offset.Y = r.uniform(-0.05, 0.05), r.uniform(-0.05, 0.05)
	}
	return stacked(r, a, b, offset, separation, quat.Number{Real: 1}, quat.Number{Real: 1})
}

// parallelEdges stands two bodies of square section on their edges, one edge
// above the other, along it or across it.
func (g *Generator) parallelEdges(r *random) plan {
	a, b := g.pick(r, roleCube), g.pick(r, roleCube)
	_, hiA := g.library.Shape(a).AABB()
	_, hiB := g.library.Shape(b).AABB()
	separation := choose(r, -0.05, 0, 1e-9, 0.1)
	tilt := axisAngle(math.Pi/4, r3.Vec{X: 1})
	rotB := tilt
	offset := r3.Vec{Z: math.Sqrt2*(hiA.Z+hiB.Z) + separation}
	if r.IntN(2) == 0 {
		rotB = quat.Mul(axisAngle(math.Pi/2, r3.Vec{Z: 1}), tilt)
	} else if r.IntN(2) == 0 {
		offset.X = r.uniform(-0.1, 0.1)
	}
	return stacked(r, a, b, offset, separation, tilt, rotB)
}

// stacked places B at an offset from A in a common frame, which has a random rotation in half of
// the rows.
func stacked(r *random, a, b int32, offset r3.Vec, separation float64, rotA, rotB quat.Number) plan {
	frame := geom.Pose{Position: r.position(spread), Rotation: quat.Number{Real: 1}}
	if r.IntN(2) == 0 {
		frame.Rotation = r.rotation()
	}
	return plan{a: a, b: b, fixed: &fixed{
		poseA:      frame.Compose(geom.Pose{Rotation: rotA}),
		poseB:      frame.Compose(geom.Pose{Position: offset, Rotation: rotB}),
		separation: separation,
	}}
}

// axisAngle returns the rotation by an angle about a unit axis.
func axisAngle(angle float64, axis r3.Vec) quat.Number {
	sin, cos := math.Sincos(angle / 2)
	return quat.Number{Real: cos, Imag: sin * axis.X, Jmag: sin * axis.Y, Kmag: sin * axis.Z}
}

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
