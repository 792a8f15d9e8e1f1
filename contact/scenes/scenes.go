// Package scenes makes seeded contact problems for tests and benchmarks: boxes on the ground, stacks, and random
// bodies with random contacts. All are in SI units with the z axis upwards. The problem of a world depends on its
// kind, the seed and its index alone.
package scenes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"unsafe"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/contact"
	"clearance/geom"
	"clearance/internal/memory"
)

const (
	gravity = 9.81
	dt      = 0.01
)

// Body is a body of a world.
type Body struct {
	Mass            float64
	Inertia         [6]float64 // xx, yy, zz, xy, xz, yz in world axes
	Velocity, Omega r3.Vec
}

// Contact is a contact of a world.
type Contact struct {
	A, B       int // -1 is the world
	ArmA, ArmB r3.Vec
	Frame      [3]r3.Vec
	Friction   float64
	Target     float64
	Compliance [2]float64
}

// World is one problem before it is packed.
type World struct {
	Bodies   []Body
	Contacts []Contact
}

// Pack packs worlds into a problem, padded to the largest counts.
func Pack(worlds []World) *contact.Problem {
	bodies, contacts := 0, 0
	for _, w := range worlds {
		bodies, contacts = max(bodies, len(w.Bodies)), max(contacts, len(w.Contacts))
	}
	p := &contact.Problem{Target: []float64{}, Compliance: []float64{}}
	p.Resize(len(worlds), bodies, contacts)
	for b := range p.Mass {
		p.Mass[b] = math.Inf(1)
	}
	for i, w := range worlds {
		p.Count[i] = int32(len(w.Contacts))
		for j, b := range w.Bodies {
			k := i*bodies + j
			p.Mass[k] = b.Mass
			copy(p.Inertia[6*k:], b.Inertia[:])
			put(p.Velocity[6*k:], b.Velocity, b.Omega)
		}
		for j, c := range w.Contacts {
			k := i*contacts + j
			p.BodyA[k], p.BodyB[k] = int32(c.A), int32(c.B)
			put(p.ArmA[3*k:], c.ArmA)
			put(p.ArmB[3*k:], c.ArmB)
			put(p.Frame[9*k:], c.Frame[:]...)
			p.Friction[k], p.Target[k] = c.Friction, c.Target
			copy(p.Compliance[2*k:], c.Compliance[:])
		}
	}
	return p
}

func put(to []float64, vectors ...r3.Vec) {
	for i, v := range vectors {
		to[3*i], to[3*i+1], to[3*i+2] = v.X, v.Y, v.Z
	}
}

// Frame completes a unit vector to a right-handed orthonormal frame t1, t2, n.
func Frame(n r3.Vec) [3]r3.Vec {
	t1, t2 := contact.Tangents(n)
	return [3]r3.Vec{t1, t2, n}
}

// BoxInertia is that of a box with half-widths h, rotated by r.
func BoxInertia(mass float64, h r3.Vec, r r3.Rotation) [6]float64 {
	f := mass / 3
	return Rotated([3]float64{f * (h.Y*h.Y + h.Z*h.Z), f * (h.X*h.X + h.Z*h.Z), f * (h.X*h.X + h.Y*h.Y)}, r)
}

// Rotated is the inertia with the given principal moments about axes that are rotated by r.
func Rotated(principal [3]float64, r r3.Rotation) (out [6]float64) {
	for k, e := range [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}} {
		x, m := r.Rotate(e), principal[k]
		for i, v := range [6]float64{x.X * x.X, x.Y * x.Y, x.Z * x.Z, x.X * x.Y, x.X * x.Z, x.Y * x.Z} {
			out[i] += m * v
		}
	}
	return out
}

