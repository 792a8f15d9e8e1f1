package view

import (
	"clearance/geom"
	"clearance/internal/tessellate"

	"gonum.org/v1/gonum/spatial/r3"
)

// Steps are what is drawn of the solver of a pair: the Minkowski difference A − B, in the axes of the world.
type Steps struct {
	Difference *tessellate.Mesh // nil next to a half-space
	At, N      int
}

// Move goes to another step.
func (s *Steps) Move(by int) {
	if s != nil {
		s.At = min(max(s.At+by, 0), max(s.N-1, 0))
	}
}

// findSteps makes the steps of the selected pair.
func (a *App) findSteps() {
	a.Steps = nil
	x := a.Answer()
	if x == nil || x.A < 0 || x.B < 0 {
		return
	}
	shapeA, poseA, okA := a.partOf(x.A, x.PartA)
	shapeB, poseB, okB := a.partOf(x.B, x.PartB)
	if !okA || !okB {
		return
	}
	a.Steps = &Steps{}
	lib := a.Doc.Bodies.Library()
	m, err := difference(lib.Shape(shapeA), lib.Shape(shapeB), poseA, poseB)
	if err != nil {
		a.Message = err.Error()
	}
	a.Steps.Difference = m
}

// partOf is a part of the body at a place of the cell; the first one if it is not known which attains the least.
func (a *App) partOf(place, part int32) (shape int32, at geom.Pose, ok bool) {
	want := int(max(part, 0))
	a.Doc.parts(a.Cell, place, func(i int, s int32, pose geom.Pose) {
		if i == want {
			shape, at, ok = s, pose, true
		}
	})
	return shape, at, ok
}

// difference is the mesh of A − B in the axes of the world, nil if one of both is unbounded.
func difference(a, b geom.Shape, poseA, poseB geom.Pose) (*tessellate.Mesh, error) {
	if a.Kind().Traits().Unbounded || b.Kind().Traits().Unbounded {
		return nil, nil
	}
	support := func(d r3.Vec) r3.Vec {
		return r3.Sub(supportAt(a, poseA, d), supportAt(b, poseB, r3.Scale(-1, d)))
	}
	var size r3.Vec
	for _, axis := range []r3.Vec{{X: 1}, {Y: 1}, {Z: 1}} {
		width := r3.Dot(axis, r3.Sub(support(axis), support(r3.Scale(-1, axis))))
		size = r3.Add(size, r3.Scale(width/2, axis))
	}
	return tessellate.Support(support, size, tessellate.Fine)
}

// supportAt is the support point of a shape at a pose, in the world.
func supportAt(s geom.Shape, pose geom.Pose, d r3.Vec) r3.Vec {
	rotation := geom.Pose{Rotation: pose.Rotation}
	return pose.Apply(geom.Support(s, rotation.ApplyInverse(d)))
}
