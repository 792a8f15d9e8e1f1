package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
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

// Warm starts of the growth distance [Growth, sec. III-F3, eq. 31].

// GrowthState is the end of a query from which another may start, of the same shapes about the same centers at
// other poses: the points of the shapes that bounded the factor from above, and the normal.
type GrowthState struct {
	A, B   [3]r3.Vec // each in the own frame of its shape
	N      int       // points in use; 0 is no state
	Normal r3.Vec    // in the frame of A
}

// GrowthState returns the state in which a query about p ended.
func (p *Pair) GrowthState(r *Result) (s GrowthState) {
	s.N, s.Normal = min(r.Simplex.N, len(s.A)), r.Normal
	for i := range s.N {
		v := &r.Simplex.V[i]
		s.A[i] = v.A
		s.B[i] = p.rot.MulVecT(r3.Sub(v.B, p.trans))
	}
	return s
}

// restore inserts the points of a state into the first triangle, posed anew, and returns the direction to begin
// with. The points lie in the shapes wherever these are now, so that the triangle lies in D.
func (g *growth) restore(w *GrowthState) (n r3.Vec) {
	var v [3]Vertex
	for i := range min(w.N, len(v)) {
		v[i].A = r3.Sub(w.A[i], g.centerA)
		v[i].B = g.p.rot.MulVec(r3.Sub(w.B[i], g.centerB))
		v[i].W = r3.Sub(v[i].A, v[i].B)
	}
	return g.insert(v[:min(w.N, len(v))])
}

// insert makes the best triangle of the corners and some more points of D, and returns its normal: as long as one
// lies beyond the plane of the triangle, it replaces a corner as a support point does.
func (g *growth) insert(points []Vertex) (n r3.Vec) {
	n = g.axis
	var c triangleCorner
	for range points {
		moved := false
		for i := range points {
			c.Vertex = points[i]
			g.locate(&c)
			if g.repeats(&c) || !(r3.Dot(n, r3.Sub(c.W, g.x.c[0].W)) > g.roundSupport) {
				continue
			}
			was := g.x.c
			if !g.exchange(&c, 0) {
				continue
			}
			next, ok := g.triangleNormal()
			if !ok {
				g.x.c = was
				continue
			}
			n, moved = next, true
		}
		if !moved {
			break
		}
	}
	return n
}

// Newton's method on the convex dual of the growth distance, for pairs whose support functions have Hessians.
//
// With u, v orthonormal and orthogonal to the unit vector z along p, the best dual bound is |p|/min f for
//
//	f(λ) = h_D(z + λ₁u + λ₂v),
//
// a convex function of two variables whose gradient is (<s, u>, <s, v>) with s the support point: it
// vanishes where s lies on the ray. f is nearly a norm, so the step is that of Newton's method for f²/2,
// which is exact for a single ellipsoid: with g the gradient and K the Hessian of f it is
//
//	−K⁻¹g/(1 + <g, K⁻¹g>/f).
//
// Every support point on the way gives both bounds (see primalBound), so that convergence needs no proof.

const (
	maxNewtonSteps = 15
	maxHalvings    = 12
	armijo         = 1e-4 // fraction of the predicted decrease that a step must reach
)

// newtonPoint is an evaluation of f: its direction, value and gradient.
type newtonPoint struct {
	n      r3.Vec     // unit
	lambda [2]float64 // n in the plane <n, z> = 1
	f      float64
	g      [2]float64
	v      Vertex
}

// newton runs Newton's method from the unit direction n and reports whether the bounds then answer the query. If not,
// as where the Hessian vanishes or is unbounded at the solution, the simplex method goes on from its last points.
func (g *growth) newton(n r3.Vec) (ok bool) {
	g.by = StepNewton
	a, okA := g.p.A.(geom.Smooth)
	b, okB := g.p.B.(geom.Smooth)
	var x, y newtonPoint
	g.evaluate(n, &x)
	for range maxNewtonSteps {
		if g.settled() {
			return true
		}
		if !okA || !okB {
			break
		}
		step, slope, ok := g.newtonStep(a, b, &x)
		if !ok || !g.search(&x, &y, step, slope) {
			break
		}
		x = y
	}
	return g.settled()
}

