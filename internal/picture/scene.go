package picture

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/scenefile"
	"clearance/internal/tessellate"
)

// A solid is the mesh of a part in the world.
type solid struct {
	vertices, normals []r3.Vec
	triangles         [][3]int32
	body              int32 // place in the picture, or ground and below
}

// ground is the body of the first floor.
const ground = -2

// An item is a body of a picture: that of a place of the world, or of a side of a row.
type item struct {
	body int // of the document, -1 for none
	pose geom.Pose
	hit  state
}

// A state is what the rows say of a body: the worst.
type state int

const (
	apart state = iota
	contact
	unanswered
)

// A scene is a document with its meshes.
type scene struct {
	doc    *scenefile.Document
	meshes []*tessellate.Mesh // nil of half-spaces
}

func newScene(d *scenefile.Document) (*scene, error) {
	s := &scene{doc: d, meshes: make([]*tessellate.Mesh, len(d.Shapes))}
	for i, shape := range d.Shapes {
		if shape.Kind == scenefile.Halfspace {
			continue
		}
		points := make([]r3.Vec, len(shape.Points)/3)
		for k := range points {
			points[k] = r3.Vec{X: shape.Points[3*k], Y: shape.Points[3*k+1], Z: shape.Points[3*k+2]}
		}
		mesh, err := tessellate.Hull(points)
		if err != nil {
			return nil, fmt.Errorf("picture: shape %d (%s): %w", i, shape.Name, err)
		}
		s.meshes[i] = mesh
	}
	return s, nil
}

// items are the bodies of the world of a row at a time, or both bodies of a row without a world.
func (s *scene) items(row int, time float64) (out []item) {
	if w := s.world(row); w != nil {
		for place, body := range w.Bodies {
			pose, ok := w.at(place, time)
			if !ok {
				body = -1
			}
			out = append(out, item{body: int(body), pose: pose})
		}
		return out
	}
	rows := &s.doc.Rows
	for _, side := range []struct {
		body  scenefile.Integers
		poses scenefile.Numbers
	}{{rows.BodyA, rows.PoseA}, {rows.BodyB, rows.PoseB}} {
		if row < 0 {
			continue
		}
		pose, ok := poseOf(side.poses[7*row : 7*row+7])
		it := item{body: int(side.body[row]), pose: pose}
		if !ok {
			it.body = -1
		}
		out = append(out, it)
	}
	return out
}

// placed is a world of a document, of which poses are asked.
type placed struct{ *scenefile.World }

// world is that of a row; without rows the first one; nil if there is none.
func (s *scene) world(row int) *placed {
	d := s.doc
	switch {
	case len(d.Worlds) == 0:
		return nil
	case row < 0:
		return &placed{&d.Worlds[0]}
	case len(d.Rows.World) == 0 || d.Rows.World[row] < 0:
		return nil
	}
	return &placed{&d.Worlds[d.Rows.World[row]]}
}

// at is the pose of a place at a time: between two times along a line, rotating about a fixed axis by the shorter arc.
func (w *placed) at(place int, time float64) (geom.Pose, bool) {
	k, _ := slices.BinarySearch(w.Times, time)
	hi := min(k, len(w.Times)-1)
	lo := max(hi-1, 0)
	m := len(w.Bodies)
	last, ok := poseOf(w.Poses[7*(hi*m+place):][:7])
	if hi == lo || !ok || time >= w.Times[hi] {
		return last, ok
	}
	first, ok := poseOf(w.Poses[7*(lo*m+place):][:7])
	if !ok || time <= w.Times[lo] {
		return first, ok
	}
	return between(first, last, (time-w.Times[lo])/(w.Times[hi]-w.Times[lo])), true
}

func between(a, b geom.Pose, share float64) geom.Pose {
	turn := quat.Mul(quat.Conj(a.Rotation), b.Rotation)
	if turn.Real < 0 {
		turn = quat.Scale(-1, turn)
	}
	v := math.Sqrt(turn.Imag*turn.Imag + turn.Jmag*turn.Jmag + turn.Kmag*turn.Kmag)
	part := quat.Number{Real: 1}
	if v > 0 {
		half := share * math.Atan2(v, turn.Real)
		sin, cos := math.Sincos(half)
		part = quat.Number{Real: cos, Imag: sin / v * turn.Imag, Jmag: sin / v * turn.Jmag, Kmag: sin / v * turn.Kmag}
	}
	return geom.Pose{Position: mix(a.Position, b.Position, share), Rotation: quat.Mul(a.Rotation, part)}
}

