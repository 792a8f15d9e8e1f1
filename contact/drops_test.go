package contact_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/contact"
	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

var (
	dropCount = flag.Int("drops", 240, "bodies that TestDrops drops and throws")
	dropSeed  = flag.Uint64("drop-seed", 7, "seed of TestDrops")
)

// mostDepth is the largest penetration after a step, relative to the least width of the thinner of two shapes. Twice
// the inscribed radius is at most that width, so the tests ask for no less.
const mostDepth = 0.01

// dropKind makes shapes of a kind. Half of them are thin.
type dropKind struct {
	name string
	make func(rng *rand.Rand) geom.Shape
}

// sizes returns three lengths, of which thin makes the last one an eighth to a twentieth.
func sizes(rng *rand.Rand) (x, y, z float64) {
	size := func() float64 { return 0.03 + 0.17*rng.Float64() }
	x, y, z = size(), size(), size()
	switch rng.IntN(4) {
	case 0: // a plate
		z = x / (8 + 12*rng.Float64())
	case 1: // a needle
		y, z = x/(8+12*rng.Float64()), x/(8+12*rng.Float64())
	}
	return x, y, z
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func cloud(rng *rand.Rand, n int) []r3.Vec {
	x, y, z := sizes(rng)
	points := make([]r3.Vec, n)
	for i := range points {
		u := testkit.Unit(rng)
		points[i] = r3.Vec{X: x * u.X, Y: y * u.Y, Z: z * u.Z}
	}
	return points
}

var dropKinds = []dropKind{
	{"sphere", func(rng *rand.Rand) geom.Shape { x, _, _ := sizes(rng); return geom.Sphere{R: x} }},
	{"capsule", func(rng *rand.Rand) geom.Shape { x, _, z := sizes(rng); return geom.Capsule{R: z, HalfLength: x} }},
	{"cylinder", func(rng *rand.Rand) geom.Shape {
		x, _, z := sizes(rng)
		if rng.IntN(2) == 0 {
			x, z = z, x
		}
		return geom.Cylinder{R: x, HalfLength: z}
	}},
	{"cone", func(rng *rand.Rand) geom.Shape {
		x, _, z := sizes(rng)
		if rng.IntN(2) == 0 {
			x, z = z, x
		}
		return geom.Cone{R: x, HalfLength: z}
	}},
	{"frustum", func(rng *rand.Rand) geom.Shape {
		x, _, z := sizes(rng)
		if rng.IntN(2) == 0 {
			x, z = z, x
		}
		return geom.Frustum{RBottom: x, RTop: x * rng.Float64(), HalfLength: z}
	}},
	{"box", func(rng *rand.Rand) geom.Shape {
		x, y, z := sizes(rng)
		return geom.Box{HalfExtents: r3.Vec{X: x, Y: y, Z: z}}
	}},
	{"ellipsoid", func(rng *rand.Rand) geom.Shape {
		x, y, z := sizes(rng)
		return geom.Ellipsoid{SemiAxes: r3.Vec{X: x, Y: y, Z: z}}
	}},
	{"superquadric", func(rng *rand.Rand) geom.Shape {
		x, y, z := sizes(rng)
		return geom.Superquadric{SemiAxes: r3.Vec{X: x, Y: y, Z: z}, Alpha1: 0.2 + 1.3*rng.Float64(),
			Alpha2: 0.2 + 1.3*rng.Float64()}
	}},
	{"convex", func(rng *rand.Rand) geom.Shape { return must(geom.NewConvex(cloud(rng, 6+rng.IntN(20)))) }},
	{"rounded", func(rng *rand.Rand) geom.Shape {
		x, y, z := sizes(rng)
		return geom.WithMargin(geom.Box{HalfExtents: r3.Vec{X: x, Y: y, Z: z}}, 0.2*z)
	}},
	{"smooth_hull", func(rng *rand.Rand) geom.Shape {
		points := cloud(rng, 8)
		for _, p := range points[:8] { // so that the center is inside
			points = append(points, r3.Scale(-1, p))
		}
		return must(geom.NewSmoothHull(points, 8+20*rng.Float64(), r3.Vec{}))
	}},
	{"smooth_revolution", func(rng *rand.Rand) geom.Shape {
		x, _, z := sizes(rng)
		return must(geom.NewSmoothRevolution([]r2.Vec{{X: x, Y: -z}, {X: 0.6 * x, Y: z}}, 8+20*rng.Float64(), 1e-3))
	}},
}

// dropCase is what a body is dropped or thrown on.
type dropCase struct {
	plate   float64 // thickness, m; 0: none
	free    bool    // the plate has a density
	moving  bool    // the plate, which impulses do not move, moves and rotates
	parts   bool    // the body is of three parts
	other   bool    // a second body in place of the plate
	dt      float64 // s
	fastest float64 // m/s
	bounce  float64 // restitution
	convex  bool    // under the CCP
}

// dropResult is what became of the drops of a kind.
type dropResult struct {
	drops, through, stuck, worldSteps, again, inParts int
	deepest                                           float64 // of the least width
	where, stuckAt                                    string
}

func (r *dropResult) add(o *dropResult) {
	r.drops, r.through, r.stuck = r.drops+o.drops, r.through+o.through, r.stuck+o.stuck
	r.worldSteps, r.again, r.inParts = r.worldSteps+o.worldSteps, r.again+o.again, r.inParts+o.inParts
	if r.stuckAt == "" {
		r.stuckAt = o.stuckAt
	}
	if o.deepest > r.deepest {
		r.deepest, r.where = o.deepest, o.where
	}
}

const plateHalf = 1.0 // half extent of a plate, m

func slow(s geom.Shape) bool {
	return s.Kind() == geom.KindSmoothHull || s.Kind() == geom.KindSmoothRevolution
}

// dropScene is the scene of a kind in a case: what lies, body 0, and what is dropped, body 1.
func dropScene(rng *rand.Rand, k *dropKind, c *dropCase) (*contact.Scene, error) {
	shapes := []geom.Shape{geom.Halfspace{}}
	switch {
	case c.plate > 0:
		shapes[0] = geom.Box{HalfExtents: r3.Vec{X: plateHalf, Y: plateHalf, Z: c.plate / 2}}
	case c.other:
		shapes[0] = dropKinds[rng.IntN(len(dropKinds))].make(rng)
	}
	shapes = append(shapes, k.make(rng))
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		return nil, err
	}
	parts := []batch.Part{{Shape: 1, Pose: geom.IdentityPose()}}
	for i := 0; c.parts && i < 2; i++ {
		about := geom.Rotate(testkit.Unit(rng), 3*rng.Float64())
		parts = append(parts, batch.Part{Shape: 1, Pose: geom.Translate(0.1*float64(i+1), 0, 0).Compose(about)})
	}
	bodies, err := batch.NewBodies(lib, []batch.Body{{Parts: []batch.Part{{Pose: geom.IdentityPose()}}},
		{Parts: parts}})
	if err != nil {
		return nil, err
	}
	density, friction := 1000.0, 0.4
	physics := []batch.Physics{{Fixed: !c.free && !c.other}, {}}
	for i := range physics {
		if physics[i].Fixed || !slow(lib.Shape(int32(i))) {
			continue
		}
		// Quadrature of a thin one takes seconds, or fails. Half of the mass of the box around it will do.
		lo, hi := bodies.Library().Shape(int32(i)).AABB()
		d := r3.Sub(hi, lo)
		mass := density * d.X * d.Y * d.Z / 2
		x, y, z := d.X*d.X*mass/12, d.Y*d.Y*mass/12, d.Z*d.Z*mass/12
		physics[i].Mass, physics[i].Inertia = &mass, []float64{y + z, z + x, x + y, 0, 0, 0}
	}
	return contact.NewScene(bodies, []int32{0, 1}, physics, batch.Physics{Density: &density, Friction: &friction,
		Restitution: &c.bounce})
}

