package verify

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
)

// The audit of growth distances proves both ends of the interval from the shapes alone. With the centers of
// growth c_A and c_B, p = c_B − c_A and D = (A − c_A) − (B − c_B), the growth distance is the least α ≥ 0 with
// p ∈ α·D [Growth, eq. 9-10].

// grown is a placed pair with its centers of growth, in the frame of [placed].
type grown struct {
	local  [2]r3.Vec // the centers in the frames of the shapes
	center [2]r3.Vec
	ray    r3.Vec // p
	length float64
	axis   r3.Vec // p/|p|

	inradius float64 // of a ball about the origin that D contains
	reach    float64 // of one that contains D; of the bounded shape alone next to a half-space

	rayRounding     float64 // of p
	supportRounding float64 // of a support value of D

	plane float64 // next to a half-space: the distance of the other center outside
	near  float64 // and the support value of the other shape about its center, towards the plane
}

// placeGrowth sets the centers. Rounding is that of [placed.place], with the magnitudes that each quantity is
// computed from: p from the poses and the centers, support values of D from the shapes and the centers.
func (p *placed) placeGrowth(g *grown, l *batch.Library, a, b int32) {
	index := [2]int32{a, b}
	*g = grown{}
	var offsets, size float64
	for i := range 2 {
		if i == p.half {
			g.center[i] = r3.Sub(p.pos[i], p.pos[0])
			continue
		}
		g.local[i] = l.GrowthCenter(index[i])
		g.center[i] = r3.Add(p.rot[i].MulVec(g.local[i]), r3.Sub(p.pos[i], p.pos[0]))
		g.inradius += l.GrowthInradius(index[i])
		g.reach += norm(r3.Sub(g.local[i], p.shape[i].Center())) + p.shape[i].BoundingRadius()
		offsets += norm(g.local[i])
		size += p.reach[i]
	}
	g.ray = r3.Sub(g.center[1], g.center[0])
	g.length = norm(g.ray)
	g.axis = unit(g.ray)
	g.rayRounding = 24 * eps * (norm(p.offset) + offsets)
	g.supportRounding = 24 * eps * (size + offsets)
	if p.half < 0 {
		return
	}
	m := p.outward()
	g.plane = r3.Dot(m, r3.Sub(g.center[1-p.half], g.center[p.half])) - p.shape[p.half].Radius()
	g.near = p.supportAbout(1-p.half, r3.Scale(-1, m), g.local[1-p.half])
	g.rayRounding += 24 * eps * p.shape[p.half].Radius()
}

// outward is the normal of the half-space that points out of it.
func (p *placed) outward() r3.Vec {
	if p.half == 1 {
		return r3.Scale(-1, p.halfNormal)
	}
	return p.halfNormal
}

// supportAbout returns the support value of shape i about a point of its frame, in the unit direction d (world
// axes).
func (p *placed) supportAbout(i int, d, center r3.Vec) float64 {
	local := p.rot[i].MulVecT(d)
	return r3.Dot(local, r3.Sub(p.shape[i].CoreSupport(local), center)) + p.shape[i].Radius()
}

// floor is the least gap, as a factor, that float64 is sure to prove: four times what the two roundings move
// the bounds by, which is (α·supportRounding + rayRounding)/inradius, see lowerBound and upperBound.
func (g *grown) floor(alpha float64) float64 {
	return 4 * (math.Abs(alpha)*g.supportRounding + g.rayRounding) / g.scale()
}

// scale is the length that both bounds are divided by, or a lower bound of it.
func (g *grown) scale() float64 {
	if g.near > 0 {
		return g.near
	}
	return g.inradius
}

// lowerBound returns the lower bound that the unit vector n proves,
//
//	α ≥ <n, p>/h(n), since p ∈ α·D,
//
// and what rounding may have taken from it: the numerator is off by rayRounding and the denominator by
// supportRounding; rounding the normal rotated it by at most angle, which moves them by angle·|p| and
// angle·reach. Next to a half-space only its own normal proves anything: α = max(0, plane)/near.
func (p *placed) lowerBound(g *grown, n r3.Vec, angle float64) (bound, allowed float64) {
	value, h := r3.Dot(n, g.ray), 0.0
	switch {
	case p.half < 0:
		h = p.supportAbout(0, n, g.local[0]) + p.supportAbout(1, r3.Scale(-1, n), g.local[1])
	case norm(r3.Sub(n, p.halfNormal)) <= angle:
		// The normal itself follows from the pose: it has not been rounded.
		value, h, angle = math.Max(0, g.plane), g.near, 0
	default:
		return math.Inf(-1), 0
	}
	bound = value / h
	low := h - g.supportRounding - angle*g.reach
	if !(low > 0) {
		return bound, math.Inf(1)
	}
	return bound, (value+g.rayRounding+angle*g.length)/low - bound + 4*eps*math.Abs(bound)
}

