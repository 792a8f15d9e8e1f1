package derive

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// Another minimum of the depth is looked for over all normals. With D = A - B, the depth is the least value of the
// support function h of D on the unit sphere. A point y of D bounds h from below by <y, u>, and where that exceeds
// b·|u| at the corners u of a convex cone, b ≥ 0, it does in the cone, since the right-hand side is convex. Cones that
// no known point rules out are halved, and get a support point of their own.
//
// Balls that roll freely in A or B are taken off first: D is a convex set and a ball of the radius r, and the depth of
// the set is that of D less r, along the same normals. If it is negative, the origin is outside of the set, whose
// nearest point is unique.

const (
	// equalTolerance, times the size of the pair, is the difference of two local minima of the depth that counts as
	// zero.
	equalTolerance = 1e-9

	maxSupports = 4096 // of a search: most rows take less than 50, some near a second minimum a few hundred
	knownPoints = 8    // the last ones, which are tried on every cone
	maxRatio    = 16   // of the sides of a cone that may go on being halved
	lean        = 20   // in the direction of its support point, weight of the corner of a cone whose bound is least
)

// minima is a search for another minimum.
type minima struct {
	a, b         *placed
	rollA, rollB float64   // radii of the balls that roll in the cores
	n            r3.Vec    // the normal
	e            [4]r3.Vec // orthogonal to it, each a right angle from the last
	depth        float64   // h at n
	tolerance    float64   // the difference of two minima that counts as zero
	bound        float64   // h at another minimum is at most this: the depth and the tolerance
	cosine       float64   // of the angle from n within which there is no other minimum
	apart        float64   // cosine of about half of it
	known        [knownPoints]r3.Vec
	supports     int // support points so far
	found        bool
	cones        []cone // that are not ruled out
}

// cone is the hull of the rays p·n + q·(e + m·e') with both pairs of p and q and both m, where e and e' are directions
// of the search that follow each other; p² + q² = 1, q ≥ 0, -1 ≤ m ≤ 1.
type cone struct {
	sector int
	p, q   [2]float64
	m      [2]float64
}

// otherMinimum reports whether the depth is attained, within the tolerance, along another normal than that of s. proved
// is false if it is neither found nor ruled out.
func (w *Workspace) otherMinimum(p *problem, s *system) (found, proved bool) {
	f := w.minimaOf(p, s.n)
	if !f.set(-s.value - p.a.radius - p.b.radius - f.rollA - f.rollB) {
		return false, true
	}
	zone := w.provedZone(p, s, &f)
	if proved = zone > 0; !proved {
		zone = unprovedZone
	} else if f.isDeep(zone) {
		return false, true
	}
	// The frame is that of the principal directions of the sum of the Hessians.
	phi := math.Atan2(2*s.k[1], s.k[0]-s.k[2]) / 2
	f.search(s.e.vec(vec2{math.Cos(phi), math.Sin(phi)}), s.e.vec(vec2{-math.Sin(phi), math.Cos(phi)}), zone)
	w.cones = f.cones
	return f.found, f.found || proved && len(f.cones) == 0
}

// otherThan reports whether the depth is attained, within the tolerance, along a normal that differs from n, that of an
// answer without a regular system, by more than the angle of unprovedZone. The support value at any normal bounds the
// depth from above: where curvatures vanish Newton's method does not converge, but its last normal is nearer to the
// minimum than that of an answer, which is exact to a tolerance beyond that of equal minima.
func (w *Workspace) otherThan(p *problem, n, last r3.Vec) bool {
	f := w.minimaOf(p, n)
	if p.a.unbounded || p.b.unbounded {
		return false
	}
	depth := r3.Dot(f.support(n), n)
	if r3.Dot(last, n) > minCosine {
		depth = min(depth, r3.Dot(f.support(last), last))
	}
	if !f.set(depth) || !(f.depth > leastDepth*p.size+geom.MinSize) {
		return false
	}
	// Mirror images of n, which have its value where the pair is symmetric, come first.
	for k := range 6 {
		axis := column(&p.a.rot, k%3)
		if k >= 3 {
			axis = column(&p.b.rot, k%3)
		}
		turned := r3.Sub(r3.Scale(2*r3.Dot(n, axis), axis), n)
		for _, d := range [2]r3.Vec{turned, r3.Scale(-1, turned)} {
			if r3.Dot(d, n) < apartUnproved && r3.Dot(f.support(d), d) <= f.bound {
				return true
			}
		}
	}
	e := tangentBasis(n)
	f.search(e[0], e[1], unprovedZone)
	w.cones = f.cones
	return f.found
}

