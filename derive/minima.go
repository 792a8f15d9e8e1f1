package derive

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
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
	maxRatio    = 16.0 // of the sides of a cone that may go on being halved
	lean        = 20.0 // in the direction of its support point, weight of the corner of a cone whose bound is least
)

// Limits of the kernels and the shaders, which leave other rows to this package.
//
//lint:file-ignore U1000 the constants of C and GLSL are generated from these
const (
	maxRounds  = maxSupports / 8 // of a search
	maxCones   = 64              // that are not ruled out
	maxCorners = 16              // of a face of a hull
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
	halfCosine   float64   // cosine of about half of it
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
		rotated := r3.Sub(r3.Scale(2*r3.Dot(n, axis), axis), n)
		for _, d := range [2]r3.Vec{rotated, r3.Scale(-1, rotated)} {
			if r3.Dot(d, n) < unprovedHalfCosine && r3.Dot(f.support(d), d) <= f.bound {
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
	unprovedZone       = 0.02
	unprovedHalfCosine = (4 - unprovedZone*unprovedZone) / (4 + unprovedZone*unprovedZone) // see minima.halfCosine
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
	f.halfCosine = (4 - zone*zone) / (4 + zone*zone)
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
	if r3.Dot(y, d) <= f.bound && r3.Dot(d, f.n) < f.halfCosine {
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

// The zone of a minimum n of the depth is a cap of normals about it in which there is no other minimum whose value is
// within the tolerance. With h the support function of D without its balls, δ = h(n) and b = δ + tolerance, let
//
//	h(n+y) ≥ δ + ½κ|y|²   for y orthogonal to n, |y| ≤ t, and κ > b.
//
// Then h exceeds b·|n+y|, since √(1+y²) ≤ 1 + ½y², where ½(κ-b)y² exceeds the tolerance; and h is strictly convex
// relative to b·|n+y|, so that n is the only minimum of these. Beyond |y| = t, h(n+y) ≥ δ + ½κt|y|, since h is convex:
// D has points as far as k = ½κt out in every direction orthogonal to n, and no higher than δ along n. With the share
// of the tolerance, tolerance·|y|/t, taken off k, h exceeds b up to the angle whose half has the tangent k/b, obtuse
// ones included. Flat features of two dimensions hold a disc about the difference of the witnesses, whose radius is k.

// provedZone returns the tangent of half the angle of the zone, 0 if none is proved.
func (w *Workspace) provedZone(p *problem, s *system, f *minima) float64 {
	inside := min(s.a.inside, s.b.inside)
	if s.a.flat == 1 && s.b.flat == 1 {
		inside *= math.Abs(cross2(s.tA[0], s.tB[0]))
	}
	if s.a.flat+s.b.flat == 2 {
		return inside / f.bound
	}
	// Half of what the curvature exceeds the depth by may be lost. Its share of the curvature:
	roll := f.rollA + f.rollB
	kappa := f.depth + s.least/2
	q := s.least / 2 / (kappa + roll)
	if !(q > 0) {
		return 0
	}
	most := math.Inf(1)
	d := r3.Scale(-1, s.n)
	if s.a.flat+s.b.flat == 1 {
		// Along the feature, t, h rises by inside·|<t, y>|, less by the mixed term of the Hessian with the direction z
		// across it. That is κ|<t, y>|² at least as long as |y| ≤ inside/(|<t, Kz>| + κ).
		t := s.tA[0]
		if s.b.flat == 1 {
			t = s.tB[0]
		}
		inside = min(sideInside(&p.a, &s.a, s.n, inside, q), sideInside(&p.b, &s.b, d, inside, q))
		most = inside / (math.Abs(cross2(t, s.k.mul(t))) + kappa)
	}
	if isPowered(p.a.core) || isPowered(p.b.core) {
		return w.poweredZone(p, s, f, inside, q)
	}
	t := min(most, reach(&p.a, &s.a, s.n, q), reach(&p.b, &s.b, d, q))
	return f.zoneOf(kappa, t)
}

// zoneOf is the zone of the bound κ up to |y| = t, 0 if h does not exceed b at half of t.
func (f *minima) zoneOf(kappa, t float64) float64 {
	t = min(t, 1e3) // of polytopes, whose curvature is that of balls, it is infinite
	if !(0.5*(kappa-f.bound)*t*t > 4*f.tolerance) {
		return 0
	}
	return (0.5*kappa*t - f.tolerance/t) / f.bound
}

// isPowered reports whether a support function is a sum of powers.
func isPowered(core geom.Shape) bool {
	switch core.(type) {
	case geom.Superquadric, *geom.SmoothHull, *geom.SmoothRevolution:
		return true
	}
	return false
}

func isSuperquadric(core geom.Shape) bool {
	_, ok := core.(geom.Superquadric)
	return ok
}

// reach is the t up to which the support function f of a core rises along y, |y| ≤ t, by at least 1/(1+q) of
// ½yᵀHy, H its Hessian at the unit direction d:
//
//   - Of an ellipsoid f(d+y) = √((f + <x, y>)² + f·yᵀHy) ≥ f + <x, y> + f·yᵀHy/(2·f(d+y)), where f(d+y) is at most
//     f + t·s + ½t²·trace H with s the length of the tangential part of the gradient x.
//   - Of a disc r·ρ(d), ρ(d+y) = √((ρ+a)² + b²) ≥ ρ + a + b²/(2(ρ+t)). On the side of a frustum half of q is for this,
//     and half for sideInside.
//   - Of polytopes H is 0.
func reach(s *placed, f *feature, d r3.Vec, q float64) float64 {
	dl := s.rot.MulVecT(d)
	switch c := s.core.(type) {
	case geom.Ellipsoid:
		x := c.CoreSupport(dl)
		h, ok := c.SupportHessian(dl)
		if !ok {
			return 0
		}
		value := r3.Dot(x, dl)
		slope := r3.Norm(r3.Sub(x, r3.Scale(value, dl)))
		trace := h[0] + h[4] + h[8]
		return 2 * value * q / (slope + math.Sqrt(slope*slope+2*trace*value*q))
	case geom.FrustumShape:
		if f.flat == 2 {
			return math.Inf(1)
		}
		if f.flat == 1 {
			q /= 2
		}
		return q * math.Hypot(dl.X, dl.Y)
	}
	return math.Inf(1)
}

// sideInside is the distance from the boundary of an edge that counts. The side of a frustum is curved: with (a, b)
// the unit direction of its line in the plane of radius and axis, the support function of the points up to i from x is
// i·|a·ρ(d) + b·d.Z| above that of x, which lies below i·|<t, y>| by up to i·|a|·y²/(2(ρ-t)). That is at most
// q/2/(1+q) of the curvature r/ρ of the circle through x for i ≤ q·r/(12|a|), q ≤ 1, t ≤ ρ·q/2.
func sideInside(s *placed, f *feature, d r3.Vec, inside, q float64) float64 {
	if f.flat != 1 {
		return inside
	}
	c, ok := s.core.(geom.FrustumShape)
	if !ok {
		return inside
	}
	bottom, top, half := c.Discs()
	x := s.rot.MulVecT(r3.Sub(r3.Sub(f.point, s.pos), r3.Scale(s.radius, d)))
	z := max(-half, min(half, x.Z))
	r := bottom + (top-bottom)*(z+half)/(2*half)
	if a := math.Abs(top-bottom) / math.Hypot(top-bottom, 2*half); a > 0 {
		return min(inside, q*r/(12*a))
	}
	return inside
}

// capSizes are two sequences of caps over which the curvature of powers is bounded. The second is for sharp shapes,
// where the first cap of the first sequence is too wide.
var capSizes = [2][8]float64{
	{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1},
	{0.00005, 0.0001, 0.0002, 0.0004, 0.0008, 0.0016, 0.0032, 0.0064},
}

// poweredZone is the widest zone that lower bounds of the Hessians over caps prove (geom.HessianBounds). Of a core that
// is no power, 1/(1+q) of its Hessian counts up to its reach. inside is that of a feature with one direction.
func (w *Workspace) poweredZone(p *problem, s *system, f *minima, inside, q float64) (zone float64) {
	type side struct {
		placed *placed
		f      *feature
		d      r3.Vec
		bounds *geom.HessianBounds
		e      basis
	}
	sides := [2]side{{placed: &p.a, f: &s.a, d: s.n, bounds: &w.bounds[0]},
		{placed: &p.b, f: &s.b, d: r3.Scale(-1, s.n), bounds: &w.bounds[1]}}
	most := math.Inf(1)
	for k := range sides {
		x := &sides[k]
		x.e = basis{x.placed.rot.MulVecT(s.e[0]), x.placed.rot.MulVecT(s.e[1])}
		if !isPowered(x.placed.core) {
			most = min(most, reach(x.placed, x.f, x.d, q))
		}
	}
	reset := func() {
		for k := range sides {
			if x := &sides[k]; isPowered(x.placed.core) {
				x.bounds.Reset(x.placed.core, x.placed.rot.MulVecT(x.d))
			}
		}
	}
	over := func(t float64) (kappa float64) {
		var k sym2
		slack := 0.0
		for i := range sides {
			x := &sides[i]
			if isPowered(x.placed.core) {
				b := x.bounds.Widen(t)
				k.add(x.e.form(&b.K))
				slack += b.Slack
				continue
			}
			h := x.f.h
			h.add(sym2{-x.placed.radius, 0, -x.placed.radius})
			k.add(sym2{h[0] / (1 + q), h[1] / (1 + q), h[2] / (1 + q)})
		}
		return s.curvatureOf(k, t, inside) - f.rollA - f.rollB - 2*slack/t
	}
	for _, sizes := range capSizes {
		reset()
		for _, t := range sizes {
			if t > most {
				break
			}
			kappa := over(t)
			next := f.zoneOf(kappa, t)
			if !(kappa > f.bound) || zone > 0 && next <= zone {
				break
			}
			zone = next
		}
		if zone > 0 {
			return zone
		}
	}
	t := min(widestZoneCap, most)
	for range zoneCaps {
		reset()
		if zone = f.zoneOf(over(t), t); zone > 0 {
			return zone
		}
		t /= 2
	}
	return 0
}

// The caps that the kernel halves come last, so that a row that it proves is proved here: beside a rim, whose curvature
// is large, a reach may be shorter than all of capSizes.
const (
	widestZoneCap = 0.32 // tangent of the angle of the first, each of the next is half of it
	zoneCaps      = 9
)

// curvatureOf is the κ of a form k on the tangent plane up to |y| = t: its least eigenvalue, or that across a feature,
// along which h rises by at least κ|<t, y>|² as well.
func (s *system) curvatureOf(k sym2, t, inside float64) float64 {
	if s.a.flat+s.b.flat == 0 {
		return k.least()
	}
	along := s.tA[0]
	if s.b.flat == 1 {
		along = s.tB[0]
	}
	across := vec2{-along[1], along[0]}
	return min(dot2(across, k.mul(across)), inside/t-math.Abs(dot2(across, k.mul(along))))
}
