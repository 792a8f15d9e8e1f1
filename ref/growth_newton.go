package ref

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

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