// dropState throws the body of each world at what lies, from up to 0.5 m above it.
func dropState(rng *rand.Rand, scene *contact.Scene, c *dropCase, worlds int) *contact.State {
	state := &contact.State{Worlds: worlds}
	put := func(at r3.Vec, q quat.Number, v, momentum r3.Vec) {
		state.Pose = append(state.Pose, at.X, at.Y, at.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
		state.Velocity = append(state.Velocity, v.X, v.Y, v.Z)
		state.Momentum = append(state.Momentum, momentum.X, momentum.Y, momentum.Z)
	}
	radius := func(b int) float64 {
		bounds := scene.Bodies.Bounds(scene.Body[b])
		return bounds.Radius + r3.Norm(bounds.Center)
	}
	for range worlds {
		at, turn := r3.Vec{}, geom.Rotate(testkit.Unit(rng), 3*rng.Float64()).Rotation
		var velocity, spin r3.Vec
		above := c.plate / 2
		switch {
		case c.moving:
			velocity, spin = r3.Vec{Z: 5 * (2*rng.Float64() - 1)}, r3.Scale(2*rng.Float64(), testkit.Unit(rng))
			above += 0.3 // it may lie tilted when the body comes
		case c.other:
			above = radius(0)
		}
		upright := quat.Number{Real: 1}
		if c.other {
			upright = geom.Rotate(testkit.Unit(rng), 3*rng.Float64()).Rotation
			spin = r3.Scale(20*rng.Float64(), testkit.Unit(rng))
		}
		put(at, upright, velocity, scene.Momentum(0, upright, spin))
		at = r3.Vec{X: 0.2 * (rng.Float64() - 0.5), Y: 0.2 * (rng.Float64() - 0.5),
			Z: above + radius(1) + 0.5*rng.Float64()*rng.Float64()}
		v, w := r3.Vec{}, r3.Vec{}
		if rng.IntN(4) > 0 {
			u := testkit.Unit(rng)
			u.Z = -math.Abs(u.Z)
			if c.other { // at the other one
				u = r3.Unit(r3.Sub(r3.Scale(0.03, testkit.Unit(rng)), at))
			}
			v = r3.Scale(c.fastest*rng.Float64(), u)
			w = r3.Scale(40*rng.Float64()*rng.Float64(), testkit.Unit(rng))
		}
		put(at, turn, v, scene.Momentum(1, turn, w))
	}
	return state
}

// depths solves body pairs at poses for their depths relative to the least widths, part by part.
type depths struct {
	scene  *contact.Scene
	solver *cpu.Backend
	pairs  batch.Pairs
	width  float64
	parts  int
}

func (d *depths) of(poses []float64, worlds int) []float64 {
	lib, parts := d.scene.Bodies.Library(), d.scene.Bodies.Parts(d.scene.Body[1])
	if d.width == 0 {
		d.width, d.parts = 2*lib.Shape(1).Inradius(), len(parts)
		if r := lib.Shape(0).Inradius(); r > 0 {
			d.width = min(d.width, 2*r)
		}
		d.pairs = *batch.PairsIn(nil, worlds*d.parts)
	}
	at := batch.Worlds{Poses: poses}
	for w := range worlds {
		for j, part := range parts {
			i := w*d.parts + j
			d.pairs.SetRow(i, &batch.Row{ShapeB: part.Shape, PoseA: at.PoseAt(2 * w),
				PoseB: at.PoseAt(2*w + 1).Compose(part.Pose)})
		}
	}
	o := batch.Options{Precision: batch.Double, Columns: batch.ColDistance | batch.ColStatus}
	results := batch.NewResults(worlds*d.parts, &o)
	job := batch.Job{Library: lib, Input: &d.pairs, Options: o, Results: results}
	if err := d.solver.Run(context.Background(), &job, 0, results.N, results); err != nil {
		panic(err)
	}
	out := make([]float64, worlds)
	for i, x := range results.Distance().F64 {
		out[i/d.parts] = max(out[i/d.parts], -x/d.width)
	}
	return out
}

// inPlate is the center of the first part of body 1, a point inside it, in the frame of body 0.
func inPlate(scene *contact.Scene, poses []float64, w int) r3.Vec {
	at := batch.Worlds{Poses: poses}
	center := scene.Bodies.Library().Shape(1).Center()
	return at.PoseAt(2 * w).Inverse().Apply(at.PoseAt(2*w + 1).Apply(center))
}

// drop drops the bodies of worlds, for so many seconds, and counts those that pass through what they fall on.
func drop(t *testing.T, rng *rand.Rand, k *dropKind, c *dropCase, worlds int, seconds float64) *dropResult {
	t.Helper()
	scene, err := dropScene(rng, k, c)
	if err != nil {
		t.Fatal(err)
	}
	solver := must(cpu.New(cpu.Options{Workers: 1}))
	defer solver.Close()
	o := contact.StepOptions{TimeStep: c.dt, Contacts: 96}
	if c.convex {
		o.Solve.Model = contact.CCP
	}
	if !c.free && !c.other && !c.moving {
		o.Gravity = r3.Vec{Z: -9.81}
	}
	s, err := contact.NewSimulation(scene, dropState(rng, scene, c, worlds), solver, o)
	if err != nil {
		t.Fatal(err)
	}
	r := &dropResult{drops: worlds}
	measure := &depths{scene: scene, solver: solver}
	before := make([]r3.Vec, worlds)
	for w := range worlds {
		before[w] = inPlate(scene, s.State().Pose, w)
	}
	through := make([]bool, worlds)
	for step := range int(seconds / c.dt) {
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		st := s.State()
		for w, depth := range measure.of(st.Pose, worlds) {
			r.worldSteps++
			if st.Solves[w] > 1 {
				r.again++
			}
			switch v := st.Status[w]; {
			case v == contact.AdvancedInParts:
				r.inParts++
			case !v.Advances():
				if r.stuck++; r.stuckAt == "" {
					r.stuckAt = fmt.Sprintf("; not advanced: %v, %+v, world %d, step %d", v, *c, w, step)
				}
			}
			if depth > r.deepest {
				r.deepest, r.where = depth, fmt.Sprintf("%+v, world %d, step %d", *c, w, step)
			}
			at := inPlate(scene, st.Pose, w)
			if from := before[w]; c.plate > 0 && from.Z*at.Z < 0 {
				f := from.Z / (from.Z - at.Z)
				x, y := from.X+f*(at.X-from.X), from.Y+f*(at.Y-from.Y)
				through[w] = through[w] || max(math.Abs(x), math.Abs(y)) < 0.95*plateHalf
			}
			before[w] = at
		}
	}
	for w, x := range through {
		if x {
			r.through++
			t.Logf("%s: world %d is through: %+v", k.name, w, *c)
		}
	}
	return r
}

// TestThinBodies: needles, lenses and sticks that fall on plates and on the ground, as in reports of bodies that sank.
func TestThinBodies(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 8))
	only := func(name string, s geom.Shape) dropKind {
		return dropKind{name, func(*rand.Rand) geom.Shape { return s }}
	}
	needle := only("needle", geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.01, Z: 0.01}})
	lens := only("lens", geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.15, Y: 0.15, Z: 0.01}})
	stick := only("stick", geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.01, Z: 0.01}})
	pillow := only("pillow", geom.Superquadric{SemiAxes: r3.Vec{X: 0.1, Y: 0.1, Z: 0.03}, Alpha1: 0.4, Alpha2: 0.4})
	cone := only("cone", geom.Cone{R: 0.1, HalfLength: 0.1})
	for _, c := range []struct {
		kind  dropKind
		plate float64 // m; 0: the ground
		dt    float64
	}{
		{needle, 8e-3, 5e-3}, {needle, 40e-3, 10e-3}, {lens, 8e-3, 5e-3}, {stick, 8e-3, 5e-3},
		{lens, 0, 5e-3}, {pillow, 0, 5e-3}, {cone, 0, 5e-3},
	} {
		r := drop(t, rng, &c.kind, &dropCase{plate: c.plate, dt: c.dt}, 40, 0.6)
		if r.through > 0 || r.stuck > 0 || !(r.deepest <= mostDepth) {
			t.Errorf("%s, plate of %g m, %g s: %d of %d through, %d world-steps not advanced, deepest %g: %s",
				c.kind.name, c.plate, c.dt, r.through, r.drops, r.stuck, r.deepest, r.where)
		}
	}
}