// poseOf is the pose of seven numbers, and whether it is one.
func poseOf(x []float64) (geom.Pose, bool) {
	q := quat.Number{Real: x[3], Imag: x[4], Jmag: x[5], Kmag: x[6]}
	length := quat.Abs(q)
	p := geom.Pose{Position: r3.Vec{X: x[0], Y: x[1], Z: x[2]}}
	ok := length > 0 && !math.IsInf(length, 0) && finite(p.Position)
	if ok {
		p.Rotation = quat.Scale(1/length, q)
	}
	return p, ok
}

// parts calls do with each part of a body at a pose.
func (s *scene) parts(it item, do func(shape int, at geom.Pose)) {
	if it.body < 0 {
		return
	}
	for _, p := range s.doc.Bodies[it.body].Parts {
		if own, ok := poseOf(p.Pose[:]); ok {
			at := geom.Pose{Position: it.pose.Apply(own.Position), Rotation: quat.Mul(it.pose.Rotation, own.Rotation)}
			do(p.Shape, at)
		}
	}
}

// solids are the bounded parts of items, and the planes of half-spaces.
func (s *scene) solids(items []item) (out []solid, planes []geom.Pose) {
	for i, it := range items {
		s.parts(it, func(shape int, at geom.Pose) {
			if s.meshes[shape] == nil {
				planes = append(planes, at)
				return
			}
			out = append(out, placedMesh(s.meshes[shape], at, 1, int32(i)))
		})
	}
	return out, planes
}

// placedMesh is a mesh at a pose, scaled before.
func placedMesh(m *tessellate.Mesh, at geom.Pose, scale float64, body int32) solid {
	s := solid{triangles: m.Triangles, body: body, vertices: make([]r3.Vec, len(m.Vertices)),
		normals: make([]r3.Vec, len(m.Vertices))}
	turn := geom.Pose{Rotation: at.Rotation}
	for i, v := range m.Vertices {
		s.vertices[i], s.normals[i] = at.Apply(r3.Scale(scale, v)), turn.Apply(m.Normals[i])
	}
	return s
}

// A floor is the planes that are drawn as ground: their color has a grid, and fades into the background.
type floor struct {
	center r3.Vec
	radius float64 // of what stands on it
	step   float64 // of the grid, metres
	plane  geom.Pose
	body   int32 // ground, and below for the next ones
}

// floorReach is how far a floor is seen, in radii of what stands on it.
const floorReach = 5.0

var floorColor = linear([3]float64{0.905, 0.913, 0.925})

// newFloor has a grid of 1, 2 or 5 times a power of ten metres, of which a few lines cross what stands on it.
func newFloor(plane geom.Pose, center r3.Vec, radius float64, body int32) floor {
	power := math.Pow(10, math.Floor(math.Log10(radius/2)))
	step := power
	for _, k := range []float64{2, 5} {
		if k*power <= radius/2 {
			step = k * power
		}
	}
	return floor{center, radius, step, plane, body}
}

// solid is the square of a floor around what stands on it.
func (f *floor) solid() solid {
	local := f.plane.ApplyInverse(f.center)
	at := f.plane
	at.Position = f.plane.Apply(r3.Vec{X: local.X, Y: local.Y})
	return placedMesh(tessellate.Halfspace(), at, floorReach*f.radius, f.body)
}

// color is that of a point of the floor, with the share of it that the background leaves.
func (f *floor) color(p r3.Vec) (c [3]float64, share float64) {
	c = floorColor
	local := f.plane.ApplyInverse(p)
	for _, x := range [2]float64{local.X, local.Y} {
		if math.Abs(math.Remainder(x, f.step)) < 0.006*f.step {
			for i := range c {
				c[i] = floorColor[i] * 0.86
			}
		}
	}
	away := math.Sqrt(r3.Norm2(r3.Sub(p, f.center))) / f.radius
	t := min(max((away-1.3)/(floorReach-1.6-1.3), 0), 1)
	return c, 1 - t*t*(3-2*t)
}
