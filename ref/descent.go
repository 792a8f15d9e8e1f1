package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// descent is what the methods of the GJK family share: the simplex, the current
// point x of D, and the bounds proved so far on the distance of the cores.
//
// Any direction n proves a lower bound: with w the support point that minimises
// <n, w> over D, the plane <n, ·> = <n, w> has all of D on one side, so the
// distance is at least <n, w>/|n|. The point x itself proves the upper bound |x|.
type descent struct {
	p        Pair
	o        Options
	tol      float64 // wanted gap of the signed distance
	stop     float64 // gap of the computed bounds at which tol is met, rounding included
	rounding float64 // p.Roundoff()
	limit    int

	by    StepSolver // of the steps that are traced
	s     Simplex
	x     r3.Vec
	norm  float64 // |x|
	iter  int
	level int // steps that did not decrease the norm

	best  float64 // best lower bound of the distance of the cores, along any direction
	plane r3.Vec  // unit direction that proved best
	lower float64 // lower bound along axis
	axis  r3.Vec  // unit direction of the latest support along x: from B to A
}

const defaultGJKIterations = 1000

// maxLevelSteps bounds the steps at constant norm; two or three complete a
// triangle around the projection of the origin; the rest is reserve.
const maxLevelSteps = 12

// distanceTolerance is the default gap, relative to the size of the pair.
const distanceTolerance = 1e-12

// reset takes the question over by value: a descent that held pointers would
// force every caller's pair and options to the heap.
func (d *descent) reset(p *Pair, o *Options, defaultLimit int) {
	d.p, d.o = *p, *o
	d.iter, d.level, d.s.N = 0, 0, 0
	d.rounding = p.Roundoff()
	d.tol = p.tolerance(o, distanceTolerance)
	d.stop = p.stopGap(d.tol)
	d.limit = o.MaxIterations
	if d.limit == 0 {
		d.limit = defaultLimit
	}
	d.best, d.lower = math.Inf(-1), math.Inf(-1)
	// x₀ = c¹ − c², the difference of the centers [Montaut2022]. The direction alone
	// matters, since the first support point replaces it.
	d.x = r3.Scale(-1, safeUnit(o.WarmStart))
	if d.x == (r3.Vec{}) {
		d.x = p.centers()
	}
	d.norm = norm(d.x)
	if !(d.norm > 0) {
		d.x, d.norm = r3.Vec{X: 1}, 1
	}
}

// support finds the vertex that minimises <dir, w> and takes the lower bound that
// it proves. along says that dir is the direction of x, so that witnesses and
// normal belong together.
func (d *descent) support(dir r3.Vec, along bool) {
	v := d.latest()
	if norm(dir) < 1e-140 { // its square has lost digits to underflow
		dir = safeUnit(dir)
	}
	d.p.support(r3.Vec{X: -dir.X, Y: -dir.Y, Z: -dir.Z}, v)
	d.iter++
	k := 1 / norm(dir)
	l := r3.Dot(dir, v.W) * k
	if l > d.best {
		d.best, d.plane = l, r3.Scale(k, dir)
	}
	if along {
		d.lower = l
		d.axis = r3.Scale(k, dir)
	}
	if d.o.Trace != nil {
		d.traced(dir)
	}
}

// latest is the support vertex found last. It waits in the slot after the vertices
// in use: no simplex holds four between two steps.
func (d *descent) latest() *Vertex { return &d.s.V[d.s.N] }

// settled reports whether the bounds answer the question.
func (d *descent) settled() bool {
	r := d.p.Radius
	if d.o.Boolean {
		return d.best-d.rounding > r || d.s.N > 0 && d.norm+d.rounding < r
	}
	if d.s.N == 0 {
		return false
	}
	if d.o.HasCutOff && d.lower-d.rounding-r > d.o.CutOff {
		return true
	}
	if d.o.StopRule == StopDuality {
		return 2*d.norm*(d.norm-d.lower) <= d.o.Tolerance
	}
	return d.norm-d.lower <= d.stop
}

// separated reports whether a plane between the cores has been found: from then
// on no rounding may claim that the origin is inside.
func (d *descent) separated() bool { return d.best > d.rounding }