var kinds = map[string]func(rng *rand.Rand) World{
	"random": randomBody,
	"stick":  func(rng *rand.Rand) World { return boxOnPlane(rng, "stick") },
	"slide":  func(rng *rand.Rand) World { return boxOnPlane(rng, "slide") },
	"spin":   func(rng *rand.Rand) World { return boxOnPlane(rng, "spin") },
	"tip":    func(rng *rand.Rand) World { return boxOnPlane(rng, "tip") },
	"stack4": func(rng *rand.Rand) World { return Stack(rng, 4, 1) },
	"stack8": func(rng *rand.Rand) World { return Stack(rng, 8, 1) },
	"heavy":  func(rng *rand.Rand) World { return Stack(rng, 2, 1000) },
	"graph":  graph,
}

// Kinds lists the kinds of scenes.
func Kinds() []string {
	names := make([]string, 0, len(kinds))
	for k := range kinds {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}

// Generate makes worlds of a kind.
func Generate(kind string, worlds int, seed uint64) (*contact.Problem, error) {
	list, err := Worlds(kind, worlds, seed)
	if err != nil {
		return nil, err
	}
	return Pack(list), nil
}

// Worlds is like [Generate], before packing.
func Worlds(kind string, worlds int, seed uint64) ([]World, error) {
	f, ok := kinds[kind]
	if !ok {
		return nil, fmt.Errorf("unknown kind of scenes %q; the kinds are %v", kind, Kinds())
	}
	one := f(rand.New(rand.NewPCG(seed, 0))) // the others are about as large
	bytes := float64(worlds) * (float64(len(one.Bodies))*(13*8+float64(unsafe.Sizeof(Body{}))) +
		float64(len(one.Contacts))*(22*8+float64(unsafe.Sizeof(Contact{}))) + float64(unsafe.Sizeof(one)))
	if err := memory.Check(fmt.Sprintf("%d worlds of %q", worlds, kind), bytes); err != nil {
		return nil, err
	}
	list := make([]World, worlds)
	for i := range list {
		list[i] = f(rand.New(rand.NewPCG(seed, uint64(i))))
	}
	return list, nil
}

func between(rng *rand.Rand, lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }

func normal(rng *rand.Rand) r3.Vec {
	return r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()}
}

func anyRotation(rng *rand.Rand) r3.Rotation {
	return r3.NewRotation(between(rng, 0, math.Pi), r3.Unit(normal(rng)))
}

// corners returns those of the lower face of a box.
func corners(h r3.Vec, r r3.Rotation) []r3.Vec {
	list := make([]r3.Vec, 0, 4)
	for _, s := range [4][2]float64{{-1, -1}, {-1, 1}, {1, -1}, {1, 1}} {
		list = append(list, r.Rotate(r3.Vec{X: s[0] * h.X, Y: s[1] * h.Y, Z: -h.Z}))
	}
	return list
}

// randomBody has contacts with the world in directions of a half-space, so that it can escape.
func randomBody(rng *rand.Rand) World {
	m := math.Pow(10, between(rng, -1, 1))
	h := r3.Vec{X: math.Pow(10, between(rng, -1.2, 0)), Y: math.Pow(10, between(rng, -1.2, 0)),
		Z: math.Pow(10, between(rng, -1.2, 0))}
	r := anyRotation(rng)
	v := normal(rng)
	v.Z -= 1.5
	w := World{Bodies: []Body{{m, BoxInertia(m, h, r), v, r3.Scale(3, normal(rng))}}}
	for range 1 + rng.IntN(6) {
		x, y, z := between(rng, -1, 1), between(rng, -1, 1), between(rng, -1, 1)
		arm := r.Rotate(r3.Vec{X: h.X * x, Y: h.Y * y, Z: h.Z * z})
		n := normal(rng)
		n.Z = math.Abs(n.Z) + 0.2
		mu := []float64{0.1, 0.3, 0.5, 0.8, 1.2}[rng.IntN(5)]
		w.Contacts = append(w.Contacts, Contact{A: -1, ArmB: arm, Frame: Frame(r3.Unit(n)), Friction: mu})
	}
	return w
}

