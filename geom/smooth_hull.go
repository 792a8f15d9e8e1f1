package geom

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"clearance/geom/hull"

	"gonum.org/v1/gonum/spatial/r3"
)

// Sharpness β that Validate accepts for a smooth hull or revolution. The support
// function is C² for β > 2; beyond the upper end its corners are those of the
// polyhedron to less than a hundredth of its size.
const (
	MinSharpness = 2.0625
	MaxSharpness = 1000
)

// SmoothHull is a hull with rounded corners: the body whose support function is
//
//	h(d) = <c, d> + (Σ max(<pᵢ - c, d>, 0)^β)^(1/β)
//
// with vertices pᵢ, sharpness β and a center c strictly inside their hull [RTR,
// eq. 17, where c = 0]. It holds that hull and is at most n^(1/β) times as large,
// so it tends to it as β grows. Every point counts, duplicate and interior ones as well.
//
// The core is the body itself. h is C² but at 0. Build it with [NewSmoothHull]; the
// zero value is not a shape.
type SmoothHull struct {
	vertices  []r3.Vec
	sharpness float64
	center    r3.Vec

	rel    []r3.Vec // vertices relative to center
	planes []plane  // faces of the hull of rel
	cut    float64  // see negligible
	radii
}

// NewSmoothHull builds the shape from vertices (copied), the sharpness and the center.
// It reports a parameter out of range, and a center that is not strictly inside
// the hull of the vertices: by less than 1e-6 of the farthest vertex's distance.
func NewSmoothHull(vertices []r3.Vec, sharpness float64, center r3.Vec) (*SmoothHull, error) {
	if err := KindSmoothHull.check(values{nil, {sharpness}, numbers(center)}); err != nil {
		return nil, err
	}
	if !(math.Abs(center.X) <= hull.MaxCoordinate && math.Abs(center.Y) <= hull.MaxCoordinate &&
		math.Abs(center.Z) <= hull.MaxCoordinate) {
		return nil, fmt.Errorf("smooth_hull: center = (%g, %g, %g), want finite coordinates of at most %g in magnitude",
			center.X, center.Y, center.Z, float64(hull.MaxCoordinate))
	}
	c, err := NewConvex(vertices)
	if err != nil {
		return nil, fmt.Errorf("smooth_hull: %w", err)
	}
	s := &SmoothHull{vertices: slices.Clone(vertices), sharpness: sharpness, center: center, cut: negligible(sharpness)}
	far := 0.0
	for _, v := range vertices {
		q := r3.Sub(v, center)
		s.rel = append(s.rel, q)
		far = max(far, math.Sqrt(r3.Norm2(q)))
	}
	if err := checkSize(KindSmoothHull, "distance of the farthest vertex from center", far); err != nil {
		return nil, err
	}
	off := r3.Sub(c.center, center)
	for _, p := range c.planes {
		p.offset += r3.Dot(p.n, off)
		if c.hull.Dim < 3 || !(p.offset > minInside*far) {
			return nil, fmt.Errorf("smooth_hull: center (%g, %g, %g) is not strictly inside the hull of the "+
				"vertices; give one that is, or more vertices around it", center.X, center.Y, center.Z)
		}
		s.planes = append(s.planes, p)
	}
	if len(s.planes) == 0 {
		return nil, errors.New("smooth_hull: the vertices span no volume; give at least four that are not in one plane")
	}
	floor := math.Inf(1)
	for _, p := range s.planes {
		floor = min(floor, p.offset)
	}
	s.measure(s, center, floor)
	return s, nil
}

// minInside is how far inside the hull the center must lie, relative to the farthest vertex:
// ratios of support values stay below 1e6, and their powers far from the ends of float64.
const minInside = 1e-6

// negligible returns the t in (0, 1) below which t^(β-2) is less than 2⁻¹⁰⁰: such a
// term of a sum, next to one of t = 1, is lost to rounding for any number of terms.
func negligible(sharpness float64) float64 { return math.Exp2(-100 / (sharpness - 2)) }

// Vertices returns the points that NewSmoothHull was given, which must not be changed.
func (s *SmoothHull) Vertices() []r3.Vec { return s.vertices }

// Sharpness returns β.
func (s *SmoothHull) Sharpness() float64 { return s.sharpness }

// Kind returns KindSmoothHull.
func (*SmoothHull) Kind() Kind { return KindSmoothHull }