// upperBound returns the upper bound that the point s = a − b proves, with a in A − c_A and b in B − c_B up to
// out, and what rounding of s may have added to it.
//
// Let τ = <s, p>/|p| and e = s − τp/|p|. D contains s up to out and the ball of radius r about the origin, so
// with it the convex combination τ·r/(r + |e|)·p/|p| of s and −r·e/|e|. Hence α ≤ |p|·(r + |e|)/(τ·r).
// Rounding moved s by at most off, and p by rayRounding, which rotates the axis. Next to a half-space the
// support point s of the other shape about its center proves α ≤ max(0, plane)/<s, −m>.
func (p *placed) upperBound(g *grown, s r3.Vec, out, off float64) (bound, allowed float64) {
	if p.half >= 0 {
		towards := -r3.Dot(p.outward(), s)
		if p.half == 0 { // s is a − b, and b − c_B what is wanted
			towards = -towards
		}
		value := math.Max(0, g.plane)
		bound = attained(value, towards-out, 0, 1)
		return bound, bound - attained(math.Max(0, value-g.rayRounding), towards-out+off+g.supportRounding, 0, 1) +
			4*eps*bound
	}
	if g.length <= 4*g.rayRounding { // the centers coincide: the ball alone is the proof
		return g.length / g.inradius, 2*g.rayRounding/g.inradius + 4*eps*g.length/g.inradius
	}
	along := r3.Dot(s, g.axis)
	e := norm(r3.Sub(s, r3.Scale(along, g.axis)))
	bound = attained(g.length, along-out, e+out, g.inradius)
	off += g.supportRounding + math.Abs(along)*g.rayRounding/g.length
	least := attained(g.length-g.rayRounding, along-out+off, math.Max(0, e+out-off), g.inradius)
	return bound, bound - least + 4*eps*bound
}

// attained is |p|·(r + e)/(τ·r), and +Inf for points that prove nothing.
func attained(length, along, e, r float64) float64 {
	if !(along > 0) {
		return math.Inf(1)
	}
	return length / along * (1 + e/r)
}

// growth audits the answer of a row.
func (a *auditor) growth(i int, c *claim) {
	a.checkGrowthNormal(i, c)
	a.checkInterval(c)
	a.checkIterations(i, c)
	a.checkSolver(i, c)
	witnesses := a.checkGrowthWitnesses(i, c)
	a.checkPoint(i, c)

	// What the columns do not prove is tried with the signed distance, which changes its sign where the
	// factor passes 1: scaling by 1 + t moves no point by more than t·reach.
	d := *c
	d.hasDistance = false
	d.tolerance = c.tolerance * a.g.reach
	if d.upper = 0; c.status != batch.Penetrating {
		d.upper = math.Max(0, c.upper-1) * a.g.reach
	}
	if !witnesses {
		a.checkContact(&d)
	}
	a.checkSeparation(&d)
}

// checkGrowthNormal is checkNormal for growth. The normal may be zero where the centers coincide: the factor is
// not negative, and no direction proves more.
func (a *auditor) checkGrowthNormal(i int, c *claim) {
	if a.res.Normal().Len() == 0 {
		a.report.skip(checkNormal)
		a.report.skip(checkPlane)
		return
	}
	c.hasNormal = true
	c.normal = vec(a.res.Normal(), i)
	length := norm(c.normal)
	if c.normal == (r3.Vec{}) && a.p.half < 0 && a.g.length <= 4*a.g.rayRounding {
		a.require(checkNormal, c.row, true, 0, 0)
		c.plane, c.planeRounding = 0, 0
	} else {
		a.check(checkNormal, outcome{row: c.row, expected: 1, found: length, residual: math.Abs(length - 1),
			allowed: 8*a.u + 24*eps})
		angle := a.u + 12*eps
		if a.p.half >= 0 {
			angle = 16*a.u + 24*eps // as in checkNormal
		}
		c.plane, c.planeRounding = a.p.lowerBound(&a.g, r3.Scale(1/length, c.normal), angle)
	}
	if math.IsInf(c.lower, -1) {
		a.report.skip(checkPlane)
		return
	}
	a.check(checkPlane, outcome{row: c.row, expected: c.lower, found: c.plane, residual: c.lower - c.plane,
		allowed: c.planeRounding})
}

