package batch

import (
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// GrowthCenter returns the point, in the frame of shape i, about which the shape grows in the query [Growth]: its
// attribute [geom.AttributeCenter], by default that of [geom.GrowthCenter].
func (l *Library) GrowthCenter(i int32) r3.Vec {
	c := l.attributes[geom.AttributeCenter][i]
	return r3.Vec{X: c[0], Y: c[1], Z: c[2]}
}

// GrowthInradius returns the radius of a ball about GrowthCenter(i) that is proved to lie in shape i: 0 if
// it is flat or a half-space.
func (l *Library) GrowthInradius(i int32) float64 { return l.inradius[i] }

func (l *Library) setInradius(i int32) {
	l.inradius[i] = geom.InradiusAt(l.shapes[i], l.GrowthCenter(i))
}

// WithCenters is [Library.WithAttributes] for centers of growth alone, each in the frame of its shape. A center must be
// an interior point, or any point of a shape that is flat. A half-space has none.
func (l *Library) WithCenters(centers map[int32]r3.Vec) (*Library, error) {
	var stated Attributes
	for i, c := range centers {
		stated.Set(geom.AttributeCenter, i, []float64{c.X, c.Y, c.Z})
	}
	return l.WithAttributes(&stated)
}
