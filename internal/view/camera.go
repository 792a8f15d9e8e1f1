package view

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/camera"
	"clearance/internal/tessellate"
)

// Camera is that of a view.
type Camera = camera.Camera

// Click selects what lies at a pixel: in the grid a cell, which is then shown; else a body, with the nearest of its
// pairs. A second body, after a first one that it has a pair with, selects that pair.
func (a *App) Click(x, y float64) {
	cell, place, ok := a.Hit(x, y)
	switch {
	case !ok:
		a.Body = -1
	case a.View == GridView:
		a.Select(cell)
		a.Body = place
		a.show(CellView)
	default:
		first := a.Body
		both := func(x Answer) bool { return x.A == first && x.B == place || x.A == place && x.B == first }
		either := func(x Answer) bool { return x.A == place || x.B == place }
		i := -1
		if first >= 0 && first != place {
			i = a.nearest(both)
		}
		if i < 0 {
			i = a.nearest(either)
		}
		a.Body = place
		if i < 0 {
			a.Message = a.Doc.Name(a.Doc.Worlds.Body(cell, place)) + " is in no pair that has an answer"
			return
		}
		a.choose(i)
	}
}

// choose selects a pair by its index among the answers.
func (a *App) choose(i int) {
	a.Pair, a.Steps, a.pinned = i, nil, true
	if a.View == PairView {
		a.show(PairView)
	}
}

// Hit returns the cell, and the place in it, of the body that is seen at a pixel.
func (a *App) Hit(x, y float64) (cell int, place int32, ok bool) {
	origin, direction := a.fit().Ray(x, y, a.Width, a.Height)
	nearest := math.Inf(1)
	a.eachBody(func(c int, k int32, offset r3.Vec) {
		b := a.Doc.ballOf(c, k)
		if b.radius >= 0 {
			to := r3.Sub(r3.Add(b.center, offset), origin)
			if along := r3.Dot(to, direction); r3.Norm2(to)-along*along > b.radius*b.radius {
				return
			}
		}
		a.Doc.parts(c, k, func(_ int, shape int32, pose geom.Pose) {
			t, hit := a.hitPart(shape, pose, r3.Sub(origin, offset), direction)
			if hit && t < nearest {
				nearest, cell, place, ok = t, c, k, true
			}
		})
	})
	return cell, place, ok
}

// hitPart is where a ray meets a shape at a pose.
func (a *App) hitPart(shape int32, pose geom.Pose, origin, direction r3.Vec) (t float64, ok bool) {
	rotation := geom.Pose{Rotation: pose.Rotation}
	o, d := pose.ApplyInverse(origin), rotation.ApplyInverse(direction)
	if a.Doc.Bodies.Library().Shape(shape).Kind() == geom.KindHalfspace { // the plane z = 0, seen from above
		if t = -o.Z / d.Z; d.Z < 0 && t >= 0 {
			at := r3.Add(o, r3.Scale(t, d))
			half := a.groundHalf()
			return t, math.Abs(at.X) <= half && math.Abs(at.Y) <= half
		}
		return 0, false
	}
	return a.mesh(shape, tessellate.Fine).Hit(o, d)
}

// eachBody calls f with each body that the view draws, and where the frame of its cell is drawn.
func (a *App) eachBody(f func(cell int, place int32, offset r3.Vec)) {
	places := int32(a.Doc.Worlds.BodiesPerWorld())
	if a.View != GridView {
		for k := range places {
			f(a.Cell, k, r3.Vec{})
		}
		return
	}
	for c := range a.Doc.Count() {
		offset := a.At(c, r3.Vec{})
		for k := range places {
			f(c, k, offset)
		}
	}
}

// cellCenter is the point of a cell that stands in the middle of its place in the grid: of rows of pairs, which may be
// far from the origin, the middle of the bodies; of worlds the origin, so that they do not move when their bodies do.
func (a *App) cellCenter(cell int) r3.Vec {
	if a.Doc.Rows {
		center, _, _ := a.Doc.cellBall(cell)
		return center
	}
	if a.gridOrigin == nil {
		center, _, _ := a.Doc.cellBall(0)
		a.gridOrigin = &center
	}
	return *a.gridOrigin
}

// At is where the grid shows a point of a cell.
func (a *App) At(cell int, p r3.Vec) r3.Vec {
	return r3.Add(p, r3.Sub(a.grid().Center(cell), a.cellCenter(cell)))
}

// groundHalf is the half-width of the square that shows a half-space.
func (a *App) groundHalf() float64 {
	if a.View == GridView {
		return a.extent
	}
	_, radius, _ := a.Doc.cellBall(a.Cell)
	return 2.5 * radius
}