// project adds the latest vertex to the simplex and moves x to its nearest point.
// It reports whether that brought progress; if not, simplex and x stay as they
// were. inside reports that the origin lies in the tetrahedron.
//
// A fall of the norm is progress, but not the only kind: a tilt of x by δ changes
// the norm by δ², which vanishes below 1e-8, and the bound of a flat face by δ.
// So a few steps that leave the norm as it is, to rounding, are taken as well.
func (d *descent) project(johnson bool) (progress, inside bool) {
	w := d.latest().W
	for i := range d.s.N {
		if d.s.V[i].W == w {
			return false, false
		}
	}
	n, lambda := d.s.N, d.s.Lambda
	d.s.N++
	var x r3.Vec
	if johnson {
		x, inside = johnsonBackup(&d.s, d.separated())
	} else {
		x, inside = signedVolumes(&d.s, d.separated())
	}
	length := norm(x)
	if !inside && n > 0 && !(length < d.norm) {
		d.level++
		if d.level > maxLevelSteps || !(length <= d.norm*(1+8*eps)) {
			d.s.N, d.s.Lambda = n, lambda
			return false, false
		}
	}
	d.s.reduce()
	d.x, d.norm = x, length
	return true, inside
}

// direction returns a vector along which x points from the origin, orthogonal to
// the edges of the simplex to the last digits. x itself is a sum that cancels:
// its direction is off by eps·scale/|x|, which costs a polytope as much in gap;
// the normal of the face that x lies on has no such loss.
func (d *descent) direction() r3.Vec {
	if d.stop > 1e-9*d.p.scale {
		return d.x // the loss does not matter at this tolerance
	}
	switch d.s.N {
	case 2:
		return orthogonal(d.x, r3.Sub(d.s.V[1].W, d.s.V[0].W))
	case 3:
		return d.triangleDirection()
	}
	return d.x
}

// orthogonal returns the part of x orthogonal to e, in two passes: the second takes
// away the rounding of the first.
func orthogonal(x, e r3.Vec) r3.Vec {
	ee := r3.Dot(e, e)
	if !(ee > 0) {
		return x
	}
	x = r3.Sub(x, r3.Scale(r3.Dot(e, x)/ee, e))
	return r3.Sub(x, r3.Scale(r3.Dot(e, x)/ee, e))
}

// triangleDirection is direction for a triangle. Its normal is off by rounding over
// its altitude, x by rounding over |x|: the longer of the two lengths decides. Where
// x is the better one it is still made orthogonal to the longest edge.
func (d *descent) triangleDirection() r3.Vec {
	i, j, e, ee := d.s.longestEdge()
	k := 3 - i - j
	n := cross(e, r3.Sub(d.s.V[k].W, d.s.V[i].W))
	nn := r3.Dot(n, n)
	if nn > d.norm*d.norm*ee {
		// Only a normal that agrees with x is a descent direction.
		if k := r3.Dot(n, d.x); k*k >= 0.25*nn*d.norm*d.norm {
			return r3.Scale(math.Copysign(1/math.Sqrt(nn), k), n)
		}
	}
	return orthogonal(d.x, e)
}

// longestEdge returns the vertices, the vector and the squared length of the longest
// edge of a segment or a triangle.
func (s *Simplex) longestEdge() (i, j int, e r3.Vec, ee float64) {
	for a := range s.N {
		for b := a + 1; b < s.N; b++ {
			f := r3.Sub(s.V[b].W, s.V[a].W)
			if ff := r3.Dot(f, f); ff > ee {
				i, j, e, ee = a, b, f, ff
			}
		}
	}
	return i, j, e, ee
}

// straighten moves x along the longest edge of its simplex to the projection of the origin on it. The weights of a
// triangle of length L and altitude h are off by rounding over h, which moves x by L²/h roundings along it: too little
// to change the norm, but the witnesses would no longer be Distance·Normal apart.
func (d *descent) straighten() {
	if d.s.N != 2 && d.s.N != 3 {
		return
	}
	i, j, e, _ := d.s.longestEdge()
	for range 2 {
		d.s.slide(i, j, e)
	}
	d.x = d.s.point()
	d.norm = norm(d.x)
}