// boxOnPlane lies on the ground with four corners after a step of gravity.
func boxOnPlane(rng *rand.Rand, mode string) World {
	m := math.Pow(10, between(rng, -1, 1))
	h := r3.Vec{X: between(rng, 0.05, 0.5), Y: between(rng, 0.05, 0.5), Z: between(rng, 0.05, 0.5)}
	r := r3.NewRotation(between(rng, 0, 6), r3.Vec{Z: 1})
	mu, angle := between(rng, 0.2, 0.9), between(rng, 0, 2*math.Pi)
	d := r3.Vec{X: math.Cos(angle), Y: math.Sin(angle)}
	b := Body{Mass: m, Inertia: BoxInertia(m, h, r), Velocity: r3.Vec{Z: -gravity * dt}}
	push := 0.0
	switch mode {
	case "stick":
		push = gravity * dt * mu * between(rng, 0, 0.8)
	case "slide":
		push = gravity*dt*mu*between(rng, 1.5, 3) + float64(rng.IntN(2))
	case "spin":
		push = between(rng, 0, 1)
		b.Omega.Z = 3 * rng.NormFloat64()
	case "tip":
		push = between(rng, 0, 1)
		b.Omega = r3.Scale(0.5, normal(rng))
	}
	b.Velocity = r3.Add(b.Velocity, r3.Scale(push, d))
	w := World{Bodies: []Body{b}}
	for _, c := range corners(h, r) {
		w.Contacts = append(w.Contacts, Contact{A: -1, ArmB: c, Frame: Frame(r3.Vec{Z: 1}), Friction: mu})
	}
	return w
}

// Stack has boxes upon each other, four contacts each, whose masses grow upwards to ratio kg. One is pushed.
func Stack(rng *rand.Rand, boxes int, ratio float64) World {
	var w World
	mu := []float64{0.3, 0.5, 0.8}[rng.IntN(3)]
	var below r3.Vec
	z := 0.0
	for i := range boxes {
		shrink := 1 - 0.03*float64(i)
		x, y, half := between(rng, 0.08, 0.12), between(rng, 0.08, 0.12), between(rng, 0.08, 0.12)
		h := r3.Vec{X: shrink * x, Y: shrink * y, Z: half}
		m := math.Pow(ratio, float64(i)/float64(max(boxes-1, 1)))
		r := r3.NewRotation(between(rng, -0.2, 0.2), r3.Vec{Z: 1})
		center := r3.Vec{X: between(rng, -0.01, 0.01), Y: between(rng, -0.01, 0.01), Z: z + h.Z}
		w.Bodies = append(w.Bodies, Body{Mass: m, Inertia: BoxInertia(m, h, r), Velocity: r3.Vec{Z: -gravity * dt}})
		for _, c := range corners(h, r) {
			if i > 0 {
				c.X, c.Y = 0.9*c.X, 0.9*c.Y
			}
			k := Contact{A: i - 1, B: i, ArmB: c, Frame: Frame(r3.Vec{Z: 1}), Friction: mu}
			if i > 0 {
				k.ArmA = r3.Sub(r3.Add(center, c), below)
			}
			w.Contacts = append(w.Contacts, k)
		}
		below = center
		z += 2 * h.Z
	}
	b := &w.Bodies[rng.IntN(boxes)]
	f := []float64{0.01, 0.1, 1}[rng.IntN(3)]
	b.Velocity.X += f * rng.NormFloat64()
	b.Velocity.Y += f * rng.NormFloat64()
	return w
}

// graph has random bodies with contacts of random frames; they may be jammed.
func graph(rng *rand.Rand) World {
	var w World
	bodies := 2 + rng.IntN(4)
	for range bodies {
		m := math.Pow(10, between(rng, -0.7, 0.7))
		h := r3.Vec{X: between(rng, 0.05, 0.2), Y: between(rng, 0.05, 0.2), Z: between(rng, 0.05, 0.2)}
		w.Bodies = append(w.Bodies, Body{m, BoxInertia(m, h, anyRotation(rng)), normal(rng), normal(rng)})
	}
	arm := func() r3.Vec {
		return r3.Vec{X: between(rng, -0.15, 0.15), Y: between(rng, -0.15, 0.15), Z: between(rng, -0.15, 0.15)}
	}
	for range 2 + rng.IntN(8) {
		b := rng.IntN(bodies)
		a := rng.IntN(bodies+1) - 1
		if a == b {
			a = -1
		}
		w.Contacts = append(w.Contacts, Contact{A: a, B: b, ArmA: arm(), ArmB: arm(),
			Frame: Frame(r3.Unit(normal(rng))), Friction: between(rng, 0.05, 1)})
	}
	return w
}