// TestDrops: bodies of every kind that are dropped and thrown on plates of 1 to 40 mm at up to 20 m/s, with steps of 1
// to 10 ms, on half-spaces, on moving plates and on each other, pass through none, and no step leaves a penetration
// beyond mostDepth. The motion between the steps is checked by the side of a plate that they are on.
func TestDrops(t *testing.T) {
	const worlds = 4
	rng := rand.New(rand.NewPCG(44, *dropSeed))
	rows := make([]dropResult, len(dropKinds))
	for n := 0; n < *dropCount; n += worlds {
		i := n / worlds % len(dropKinds)
		c := dropCase{dt: []float64{1e-3, 2e-3, 5e-3, 10e-3}[rng.IntN(4)], fastest: 20,
			plate: []float64{1e-3, 2e-3, 4e-3, 8e-3, 20e-3, 40e-3}[rng.IntN(6)]}
		switch rng.IntN(8) {
		case 0:
			c.plate = 0 // the ground
		case 1:
			c.free = true
		case 2:
			c.moving = true
		case 3:
			c.parts = true
		case 4:
			c.plate, c.other = 0, true
		}
		switch rng.IntN(6) {
		case 0:
			c.bounce = rng.Float64()
		case 1:
			c.convex = true
		}
		rows[i].add(drop(t, rng, &dropKinds[i], &c, worlds, 40*c.dt))
	}
	for i := range rows {
		r := &rows[i]
		t.Logf("%-17s %6d drops, %d through, deepest %.3g %% of the width; of %d world-steps %d solved again, %d in "+
			"parts, %d not advanced (%s%s)", dropKinds[i].name, r.drops, r.through, 100*r.deepest, r.worldSteps,
			r.again,
			r.inParts, r.stuck, r.where, r.stuckAt)
		if r.through > 0 || !(r.deepest <= mostDepth) || r.stuck > r.worldSteps/100 {
			t.Errorf("%s: %d of %d through, deepest %g of the least width: %s", dropKinds[i].name, r.through, r.drops,
				r.deepest, r.where)
		}
	}
}
