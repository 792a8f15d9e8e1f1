package ref

import "clearance/geom"

// Workspace is the memory of the solvers. The zero value is ready; it grows to what
// the hardest pair needs and is reused. It belongs to one goroutine. A nil
// Workspace is allowed and costs one allocation per call.
type Workspace struct {
	d descent
	e expansion
	t trustRegion
	g growth

	boundsA, boundsB geom.HessianBounds // see widestCap
	caps             []capCertificate
	points           []Vertex
}

func (ws *Workspace) descent() *descent {
	if ws == nil {
		return new(descent)
	}
	return &ws.d
}

func (ws *Workspace) expansion() *expansion {
	if ws == nil {
		return new(expansion)
	}
	return &ws.e
}

func (ws *Workspace) trustRegion() *trustRegion {
	if ws == nil {
		return new(trustRegion)
	}
	return &ws.t
}