// checkGrowthWitnesses is checkWitnesses for growth: the witnesses lie in the shapes, which are not scaled, and
// prove the upper end of the interval. It reports whether both are there.
func (a *auditor) checkGrowthWitnesses(i int, c *claim) bool {
	// Being outside by slack counts against the bound, and costs no more than the gap.
	slack := c.slack / math.Max(1, math.Abs(c.distance)) * a.g.scale()
	var w [2]r3.Vec
	var out, rounding [2]float64
	have := true
	ids := [2]checkID{checkMemberA, checkMemberB}
	for k, f := range [2]*batch.Values{a.res.WitnessA(), a.res.WitnessB()} {
		if f.Len() == 0 {
			a.report.skip(ids[k])
			have = false
			continue
		}
		w[k] = vec(f, i)
		out[k], rounding[k] = a.p.member(k, w[k], a.u)
		switch k {
		case a.p.half:
			rounding[k] += a.p.rounding // it is the point where the other shape meets the plane, see ref.Growth
		case 1: // solvers have it in the frame of A: the same rotation and operations at the distance of A
			rounding[k] += 12 * eps * norm(a.p.offset)
		}
		a.check(ids[k], outcome{row: c.row, found: out[k], residual: out[k], allowed: rounding[k] + slack})
	}
	switch {
	case !have, math.IsInf(c.upper, 1):
		a.report.skip(checkWitnesses)
		return have
	}
	var s [2]r3.Vec
	off, outside := 0.0, 0.0
	for k := range 2 {
		if k == a.p.half { // its center is no point of the proof
			continue
		}
		s[k] = r3.Sub(r3.Sub(w[k], a.p.pos[0]), a.g.center[k])
		off += rounding[k]
		outside += math.Max(0, out[k]-rounding[k])
	}
	d := r3.Sub(s[0], s[1])
	found, allowed := a.p.upperBound(&a.g, d, outside, off)
	// Scaled by the factor, the witnesses coincide up to what the gap moves points of D by.
	apart := norm(r3.Sub(r3.Scale(c.distance, d), a.g.ray))
	if found-c.upper > allowed && apart <= c.gap*a.g.reach && c.hasNormal && a.p.half < 0 {
		found = a.p.facetBound(&a.g, unit(c.normal), d, outside, off)
	}
	a.check(checkWitnesses, outcome{row: c.row, expected: c.upper, found: found, residual: found - c.upper,
		allowed: allowed})
	return true
}

// checkPoint checks that the common point lies on the scaled shapes, c_A + α·(a − c_A), or next to a
// half-space A c_B + α·(b − c_B). The witness of a half-space is this point too.
func (a *auditor) checkPoint(i int, c *claim) {
	from := 0
	if a.p.half == 0 {
		from = 1
	}
	if a.res.Point().Len() != 0 {
		a.checkScaled(checkPoint, i, c, from, a.res.Point())
	}
	if witness := [2]*batch.Values{a.res.WitnessA(), a.res.WitnessB()}; a.p.half >= 0 && witness[a.p.half].Len() != 0 {
		a.checkScaled(checkTranslation, i, c, from, witness[a.p.half])
	}
}

// checkScaled checks that a column has the witness of shape k, scaled by the factor about the center of the
// shape. Rounding to the columns moved the point, and α times the witness; the factor was rounded within the
// gap. What float64 adds is bounded as in [placed.place].
func (a *auditor) checkScaled(id checkID, i int, c *claim, k int, column *batch.Values) {
	witness := [2]*batch.Values{a.res.WitnessA(), a.res.WitnessB()}[k]
	if witness.Len() == 0 || !c.hasDistance {
		a.report.skip(id)
		return
	}
	x, w := vec(column, i), vec(witness, i)
	center := a.g.center[k]
	arm := r3.Sub(r3.Sub(w, a.p.pos[0]), center)
	want := r3.Add(center, r3.Scale(c.distance, arm))
	alpha := math.Abs(c.distance)
	away := norm(r3.Sub(r3.Sub(x, a.p.pos[0]), want))
	a.check(id, outcome{row: c.row, found: away, residual: away,
		allowed: a.u*(norm(x)+alpha*(norm(w)+norm(arm))) + a.p.rounding*(1+alpha)})
}

