package view

import (
	"fmt"
	"math"
	"strings"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/rowtrace"
	"clearance/internal/scenefile"
	"clearance/internal/tessellate"

	"gonum.org/v1/gonum/spatial/r3"
)

// Steps has the steps of a reference solver on a pair of parts, and the Minkowski difference A − B in the axes of the
// world.
type Steps struct {
	Trace      *scenefile.Trace
	At         int              // index of the step that is shown
	Value      string           // what the bounds are of
	Difference *tessellate.Mesh // nil next to a half-space
}

// Move goes to another step.
func (s *Steps) Move(by int) {
	if s != nil {
		s.At = min(max(s.At+by, 0), len(s.Trace.Steps)-1)
	}
}

// Bounds returns the bounds that the steps up to the present one prove.
func (s *Steps) Bounds() (lower, upper float64) {
	lower, upper = math.Inf(-1), math.Inf(1)
	for i := range s.At + 1 {
		step := &s.Trace.Steps[i]
		lower, upper = max(lower, float64(step.Lower)), min(upper, float64(step.Upper))
	}
	return lower, upper
}

// Text describes the present step.
func (s *Steps) Text() string {
	var b strings.Builder
	step := &s.Trace.Steps[s.At]
	fmt.Fprintf(&b, "step %d of %d: %s", s.At+1, len(s.Trace.Steps), step.Solver)
	if n := len(step.Simplex); n > 0 {
		fmt.Fprintf(&b, ", %d vertices", n)
	}
	if x := float64(step.Gradient); !math.IsNaN(x) {
		fmt.Fprintf(&b, ", gradient %.2g", x)
	}
	if x := float64(step.Region); !math.IsNaN(x) {
		fmt.Fprintf(&b, ", trust region %.2g", x)
	}
	lower, upper := s.Bounds()
	fmt.Fprintf(&b, "\nproved so far: %.9g <= %s <= %.9g", lower, s.Value, upper)
	return b.String()
}

// findSteps makes the steps of the selected pair, and shows the last one, the answer.
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
	lib := a.Doc.Bodies.Library()
	var trace *scenefile.Trace
	var err error
	if told := a.told(x); told != nil {
		// The shapes of a description are hulls of points: a trace of these would not be of the shapes.
		if trace = told.trace; trace == nil {
			a.Message = "the description has no trace of this row"
			return
		}
	} else {
		pairs := batch.NewPairs(1)
		pairs.SetRow(0, &batch.Row{ShapeA: shapeA, ShapeB: shapeB, PoseA: poseA, PoseB: poseB})
		o := batch.Options{Method: a.Method, Precision: batch.Double}
		if x.Factor {
			o.Query, o.Method = batch.Growth, batch.Auto
		}
		trace, err = rowtrace.Of(&batch.Job{Library: lib, Input: pairs, Options: o}, 0)
		if err != nil {
			a.Message = err.Error()
			return
		}
	}
	a.Steps = &Steps{Trace: trace, At: len(trace.Steps) - 1, Value: "distance"}
	if x.Factor {
		a.Steps.Value = "growth factor"
	}
	if a.Steps.Difference, err = difference(lib.Shape(shapeA), lib.Shape(shapeB), poseA, poseB); err != nil {
		a.Message = err.Error()
	}
}

// told returns the entries of a description of an answer, nil without a description.
func (a *App) told(x *Answer) *about {
	if r := a.Doc.Results; r != nil && r.about != nil && a.Stored {
		return &r.about[x.index]
	}
	return nil
}

func vec(x [3]float64) r3.Vec { return r3.Vec{X: x[0], Y: x[1], Z: x[2]} }

// drawStep draws the present step beside the bodies: the vertices of the simplex on A and on B, the support points, and
// the direction in which they were sought.
func (s *Steps) drawStep(p *Pass, camera *Camera) {
	step := &s.Trace.Steps[s.At]
	at := func(x [3]float64) r3.Vec { return r3.Sub(vec(x), camera.Target) }
	for i, v := range step.Simplex {
		p.Points = append(p.Points, Point{float3(at(v.A)), 9, colorA.dark()}, Point{float3(at(v.B)), 9, colorB.dark()})
		for _, w := range step.Simplex[:i] {
			p.line(at(v.A), at(w.A), colorA.dark())
			p.line(at(v.B), at(w.B), colorB.dark())
		}
	}
	from := step.Support
	if from == nil {
		from = step.Witnesses
	}
	if from != nil {
		a := at(from.A)
		p.line(a, r3.Add(a, r3.Scale(camera.Distance/8, vec(step.Direction))), colorStep)
		p.Points = append(p.Points, Point{float3(a), 11, colorStep}, Point{float3(at(from.B)), 11, colorStep})
	}
}

// drawDifference draws the present step in the frame of A − B.
func (s *Steps) drawDifference(p *Pass, target r3.Vec) {
	step := &s.Trace.Steps[s.At]
	at := func(v *scenefile.Vertex) r3.Vec { return r3.Sub(r3.Sub(vec(v.A), vec(v.B)), target) }
	origin := r3.Scale(-1, target)
	for i := range step.Simplex {
		v := at(&step.Simplex[i])
		p.Points = append(p.Points, Point{float3(v), 9, EdgeColor})
		for k := range i {
			p.line(v, at(&step.Simplex[k]), EdgeColor)
		}
	}
	if step.Iterate != nil {
		x := r3.Sub(vec(*step.Iterate), target)
		p.line(origin, x, Contact.Color())
		p.Points = append(p.Points, Point{float3(x), 9, Contact.Color()})
	}
	if step.Support != nil {
		p.Points = append(p.Points, Point{float3(at(step.Support)), 11, colorStep})
	}
	if step.Witnesses != nil {
		x := at(step.Witnesses)
		p.line(origin, x, Contact.Color())
		p.Points = append(p.Points, Point{float3(x), 11, Contact.Color()})
	}
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