// builder collects the bodies of a simulation, of which body 0 is the ground, and puts them into worlds.
type builder struct {
	shapes []geom.Shape
	place  func(rng *rand.Rand, shapes []geom.Shape) []geom.Pose // of all bodies in a world
}

var simulations = map[string]func(rng *rand.Rand) builder{
	"ground": func(rng *rand.Rand) builder { return builder{boxes(rng, 8), onGround} },
	"stack4": func(rng *rand.Rand) builder { return builder{boxes(rng, 4), stacked} },
	"stack8": func(rng *rand.Rand) builder { return builder{boxes(rng, 8), stacked} },
	"stack10": func(*rand.Rand) builder {
		return builder{slices.Repeat([]geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 0.1, Y: 0.1, Z: 0.1}}}, 10), stacked}
	},
	"heap":  func(rng *rand.Rand) builder { return builder{boxes(rng, 8), falling} },
	"mixed": func(rng *rand.Rand) builder { return builder{mixed(rng), falling} },
	"pile":  func(rng *rand.Rand) builder { return builder{hulls(rng, 64), lattice} },
}

// SimulationKinds lists the kinds of [Simulation].
func SimulationKinds() []string {
	names := make([]string, 0, len(simulations))
	for k := range simulations {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}

// Simulation makes worlds of a kind at their first state: boxes on the ground, stacks, and bodies that fall on each
// other. All worlds have the same bodies, of 1000 kg/m³ with a friction of 0.5, and the half-space of the ground, body
// 0. The state of a world depends on its kind, the seed and its index alone.
func Simulation(kind string, worlds int, seed uint64) (*contact.Scene, *contact.State, error) {
	f, ok := simulations[kind]
	if !ok {
		return nil, nil, fmt.Errorf("unknown kind of simulations %q; the kinds are %v", kind, SimulationKinds())
	}
	b := f(rand.New(rand.NewPCG(seed, math.MaxUint64)))
	lib, err := batch.NewLibrary(append([]geom.Shape{geom.Halfspace{}}, b.shapes...), nil)
	if err != nil {
		return nil, nil, err
	}
	body := make([]int32, lib.Len())
	for i := range body {
		body[i] = int32(i)
	}
	density, friction := 1000.0, 0.5
	scene, err := contact.NewScene(batch.BodiesOfShapes(lib), body, nil,
		batch.Physics{Density: &density, Friction: &friction})
	if err != nil {
		return nil, nil, err
	}
	if err := memory.Check(fmt.Sprintf("%d worlds of %q", worlds, kind),
		2*7*8*float64(worlds)*float64(len(body))); err != nil {
		return nil, nil, err
	}
	state := &contact.State{Worlds: worlds}
	for w := range worlds {
		poses := b.place(rand.New(rand.NewPCG(seed, uint64(w))), b.shapes)
		for _, p := range append([]geom.Pose{geom.IdentityPose()}, poses...) {
			v, q := p.Position, p.Rotation
			state.Pose = append(state.Pose, v.X, v.Y, v.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
		}
	}
	return scene, state, nil
}

func boxes(rng *rand.Rand, n int) []geom.Shape {
	list := make([]geom.Shape, n)
	for i := range list {
		list[i] = geom.Box{HalfExtents: r3.Vec{X: between(rng, 0.08, 0.12), Y: between(rng, 0.08, 0.12),
			Z: between(rng, 0.08, 0.12)}}
	}
	return list
}

// mixed has a body of each of several kinds.
func mixed(rng *rand.Rand) []geom.Shape {
	size := func() float64 { return between(rng, 0.06, 0.1) }
	points := make([]r3.Vec, 24)
	for i := range points {
		points[i] = r3.Scale(0.12, r3.Unit(normal(rng)))
	}
	list := []geom.Shape{geom.Sphere{R: size()}, geom.Capsule{R: size(), HalfLength: size()},
		geom.Cylinder{R: size(), HalfLength: size()}, geom.Box{HalfExtents: r3.Vec{X: size(), Y: size(), Z: size()}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: size(), Y: size(), Z: size()}}, geom.Cone{R: size(), HalfLength: size()}}
	if h, err := geom.NewConvex(points); err == nil {
		list = append(list, h)
	}
	return list
}

// hulls are those of 16 points of a sphere each.
func hulls(rng *rand.Rand, n int) []geom.Shape {
	list := make([]geom.Shape, 0, n)
	for len(list) < n {
		points, radius := make([]r3.Vec, 16), between(rng, 0.08, 0.12)
		for i := range points {
			points[i] = r3.Scale(radius, r3.Unit(normal(rng)))
		}
		if h, err := geom.NewConvex(points); err == nil {
			list = append(list, h)
		}
	}
	return list
}

func about(axis r3.Vec, angle float64) quat.Number {
	s, c := math.Sincos(angle / 2)
	return quat.Number{Real: c, Imag: s * axis.X, Jmag: s * axis.Y, Kmag: s * axis.Z}
}

// onGround lays bodies beside each other.
func onGround(rng *rand.Rand, shapes []geom.Shape) []geom.Pose {
	poses := make([]geom.Pose, len(shapes))
	for i, s := range shapes {
		lo, _ := s.AABB()
		poses[i] = geom.Pose{Position: r3.Vec{X: 0.5 * float64(i%4), Y: 0.5 * float64(i/4), Z: -lo.Z},
			Rotation: about(r3.Vec{Z: 1}, between(rng, 0, 2*math.Pi))}
	}
	return poses
}

// stacked puts bodies upon each other, slightly off center.
func stacked(rng *rand.Rand, shapes []geom.Shape) []geom.Pose {
	poses := make([]geom.Pose, len(shapes))
	z := 0.0
	for i, s := range shapes {
		lo, hi := s.AABB()
		poses[i] = geom.Pose{
			Position: r3.Vec{X: between(rng, -0.005, 0.005), Y: between(rng, -0.005, 0.005), Z: z - lo.Z},
			Rotation: about(r3.Vec{Z: 1}, between(rng, -0.1, 0.1))}
		z += hi.Z - lo.Z
	}
	return poses
}

// falling puts bodies above each other, apart and in any rotation.
func falling(rng *rand.Rand, shapes []geom.Shape) []geom.Pose {
	poses := make([]geom.Pose, len(shapes))
	z := 0.05
	for i, s := range shapes {
		r := s.BoundingRadius() + r3.Norm(s.Center())
		poses[i] = geom.Pose{Position: r3.Vec{X: between(rng, -0.1, 0.1), Y: between(rng, -0.1, 0.1), Z: z + r},
			Rotation: about(r3.Unit(normal(rng)), between(rng, 0, math.Pi))}
		z += 2 * r
	}
	return poses
}

// lattice puts bodies in layers of four by four, apart and in any rotation.
func lattice(rng *rand.Rand, shapes []geom.Shape) []geom.Pose {
	poses := make([]geom.Pose, len(shapes))
	for i := range shapes {
		at := r3.Vec{X: float64(i % 4), Y: float64(i / 4 % 4), Z: 0.6 + float64(i/16)}
		shift := r3.Vec{X: between(rng, -0.02, 0.02), Y: between(rng, -0.02, 0.02), Z: between(rng, -0.02, 0.02)}
		poses[i] = geom.Pose{Position: r3.Add(r3.Scale(0.25, at), shift),
			Rotation: about(r3.Unit(normal(rng)), between(rng, 0, math.Pi))}
	}
	return poses
}