// growthSolver reports whether s may have answered a growth query for these shapes: a formula for spheres, for
// half-spaces and where the centers coincide, axes for boxes, Newton's method where a shape is curved, and the
// simplex method for all bounded pairs.
func (a *auditor) growthSolver(s batch.Solver) bool {
	x, y := a.p.shape[0], a.p.shape[1]
	half := a.p.half >= 0
	switch s {
	case batch.SolverClosedForm:
		return half || x.Kind().Family() == geom.FamilyPoint && y.Kind().Family() == geom.FamilyPoint ||
			a.g.length <= 4*a.g.rayRounding
	case batch.SolverAxes:
		return boxCore(x) && boxCore(y)
	case batch.SolverNewton:
		return !half && !(polytopeBody(x) && polytopeBody(y))
	case batch.SolverGrowth:
		return !half
	}
	return false
}

// polytopeBody reports whether a shape, its ball included, is a polytope.
func polytopeBody(s geom.Shape) bool { return polytope(s) && s.Radius() == 0 }

// The upper bound by the witnesses divides their distance from the ray by the inradius, which may be small. A
// solver may know more: the triangle of points of D in which the ray leaves it. The audit searches for one of its
// own where the witnesses prove less than is claimed.

// facetSteps is the iteration limit of the search for a triangle: polytopes take some ten, curved shapes some
// forty.
const facetSteps = 256

// Tilts of the normal that is claimed, in radians, and the number of directions around it in which it is tilted,
// where the normal of the triangle leads no further: rounding may leave a triangle too thin for a normal.
var tilts = [...]float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6}

const tiltDirections = 6

// facetBound returns the least upper bound that it finds by the simplex method [Growth, Alg. 1]. It begins with the
// direction n and a triangle in the ball that D contains; a step replaces a vertex by the support point along the
// normal of the triangle, such that the ray still meets it. The bound is that of upperBound for a point of the
// triangle near the ray, so that it holds whatever the search does. The point of the witnesses, which lies in D up to
// out and was moved by at most off, may be a vertex.
func (p *placed) facetBound(g *grown, n, witness r3.Vec, out, off float64) (bound float64) {
	x := r3.Cross(g.axis, r3.Vec{X: 1})
	if math.Abs(g.axis.X) > 0.7 {
		x = r3.Cross(g.axis, r3.Vec{Y: 1})
	}
	x = unit(x)
	y := r3.Cross(g.axis, x)
	var v [3]r3.Vec
	for k := range v {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / 3)
		v[k] = r3.Scale(g.inradius, r3.Add(r3.Scale(cos, x), r3.Scale(sin, y)))
	}
	bound = math.Inf(1)
	d, tilted := n, 0
	for range facetSteps {
		w, before := p.growthPoint(g, d), v
		var next [3]r3.Vec
		for k := range v { // in place of vertex k
			t := v
			t[k] = w
			if s, ok := g.onRay(&t, x, y); ok {
				b, _ := p.upperBound(g, s, 0, 0)
				if b = math.Min(b, g.insideBound(&t, s)); b < bound || next == [3]r3.Vec{} {
					next, bound = t, math.Min(b, bound)
				}
			}
		}
		if next != [3]r3.Vec{} {
			v = next
		}
		for k := range v { // the witnesses are a vertex too
			t := v
			t[k] = witness
			if s, ok := g.onRay(&t, x, y); ok {
				b, _ := p.upperBound(g, s, out, off)
				bound = math.Min(b, bound)
			}
		}
		d = unit(r3.Cross(r3.Sub(v[1], v[0]), r3.Sub(v[2], v[0])))
		if r3.Dot(d, g.axis) < 0 {
			d = r3.Scale(-1, d)
		}
		if v != before {
			continue
		}
		if tilted == len(tilts)*tiltDirections {
			break
		}
		sin, cos := math.Sincos(2 * math.Pi * float64(tilted%tiltDirections) / tiltDirections)
		side := r3.Add(r3.Scale(cos, x), r3.Scale(sin, y))
		d = unit(r3.Add(n, r3.Scale(tilts[tilted/tiltDirections], side)))
		tilted++
	}
	return bound
}