func (s *SmoothHull) values() values {
	return values{flattened(s.vertices), {s.sharpness}, numbers(s.center)}
}

func (*SmoothHull) of(v values) (Shape, error) {
	return shape(NewSmoothHull(v.points(0), v.number(1), v.vector(2)))
}

// Validate reports a SmoothHull that NewSmoothHull did not make; it checks the rest.
func (s *SmoothHull) Validate() error {
	if s == nil || s.rel == nil {
		return errors.New("smooth_hull: no vertices, build it with NewSmoothHull")
	}
	return nil
}

// CoreSupport returns the gradient of h at d.
func (s *SmoothHull) CoreSupport(d r3.Vec) r3.Vec {
	_, x := s.about(d)
	return r3.Add(s.center, x)
}

// about returns the support value and point relative to the center.
//
// With m the largest <q, d>, t = <q, d>/m and S = Σ t^β, h = m·S^(1/β) and the point is
// Σ w·q with w = t^(β-1)/S^(1-1/β). The w have norm 1 in the conjugate exponent by
// construction, whatever rounding did to t, and any such sum is a point of the
// body: rounding moves it along the surface, not off it.
func (s *SmoothHull) about(d r3.Vec) (h float64, x r3.Vec) {
	d, scale, ok := rescale(d)
	if !ok {
		return 0, r3.Vec{}
	}
	m := 0.0
	for _, q := range s.rel {
		m = max(m, r3.Dot(q, d))
	}
	sum, low := 0.0, s.cut*m
	for _, q := range s.rel {
		if t := r3.Dot(q, d); t > low {
			t /= m
			w := math.Exp((s.sharpness - 1) * math.Log(t))
			sum += w * t
			x = r3.Add(x, r3.Scale(w, q))
		}
	}
	k := math.Exp(math.Log(sum) / s.sharpness) // S^(1/β)
	return scale * m * k, r3.Scale(k/sum, x)
}

// Radius returns 0.
func (*SmoothHull) Radius() float64 { return 0 }

// Center returns the center that NewSmoothHull was given.
func (s *SmoothHull) Center() r3.Vec { return s.center }

// AABB returns the corners of the bounding box.
func (s *SmoothHull) AABB() (lo, hi r3.Vec) { return supportAABB(s) }

// SupportHessian returns, with y = <q, d> and the support point x = Σ w·q,
//
//	H = (β-1)/h · Σ (y/h)^(β-2) v vᵀ,  v = q - x·y/h,
//
// which is positive semidefinite term by term and loses nothing to cancellation:
// every v is orthogonal to d.
func (s *SmoothHull) SupportHessian(d r3.Vec) (h Mat3, ok bool) {
	u, scale, ok := hessianDirection(d)
	if !ok {
		return h, false
	}
	value, x := s.about(u)
	m := 0.0
	for _, q := range s.rel {
		m = max(m, r3.Dot(q, u))
	}
	n2, low := r3.Norm2(u), s.cut*m
	k := (s.sharpness - 1) / value / scale
	for _, q := range s.rel {
		y := r3.Dot(q, u)
		if !(y > low) {
			continue
		}
		y /= value
		w := k * math.Exp((s.sharpness-2)*math.Log(y))
		v := r3.Sub(q, r3.Scale(y, x))
		addSquare(&h, w, r3.Sub(v, r3.Scale(r3.Dot(v, u)/n2, u)))
	}
	return h, true
}

// addSquare adds w·v·vᵀ to h.
func addSquare(h *Mat3, w float64, v r3.Vec) {
	x, y, z := w*v.X, w*v.Y, w*v.Z
	xy, xz, yz := x*v.Y, x*v.Z, y*v.Z
	h[0] += x * v.X
	h[4] += y * v.Y
	h[8] += z * v.Z
	h[1] += xy
	h[3] += xy
	h[2] += xz
	h[6] += xz
	h[5] += yz
	h[7] += yz
}

// Residual is the distance outside and a lower bound inside, see gaugeResidual.
func (s *SmoothHull) Residual(p r3.Vec) float64 {
	q := r3.Sub(p, s.center)
	// The face of the hull that the ray through p meets: the gauge of the hull.
	var start r3.Vec
	best := math.Inf(-1)
	for _, f := range s.planes {
		if g := r3.Dot(f.n, q) / f.offset; g > best {
			best, start = g, f.n
		}
	}
	return gaugeResidual(s, q, start, s.inner, s.outer)
}
