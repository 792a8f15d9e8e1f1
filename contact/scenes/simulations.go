package scenes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"clearance/batch"
	"clearance/contact"
	"clearance/geom"
	"clearance/internal/memory"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

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
