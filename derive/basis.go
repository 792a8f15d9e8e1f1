package derive

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// vec2 is a vector of the tangent plane, in the coordinates of a basis.
type vec2 [2]float64

func dot2(a, b vec2) float64   { return a[0]*b[0] + a[1]*b[1] }
func cross2(a, b vec2) float64 { return a[0]*b[1] - a[1]*b[0] }

// sym2 is a symmetric form on the tangent plane: xx, xy, yy.
type sym2 [3]float64

func (h sym2) mul(v vec2) vec2 { return vec2{h[0]*v[0] + h[1]*v[1], h[1]*v[0] + h[2]*v[1]} }

// least returns the smaller eigenvalue.
func (h sym2) least() float64 {
	mean, half := (h[0]+h[2])/2, (h[0]-h[2])/2
	return mean - math.Hypot(half, h[1])
}

// basis is an orthonormal basis of the plane orthogonal to a unit vector.
type basis [2]r3.Vec

// flippedBelow is the component z of a normal below which its basis is the other one of two. No basis is continuous on
// the whole sphere; normals along axes and planes of axes, where rounding would choose, are far from this jump. The
// first basis loses a factor of 1/(1 + z) of accuracy.
const flippedBelow = -0.4

// tangentBasis returns a basis with e1 × e2 = n, that of [Duff2017, listing 3] with another place of the jump.
func tangentBasis(n r3.Vec) basis {
	s := 1.0
	if n.Z < flippedBelow {
		s = -1
	}
	a := -1 / (s + n.Z)
	b := n.X * n.Y * a
	return basis{
		{X: 1 + s*n.X*n.X*a, Y: s * b, Z: -s * n.X},
		{X: b, Y: s + n.Y*n.Y*a, Z: -n.Y},
	}
}

// of returns the coordinates of the tangential part of v.
func (e *basis) of(v r3.Vec) vec2 { return vec2{r3.Dot(e[0], v), r3.Dot(e[1], v)} }

// vec returns the vector of coordinates.
func (e *basis) vec(c vec2) r3.Vec { return r3.Add(r3.Scale(c[0], e[0]), r3.Scale(c[1], e[1])) }

// outer returns k·v·vᵀ for the tangential part of v.
func (e *basis) outer(k float64, v r3.Vec) sym2 {
	c := e.of(v)
	return sym2{k * c[0] * c[0], k * c[0] * c[1], k * c[1] * c[1]}
}

func (h *sym2) add(g sym2) {
	for i := range h {
		h[i] += g[i]
	}
}