// evaluate computes f and its gradient in a unit direction with a positive component along the ray, and
// takes both bounds from it.
func (g *growth) evaluate(n r3.Vec, x *newtonPoint) {
	x.n = n
	h := g.support(n, &x.v)
	g.recent[(g.iter-1)%len(g.recent)] = x.v
	along := r3.Dot(n, g.axis)
	x.lambda = [2]float64{r3.Dot(n, g.x.u) / along, r3.Dot(n, g.x.v) / along}
	x.f = h / along
	x.g = [2]float64{r3.Dot(x.v.W, g.x.u), r3.Dot(x.v.W, g.x.v)}
	g.dualBound(n, h)
	g.primalBound(&Simplex{V: [4]Vertex{x.v}, Lambda: [4]float64{1}, N: 1})
}

// newtonStep returns the step at x and the slope of f along it; ok is false without a Hessian there.
func (g *growth) newtonStep(a, b geom.Smooth, x *newtonPoint) (step [2]float64, slope float64, ok bool) {
	ha, okA := a.SupportHessian(x.n)
	m := g.p.rot.MulVecT(x.n)
	hb, okB := b.SupportHessian(r3.Vec{X: -m.X, Y: -m.Y, Z: -m.Z})
	if !okA || !okB {
		return step, 0, false
	}
	var k model
	k.addForm(&ha, g.x.u, g.x.v)
	k.addForm(&hb, g.p.rot.MulVecT(g.x.u), g.p.rot.MulVecT(g.x.v))
	// The Hessian is of degree −1: in the plane <n, z> = 1 it is <n, z> times that of the unit direction.
	along := r3.Dot(x.n, g.axis)
	xx, xy, yy := k.xx*along, k.xy*along, k.yy*along
	// A multiple of the identity keeps a singular Hessian, as of a shape with a flat face, invertible.
	shift := 1e-14 * (xx + yy)
	xx, yy = xx+shift, yy+shift
	det := diffOfProducts(xx, yy, xy, xy)
	if !(det > 0) {
		return step, 0, false
	}
	sx := diffOfProducts(yy, x.g[0], xy, x.g[1]) / det
	sy := diffOfProducts(xx, x.g[1], xy, x.g[0]) / det
	decrement := sx*x.g[0] + sy*x.g[1]
	damping := 1 / (1 + decrement/x.f)
	step = [2]float64{-sx * damping, -sy * damping}
	return step, -decrement * damping, decrement > 0
}

// search halves the step from x until f decreases enough or, where the decrease is lost to rounding, the
// gradient does. y is the point found.
func (g *growth) search(x, y *newtonPoint, step [2]float64, slope float64) bool {
	for range maxHalvings {
		if g.iter >= g.limit {
			return false
		}
		n := r3.Add(r3.Scale(x.lambda[0]+step[0], g.x.u), r3.Scale(x.lambda[1]+step[1], g.x.v))
		g.evaluate(unit(r3.Add(n, g.axis)), y)
		if y.f <= x.f+armijo*slope || math.Hypot(y.g[0], y.g[1]) < 0.5*math.Hypot(x.g[0], x.g[1]) {
			return true
		}
		if g.settled() {
			return true
		}
		step[0], step[1], slope = step[0]/2, step[1]/2, slope/2
	}
	return false
}

// The two bounds of the growth distance. Both are proofs from the shapes alone: they hold for any direction
// and any points, however these were found.

// primal is a bound from above: a convex combination of points of D on the ray or close to it.
type primal struct {
	factor, upper float64 // without and with rounding
	simplex       Simplex // A and B relative to the centers
}

