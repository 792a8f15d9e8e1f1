package ref

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// inscribedAfter is the number of steps that EPA may take before depthByInscribed is tried.
const inscribedAfter = 2000

// depthByInscribed finds the depth of an ellipsoid and a capsule or a cylinder with axis u. Where both are almost
// coaxial, or the ellipsoid has almost equal semi-axes, the boundary of D is almost equally close to the origin along
// a whole circle, and a polytope would need a million faces along it.
//
// A capsule contains a ball of its radius around each point z of its segment, a cylinder an ellipsoid of revolution
// that touches its side. The difference D(z) of the ellipsoid and that shape lies in D, so its depth, which
// [Pair.innerEllipsoid] proves in closed form, is a lower bound of the depth of D. The support plane of D along the
// minimum n of its support function is the upper bound. If z is chosen so that the support point of D(z) along n is a
// multiple of n, both agree, unless the closest point of D is on a rim of the cylinder.
//
// r is the answer of EPA. ok is false where the bounds do not meet the tolerance, and only the steps are counted.
func (p *Pair) depthByInscribed(o *Options, r *Result) (found Result, ok bool) {
	radius, half, side, ok := p.inscribable()
	if !ok || o.Boolean || o.StopRule != StopGap {
		return found, false
	}
	sign, u := 1.0, r3.Vec{Z: 1}
	if side == 1 {
		sign, u = -1, p.rot.MulVec(u)
	}
	v := valley{p: p, trace: o.Trace, axis: u}
	n := v.minimum(r.Normal)

	whole := p.Support(n)
	middle := p.inscribed(side, radius, half, 0, u)
	z := -sign * r3.Dot(u, middle.Support(n).W) // where the support point has no part along u
	end := half
	if radius > 0 {
		end *= 1 - 1e-6 // an ellipsoid at the end of a cylinder is flat
	}
	z = min(max(z, -end), end)
	inner := p.inscribed(side, radius, half, z, u)
	at := inner.Support(n)
	tol := p.tolerance(o, curvedDepthTolerance)
	found.Iterations = r.Iterations + v.steps + 3
	depth, ok := inner.innerEllipsoid(n, r3.Dot(n, at.W), p.stopGap(tol))
	if !ok {
		return found, false
	}
	found.Normal, found.Distance, found.Ended, found.Simplex = n, -r3.Dot(n, whole.W)-p.Radius, EndedByEPA, r.Simplex
	if side == 0 {
		at.A, at.B = r3.Add(at.A, r3.Scale(z, u)), r3.Add(at.B, r3.Scale(z, u))
	}
	found.WitnessA, found.WitnessB = r3.Add(at.A, r3.Scale(p.A.Radius(), n)), r3.Sub(at.B, r3.Scale(p.B.Radius(), n))
	off := norm(r3.Sub(r3.Sub(found.WitnessB, found.WitnessA), r3.Scale(found.Distance, n)))
	found.Lower = found.Distance - p.Roundoff()
	found.Upper = max(-depth-p.Radius, found.Distance+off) + p.Roundoff()
	found.classify(p, o, tol)
	return found, found.Status == Penetrating
}

// valley finds a minimum of the support function of D that is almost constant along a circle around an axis, in
// coordinates in which that valley is straight: the angle around the axis, and the angle from the plane orthogonal to
// it. A trust region on the sphere would follow it in many short steps.
type valley struct {
	p     *Pair
	trace *Trace
	axis  r3.Vec
	e, f  r3.Vec // orthogonal to the axis, and to each other
	rise  float64
	n, w  r3.Vec // the last direction and its support point
	steps int    // evaluations of the support function
}

// valleySteps is the number of equally spaced angles around the axis of which the lowest begins the search.
const valleySteps = 24

