package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// The simplex method for the growth distance [Growth, Alg. 1-3]: D is approximated from inside by a triangle
// that the ray along p meets, and from outside by one support plane. A step evaluates the support function
// along the normal of the triangle and exchanges one vertex for the support point, such that the ray still
// meets the triangle: one pivot of the simplex method for the linear program of [Growth, eq. 15].

// triangleCorner is a vertex of the triangle, with its coordinates across and along the ray.
type triangleCorner struct {
	Vertex
	x, y, z float64
}

// triangle is the inner approximation. Seen along the ray its corners are in counterclockwise order around it.
type triangle struct {
	u, v r3.Vec // with the direction of the ray a right-handed orthonormal basis
	c    [3]triangleCorner
}

// start makes the first triangle [Growth, Alg. 1, eq. 16-17]: equilateral around the ray, within the ball that
// D contains. Each corner divides into a point of A and a point of B as the two radii do.
func (g *growth) start() {
	g.x.u, g.x.v = tangents(g.axis)
	const ahead, across = 0.5, 0.866 // of the inradius; the sum of their squares is below 1
	for i := range g.x.c {
		sin, cos := math.Sincos(float64(i) * 2 * math.Pi / 3)
		d := r3.Scale(ahead, g.axis)
		d = r3.Add(d, r3.Scale(across*cos, g.x.u))
		d = r3.Add(d, r3.Scale(across*sin, g.x.v))
		c := &g.x.c[i]
		c.A, c.B = r3.Scale(g.inradiusA, d), r3.Scale(-g.inradiusB, d)
		c.W = r3.Sub(c.A, c.B)
		g.locate(c)
	}
}

// locate sets the coordinates of a corner.
func (g *growth) locate(c *triangleCorner) {
	c.x, c.y, c.z = r3.Dot(g.x.u, c.W), r3.Dot(g.x.v, c.W), r3.Dot(g.axis, c.W)
}

// iterate runs [Growth, Alg. 3] from the direction n: evaluations and pivots until the bounds answer the
// query, or until rounding stops them.
func (g *growth) iterate(n r3.Vec) {
	g.by = StepGrowth
	var s triangleCorner
	level := 0
	var lower float64
	upper := math.Inf(1)
	for g.iter < g.limit {
		h := g.support(n, &s.Vertex)
		g.dualBound(n, h)
		if g.boundFromTriangle(); g.settled() {
			return
		}
		if g.lower > lower*(1+2*eps) || g.best.upper < upper*(1-2*eps) {
			lower, upper, level = g.lower, g.best.upper, 0
		} else if level++; level > maxLevelPivots {
			return
		}
		g.locate(&s)
		if g.repeats(&s) {
			return
		}
		var ok bool
		if n, ok = g.pivot(&s); !ok {
			return
		}
	}
}

// pivot exchanges a corner for s and returns the normal of the triangle. Of a pair with a mirror plane s, two corners
// and the ray may lie in it: the rounding of the corners then makes the signs of sides and areas, and may leave no
// triangle, or one without an area. A side that rounding may have made counts as zero if there is no other way.
func (g *growth) pivot(s *triangleCorner) (n r3.Vec, ok bool) {
	before := g.x
	if g.exchange(s, 0) {
		if n, ok = g.triangleNormal(); ok {
			return n, true
		}
	}
	g.x = before
	length := math.Abs(s.x) + math.Abs(s.y)
	for i := range g.x.c {
		length = max(length, math.Abs(g.x.c[i].x)+math.Abs(g.x.c[i].y))
	}
	if !g.exchange(s, 2*g.roundSupport*length) {
		return n, false
	}
	return g.triangleNormal()
}

// maxLevelPivots is the number of pivots in a row that need not improve a bound: degenerate pivots, of a ray
// through an edge or a vertex of D, do not. Beyond it, rounding is all that moves the triangle.
const maxLevelPivots = 64

// repeats reports whether a support point is a corner already: then the triangle lies in the support plane.
func (g *growth) repeats(s *triangleCorner) bool {
	for i := range g.x.c {
		if g.x.c[i].W == s.W {
			return true
		}
	}
	return false
}

// exchange replaces a corner by s [Growth, eq. 26]. Seen along the ray, the triangle is divided by s into
// three, of which one contains the ray: its two corners stay. Where rounding or degeneracy leaves several, the
// one of the largest area is taken, which keeps the corners independent. ok is false if none has an area. round is the
// rounding of products of coordinates: sides up to it count as zero.
func (g *growth) exchange(s *triangleCorner, round float64) (ok bool) {
	c := &g.x.c
	var side [3]float64 // of the ray with respect to the line from s through corner i
	for i := range c {
		side[i] = diffOfProducts(s.x, c[i].y, s.y, c[i].x)
	}
	out, largest := 0, 0.0
	for i := range c {
		j := (i + 1) % 3
		if !(side[i] >= -round && side[j] <= round) {
			continue
		}
		area := diffOfProducts(c[i].x-s.x, c[j].y-s.y, c[i].y-s.y, c[j].x-s.x)
		if area > largest {
			out, largest = (i+2)%3, area
		}
	}
	if !(largest > 0) {
		return false
	}
	c[out] = *s
	return true
}

// weights returns the barycentric coordinates of the ray in the triangle by signed areas [Growth, sec. III-F2]
// as a simplex, with the rounding of each step removed by the next.
func (g *growth) weights() (s Simplex) {
	c := &g.x.c
	total := diffOfProducts(c[1].x-c[0].x, c[2].y-c[0].y, c[1].y-c[0].y, c[2].x-c[0].x)
	var x, y float64 // what is left between the combination and the ray
	s.N = 3
	for pass := range 2 {
		sum := 0.0
		for i := range c {
			a, b := &c[(i+1)%3], &c[(i+2)%3]
			if pass == 0 {
				s.Lambda[i] = diffOfProducts(a.x, b.y, a.y, b.x) / total
			} else {
				s.Lambda[i] += diffOfProducts(x, a.y-b.y, y, a.x-b.x) / total
			}
			s.Lambda[i] = math.Max(s.Lambda[i], 0)
			sum += s.Lambda[i]
		}
		x, y = 0, 0
		for i := range c {
			s.Lambda[i] /= sum
			x -= s.Lambda[i] * c[i].x
			y -= s.Lambda[i] * c[i].y
		}
	}
	for i := range c {
		s.V[i] = c[i].Vertex
	}
	return s
}

// boundFromTriangle lowers the upper bound by the triangle.
func (g *growth) boundFromTriangle() {
	s := g.weights()
	if !(s.Lambda[0]+s.Lambda[1]+s.Lambda[2] > 0) { // also NaN, of a triangle without area
		return
	}
	g.primalBound(&s)
	if g.floor(g.best.factor) > g.wanted()*math.Max(1, g.best.factor) {
		g.insideBound(&s)
	}
}

// triangleNormal returns the unit normal of the triangle with a positive component along the ray
// [Growth, eq. 24]; ok is false if it has none.
func (g *growth) triangleNormal() (n r3.Vec, ok bool) {
	c := &g.x.c
	n = unit(cross(r3.Sub(c[1].W, c[0].W), r3.Sub(c[2].W, c[0].W)))
	return n, r3.Dot(n, g.axis) > 0
}