// polytopeBody reports whether a shape, its ball included, is a polytope.
func polytopeBody(s geom.Shape) bool { return polytopeCore(s) && s.Radius() == 0 }

// dualBound raises the lower bound by a unit direction n and the support value h of D along it:
//
//	α ≥ <n, p>/h(n), since p ∈ α·D [Growth, eq. 13, 22].
//
// h is positive, because D contains a ball around 0. Rounding moves <n, p> by roundRay and h by roundSupport.
func (g *growth) dualBound(n r3.Vec, h float64) {
	l := g.dual(n, h)
	if l > g.lower || g.normal == (r3.Vec{}) && r3.Dot(n, g.ray) > 0 {
		g.lower, g.normal = math.Max(l, 0), n
	}
}

// dual is the bound that n and h prove; below 0 it says nothing.
func (g *growth) dual(n r3.Vec, h float64) float64 {
	return (r3.Dot(n, g.ray) - g.roundRay) / (h + g.roundSupport)
}

// primalBound lowers the upper bound by the point s of a simplex, s = Σ λᵢwᵢ with λ ≥ 0, Σ λ = 1.
//
// With the unit vector u along p let τ = <s, u> and e = s − τu. D contains the ball of radius r around 0, so
// −(r/|e|)·e ∈ D, and the convex combination of s and this point with weights r/(r+|e|) and |e|/(r+|e|) is
// the point τ·r/(r+|e|)·u of D on the ray. So α ≤ |p|·(r+|e|)/(τ·r).
//
// The points of the shapes that s is made of are off by at most roundSupport, which adds to |e| and takes
// from τ; u is off by roundRay/|p|, which adds τ·roundRay/|p| to |e|; |p| is off by roundRay.
func (g *growth) primalBound(s *Simplex) {
	w := s.point()
	along := r3.Dot(w, g.axis)
	off := norm(r3.Sub(w, r3.Scale(along, g.axis)))
	factor := g.length * (g.inradius + off) / (along * g.inradius)
	moved := off + g.roundSupport + along*g.roundRay/g.length
	upper := (g.length + g.roundRay) * (g.inradius + moved) / ((along - g.roundSupport) * g.inradius)
	if !(along > g.roundSupport) {
		return
	}
	if g.o.Trace != nil {
		g.tracedPrimal(s, upper)
	}
	if upper < g.best.upper {
		g.best.factor, g.best.upper, g.best.simplex = factor, upper, *s
	}
}

// clearance is the least distance of the ray from the edges of a triangle that [growth.insideBound] takes, in units of
// the rounding across the ray.
const clearance = 64

// insideBound lowers the upper bound by the point s of the triangle, where the ray meets it clear of its edges. It does
// not divide by the inradius, which is small for needles and plates.
//
// Let η bound what is between s and the ray: the distance |e| that is computed and the rounding of points and axis, as
// in primalBound. Suppose that the ray keeps a distance of at least 64·η from each edge, seen along it. The exact
// corners are within η of the computed ones, so their triangle meets the ray too. The point of the computed triangle
// with the weights of the exact one on the ray is at most η from the ray, and 2·η from s, in the plane of the triangle.
// Its slope γ moves the point along the ray by at most γ as much. So the ray leaves D beyond τ − 3·(1 + γ)·η: the third
// part is for the rounding of the slope, which the clearance keeps below a tenth of it.
func (g *growth) insideBound(s *Simplex) {
	n, ok := g.triangleNormal()
	if !ok {
		return
	}
	w := s.point()
	along, up := r3.Dot(w, g.axis), r3.Dot(n, g.axis)
	off := norm(r3.Sub(w, r3.Scale(along, g.axis))) + g.roundSupport + along*g.roundRay/g.length
	c := &g.x.c
	for i := range c {
		a, b := &c[(i+1)%3], &c[(i+2)%3]
		if !(diffOfProducts(a.x, b.y, a.y, b.x) >= clearance*off*math.Hypot(b.x-a.x, b.y-a.y)) {
			return
		}
	}
	slope := norm(r3.Sub(n, r3.Scale(up, g.axis))) / up
	low := along - 3*(1+slope)*off
	if !(low > 0) {
		return
	}
	upper := (g.length + g.roundRay) / low * (1 + 8*eps)
	if g.o.Trace != nil {
		g.tracedPrimal(s, upper)
	}
	if upper < g.best.upper {
		g.best.factor, g.best.upper, g.best.simplex = g.length/along, upper, *s
	}
}