// leastDepth, times the size of the pair, is the depth without the balls beyond which a row whose system is singular is
// looked at for another minimum: the depths of curved shapes, and so their normals when they touch, are not exact to
// less. Shapes whose cores just touch, as that of a sphere about a point of an axis, stay near singular.
const leastDepth = 1e-7

// unprovedZone is the zone of a row for which none is proved. It is near singular unless another minimum is beyond.
const (
	unprovedZone  = 0.02
	apartUnproved = (4 - unprovedZone*unprovedZone) / (4 + unprovedZone*unprovedZone) // see minima.apart
)

func (w *Workspace) minimaOf(p *problem, n r3.Vec) minima {
	f := minima{a: &p.a, b: &p.b, n: n, tolerance: equalTolerance * p.size, cones: w.cones[:0]}
	f.rollA, f.rollB = geom.MinCurvatureRadius(p.a.core), geom.MinCurvatureRadius(p.b.core)
	return f
}

// set takes the depth of D without its balls. It reports whether another minimum is possible: half-spaces have one
// normal, and a negative depth is a distance.
func (f *minima) set(depth float64) bool {
	f.depth = max(depth, 0)
	f.bound = f.depth + f.tolerance
	return !f.a.unbounded && !f.b.unbounded && depth >= -f.tolerance
}

// isDeep reports whether the balls about the centers rule out all normals beyond the zone. With a normal
// (|v|² - 1, 2v)/(|v|² + 1) in coordinates along n and across it, those are the v with |v| ≤ 1/zone.
func (f *minima) isDeep(zone float64) bool {
	center := func(s *placed) r3.Vec { return r3.Add(s.rot.MulVec(s.core.Center()), s.pos) }
	c := r3.Sub(center(f.a), center(f.b))
	r := innerRadius(f.a.core) - f.rollA + innerRadius(f.b.core) - f.rollB
	along := r3.Dot(c, f.n)
	across := math.Sqrt(max(r3.Norm2(c)-along*along, 0))
	v := 1 / zone
	return r-f.bound-along > v*(2*across+v*max(f.bound-r-along, 0))
}

// innerRadius is the radius of a ball about the center within a core, without its own ball.
func innerRadius(core geom.Shape) float64 { return max(core.Inradius()-core.Radius(), 0) }

// search looks for another minimum beyond a zone, in the frame of x and y, which are orthogonal to n. It goes on until
// no cone is left, another minimum is found, or there are too many support points.
func (f *minima) search(x, y r3.Vec, zone float64) {
	zone = min(zone, 1)
	f.cosine = (1 - zone*zone) / (1 + zone*zone)
	f.apart = (4 - zone*zone) / (4 + zone*zone)
	f.e = [4]r3.Vec{x, y, r3.Scale(-1, x), r3.Scale(-1, y)}
	// The rays with m = ±1 of the last cones are on the boundary of the zone, those between within it.
	p, q := math.Sqrt2*f.cosine, math.Sqrt(max(1-f.cosine*f.cosine, 0))
	l := 1 / math.Hypot(p, q)
	p, q = p*l, q*l
	for k := range 4 {
		f.cones = append(f.cones, cone{sector: k, p: [2]float64{0, p}, q: [2]float64{1, q}, m: [2]float64{-1, 1}},
			cone{sector: k, p: [2]float64{-1, 0}, q: [2]float64{0, 1}, m: [2]float64{-1, 1}})
	}
	for len(f.cones) > 0 && !f.found && f.supports < maxSupports {
		k := len(f.cones) - 1
		c := f.cones[k]
		f.cones = f.cones[:k]
		f.consider(&c)
	}
}