// minimum returns the minimum in the valley of direction n: where the least value over the second angle, as a function
// of the first, has no slope.
func (v *valley) minimum(n r3.Vec) r3.Vec {
	v.e, v.f = tangents(v.axis)
	v.rise = math.Asin(min(max(r3.Dot(n, v.axis), -1), 1))
	best, least := 0.0, math.Inf(1)
	for k := range valleySteps {
		around := 2 * math.Pi * float64(k) / valleySteps
		if v.slope(around); r3.Dot(v.n, v.w) < least {
			best, least = around, r3.Dot(v.n, v.w)
		}
	}
	zero(best, 0.01, math.Pi, v.slope)
	return v.n
}

// slope finds the least support value over the second angle, and returns its slope over the first.
func (v *valley) slope(around float64) float64 {
	sin, cos := math.Sincos(around)
	out, along := r3.Add(r3.Scale(cos, v.e), r3.Scale(sin, v.f)), r3.Sub(r3.Scale(cos, v.f), r3.Scale(sin, v.e))
	v.rise = zero(v.rise, 1e-3, 1, func(rise float64) float64 {
		sin, cos := math.Sincos(rise)
		v.n = r3.Add(r3.Scale(cos, out), r3.Scale(sin, v.axis))
		at := v.p.Support(v.n)
		v.w = at.W
		v.steps++
		if v.trace != nil {
			v.trace.evaluated(StepInscribed, v.p, v.n, &at)
		}
		return r3.Dot(v.w, r3.Sub(r3.Scale(cos, v.axis), r3.Scale(sin, out)))
	})
	return r3.Dot(v.w, along)
}

// zero returns a zero of f near x, where f changes from below to above, by bracketing in steps that double from
// step to most, and by regula falsi, with bisection after a step that does not halve the interval. f is evaluated last
// at the value returned, an angle.
func zero(x, step, most float64, f func(float64) float64) float64 {
	y := f(x)
	lo, hi, ylo, yhi := x, x, y, y
	for ; ylo > 0 && step <= most; step *= 2 {
		hi, yhi = lo, ylo
		lo -= step
		ylo = f(lo)
	}
	for ; yhi < 0 && step <= most; step *= 2 {
		lo, ylo = hi, yhi
		hi += step
		yhi = f(hi)
	}
	slow := false
	for ylo < 0 && yhi > 0 && hi-lo > eps/4 {
		width := hi - lo
		x = lo - ylo*width/(yhi-ylo)
		if slow || !(x > lo && x < hi) {
			x = lo + width/2
		}
		if x == lo || x == hi {
			break
		}
		switch y = f(x); {
		case y < 0:
			lo, ylo = x, y
		case y > 0:
			hi, yhi = x, y
		default:
			return x
		}
		slow = !slow && hi-lo > width/2
	}
	if x = lo; math.Abs(yhi) < math.Abs(ylo) {
		x = hi
	}
	f(x)
	return x
}

// inscribable returns the radius of the core and the half length of the shape that is a capsule or a cylinder, and
// which of both it is, if the other is an ellipsoid or a sphere.
func (p *Pair) inscribable() (radius, half float64, side int, ok bool) {
	shapes := [2]geom.Shape{p.A, p.B}
	for side = range shapes {
		if _, round := semiAxes(shapes[1-side]); !round {
			continue
		}
		core, _ := geom.WithoutMargin(shapes[side])
		switch c := core.(type) {
		case geom.Capsule:
			return 0, c.HalfLength, side, true
		case geom.Cylinder:
			return c.R, c.HalfLength, side, true
		}
	}
	return 0, 0, 0, false
}

// inscribed is the pair with the capsule or cylinder replaced by the shape within it at z along its axis u. A shape of
// A is moved to the origin, and so is B with it.
func (p *Pair) inscribed(side int, radius, half, z float64, u r3.Vec) Pair {
	q := *p
	shape := [2]*geom.Shape{&q.A, &q.B}[side]
	margin := (*shape).Radius()
	*shape = geom.Sphere{R: margin}
	if radius > 0 {
		*shape = geom.WithMargin(geom.Ellipsoid{SemiAxes: r3.Vec{X: radius, Y: radius, Z: half - math.Abs(z)}}, margin)
	}
	q.trans = r3.Add(q.trans, r3.Scale(z*float64(2*side-1), u))
	q.scale += math.Abs(z)
	return q
}