// straighten moves the point of a triangle along its longest edge and across it, to
// where it is orthogonal to both.
func (s *Simplex) straighten() {
	i, j, e, ee := s.longestEdge()
	if !(ee > 0) {
		return
	}
	k := 3 - i - j
	across := r3.Sub(s.V[k].W, s.V[i].W)
	across = r3.Sub(across, r3.Scale(r3.Dot(across, e)/ee, e))
	for range 2 {
		s.slide(i, j, e)
		s.slide(i, k, across)
	}
	s.slide(i, j, e)
}

// slide shifts weight from vertex i to vertex j, or back, until the point is
// orthogonal to e; e is the step that a full shift makes, or its part that counts.
func (s *Simplex) slide(i, j int, e r3.Vec) {
	ee := r3.Dot(e, e)
	if !(ee > 0) {
		return
	}
	t := -r3.Dot(e, s.point()) / ee
	t = math.Min(math.Max(t, -s.Lambda[j]), s.Lambda[i])
	s.Lambda[i] -= t
	s.Lambda[j] += t
}

// result makes a result of the state. inside says that the cores intersect or
// cannot be told from touching: then the distance of the cores is known to be at
// most |x|, and EPA must find the depth.
func (d *descent) result(inside bool) Result {
	p := &d.p
	if d.s.N == 0 { // answered before the first step
		d.s.Lambda[0], d.s.N = 1, 1 // the latest vertex stands in slot 0
		d.norm = norm(d.s.V[0].W)
	}
	if d.o.Boolean { // the plane that answered may not be the latest
		d.lower, d.axis = d.best, d.plane
	}
	if d.axis == (r3.Vec{}) {
		// The cores are one and the same point, which no momentum moved away from: every direction
		// proves the same.
		d.axis = r3.Vec{X: -1}
	}
	d.straighten()
	res := Result{Iterations: d.iter, Simplex: d.s, Normal: r3.Scale(-1, d.axis)}
	x := d.s.vertex()
	upper, lower := d.norm, d.lower
	if inside {
		// No depth exceeds the width of D along the line of the centers, which the
		// scale bounds.
		lower = -p.scale
	}
	res.Distance = upper - p.Radius
	res.Upper = upper - p.Radius + d.rounding
	res.Lower = lower - p.Radius - d.rounding
	// The witnesses of the cores move to the surfaces along the normal.
	res.WitnessA = r3.Add(x.A, r3.Scale(p.roundA(), res.Normal))
	res.WitnessB = r3.Sub(x.B, r3.Scale(p.roundB(), res.Normal))
	if off := norm(r3.Sub(x.W, r3.Scale(upper, d.axis))); !inside && !d.o.Boolean && off > res.Upper-res.Lower {
		// The last step moved x away from the axis that proves the bound, by some angle. The two bounds
		// differ by the square of that angle, the witnesses and the normal by the angle itself.
		res.Lower = math.Min(res.Lower, res.Distance-off)
	}
	res.classify(p, &d.o, d.tol)
	if d.o.Boolean {
		// The question is answered, and witnesses and normal come from different steps.
		// The bound that the answer does not rest on says how far apart they are.
		off := norm(r3.Sub(x.W, r3.Scale(upper, d.axis)))
		if res.Status == Separated {
			res.Upper = math.Max(res.Upper, res.Distance+off)
		} else {
			res.Lower = math.Min(res.Lower, res.Distance-off)
		}
	}
	return res
}

// classify sets the status from the bounds. The tolerance never asks for more
// than float64 holds at the distance of the pair, hence the floor in Roundoff.
func (r *Result) classify(p *Pair, o *Options, tol float64) {
	switch {
	case !(r.Lower <= r.Upper): // NaN included
		r.Status = Undecided
	case r.Lower > 0 && (o.Boolean || o.HasCutOff && r.Lower > o.CutOff):
		r.Status = Separated
	case r.Upper < 0 && o.Boolean:
		r.Status = Penetrating
	case r.Gap() > math.Max(tol, 4*p.Roundoff()) && !(o.HasCutOff && r.Lower > o.CutOff):
		r.Status = Undecided
	case r.Lower > 0:
		r.Status = Separated
	case r.Upper < 0:
		r.Status = Penetrating
	default:
		r.Status = Touching
	}
}