// consider halves a cone unless it is ruled out. The half with the corner at which the bounds are least comes next.
func (f *minima) consider(c *cone) {
	var u [4]r3.Vec
	var need [4]float64 // products with the corners of a point that rules out the cone are above
	var sum r3.Vec
	for i := range u {
		p, q, m := c.p[i&1], c.q[i&1], c.m[i>>1]
		u[i] = r3.Add(r3.Scale(p, f.n), r3.Scale(q, r3.Add(f.e[c.sector], r3.Scale(m, f.e[(c.sector+1)%4]))))
		need[i] = f.bound * math.Sqrt(p*p+q*q*(1+m*m))
		sum = r3.Add(sum, u[i])
	}
	low, out := f.tryKnown(&u, &need)
	if out {
		return
	}
	d := r3.Unit(r3.Add(sum, r3.Scale(lean, u[low])))
	y := f.support(d)
	f.known[f.supports%knownPoints] = y
	f.supports++
	if r3.Dot(y, d) <= f.bound && r3.Dot(d, f.n) < f.apart {
		f.found = true
		return
	}
	var h [4]float64
	for i := range u {
		h[i] = r3.Dot(y, u[i]) - need[i]
	}
	if min(h[0], h[1], h[2], h[3]) > 0 {
		return
	}
	// The bound is a plane that fails on one side: halving across its slope separates the sides. The longer side of a
	// cone counts more.
	long, wide := math.Abs(c.p[0]*c.q[1]-c.p[1]*c.q[0]), max(c.q[0], c.q[1])*(c.m[1]-c.m[0])
	across := wide*math.Abs(h[2]-h[0]+h[3]-h[1]) > long*math.Abs(h[1]-h[0]+h[3]-h[2])
	if wide > maxRatio*long || long > maxRatio*wide {
		across = wide > long
	}
	first, second := *c, *c
	if across {
		middle := (c.m[0] + c.m[1]) / 2
		first.m[1], second.m[0] = middle, middle
	} else {
		p, q := c.p[0]+c.p[1], c.q[0]+c.q[1]
		l := 1 / math.Sqrt(p*p+q*q)
		first.p[1], first.q[1] = p*l, q*l
		second.p[0], second.q[0] = p*l, q*l
	}
	upper := low&1 == 1
	if across {
		upper = low>>1 == 1
	}
	if !upper {
		first, second = second, first
	}
	f.cones = append(f.cones, first, second)
}

// tryKnown reports whether a known point, or one between two of them, rules out a cone. low is the corner at which the
// bounds by single points are least.
func (f *minima) tryKnown(u *[4]r3.Vec, need *[4]float64) (low int, out bool) {
	n := min(f.supports, knownPoints)
	if n == 0 {
		return 0, false
	}
	var h [knownPoints][4]float64
	best, value := 0, math.Inf(-1)
	most := [4]float64{value, value, value, value}
	for k := range n {
		for i := range u {
			h[k][i] = r3.Dot(f.known[k], u[i]) - need[i]
			most[i] = max(most[i], h[k][i])
		}
		if v := min(h[k][0], h[k][1], h[k][2], h[k][3]); v > value {
			best, value = k, v
		}
	}
	if value > 0 {
		return low, true
	}
	x := h[best]
	return lowest(&most), most[lowest(&x)] > 0 && f.between(&x, &h, n)
}

// between reports whether a point between that of x and another known one rules out a cone.
func (f *minima) between(x *[4]float64, h *[knownPoints][4]float64, n int) bool {
	low := lowest(x)
	best := 0
	for k := range n {
		if h[k][low] > h[best][low] {
			best = k
		}
	}
	y := &h[best]
	// On the way to y the least component rises until another is the least.
	t, slope := 1.0, y[low]-x[low]
	for i := range x {
		if s := y[i] - x[i]; s < slope {
			t = min(t, (x[i]-x[low])/(slope-s))
		}
	}
	for i := range x {
		if !(x[i]+t*(y[i]-x[i]) > 0) {
			return false
		}
	}
	return true
}

func lowest(h *[4]float64) (at int) {
	for i := range h {
		if h[i] < h[at] {
			at = i
		}
	}
	return at
}

// support returns the support point of D without its balls in the unit direction d.
func (f *minima) support(d r3.Vec) r3.Vec {
	x := r3.Sub(f.a.coreSupport(d), f.b.coreSupport(r3.Scale(-1, d)))
	return r3.Sub(x, r3.Scale(f.rollA+f.rollB, d))
}

// coreSupport returns the support point of the core in the direction d, world axes.
func (s *placed) coreSupport(d r3.Vec) r3.Vec {
	return r3.Add(s.rot.MulVec(s.core.CoreSupport(s.rot.MulVecT(d))), s.pos)
}