// ballBound is the upper bound by the ball that D contains: α ≤ |p|/r. It holds in any direction, so that only |p|
// adds to its rounding, besides that of the division.
func (g *growth) ballBound() {
	s := Simplex{N: 1, Lambda: [4]float64{1}}
	s.V[0] = Vertex{A: r3.Scale(g.inradiusA, g.axis), B: r3.Scale(-g.inradiusB, g.axis)}
	s.V[0].W = r3.Sub(s.V[0].A, s.V[0].B)
	g.best = primal{g.length / g.inradius, (g.length + g.roundRay) / g.inradius * (1 + 8*eps), s}
}

// The Internal Expanding procedure (IE), the reference with which [Growth] compares its method: like EPA it
// expands a convex polytope with vertices on D, but always by the face that the ray meets, along its normal.
// The simplex method keeps that face alone.

// internalExpansion runs IE from the tetrahedron of the first triangle of the simplex method and a point of
// the ball behind it, which contains 0.
func (g *growth) internalExpansion(p *polytope) {
	g.by = StepExpansion
	p.reset(g.roundSupport, 4*g.p.scale)
	var t [4]Vertex
	for i := range g.x.c {
		t[i] = g.x.c[i].Vertex
	}
	behind := r3.Scale(-0.999, g.axis)
	t[3] = Vertex{A: r3.Scale(g.inradiusA, behind), B: r3.Scale(-g.inradiusB, behind)}
	t[3].W = r3.Sub(t[3].A, t[3].B)
	p.tetrahedron(&t)
	f := int32(0) // the first triangle
	var s Vertex
	for g.iter < g.limit {
		n := p.faces[f].n
		if !(r3.Dot(n, g.axis) > 0) {
			return
		}
		g.loadFace(p, f)
		h := g.support(n, &s)
		g.dualBound(n, h)
		if g.boundFromTriangle(); g.settled() {
			return
		}
		first := len(p.faces)
		if !p.expand(f, &s) {
			return
		}
		var ok bool
		if f, ok = g.facing(p, first); !ok {
			return
		}
	}
}

// loadFace makes a face of the polytope the triangle.
func (g *growth) loadFace(p *polytope, f int32) {
	for i, v := range p.faces[f].v {
		g.x.c[i].Vertex = p.verts[v]
		g.locate(&g.x.c[i])
	}
}

// facing returns the face that the ray meets among the live faces from index first on.
func (g *growth) facing(p *polytope, first int) (f int32, ok bool) {
	largest := 0.0
	for i := first; i < len(p.faces); i++ {
		if p.faces[i].dead {
			continue
		}
		g.loadFace(p, int32(i))
		if area, meets := g.meetsTriangle(); meets && area > largest {
			f, largest, ok = int32(i), area, true
		}
	}
	return f, ok
}

// meetsTriangle returns twice the area of the triangle seen along the ray, and whether the ray meets it from
// inside.
func (g *growth) meetsTriangle() (area float64, ok bool) {
	c := &g.x.c
	ok = true
	for i := range c {
		j := (i + 1) % 3
		side := diffOfProducts(c[i].x, c[j].y, c[i].y, c[j].x)
		area += side
		ok = ok && side >= 0
	}
	return area, ok
}
