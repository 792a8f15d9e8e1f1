package generate

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
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
	gap := choose(r, -0.05, 0, 1e-9, 0.1)
	offset := r3.Vec{Z: hi.Z - lo.Z + gap}
	if r.IntN(2) == 0 {
		offset.X, offset.Y = r.uniform(-0.05, 0.05), r.uniform(-0.05, 0.05)
	}
	return stacked(r, a, b, offset, gap, quat.Number{Real: 1}, quat.Number{Real: 1})
}

// parallelEdges stands two bodies of square section on their edges, one edge
// above the other, along it or across it.
func (g *Generator) parallelEdges(r *random) plan {
	a, b := g.pick(r, roleCube), g.pick(r, roleCube)
	_, hiA := g.library.Shape(a).AABB()
	_, hiB := g.library.Shape(b).AABB()
	gap := choose(r, -0.05, 0, 1e-9, 0.1)
	tilt := axisAngle(math.Pi/4, r3.Vec{X: 1})
	rotB := tilt
	offset := r3.Vec{Z: math.Sqrt2*(hiA.Z+hiB.Z) + gap}
	if r.IntN(2) == 0 {
		rotB = quat.Mul(axisAngle(math.Pi/2, r3.Vec{Z: 1}), tilt)
	} else if r.IntN(2) == 0 {
		offset.X = r.uniform(-0.1, 0.1)
	}
	return stacked(r, a, b, offset, gap, tilt, rotB)
}

// stacked places B at an offset from A in a common frame, which has a random rotation in half of
// the rows.
func stacked(r *random, a, b int32, offset r3.Vec, gap float64, rotA, rotB quat.Number) plan {
	frame := geom.Pose{Position: r.position(spread), Rotation: quat.Number{Real: 1}}
	if r.IntN(2) == 0 {
		frame.Rotation = r.rotation()
	}
	return plan{a: a, b: b, fixed: &fixed{
		poseA:      frame.Compose(geom.Pose{Rotation: rotA}),
		poseB:      frame.Compose(geom.Pose{Position: offset, Rotation: rotB}),
		separation: gap,
	}}
}

// axisAngle returns the rotation by an angle about a unit axis.
func axisAngle(angle float64, axis r3.Vec) quat.Number {
	sin, cos := math.Sincos(angle / 2)
	return quat.Number{Real: cos, Imag: sin * axis.X, Jmag: sin * axis.Y, Kmag: sin * axis.Z}
}