// insideBound returns the upper bound by the point s of a triangle of points of D that the ray meets clear of its
// edges, or +Inf. It does not divide by the inradius.
//
// Let η bound the rounding of the points across the ray, and e what s is off it. Where the ray keeps a distance of
// at least 64·(|e| + η) from each edge, seen along it, the triangle of the exact points meets it too: in the point of
// the same weights as one of the computed triangle that is at most 2·(|e| + η) from s, in the plane of the triangle.
// Its slope γ moves the point along the ray by at most as much times γ. Rounding of the slope, at the distance of
// 64·η from the edges, is within the third of the factor 3.
func (g *grown) insideBound(v *[3]r3.Vec, s r3.Vec) float64 {
	along := r3.Dot(s, g.axis)
	off := norm(r3.Sub(s, r3.Scale(along, g.axis))) + g.supportRounding + math.Abs(along)*g.rayRounding/g.length
	n := r3.Cross(r3.Sub(v[1], v[0]), r3.Sub(v[2], v[0]))
	up := math.Abs(r3.Dot(n, g.axis))
	slope := norm(r3.Sub(n, r3.Scale(r3.Dot(n, g.axis), g.axis))) / up
	for k := range v {
		a, b := v[(k+1)%3], v[(k+2)%3]
		edge := r3.Cross(g.axis, r3.Sub(b, a)) // as long as the edge, seen along the ray
		if !(math.Abs(r3.Dot(g.axis, r3.Cross(a, b))) >= 64*off*norm(edge)) {
			return math.Inf(1)
		}
	}
	return attained(g.length+g.rayRounding, along-3*(1+slope)*off, 0, 1)
}

// onRay returns the point of a triangle on the ray, up to rounding, and whether there is one; x and y span the plane
// across the ray. Its weights are the areas of the triangles of the ray and each edge, seen along it. They are computed
// from coordinates across the ray, which are small where it matters: a triangle may be 10⁹ times as long as wide. A
// second step takes off the ray what rounding left.
func (g *grown) onRay(v *[3]r3.Vec, x, y r3.Vec) (s r3.Vec, ok bool) {
	var at [3][2]float64
	for k := range v {
		at[k] = [2]float64{r3.Dot(x, v[k]), r3.Dot(y, v[k])}
	}
	twice := func(v, w [2]float64) float64 { return math.FMA(v[0], w[1], -v[1]*w[0]) }
	a, b, c := twice(at[1], at[2]), twice(at[2], at[0]), twice(at[0], at[1])
	sum := a + b + c
	if !(min(a, b, c) >= 0 && sum > 0 || max(a, b, c) <= 0 && sum < 0) {
		return s, false
	}
	weight := [3]float64{a / sum, b / sum, c / sum}
	for range 2 {
		var off [2]float64
		for k := range v {
			off[0] += weight[k] * at[k][0]
			off[1] += weight[k] * at[k][1]
		}
		total := 0.0
		for k := range v {
			p, q := at[(k+1)%3], at[(k+2)%3]
			weight[k] = math.Max(0, weight[k]+twice(off, [2]float64{q[0] - p[0], q[1] - p[1]})/sum)
			total += weight[k]
		}
		for k := range v {
			weight[k] /= total
		}
	}
	for k := range v {
		s = r3.Add(s, r3.Scale(weight[k], v[k]))
	}
	return s, true
}

// growthPoint returns the support point of D about the centers, in the unit direction d (world axes).
func (p *placed) growthPoint(g *grown, d r3.Vec) r3.Vec {
	local := p.rot[0].MulVecT(d)
	a := p.rot[0].MulVec(r3.Sub(p.shape[0].CoreSupport(local), g.local[0]))
	local = p.rot[1].MulVecT(r3.Scale(-1, d))
	b := p.rot[1].MulVec(r3.Sub(p.shape[1].CoreSupport(local), g.local[1]))
	return r3.Add(r3.Sub(a, b), r3.Scale(p.shape[0].Radius()+p.shape[1].Radius(), d))
}
