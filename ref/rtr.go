package ref

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// RTR finds the signed distance of a pair of smooth shapes as minus the minimum of the
// support function h of D over the unit sphere [RTR, eq. 8], by the Riemannian trust
// region method (Alg. 2): separated and penetrating alike.
//
// Every direction n proves the lower bound -h(n). If the eroded cores of [Pair.eroded] are separated
// along n, the distance of the two support points exceeds that bound only by the length of the
// gradient, so the minimum is global: for penetrations this is Theorem 1, by which a minimum whose
// depth is below the sum of the smallest radii of curvature is not merely local. A deeper minimum may
// be local; the result is then Undecided, with a valid Lower and the trivial Upper. Options.Starts
// asks for several starts, of which the lowest minimum counts. [Solve] goes on with a proof: in closed
// form for ellipsoids and spheres, by a depth certificate (depth_certificate.go), or by EPA.
//
// The ball of small radius that the authors add to a superquadric, whose Hessian degenerates
// (sec. IV-A), is not needed here: on the sphere, where ∂²h - h·I counts (eq. 12), a ball
// adds r to both terms and cancels.
//
// RTR of a pair that is not [SmoothPair] is Undecided.
func RTR(p *Pair, o Options, ws *Workspace) Result {
	q := p.eroded()
	t := ws.trustRegion()
	t.reset(&q, &o)
	if SmoothPair(p.A, p.B) {
		t.minimize(startDirection(&q, &o))
		if t.h > 0 && o.Starts > 1 {
			t.restart(o.Starts - 1)
		}
	}
	return t.result()
}

// SmoothPair reports whether RTR applies: both cores have a support function that is twice
// differentiable in almost all directions, and neither is a polytope. A sphere counts.
func SmoothPair(a, b geom.Shape) bool { return a.Kind().Traits().Smooth && b.Kind().Traits().Smooth }

// startDirection is the warm start, or the line of the centers [RTR, eq. 14], or any
// direction if they coincide.
func startDirection(p *Pair, o *Options) r3.Vec {
	if d := safeUnit(o.WarmStart); d != (r3.Vec{}) {
		return d
	}
	if d := safeUnit(r3.Scale(-1, p.centers())); d != (r3.Vec{}) {
		return d
	}
	return r3.Vec{X: 1}
}

const (
	defaultRTRIterations = 100

	// Radii of the trust region are lengths of the tangent step x → (x+v)/|x+v|: a step of 1
	// rotates the direction by 45°.
	startRegion = 0.5
	maxRegion   = 1.0
	// acceptRatio is ρ′ of Alg. 2, in (0, 1/4).
	acceptRatio = 0.1
)

// trustRegion is the state of one run of RTR.
type trustRegion struct {
	p        Pair // eroded
	o        Options
	tol      float64
	stop     float64
	rounding float64
	cap      int
	iter     int

	point

	trace []float64 // gradient norms, if not nil; for tests
}

// point is the current point of a run.
type point struct {
	x    r3.Vec  // unit direction
	v    Vertex  // of D along x
	h    float64 // <x, v.W>
	norm float64 // of the gradient: the part of v.W orthogonal to x
}

func (t *trustRegion) reset(p *Pair, o *Options) {
	trace := t.trace
	*t = trustRegion{p: *p, o: *o, rounding: p.Roundoff(), point: point{x: r3.Vec{X: 1}, h: math.Inf(1)}}
	if trace != nil {
		t.trace = trace[:0]
	}
	t.tol = p.tolerance(o, distanceTolerance)
	t.stop = p.stopGap(t.tol)
	t.cap = o.MaxIterations
	if t.cap == 0 {
		t.cap = defaultRTRIterations
	}
}

// minimize runs Alg. 2 from the unit direction x until the gradient is below the tolerance
// and no direction has negative curvature (eq. 13), or until rounding or the cap ends it.
func (t *trustRegion) minimize(x r3.Vec) {
	t.x, t.h = x, t.evaluate(x, &t.v)
	radius := startRegion
	fresh := true
	var m model
	for t.iter < t.cap {
		if fresh {
			m = t.model()
			t.norm = math.Hypot(m.g[0], m.g[1])
			if t.o.Trace != nil {
				t.tracedModel(radius)
			}
			if t.trace != nil {
				t.trace = append(t.trace, t.norm)
			}
			if t.settled(&m) {
				return
			}
		}
		step, decrease := m.truncatedCG(radius)
		length := math.Hypot(step[0], step[1])
		if !(length > 4*eps) {
			return
		}
		next := unit(r3.Add(t.x, r3.Add(r3.Scale(step[0], m.basis[0]), r3.Scale(step[1], m.basis[1]))))
		var v Vertex
		h := t.evaluate(next, &v)
		ratio := (t.h - h) / decrease
		// Where the decrease is below the rounding of h, the gradient decides.
		if decrease <= 2*t.rounding {
			ratio = 0
			if norm(r3.Sub(v.W, r3.Scale(h, next))) < t.norm {
				ratio = 1
			}
		}
		if fresh = ratio > acceptRatio; fresh {
			t.x, t.v, t.h = next, v, h
		} else if decrease <= 2*t.rounding {
			return
		}
		switch {
		case !(ratio >= 0.25):
			radius = min(radius, length) / 4
		case ratio > 0.75:
			radius = min(2*radius, maxRegion)
		}
	}
	t.norm = norm(r3.Sub(t.v.W, r3.Scale(t.h, t.x)))
}

// settled reports whether the run may end: the second-order conditions hold (eq. 13), or a cut-off or
// Boolean query is answered.
func (t *trustRegion) settled(m *model) bool {
	lower := -t.h - t.p.Radius - t.rounding
	if t.o.Boolean && lower > 0 || t.o.HasCutOff && lower > t.o.CutOff {
		return true
	}
	return t.norm <= t.stop/2 && m.lowest() >= -t.stop
}

// evaluate is the support function of D, with the vertex that attains it.
func (t *trustRegion) evaluate(x r3.Vec, v *Vertex) float64 {
	t.p.support(x, v)
	t.iter++
	if t.o.Trace != nil {
		t.o.Trace.evaluated(StepRTR, &t.p, x, v)
	}
	return r3.Dot(x, v.W)
}

// separatedUpper is the upper bound of the signed distance where the eroded cores are separated along the direction:
// the support points are |v.W| from one another, and off the normal by the length of the gradient.
func (t *trustRegion) separatedUpper() float64 {
	return max(norm(t.v.W), -t.h+t.norm) - t.p.Radius + t.rounding
}

// result states what the last direction proves.
func (t *trustRegion) result() Result {
	p := &t.p
	r := Result{Iterations: t.iter, Normal: t.x, Distance: -t.h - p.Radius, Lower: -t.h - p.Radius - t.rounding}
	r.WitnessA = r3.Add(t.v.A, r3.Scale(p.roundA(), t.x))
	r.WitnessB = r3.Sub(t.v.B, r3.Scale(p.roundB(), t.x))
	// No signed distance exceeds that of the two centers, which the scale bounds.
	r.Upper = p.scale
	if t.h < 0 {
		r.Upper = t.separatedUpper()
	}
	r.Simplex = Simplex{N: 1, Lambda: [4]float64{1}, V: [4]Vertex{t.v}}
	r.classify(p, &t.o, t.tol)
	return r
}
