package papers

import (
	"math"

	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// rules are the choices that the papers' algorithms leave open or that their code
// makes otherwise; the zero value with a method is the text to the letter.
type rules struct {
	method    ref.Method // MethodGJK, MethodNesterov, MethodPolyak or MethodFrankWolfe
	normalize bool       // Alg. 8 (RSS 2022)
	halfGrad  bool       // ∇f = x, of f = ½‖x‖², in place of 2x
	delta     func(k int) float64
	fromVert  bool // Frank-Wolfe: the first step forgets x₀ and starts at a vertex
	relative  bool // stop at ‖x‖ − lower bound ≤ ε‖x‖ in place of the duality gap
	tolerance float64
}

// count is what a run took.
type count struct {
	supports, projections int
	x                     r3.Vec
}

func textDelta(k int) float64 { return float64(k+1) / float64(k+3) }

const textbookCap = 100_000

// textbook runs Alg. 3, 4 and 7 of the RSS 2022 paper (Alg. 6 of GJK++ for Polyak)
// as they are printed, from x₀. It shares nothing with package ref but the support
// function: the projection is the exhaustive one of nearest.
func textbook(p *ref.Pair, x0 r3.Vec, r rules) (c count) {
	if r.delta == nil {
		r.delta = textDelta
	}
	grad := 2.0
	if r.halfGrad {
		grad = 1
	}
	c.x = x0
	d, s := c.x, c.x
	var w []r3.Vec
	fw := r.method == ref.MethodFrankWolfe
	if fw && !r.fromVert {
		w = append(w, c.x)
	}
	momentum := r.method == ref.MethodNesterov || r.method == ref.MethodPolyak
	for k := 0; k < textbookCap; k++ {
		if momentum {
			delta := r.delta(k)
			y := c.x
			if r.method == ref.MethodNesterov {
				y = r3.Add(r3.Scale(delta, c.x), r3.Scale(1-delta, s))
			}
			if r.normalize {
				d = r3.Add(r3.Scale(delta, unit(d)), r3.Scale(1-delta, unit(y)))
			} else {
				d = r3.Add(r3.Scale(delta, d), r3.Scale((1-delta)*grad, y))
			}
		} else {
			d = c.x
		}
		s = p.Support(r3.Scale(-1, d)).W
		c.supports++
		if r.stops(c.x, s) {
			if !momentum {
				return c
			}
			momentum = false
			s = p.Support(r3.Scale(-1, c.x)).W
			c.supports++
			if r.stops(c.x, s) {
				return c
			}
		}
		x, active := nearest(append(w, s))
		c.projections++
		if fw {
			active = append(active[:0], x)
		}
		c.x, w = x, active
		if len(w) == 4 || r3.Norm2(x) <= 1e-30 {
			c.x = r3.Vec{}
			return c
		}
	}
	return c
}

// stops is g(x) ≤ ε of eq. 29.
func (r *rules) stops(x, s r3.Vec) bool {
	g := r3.Dot(x, r3.Sub(x, s))
	if r.relative {
		return g <= r.tolerance*r3.Norm2(x)
	}
	return 2*g <= r.tolerance
}

// nearest projects the origin on the convex hull of up to four points by trying
// every subset: the answer is the nearest of the projection of the origin that lie inside their
// subset. A subset without extent has a smaller one with the same hull.
func nearest(points []r3.Vec) (x r3.Vec, active []r3.Vec) {
	best := math.Inf(1)
	var bestSet [4]r3.Vec
	bestN := 0
	for mask := 1; mask < 1<<len(points); mask++ {
		var set [4]r3.Vec
		n := 0
		for i, p := range points {
			if mask>>i&1 == 1 {
				set[n] = p
				n++
			}
		}
		foot, ok := footInside(set[:n])
		if !ok {
			continue
		}
		// A bigger subset must earn its place: equal norms keep the smaller one.
		if d := r3.Norm2(foot); d < best || n == 4 {
			best, x, bestSet, bestN = d, foot, set, n
			if n == 4 {
				x = r3.Vec{}
			}
		}
	}
	return x, append(active, bestSet[:bestN]...)
}

// footInside returns the projection of the origin of the origin on the affine hull of s and
// whether it lies strictly inside the hull of s.
func footInside(s []r3.Vec) (r3.Vec, bool) {
	switch len(s) {
	case 1:
		return s[0], true
	case 2:
		e := r3.Sub(s[1], s[0])
		t := -r3.Dot(s[0], e) / r3.Dot(e, e)
		return r3.Add(s[0], r3.Scale(t, e)), t > 0 && t < 1
	case 3:
		n := r3.Cross(r3.Sub(s[1], s[0]), r3.Sub(s[2], s[0]))
		foot := r3.Scale(r3.Dot(s[0], n)/r3.Dot(n, n), n)
		for i := range 3 {
			a, b := r3.Sub(s[i], foot), r3.Sub(s[(i+1)%3], foot)
			if !(r3.Dot(r3.Cross(a, b), n) > 0) {
				return foot, false
			}
		}
		return foot, true
	default:
		for i := range 4 {
			a, b, c, d := s[i], s[(i+1)%4], s[(i+2)%4], s[(i+3)%4]
			n := r3.Cross(r3.Sub(b, a), r3.Sub(c, a))
			// The origin and d on the same side of abc.
			if !(-r3.Dot(a, n)*r3.Dot(r3.Sub(d, a), n) > 0) {
				return r3.Vec{}, false
			}
		}
		return r3.Vec{}, true
	}
}

func unit(v r3.Vec) r3.Vec {
	if n := r3.Norm(v); n > 0 {
		return r3.Scale(1/n, v)
	}
	return v
}
