package batch

import (
	"fmt"
	"maps"
	"slices"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// setCenters sets the default center of growth of every shape.
func (l *Library) setCenters() {
	l.centers = make([]r3.Vec, len(l.shapes))
	l.inradius = make([]float64, len(l.shapes))
	for i, s := range l.shapes {
		l.centers[i] = geom.GrowthCenter(s)
		l.inradius[i] = geom.InradiusAt(s, l.centers[i])
	}
}

// GrowthCenter returns the point, in the frame of shape i, about which the shape grows in the query
// [Growth]: that of [Library.WithCenters], or by default that of [geom.GrowthCenter].
func (l *Library) GrowthCenter(i int32) r3.Vec { return l.centers[i] }

// GrowthInradius returns the radius of a ball about GrowthCenter(i) that is proved to lie in shape i: 0 if
// it is flat or a half-space.
func (l *Library) GrowthInradius(i int32) float64 { return l.inradius[i] }

// WithCenters returns a library of the same shapes in which the shapes of the map grow about the points
// given, each in the frame of its shape. A center must be an interior point, or any point of a shape that is
// flat. A half-space has none.
//
// The error is a *[ShapeError] for the first shape whose center is refused.
func (l *Library) WithCenters(centers map[int32]r3.Vec) (*Library, error) {
	with := *l
	with.centers, with.inradius = slices.Clone(l.centers), slices.Clone(l.inradius)
	for _, i := range slices.Sorted(maps.Keys(centers)) {
		if i < 0 || int(i) >= len(l.shapes) {
			return nil, fmt.Errorf("batch: center of shape %d, want one in [0, %d)", i, len(l.shapes))
		}
		c := centers[i]
		r, err := checkCenter(l.shapes[i], c)
		if err != nil {
			return nil, &ShapeError{Index: int(i), Name: l.Name(i), Err: err}
		}
		with.centers[i], with.inradius[i] = c, r
	}
	return &with, nil
}

// checkCenter returns the inradius of a shape about a center.
func checkCenter(s geom.Shape, c r3.Vec) (inradius float64, err error) {
	if err := geom.CheckGrowthCenter(s, c); err != nil {
		return 0, err
	}
	if !within(c, MaxLength) {
		return 0, fmt.Errorf("center = (%g, %g, %g), want coordinates of at most %g m", c.X, c.Y, c.Z,
			float64(MaxLength))
	}
	return geom.InradiusAt(s, c), nil
}
